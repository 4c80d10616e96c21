//! Nothing runs for ever, and nothing follows from what was cut off.
//!
//! A statement that costs too much, or whose time is over, ends as *inconclusive*, and the answer names it. It is no
//! error of the program: no handler catches it, and no property is judged where it happened.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use isolde_report::{Report, Verdict};
use isolde_scenario::file::{FileOptions, SearchKind, no_includes};
use isolde_scenario::{Budget, Exhausted, Options, Scenario, ScenarioError, check};

const SEARCHES: [SearchKind; 4] = [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful, SearchKind::Stateless];

fn parsed(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("budget.sql", text, &mut no_includes)
}

fn explored(text: &str, search: SearchKind) -> Report {
    let settings = FileOptions { search: Some(search), ..FileOptions::default() };
    let options = Options { settings, ..Options::default() };
    check(&parsed(text).unwrap(), &options, &mut |_| ControlFlow::Continue(()))
}

fn reason(report: &Report) -> &str {
    match &report.verdict {
        Verdict::Inconclusive(why) => why,
        other => panic!("{other:?}"),
    }
}

/// Loops that never come to a step, and how they are named.
const LOOPS: &[(&str, &str)] = &[
    ("DO $$ BEGIN WHILE true LOOP PERFORM 1; END LOOP; END $$;", "WHILE true LOOP in DO"),
    ("DO $$ BEGIN LOOP END LOOP; END $$;", "LOOP in DO"),
    ("DO $$ BEGIN LOOP BEGIN PERFORM 1/0; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$;", "LOOP in DO"),
    ("SELECT f(1);", "FOR i IN 1..1000000000 LOOP in routine f"),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r;", "WITH RECURSIVE r"),
    ("SELECT count(*) FROM generate_series(1, 100000000000);", "SELECT count(*) FROM generate_series"),
];

const SETUP: &str = "CREATE TABLE t (id int PRIMARY KEY, a int);
INSERT INTO t VALUES (1, 0);
CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
  FOR i IN 1..1000000000 LOOP x := 1 - x; END LOOP; RETURN x; END $$;
";

#[test]
fn a_loop_in_a_thread_is_inconclusive_and_named() {
    for (statement, name) in LOOPS {
        // Were the thread taken to have failed, or to have ended, something would be broken.
        let text = format!(
            "{SETUP}--@ thread a\n{statement}\nUPDATE t SET a = a + 1;\n--@ thread b\nUPDATE t SET a = a + 1;\n\
             --@ final both\nSELECT a = 2 FROM t;\n"
        );
        let report = explored(&text, SearchKind::Dpor);
        assert!(reason(&report).contains(&format!("a is cut off in {name}")), "{statement}: {}", reason(&report));
        assert!(report.counterexample.is_none());
    }
}

#[test]
fn so_it_is_under_every_search() {
    let text = format!("{SETUP}--@ thread a\n{}\n--@ thread b\nUPDATE t SET a = a + 1;\n", LOOPS[1].0);
    for search in SEARCHES {
        assert!(reason(&explored(&text, search)).contains("LOOP in DO"), "{search:?}");
    }
}

#[test]
fn a_loop_in_set_up_is_named_with_its_place() {
    for (statement, name) in LOOPS {
        let error = parsed(&format!("{SETUP}{statement}\n--@ thread a\nSELECT 1;\n")).unwrap_err();
        assert!(error.is_cut() && error.to_string().contains(name), "{error}");
        assert_eq!(error.position().0, 5);
    }
}

/// No handler catches it, not even one that names its state.
#[test]
fn no_handler_catches_the_end_of_a_budget() {
    let caught =
        "DO $$ BEGIN BEGIN LOOP END LOOP; EXCEPTION WHEN OTHERS THEN NULL; WHEN query_canceled THEN NULL; END; END $$;";
    assert!(parsed(&format!("{caught}\n--@ thread a\nSELECT 1;\n")).unwrap_err().is_cut());
}

#[test]
fn an_invariant_without_end_is_not_decided() {
    let endless = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) > 0 FROM r;";
    let text = format!("{SETUP}--@ thread a\nUPDATE t SET a = 1;\n--@ invariant endless\n{endless}\n");
    assert!(reason(&explored(&text, SearchKind::Dpor)).contains("WITH RECURSIVE r"));
}

/// Whoever has the clock ends everything, in set-up as well as in the search.
#[test]
fn a_budget_that_is_ended_ends_set_up_and_search() {
    let text = format!("{SETUP}--@ thread a\nUPDATE t SET a = a + 1;\n--@ thread b\nUPDATE t SET a = a + 1;\n");
    let budget = Budget::default();
    let _entered = budget.enter();
    let scenario = parsed(&text).unwrap();
    budget.end(Exhausted::Time);
    assert!(parsed(&text).unwrap_err().is_cut());
    let report = check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()));
    assert!(reason(&report).contains("the time limit was reached"), "{}", reason(&report));
}
