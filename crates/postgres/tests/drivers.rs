//! Real drivers through the proxy. Each script in `drivers` exercises what its driver can do, statement by statement
//! held and let go, and asserts that nothing is different from a server. `drivers/prepare` gets them.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use common::{COUNTER, check};
use isolde_report::Verdict;
use isolde_testkit::skipped;

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

/// Gets the drivers; says so if that cannot be done.
fn is_prepared() -> bool {
    static PREPARED: LazyLock<Output> = LazyLock::new(|| Command::new(directory().join("prepare")).output().unwrap());
    if !PREPARED.status.success() {
        let errors = String::from_utf8_lossy(&PREPARED.stderr);
        let why = format!("they cannot be installed: {}", errors.lines().next_back().unwrap_or_default());
        skipped::note("drivers of Python and Node", &why);
    }
    PREPARED.status.success()
}

/// Whatever the driver says and in how many messages: two that read and write lose an update, and two that write in one
/// statement do not (asked of those who say it most strangely: a check is many processes).
#[test]
fn every_driver_loses_an_update() {
    if !is_prepared() {
        return;
    }
    let python = |driver: &str| format!(".venv/bin/python add_one.py {driver}");
    let commands = ["psycopg", "pipeline", "psycopg2", "pg8000", "asyncpg"].map(python);
    for command in commands.into_iter().chain(["node add_one.js".to_string()]) {
        let thread = |name: &str, how: &str| {
            let command = format!("cd {} && {command} {how}", directory().display());
            format!("[[thread]]\nname = \"{name}\"\ncommand = \"{command}\"\n")
        };
        let checked = |how: &str| {
            let text = format!("{COUNTER}{}{}", thread("alice", how), thread("bob", how));
            check(&text).unwrap_or_else(|trouble| panic!("{command}: {trouble}"))
        };
        let lost = checked("");
        let anomaly = lost.counterexample.as_ref().and_then(|counterexample| counterexample.anomaly.as_deref());
        assert_eq!(anomaly, Some("lost update"), "{command}\n{}", lost.to_text(isolde_report::Style::plain(120)));
        if !["pipeline", "pg8000"].iter().any(|driver| command.ends_with(driver)) {
            continue;
        }
        let kept = checked("atomic");
        assert_eq!(kept.verdict, Verdict::Holds, "{command}\n{}", kept.to_text(isolde_report::Style::plain(120)));
    }
}

#[test]
fn every_driver_finds_a_server() {
    if !is_prepared() {
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
