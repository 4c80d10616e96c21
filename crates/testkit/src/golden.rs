//! Golden scripts: files of programs with what a real PostgreSQL answered.
//!
//! A file holds several programs in the format of [`crate::program`], each opened by a line `=== title`. Comments and
//! blank lines stay where they are. What is below a step is never written by hand: run the tests against the server
//! with `UPDATE_GOLDENFILES=1`, and review the diff. `SCRIPTS=name` takes only the files with that in their name.
//!
//! The answers are those of the [reference](crate::version), which the engine has to give as well. What another server
//! answers differently stands below, after a line with the versions that were seen to do so: running with
//! `UPDATE_GOLDENFILES=1` on such a server adds it there, and leaves the other answers alone. A program that servers of
//! some age cannot run says so in a line `@needs 15 MERGE`: the first version that can, and why. At the top of a file
//! it is said of all programs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mirror::{Run, Runner};
use crate::program::{Observation, Program};
use crate::skipped;
use crate::version::{self, Answers, Needs, REFERENCE, Version};

/// Runs every script (`*.script`) of a directory, in the order of their names, and compares. What is observed otherwise
/// may be `as_good`: where one step wakes two sessions, a server lets either of them go first.
///
/// # Panics
/// If a script cannot be read, or if something else is observed than the script says; the message shows the first
/// difference of each file.
pub fn check_directory(directory: &Path, runner: &mut impl Runner, mut as_good: impl FnMut(&Program, &Run) -> bool) {
    let update = std::env::var_os("UPDATE_GOLDENFILES").is_some();
    let mut failures = Vec::new();
    for path in scripts(directory) {
        let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let take_in = if update { Answers::record } else { Answers::contradict };
        let replayed = match replay(&expected, runner, take_in, &mut as_good) {
            Ok(replayed) => replayed,
            Err(error) => {
                failures.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for (why, programs) in &replayed.skipped {
            skipped::note(&format!("{programs} programs of {name}"), why);
        }
        if update {
            fs::write(&path, &replayed.script).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if let Some(difference) = first_difference(&expected, &replayed.script) {
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

/// A file with what is observed now.
#[derive(Clone, Debug, Default, PartialEq)]
struct Replayed {
    /// The file.
    script: String,
    /// Programs that were not run: why, and how many.
    skipped: Vec<(String, usize)>,
}

/// How an answer is taken in that a server of some version was not expected to give.
type TakeIn = fn(&mut Answers, Version, &str);

/// The same file with what is observed now.
fn replay(
    script: &str,
    runner: &mut impl Runner,
    take_in: TakeIn,
    as_good: &mut impl FnMut(&Program, &Run) -> bool,
) -> Result<Replayed, String> {
    let version = runner.version();
    let mut replayed = Replayed::default();
    let sections = sections(script);
    let of_file = Needs::find(sections.first().copied().unwrap_or_default());
    for section in sections {
        let program = Program::parse(section)?;
        let needs = Needs::find(section).or_else(|| of_file.clone());
        let lacking = needs.and_then(|needs| needs.lacking(version)).filter(|_| !program.steps.is_empty());
        if let Some(why) = lacking {
            match replayed.skipped.iter_mut().find(|(other, _)| *other == why) {
                Some((_, programs)) => *programs += 1,
                None => replayed.skipped.push((why, 1)),
            }
            replayed.script += section;
            continue;
        }
        let title = section.lines().next().unwrap_or_default();
        let first = runner.try_run(&program);
        let show = |observed: &[Observation]| annotate(section, observed, version, take_in);
        let annotated = show(first.as_ref().map_err(|failure| format!("{title}: {failure}"))?);
        let is_same = annotated == section
            || (1..RUNS_MAX).any(|_| show(&runner.run(&program)) == section)
            || as_good(&program, &first);
        replayed.script += if is_same { section } else { &annotated };
    }
    Ok(replayed)
}

/// Where two sessions wake at the same moment a server sometimes lets the second go first: a section that differs is
/// given further chances.
const RUNS_MAX: usize = 4;

/// Cuts a file before each line that begins with `===`.
fn sections(script: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = script.match_indices("\n===").map(|(index, _)| index + 1).collect();
    starts.insert(0, 0);
    starts.push(script.len());
    starts.windows(2).map(|pair| &script[pair[0]..pair[1]]).collect()
}

/// The section with these observations taken in, everything else as it was.
fn annotate(section: &str, observations: &[Observation], version: Option<Version>, take_in: TakeIn) -> String {
    let mut observations = observations.iter();
    let mut annotated = String::new();
    let mut lines = section.lines().peekable();
    while let Some(line) = lines.next() {
        annotated += &format!("{line}\n");
        let is_step = line.starts_with('s') && !line.starts_with("setup>");
        while let Some(more) = lines.next_if(|next| next.starts_with("..")) {
            annotated += &format!("{more}\n");
        }
        let mut answers = Answers::default();
        let mut text = &mut answers.usual;
        while let Some(next) = lines.next_if(|next| next.starts_with(' ')) {
            match version::versions(next).filter(|_| !next.starts_with(INDENT)) {
                Some(versions) => {
                    answers.others.push((versions, String::new()));
                    let (_, last) = answers.others.last_mut().expect("it was just pushed");
                    text = last;
                }
                None => *text += &format!("{}\n", next.strip_prefix(INDENT).unwrap_or(next)),
            }
        }
        let observation = if is_step { observations.next() } else { None };
        if let Some(observation) = observation {
            let answer = observation.to_string();
            if !answers.allow(version, &answer) {
                take_in(&mut answers, version.unwrap_or(REFERENCE), &answer);
            }
        }
        annotated += &indented(&answers);
    }
    annotated
}

/// Before every line of an answer.
const INDENT: &str = "    ";

fn indented(answers: &Answers) -> String {
    let indent = |text: &str| text.lines().map(|line| format!("{INDENT}{line}\n")).collect::<String>();
    let other = |(versions, text): &(Vec<Version>, String)| format!("  {}\n{}", version::line(versions), indent(text));
    indent(&answers.usual) + &answers.others.iter().map(other).collect::<String>()
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

    /// Answers with the statement itself.
    struct Parrot(Option<Version>);

    impl Runner for Parrot {
        fn version(&self) -> Option<Version> {
            self.0
        }

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
        assert_eq!(
            replay(script, &mut Parrot(None), Answers::record, &mut |_, _| false).map(|file| file.script),
            Ok(replayed.to_string())
        );
        let difference = first_difference(script, replayed).unwrap_or_default();
        assert_eq!(difference, "6: === one\ns0> A\n  expected: old\n  actual:   A");
    }

    /// Another version's answer stands beside the reference's, and is required of that version only.
    #[test]
    fn answers_of_other_versions_stand_apart() {
        let on = |version: &str, script: &str| {
            replay(script, &mut Parrot(Version::parse(version)), Answers::record, &mut |_, _| false)
                .expect("a script")
                .script
        };
        let script = "=== one\ns0> A\n    usual\n  @17.4\n    A\n";
        assert_eq!(on("17.4", script), script);
        let engine =
            replay(script, &mut Parrot(None), Answers::contradict, &mut |_, _| false).expect("a script").script;
        assert_eq!(first_difference(script, &engine).map(|text| text.contains("actual:   A")), Some(true));
        let recorded = on("13.23", "=== one\ns0> A\n.. B\n    usual\n\n# end\n");
        assert_eq!(recorded, "=== one\ns0> A\n.. B\n    usual\n  @13.23\n    A\n    B\n\n# end\n");
        assert_eq!(on("15.21", script), "=== one\ns0> A\n    A\n");
    }

    #[test]
    fn programs_that_need_more_are_skipped() {
        let script = "# file\n=== one\n@needs 15 MERGE\ns0> A\n    B\n=== two\ns0> C\n    C\n";
        let old =
            replay(script, &mut Parrot(Version::parse("14.3")), Answers::record, &mut |_, _| false).expect("a script");
        assert_eq!(old.script, script);
        assert_eq!(old.skipped, [("MERGE needs PostgreSQL 15.0, and the server is 14.3".to_string(), 1)]);
        let new =
            replay(script, &mut Parrot(Version::parse("15.20")), Answers::record, &mut |_, _| false).expect("a script");
        assert!(new.skipped.is_empty() && new.script != script, "{new:?}");
    }
}
