//! After a run, whole or cut off anywhere, everything is as it was: what statements wrote is known from what the server
//! told.

#![allow(clippy::unwrap_used, dead_code)]

mod both;

use both::{read, stage};
use isolde_postgres::live::{Stage, Standing};

/// Tables with and without a key, small and large, tied by foreign keys; keys that wander, values that are missing or
/// hard to write.
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

const ALL: &str = "SELECT md5(string_agg(t, ',' ORDER BY t)) FROM (SELECT item::text AS t FROM item UNION ALL SELECT stock::text FROM stock \
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
    let leveled =
        format!("{TABLES}{}", THREADS.concat()).replace("thread mover", "thread mover isolation repeatable read");
    put_back(&leveled, 2, 40);
    let serializable = leveled.replace("thread seller", "thread seller isolation serializable");
    put_back(&serializable, 3, 15);
}

/// A routine that writes, one that is a trigger, and one that catches what it breaks.
const ROUTINES: &str = "
CREATE PROCEDURE shift(by int) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE many SET twin = twin - by WHERE id = 300;
  INSERT INTO keyless VALUES ('shifted', by);
  IF by > 5 THEN RAISE EXCEPTION 'too far'; END IF;
END $$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO keyless VALUES ('noted', NEW.item); RETURN NULL; END $$;
CREATE TRIGGER note AFTER UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION note();
";
const CATCHING: &str = "
CREATE PROCEDURE careful() LANGUAGE plpgsql AS $$
BEGIN
  UPDATE many SET twin = -7000 WHERE id = 7;
  BEGIN
    DELETE FROM many WHERE id = 9;
    INSERT INTO many VALUES (8, 0, NULL);
  EXCEPTION WHEN unique_violation THEN
    INSERT INTO keyless VALUES ('caught', 8);
  END;
END $$;
";

#[test]
fn so_is_what_routines_did() {
    let caller = "--@ thread caller\nCALL shift(2);\nBEGIN;\nCALL shift(3);\nCOMMIT;\nCALL shift(9);\n";
    put_back(&format!("{TABLES}{ROUTINES}{}{caller}", THREADS.concat()), 4, 40);
}

#[test]
fn where_errors_are_caught_the_log_knows() {
    let caller = "--@ thread caller\nCALL careful();\nBEGIN;\nCALL careful();\nROLLBACK;\nCALL shift(1);\n";
    put_back(&format!("{TABLES}{ROUTINES}{CATCHING}{}{caller}", THREADS.concat()), 5, 40);
    let block = "--@ thread caller\nDO $$ BEGIN DELETE FROM keyless; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $$;\n";
    put_back(&format!("{TABLES}{}{block}", THREADS.concat()), 6, 40);
}

#[test]
fn a_check_at_the_end_of_a_statement_fails_the_statement() {
    let text = "--@ option serial off
CREATE TABLE item (id serial PRIMARY KEY);
CREATE TABLE stock (id int PRIMARY KEY, item int REFERENCES item DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE many (id int); CREATE TABLE keyless (id int);
--@ thread a
INSERT INTO stock VALUES (1, 7);
INSERT INTO item VALUES (7);
";
    let mut stage = stage(&read(text));
    stage.restart().unwrap();
    // The statement, and its commit, which is a step of its own.
    stage.step(0).unwrap();
    stage.step(0).unwrap();
    let Standing::Ended(ending) = stage.standing(0) else { panic!("an error ends the thread") };
    assert!(format!("{ending:?}").contains("23503"), "{ending:?}");
    assert_eq!(stage.ask("SELECT count(*) FROM stock").unwrap().rows(), [[Some("0".to_string())]]);
}
