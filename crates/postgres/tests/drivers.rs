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
    a_server_has_a_life_of_its_own();
}

/// What a server says by itself is nobody's step, whenever it says it.
fn a_server_has_a_life_of_its_own() {
    let script = directory().join("heartbeat.py");
    let python = directory().join(".venv/bin/python");
    let server = format!("[[server]]\ncommand = 'exec {} {}'\n", python.display(), script.display());
    let thread =
        |name: &str| format!("[[thread]]\nname = \"{name}\"\nrequest = {{ method = \"POST\", url = \"/\" }}\n");
    let report = check(&format!("{COUNTER}{server}{}{}", thread("alice"), thread("bob"))).unwrap();
    let counterexample = report.counterexample.unwrap();
    assert_eq!(counterexample.anomaly.as_deref(), Some("lost update"));
    let beats = counterexample.trace.steps.iter().filter(|step| step.statement.contains("count(*)"));
    assert_eq!(beats.count(), 0, "{counterexample:?}");
}
