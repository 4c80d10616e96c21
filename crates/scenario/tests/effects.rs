//! `serial effects`: what threads leave behind counts, and what they were told as far as it was used.
//!
//! Correct code of everyday style holds, bugs are found, and nothing that holds with `serial on` is violated.
//!
//! `EFFECTS_PROGRAMS=100000 cargo test --release -p isolde-scenario --test effects` for a long run, `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::ops::ControlFlow;

use isolde_report::{Report, Style, Verdict};
use isolde_scenario::{Options, check};

use common::{Program, check_all, check_all_of, inside_seeds, scenario, seeds, unordered};

fn run(text: &str, degree: &str) -> Report {
    let text = format!("{text}\n--@ option serial {degree}\n");
    check(&scenario(&text), &Options::default(), &mut |_| ControlFlow::Continue(()))
}

#[track_caller]
fn check_story(text: &str, strict: Verdict, effects: Verdict) {
    for (degree, expected) in [("on", strict), ("effects", effects)] {
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

/// What holds with `serial on` is never violated with `serial effects`.
fn is_weaker(program: &Program) -> Result<(), String> {
    let text = format!("{program}--@ option states_max 2000");
    if run(&text, "on").verdict != Verdict::Holds {
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
