//! The order of rows is part of the semantics.
//!
//! For generated programs that take rows as they lie, all searches come to the outcomes of the search that leaves out
//! nothing and remembers nothing.
//!
//! `ORDER_PROGRAMS=100000 cargo test --release -p isolde-scenario --test order` for a long run, `SEED=n` for a single
//! one.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Limits, Matching, Reduction, Search, Strategy, System, Visit, Visitor};
use isolde_report::Verdict;
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{FileOptions, SearchKind, no_includes};
use isolde_scenario::{Event, Options, Scenario, ScenarioSystem, check, describe_end, describe_invariants};

use common::unordered::generate;
use common::{Program, check_all_of, scenario, seeds, system};

/// Programs with more steps in all their runs are left out.
const STEPS_MAX: u64 = 3_000;

const SEARCHES: [(&str, Strategy, Matching); 4] = [
    ("optimal", Strategy::Dpor(Reduction::Optimal), Matching::Off),
    ("source", Strategy::Dpor(Reduction::Source), Matching::Off),
    ("stateful", Strategy::Breadth, Matching::Digest),
    ("reduced", Strategy::Reduced, Matching::Digest),
];

#[test]
fn all_searches_agree_where_rows_are_not_ordered() {
    check_all_of(generate, seeds("ORDER_PROGRAMS", 250), agree);
}

/// The order of rows is looked at, or the programs would not be of any use.
#[test]
fn programs_depend_on_the_order_of_rows() {
    let depend = |seed: &u64| {
        let text = generate(*seed).to_string();
        let scenario = scenario(&text);
        let settings = FileOptions { search: Some(SearchKind::Stateful), ..FileOptions::default() };
        let report = check(&scenario, &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(()));
        report.warnings.iter().any(|warning| warning.contains("does not order"))
    };
    assert!((0..40).filter(depend).count() >= 10);
}

fn agree(program: &Program) -> Result<(), String> {
    let scenario = scenario(&program.to_string());
    let everything = system(&scenario);
    let Some(expected) = explore(&everything, Strategy::Depth, Matching::Off) else { return Ok(()) };
    for dependence in Dependence::ALL.into_iter().filter(|level| level.unsound().is_none()) {
        let system = ScenarioSystem { dependence, ..everything };
        for (name, strategy, matching) in SEARCHES {
            let Some(found) = explore(&system, strategy, matching) else { continue };
            let which = format!("{name} with {}", dependence.name());
            match (expected.difference(&found).next(), found.difference(&expected).next()) {
                (None, None) => {}
                (Some(lost), _) => return Err(format!("{which} misses {lost}")),
                (_, Some(new)) => return Err(format!("{which} invents {new}")),
            }
        }
    }
    Ok(())
}

/// Ends of runs, and answers of invariants.
fn explore(system: &ScenarioSystem<'_>, strategy: Strategy, matching: Matching) -> Option<BTreeSet<String>> {
    let limits = Limits { states_max: Some(STEPS_MAX), ..Limits::default() };
    let search = Search { strategy, matching, limits, ..Search::default() };
    let mut found = Found(describe_invariants(system, &system.initial()).into_iter().collect());
    search.run(system, &mut found).is_complete().then_some(found.0)
}

struct Found(BTreeSet<String>);

impl<'a> Visitor<ScenarioSystem<'a>> for Found {
    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'a>>) -> ControlFlow<()> {
        self.0.insert(describe_end(at.system, at.state));
        ControlFlow::Continue(())
    }

    fn step(&mut self, at: &Visit<'_, ScenarioSystem<'a>>, event: &Event) -> ControlFlow<()> {
        if event.published() {
            self.0.extend(describe_invariants(at.system, at.state));
        }
        ControlFlow::Continue(())
    }
}

/// Scenarios in which some search once said "holds".
const VIOLATED: &[(&str, &str)] = &[
    (
        "LIMIT takes the row that nobody has moved",
        "CREATE TABLE job (id int PRIMARY KEY, tries int NOT NULL);
INSERT INTO job VALUES (1, 0);
CREATE TABLE done (id int, jobs int);
--@ option serial off
--@ thread producer
INSERT INTO job VALUES (2, 0);
--@ thread worker
UPDATE job SET tries = tries + 1 WHERE id = 1;
INSERT INTO done SELECT id, (SELECT count(*) FROM job) FROM job LIMIT 1;
--@ final f
SELECT count(*) = 0 FROM done WHERE id = 1 AND jobs = 2;",
    ),
    (
        "two updates decide which row a third thread finds first",
        "CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t VALUES (1, 10), (2, 20);
CREATE TABLE l (a int);
--@ option serial off
--@ thread a
UPDATE t SET v = v + 1 WHERE id = 1;
--@ thread b
UPDATE t SET v = v + 1 WHERE id = 2;
--@ thread r
INSERT INTO l SELECT id FROM t LIMIT 1;
--@ final f
SELECT count(*) = 0 FROM l, t WHERE l.a = 2 AND t.id = 2 AND t.v = 21;",
    ),
    (
        "a final takes the first row",
        "CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t VALUES (1, 10), (2, 20);
--@ option serial off
--@ thread a
UPDATE t SET v = v + 1 WHERE id = 1;
--@ thread b
UPDATE t SET v = v + 1 WHERE id = 2;
--@ final f
SELECT (SELECT id FROM t LIMIT 1) = 1;",
    ),
    (
        "rows are locked as they lie, and a deadlock depends on it",
        "CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t VALUES (1, 10), (2, 20);
--@ option serial off
--@ thread a
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE v > 0;
--@ thread b
UPDATE t SET v = v + 1 WHERE id = 2;
BEGIN;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
COMMIT;",
    ),
];

#[test]
fn every_search_sees_what_depends_on_the_order_of_rows() {
    for (story, text) in VIOLATED {
        for search in [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful, SearchKind::Stateless] {
            let scenario = Scenario::parse("story.sql", text, &mut no_includes).unwrap();
            let settings = FileOptions { search: Some(search), ..FileOptions::default() };
            let options = Options { settings, ..Options::default() };
            let verdict = check(&scenario, &options, &mut |_| ControlFlow::Continue(())).verdict;
            assert_eq!(verdict, Verdict::Violated, "{story}: {}", search.name());
        }
    }
}
