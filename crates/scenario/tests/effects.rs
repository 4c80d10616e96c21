//! `serial effects`, the default: what threads leave behind counts, and what they were told as far as it was used.
//!
//! Correct code of everyday style holds, bugs are found, nothing that holds with `serial strict` is violated, and no
//! serial schedule is.
//!
//! `EFFECTS_PROGRAMS=100000 cargo test --release -p isolde-scenario --test effects` for a long run, `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::ops::ControlFlow;

use isolde_explore::{Schedule, System};
use isolde_report::{Report, Style, Verdict};
use isolde_scenario::{Choice, Options, Scenario, check, replay_schedule};

use common::{Program, check_all, check_all_of, inside_seeds, scenario, seeds, unordered};

fn run(text: &str, degree: &str) -> Report {
    let text = format!("{text}\n--@ option serial {degree}\n");
    check(&scenario(&text), &Options::default(), &mut |_| ControlFlow::Continue(()))
}

#[track_caller]
fn check_story(text: &str, strict: Verdict, effects: Verdict) {
    for (degree, expected) in [("strict", strict), ("effects", effects)] {
        let report = run(text, degree);
        assert_eq!(report.verdict, expected, "serial {degree}\n{}", report.to_text(Style::plain(120)));
    }
}

#[test]
fn a_column_that_is_read_and_never_used_does_not_count() {
    let thread =
        "BEGIN;\nSELECT * FROM item WHERE id = 7 \\gset\nUPDATE item SET stock = stock - 1 WHERE id = 7 AND stock > 0;
INSERT INTO orders (item_id, price) VALUES (7, :price);\nCOMMIT;";
    let setup = "CREATE TABLE item (id int PRIMARY KEY, name text, price int, stock int NOT NULL);
CREATE TABLE orders (id serial PRIMARY KEY, item_id int, price int);
INSERT INTO item VALUES (7, 'violin', 900, 5);";
    let text = format!("{setup}\n--@ thread ann\n{thread}\n--@ thread ben\n{thread}");
    check_story(&text, Verdict::Violated, Verdict::Holds);
    // The same with a column that is used.
    let text = text.replace("stock = stock - 1", "stock = :stock - 1");
    check_story(&text, Verdict::Violated, Verdict::Violated);
}

#[test]
fn a_version_check_that_fails_is_giving_up() {
    let text = "CREATE TABLE doc (id int PRIMARY KEY, body text NOT NULL, version int NOT NULL DEFAULT 1);
INSERT INTO doc VALUES (1, 'draft', 1);
--@ thread ann
SELECT body, version FROM doc WHERE id = 1 \\gset
UPDATE doc SET body = :'body' || ' by ann', version = version + 1 WHERE id = 1 AND version = :version;
--@ thread ben
SELECT body, version FROM doc WHERE id = 1 \\gset
UPDATE doc SET body = :'body' || ' by ben', version = version + 1 WHERE id = 1 AND version = :version;";
    check_story(text, Verdict::Violated, Verdict::Holds);
    let said = run(text, "effects").to_text(Style::plain(200));
    assert!(said.contains("given up"), "{said}");
    // Without the check one of the edits is lost.
    let unchecked = text.replace(" AND version = :version", "");
    check_story(&unchecked, Verdict::Violated, Verdict::Violated);
}

#[test]
fn an_idempotency_key_in_progress_is_giving_up() {
    let text = "CREATE TABLE idem (key text PRIMARY KEY, response text);
CREATE TABLE charge (id serial PRIMARY KEY, amount int);
CREATE PROCEDURE pay(k text) LANGUAGE plpgsql AS $$
DECLARE r text; c int;
BEGIN
  INSERT INTO idem VALUES (k) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT response INTO r FROM idem WHERE key = k;
    RAISE NOTICE '%', coalesce(r, '409 in progress');
    RETURN;
  END IF;
  INSERT INTO charge (amount) VALUES (5) RETURNING id INTO c;
  UPDATE idem SET response = '200 charged' WHERE key = k;
  RAISE NOTICE '200 charged';
END $$;
--@ thread req x2 autocommit
CALL pay('abc');
--@ final once
SELECT count(*) = 1 FROM charge;";
    check_story(text, Verdict::Violated, Verdict::Holds);
}

#[test]
fn get_or_create_holds() {
    let text = "CREATE TABLE tag (id serial PRIMARY KEY, name text UNIQUE NOT NULL);
CREATE FUNCTION get_or_create(n text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
  SELECT id INTO r FROM tag WHERE name = n;
  IF FOUND THEN RETURN r; END IF;
  BEGIN
    INSERT INTO tag (name) VALUES (n) RETURNING id INTO r;
  EXCEPTION WHEN unique_violation THEN
    SELECT id INTO r FROM tag WHERE name = n;
  END;
  RETURN r;
END $$;
--@ thread req x2
SELECT get_or_create('rust');
--@ final one
SELECT count(*) = 1 FROM tag;";
    check_story(text, Verdict::Violated, Verdict::Holds);
}

/// Both withdraw, and the balance is one that a serial order leaves too.
#[test]
fn two_withdrawals_that_both_succeed_are_found() {
    let text = "CREATE TABLE acct (id int PRIMARY KEY, balance int);
INSERT INTO acct VALUES (1, 100);
CREATE TABLE visit (who text);
CREATE PROCEDURE withdraw(w text) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  INSERT INTO visit VALUES (w);
  SELECT balance INTO b FROM acct WHERE id = 1;
  IF b >= 60 THEN UPDATE acct SET balance = b - 60 WHERE id = 1; END IF;
END $$;
--@ thread ann
CALL withdraw('ann');
--@ thread ben
CALL withdraw('ben');";
    check_story(text, Verdict::Violated, Verdict::Violated);
}

#[test]
fn a_thread_that_only_reads_is_judged_by_what_it_reads() {
    let text = "CREATE TABLE acct (id int PRIMARY KEY, balance int);
INSERT INTO acct VALUES (1, 50), (2, 50);
--@ thread move
BEGIN;
UPDATE acct SET balance = balance - 10 WHERE id = 1;
UPDATE acct SET balance = balance + 10 WHERE id = 2;
COMMIT;
--@ thread audit
BEGIN;
SELECT balance FROM acct WHERE id = 1;
SELECT balance FROM acct WHERE id = 2;
COMMIT;";
    check_story(text, Verdict::Violated, Verdict::Violated);
}

#[test]
fn lone_statements_that_are_taken_for_atomic_are_found() {
    let coupon = "CREATE TABLE coupon_use (coupon text, user_id int);
--@ thread ann
INSERT INTO coupon_use SELECT 'WELCOME', 1 WHERE NOT EXISTS (SELECT 1 FROM coupon_use WHERE coupon = 'WELCOME');
--@ thread ben
INSERT INTO coupon_use SELECT 'WELCOME', 2 WHERE NOT EXISTS (SELECT 1 FROM coupon_use WHERE coupon = 'WELCOME');";
    check_story(coupon, Verdict::Violated, Verdict::Violated);
    let queue = "CREATE TABLE job (id int PRIMARY KEY, state text NOT NULL DEFAULT 'ready', locked_at timestamptz);
INSERT INTO job (id) VALUES (1), (2);
--@ thread worker x2
UPDATE job SET state = 'running', locked_at = now() WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1) RETURNING id;";
    check_story(queue, Verdict::Violated, Verdict::Violated);
}

/// What a query without `\gset` tells is unknown: it counts, unless a later statement reads the same again.
#[test]
fn a_read_is_replaced_by_an_update_that_reads_the_same_row_again() {
    let setup = "CREATE TABLE item (id int PRIMARY KEY, stock int, state text, sold timestamptz);
INSERT INTO item VALUES (7, 5, 'new', now()), (8, 5, 'new', now());";
    let story = |statements: &str| format!("{setup}\n--@ thread t x2\nBEGIN;\n{statements}\nCOMMIT;");
    let replaced = [
        "UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock > 0;",
        "UPDATE item SET stock = stock - 1, sold = now() WHERE id = 7;",
        "UPDATE item SET stock = stock - 1, sold = '2026-01-01' WHERE id = 7;",
        "UPDATE item SET stock = stock - 1 WHERE id = 7;\nUPDATE item SET stock = stock + 1 WHERE id = 8;",
    ];
    for update in replaced {
        check_story(&story(&format!("SELECT * FROM item WHERE id = 7;\n{update}")), Verdict::Violated, Verdict::Holds);
    }
    // A constant may have been computed from what was read; another row is not read again; nor is a whole table.
    let counts = [
        "SELECT stock FROM item WHERE id = 7;\nUPDATE item SET stock = 4 WHERE id = 7;",
        "SELECT stock FROM item WHERE id = 7;\nUPDATE item SET stock = stock - 1, state = 'four left' WHERE id = 7;",
        "SELECT stock FROM item WHERE id = 7;\nUPDATE item SET stock = stock + 0 WHERE id = 8;
UPDATE item SET stock = 4 WHERE id = 7;",
    ];
    for statements in counts {
        check_story(&story(statements), Verdict::Violated, Verdict::Violated);
    }
    let skewed = |id: i32| {
        format!(
            "BEGIN;\nSELECT count(*) FROM item WHERE state = 'new';
UPDATE item SET state = 'old' WHERE id = {id} AND state = 'new';\nCOMMIT;"
        )
    };
    let text = format!("{setup}\n--@ thread ann\n{}\n--@ thread ben\n{}", skewed(7), skewed(8));
    check_story(&text, Verdict::Violated, Verdict::Violated);
}

/// What a thread shows besides an unrelated write is an answer.
#[test]
fn a_report_that_also_writes_a_line_is_judged_by_what_it_reads() {
    let text = "CREATE TABLE acct (id int PRIMARY KEY, balance int);
INSERT INTO acct VALUES (1, 50), (2, 50);
CREATE TABLE log (what text);
--@ thread move
BEGIN;
UPDATE acct SET balance = balance - 10 WHERE id = 1;
UPDATE acct SET balance = balance + 10 WHERE id = 2;
COMMIT;
--@ thread audit
BEGIN;
SELECT balance FROM acct WHERE id = 1;
SELECT balance FROM acct WHERE id = 2;
INSERT INTO log VALUES ('audited');
COMMIT;";
    check_story(text, Verdict::Violated, Verdict::Violated);
}

/// A routine that writes nothing is there for what it reads.
#[test]
fn a_procedure_that_only_reads_is_judged_by_what_it_reads() {
    let text = "CREATE TABLE acct (id int PRIMARY KEY, balance int);
INSERT INTO acct VALUES (1, 50), (2, 50);
CREATE PROCEDURE audit() LANGUAGE plpgsql AS $$
DECLARE a int; b int;
BEGIN
  SELECT balance INTO a FROM acct WHERE id = 1;
  SELECT balance INTO b FROM acct WHERE id = 2;
END $$;
--@ thread move
BEGIN;
UPDATE acct SET balance = balance - 10 WHERE id = 1;
UPDATE acct SET balance = balance + 10 WHERE id = 2;
COMMIT;
--@ thread audit
CALL audit();";
    check_story(text, Verdict::Violated, Verdict::Violated);
    // Also beside a write: it stands for an answer.
    let log = text.replace("CALL audit();", "BEGIN;\nCALL audit();\nINSERT INTO acct VALUES (3, 0);\nCOMMIT;");
    check_story(&log, Verdict::Violated, Verdict::Violated);
}

/// To miss a row that is gone is no version check: the edit is lost in silence.
#[test]
fn an_update_by_its_key_alone_that_misses_its_row_has_not_given_up() {
    let text = "CREATE TABLE pet (id int PRIMARY KEY, name text);
INSERT INTO pet VALUES (7, 'Max');
--@ thread edit
SELECT name FROM pet WHERE id = 7;
UPDATE pet SET name = 'Sam' WHERE id = 7;
--@ thread delete
DELETE FROM pet WHERE id = 7;";
    check_story(text, Verdict::Violated, Verdict::Violated);
}

/// Giving up is a decision. A lone DELETE that misses the row that is there before and after has decided nothing; this
/// is the example of PostgreSQL's manual.
#[test]
fn a_lone_delete_that_misses_its_row_has_not_given_up() {
    let text = "CREATE TABLE website (id int PRIMARY KEY, hits int);
INSERT INTO website VALUES (1, 9), (2, 10);
--@ thread count
UPDATE website SET hits = hits + 1;
--@ thread clean
DELETE FROM website WHERE hits = 10;";
    check_story(text, Verdict::Violated, Verdict::Violated);
}

/// The version check of an object mapper, as its log shows it.
#[test]
fn a_version_check_with_constants_is_giving_up() {
    let thread = |title: &str| {
        format!(
            "SELECT * FROM posts WHERE id = 1;
UPDATE posts SET title = '{title}', lock_version = 4 WHERE id = 1 AND lock_version = 3;"
        )
    };
    let setup = "CREATE TABLE posts (id int PRIMARY KEY, title text, lock_version int);
INSERT INTO posts VALUES (1, 'a', 3);";
    let text = format!("{setup}\n--@ thread ann\n{}\n--@ thread ben\n{}", thread("x"), thread("y"));
    check_story(&text, Verdict::Violated, Verdict::Holds);
    check_story(&text.replace(" AND lock_version = 3", ""), Verdict::Violated, Verdict::Violated);
}

#[test]
fn a_worker_that_skips_locked_jobs_holds() {
    let text = "CREATE TABLE job (id int PRIMARY KEY, state text);
INSERT INTO job VALUES (1, 'ready'), (2, 'ready');
CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
DECLARE j int;
BEGIN
  SELECT id INTO j FROM job WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE job SET state = 'done' WHERE id = j;
END $$;
--@ thread worker x3
CALL work();";
    assert_eq!(run(text, "effects").verdict, Verdict::Holds);
}

/// An error that is accepted, and nothing that was left, are ways to give up.
#[test]
fn a_file_may_accept_an_error_or_nothing() {
    let lock = "CREATE TABLE seat (id int PRIMARY KEY, owner text);
INSERT INTO seat VALUES (1, NULL);
--@ thread ann x2
BEGIN;
SELECT id FROM seat WHERE id = 1 FOR UPDATE NOWAIT \\gset
UPDATE seat SET owner = coalesce(owner, '') || 'x' WHERE id = :id;
COMMIT;";
    assert_eq!(run(lock, "effects").verdict, Verdict::Violated);
    assert_eq!(run(&format!("{lock}\n--@ expect error 55P03"), "effects").verdict, Verdict::Violated);
    let accepting = format!("{lock}\n--@ accept error lock_not_available");
    assert_eq!(run(&accepting, "effects").verdict, Verdict::Holds);
    let delete = "CREATE TABLE website (id int PRIMARY KEY, hits int);
INSERT INTO website VALUES (1, 9), (2, 10);
--@ thread count
UPDATE website SET hits = hits + 1;
--@ thread clean
DELETE FROM website WHERE hits = 10;";
    assert_eq!(run(&format!("{delete}\n--@ accept nothing"), "effects").verdict, Verdict::Holds);
    // It is said of the other thread, which always leaves something.
    let other = delete.replace("--@ thread clean", "--@ accept nothing\n--@ thread clean");
    assert_eq!(run(&other, "effects").verdict, Verdict::Violated);
}

/// An alarm that the default would not raise says so, and a run that only the default accepts leaves a remark.
#[test]
fn degrees_speak_of_each_other() {
    let text = "CREATE TABLE item (id int PRIMARY KEY, stock int);
INSERT INTO item VALUES (7, 5);
--@ thread t x2
BEGIN;
SELECT stock FROM item WHERE id = 7 \\gset
UPDATE item SET stock = stock - 1 WHERE id = 7;
COMMIT;";
    let strict = run(text, "strict").to_text(Style::plain(200));
    assert!(strict.contains("serial effects"), "{strict}");
    let effects = run(text, "effects").to_text(Style::plain(200));
    assert!(effects.contains("serial outcome by effects") && effects.contains("line 5 reads"), "{effects}");
    let used = run(&text.replace("stock = stock", "stock = :stock"), "strict").to_text(Style::plain(200));
    assert!(!used.contains("serial effects"), "{used}");
}

/// A serial schedule of all threads, in this order; `None` if one waits or does not end.
fn serial_schedule(scenario: &Scenario, order: &[usize]) -> Option<String> {
    let system = common::system(scenario);
    let mut state = system.initial();
    let mut schedule = Schedule { steps: Vec::new() };
    for &thread in order {
        for _ in 0..200 {
            let mut enabled = Vec::new();
            system.enabled(&state, &mut enabled);
            if !enabled.contains(&Choice::Step(thread)) {
                break;
            }
            system.execute(&mut state, &Choice::Step(thread));
            schedule.steps.push(Choice::Step(thread));
        }
    }
    let mut enabled = Vec::new();
    system.enabled(&state, &mut enabled);
    enabled.is_empty().then(|| schedule.line(&system))
}

/// A serial schedule never violates the serial outcome, in any degree.
fn serial_is_serial(program: &Program) -> Result<(), String> {
    for degree in ["effects", "strict"] {
        let scenario = scenario(&format!("{program}--@ option serial {degree}"));
        let forth: Vec<usize> = (0..scenario.threads().len()).collect();
        let back: Vec<usize> = forth.iter().rev().copied().collect();
        for schedule in [forth, back].iter().filter_map(|order| serial_schedule(&scenario, order)) {
            let report =
                replay_schedule(&scenario, &schedule, &Options::default()).map_err(|error| error.to_string())?;
            if report.counterexample.as_ref().is_some_and(|found| found.property == "serial outcome") {
                return Err(format!("serial {degree}: {schedule}\n{}", report.to_text(Style::plain(120))));
            }
        }
    }
    Ok(())
}

#[test]
fn a_serial_schedule_never_violates() {
    check_all(seeds("EFFECTS_PROGRAMS", 300), serial_is_serial);
    check_all(inside_seeds("EFFECTS_PROGRAMS", 200), serial_is_serial);
    check_all_of(unordered::generate, seeds("EFFECTS_PROGRAMS", 200), serial_is_serial);
}

/// What holds with `serial strict` is never violated with `serial effects`.
fn is_weaker(program: &Program) -> Result<(), String> {
    let text = format!("{program}--@ option states_max 2000");
    if run(&text, "strict").verdict != Verdict::Holds {
        return Ok(());
    }
    match run(&text, "effects") {
        report if report.verdict == Verdict::Violated => Err(report.to_text(Style::plain(120))),
        _ => Ok(()),
    }
}

#[test]
fn effects_never_calls_violated_what_is_strictly_serial() {
    check_all(seeds("EFFECTS_PROGRAMS", 150), is_weaker);
    check_all(inside_seeds("EFFECTS_PROGRAMS", 100), is_weaker);
    check_all_of(unordered::generate, seeds("EFFECTS_PROGRAMS", 100), is_weaker);
}
