//! Nothing runs for ever, and nothing follows from what was cut off.
//!
//! A statement that costs too much, or whose time is over, ends as *inconclusive*, and the answer names it. It is no
//! error of the program: no handler catches it, and no property is judged where it happened.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use isolde_report::{Report, Verdict};
use isolde_scenario::file::{FileOptions, SearchKind, no_includes};
use isolde_scenario::{Budget, Exhausted, Options, Scenario, ScenarioError, check, fix};

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

/// Statements that cost more than they look, each a bomb of its own kind. They are cut off, or PostgreSQL refuses them.
const BOMBS: &[&str] = &[
    "SELECT array_agg(a) @> array_agg(a + 1) FROM generate_series(1, 100000) AS a",
    "SELECT array_agg(a) && array_agg(a + 1000000) FROM generate_series(1, 100000) AS a",
    "SELECT array_fill(repeat('x', 10000), ARRAY[1000, 1000])::text",
    "SELECT string_to_array(repeat('a,', 20000000), ',')",
    "SELECT format('%1000000000s', 'x')",
    "SELECT length(json_agg(repeat('x', 100000))::text) FROM generate_series(1, 10000)",
    "SELECT length(string_agg(repeat('x', 100000), ',')) FROM generate_series(1, 10000)",
    "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 10000 PRECEDING AND 10000 FOLLOWING) FROM generate_series(1, 20000) AS a",
    "DO $$ BEGIN EXECUTE 'SELECT ' || repeat('1,', 20000000) || '1'; END $$",
    "DO $$ DECLARE n numeric := repeat('9', 60000)::numeric; BEGIN LOOP PERFORM n * n; END LOOP; END $$",
    "DO $$ DECLARE a int[] := '{1}'; BEGIN LOOP a := a || a; END LOOP; END $$",
    "DO $$ DECLARE s text := 'x'; BEGIN LOOP s := s || s; END LOOP; END $$",
    "DO $$ DECLARE j jsonb := '1'; BEGIN LOOP j := jsonb_build_array(j, j); END LOOP; END $$",
];

#[test]
fn no_statement_costs_more_than_a_step_may() {
    for bomb in BOMBS {
        let error = parsed(&format!("{bomb};\n--@ thread a\nSELECT 1;\n")).unwrap_err();
        let refused = error.diagnostic.state == isolde_sql::SqlState::PROGRAM_LIMIT_EXCEEDED;
        assert!(error.is_cut() || refused, "{bomb}: {error}");
    }
}

/// What only looks expensive is computed.
#[test]
fn what_is_cheap_is_not_cut_off() {
    let list: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let cheap = [
        format!("DO $$ BEGIN ASSERT 19999 IN ({}); END $$", list.join(",")),
        "DO $$ BEGIN ASSERT length(factorial(3000)::text) = 9131; END $$".to_string(),
        "DO $$ BEGIN ASSERT (SELECT sum(x) FROM (SELECT sum(a) OVER (ORDER BY a) AS x FROM generate_series(1, 1000) AS a) q) > 0; END $$".into(),
        "SELECT to_timestamp('2024-02-30 ' || repeat('1', 100000), 'YYYY-MM')".into(),
    ];
    for statement in cheap {
        let read = parsed(&format!("{statement};\n--@ thread a\nSELECT 1;\n"));
        assert!(read.is_ok(), "{}: {}", &statement[..60], read.unwrap_err());
    }
}

/// Each view has the one before it twice: as many definitions as levels, however many rows.
#[test]
fn views_of_views_are_shared() {
    let doubled = |n| format!("CREATE VIEW v{n} AS SELECT a FROM v{} UNION ALL SELECT a FROM v{};\n", n - 1, n - 1);
    let views = |levels| (1..=levels).map(doubled).collect::<String>();
    let base = "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\nCREATE VIEW v0 AS SELECT a FROM t;\n";
    let few = format!(
        "{base}{}DO $$ BEGIN ASSERT (SELECT sum(a) FROM v8) = 256; END $$;\n--@ thread a\nSELECT 1;\n",
        views(8)
    );
    assert!(parsed(&few).is_ok(), "{}", parsed(&few).unwrap_err());
    let many = format!("{base}{}--@ thread a\nSELECT 1;\n", views(40));
    assert!(parsed(&many).unwrap_err().is_cut());
}

/// Procedures are proved with what set-up was left out, but not with what was cut off in it.
#[test]
fn set_up_that_is_cut_off_is_not_left_out() {
    let text = format!("{SETUP}{};\n--@ rule r\nSELECT true;\n", LOOPS[1].0.trim_end_matches(';'));
    let file = isolde_scenario::file::read_procedures("p.sql", &text, &mut no_includes).unwrap();
    assert!(isolde_scenario::set_up_possible(&file).unwrap_err().is_cut());
}

/// A budget may end at any moment of a search, also while it follows a run that it planned.
#[test]
fn a_search_that_is_ended_half_way_does_not_panic() {
    let text = format!(
        "{SETUP}INSERT INTO t SELECT i, 0 FROM generate_series(2, 9) i;\n--@ thread a\nUPDATE t SET a = a + 1 WHERE id = 1;\nUPDATE t SET \
         a = a + 1 WHERE id = 2;\n--@ thread b\nUPDATE t SET a = a + 1 WHERE id = 2;\nUPDATE t SET a = a + 1 WHERE id = 1;\n\
         --@ thread c\nBEGIN;\nSELECT sum(a) FROM t;\nUPDATE t SET a = 7 WHERE id = 1;\nCOMMIT;\n"
    );
    for search in SEARCHES {
        let settings = FileOptions { search: Some(search), ..FileOptions::default() };
        let options = Options { settings, ..Options::default() };
        // Set-up takes some of the steps; then every moment of the search, of minimising and of fixes is met.
        for steps in (0..300).step_by(4) {
            let _entered = Budget::ending_after(steps).enter();
            let Ok(scenario) = parsed(&text) else { continue };
            let report = check(&scenario, &options, &mut |_| ControlFlow::Continue(()));
            assert!(!matches!(report.verdict, Verdict::Holds), "{search:?} after {steps}");
            fix::try_fixes(&scenario, &report, &options, &mut |_| ControlFlow::Continue(()));
        }
    }
}
