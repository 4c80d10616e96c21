//! Generated scenarios on a real server and on the embedded engine.
//!
//! Three claims. What the reduction leaves out on a server comes to nothing new: the ends of its runs are those of all
//! runs. The engine knows everything that a server does: each end on the server is one on the engine. (Not the other
//! way round: on a server nobody comes between a commit and what it wakes, and the server chooses the victims of
//! deadlocks.) And under these rules, with who has waited longest going on first, the engine comes to exactly the same
//! ends.

#![allow(clippy::unwrap_used)]

mod both;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use both::{ends_on_engine, ends_on_engine_at_once, ends_on_server, read, stage};

/// Runs of one program that are worth the time.
const RUNS_MAX: u64 = 150;

#[test]
fn servers_do_what_the_engine_does_and_the_reduction_loses_nothing() {
    let mut compared = 0;
    let first = std::env::var("ISOLDE_SERVER_FIRST").map_or(0, |first| first.parse().unwrap());
    for seed in common::seeds("ISOLDE_SERVER_SEEDS", 12).skip_while(|seed| *seed < first) {
        eprintln!("seed {seed}");
        let text = common::generate(seed).to_string();
        match compare(&text) {
            Ok(done) => compared += usize::from(done),
            Err(complaint) => panic!("seed {seed}: {complaint}\n{text}"),
        }
    }
    assert!(compared > 0, "all programs have too many runs");
    eprintln!("{compared} programs compared");
}

/// Compares the ends of a program; whether there are few enough runs for that.
fn compare(text: &str) -> Result<bool, String> {
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
    let at_once = ends_on_engine_at_once(text, &tables);
    match at_once == all {
        true => Ok(true),
        false => {
            Err(format!("under the rules of a server, the engine comes to {at_once:#?}\nbut the server to {all:#?}"))
        }
    }
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
        assert_eq!(compare(text), Ok(true), "{text}");
    }
}
