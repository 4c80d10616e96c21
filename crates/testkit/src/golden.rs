//! Golden scripts: files of programs with what a real PostgreSQL answered.
//!
//! A file holds several programs in the format of [`crate::program`], each opened by a line `=== title`. Comments and
//! blank lines stay where they are. What is below a step is never written by hand: run the tests against the server
//! with `UPDATE_GOLDENFILES=1`, and review the diff. `SCRIPTS=name` takes only the files with that in their name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mirror::Runner;
use crate::program::{Observation, Program};

/// Runs every script (`*.script`) of a directory, in the order of their names, and compares.
///
/// # Panics
/// If a script cannot be read, or if something else is observed than the script says; the message shows the first
/// difference of each file.
pub fn check_directory(directory: &Path, runner: &mut impl Runner) {
    let update = std::env::var_os("UPDATE_GOLDENFILES").is_some();
    let mut failures = Vec::new();
    for path in scripts(directory) {
        let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let actual = replay(&expected, runner).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if update {
            fs::write(&path, &actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if let Some(difference) = first_difference(&expected, &actual) {
            failures.push(format!("{}:{difference}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn scripts(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "script"));
    if let Ok(only) = std::env::var("SCRIPTS") {
        paths.retain(|path| path.to_string_lossy().contains(&only));
    }
    paths.sort();
    paths
}

/// The same file with what is observed now.
pub fn replay(script: &str, runner: &mut impl Runner) -> Result<String, String> {
    let mut replayed = String::new();
    for section in sections(script) {
        let program = Program::parse(section)?;
        let mut runs = (0..RUNS_MAX).map(|_| annotate(section, &runner.run(&program)));
        let first = runs.next().unwrap_or_default();
        replayed += &if first == section || runs.any(|run| run == section) { section.to_string() } else { first };
    }
    Ok(replayed)
}

/// Where two sessions wake at the same moment a busy machine sometimes lets the second go first: a section that differs
/// is given further chances.
const RUNS_MAX: usize = 4;

/// Cuts a file before each line that begins with `===`.
fn sections(script: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = script.match_indices("\n===").map(|(index, _)| index + 1).collect();
    starts.insert(0, 0);
    starts.push(script.len());
    starts.windows(2).map(|pair| &script[pair[0]..pair[1]]).collect()
}

/// The section with these observations instead of its own, everything else as it was.
fn annotate(section: &str, observations: &[Observation]) -> String {
    let mut observations = observations.iter();
    let mut pending: Option<&Observation> = None;
    let mut annotated = String::new();
    for line in section.lines().filter(|line| !line.starts_with(' ')) {
        if !line.starts_with("..") {
            annotated += &indented(pending.take());
        }
        annotated += &format!("{line}\n");
        let is_step = line.starts_with('s') && !line.starts_with("setup>");
        if is_step {
            pending = observations.next();
        }
    }
    annotated + &indented(pending)
}

fn indented(observation: Option<&Observation>) -> String {
    let text = observation.map(Observation::to_string).unwrap_or_default();
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Line number and context of the first line that differs.
fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let index = (0..expected.len().max(actual.len())).find(|index| expected.get(*index) != actual.get(*index))?;
    let title = expected[..index.min(expected.len())].iter().rev().find(|line| line.starts_with("==="));
    let step = actual[..index.min(actual.len())].iter().rev().find(|line| line.starts_with('s'));
    Some(format!(
        "{}: {}\n{}\n  expected: {}\n  actual:   {}",
        index + 1,
        title.unwrap_or(&""),
        step.unwrap_or(&""),
        expected.get(index).unwrap_or(&"(end)").trim(),
        actual.get(index).unwrap_or(&"(end)").trim(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Outcome, Response};

    struct Parrot;

    impl Runner for Parrot {
        fn run(&mut self, program: &Program) -> Vec<Observation> {
            let answer = |tag: &str| Outcome::Answered(vec![Response::Done { tag: tag.to_string() }]);
            program.steps.iter().map(|(_, tag)| Observation { outcome: answer(tag), released: Vec::new() }).collect()
        }
    }

    #[test]
    fn only_observations_are_replaced() {
        let script = "# file\n\n=== one\n# why\ns0> A\n    old\n\ns1> B\n.. C\n=== two\nsetup> X\ns0> D\n    D\n";
        let replayed =
            "# file\n\n=== one\n# why\ns0> A\n    A\n\ns1> B\n.. C\n    B\n    C\n=== two\nsetup> X\ns0> D\n    D\n";
        assert_eq!(replay(script, &mut Parrot), Ok(replayed.to_string()));
        let difference = first_difference(script, replayed).unwrap_or_default();
        assert_eq!(difference, "6: === one\ns0> A\n  expected: old\n  actual:   A");
    }
}
