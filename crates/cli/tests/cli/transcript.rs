//! Transcripts: commands and what they print, as text.
//!
//! ```text
//! # A comment, kept.
//! $ isolde explore bank.sql
//! holds  bank.sql
//! ...
//! [exit code 0]
//! ```
//!
//! Standard output comes first, then standard error.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// Runs `isolde` as from a pipe: no terminal, no colours, whatever the environment of the tests is.
pub(crate) fn isolde(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
    command.current_dir(directory).stdin(Stdio::null());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    command
}

/// What a command came to, as a transcript shows it.
pub(crate) fn shown(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().map_or("none: killed".to_string(), |code| code.to_string());
    format!("{text}[exit code {code}]\n")
}

/// Runs one line of a transcript, `isolde explore 'a b.sql'`, and gives it back with what it came to.
pub(crate) fn run(line: &str, directory: &Path) -> (String, Output) {
    let words = words(line);
    assert_eq!(words.first().map(String::as_str), Some("isolde"), "a transcript runs isolde: {line}");
    let output = isolde(directory).args(&words[1..]).output().unwrap();
    (format!("$ {line}\n{}", shown(&output)), output)
}

/// A transcript with what its commands come to now.
pub(crate) fn replayed(transcript: &str, directory: &Path) -> String {
    let mut replayed = String::new();
    let mut in_output = false;
    for line in transcript.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                replayed += &run(command, directory).0;
                in_output = true;
            }
            None if in_output => in_output = !line.starts_with("[exit code "),
            None => replayed += &format!("{line}\n"),
        }
    }
    replayed
}

/// Compares a text with a file, or writes it there with `UPDATE_EXPECT=1`.
pub(crate) fn compare(actual: &str, path: &Path, failures: &mut Vec<String>) {
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    if actual != expected {
        let line = expected.lines().zip(actual.lines()).take_while(|(e, a)| e == a).count();
        let show = |text: &str| text.lines().skip(line).take(12).map(|l| format!("  {l}\n")).collect::<String>();
        failures.push(format!(
            "{}:{}\nexpected\n{}actual\n{}(UPDATE_EXPECT=1 rewrites it)",
            path.display(),
            line + 1,
            show(&expected),
            show(actual)
        ));
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Words of a command; single quotes keep spaces.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The commands of an example's README come to what it says behind them, and to what its `expected.txt` shows; the
/// transcript.
pub(crate) fn tell(story: &str, failures: &mut Vec<String>) -> String {
    let story = root().join("examples").join(story);
    let readme = std::fs::read_to_string(story.join("README.md")).unwrap();
    let mut transcript = String::new();
    for (command, claim) in readme.lines().filter(|l| l.starts_with("isolde ")).filter_map(|l| l.rsplit_once('#')) {
        let (answer, output) = run(command.trim(), &root());
        let code = if claim.trim() == "holds" { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{answer}");
        transcript += &answer;
        transcript.push('\n');
    }
    compare(&transcript, &story.join("expected.txt"), failures);
    transcript
}
