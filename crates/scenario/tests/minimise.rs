//! The counterexample that is shown is the simplest, whatever search has found it.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use isolde_report::{Counterexample, Report};
use isolde_scenario::file::{FileOptions, Include, Included, SearchKind};
use isolde_scenario::{Options, Scenario, ScenarioError, check, replay_schedule};

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = std::fs::read_dir(root.join("../../examples")).unwrap().map(|e| e.unwrap().path());
    let directories = examples.filter(|p| p.is_dir()).chain([root.join("tests/golden")]);
    let entries = directories.flat_map(|directory| std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()));
    let mut paths: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "sql")).collect();
    // What is there to be proved only has no threads; golden mistakes may have none either.
    paths.retain(|path| !path.components().any(|c| c.as_os_str() == "atm"));
    paths.sort();
    paths
}

fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(path).unwrap();
    Scenario::parse("scenario.sql", &text, &mut |include: Include<'_>| {
        let text = std::fs::read_to_string(path.with_file_name(include.path)).map_err(|e| e.to_string())?;
        Ok(Included { name: include.path.into(), text })
    })
}

fn run(scenario: &Scenario, settings: FileOptions) -> Report {
    check(scenario, &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(()))
}

fn counterexample(scenario: &Scenario, settings: FileOptions) -> Option<Counterexample> {
    run(scenario, settings).counterexample
}

fn parse(text: &str) -> Scenario {
    Scenario::parse("scenario.sql", text, &mut isolde_scenario::file::no_includes).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn what_is_shown_does_not_depend_on_the_search() {
    for path in scenarios() {
        let Ok(scenario) = load(&path) else { continue };
        let Some(shown) = counterexample(&scenario, FileOptions::default()) else { continue };
        for search in SearchKind::ALL {
            let settings = FileOptions { search: Some(search), runs: Some(100), ..FileOptions::default() };
            let other = counterexample(&scenario, settings);
            assert!(other.is_none() || other.as_ref() == Some(&shown), "{}: {search:?}", path.display());
        }
    }
}

/// The length, and how often the thread changes.
fn rank(schedule: &str) -> (usize, usize) {
    let repeated = schedule.split(' ').flat_map(|token| match token.split_once('*') {
        Some((name, times)) => vec![name; times.parse().unwrap()],
        None => vec![token],
    });
    let steps: Vec<&str> = repeated.map(|step| step.trim_end_matches('!')).collect();
    (steps.len(), steps.windows(2).filter(|pair| pair[0] != pair[1]).count())
}

/// Every run is tried: none that breaks something is simpler than the one shown.
#[test]
fn nothing_simpler_breaks_anything() {
    let scenario = parse(
        "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
         INSERT INTO account VALUES (1, 100);
         --@ thread alice
         SELECT balance FROM account WHERE id = 1 \\gset
         UPDATE account SET balance = :balance - 60 WHERE id = 1;
         --@ thread bob
         SELECT balance FROM account WHERE id = 1 \\gset
         UPDATE account SET balance = :balance - 60 WHERE id = 1;",
    );
    let shown = counterexample(&scenario, FileOptions::default()).unwrap();
    let mut broken = Vec::new();
    for run in 0..64u32 {
        let schedule: Vec<&str> = (0..6).map(|step| if run >> step & 1 == 0 { "alice" } else { "bob" }).collect();
        let schedule = schedule.join(" ");
        if let Ok(Report { counterexample: Some(found), .. }) =
            replay_schedule(&scenario, &schedule, &Options::default())
        {
            broken.push(rank(&found.schedule));
        }
    }
    assert_eq!(broken.iter().min(), Some(&rank(&shown.schedule)));
    assert_eq!(shown.schedule, "alice bob*3 alice alice");
}

/// Too many states to search: what was found is shortened step by step, and comes to much the same.
#[test]
fn a_long_run_in_a_large_scenario_becomes_short() {
    let scenario = parse(
        "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
         INSERT INTO account VALUES (1, 100), (2, 100), (3, 100), (4, 100), (5, 100);
         --@ thread clerk x2
         SELECT balance FROM account WHERE id = 1 \\gset
         UPDATE account SET balance = :balance - 60 WHERE id = 1;
         --@ thread second
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         UPDATE account SET balance = balance - 1 WHERE id = 2;
         --@ thread third
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         UPDATE account SET balance = balance - 1 WHERE id = 3;
         --@ thread fourth
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         UPDATE account SET balance = balance - 1 WHERE id = 4;
         --@ thread fifth
         UPDATE account SET balance = balance - 1 WHERE id = 5;
         UPDATE account SET balance = balance - 1 WHERE id = 5;
         UPDATE account SET balance = balance - 1 WHERE id = 5;
         UPDATE account SET balance = balance - 1 WHERE id = 5;
         UPDATE account SET balance = balance - 1 WHERE id = 5;
         UPDATE account SET balance = balance - 1 WHERE id = 5;",
    );
    for seed in 0..3 {
        let settings = FileOptions { search: Some(SearchKind::Random), seed: Some(seed), ..FileOptions::default() };
        let shown = counterexample(&scenario, settings).unwrap();
        assert_eq!(rank(&shown.schedule), (6, 2), "{}", shown.schedule);
        assert_eq!(shown.not_needed.threads, ["second", "third", "fourth", "fifth"]);
        assert_eq!(shown.headline, "No serial order of clerk1 and clerk2 has the effects of this run.");
    }
}

/// Threads that take no step are as good as absent, so the others can be judged.
#[test]
fn a_schedule_without_a_thread_is_judged_without_it() {
    let scenario = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/unneeded-thread.sql")).unwrap();
    let replay = |schedule: &str| replay_schedule(&scenario, schedule, &Options::default()).unwrap();
    assert!(replay("clerk1 clerk2*3 clerk1 clerk1").counterexample.is_some());
    assert!(replay("clerk1*3 clerk2*3").counterexample.is_none());
    assert!(replay("clerk1 clerk2*3").counterexample.is_none());
    let beyond = replay("clerk3 clerk2*3 clerk3 clerk3");
    assert_eq!(beyond.counterexample.unwrap().not_needed.threads, ["clerk1", "statistician"]);
}
