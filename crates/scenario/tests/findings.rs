//! All findings of a search: the same verdict as of one that stops at the first, and each of them once.
//!
//! `FINDINGS_PROGRAMS=100000 cargo test --release -p isolde-scenario --test findings` for a long run, `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_report::{Counterexample, PropertyStatus, Report, Verdict};
use isolde_scenario::file::{FileOptions, SearchKind};
use isolde_scenario::{Options, Scenario, check, replay_schedule};

use common::{check_all, scenario, seeds};

fn explored(scenario: &Scenario, search: SearchKind, all: bool) -> Report {
    let settings = FileOptions { search: Some(search), all: all.then_some(true), jobs: Some(1), ..Default::default() };
    check(scenario, &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(()))
}

fn all(text: &str) -> Report {
    explored(&scenario(text), SearchKind::Dpor, true)
}

/// The property, and the lines of the cycle in any order.
fn gist(found: &Counterexample) -> (String, BTreeSet<(u32, u32)>) {
    let edges = found.graph.iter().flat_map(|graph| &graph.edges).filter(|edge| edge.cycle);
    let line = |place: &Option<isolde_report::Place>| place.as_ref().map_or(0, |place| place.line);
    (found.property.clone(), edges.map(|edge| (line(&edge.first.place), line(&edge.second.place))).collect())
}

/// The laws, for one scenario.
fn judged(scenario: &Scenario) -> Result<(), String> {
    let [first, all] = [false, true].map(|all| explored(scenario, SearchKind::Dpor, all));
    let complain = |what: &str| Err(format!("{what}\n{}\n{}", first.to_json(), all.to_json()));
    if first.verdict != all.verdict {
        return complain("the verdicts differ");
    }
    let without_command = |found: &Counterexample| Counterexample { replay: String::new(), ..found.clone() };
    if first.counterexample.as_ref().map(without_command) != all.counterexample.as_ref().map(without_command) {
        return complain("the first finding is not the one of a search that stops there");
    }
    let settings = FileOptions { all: Some(true), ..FileOptions::default() };
    let options = Options { settings, ..Options::default() };
    for found in all.counterexamples() {
        let again = replay_schedule(scenario, &found.schedule, &options)?;
        if !again.counterexamples().any(|one| one.property == found.property) {
            return complain(&format!("{} is not seen again in {}", found.title(), found.schedule));
        }
    }
    let violated = |report: &Report| -> BTreeSet<String> {
        let broken = report.properties.iter().filter(|property| property.status == PropertyStatus::Violated);
        broken.map(|property| property.name.clone()).collect()
    };
    let told: BTreeSet<String> = all.counterexamples().map(|found| found.property.clone()).collect();
    if told != violated(&all) {
        return complain("a property is violated without a finding, or the other way round");
    }
    let stateful = explored(scenario, SearchKind::Stateful, true);
    if all.stats.complete && stateful.stats.complete && violated(&stateful) != violated(&all) {
        return complain(&format!("another search finds {:?}", violated(&stateful)));
    }
    Ok(())
}

#[test]
fn all_findings_agree_with_the_first() {
    check_all(seeds("FINDINGS_PROGRAMS", 60), |program| judged(&scenario(&program.to_string())));
}

#[test]
fn the_examples_have_the_same_first_finding() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for story in ["doctors/doctors.sql", "transfers/transfers.sql", "signup/signup.sql", "withdraw/fixed.sql"] {
        let text = std::fs::read_to_string(examples.join(story)).unwrap();
        judged(&scenario(&text)).unwrap_or_else(|why| panic!("{story}: {why}"));
    }
}

/// A lost update either way, and a deadlock: each property with each cycle of statements.
#[test]
fn two_bugs_are_told_in_one_answer() {
    let report = all(include_str!("fixes/lost-update-and-deadlock.sql"));
    let found: BTreeSet<_> = report.counterexamples().map(gist).collect();
    assert_eq!(found.len(), report.counterexamples().count(), "{found:?}");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["deadlock", "final sum", "final sum", "serial outcome", "serial outcome"]);
    assert!(report.stats.complete);
    let held = report.properties.iter().find(|property| property.name == "invariant nonneg").unwrap();
    assert_eq!(held.status, PropertyStatus::Holds);
}

/// What one commit breaks is told check by check.
#[test]
fn a_commit_that_breaks_two_invariants_is_two_findings() {
    let report = all("CREATE TABLE t (n int);\nINSERT INTO t VALUES (0);\n--@ thread a\nUPDATE t SET n = 9;\n\
                      --@ invariant small\nSELECT n < 5 FROM t;\n--@ invariant even\nSELECT n % 2 = 0 FROM t;\n\
                      --@ invariant positive\nSELECT n >= 0 FROM t;\n");
    let names: Vec<&str> = report.counterexamples().map(|found| found.property.as_str()).collect();
    assert_eq!(names, ["invariant small", "invariant even"]);
}

/// Which of several copies of a thread does it makes no difference.
#[test]
fn copies_of_a_thread_give_one_finding() {
    let text = |copies: &str| {
        format!(
            "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 0);\n--@ option serial off\n\
             --@ thread a {copies}\nSELECT n FROM t WHERE id = 1 \\gset\nUPDATE t SET n = :n + 1 WHERE id = 1;\n\
             --@ final one_each\nSELECT n > 1 FROM t;\n"
        )
    };
    for copies in ["x2", "x3"] {
        assert_eq!(all(&text(copies)).counterexamples().count(), 1, "{copies}");
    }
}

/// A search that is full says so, and does not say of the rest that it holds.
#[test]
fn there_is_an_end_to_findings() {
    let mut text =
        String::from("CREATE TABLE t (n int);\nINSERT INTO t VALUES (0);\n--@ thread a\nUPDATE t SET n = 1;\n");
    (0..30).for_each(|i| text.push_str(&format!("--@ invariant i{i}\nSELECT n = 0 FROM t;\n")));
    let report = all(&text);
    assert_eq!(report.verdict, Verdict::Violated);
    assert_eq!(report.counterexamples().count(), 20);
    assert!(report.warnings.iter().any(|warning| warning.contains("stopped at 20 findings")), "{:?}", report.warnings);
    assert!(report.properties.iter().all(|property| property.status != PropertyStatus::Holds));
}
