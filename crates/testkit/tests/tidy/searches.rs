//! No code outside of the parser searches SQL or messages for words.
//!
//! A search for a word is wrong sooner or later: the word stands in a string, in a comment, in another case, in a name,
//! or with a line break inside. Statements have facts (`isolde_sql::facts`), texts have lexemes
//! (`isolde_sql::parse::lexemes`), errors have codes, and what one part of the program tells another is an enum.

use crate::check;
use crate::sources::sources;

/// Calls that look for something in a text.
const CALLS: &[&str] = &[
    ".contains(\"",
    ".find(\"",
    ".rfind(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".split_once(\"",
    ".matches(\"",
    ".match_indices(\"",
    ".split(\"",
];
/// Calls that take a text apart into words, or make its case not matter.
const FOLDS: &[&str] = &[
    ".split_whitespace(",
    ".to_lowercase(",
    ".to_uppercase(",
    "to_ascii_lowercase",
    "to_ascii_uppercase",
    "eq_ignore_ascii_case",
];

/// The crates that see SQL or messages.
const CRATES: &[&str] = &["engine", "scenario", "postgres", "history", "report", "prove", "cli"];

/// Lines that look for words all the same: the file, how many lines of it, and why they may.
const ALLOWED: &[(&str, usize, &str)] = &[
    ("crates/engine/src/command.rs", 2, "names and values of settings are compared without regard to case"),
    ("crates/engine/src/settings/mod.rs", 7, "names and values of settings are compared without regard to case"),
    ("crates/scenario/src/file/header.rs", 3, "our own header lines, which this file parses"),
    ("crates/scenario/src/file/mod.rs", 2, "the ending of a file's name, and psql's \\gset, which this file parses"),
    ("crates/scenario/src/fix/case.rs", 1, "places that this file has printed itself"),
    ("crates/scenario/src/fix/isolation.rs", 1, "the name of a level, printed"),
    ("crates/scenario/src/fix/thread.rs", 1, "psql's \\gset behind a statement"),
    ("crates/scenario/src/embedded.rs", 1, "the level of a message, printed"),
    ("crates/scenario/src/spec/emit.rs", 3, "the name of a level, printed; lines that our own printer wrote"),
    ("crates/scenario/src/spec/mod.rs", 1, "the ending of a file's name"),
    ("crates/postgres/src/analysis/again.rs", 1, "lexemes, compared without regard to case"),
    ("crates/postgres/src/analysis/inline.rs", 2, "lexemes, compared without regard to case"),
    ("crates/postgres/src/analysis/mod.rs", 1, "the value of a setting"),
    ("crates/postgres/src/app/file.rs", 3, "our own file, and what the reader of TOML says about it"),
    ("crates/postgres/src/app/http.rs", 5, "HTTP, which this file parses"),
    ("crates/postgres/src/app/normal.rs", 4, "lexemes, by which statements are recognised from run to run"),
    ("crates/postgres/src/gate.rs", 1, "messages that our own functions raise"),
    ("crates/postgres/src/reads.rs", 1, "messages that our own module sends"),
    ("crates/postgres/src/sessions.rs", 1, "a line of the server's log has no code"),
    ("crates/postgres/src/stage/setup.rs", 1, "the words of a statement, printed"),
    ("crates/history/src/words.rs", 1, "puts a statement on one line"),
    ("crates/report/src/model/baseline.rs", 1, "identities that this crate makes"),
    ("crates/prove/src/abstraction/formula.rs", 3, "names of terms that this crate makes"),
    ("crates/prove/src/horn/certificate.rs", 1, "what a solver answers"),
    ("crates/prove/src/ir/show.rs", 2, "puts a statement on one line, by its first word"),
    ("crates/prove/src/portfolio.rs", 1, "names of functions that this crate makes"),
    ("crates/cli/src/args.rs", 1, "arguments of the command line"),
    ("crates/cli/src/memory.rs", 1, "a line of numbers from the kernel"),
    ("crates/cli/src/picture.rs", 1, "the ending of a file's name"),
    ("crates/prove/src/program.rs", 2, "statements that were not understood have no tree: which tables they name"),
    ("crates/cli/src/prove.rs", 1, "the ending of a file's name"),
    ("crates/cli/src/tables.rs", 2, "URLs, and names made of characters"),
];

fn searches(line: &str) -> bool {
    // The literal has a word in it.
    let worded = |rest: &str| {
        let literal = rest.split('"').next().unwrap_or_default();
        literal.split(|c: char| !c.is_alphabetic()).any(|word| word.len() > 2)
    };
    let calls = CALLS.iter().any(|call| line.match_indices(call).any(|(at, _)| worded(&line[at + call.len()..])));
    calls || FOLDS.iter().any(|call| line.contains(call))
}

#[test]
fn nothing_searches_for_words_outside_of_parsing() {
    let mut broken = Vec::new();
    for source in sources().into_iter().filter(|source| source.is_product() && CRATES.contains(&source.of_crate())) {
        let found: Vec<(usize, &str)> = source.code().filter(|(_, line)| searches(line)).collect();
        let allowed = ALLOWED.iter().find(|(path, ..)| *path == source.path).map_or(0, |(_, lines, _)| *lines);
        if found.len() != allowed {
            broken.push(format!("{}: {} lines, {allowed} are allowed", source.path, found.len()));
            broken.extend(found.iter().map(|(number, line)| format!("  {}:{number}: {}", source.path, line.trim())));
        }
    }
    let is_there = |path: &str| sources().iter().any(|source| source.path == path);
    broken.extend(ALLOWED.iter().filter(|(path, ..)| !is_there(path)).map(|(path, ..)| format!("{path} is gone")));
    check("facts, not words", broken);
}

#[test]
fn a_search_is_noticed() {
    assert!(searches("let ordered = text.contains(\"order by\");"));
    assert!(searches("match text.split_whitespace().next() {"));
    assert!(!searches("let at = text.find(\";\");"));
    assert!(!searches("facts.order == RowOrder::Asked"));
}
