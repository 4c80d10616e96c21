//! Programs at SERIALIZABLE: who reads what others write, and who fails for it.
//!
//! What a transaction is taken to have read depends on the path to the rows, so tables come with an index, without, and
//! with one that was built when the rows were there already (the planner then knows that the table is tiny). Queries
//! are of kinds for which the planner's choice is known: one table, conditions that an index serves or does not. Every
//! session first allows the planner what the tests otherwise forbid.

use super::Dice;
use crate::program::Program;

/// A table of a generated program.
struct Table {
    setup: &'static [&'static str],
    /// How it is called, its key and its other column.
    name: &'static str,
    key: &'static str,
    value: &'static str,
    unique: bool,
}

const TABLES: &[Table] = &[
    Table { setup: &["CREATE TABLE t (id int PRIMARY KEY, v int)"], name: "t", key: "id", value: "v", unique: true },
    Table {
        setup: &["CREATE TABLE x (id int PRIMARY KEY, v int)", "CREATE INDEX x_v ON x (v)"],
        name: "x",
        key: "id",
        value: "v",
        unique: true,
    },
    Table { setup: &["CREATE TABLE n (a int, b int)"], name: "n", key: "a", value: "b", unique: false },
    Table {
        setup: &["CREATE TABLE i (a int, b int)", "CREATE INDEX i_a ON i (a)"],
        name: "i",
        key: "a",
        value: "b",
        unique: false,
    },
    Table {
        setup: &["CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t)"],
        name: "c",
        key: "id",
        value: "t",
        unique: true,
    },
];

/// What lets the planner use indexes again, and is no transaction.
const PLANNER: &str = "SET enable_indexscan = on; SET enable_indexonlyscan = on; SET enable_bitmapscan = on";

/// A program of two to four sessions, most of whose transactions are serializable.
pub fn serializable(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let tables = tables(&mut dice);
    let setup = setup(&mut dice, &tables);
    let sessions = 2 + dice.below(5) / 2;
    let mut queues: Vec<std::vec::IntoIter<String>> =
        (0..sessions).map(|_| session(&mut dice, &tables, sessions).into_iter()).collect();
    let mut steps: Vec<(usize, String)> = (0..sessions).map(|session| (session, PLANNER.to_string())).collect();
    while queues.iter().any(|queue| queue.len() > 0) {
        let session = dice.below(sessions);
        steps.extend(queues[session].next().map(|statement| (session, statement)));
    }
    for _ in 0..sessions {
        steps.extend((0..sessions).map(|session| (session, "COMMIT".to_string())));
    }
    steps.extend(tables.iter().map(|table| (0, format!("SELECT * FROM {}", table.name))));
    Program { setup, sessions, steps }
}

/// One table or two; a child comes with its parent.
fn tables(dice: &mut Dice) -> Vec<&'static Table> {
    let mut all = vec![&TABLES[dice.below(4)]];
    if dice.one_in(3) {
        let other = &TABLES[dice.below(4)];
        if other.name != all[0].name {
            all.push(other);
        }
    }
    if all[0].name == "t" && dice.one_in(3) {
        all.push(&TABLES[4]);
    }
    all
}

fn setup(dice: &mut Dice, tables: &[&Table]) -> Vec<String> {
    let mut setup = Vec::new();
    for table in tables {
        let mut statements: Vec<String> = table.setup.iter().map(|s| s.to_string()).collect();
        let count = dice.below(6);
        if count > 0 {
            let reference = table.name == "c";
            let rows: Vec<String> = (1..=count).map(|k| format!("({k}, {})", if reference { 1 } else { k })).collect();
            let insert = format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "));
            // Behind the index now and then: the planner then knows how small the table is.
            let known = statements.len() > 1 && dice.one_in(3);
            statements.insert(if known { 1 } else { statements.len() }, insert);
            if reference {
                statements.insert(0, "INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING".to_string());
            }
        }
        setup.append(&mut statements);
    }
    setup
}

fn session(dice: &mut Dice, tables: &[&Table], sessions: usize) -> Vec<String> {
    let mut all = Vec::new();
    let transactions = if sessions > 2 { 1 } else { 1 + dice.below(2) };
    for _ in 0..transactions {
        let begin = match dice.below(12) {
            0 => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            1 => "BEGIN",
            2 | 3 => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
            _ => "BEGIN ISOLATION LEVEL SERIALIZABLE",
        };
        let read_only = begin.ends_with("ONLY");
        all.push(begin.to_string());
        let savepoint = dice.one_in(5);
        for position in 0..1 + dice.below(4) {
            let part = savepoint && position == 1;
            if part {
                all.push("SAVEPOINT s".to_string());
            }
            let reads = read_only || dice.one_in(2);
            all.push(if reads { read(dice, tables) } else { write(dice, tables) });
            if part && dice.one_in(2) {
                all.push("ROLLBACK TO SAVEPOINT s".to_string());
            }
        }
        all.push(if dice.one_in(8) { "ROLLBACK" } else { "COMMIT" }.to_string());
    }
    all
}

fn read(dice: &mut Dice, tables: &[&Table]) -> String {
    let Table { name, key, value, .. } = dice.pick(tables);
    let (a, b) = (1 + dice.below(6), 1 + dice.below(6));
    match dice.below(16) {
        0..=4 => format!("SELECT * FROM {name} WHERE {key} = {a}"),
        5 => format!("SELECT * FROM {name} WHERE {key} BETWEEN {} AND {}", a.min(b), a.max(b)),
        6 => format!("SELECT * FROM {name} WHERE {key} > {a}"),
        7 => format!("SELECT * FROM {name} WHERE {key} IN ({a}, {b})"),
        8 => format!("SELECT * FROM {name} WHERE {value} = {a}"),
        9 => format!("SELECT count(*) FROM {name}"),
        10 => format!("SELECT sum({value}) FROM {name} WHERE {value} < {a}"),
        11 => format!("SELECT max({key}) FROM {name}"),
        12 => format!("SELECT * FROM {name} ORDER BY {key}, {value}"),
        13 => format!("SELECT {key} FROM {name} ORDER BY {key}"),
        14 => format!("SELECT {key} FROM {name} ORDER BY {key} LIMIT 1"),
        _ => format!("SELECT * FROM {name} WHERE {key} = {a} OR {key} = {b}"),
    }
}

fn write(dice: &mut Dice, tables: &[&Table]) -> String {
    let table = dice.pick(tables);
    let Table { name, key, value, unique, .. } = table;
    let (a, b) = (1 + dice.below(6), 1 + dice.below(6));
    let reference = *name == "c";
    match dice.below(16) {
        0..=4 if !reference => format!("UPDATE {name} SET {value} = {value} + {b} WHERE {key} = {a}"),
        0..=4 => format!("UPDATE {name} SET {value} = {b} WHERE {key} = {a}"),
        5 if !reference => format!("UPDATE {name} SET {value} = {value} + 1"),
        6 => format!("UPDATE {name} SET {value} = {b} WHERE {value} = {a}"),
        7 => format!("UPDATE {name} SET {key} = {} WHERE {key} = {a}", b + 3),
        8 | 9 => format!("DELETE FROM {name} WHERE {key} = {a}"),
        10 => format!("DELETE FROM {name} WHERE {value} > {a}"),
        11 if *unique => format!("INSERT INTO {name} VALUES ({a}, {b}) ON CONFLICT DO NOTHING"),
        12 if *unique && !reference => {
            format!("INSERT INTO {name} VALUES ({a}, {b}) ON CONFLICT ({key}) DO UPDATE SET {value} = {b}")
        }
        13 if !reference => format!("INSERT INTO {name} SELECT 7 + count(*), 1 FROM {name}"),
        _ => format!("INSERT INTO {name} VALUES ({}, {b})", a + 2),
    }
}
