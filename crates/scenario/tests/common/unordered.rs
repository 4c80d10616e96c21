//! Small scenarios that take rows in the order in which they lie: LIMIT without ORDER BY, ties, `array_agg`,
//! `row_number() OVER ()`, the first row of several, loops, and locks on several rows, in lone statements and in
//! transactions.

use isolde_testkit::generate::Dice;

use super::program::{Program, Thread};

/// The program of a seed.
pub fn generate(seed: u64) -> Program {
    let mut dice = Dice::new(seed ^ 0x0de4);
    let mut setup = vec![
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int);".to_string(),
        "INSERT INTO t VALUES (1, 10, 1), (2, 10, 1), (3, 30, 2);".to_string(),
        "CREATE TABLE l (x text);".to_string(),
    ];
    setup.extend(ROUTINES.iter().map(|text| text.to_string()));
    let threads = *dice.pick(&[2, 2, 3, 3]);
    let threads = (0..threads).map(|_| thread(&mut dice)).collect();
    let invariants = if dice.one_in(4) { vec![invariant(&mut dice)] } else { Vec::new() };
    Program { setup, threads, invariants }
}

const ROUTINES: &[&str] = &[
    "CREATE PROCEDURE first() LANGUAGE plpgsql AS $$ DECLARE i int; BEGIN SELECT id INTO i FROM t WHERE a > 0;
       INSERT INTO l VALUES ('first ' || i); END $$;",
    "CREATE PROCEDURE each() LANGUAGE plpgsql AS $$ DECLARE i int; s text := ''; BEGIN
       FOR i IN SELECT id FROM t WHERE b = 1 LOOP s := s || i; END LOOP; INSERT INTO l VALUES (s); END $$;",
    "CREATE FUNCTION ids() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id FROM t; END $$;",
];

fn thread(dice: &mut Dice) -> Thread {
    let level = *dice.pick(&["", "", "", "isolation repeatable read", "isolation serializable"]);
    let retry = if level.is_empty() || dice.one_in(2) { "" } else { " retry 1" };
    let count = 1 + dice.below(2);
    let mut statements: Vec<String> = (0..count).map(|_| statement(dice)).collect();
    if dice.one_in(3) {
        statements.insert(0, "BEGIN;".into());
        statements.push(dice.pick(&["COMMIT;", "COMMIT;", "ROLLBACK;"]).to_string());
    }
    Thread { options: format!("{level}{retry}"), statements }
}

fn statement(dice: &mut Dice) -> String {
    let (k, n) = (1 + dice.below(3), 1 + dice.below(4));
    match dice.below(22) {
        0..=4 => format!("UPDATE t SET a = a + {n} WHERE id = {k};"),
        5 => format!("UPDATE t SET b = 3 - b WHERE id = {k};"),
        6 => format!("INSERT INTO t VALUES ({}, 10, 1);", k + 3),
        7 => format!("DELETE FROM t WHERE id = {k};"),
        8 => "UPDATE t SET a = a + 1 WHERE b = 1;".to_string(),
        9 => format!("UPDATE t SET a = {n} WHERE a >= 10;"),
        10 => "DELETE FROM t WHERE a > 10;".to_string(),
        11 => "INSERT INTO l SELECT id FROM t LIMIT 1;".to_string(),
        12 => "INSERT INTO l SELECT id FROM t ORDER BY a LIMIT 1;".to_string(),
        13 => "INSERT INTO l SELECT array_agg(id) FROM t;".to_string(),
        14 => "INSERT INTO l SELECT sum(id * n) FROM (SELECT id, row_number() OVER () AS n FROM t) AS x;".to_string(),
        15 => "INSERT INTO l SELECT DISTINCT ON (b) id FROM t ORDER BY b;".to_string(),
        16 => "SELECT id FROM t ORDER BY a;".to_string(),
        17 => "SELECT id FROM t WHERE a < 40 LIMIT 1 FOR UPDATE SKIP LOCKED;".to_string(),
        18 => "SELECT id FROM t WHERE b = 1 FOR UPDATE;".to_string(),
        19 => "CALL first();".to_string(),
        20 => "CALL each();".to_string(),
        _ => "INSERT INTO l SELECT string_agg(x::text, ',') FROM ids() AS x;".to_string(),
    }
}

fn invariant(dice: &mut Dice) -> String {
    dice.pick(&[
        "SELECT (SELECT id FROM t LIMIT 1) = 1;",
        "SELECT array_agg(id) = '{1,2,3}' FROM t;",
        "SELECT count(*) < 3 FROM l;",
    ])
    .to_string()
}
