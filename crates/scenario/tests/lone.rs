//! A statement outside of a transaction is a transaction of one statement.
//!
//! For generated programs of lone statements, the ends of all runs are those of the same statements with BEGIN and
//! COMMIT around each. Both texts have the same length, so that statements stand at the same places: the words are
//! blanks in one of them.
//!
//! `LONE_PROGRAMS=100000 cargo test --release -p isolde-scenario --test lone` for a long run, `SEED=n` for a single
//! one.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Limits, Matching, Search, Strategy, Visit, on_leaf};
use isolde_report::Verdict;
use isolde_scenario::file::{FileOptions, Granularity, SearchKind, no_includes};
use isolde_scenario::{Options, Scenario, ScenarioSystem, check, describe_end};

use common::{Program, check_all, seeds, serializable_seeds, system};

/// Programs with more states than this are left out.
const STATES_MAX: u64 = 1_000;

#[test]
fn lone_statements_end_as_transactions_of_one_statement() {
    check_all(seeds("LONE_PROGRAMS", 400), same_ends);
}

#[test]
fn serializable_lone_statements_do_too() {
    check_all(serializable_seeds("LONE_PROGRAMS", 150), same_ends);
}

fn same_ends(program: &Program) -> Result<(), String> {
    let lone = text(program, "      ", "       ");
    let wrapped = text(program, "BEGIN;", "COMMIT;");
    let (Some(lone), Some(wrapped)) = (ends(&lone), ends(&wrapped)) else { return Ok(()) };
    match (wrapped.difference(&lone).next(), lone.difference(&wrapped).next()) {
        (None, None) => Ok(()),
        (Some(missed), _) => Err(format!("lone statements never end so: {missed}")),
        (_, Some(new)) => Err(format!("only lone statements end so: {new}")),
    }
}

/// The program with these words around each statement of a thread that has neither savepoints nor locks of tables.
fn text(program: &Program, begin: &str, commit: &str) -> String {
    let mut program = program.clone();
    for thread in &mut program.threads {
        let needs_block = |s: &String| s.starts_with("SAVEPOINT") || s.starts_with("LOCK");
        if thread.options.contains("autocommit") || thread.statements.iter().any(needs_block) {
            continue;
        }
        let controls = |s: &String| s.starts_with("BEGIN") || s.starts_with("COMMIT") || s.starts_with("ROLLBACK");
        thread.statements.retain(|s| !controls(s));
        thread.statements.iter_mut().for_each(|s| *s = format!("{begin} {s} {commit}"));
    }
    program.to_string()
}

/// What all runs come to, without the answers to BEGIN and COMMIT.
fn ends(text: &str) -> Option<BTreeSet<String>> {
    let scenario = Scenario::parse("lone.sql", text, &mut no_includes).ok()?;
    let limits = Limits { states_max: Some(STATES_MAX), ..Limits::default() };
    let search = Search { strategy: Strategy::Depth, matching: Matching::Digest, limits, ..Search::default() };
    let mut ends = BTreeSet::new();
    let summary = search.run(
        &system(&scenario),
        &mut on_leaf(|at: &Visit<'_, ScenarioSystem<'_>>| {
            let end: String = describe_end(at.system, at.state).split("Seen { ").map(without_answers).collect();
            ends.insert(
                end.split("Statement { ").map(without_control).collect::<String>().replace([',', ' ', '[', ']'], ""),
            );
            ControlFlow::Continue(())
        }),
    );
    summary.is_complete().then_some(ends)
}

/// A thread that failed, without its answers: a statement that fails at COMMIT had one, a lone statement has not.
fn without_answers(thread: &str) -> String {
    let (seen, tables) = thread.split_once("tables:").unwrap_or((thread, ""));
    let seen = if seen.starts_with("failed: Some(") { seen.split("answers:").next().unwrap_or(seen) } else { seen };
    format!("{seen} {tables}")
}

/// What follows the answer to BEGIN or COMMIT; all of another answer.
fn without_control(part: &str) -> &str {
    let is_control = part.contains("text: \"BEGIN\"") || part.contains("text: \"COMMIT\"");
    part.split_once("rows: [] }").filter(|_| is_control).map_or(part, |(_, rest)| rest)
}

/// Everyday statements that are taken for atomic, and are not.
const STORIES: &[(&str, &str)] = &[
    (
        "insert where not exists",
        "CREATE TABLE coupon_use (coupon text, user_id int);
--@ thread ann
INSERT INTO coupon_use SELECT 'WELCOME', 1 WHERE NOT EXISTS (SELECT 1 FROM coupon_use WHERE coupon = 'WELCOME');
--@ thread ben
INSERT INTO coupon_use SELECT 'WELCOME', 2 WHERE NOT EXISTS (SELECT 1 FROM coupon_use WHERE coupon = 'WELCOME');
--@ final once
SELECT count(*) = 1 FROM coupon_use;",
    ),
    (
        "a queue without SKIP LOCKED",
        "CREATE TABLE job (id int PRIMARY KEY, state text NOT NULL DEFAULT 'ready');
INSERT INTO job (id) VALUES (1), (2);
--@ thread worker x2
UPDATE job SET state = 'running' WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1) RETURNING id;",
    ),
    (
        "NOWAIT meets the lock of a lone statement",
        "CREATE TABLE t (id int PRIMARY KEY, n int);
INSERT INTO t VALUES (1, 0);
--@ thread writer
UPDATE t SET n = n + 1 WHERE id = 1;
--@ thread impatient
SELECT n FROM t WHERE id = 1 FOR UPDATE NOWAIT;",
    ),
    (
        "SKIP LOCKED meets the lock of a lone statement",
        "CREATE TABLE t (id int PRIMARY KEY, n int);
INSERT INTO t VALUES (1, 0);
--@ option serial off
--@ thread writer
UPDATE t SET n = n + 1 WHERE id = 1;
--@ thread reader
SELECT count(*) AS found FROM (SELECT n FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED) AS free \\gset
INSERT INTO t VALUES (2, :found);
--@ final found_it
SELECT n = 1 FROM t WHERE id = 2;",
    ),
    (
        "a lone statement inside a routine that opens no transaction",
        "CREATE TABLE coupon_use (user_id int);
CREATE PROCEDURE redeem(u int) LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO coupon_use SELECT u WHERE NOT EXISTS (SELECT 1 FROM coupon_use);
END $$;
--@ thread ann autocommit
CALL redeem(1);
--@ thread ben autocommit
CALL redeem(2);
--@ final once
SELECT count(*) = 1 FROM coupon_use;",
    ),
];

#[test]
fn what_others_do_before_the_commit_of_a_lone_statement_is_found() {
    for (story, text) in STORIES {
        for search in [SearchKind::Dpor, SearchKind::Source, SearchKind::Stateful, SearchKind::Stateless] {
            let verdict = |granularity| {
                let scenario = Scenario::parse("story.sql", text, &mut no_includes).unwrap();
                let settings = FileOptions { search: Some(search), granularity, ..FileOptions::default() };
                let options = Options { settings, ..Options::default() };
                check(&scenario, &options, &mut |_| ControlFlow::Continue(())).verdict
            };
            assert_eq!(verdict(None), Verdict::Violated, "{story}: {}", search.name());
            let whole = verdict(Some(Granularity::Whole));
            assert!(matches!(whole, Verdict::Inconclusive(_)), "{story}, whole: {whole:?}");
        }
    }
}
