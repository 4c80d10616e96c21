//! Generated scenarios on a real server and on the embedded engine.
//!
//! Ends: the reduction on a server reaches the ends of all runs. Each end on the server is one on the engine; the
//! engine has more, because on a server no session acts between a commit and the statements that it wakes, and the
//! server chooses the victims of deadlocks. Under these two rules the engine has exactly the server's ends.
//!
//! Verdicts: on a server the default search and `--search stateless` agree, and the engine finds a violation wherever
//! the server has one.

#![allow(clippy::unwrap_used)]

mod both;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use std::ops::ControlFlow;

use both::{check_until, ends_on_engine, ends_on_engine_at_once, ends_on_server, on_engine, read, stage};
use isolde_explore::Limit;
use isolde_report::Verdict;

/// Runs of one program that are worth the time.
const RUNS_MAX: u64 = 150;

#[test]
fn servers_do_what_the_engine_does_and_the_reduction_loses_nothing() {
    let mut compared = 0;
    let plain = common::seeds("ISOLDE_SERVER_SEEDS", 12);
    let inside = common::inside_seeds("ISOLDE_SERVER_SEEDS", 3);
    for seed in plain.chain(inside) {
        eprintln!("seed {seed}");
        let text = common::generate(seed).to_string();
        match compare(&text, seed < common::INSIDE) {
            Ok(done) => compared += usize::from(done),
            Err(complaint) => panic!("seed {seed}: {complaint}\n{text}"),
        }
    }
    assert!(compared > 0, "all programs have too many runs");
    eprintln!("{compared} programs compared");
}

/// Compares the ends of a program; whether there are few enough runs for that. `same_steps` if what is one step on a
/// server is one on the engine: there, the statements of a function that a query calls are steps, too.
fn compare(text: &str, same_steps: bool) -> Result<bool, String> {
    let scenario = common::scenario(text);
    let tables: Vec<&str> = scenario.database().catalog().tables().map(|table| &*table.name).collect();
    let file = read(text);
    let mut stage = stage(&file);
    let Some(all) = ends_on_server(&mut stage, &tables, false, RUNS_MAX).map_err(|trouble| trouble.to_string())? else {
        return Ok(false);
    };
    let reduced = ends_on_server(&mut stage, &tables, true, RUNS_MAX).map_err(|trouble| trouble.to_string())?;
    let reduced = reduced.ok_or("the reduction has more runs than there are")?;
    let missed: Vec<&String> = all.difference(&reduced).collect();
    if !missed.is_empty() {
        return Err(format!("the reduction misses {missed:#?}\nof {all:#?}"));
    }
    let engine = ends_on_engine(text, &tables);
    let strange: Vec<&String> = all.difference(&engine).collect();
    if !strange.is_empty() {
        return Err(format!("the engine does not know {strange:#?}\nbut {engine:#?}"));
    }
    if !same_steps {
        return Ok(true);
    }
    let at_once = ends_on_engine_at_once(text, &tables);
    match at_once == all {
        true => Ok(true),
        false => {
            Err(format!("under the rules of a server, the engine comes to {at_once:#?}\nbut the server to {all:#?}"))
        }
    }
}

/// The verdict of a check on the server with the default search, or with this one; none if there are too many runs.
fn verdict_on_server(text: &str, search: Option<&str>) -> Option<Verdict> {
    let option = search.map_or_else(String::new, |kind| format!("--@ option search {kind}\n"));
    let file = read(&format!("{text}{option}"));
    let report = check_until(&file, &mut stage(&file), &mut |progress| match progress.leaves > RUNS_MAX {
        true => ControlFlow::Break(Limit::States),
        false => ControlFlow::Continue(()),
    });
    let verdict = report.unwrap_or_else(|trouble| panic!("{trouble}\n{text}")).verdict;
    (!matches!(verdict, Verdict::Inconclusive(_))).then_some(verdict)
}

#[test]
fn verdicts_do_not_depend_on_search_or_back_end() {
    let (mut compared, mut violated) = (0, 0);
    let plain = common::seeds("ISOLDE_VERDICT_SEEDS", 4);
    let inside = common::inside_seeds("ISOLDE_VERDICT_SEEDS", 4);
    for seed in plain.chain(inside) {
        eprintln!("seed {seed}");
        let text = common::generate(seed).to_string();
        let Some(server) = verdict_on_server(&text, None) else { continue };
        compared += 1;
        if let Some(stateless) = verdict_on_server(&text, Some("stateless")) {
            assert_eq!(server, stateless, "seed {seed}: the default search and stateless differ\n{text}");
        }
        if server == Verdict::Violated {
            violated += 1;
            assert_eq!(on_engine(&text).verdict, Verdict::Violated, "seed {seed}: only the server is violated\n{text}");
        }
    }
    assert!(compared > 0, "all programs have too many runs");
    eprintln!("{compared} programs compared, {violated} of them violated");
}

/// One step wakes two sessions that then want the same: a key that was given up, a table that was locked, rows one
/// after the other. Which is first must not make a difference to what is found.
#[test]
fn whoever_is_woken_first_the_same_ends_are_found() {
    let texts = [
        "CREATE TABLE t (id int PRIMARY KEY, who text);
--@ thread a
BEGIN; INSERT INTO t VALUES (1, 'a'); ROLLBACK;
--@ thread b
INSERT INTO t VALUES (1, 'b');
--@ thread c
INSERT INTO t VALUES (1, 'c');
",
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1);
--@ thread a
BEGIN; LOCK TABLE t; COMMIT;
--@ thread b
UPDATE t SET n = n * 2 WHERE id = 1;
--@ thread c
UPDATE t SET n = n + 5 WHERE id = 1;
",
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 1);
--@ thread a
BEGIN; UPDATE t SET n = 7 WHERE id = 1; UPDATE t SET n = 9 WHERE id = 2; COMMIT;
--@ thread b
UPDATE t SET n = n * 2;
--@ thread c
UPDATE t SET n = n + 5 WHERE id = 2;
",
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1);
--@ thread a
SELECT pg_advisory_lock(7); SELECT pg_advisory_unlock(7);
--@ thread b
BEGIN; SELECT pg_advisory_xact_lock_shared(7); UPDATE t SET n = n * 2; COMMIT;
--@ thread c
BEGIN; SELECT pg_advisory_xact_lock_shared(7); UPDATE t SET n = n + 5; COMMIT;
",
    ];
    for text in texts {
        assert_eq!(compare(text, true), Ok(true), "{text}");
    }
}

/// A commit wakes two sessions, which then wait for each other: none was waited for when it began its statement. Which
/// of them the server ends is not ours to say.
#[test]
fn sessions_that_one_step_wakes_can_close_a_cycle() {
    let text = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
--@ thread a
SELECT sum(n) FROM (SELECT n FROM t WHERE id <= 3 FOR UPDATE) AS z;
--@ thread b
DELETE FROM t WHERE id = 1;
--@ thread c
BEGIN; UPDATE t SET n = n + 5 WHERE id = 3; UPDATE t SET n = n + 5; COMMIT;
";
    let ends = ends_on_server(&mut stage(&read(text)), &["t"], false, RUNS_MAX).unwrap().unwrap();
    assert!(ends.iter().any(|end| end.contains("deadlock detected")), "{ends:#?}");
    assert!(ends.is_subset(&ends_on_engine(text, &["t"])), "{ends:#?}");
}
