//! Generated values are compared up to renaming, wherever they are.
//!
//! Which thread drew which number, UUID or random value does not matter, in columns of any kind, inside of texts, in
//! answers and messages, and after retries. What else differs does.
//!
//! `GENERATED_PROGRAMS=100000 cargo test --release -p isolde-scenario --test generated` for a long run, `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::ops::ControlFlow;

use isolde_report::{Report, Style, Verdict};
use isolde_scenario::file::{FileOptions, SearchKind};
use isolde_scenario::{Options, check};
use isolde_testkit::generate::Dice;

use common::program::{Program, Thread};
use common::{check_all_of, scenario, seeds};

const SETUP: &str = "CREATE SEQUENCE order_no;
CREATE TABLE acct (id int PRIMARY KEY, n int);
INSERT INTO acct VALUES (1, 0), (2, 0);
CREATE TABLE orders (no text PRIMARY KEY, who text);
CREATE TABLE event (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), who text);
CREATE TABLE lot (id serial PRIMARY KEY, luck double precision DEFAULT random(), label text);
CREATE FUNCTION place(w text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN
  INSERT INTO orders VALUES ('ORD-' || nextval('order_no'), w) RETURNING no INTO r; RAISE NOTICE 'placed %', r; RETURN r; END $$;
";

fn run(text: &str, search: SearchKind) -> Report {
    let settings = FileOptions { search: Some(search), ..FileOptions::default() };
    let options = Options { settings, ..Options::default() };
    check(&scenario(text), &options, &mut |_| ControlFlow::Continue(()))
}

/// Two threads with the same statements.
fn twice(header: &str, statements: &str) -> String {
    format!("{SETUP}--@ thread a {header}\n{statements}\n--@ thread b {header}\n{statements}\n")
}

#[track_caller]
fn check_both(statements: &str, header: &str, expected: Verdict) {
    for search in [SearchKind::Dpor, SearchKind::Stateful] {
        let report = run(&twice(header, statements), search);
        assert_eq!(report.verdict, expected, "{statements}\n{}", report.to_text(Style::plain(120)));
    }
}

const WITH_RETRY: &str = "isolation serializable retry 2";
const ADD: &str = "UPDATE acct SET n = n + 1 WHERE id = 1;";
const ADD_STALE: &str = "SELECT n FROM acct WHERE id = 1 \\gset\nUPDATE acct SET n = :n + 1 WHERE id = 1;";

/// Statements that generate something that others can see.
const GENERATING: &[&str] = &[
    "SELECT place('x');",
    "INSERT INTO orders VALUES ('ORD-' || lpad(nextval('order_no')::text, 3, '0'), 'x') RETURNING no;",
    "INSERT INTO event (who) VALUES ('x') RETURNING id;",
    "INSERT INTO orders SELECT 'E-' || gen_random_uuid(), 'x';",
    "INSERT INTO lot (label) VALUES ('lot ' || currval('order_no'));",
    "INSERT INTO orders SELECT floor(random() * 1000000), 'x';",
    "WITH l AS (INSERT INTO lot (label) VALUES ('x') RETURNING id) INSERT INTO orders SELECT 'L' || id, 'x' FROM l;",
];

#[test]
fn generated_values_are_no_violation_after_a_retry() {
    for generating in GENERATING {
        let draws = if generating.contains("currval") { "SELECT nextval('order_no');" } else { "" };
        check_both(&format!("BEGIN;\n{draws}\n{generating}\n{ADD}\nCOMMIT;"), WITH_RETRY, Verdict::Holds);
    }
}

#[test]
fn a_lost_update_beside_generated_values_is_still_found() {
    for generating in GENERATING {
        let draws = if generating.contains("currval") { "SELECT nextval('order_no');" } else { "" };
        check_both(&format!("BEGIN;\n{draws}\n{generating}\n{ADD_STALE}\nCOMMIT;"), "", Verdict::Violated);
    }
}

#[test]
fn an_aborted_function_draws_again() {
    let text = format!(
        "{SETUP}CREATE FUNCTION buy() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN
  r := place('x'); INSERT INTO event (who) VALUES (r); UPDATE acct SET n = n + 1 WHERE id = 1; RETURN r; END $$;
--@ thread a {WITH_RETRY}\nSELECT buy();\n--@ thread b {WITH_RETRY}\nSELECT buy();\n"
    );
    let report = run(&text, SearchKind::Dpor);
    assert_eq!(report.verdict, Verdict::Holds, "{}", report.to_text(Style::plain(120)));
}

/// A value that is computed from generated ones and from data is compared as it is.
#[test]
fn sums_of_generated_values_can_be_lost() {
    let lost = "BEGIN;\nSELECT n + nextval('order_no') AS m FROM acct WHERE id = 1 \\gset
UPDATE acct SET n = :m WHERE id = 1;\nCOMMIT;";
    check_both(lost, "", Verdict::Violated);
}

/// The number of the other thread's order is not the own one.
#[test]
fn whose_value_it_is_counts() {
    let text = format!(
        "{SETUP}CREATE TABLE latest (no text, who text);\nINSERT INTO latest VALUES ('none', 'none');
--@ thread a\nBEGIN;\nSELECT 'N' || nextval('order_no') AS no \\gset
UPDATE latest SET no = :'no';\nCOMMIT;\nUPDATE latest SET who = 'a';
--@ thread b\nBEGIN;\nSELECT 'N' || nextval('order_no') AS no \\gset
UPDATE latest SET no = :'no';\nCOMMIT;\nUPDATE latest SET who = 'b';\n"
    );
    let report = run(&text, SearchKind::Dpor);
    assert_eq!(report.verdict, Verdict::Violated, "{}", report.to_text(Style::plain(120)));
}

#[test]
fn reports_name_generated_values_by_generator_and_thread() {
    let text = twice("", &format!("BEGIN;\nINSERT INTO lot (label) VALUES ('x') RETURNING id;\n{ADD_STALE}\nCOMMIT;"));
    let report = run(&text, SearchKind::Dpor);
    let text = report.to_text(Style::plain(120));
    assert_eq!(report.verdict, Verdict::Violated, "{text}");
    assert!(!text.contains("lot_id_seq:"), "{text}");
}

/// One serializable transaction for each thread, with retries.
fn generate(seed: u64) -> Program {
    let mut dice = Dice::new(seed ^ 0x9e4e);
    let threads = *dice.pick(&[2, 2, 2, 3]);
    let threads = (0..threads).map(|number| {
        let count = 1 + dice.below(3);
        let mut statements: Vec<String> = (0..count).map(|_| statement(&mut dice, number)).collect();
        statements.insert(0, "BEGIN;".into());
        statements.push("COMMIT;".into());
        Thread { options: format!("retry {}", 1 + dice.below(2)), statements }
    });
    let threads = threads.collect();
    Program { setup: vec![SETUP.into()], threads, invariants: Vec::new() }
}

fn statement(dice: &mut Dice, thread: usize) -> String {
    let k = 1 + dice.below(2);
    match dice.below(10) {
        0 => format!("SELECT place('t{thread}');"),
        1 => format!(
            "INSERT INTO orders VALUES ('ORD-' || lpad(nextval('order_no')::text, 4, '0'), 't{thread}') RETURNING no;"
        ),
        2 => format!("INSERT INTO event (who) VALUES ('t{thread}') RETURNING id;"),
        3 => "INSERT INTO lot (label) VALUES ('of ' || nextval('order_no')) RETURNING id, luck, label;".into(),
        4 => format!("INSERT INTO orders SELECT 'E-' || gen_random_uuid(), n FROM acct WHERE id = {k};"),
        5 | 6 => format!("UPDATE acct SET n = n + 1 WHERE id = {k};"),
        7 => format!(
            "SELECT n FROM acct WHERE id = {k} \\gset\nUPDATE acct SET n = :n * 2 + {thread} WHERE id = 3 - {k};"
        ),
        8 => "SELECT count(*) FROM orders;".into(),
        _ => "SELECT sum(n) FROM acct;".into(),
    }
}

#[test]
fn serializable_programs_with_generated_values_hold() {
    check_all_of(generate, seeds("GENERATED_PROGRAMS", 400), |program| {
        let text = format!(
            "{program}--@ option isolation serializable\n--@ option deadlock off\n--@ option states_max 3000\n"
        );
        let transactions = |thread: &Thread| thread.statements.iter().filter(|s| *s == "BEGIN;").count();
        if program.setup.is_empty() || program.threads.iter().any(|thread| transactions(thread) != 1) {
            return Ok(());
        }
        let report = run(&text, SearchKind::Dpor);
        match report.verdict {
            Verdict::Violated => Err(report.to_text(Style::plain(120))),
            _ => Ok(()),
        }
    });
}
