//! What is absent stays absent: the invariants of ARCHITECTURE.md that a compiler does not check, read off the sources.
//!
//! Each rule is a function from the sources to what breaks it. Where an exception is true, it stands in the rule's list
//! with its reason, and an exception that is not needed any more breaks the rule as well.

mod arrows;
mod comments;
mod searches;
mod sources;
mod world;

use sources::{Source, sources};

/// Fails with everything that breaks a rule.
fn check(rule: &str, broken: Vec<String>) {
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

/// The median file is a third of this; see STYLE.
const LINES_MAX: usize = 850;

#[test]
fn files_are_short() {
    let long = sources().into_iter().filter(Source::is_product).map(|source| (source.lines().len(), source.path));
    let long = long.filter(|(lines, _)| *lines > LINES_MAX);
    check("a file has one idea", long.map(|(lines, path)| format!("{path}: {lines} lines")).collect());
}

#[test]
fn only_the_parser_names_squawk() {
    let outside = sources().into_iter().filter(|source| !source.path.starts_with("crates/sql/src/parse/"));
    let broken = outside.flat_map(|source| source.code_with("squawk_"));
    // The tests of the parser count its tokens, and this one names it.
    let tests = ["crates/sql/tests/", "crates/testkit/tests/tidy/"];
    check("squawk", broken.filter(|line| !tests.iter().any(|test| line.starts_with(test))).collect());
}

#[test]
fn one_word_for_one_thing() {
    // The word that is used, and what it replaces.
    let words = [("cycle", "circle"), ("wait cycle", "circle of waits")];
    let mut broken = Vec::new();
    for (path, text) in sources::documents() {
        for (number, line) in text.lines().enumerate() {
            for (say, not) in words.iter().filter(|(_, not)| sources::has_word(line, not)) {
                broken.push(format!("{path}:{}: say {say}, not {not}", number + 1));
            }
        }
    }
    check("one word for one thing", broken);
}
