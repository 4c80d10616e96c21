//! Each row of `--levels` is the verdict of the file that one would write by hand for it.
//!
//! A program is two threads and a way in which each names its level: in its header, as the option of the file, in
//! BEGIN, by SET TRANSACTION, SET SESSION CHARACTERISTICS or SET. Written at some levels it is given to
//! `at_each_level`; for every row it is written once more, at the levels of that row, and checked by itself.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::ops::ControlFlow;

use isolde_report::{LevelCost, LevelScope, LevelsReport, Report, Verdict};
use isolde_scenario::file::{self, FileOptions, Included, SearchKind};
use isolde_scenario::fix::levels::{Answered, LEVELS, ask, at_each_level};
use isolde_scenario::{Options, Scenario, check};
use isolde_sql::ast::Isolation;

const SETUP: &str = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10), (2, 20);\n";

/// What a thread does, without its transaction.
const BODIES: [&str; 4] = [
    "SELECT n AS old FROM t WHERE id = 1 \\gset\nUPDATE t SET n = :old - 5 WHERE id = 1;\n",
    "SELECT sum(n) AS total FROM t \\gset\nUPDATE t SET n = n + :total WHERE id = 2;\n",
    "UPDATE t SET n = n + 1 WHERE id = 2;\nUPDATE t SET n = n + 1 WHERE id = 1;\n",
    "SELECT n FROM t WHERE id = 1;\nSELECT n FROM t WHERE id = 2;\n",
];

fn named(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// How a thread names its level.
const WAYS: [fn(&str, &str, &str) -> String; 6] = [
    |name, level, body| format!("--@ thread {name} isolation {level} retry 1\nBEGIN;\n{body}COMMIT;\n"),
    |name, level, body| format!("--@ thread {name}\nBEGIN ISOLATION LEVEL {level};\n{body}COMMIT;\n"),
    |name, level, body| {
        format!("--@ thread {name} retry 1\nBEGIN;\nSET TRANSACTION ISOLATION LEVEL {level};\n{body}COMMIT;\n")
    },
    |name, level, body| format!("--@ thread {name}\nSET default_transaction_isolation = '{level}';\n{body}"),
    |name, level, body| {
        format!(
            "--@ thread {name}\nSET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level};\nBEGIN;\n{body}COMMIT;\n"
        )
    },
    |name, level, body| format!("--@ thread {name} isolation {level}\n{body}"),
];

/// A program at these levels.
fn written(ways: [usize; 2], bodies: [usize; 2], levels: [Isolation; 2]) -> String {
    let thread = |number: usize, name: &str| WAYS[ways[number]](name, named(levels[number]), BODIES[bodies[number]]);
    format!("{SETUP}{}{}--@ option deadlock off\n", thread(0, "a"), thread(1, "b"))
}

fn options() -> Options {
    Options { settings: FileOptions { jobs: Some(1), ..FileOptions::default() }, ..Options::default() }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse("t.sql", text, &mut file::no_includes).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn at_levels(text: &str) -> LevelsReport {
    let file = file::read("t.sql", text, &mut file::no_includes).unwrap();
    let answered = at_each_level(&file, "isolde explore --levels t.sql", &mut |files: &[Included]| {
        Ok::<Answered, Infallible>(ask(&scenario(&files[0].text), &options(), &mut |_| ControlFlow::Continue(())))
    });
    answered.unwrap_or_else(|never| match never {})
}

/// What is compared.
fn facts(report: &Report) -> (Verdict, Option<String>, Option<String>) {
    let found = report.counterexample.as_ref();
    (report.verdict.clone(), found.map(|c| c.property.clone()), found.and_then(|c| c.anomaly.clone()))
}

/// Whether something happens at all, and who never gets through. How many classes of runs there are depends on how much
/// of the level is known before the search, which the header tells best.
fn costs(cost: &LevelCost) -> (bool, bool, bool, Vec<String>) {
    (cost.ends_aborted > 0, cost.ends_given_up > 0, cost.ends_waited > 0, cost.never_done.clone())
}

#[test]
fn each_row_is_the_file_written_by_hand() {
    let mut programs = Vec::new();
    for way in 0..WAYS.len() {
        let number = programs.len();
        programs.push(([way, (way + number) % WAYS.len()], [number % 4, (number / 2 + 1) % 4]));
        programs.push(([way, 0], [(number + 1) % 4, number % 4]));
    }
    for (number, (ways, bodies)) in programs.into_iter().enumerate() {
        let own = [LEVELS[number % 3], LEVELS[number / 2 % 3]];
        let text = written(ways, bodies, own);
        let report = at_levels(&text);
        assert_eq!(report.levels.len(), 1 + 3 + 3 + 3);
        for (position, row) in report.levels.iter().enumerate() {
            let level = LEVELS[(position + 2) % 3];
            let levels = match &row.who {
                LevelScope::Written => own,
                LevelScope::All => [level, level],
                LevelScope::Only(names) if names == &["a"] => [level, own[1]],
                LevelScope::Only(_) => [own[0], level],
            };
            let by_hand = written(ways, bodies, levels);
            let expected = check(&scenario(&by_hand), &options(), &mut |_| ControlFlow::Continue(()));
            let found = (row.verdict.clone(), row.property.clone(), row.anomaly.clone());
            assert_eq!(found, facts(&expected), "{:?} {:?}\n{text}\n{by_hand}", row.who, row.level);
            let expected = ask(&scenario(&by_hand), &options(), &mut |_| ControlFlow::Continue(())).cost;
            assert_eq!(row.cost.as_ref().map(costs), expected.as_ref().map(costs), "{by_hand}");
            assert!(row.cost.is_some(), "everything can be counted\n{by_hand}");
            assert_eq!(row.as_written, row.level.is_some() && levels == own, "{by_hand}");
        }
    }
}

/// What the rows cost does not depend on how it was searched, nor on how many search.
#[test]
fn costs_are_the_same_for_several_jobs() {
    let text = written([1, 0], [0, 1], [Isolation::RepeatableRead, Isolation::Serializable]);
    let cost = |settings: FileOptions| {
        ask(&scenario(&text), &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(())).cost
    };
    let one = cost(FileOptions { jobs: Some(1), ..FileOptions::default() });
    assert!(one.as_ref().is_some_and(|cost| cost.ends > 0));
    assert_eq!(one, cost(FileOptions { jobs: Some(3), ..FileOptions::default() }));
    assert_eq!(one, cost(FileOptions { search: Some(SearchKind::Stateful), ..FileOptions::default() }));
}

/// Write skew needs SERIALIZABLE for both; what a routine sets by itself stays, and is named.
#[test]
fn the_answer_names_the_weakest_level_and_what_it_left() {
    let thread = |name: &str, other: i32| {
        format!(
            "--@ thread {name} retry 2\nBEGIN;\nSELECT n AS other FROM t WHERE id = {other} \\gset\n\
             UPDATE t SET n = n - 15 WHERE id = {} AND n + :other >= 30;\nCOMMIT;\n",
            3 - other
        )
    };
    let text = format!(
        "{SETUP}CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; END $$;
{}{}--@ invariant enough\nSELECT sum(n) >= 15 FROM t;\n",
        thread("a", 2),
        thread("b", 1)
    );
    let report = at_levels(&text);
    assert_eq!(report.weakest.as_deref(), Some("SERIALIZABLE"));
    assert_eq!(report.verdict, Verdict::Violated);
    assert_eq!(report.notes[0], "as written: a at READ COMMITTED, b at READ COMMITTED");
    assert!(report.notes[1].starts_with("line 2 may set a level by itself"), "{:?}", report.notes);
    let serializable = report.levels.iter().find(|row| row.level == report.weakest).unwrap();
    let cost = serializable.cost.as_ref().unwrap();
    assert!(cost.ends_aborted > 0 && cost.ends_given_up == 0, "{cost:?}");
}

/// Copies of a thread have one header, and one row.
#[test]
fn copies_are_raised_together() {
    let text =
        format!("{SETUP}--@ thread a x2\nUPDATE t SET n = n + 1 WHERE id = 1;\n--@ thread b\nSELECT n FROM t;\n");
    let report = at_levels(&text);
    let who: Vec<&LevelScope> = report.levels.iter().step_by(3).map(|row| &row.who).collect();
    let copies = LevelScope::Only(vec!["a1".into(), "a2".into()]);
    assert!(who.contains(&&copies), "{who:?}");
}
