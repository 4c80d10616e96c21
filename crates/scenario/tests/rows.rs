//! Rows as steps: two statements that lock the same rows in opposite orders meet in the middle.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use isolde_report::{Report, Verdict};
use isolde_scenario::file::{FileOptions, Granularity, SearchKind, no_includes};
use isolde_scenario::{Options, Scenario, check};

const OPPOSITE: &str = "
CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO item SELECT i, 0 FROM generate_series(1, 3) AS i;
--@ thread up
BEGIN;
SELECT id FROM item ORDER BY id FOR UPDATE;
UPDATE item SET n = n + 1;
COMMIT;
--@ thread down
BEGIN;
SELECT id FROM item ORDER BY id DESC FOR UPDATE;
UPDATE item SET n = n + 1;
COMMIT;
";

fn explored(text: &str, granularity: Granularity, search: SearchKind) -> Report {
    let scenario = Scenario::parse("rows.sql", text, &mut no_includes).unwrap();
    let settings = FileOptions { granularity: Some(granularity), search: Some(search), ..FileOptions::default() };
    check(&scenario, &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn statements_that_meet_in_the_middle_deadlock() {
    for search in [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful, SearchKind::Stateless] {
        assert_eq!(explored(OPPOSITE, Granularity::Statement, search).verdict, Verdict::Holds, "{search:?}");
        let report = explored(OPPOSITE, Granularity::Row, search);
        assert_eq!(report.counterexample.unwrap().property, "deadlock", "{search:?}");
    }
}

/// In one order they do not, however finely one looks; and whoever comes second waits.
#[test]
fn one_order_is_safe() {
    let same = OPPOSITE.replace(" DESC", "");
    for search in [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful] {
        let report = explored(&same, Granularity::Row, search);
        assert_eq!(report.verdict, Verdict::Holds, "{search:?}");
        assert!(report.stats.transitions > explored(&same, Granularity::Statement, search).stats.transitions);
    }
}

/// Between two rows of an UPDATE another thread may change the second, and the UPDATE then sees it as it is.
#[test]
fn an_update_sees_what_was_committed_between_its_rows() {
    let text = "
CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO item VALUES (1, 0), (2, 0);
--@ thread all
UPDATE item SET n = n + 10;
--@ thread second
UPDATE item SET n = n + 1 WHERE id = 2;
--@ final both
SELECT (SELECT n FROM item WHERE id = 1) = 10 AND (SELECT n FROM item WHERE id = 2) = 11;
";
    for search in [SearchKind::Dpor, SearchKind::Stateless] {
        assert_eq!(explored(text, Granularity::Row, search).verdict, Verdict::Holds, "{search:?}");
    }
}
