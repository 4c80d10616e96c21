//! Scenario in, report out: every `golden/*.sql` has its report beside it. `UPDATE_EXPECT=1` writes them anew.
//!
//! Every scenario is also searched in the other ways, which must come to the same verdict.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use expect_test::expect;
use isolde_report::{Report, Style, Verdict};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{self, FileOptions, Include, Included, SearchKind};
use isolde_scenario::{Options, Restore, Scenario, ScenarioError, check, replay_schedule};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn scenarios() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|e| e.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "sql")).collect();
    paths.sort();
    paths
}

fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    Scenario::parse(name, &text, &mut |include: Include<'_>| {
        let text = std::fs::read_to_string(directory().join(include.path)).map_err(|e| e.to_string())?;
        Ok(Included { name: include.path.into(), text })
    })
}

fn run(scenario: &Scenario, settings: FileOptions) -> Report {
    let options = Options { settings, command: format!("isolde explore {}", scenario.name()), ..Options::default() };
    check(scenario, &options, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn reports() {
    for path in scenarios() {
        let text = match load(&path) {
            Ok(scenario) => run(&scenario, FileOptions::default()).to_text(Style::plain(120)),
            Err(error) => format!("{error}\n"),
        };
        expect_test::expect_file![path.with_extension("txt")].assert_eq(&text);
    }
}

#[test]
fn a_schedule_that_breaks_nothing_is_shown() {
    let scenario = load(&directory().join("lost-update.sql")).unwrap();
    let report = replay_schedule(&scenario, "alice*3 bob*3", &Options::default()).unwrap();
    expect![[r#"
        inconclusive  lost-update.sql: this schedule breaks nothing; there are others

          #  line  alice                                                  │ bob
          ────────────────────────────────────────────────────────────────┼─────────────────────────────────────────────────────
          1     5  SELECT balance FROM account WHERE id = 1               │
                   → balance 100                                          │
          2     6  UPDATE account SET balance = :balance - 60 WHERE id =  │
                     1                                                    │
                   → UPDATE 1                                             │
                   ~ account id = 1: balance 100 → 40                     │
          3        (commits)                                              │
          4     8                                                         │ SELECT balance AS b FROM account WHERE id = 1
                                                                          │ → b 40
          5     9                                                         │ UPDATE account SET balance = :my_b - 30 WHERE id = 1
                                                                          │ → UPDATE 1
                                                                          │ ~ account id = 1: balance 40 → 10
          6                                                               │ (commits)

          account at the end
            id  balance
            1   10

        undecided  failed assertion, uncaught error, deadlock, serial outcome by effects

        searched  replay: 7 states, 6 steps, 1 end state, at most 6 steps deep; not all of them
    "#]].assert_eq(&report.to_text(Style::plain(120)));
}

#[test]
fn schedules_that_make_no_sense() {
    let scenario = load(&directory().join("lost-update.sql")).unwrap();
    let refused = |schedule: &str| replay_schedule(&scenario, schedule, &Options::default()).map(|_| ()).unwrap_err();
    expect!["token 2 of the schedule, `carol`, names no step; at the start there are: alice, bob"]
        .assert_eq(&refused("alice carol"));
    expect!["step 4 of the schedule, `alice`, is not possible; possible here: bob"].assert_eq(&refused("alice*5"));
    expect!["step 1 of the schedule, `alice!`, is not possible; possible here: alice, bob"]
        .assert_eq(&refused("alice!"));
}

/// Every search that looks at everything, by the coarsest dependence and the one that is used unless another is asked
/// for.
fn searches() -> Vec<FileOptions> {
    let by = |search, dependence| FileOptions { search: Some(search), dependence, ..FileOptions::default() };
    let mut all = vec![by(SearchKind::Stateless, None)];
    for level in BTreeSet::from([Dependence::Database, Dependence::default()]) {
        all.extend([SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful].map(|kind| by(kind, Some(level))));
    }
    all.push(FileOptions { jobs: Some(2), ..by(SearchKind::Dpor, None) });
    all.push(FileOptions { restore: Some(Restore::Rollback), ..by(SearchKind::Stateful, None) });
    all
}

/// A run that does not end is left for a search that recognises states, whatever was asked for.
#[test]
fn a_run_without_an_end_is_searched_by_states() {
    let text = "
        CREATE TABLE flag (up bool);
        INSERT INTO flag VALUES (false);
        CREATE PROCEDURE wait_for_it() LANGUAGE plpgsql AS $$
        BEGIN
          LOOP
            COMMIT;
            EXIT WHEN (SELECT up FROM flag);
          END LOOP;
        END $$;
        --@ option serial off
        --@ thread waits autocommit
        CALL wait_for_it();
        --@ thread raises
        UPDATE flag SET up = true;
    ";
    let scenario = Scenario::parse("flag.sql", text, &mut file::no_includes).unwrap();
    for search in [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful] {
        let settings = FileOptions { search: Some(search), ..FileOptions::default() };
        let report = run(&scenario, settings);
        assert_eq!((&report.verdict, report.stats.search.as_str()), (&Verdict::Holds, "stateful"));
    }
}

#[test]
fn every_search_comes_to_the_same_verdict() {
    for path in scenarios() {
        let Ok(scenario) = load(&path) else { continue };
        let stateful = run(&scenario, FileOptions::default());
        if matches!(stateful.verdict, Verdict::Inconclusive(_)) {
            continue;
        }
        for settings in searches() {
            let report = run(&scenario, settings.clone());
            assert_eq!(report.verdict, stateful.verdict, "{}: {settings:?}", path.display());
        }
    }
}

#[test]
fn every_counterexample_replays() {
    for path in scenarios() {
        let Ok(scenario) = load(&path) else { continue };
        let report = run(&scenario, FileOptions::default());
        let Some(mut counterexample) = report.counterexample else { continue };
        // What it could do without is found by searching, not by replaying.
        counterexample.not_needed.statements.clear();
        let again = replay_schedule(&scenario, &counterexample.schedule, &Options::default()).unwrap();
        assert_eq!(again.counterexample, Some(counterexample), "{}", path.display());
    }
}
