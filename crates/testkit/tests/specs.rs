//! Every spec of `specs/` prints on the engine what isolationtester prints on a server, byte for byte.
//!
//! To add one: write `specs/NAME.spec`, run this test with `UPDATE_SPECS=1`, which records `specs/expected/NAME.out`
//! from the real tester, and review it. What other versions print is recorded beside it, by this test or by that of
//! `isolde spec --on`. `SPEC=name` looks at the specs with that in their name only.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use isolde_scenario::spec::{self, Spec};
use isolde_scenario::{Options, Scenario, check, file};
use isolde_testkit::isolation::{self, Recording};
use isolde_testkit::{Cluster, skipped};

#[test]
fn the_engine_prints_what_was_recorded() {
    let differences: Vec<String> = specs().iter().filter_map(|path| engine_difference(path)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The recordings are what the real tester prints; with `UPDATE_SPECS` they become so. The real tester looks at a
/// clock: on a busy machine it may report a wait late, so a spec that differs is run again, alone.
#[test]
fn the_real_tester_prints_what_was_recorded() {
    let Some(tester) = tester("what isolationtester prints for the specs") else { return };
    let queue = Mutex::new(specs());
    let different = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(path) = { queue.lock().expect("nobody panics").pop() } {
                    if tester_difference(&tester, &path).is_some() {
                        different.lock().expect("nobody panics").push(path);
                    }
                }
            });
        }
    });
    let different = different.into_inner().expect("nobody panics");
    let stays = |path: &PathBuf| (0..5).map(|_| tester_difference(&tester, path)).reduce(Option::and).flatten();
    let differences: Vec<String> = different.iter().filter_map(stays).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The counterexample of every example, written as a spec, does on a server what it does on the engine.
#[test]
fn counterexamples_are_tests_for_a_server() {
    let Some(tester) = tester("counterexamples as specs, run by isolationtester") else { return };
    let directory = tempfile::tempdir().expect("there is room");
    let mut written = 0;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for path in isolde_testkit::examples::files(&examples).expect("there are examples") {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("an example is text");
        let file = file::read(&name, &text, &mut file::no_includes).expect("an example is a scenario");
        // A spec cannot say when a statement is sent.
        if !file.clock.is_empty() {
            continue;
        }
        let scenario = Scenario::new(file.clone()).expect("an example can be set up");
        let report = check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()));
        let Some(counterexample) = report.counterexample else { continue };
        let emitted = spec::emit(&file, &counterexample.schedule).unwrap_or_else(|why| panic!("{name}: {why}"));
        let spec = Spec::parse("case.spec", &emitted).expect("what was written is a spec");
        let ours = spec::run(&spec, &mut |_| ControlFlow::Continue(())).expect("the engine runs it").output;
        for row in counterexample.trace.tables.iter().flat_map(|table| &table.rows) {
            let shown: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("")).collect();
            let is_row = |line: &str| line.split('|').map(str::trim).eq(shown.iter().map(|value| value.trim()));
            assert!(ours.lines().any(is_row), "{name}: no row {shown:?} in\n{ours}");
        }
        let path = directory.path().join("case.spec");
        std::fs::write(&path, &emitted).expect("there is room");
        let theirs = (0..5).map(|_| isolation::run(Cluster::shared(), &tester, &path).expect("the tester runs"));
        let theirs: Vec<String> = theirs.take_while(|output| *output != ours).collect();
        assert!(theirs.len() < 5, "{name}: the engine\n{ours}\nisolationtester\n{}", theirs[0]);
        written += 1;
    }
    assert!(written > 5, "only {written} counterexamples");
}

/// The real tester; without it, that something was skipped.
fn tester(what: &str) -> Option<PathBuf> {
    let tester = isolation::isolationtester();
    if tester.is_none() {
        skipped::note(what, "isolationtester is not installed (Debian: postgresql-server-dev)");
    }
    tester
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs")
}

fn specs() -> Vec<PathBuf> {
    let wanted = std::env::var("SPEC").unwrap_or_default();
    let entries = std::fs::read_dir(directory()).expect("there are specs");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "spec"));
    paths.retain(|path| path.to_string_lossy().contains(&wanted));
    paths.sort();
    paths
}

fn engine_difference(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("a spec is readable");
    let recorded = Recording::of(path).expect("a recording is readable").answers.usual;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let run = Spec::parse(&file, &text).and_then(|spec| spec::run(&spec, &mut |_| ControlFlow::Continue(())));
    match run {
        Ok(run) => difference(&file, &recorded, &run.output),
        Err(error) => Some(error.to_string()),
    }
}

fn tester_difference(tester: &Path, path: &Path) -> Option<String> {
    let version = Cluster::shared().version().expect("a server has a version");
    let mut recording = Recording::of(path).expect("a recording is readable");
    if let Some(why) = recording.needs.as_ref().and_then(|needs| needs.lacking(Some(version))) {
        skipped::note(&path.file_name().unwrap_or_default().to_string_lossy(), &why);
        return None;
    }
    let printed = isolation::run(Cluster::shared(), tester, path).expect("the tester runs");
    if std::env::var_os("UPDATE_SPECS").is_some() {
        recording.record(version, &printed).expect("a recording can be written");
        return None;
    }
    let allowed = recording.answers.allowed(Some(version));
    if allowed.contains(&&*printed) { None } else { difference(&path.to_string_lossy(), allowed[0], &printed) }
}

/// The first line that differs, with the permutation that it belongs to.
fn difference(name: &str, recorded: &str, printed: &str) -> Option<String> {
    if recorded == printed {
        return None;
    }
    let (mut a, mut b) = (recorded.lines(), printed.lines());
    let (mut permutation, mut number) = ("", 0);
    loop {
        number += 1;
        match (a.next(), b.next()) {
            (Some(x), Some(y)) if x == y => {
                if x.starts_with("starting permutation") {
                    permutation = x;
                }
            }
            (x, y) => {
                return Some(format!(
                    "{name}:{number}: {permutation}\n  recorded: {}\n  printed:  {}",
                    x.unwrap_or("<end>"),
                    y.unwrap_or("<end>")
                ));
            }
        }
    }
}
