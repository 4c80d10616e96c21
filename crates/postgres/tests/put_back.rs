//! After a run, whole or cut off anywhere, everything is as it was: what statements wrote is known from what the server told.

#![allow(clippy::unwrap_used, dead_code)]

mod both;

use both::{read, stage};
use isolde_postgres::live::{Stage, Standing};

/// Tables with and without a key, small and large, tied by foreign keys; keys that wander, values that are missing or hard to write.
const TABLES: &str = r"--@ option serial off
CREATE TABLE item (id serial PRIMARY KEY, code text UNIQUE, price numeric(8,2), doubled numeric GENERATED ALWAYS AS (price * 2) STORED);
INSERT INTO item (code, price) VALUES ('a', 1.50), ('it''s', 2), ('back\slash', NULL), (NULL, 0.10);
CREATE TABLE stock (item int PRIMARY KEY REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE, n float8, seen timestamptz DEFAULT '2026-01-01');
INSERT INTO stock SELECT id, id / 3.0 FROM item;
CREATE TABLE many (id int PRIMARY KEY, twin int UNIQUE, filler jsonb);
INSERT INTO many SELECT i, -i, jsonb_build_object('i', i) FROM generate_series(1, 300) AS i;
CREATE TABLE keyless (a text, b int);
INSERT INTO keyless VALUES ('x', 1), ('x', 1), (NULL, NULL);
";

const THREADS: &[&str] = &[
    "--@ thread mover
BEGIN;
UPDATE many SET twin = 1000 WHERE id = 1;
UPDATE many SET twin = -1 WHERE id = 2;
UPDATE many SET twin = -2 WHERE id = 1;
SAVEPOINT s;
DELETE FROM many WHERE id = 3;
INSERT INTO many VALUES (3, -3, NULL);
ROLLBACK TO s;
UPDATE many SET id = 5000 WHERE id = 4;
COMMIT;
UPDATE item SET id = 77 WHERE id = 1;
",
    "--@ thread seller
UPDATE stock SET n = n - 1, seen = now() WHERE item = 2;
BEGIN;
INSERT INTO item (code, price) VALUES ('new', 9.99);
DELETE FROM item WHERE code = 'a';
INSERT INTO keyless VALUES ('y', NULL);
COMMIT;
INSERT INTO many VALUES (4, 4, '{}');
",
    "--@ thread clumsy
UPDATE many SET filler = NULL WHERE id IN (5, 6);
BEGIN;
DELETE FROM keyless WHERE b = 1;
UPDATE stock SET n = 'NaN' WHERE item = 3;
INSERT INTO item (code) VALUES ('it''s');
COMMIT;
",
];

const ALL: &str =
    "SELECT md5(string_agg(t, ',' ORDER BY t)) FROM (SELECT item::text AS t FROM item UNION ALL SELECT stock::text FROM stock \
     UNION ALL SELECT many::text FROM many UNION ALL SELECT keyless::text FROM keyless \
     UNION ALL SELECT last_value::text || is_called FROM item_id_seq) AS x";

/// Runs by chance, each cut off by chance.
fn put_back(text: &str, seed: u64, runs: usize) {
    let file = read(text);
    let mut stage = stage(&file);
    let before = stage.ask(ALL).unwrap();
    let (mut state, mut changes) = (seed, 0);
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for run in 0..runs {
        stage.restart().unwrap();
        let again = stage.ask(ALL).unwrap();
        assert_eq!(again, before, "run {run} of seed {seed} was not undone");
        let steps_max = draw(25);
        for _ in 0..steps_max {
            let ready: Vec<usize> =
                (0..stage.threads().len()).filter(|&t| matches!(stage.standing(t), Standing::Ready(_))).collect();
            let Some(&thread) = ready.get(draw(ready.len().max(1))) else { break };
            stage.step(thread).unwrap();
        }
        changes += usize::from(stage.ask(ALL).unwrap() != before);
    }
    assert!(changes > runs / 3, "most runs change something");
}

#[test]
fn what_statements_did_is_undone() {
    put_back(&format!("{TABLES}{}", THREADS.concat()), 1, 60);
}

#[test]
fn so_it_is_where_rows_lie_anywhere_and_at_every_level() {
    let leveled = format!("{TABLES}{}", THREADS.concat()).replace("thread mover", "thread mover isolation repeatable read");
    put_back(&leveled, 2, 40);
    let serializable = leveled.replace("thread seller", "thread seller isolation serializable");
    put_back(&serializable, 3, 15);
}

#[test]
fn with_routines_the_log_knows() {
    let routine = "CREATE FUNCTION twice(n float8) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN RETURN n * 2; END';\n";
    put_back(&format!("{TABLES}{routine}{}", THREADS.concat()), 4, 40);
}
