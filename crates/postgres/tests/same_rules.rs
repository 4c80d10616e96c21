//! One checker, one set of rules: a scenario has the same verdict on the embedded engine and on a server.
#![allow(clippy::unwrap_used)]

mod both;
#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use std::ops::ControlFlow;

use both::{check_until, gist, on_engine, on_server, read, stage};
use isolde_explore::Limit;
use isolde_report::{Report, Verdict};

/// What both say, which must be the same; the report is the server's.
fn agreed(text: &str) -> (String, Report) {
    let (engine, server) = (on_engine(text), on_server(text));
    assert_eq!(gist(&engine), gist(&server), "{text}\nengine: {engine:?}\nserver: {server:?}");
    let statuses = |report: &Report| report.properties.iter().map(|p| (p.name.clone(), p.status)).collect::<Vec<_>>();
    assert_eq!(statuses(&engine), statuses(&server), "{text}");
    (gist(&server), server)
}

fn verdict(text: &str) -> String {
    agreed(text).0
}

const HALF: &str = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
CREATE TABLE log (who text PRIMARY KEY);
INSERT INTO t VALUES (1, 0);
--@ thread alice
INSERT INTO log VALUES ('alice');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT n FROM t WHERE id = 1;
UPDATE t SET n = n + 1 WHERE id = 1;
COMMIT;
--@ thread bob
UPDATE t SET n = n + 10 WHERE id = 1;
";

#[test]
fn an_aborted_thread_counts_with_what_it_had_committed() {
    let (said, report) = agreed(HALF);
    assert_eq!(said, "holds  -");
    assert!(report.warnings.iter().any(|warning| warning.contains("alice is aborted")), "{:?}", report.warnings);
}

/// The prefix is not enough to hide what goes wrong beside it.
#[test]
fn what_goes_wrong_beside_an_abort_is_found() {
    let bob = "SELECT n FROM t WHERE id = 1 \\gset\nUPDATE t SET n = :n + 10 WHERE id = 1;\n";
    let lost = HALF.replace("UPDATE t SET n = n + 10 WHERE id = 1;\n", bob)
        + "--@ thread carol\nSELECT n FROM t WHERE id = 1 \\gset\nUPDATE t SET n = :n + 100 WHERE id = 1;\n";
    assert_eq!(verdict(&lost), "violated serial outcome lost update");
}

#[test]
fn six_threads_have_serial_orders() {
    let text = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 0);
--@ thread a
SELECT n FROM t WHERE id = 1 \\gset
UPDATE t SET n = :n + 1 WHERE id = 1;
--@ thread b x5
SELECT n FROM t WHERE id = 2;
";
    assert_eq!(verdict(text), "holds  -");
}

const CASCADE: &str = "
CREATE TABLE t (id int PRIMARY KEY, v int);
CREATE TABLE u (k int PRIMARY KEY, t_id int REFERENCES t ON DELETE CASCADE);
INSERT INTO t VALUES (1, 5);
INSERT INTO u VALUES (1, 1);
--@ thread a
DELETE FROM t WHERE id = 1;
--@ thread b retry 1
BEGIN;
DELETE FROM u WHERE k = 1;
SELECT v FROM t WHERE id = 1 FOR UPDATE;
COMMIT;
";

#[test]
fn a_deadlock_is_one_for_whoever_does_not_try_again() {
    let (said, report) = agreed(CASCADE);
    assert_eq!(said, "violated deadlock -");
    let found = report.counterexample.unwrap();
    assert_eq!(found.headline, "a and b wait for each other.");
    let explanation = found.explanation.join("\n");
    assert!(explanation.contains("a waits for a lock (line 7), which b holds."), "{explanation}");
    assert!(explanation.contains("b waits for a lock (line 11), which a holds."), "{explanation}");
    assert_eq!(found.graph.map(|graph| graph.edges.iter().filter(|edge| edge.cycle).count()), Some(2));
    assert_eq!(verdict(&CASCADE.replace("thread a\n", "thread a retry 1\n")), "holds  -");
}

/// Who only waits behind a deadlock is no member of it.
#[test]
fn a_bystander_is_no_member_of_a_deadlock() {
    let text = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);
--@ thread a retry 1
BEGIN;
UPDATE t SET n = n + 1 WHERE id = 3;
UPDATE t SET n = n + 1 WHERE id = 1;
UPDATE t SET n = n + 1 WHERE id = 2;
COMMIT;
--@ thread b retry 1
BEGIN;
UPDATE t SET n = n + 1 WHERE id = 2;
UPDATE t SET n = n + 1 WHERE id = 1;
COMMIT;
--@ thread c
UPDATE t SET n = n + 1 WHERE id = 3;
";
    assert_eq!(verdict(text), "holds  -");
}

/// An error that looks like one of the server's deadlocks is an abort, and no deadlock.
#[test]
fn who_raises_40p01_is_in_no_deadlock() {
    let text = "
CREATE TABLE t (id int PRIMARY KEY);
CREATE FUNCTION give_up() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t VALUES (1);
  RAISE EXCEPTION 'enough' USING ERRCODE = '40P01';
END $$;
--@ thread a
SELECT give_up();
--@ thread b
SELECT count(*) FROM t;
";
    assert_eq!(verdict(text), "holds  -");
}

#[test]
fn gset_on_no_row_fails() {
    let setup = "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 0);\n--@ thread b\n\
                 UPDATE t SET n = n + 1 WHERE id = 1;\n--@ thread a\n";
    let select = "SELECT n FROM t WHERE id = 7 \\gset\nUPDATE t SET n = :n WHERE id = 1;\n";
    let returning = "UPDATE t SET n = 5 WHERE id = 7 RETURNING n \\gset\nUPDATE t SET n = :n WHERE id = 1;\n";
    for thread in [select, returning] {
        let (said, report) = agreed(&format!("{setup}{thread}"));
        assert_eq!(said, "violated uncaught error -");
        let headline = report.counterexample.unwrap().headline;
        assert_eq!(headline, "a fails: no rows returned for \\gset (P0002)");
        let expected = format!("{setup}--@ expect error P0002\n{thread}");
        assert_eq!(verdict(&expected), "holds  -");
    }
}

/// A procedure that commits half way and is then aborted has done something that no prefix of its thread does.
#[test]
fn who_is_aborted_half_way_through_a_procedure_is_not_judged() {
    let text = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
CREATE TABLE log (who text);
INSERT INTO t VALUES (1, 0);
CREATE PROCEDURE p() LANGUAGE plpgsql AS $$
DECLARE seen int;
BEGIN
  INSERT INTO log VALUES ('first');
  COMMIT;
  SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
  SELECT n INTO seen FROM t WHERE id = 1;
  UPDATE t SET n = seen + 1 WHERE id = 1;
END $$;
--@ thread alice
CALL p();
--@ thread bob
UPDATE t SET n = n + 10 WHERE id = 1;
";
    let (said, report) = agreed(text);
    assert_eq!(said, "holds  -");
    assert!(report.warnings.iter().any(|w| w.contains("alice is aborted half way")), "{:?}", report.warnings);
}

/// A COMMIT that is missing is told on both.
#[test]
fn a_missing_commit_is_told() {
    let text = "CREATE TABLE t (id int PRIMARY KEY);\n--@ thread a\nBEGIN;\nINSERT INTO t VALUES (1);\n\
                --@ thread b\nSELECT count(*) FROM t;\n";
    let warned = |report: &Report| report.warnings.iter().any(|w| w.contains("a ends inside a transaction"));
    let (_, server) = agreed(text);
    assert!(warned(&server) && warned(&on_engine(text)), "{:?}", server.warnings);
}

/// Threads that a counterexample does not need are left out of it, wherever it was found.
#[test]
fn threads_that_are_not_needed_are_left_out() {
    let text = "
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 0), (2, 0);
--@ thread other
UPDATE t SET n = n + 1 WHERE id = 2;
--@ thread a x2
SELECT n FROM t WHERE id = 1 \\gset
UPDATE t SET n = :n + 1 WHERE id = 1;
";
    let (said, report) = agreed(text);
    assert_eq!(said, "violated serial outcome lost update");
    let found = report.counterexample.unwrap();
    assert_eq!(found.not_needed.threads, ["other"]);
    assert_eq!(found.headline, "No serial order of a1 and a2 has the effects of this run.");
}

/// Runs of one generated program that are worth the time.
const RUNS_MAX: u64 = 100;

/// What is broken on a server is broken on the engine, which knows all that a server does. (Not the other way round: on
/// a server no thread comes between a commit and what it wakes.)
#[test]
fn what_holds_on_the_engine_holds_on_a_server() {
    let mut judged = 0;
    for seed in common::seeds("ISOLDE_RULES_SEEDS", 10) {
        let text = common::generate(seed).to_string();
        let file = read(&text);
        let server = check_until(&file, &mut stage(&file), &mut |progress| match progress.leaves > RUNS_MAX {
            true => ControlFlow::Break(Limit::Time),
            false => ControlFlow::Continue(()),
        });
        let server = server.unwrap_or_else(|trouble| panic!("seed {seed}: {trouble}\n{text}"));
        let engine = on_engine(&text);
        match (&engine.verdict, &server.verdict) {
            (_, Verdict::Inconclusive(_)) => {}
            (Verdict::Holds, Verdict::Violated) => panic!("seed {seed}: {}\n{text}\n{server:?}", gist(&server)),
            _ => judged += 1,
        }
    }
    assert!(judged > 0, "all programs have too many runs");
}
