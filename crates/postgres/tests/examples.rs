//! Every example on a real server comes to what the embedded engine says about it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use isolde_postgres::live::{self, Question};
use isolde_postgres::stage::{ScenarioStage, StageError, checks};
use isolde_report::Report;
use isolde_scenario::{Options, Scenario, file};
use isolde_testkit::Cluster;

/// Examples of which another run is found first, with another name for the same circle: there, one of the two waits.
const NAMED_OTHERWISE: &[&str] = &["petclinic-hibernate.sql"];

/// What a report says, in a line.
fn gist(report: &Report) -> String {
    let found = report.counterexample.as_ref();
    let property = found.map_or("", |c| c.property.as_str());
    let named = !NAMED_OTHERWISE.contains(&&*report.file);
    let anomaly = found.and_then(|c| c.anomaly.as_deref()).filter(|_| named).unwrap_or("-");
    format!("{} {property} {anomaly}", report.verdict.word())
}

fn on_server(name: &str, text: &str) -> Report {
    let cluster = Cluster::shared();
    let file = file::read_texts(name, text, &mut file::no_includes).unwrap();
    let mut stage = match ScenarioStage::new(&file, &cluster.settings("postgres")) {
        Ok(stage) => stage,
        Err(StageError::File(error)) => panic!("{error}"),
        Err(StageError::Trouble(trouble)) => panic!("{name}: {trouble}"),
    };
    let (invariants, finals) = checks(&file);
    let question = Question {
        command: String::new(),
        file: name.into(),
        settings: file.options.clone(),
        invariants,
        finals,
        replay: &|schedule| schedule.to_string(),
        clock: None,
    };
    live::check(&mut stage, &question, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|t| panic!("{name}: {t}"))
}

fn on_engine(name: &str, text: &str) -> Report {
    let scenario = Scenario::parse(name, text, &mut file::no_includes).unwrap();
    isolde_scenario::check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()))
}

fn examples() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .filter_map(|entry| fs::read_dir(entry.unwrap().path()).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    files.sort();
    files
}

#[test]
fn examples_come_to_the_same_on_both() {
    let mut differences = Vec::new();
    for path in examples() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let parent = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let (engine, server) = (on_engine(&name, &text), on_server(&name, &text));
        let (ours, theirs) = (gist(&engine), gist(&server));
        eprintln!("{parent}/{name}: {ours} | {theirs} ({} runs)", server.stats.ends);
        if ours != theirs {
            differences.push(format!("{parent}/{name}: {ours}, but on a server {theirs}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
