//! Every example on a real server comes to what the embedded engine says about it.

#![allow(clippy::unwrap_used)]

mod both;

use std::fs;
use std::path::PathBuf;

use both::{gist, on_engine, on_server};
use isolde_report::Report;

/// Where another run is found first, with another name for the same cycle, because one of the two waits; or none,
/// because which key an INSERT ran into is not observed on a server.
const NAMED_OTHERWISE: &[&str] = &["petclinic-hibernate.sql", "uncaught-error.sql"];

fn examples() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .filter_map(|entry| fs::read_dir(entry.unwrap().path()).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .filter(|path| fs::read_to_string(path).unwrap().contains("--@ thread"))
        // The clock of a server cannot be set.
        .filter(|path| !fs::read_to_string(path).unwrap().contains("--@ clock"))
        .collect();
    files.sort();
    files
}

/// Golden scenarios that are not about what happens: they never end, reach a limit, or are too many runs for a server.
const NOT_COMPARED: &[&str] = &["limit-on-states.sql", "never-ends.sql", "never-rests.sql"];

#[test]
fn golden_scenarios_come_to_the_same_on_both() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenario/tests/golden");
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    files.retain(|path| !NOT_COMPARED.contains(&&*path.file_name().unwrap().to_string_lossy()));
    files.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with("mistake"));
    files.sort();
    compare(files);
}

#[test]
fn examples_come_to_the_same_on_both() {
    compare(examples());
}

fn compare(files: Vec<PathBuf>) {
    let mut differences = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let text = match text.contains("\\i schema.inc") {
            true => text.replace("\\i schema.inc", &fs::read_to_string(path.with_file_name("schema.inc")).unwrap()),
            false => text,
        };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let parent = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let nameless = |mut report: Report| {
            let otherwise = NAMED_OTHERWISE.contains(&&*name);
            report.counterexample.iter_mut().filter(|_| otherwise).for_each(|c| c.anomaly = None);
            report
        };
        let (engine, server) = (nameless(on_engine(&text)), nameless(on_server(&text)));
        let (ours, theirs) = (gist(&engine), gist(&server));
        eprintln!("{parent}/{name}: {ours} | {theirs} ({} runs)", server.stats.ends);
        if ours != theirs {
            differences.push(format!("{parent}/{name}: {ours}, but on a server {theirs}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_file_that_lets_time_pass_does_not_run_on_a_server() {
    let file = both::read("CREATE TABLE t (a int);\n--@ clock 0s 1m\n--@ thread a\nSELECT now();\n");
    let opened = both::stage_at(&file, &isolde_testkit::Cluster::shared().settings("postgres"));
    assert!(opened.err().unwrap().contains("the clock of a server cannot be set"));
}
