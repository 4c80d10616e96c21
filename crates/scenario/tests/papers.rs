//! The papers' relations, tried on pairs of statements and on small programs: what each says, what is true, and what a
//! search that trusts it does not find.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use expect_test::expect;
use isolde_explore::{Reduction, Search, Strategy, System, Visit, on_leaf};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{FileOptions, Granularity};
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

/// Runs thread `first`, then the other one; returns what they did, by thread, and a digest of everything that came of
/// it.
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
        let whole = FileOptions { granularity: Some(Granularity::Whole), ..FileOptions::default() };
        let system = ScenarioSystem::new(&scenario, &whole);
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

/// What all runs that a search sees come to.
fn ends(scenario: &Scenario, dependence: Dependence, strategy: Strategy) -> BTreeSet<u128> {
    // The papers' operations are whole: they neither wait nor commit apart.
    let granularity = Some(Granularity::Whole);
    let settings = FileOptions { dependence: Some(dependence), granularity, ..FileOptions::default() };
    let system = ScenarioSystem::new(scenario, &settings);
    let mut ends = BTreeSet::new();
    let search = Search { strategy, ..Search::default() };
    let summary = search.run(
        &system,
        &mut on_leaf(|at: &Visit<'_, ScenarioSystem<'_>>| {
            ends.extend(system.digest(at.state));
            ControlFlow::Continue(())
        }),
    );
    assert!(summary.is_complete());
    ends
}

/// Programs with what each relation from a paper makes a search miss.
const PROGRAMS: &[(&str, &[&str])] = &[
    // The second bug that DPF's authors report, in PetClinic: both have found the pet, and only one can delete it.
    (
        "both delete",
        &[
            "SELECT name FROM pet WHERE id = 2; DELETE FROM pet WHERE id = 2;",
            "SELECT name FROM pet WHERE id = 2; DELETE FROM pet WHERE id = 2;",
        ],
    ),
    // A toy for a pet that is being given away.
    ("foreign key", &["DELETE FROM pet WHERE id = 2;", "INSERT INTO toy VALUES (2, 2, 'bone');"]),
    // The young ones are asked for by age, and shown by name.
    (
        "column of a condition",
        &[
            "SELECT name FROM pet WHERE age < 5;",
            "UPDATE pet SET age = 4 WHERE id = 2;",
            "UPDATE pet SET age = 9 WHERE id = 1;",
        ],
    ),
    // Two count, then register: both find that there is room.
    (
        "phantom",
        &[
            "SELECT count(*) FROM pet WHERE owner = 20; INSERT INTO pet VALUES (4, 'Kim', 1, 20);",
            "SELECT count(*) FROM pet WHERE owner = 20; INSERT INTO pet VALUES (5, 'Pia', 1, 20);",
        ],
    ),
    ("same key", &["INSERT INTO pet VALUES (4, 'Kim', 1, 20);", "INSERT INTO pet VALUES (4, 'Pia', 1, 20);"]),
    // What one deletes the other moves out of reach.
    ("delete and update", &["DELETE FROM pet WHERE age = 7 AND id < 3;", "UPDATE pet SET age = 8 WHERE id = 2;"]),
];

#[test]
fn what_a_search_misses_that_trusts_a_paper() {
    let relations: Vec<Dependence> = Dependence::ALL.into_iter().filter(|d| d.unsound().is_some()).collect();
    let mut missed: BTreeSet<Dependence> = BTreeSet::new();
    let mut table = format!("{:<23}different ends", "");
    relations.iter().for_each(|d| table += &format!("  {:>13}", d.name()));
    for (name, threads) in PROGRAMS {
        let mut text = SCHEMA.to_string();
        for (number, body) in threads.iter().enumerate() {
            text += &format!("--@ thread t{number}\n{body}\n");
        }
        let scenario = Scenario::parse("program.sql", &text, &mut file::no_includes).unwrap();
        let all = ends(&scenario, Dependence::Database, Strategy::Depth);
        table += &format!("\n{name:<23}{:>14}", all.len());
        for &relation in &relations {
            let found = ends(&scenario, relation, Strategy::Dpor(Reduction::Source));
            assert!(found.is_subset(&all), "a search makes nothing up: {name}, {}", relation.name());
            if found != all {
                missed.insert(relation);
            }
            table += &format!("  {:>13}", found.len());
        }
    }
    table.push('\n');
    expect![[r#"
                               different ends   dpf-relation  dpf-attribute     dpf-record       dpf-cell           epor
        both delete                         4              3              3              3              3              3
        foreign key                         2              1              1              1              1              1
        column of a condition               4              4              1              4              1              2
        phantom                             3              3              3              3              3              1
        same key                            2              2              2              2              2              1
        delete and update                   2              2              2              2              2              1
    "#]]
    .assert_eq(&table);
    for relation in relations {
        assert!(missed.contains(&relation), "{} is called unsound, but nothing was missed", relation.name());
    }
}
