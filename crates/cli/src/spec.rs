//! `isolde spec`: what isolationtester prints, or how that differs from what was expected.

use std::fs;
use std::path::{Path, PathBuf};

use indicatif::HumanCount;
use isolde_scenario::spec::{self, Run, Spec, Style};
use serde_json::json;
use similar::TextDiff;

use crate::args::{self, Color};
use crate::complain::Mistake;
use crate::guard::{Guard, Held};
use crate::page::{self, Page};
use crate::watch::{self, Watch};
use crate::{EXIT_INCONCLUSIVE, EXIT_MISTAKE, input, plain};

/// An output differs from what was expected, or the tester would have given up.
const EXIT_DIFFERS: u8 = 1;

/// Runs every spec, and says what to exit with.
pub(crate) fn run(args: &args::Spec, color: Color) -> Result<u8, Mistake> {
    let page = Held::new(Page::of(&args.output, color)?);
    let mut tally = Tally::default();
    for file in &args.files {
        match guarded(args, file, &page) {
            Ok(outcome) => {
                tally.count(&outcome);
                let mut writing = page.take();
                outcome.write(args, &mut writing)?;
                page.put(writing);
                if let Some(why) = outcome.cut {
                    page::complain(&Mistake::Fault(why), color);
                }
            }
            Err(mistake) => {
                tally.mistakes += usize::from(mistake.exit_code() == EXIT_MISTAKE);
                tally.inconclusive += usize::from(mistake.exit_code() == EXIT_INCONCLUSIVE);
                page::complain(&mistake, color);
            }
        }
        if watch::interrupted() {
            break;
        }
    }
    let mut page = page.take();
    if args.files.len() > 1 && (args.expected.is_some() || args.quiet) {
        page.remark(&tally.line())?;
    }
    page.finish()?;
    Ok(tally.exit_code())
}

/// Runs a spec. On the embedded engine, under a guard: what was printed for the files before is kept.
fn guarded(args: &args::Spec, path: &Path, page: &Held<Page>) -> Result<Outcome, Mistake> {
    if args.on.is_some() {
        return run_file(args, path);
    }
    let (page, name) = (page.clone(), path.display().to_string());
    let guard = Guard::post(args.limits, move |why| {
        eprintln!("inconclusive: {}", plain::escaped(&format!("{name}: {why}")));
        // If it cannot be written, the exit code still tells.
        let _ = page.seize().map(Page::finish);
        EXIT_INCONCLUSIVE
    });
    guard.budget().begin("the spec");
    let outcome = match run_file(args, path) {
        Err(Mistake::InFile(error)) if error.is_cut() => return Err(Mistake::Fault(error.to_string())),
        outcome => outcome?,
    };
    // The output has an error there that no server would print.
    let cut = guard.budget().cut().map(|why| format!("{}: {why}", outcome.file));
    Ok(Outcome { cut, ..outcome })
}

/// One spec and what came of it.
struct Outcome {
    file: String,
    name: String,
    run: Run,
    /// How the output differs from what was expected; empty if it does not; `None` if nothing was.
    difference: Option<String>,
    /// A step that was cut off, and why: then the output is not that of any server.
    cut: Option<String>,
}

fn run_file(args: &args::Spec, path: &Path) -> Result<Outcome, Mistake> {
    let file = input::read(path)?;
    let mut spec = Spec::parse(&file.name, &file.text)?;
    if let Some(permutation) = &args.permutation {
        spec = spec.only(permutation).map_err(|message| Mistake::new(format!("--permutation: {message}")))?;
    }
    if args.regress {
        spec = spec.in_style(Style::Regress);
    }
    let run = run_spec(args, &spec)?;
    let difference = match &args.expected {
        Some(directory) => Some(compare(directory, spec.name(), &run.output)?),
        None => None,
    };
    let name = spec.name().to_string();
    if difference.as_ref().is_some_and(|d| !d.is_empty()) && !args.regress && !run.interrupted {
        // Perhaps it was recorded under pg_isolation_regress.
        let again = run_spec(args, &spec.in_style(Style::Regress))?;
        if let Some(directory) = args.expected.as_ref().filter(|_| again.output != run.output)
            && compare(directory, &name, &again.output)?.is_empty()
        {
            return Ok(Outcome { file: file.name, name, run: again, difference: Some(String::new()), cut: None });
        }
    }
    Ok(Outcome { file: file.name, name, run, difference, cut: None })
}

/// Runs a spec with progress shown.
fn run_spec(args: &args::Spec, spec: &Spec) -> Result<Run, Mistake> {
    let mut watch = Watch::start(&spec.file, args.limits.time_max, !args.no_progress).limited(args.limits.memory_max);
    let home = args.on.as_ref().map(|server| server.home()).transpose()?;
    let mut look = |progress: spec::Progress| {
        let words = |_| {
            let (done, total) = (HumanCount(progress.done), HumanCount(progress.total));
            format!("{done} of {total} permutations")
        };
        watch.tell(words).map_break(drop)
    };
    Ok(match &home {
        None => spec::run(spec, &mut look)?,
        Some(home) => isolde_postgres::spec::run(home.settings(), spec, &mut look)?,
    })
}

impl Outcome {
    fn is_ok(&self) -> bool {
        match &self.difference {
            Some(difference) => difference.is_empty(),
            None => self.run.gave_up.is_none(),
        }
    }

    /// A limit was reached first.
    fn is_inconclusive(&self) -> bool {
        self.run.interrupted || self.cut.is_some()
    }

    fn word(&self) -> &'static str {
        match self.is_inconclusive() {
            true => "inconclusive",
            false if self.is_ok() => "ok",
            false => "FAILED",
        }
    }

    fn write(&self, args: &args::Spec, page: &mut Page) -> Result<(), Mistake> {
        if page.is_json() {
            return page.verbatim(&format!("{:#}\n", self.json(args.quiet)));
        }
        match &self.difference {
            None if args.quiet => page.remark(&self.line()),
            None if args.files.len() > 1 => page.verbatim(&format!("==> {} <==\n{}\n", self.file, self.run.output)),
            None => page.verbatim(&self.run.output),
            Some(_) if args.quiet => page.remark(&self.line()),
            Some(difference) => page.verbatim(&format!("{}\n{difference}", self.line())),
        }
    }

    /// `ok      deadlock-simple  12 permutations`
    fn line(&self) -> String {
        let count = self.run.permutations;
        let plural = if count == 1 { "" } else { "s" };
        let interrupted = if self.run.interrupted { ", then stopped" } else { "" };
        format!("{:<6}  {}  {} permutation{plural}{interrupted}", self.word(), self.name, HumanCount(count))
    }

    fn json(&self, quiet: bool) -> serde_json::Value {
        let mut document = json!({
            "file": self.file,
            "verdict": self.word(),
            "permutations": self.run.permutations,
            "interrupted": self.run.interrupted,
        });
        if let Some(why) = &self.run.gave_up {
            document["gave_up"] = json!(why);
        }
        if !quiet {
            document["output"] = json!(self.run.output);
            if let Some(difference) = &self.difference {
                document["difference"] = json!(difference);
            }
        }
        document
    }
}

/// The difference from the recorded output that is nearest; empty if it is the same as one.
fn compare(directory: &Path, name: &str, output: &str) -> Result<String, Mistake> {
    let mut nearest: Option<String> = None;
    for path in recordings(directory, name) {
        let recorded =
            fs::read(&path).map_err(|error| Mistake::new(format!("{} cannot be read: {error}", path.display())))?;
        let recorded = String::from_utf8_lossy(&recorded);
        if recorded == output {
            return Ok(String::new());
        }
        let difference = TextDiff::from_lines(&*recorded, output)
            .unified_diff()
            .header(&path.display().to_string(), name)
            .to_string();
        if nearest.as_ref().is_none_or(|other| difference.len() < other.len()) {
            nearest = Some(difference);
        }
    }
    nearest.ok_or_else(|| Mistake::Elsewhere {
        message: format!("there is no expected output {}", directory.join(format!("{name}.out")).display()),
        hint: Some("run isolde spec without --expected and look at what it prints".into()),
    })
}

/// `NAME.out` and its alternatives, as far as they exist.
fn recordings(directory: &Path, name: &str) -> Vec<PathBuf> {
    let alternatives = (1..=9).map(|n| format!("{name}_{n}.out"));
    let names = std::iter::once(format!("{name}.out")).chain(alternatives);
    names.map(|name| directory.join(name)).filter(|path| path.is_file()).collect()
}

/// How many files came out how.
#[derive(Debug, Default)]
struct Tally {
    ok: usize,
    failed: usize,
    mistakes: usize,
    inconclusive: usize,
    permutations: u64,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        self.permutations += outcome.run.permutations;
        match outcome.is_ok() {
            _ if outcome.is_inconclusive() => self.inconclusive += 1,
            true => self.ok += 1,
            false => self.failed += 1,
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Tally { mistakes: 1.., .. } => EXIT_MISTAKE,
            Tally { failed: 1.., .. } => EXIT_DIFFERS,
            Tally { inconclusive: 1.., .. } => EXIT_INCONCLUSIVE,
            _ => 0,
        }
    }

    /// `26 files, 140 permutations: 25 ok, 1 FAILED`
    fn line(&self) -> String {
        let Tally { ok, failed, mistakes, inconclusive, permutations } = *self;
        let mistaken = if mistakes == 1 { "has a mistake" } else { "have mistakes" };
        let parts = [(ok, "ok"), (failed, "FAILED"), (inconclusive, "stopped"), (mistakes, mistaken)];
        let named: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let permutations = HumanCount(permutations);
        format!("\n{} files, {permutations} permutations: {}", ok + failed + inconclusive + mistakes, named.join(", "))
    }
}
