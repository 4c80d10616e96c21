//! Every spec of the testkit prints on a real server, through our sessions, what isolationtester recorded.
//! `UPDATE_SPECS=1` records what a server of another version prints.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use isolde_postgres::spec;
use isolde_scenario::spec::Spec;
use isolde_testkit::isolation::Recording;
use isolde_testkit::{Cluster, skipped};

/// A busy machine may let a step be seen waiting that would not be seen on a quiet one: then it is run again.
const ATTEMPTS: usize = 5;

#[test]
fn a_server_prints_what_was_recorded() {
    let wanted = std::env::var("SPEC").unwrap_or_default();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/specs");
    let mut paths: Vec<PathBuf> = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "spec") && path.to_string_lossy().contains(&wanted));
    paths.sort();
    assert!(!paths.is_empty());
    let differences: Vec<String> = paths.iter().filter_map(|path| difference(path)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn difference(path: &Path) -> Option<String> {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let version = Cluster::shared().version().unwrap();
    let mut recording = Recording::of(path).unwrap();
    if let Some(why) = recording.needs.as_ref().and_then(|needs| needs.lacking(Some(version))) {
        skipped::note(&format!("{name}.spec"), &why);
        return None;
    }
    let mut printed = String::new();
    for _ in 0..ATTEMPTS {
        printed = print(path);
        if recording.answers.allow(Some(version), &printed) {
            return None;
        }
    }
    if std::env::var_os("UPDATE_SPECS").is_some() && !version.is_reference() {
        recording.record(version, &printed).unwrap();
        return None;
    }
    let recorded = recording.answers.allowed(Some(version))[0];
    let line = recorded.lines().zip(printed.lines()).position(|(a, b)| a != b).unwrap_or(0);
    let at = |text: &str| text.lines().skip(line.saturating_sub(4)).take(9).collect::<Vec<_>>().join("\n  ");
    Some(format!("{name}, line {}: recorded\n  {}\nbut here\n  {}", line + 1, at(recorded), at(&printed)))
}

fn print(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let spec = Spec::parse(&path.file_name().unwrap().to_string_lossy(), &text).unwrap();
    let cluster = Cluster::shared();
    let database = cluster.create_database().unwrap();
    let run = spec::run(&cluster.settings(&database), &spec, &mut |_| ControlFlow::Continue(()));
    cluster.drop_database(&database).unwrap();
    run.map_or_else(|error| error.to_string(), |run| run.output)
}
