//! Table locks, advisory locks, TRUNCATE and definitions among statements that change rows.
//!
//! Rows are found by key, so that no plan decides in which order they are locked. Definitions of what all share are one
//! session's privilege; the others make tables of their own.

use super::{Dice, interleave};
use crate::program::Program;

const SETUP: &[&str] = &[
    "CREATE TABLE p (id int PRIMARY KEY, n int)",
    "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, n int)",
    "CREATE TABLE t (id int PRIMARY KEY, n int)",
    "INSERT INTO p VALUES (1, 10), (2, 20), (3, 30)",
    "INSERT INTO c VALUES (1, 1, 10), (2, 1, 20), (3, NULL, 30)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
];

const TABLES: &[&str] = &["p", "c", "t"];

const MODES: &[&str] = &[
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

/// A program of two to four sessions that get into each other's way by more than rows.
pub fn locks(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let sessions = 2 + dice.below(3);
    let theme = dice.below(4);
    let queues = (0..sessions).map(|number| session(&mut dice, number, theme).into_iter()).collect();
    let mut steps = interleave(&mut dice, queues);
    for _ in 0..sessions {
        steps.extend((0..sessions).map(|session| (session, "COMMIT".to_string())));
        steps.extend((0..sessions).map(|session| (session, "SELECT pg_advisory_unlock_all()".to_string())));
    }
    steps.extend(TABLES.iter().map(|table| (0, format!("SELECT * FROM {table}"))));
    Program { setup: SETUP.iter().map(|statement| statement.to_string()).collect(), sessions, steps }
}

/// A transaction or two.
fn session(dice: &mut Dice, number: usize, theme: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut made = 0;
    for _ in 0..1 + dice.below(2) {
        if dice.one_in(4) {
            all.push(outside(dice));
        }
        let begin = ["BEGIN", "BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ"];
        all.push(dice.pick(&begin).to_string());
        let savepoint_at = if dice.one_in(4) { dice.below(3) } else { usize::MAX };
        for position in 0..1 + dice.below(4) {
            if position == savepoint_at {
                all.push("SAVEPOINT s".into());
                all.push(inside(dice, number, theme, &mut made));
                all.push(dice.pick(&["ROLLBACK TO s", "ROLLBACK TO s", "RELEASE s"]).to_string());
            }
            all.push(inside(dice, number, theme, &mut made));
        }
        all.push(if dice.one_in(5) { "ROLLBACK" } else { "COMMIT" }.to_string());
    }
    all
}

/// A statement that stands for itself.
fn outside(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => advisory(dice),
        1 => truncate(dice),
        _ => rows(dice),
    }
}

/// A statement of a transaction; the theme says what there is much of.
fn inside(dice: &mut Dice, number: usize, theme: usize, made: &mut usize) -> String {
    match (theme, dice.below(8)) {
        (0, 0..=4) | (_, 0) => lock_table(dice),
        (1, 0..=4) | (_, 1) => advisory(dice),
        (2, 0..=3) => define(dice, number, made),
        (3, 2) | (2, 4) => truncate(dice),
        _ => rows(dice),
    }
}

fn lock_table(dice: &mut Dice) -> String {
    let nowait = dice.pick(&["", "", "", " NOWAIT"]);
    let mut tables = dice.pick(TABLES).to_string();
    if dice.one_in(6) {
        tables += &format!(", {}", dice.pick(TABLES));
    }
    match dice.one_in(8) {
        true => format!("LOCK TABLE {tables}{nowait}"),
        false => format!("LOCK TABLE {tables} IN {} MODE{nowait}", dice.pick(MODES)),
    }
}

fn advisory(dice: &mut Dice) -> String {
    let key = 1 + dice.below(2);
    let shared = dice.pick(&["", "", "_shared"]);
    let key = if dice.one_in(6) { format!("1, {key}") } else { key.to_string() };
    match dice.below(8) {
        0..=2 => format!("SELECT pg_advisory_lock{shared}({key})"),
        3 | 4 => format!("SELECT pg_advisory_xact_lock{shared}({key})"),
        5 => format!("SELECT pg_try_advisory_{}lock{shared}({key})", dice.pick(&["", "xact_"])),
        6 => format!("SELECT pg_advisory_unlock{shared}({key})"),
        _ => format!("SELECT id, pg_advisory_xact_lock(id) FROM t WHERE id <= {} ORDER BY id", 1 + dice.below(2)),
    }
}

fn truncate(dice: &mut Dice) -> String {
    format!("TRUNCATE {}", dice.pick(&["t", "t", "c", "p, c", "p"]))
}

/// The first session changes what all share; every session makes tables of its own.
fn define(dice: &mut Dice, number: usize, made: &mut usize) -> String {
    *made += 1;
    let name = format!("x{number}_{made}");
    if number > 0 || dice.one_in(4) {
        let last = format!("x{number}_{}", (*made).saturating_sub(1));
        return match dice.below(5) {
            0 => format!("DROP TABLE {last}"),
            1 => format!("INSERT INTO {last} VALUES (1, 1)"),
            2 => format!("CREATE TABLE {name} (id int PRIMARY KEY, p int REFERENCES p)"),
            _ => format!("CREATE TABLE {name} (id int PRIMARY KEY, n int)"),
        };
    }
    let (name, table) = (format!("i{made}"), dice.pick(TABLES));
    match dice.below(8) {
        0..=2 => format!("CREATE INDEX {name} ON {table} (n)"),
        3 | 4 => format!("CREATE UNIQUE INDEX {name} ON {table} (n)"),
        5 => format!("ALTER TABLE {table} ADD CONSTRAINT {name} CHECK (n > 0)"),
        6 => format!("ALTER TABLE t ADD CONSTRAINT {name} FOREIGN KEY (n) REFERENCES p"),
        _ => format!("DROP TABLE {}", dice.pick(&["t", "c"])),
    }
}

/// A statement about rows, found by key.
fn rows(dice: &mut Dice) -> String {
    let (table, key, n) = (*dice.pick(TABLES), 1 + dice.below(4), 10 * dice.below(5));
    match dice.below(10) {
        0 | 1 => format!("SELECT * FROM {table} ORDER BY id"),
        2 => format!("SELECT * FROM {table} WHERE id = {key} FOR {}", dice.pick(&["UPDATE", "SHARE", "KEY SHARE"])),
        3 if table == "c" => {
            format!("INSERT INTO c VALUES ({}, {}, {n})", key + 2, dice.pick(&["1", "2", "4", "NULL"]))
        }
        3 => format!("INSERT INTO {table} VALUES ({}, {n})", key + 2),
        4 => format!("DELETE FROM {table} WHERE id = {key}"),
        5 => format!("UPDATE c SET p = {key} WHERE id = {}", 1 + dice.below(3)),
        6 => format!("INSERT INTO t VALUES ({key}, {n}) ON CONFLICT (id) DO UPDATE SET n = t.n + 1"),
        _ => format!("UPDATE {table} SET n = n + {n} WHERE id = {key}"),
    }
}
