//! The papers' relations, tried on pairs of statements: what each says, and what is true.
#![allow(clippy::unwrap_used)]

use expect_test::expect;
use isolde_explore::System;
use isolde_scenario::dependence::Dependence;
use isolde_scenario::{Choice, Event, Scenario, ScenarioSystem, file};

const SCHEMA: &str = "
CREATE TABLE pet (id int PRIMARY KEY, name text, age int, owner int);
INSERT INTO pet VALUES (1, 'Leo', 3, 10), (2, 'Max', 7, 20), (3, 'Ida', 7, 20);
CREATE TABLE toy (id int PRIMARY KEY, pet int REFERENCES pet, name text);
INSERT INTO toy VALUES (1, 3, 'ball');
";

/// Pairs of statements, by the papers' names for them.
const PAIRS: &[(&str, &str, &str)] = &[
    ("S S", "SELECT name FROM pet", "SELECT age FROM pet"),
    ("S I other", "SELECT name FROM pet WHERE age < 5", "INSERT INTO pet VALUES (4, 'Kim', 9, 10)"),
    ("S I phantom", "SELECT name FROM pet WHERE age < 5", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)"),
    ("S D other", "SELECT name FROM pet WHERE id = 1", "DELETE FROM pet WHERE id = 2"),
    ("S D same", "SELECT name FROM pet WHERE id = 2", "DELETE FROM pet WHERE age = 7 AND id = 2"),
    ("S U other row", "SELECT name FROM pet WHERE id = 1", "UPDATE pet SET name = 'Pia' WHERE id = 2"),
    ("S U other column", "SELECT name FROM pet WHERE id = 1", "UPDATE pet SET age = 4 WHERE id = 1"),
    ("S U same cell", "SELECT name FROM pet WHERE id = 1", "UPDATE pet SET name = 'Pia' WHERE id = 1"),
    ("S U row leaves", "SELECT name FROM pet WHERE age < 5", "UPDATE pet SET age = 9 WHERE id = 1"),
    ("S U row enters", "SELECT name FROM pet WHERE age < 5", "UPDATE pet SET age = 4 WHERE id = 2"),
    ("I I other key", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)", "INSERT INTO pet VALUES (5, 'Kim', 1, 10)"),
    ("I I same key", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)", "INSERT INTO pet VALUES (4, 'Pia', 1, 10)"),
    ("I D other", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)", "DELETE FROM pet WHERE age = 3"),
    ("I D same", "INSERT INTO pet VALUES (4, 'Kim', 3, 10)", "DELETE FROM pet WHERE age = 3"),
    ("I U other", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)", "UPDATE pet SET age = 8 WHERE age = 7"),
    ("I U same", "INSERT INTO pet VALUES (4, 'Kim', 7, 10)", "UPDATE pet SET age = 8 WHERE age = 7"),
    ("I U same key", "INSERT INTO pet VALUES (4, 'Kim', 1, 10)", "UPDATE pet SET id = 4 WHERE id = 2"),
    ("D D other", "DELETE FROM pet WHERE id = 1", "DELETE FROM pet WHERE id = 2"),
    ("D D same", "DELETE FROM pet WHERE id = 2", "DELETE FROM pet WHERE name = 'Max'"),
    ("D U other", "DELETE FROM pet WHERE id = 1", "UPDATE pet SET age = 8 WHERE id = 2"),
    ("D U same", "DELETE FROM pet WHERE id = 2", "UPDATE pet SET age = 8 WHERE id = 2"),
    ("D U row enters", "DELETE FROM pet WHERE age = 8", "UPDATE pet SET age = 8 WHERE id = 2"),
    ("U U other row", "UPDATE pet SET age = 4 WHERE id = 1", "UPDATE pet SET age = 8 WHERE id = 2"),
    ("U U other column", "UPDATE pet SET name = 'Pia' WHERE id = 1", "UPDATE pet SET age = 4 WHERE id = 1"),
    ("U U same cell", "UPDATE pet SET age = 4 WHERE id = 1", "UPDATE pet SET age = 5 WHERE id = 1"),
    ("U U row leaves", "UPDATE pet SET age = 0 WHERE age = 3", "UPDATE pet SET name = 'Pia' WHERE age = 3"),
    ("U U same key", "UPDATE pet SET id = 4 WHERE id = 1", "UPDATE pet SET id = 4 WHERE id = 2"),
    ("two tables", "DELETE FROM pet WHERE id = 2", "UPDATE toy SET name = 'bone'"),
    ("foreign key", "DELETE FROM pet WHERE id = 2", "INSERT INTO toy VALUES (2, 2, 'bone')"),
];

/// Runs thread `first`, then the other one; returns what they did, by thread, and a digest of everything that came of it.
fn run(system: &ScenarioSystem<'_>, first: usize) -> ([Event; 2], Option<u128>) {
    let mut state = system.initial();
    let mut step = |thread| system.execute(&mut state, &Choice::Step(thread));
    let (a, b) = (step(first), step(1 - first));
    let events = if first == 0 { [a, b] } else { [b, a] };
    (events, system.digest(&state))
}

#[test]
fn what_the_relations_say_about_pairs_of_statements() {
    let relations: Vec<Dependence> = Dependence::ALL.into_iter().filter(|d| d.unsound().is_some()).collect();
    let names: Vec<String> = relations.iter().map(|d| format!("{:<9}", d.name())).collect();
    let mut table = format!("{:<18} order matters  {}\n", "", names.join("  ").trim_end());
    for (name, first, second) in PAIRS {
        let text = format!("{SCHEMA}--@ thread a\n{first};\n--@ thread b\n{second};\n");
        let scenario = Scenario::parse("pair.sql", &text, &mut file::no_includes).unwrap();
        let system = ScenarioSystem { scenario: &scenario, atomic: false, dependence: Dependence::Database };
        let (forward, backward) = (run(&system, 0), run(&system, 1));
        let matters = forward.1 != backward.1;
        table += &format!("{name:<18} {:<13}", if matters { "yes" } else { "no" });
        for relation in &relations {
            // The two orders may be judged differently; a search that sees either would turn it round.
            let says = [&forward, &backward].map(|(events, _)| relation.dependent(&events[0], &events[1]));
            let word = match says {
                [true, true] => "dependent",
                [false, false] if matters => "MISSED",
                [false, false] => "-",
                [true, false] => "in order",
                [false, true] => "reversed",
            };
            table += &format!("  {word:<width$}", width = relation.name().len().max(9));
        }
        table = table.trim_end().to_string() + "\n";
    }
    expect![[r#"
                           order matters  dpf-relation  dpf-attribute  dpf-record  dpf-cell   epor
        S S                no             -             -              -           -          -
        S I other          no             dependent     dependent      -           -          -
        S I phantom        yes            dependent     dependent      dependent   dependent  MISSED
        S D other          no             dependent     dependent      -           -          -
        S D same           yes            dependent     dependent      dependent   dependent  dependent
        S U other row      no             dependent     dependent      -           -          -
        S U other column   no             dependent     -              dependent   -          dependent
        S U same cell      yes            dependent     dependent      dependent   dependent  dependent
        S U row leaves     yes            dependent     MISSED         dependent   MISSED     dependent
        S U row enters     yes            dependent     MISSED         dependent   MISSED     MISSED
        I I other key      no             dependent     dependent      -           -          -
        I I same key       yes            dependent     dependent      dependent   dependent  MISSED
        I D other          no             dependent     dependent      -           -          -
        I D same           yes            dependent     dependent      dependent   dependent  MISSED
        I U other          no             dependent     dependent      -           -          -
        I U same           yes            dependent     dependent      dependent   dependent  dependent
        I U same key       yes            dependent     dependent      dependent   dependent  MISSED
        D D other          no             -             -              -           -          -
        D D same           yes            MISSED        MISSED         MISSED      MISSED     MISSED
        D U other          no             dependent     dependent      -           -          -
        D U same           yes            dependent     dependent      dependent   dependent  MISSED
        D U row enters     yes            dependent     dependent      dependent   dependent  MISSED
        U U other row      no             dependent     dependent      -           -          -
        U U other column   no             dependent     -              dependent   -          dependent
        U U same cell      yes            dependent     dependent      dependent   dependent  dependent
        U U row leaves     yes            dependent     MISSED         dependent   MISSED     reversed
        U U same key       yes            dependent     dependent      dependent   dependent  MISSED
        two tables         no             -             -              -           -          -
        foreign key        yes            MISSED        MISSED         MISSED      MISSED     MISSED
    "#]]
    .assert_eq(&table);
}
