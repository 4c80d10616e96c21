//! What was not tested, and why.
//!
//! A test that cannot run here passes, and says so in a line that no test harness keeps to itself: it is written to
//! standard error, and added to the file that `ISOLDE_SKIPPED` names, if there is one. `./test` prints that file at its
//! end.

use std::fs::OpenOptions;
use std::io::{self, Write};

/// Names the file.
pub const FILE: &str = "ISOLDE_SKIPPED";

/// Says that something is not tested.
pub fn note(what: &str, why: &str) {
    let line = format!("skipped: {what}: {why}\n");
    // Not by `eprintln!`, which tests capture. Nothing is lost if nobody can be told.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(FILE) {
        let _ = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Whether a program is missing that something cannot be tested without; then that is said.
pub fn without(program: &str, what: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = !std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if missing {
        note(what, &format!("{program} is not installed"));
    }
    missing
}
