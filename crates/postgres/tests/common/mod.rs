//! Applications written in a test, checked on the server of the tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::PathBuf;

use isolde_postgres::Trouble;
use isolde_postgres::app::{AppFile, AppStage};
use isolde_postgres::live::{self, Question};
use isolde_report::Report;
use isolde_scenario::file::FileOptions;
use isolde_testkit::Cluster;
use isolde_wire::Settings;

/// Checks an application; the head of its file (the server) is added.
pub fn check(text: &str) -> Result<Report, Trouble> {
    check_on(&Cluster::shared().settings("postgres"), text)
}

/// Checks an application on a server of its own, of which nothing must be left there.
pub fn check_alone(text: &str) -> Result<Report, Trouble> {
    let cluster = Cluster::start().unwrap();
    let answer = check_on(&cluster.settings("postgres"), text);
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
    answer
}

/// Reads the rest of a file. Nothing waits for the limit but who is stuck, so it is generous: the machine may be busy.
fn read(text: &str) -> AppFile {
    let (limit, rest) = match text.split_once('\n') {
        Some((line, rest)) if line.starts_with("time_limit") => (line, rest),
        _ => ("time_limit = 60", text),
    };
    let text = format!("{limit}\n[database]\nurl = \"\"\n{rest}");
    AppFile::parse("app.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// An application on the stage.
pub fn stage(text: &str) -> AppStage {
    let server = Cluster::shared().settings("postgres");
    AppStage::open(read(text), PathBuf::from("."), &server).unwrap_or_else(|trouble| panic!("{trouble}"))
}

/// Checks an application as somebody else.
pub fn check_on(settings: &Settings, text: &str) -> Result<Report, Trouble> {
    let file = read(text);
    let (invariants, finals) = (file.invariants.clone(), file.finals.clone());
    let mut stage = AppStage::open(file, PathBuf::from("."), settings)?;
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

/// Whether there is no psql, as which most threads of applications run here; then it is said what is not tested.
pub fn without_psql(what: &str) -> bool {
    isolde_testkit::skipped::without("psql", what)
}

/// A table with one counter, at zero.
pub const COUNTER: &str = r#"
setup_sql = "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0)"
"#;
