//! Inputs of all kinds that are valid, and the commands that take them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::mutate::Parts;
use super::{MEMORY_MAX, TIME_MAX};
use crate::generate::{self, Dice};
use crate::program::Program;

/// Files, the one that the command is about first, and what is typed behind `isolde`.
type Made = (Vec<(String, String)>, Vec<String>);

/// A kind of input.
#[derive(Debug)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// How often it is chosen, compared with the others.
    weight: usize,
    /// How it is taken apart.
    pub statements: Parts,
    /// Directories of this repository that have some, and how their names end.
    from: &'static [(&'static str, &'static str)],
    /// One of them, and a command.
    pub make: fn(&mut Dice, &Corpus, u64) -> Made,
}

/// Every kind. To add one: a function, and a line here.
pub const KINDS: &[Kind] = &[
    Kind { name: "generated", weight: 30, statements: Parts::Statements, from: SCENARIOS, make: generated },
    Kind { name: "scenario", weight: 30, statements: Parts::Statements, from: SCENARIOS, make: scenario },
    Kind { name: "replay", weight: 6, statements: Parts::Statements, from: SCENARIOS, make: replay },
    Kind { name: "spec", weight: 12, statements: Parts::Lines, from: &[("crates/testkit/specs", ".spec")], make: spec },
    Kind { name: "procedures", weight: 8, statements: Parts::Statements, from: PROCEDURES, make: procedures },
    Kind { name: "model", weight: 6, statements: Parts::Lines, from: MODELS, make: model },
    Kind {
        name: "module",
        weight: 8,
        statements: Parts::Lines,
        from: &[("crates/statespace/tests", ".tla")],
        make: module,
    },
    Kind {
        name: "application",
        weight: 2,
        statements: Parts::Lines,
        from: &[("examples/apps", "app.toml")],
        make: application,
    },
];

const SCENARIOS: &[(&str, &str)] =
    &[("examples", ".sql"), ("crates/scenario/tests", ".sql"), ("crates/cli/tests", ".sql")];
const PROCEDURES: &[(&str, &str)] = &[("crates/prove/tests", ".sql"), ("examples/atm", ".sql")];
const MODELS: &[(&str, &str)] = &[("crates/datamodel/tests", ".prisma"), ("crates/datamodel/tests/sql", ".sql")];

/// The kind of the next command.
pub(super) fn chosen(dice: &mut Dice) -> &'static Kind {
    let mut left = dice.below(KINDS.iter().map(|kind| kind.weight).sum());
    for kind in KINDS {
        if left < kind.weight {
            return kind;
        }
        left -= kind.weight;
    }
    &KINDS[0]
}

/// The valid inputs of this repository.
#[derive(Debug, Default)]
pub struct Corpus {
    /// By kind: text and, beside it, a configuration.
    texts: BTreeMap<&'static str, (Vec<String>, Vec<Option<String>>)>,
}

impl Corpus {
    /// Reads them.
    pub fn load() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts = BTreeMap::new();
        for kind in KINDS {
            let mut files = Vec::new();
            for (folder, ending) in kind.from {
                below(&root.join(folder), ending, &mut files);
            }
            files.sort();
            let read = |path: &PathBuf| fs::read_to_string(path).ok();
            let known: Vec<(String, Option<String>)> =
                files.iter().filter_map(|path| Some((read(path)?, read(&path.with_extension("cfg"))))).collect();
            texts.insert(kind.name, known.into_iter().unzip());
        }
        Corpus { texts }
    }

    /// Those of a kind.
    pub(super) fn texts(&self, kind: &str) -> &[String] {
        self.texts.get(kind).map_or(&[], |(texts, _)| texts)
    }

    fn pick(&self, dice: &mut Dice, kind: &str) -> (String, Option<String>) {
        match self.texts.get(kind) {
            Some((texts, configs)) if !texts.is_empty() => {
                let at = dice.below(texts.len());
                (texts[at].clone(), configs[at].clone())
            }
            _ => (String::new(), None),
        }
    }
}

fn below(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => below(&path, ending, files),
            false if path.to_string_lossy().ends_with(ending) => files.push(path),
            false => {}
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

fn limits() -> Vec<String> {
    vec!["--time-max".into(), TIME_MAX.into(), "--memory-max".into(), MEMORY_MAX.to_string()]
}

/// A program of the generator as a scenario: what each session sends is a thread.
fn generated(dice: &mut Dice, _: &Corpus, seed: u64) -> Made {
    let program = (generate::chosen_by(seed).generate)(seed);
    explored(dice, scenario_of(&program))
}

fn scenario_of(program: &Program) -> String {
    let ended = |statement: &str| format!("{};\n", statement.trim_end().trim_end_matches(';'));
    let mut text: String = program.setup.iter().map(|statement| ended(statement)).collect();
    // All interleavings of a few statements are enough.
    for session in 0..program.sessions.min(3) {
        text += &format!("--@ thread s{session}\n");
        let mine = program.steps.iter().filter(|(by, _)| *by == session).take(4);
        text.extend(mine.map(|(_, statement)| ended(statement)));
    }
    text
}

fn scenario(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "scenario").0;
    explored(dice, text)
}

/// `explore`, with flags of all sorts.
fn explored(dice: &mut Dice, text: String) -> Made {
    let mut arguments = words(&["explore", "x.sql", "--no-progress", "--states-max", "3000", "--jobs", "1"]);
    arguments.extend(limits());
    let flags: &[&[&str]] = &[
        &["--html", "x.html"],
        &["--emit-spec", "e.spec"],
        &["--store", "x.sqlite"],
        &["--fix", "fixed.sql"],
        &["--no-fixes"],
        &["--stats"],
        &["--atomic"],
        &["--quiet"],
        &["-o", "out"],
        &["--graph", "x.svg"],
        &["--checkpoint", "kept"],
    ];
    for flag in flags {
        if dice.one_in(4) {
            arguments.extend(words(flag));
        }
    }
    let choices: [(&str, &[&str]); 6] = [
        ("--format", &["json", "sarif", "junit", "text"]),
        ("--search", &["dpor", "source", "stateful", "stateless", "random", "pct"]),
        ("--granularity", &["row", "statement", "whole"]),
        ("--oracle", &["on", "effects", "outcome", "off"]),
        ("--dependence", &["relation", "cell", "effect"]),
        ("--restore", &["snapshot", "replay"]),
    ];
    for (flag, values) in choices {
        if dice.one_in(3) {
            arguments.extend([flag.to_string(), dice.pick(values).to_string()]);
        }
    }
    (vec![("x.sql".into(), text)], arguments)
}

fn replay(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "replay").0;
    let headers = text.lines().filter_map(|line| line.strip_prefix("--@ thread "));
    let names: Vec<String> = headers.filter_map(|header| header.split(' ').next().map(str::to_string)).collect();
    let mut arguments = words(&["replay", "x.sql"]);
    for _ in 0..1 + dice.below(8) {
        arguments.push(if names.is_empty() { "a".into() } else { dice.pick(&names).clone() });
    }
    arguments.extend(limits());
    if dice.one_in(2) {
        arguments.extend(words(&["--html", "x.html", "--format", "json"]));
    }
    (vec![("x.sql".into(), text)], arguments)
}

fn spec(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "spec").0;
    let mut arguments = match dice.one_in(3) {
        true => {
            words(&["explore", "x.spec", "--no-progress", "--states-max", "3000", "--jobs", "1", "--html", "x.html"])
        }
        false => words(&["spec", "x.spec", "--no-progress"]),
    };
    arguments.extend(limits());
    if dice.one_in(3) {
        arguments.extend(words(&["--format", "json"]));
    }
    (vec![("x.spec".into(), text)], arguments)
}

fn procedures(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "procedures").0;
    let mut arguments = words(&["prove", "x.sql", "--timeout", "500ms", "--jobs", "1", "--html", "x.html"]);
    arguments.extend(limits());
    for flag in ["--interference", "--explain"] {
        if dice.one_in(4) {
            arguments.push(flag.into());
        }
    }
    if dice.one_in(3) {
        arguments.extend(words(&["--format", "json"]));
    }
    (vec![("x.sql".into(), text)], arguments)
}

fn model(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "model").0;
    let name = if text.contains("CREATE TABLE") { "x.sql" } else { "x.prisma" };
    let mut arguments = words(&["model", name, "--timeout", "300ms", "--html", "x.html"]);
    arguments.extend(limits());
    if dice.one_in(3) {
        let format: &&str = dice.pick(&["json", "sarif", "junit"]);
        arguments.extend(words(&["--format", format]));
    }
    (vec![(name.into(), text)], arguments)
}

fn module(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let (text, config) = corpus.pick(dice, "module");
    let name = text.lines().find_map(|line| line.split_once("MODULE")).map_or("M", |(_, rest)| {
        rest.trim().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("M")
    });
    let file = format!("{name}.tla");
    let mut arguments = words(&["space", &file, "--states-max", "5000", "--html", "x.html"]);
    arguments.extend(limits());
    let flags: &[&[&str]] =
        &[&["--coverage"], &["--no-deadlock"], &["--ctl", "AG EF TRUE"], &["--format", "json"], &["--trace", "tlc"]];
    for flag in flags {
        if dice.one_in(4) {
            arguments.extend(words(flag));
        }
    }
    let mut files = vec![(file, text.clone())];
    files.extend(config.map(|config| (format!("{name}.cfg"), config)));
    (files, arguments)
}

/// Nothing is started: there is no server behind the address.
fn application(dice: &mut Dice, corpus: &Corpus, _: u64) -> Made {
    let text = corpus.pick(dice, "application").0;
    let mut arguments = words(&["explore", "app.toml", "--on", "postgres://nobody@127.0.0.1:9/none", "--no-progress"]);
    arguments.extend(words(&["--time-max", TIME_MAX]));
    (vec![("app.toml".into(), text)], arguments)
}
