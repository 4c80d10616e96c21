//! Every spec of the testkit prints on a real server, through our sessions, what isolationtester recorded.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};

use isolde_postgres::spec;
use isolde_scenario::spec::Spec;
use isolde_testkit::Cluster;

/// A busy machine may let a step be seen waiting that would not be seen on a quiet one: then it is run again.
const ATTEMPTS: usize = 5;

/// Specs whose recorded output is that of some versions only, and of which: before 15 there is no MERGE; since 18, where autovacuum
/// is off (as it is here), CREATE INDEX does not tell the planner how many rows there are.
const VERSIONS: &[(&str, RangeInclusive<u32>)] = &[("merge-concurrent", 15..=99), ("ssi-known-table", 13..=17)];

#[test]
fn a_server_prints_what_was_recorded() {
    let wanted = std::env::var("SPEC").unwrap_or_default();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/specs");
    let mut paths: Vec<PathBuf> = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "spec") && path.to_string_lossy().contains(&wanted));
    paths.sort();
    let version = Cluster::shared().version_major().unwrap();
    let is_other =
        |name: &OsStr| VERSIONS.iter().any(|(other, versions)| name == *other && !versions.contains(&version));
    paths.retain(|path| !is_other(path.file_stem().unwrap()));
    assert!(!paths.is_empty());
    let differences: Vec<String> = paths.iter().filter_map(|path| difference(path)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn difference(path: &Path) -> Option<String> {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let recorded = fs::read_to_string(path.with_file_name("expected").join(format!("{name}.out"))).unwrap();
    let mut printed = String::new();
    for _ in 0..ATTEMPTS {
        printed = print(path);
        if printed == recorded {
            return None;
        }
    }
    let line = recorded.lines().zip(printed.lines()).position(|(a, b)| a != b).unwrap_or(0);
    let at = |text: &str| text.lines().skip(line.saturating_sub(4)).take(9).collect::<Vec<_>>().join("\n  ");
    Some(format!("{name}, line {}: recorded\n  {}\nbut here\n  {}", line + 1, at(&recorded), at(&printed)))
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
