//! Applications through the proxy: shell scripts around psql, checked from start to end on a real server.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::PathBuf;

use isolde_postgres::Trouble;
use isolde_postgres::app::{AppFile, AppStage};
use isolde_postgres::live::{self, Question};
use isolde_report::{Report, Verdict};
use isolde_scenario::file::FileOptions;
use isolde_testkit::Cluster;

/// Checks an application; the head of its file (the server) is added.
fn check(text: &str) -> Result<Report, Trouble> {
    let cluster = Cluster::shared();
    let settings = cluster.settings("postgres");
    let text = format!("time_limit = 5\n[database]\nurl = \"\"\n{text}");
    let file = AppFile::parse("app.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let (invariants, finals) = (file.invariants.clone(), file.finals.clone());
    let mut stage = AppStage::open(file, PathBuf::from("."), &settings, || false)?;
    let question = Question {
        command: "isolde explore app.toml".into(),
        file: "app.toml".into(),
        settings: FileOptions::default(),
        invariants,
        finals,
        replay: &|schedule| format!("isolde replay app.toml '{schedule}'"),
        clock: None,
    };
    live::check(&mut stage, &question, &mut |_| ControlFlow::Continue(()))
}

fn databases() -> usize {
    let mut control = Cluster::shared().connect("postgres", "").unwrap();
    let rows = control.query("SELECT datname FROM pg_database WHERE datname LIKE 'isolde\\_%'").unwrap();
    rows[0].rows().len()
}

const COUNTER: &str = r#"
setup_sql = "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0)"
"#;

#[test]
fn two_scripts_lose_an_update() {
    let thread = |name: &str| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''n=$(psql -XAtc 'SELECT n FROM counter WHERE id = 1') && \
             psql -Xqc \"UPDATE counter SET n = $n + 1 WHERE id = 1\"'''\n"
        )
    };
    let report = check(&format!("{COUNTER}{}{}", thread("alice"), thread("bob"))).unwrap();
    println!("{}", report.to_text(isolde_report::Style::plain(120)));
    assert_eq!(report.verdict, Verdict::Violated);
    let counterexample = report.counterexample.unwrap();
    assert_eq!(counterexample.property, "serial outcome");
    assert_eq!(counterexample.schedule, "alice bob bob alice");
}

#[test]
fn an_atomic_update_waits_and_holds() {
    let thread = |name: &str| {
        format!(
            "[[thread]]\nname = \"{name}\"\ncommand = '''psql -Xq -v ON_ERROR_STOP=1 <<EOF\nBEGIN;\n\
             UPDATE counter SET n = n + 1 WHERE id = 1;\nCOMMIT;\nEOF\n'''\n"
        )
    };
    let report = check(&format!("{COUNTER}{}{}", thread("alice"), thread("bob"))).unwrap();
    println!("{}", report.to_text(isolde_report::Style::plain(120)));
    assert_eq!(report.verdict, Verdict::Holds, "{report:?}");
}

#[test]
fn a_thread_that_does_something_else_is_stuck() {
    let text = "[[thread]]\nname = \"alice\"\ncommand = \"sleep 100\"\n";
    let trouble = check(&format!("{COUNTER}{text}")).unwrap_err();
    assert!(
        trouble.to_string().starts_with("alice neither goes on nor waits for another thread: it has neither"),
        "{trouble}"
    );
    assert_eq!(databases(), 0);
}
