//! Real drivers through the proxy. Each script in `drivers` exercises what its driver can do, statement by statement held
//! and let go, and asserts that nothing is different from a server. `drivers/prepare` gets them.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{COUNTER, check};
use isolde_report::Verdict;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers")
}

/// Runs a script as the only thread: it must end well, and take at least this many steps.
fn exercise(command: &str, steps_min: u64) {
    let command = format!("cd {} && {command}", directory().display());
    let thread = format!("[[thread]]\nname = \"driver\"\ncommand = '''{command}'''\n");
    let report = check(&format!("{COUNTER}{thread}")).unwrap_or_else(|trouble| panic!("{command}: {trouble}"));
    let text = report.to_text(isolde_report::Style::plain(120));
    println!("{text}");
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
    assert!(report.stats.transitions >= steps_min, "{text}");
}

#[test]
fn every_driver_finds_a_server() {
    let prepared = Command::new(directory().join("prepare")).output().unwrap();
    if !prepared.status.success() {
        let errors = String::from_utf8_lossy(&prepared.stderr);
        println!("skipped: the drivers cannot be had: {}", errors.lines().next_back().unwrap_or_default());
        return;
    }
    exercise(".venv/bin/python exercise_psycopg.py", 20);
    exercise(".venv/bin/python exercise_asyncpg.py", 8);
    exercise(".venv/bin/python exercise_pg8000.py", 4);
    exercise(".venv/bin/python exercise_psycopg2.py", 4);
    exercise("node exercise.js", 8);
}
