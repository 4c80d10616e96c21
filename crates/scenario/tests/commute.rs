//! Independent steps commute: the law that partial-order reduction stands on, tested directly.
//!
//! In every state of a small scenario that can be reached, two steps of different threads are executed in both orders.
//! If the relation calls them independent, then whichever comes first, the other must still be possible, each must do
//! the same, and the state after both must be the same. This is asked of events executed from the same state, as sleep
//! sets compare them, and of events that follow each other, as races are found.
//!
//! A few thousand scenarios by default;
//! `COMMUTE_PROGRAMS=200000 cargo test --release -p isolde-scenario --test commute` for a long run, and `SEED=n` for a
//! single one.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use isolde_engine::Outcome;
use isolde_engine::footprint::Watched;
use isolde_explore::System;
use isolde_scenario::dependence::Dependence;
use isolde_scenario::{Choice, Event, ScenarioSystem, State};

use common::{Program, SERIALIZABLE, check_all, first_failure, scenario, seeds, serializable_seeds, system};

/// States looked at of one scenario.
const STATES_MAX: usize = 40;

/// Spoils the events before they are compared: what a footprint would be that forgot something.
type Spoil = fn(&mut Event);

#[test]
fn independent_steps_commute() {
    check_all(seeds("COMMUTE_PROGRAMS", 1500), |program| commutes(program, |_| {}));
}

#[test]
fn independent_serializable_steps_commute() {
    check_all(serializable_seeds("COMMUTE_PROGRAMS", 1500), |program| commutes(program, |_| {}));
}

/// Dependences that were once overlooked.
const STORIES: &[(&str, &str)] = &[
    (
        "a row that has waited for a key enters the index: another with that key meets it",
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2);
         --@ thread a
         UPDATE t SET id = 5 WHERE id = 1;
         --@ thread b
         BEGIN; UPDATE t SET id = 5 WHERE id = 2; ROLLBACK;
         --@ thread c
         BEGIN; INSERT INTO t VALUES (5); COMMIT;",
    ),
    (
        "two waits close a cycle of queues, and whichever comes second puts a queue in order",
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY);
         --@ thread a
         BEGIN; LOCK TABLE t IN EXCLUSIVE MODE;
         --@ thread b
         BEGIN; DELETE FROM c; SELECT id FROM t FOR UPDATE;
         --@ thread c
         BEGIN; LOCK TABLE t IN ROW EXCLUSIVE MODE; LOCK TABLE c IN ACCESS EXCLUSIVE MODE;",
    ),
    (
        "a lock gives a transaction a number, which serializable ones compare",
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);
         --@ thread a
         SELECT id FROM t WHERE id = 2 FOR SHARE;
         --@ thread b isolation serializable
         BEGIN; SELECT id FROM t WHERE id = 3 FOR UPDATE; ROLLBACK;
         --@ thread c isolation serializable
         BEGIN; SELECT id FROM t WHERE id > 2 ORDER BY id FOR SHARE; COMMIT;",
    ),
    (
        "a query begins, with its snapshot, when it calls a function that is not volatile",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20);
         CREATE FUNCTION total() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(a) FROM t $$;
         --@ thread a
         SELECT a FROM t WHERE id = 1; SELECT total();
         --@ thread b
         UPDATE t SET a = a + 4 WHERE id = 2;",
    ),
    (
        "a transaction that has failed behind a savepoint keeps its older locks until it is rolled back",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (3, 30);\n\
         --@ thread one\nUPDATE t SET a = a + 3 WHERE id <= 1;\n\
         --@ thread two\nBEGIN; UPDATE t SET a = 2 WHERE id = 1; SAVEPOINT s; INSERT INTO t VALUES (3, 5);",
    ),
    (
        "a write that is taken back is in the way of a search no longer",
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 10, 11), (2, 20, 21);
         --@ thread a
         BEGIN; SAVEPOINT s; UPDATE t SET a = 4 WHERE id <= 1; ROLLBACK TO s;
         --@ thread b isolation serializable
         BEGIN; SELECT sum(b) FROM t WHERE a > 10; COMMIT;",
    ),
    (
        "a row that waits for its key is not in the index yet",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (3, 30);
         --@ thread a isolation serializable
         INSERT INTO t VALUES (3, 1);
         --@ thread b isolation serializable
         BEGIN; UPDATE t SET a = a + 3 WHERE id > 1; SELECT id FROM t WHERE id = 3; COMMIT;",
    ),
    (
        "a foreign key looks at the newest state",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
         CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES t);
         --@ thread a isolation serializable
         BEGIN; INSERT INTO c VALUES (3, 1); COMMIT;
         --@ thread b isolation serializable
         BEGIN; UPDATE t SET a = a + 2 WHERE id = 3; DELETE FROM t WHERE id = 2; COMMIT;",
    ),
    (
        "who will be refused waits all the same for those who share a lock on the version that it saw",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20);
         CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES t);
         --@ thread a
         UPDATE t SET a = 4 WHERE id = 1;
         --@ thread b isolation repeatable read
         BEGIN; DELETE FROM c WHERE id = 2; DELETE FROM t WHERE id = 1;
         --@ thread c
         BEGIN; INSERT INTO c VALUES (3, 1); COMMIT;",
    ),
    (
        "a page that was read before shows a version that is taken back now",
        "CREATE TABLE t (id int PRIMARY KEY, a int);
         --@ thread a isolation serializable
         BEGIN; SELECT a FROM t WHERE id = 1; UPDATE t SET a = a + 2 WHERE id > 3; COMMIT;
         --@ thread b isolation serializable
         BEGIN; SAVEPOINT s; INSERT INTO t VALUES (5, 1); ROLLBACK TO s; COMMIT;",
    ),
    (
        "an index leads to what becomes of a version that was not seen",
        "CREATE TABLE t (id int PRIMARY KEY, a int);
         --@ thread a
         INSERT INTO t VALUES (4, 3);
         --@ thread b isolation serializable
         UPDATE t SET a = a + 1 WHERE id > 3;
         --@ thread c isolation serializable
         BEGIN; SELECT a FROM t WHERE id = 2; UPDATE t SET a = a + 4 WHERE id > 3; ROLLBACK;",
    ),
    (
        "what a wait waits for depends on who is writing",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (3, 30);
         --@ thread a isolation repeatable read
         SELECT a FROM t WHERE id = 3 FOR KEY SHARE;
         --@ thread b
         BEGIN; SELECT a FROM t WHERE id = 3 FOR UPDATE; UPDATE t SET a = a + 1 WHERE id = 3; ROLLBACK;",
    ),
    (
        "two columns of a row change while somebody keeps an older snapshot",
        "CREATE TABLE t (id int PRIMARY KEY, a int, b int); INSERT INTO t VALUES (1, 10, 10), (2, 20, 20);
         --@ thread a isolation repeatable read
         BEGIN; SELECT a FROM t WHERE id = 2; SELECT b FROM t WHERE id = 1; COMMIT;
         --@ thread b
         UPDATE t SET a = 1 WHERE id = 1;
         --@ thread c
         UPDATE t SET b = 2 WHERE id = 1;",
    ),
    (
        "who waits for the end of a transaction does not wait again because another writes the row",
        "CREATE TABLE t (id int PRIMARY KEY, a int);
         --@ thread a
         BEGIN; INSERT INTO t VALUES (1, 1); COMMIT;
         --@ thread b
         INSERT INTO t VALUES (1, 2);
         --@ thread c
         BEGIN; UPDATE t SET a = 3 WHERE id = 1; COMMIT;",
    ),
    (
        "nobody asks which of two that only read was the first to commit",
        "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES t);
         --@ thread a isolation serializable
         BEGIN; UPDATE t SET a = 4 WHERE id > 1; COMMIT;
         --@ thread b isolation serializable
         BEGIN; SELECT count(*) FROM t; COMMIT;
         --@ thread c isolation serializable
         BEGIN READ ONLY; SELECT a FROM t JOIN c ON p = t.id WHERE t.id = 1; COMMIT;
         --@ thread d isolation serializable
         UPDATE t SET a = a + 3 WHERE id = 2;",
    ),
    (
        "a wait closes a cycle, and somebody else's place in another queue changes",
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY);
         --@ thread a
         BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE;
         --@ thread b
         BEGIN; LOCK TABLE t IN ACCESS SHARE MODE; INSERT INTO c VALUES (5);
         --@ thread c
         BEGIN; LOCK TABLE c IN EXCLUSIVE MODE; SELECT id FROM t WHERE id = 2; COMMIT;",
    ),
    (
        "of several rows that cannot be deleted the first in the heap is named",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20);
         CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES t); INSERT INTO c VALUES (1, 1), (2, 2);
         --@ thread a
         UPDATE t SET a = 10 WHERE id = 1;
         --@ thread b
         DELETE FROM t WHERE id <= 3;",
    ),
    (
        "a snapshot shows what the last statement of the transaction asks for, also in a routine",
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 10), (2, 20);
         CREATE PROCEDURE shift(x int) LANGUAGE plpgsql AS $$ BEGIN x := x + 1; UPDATE t SET a = 0 WHERE id = x; END $$;
         --@ thread a isolation repeatable read
         BEGIN; SELECT 1 FROM t WHERE id = 3; CALL shift(1); COMMIT;
         --@ thread b
         UPDATE t SET a = 1 WHERE id = 2;",
    ),
];

#[test]
fn what_was_overlooked_is_seen() {
    for (story, text) in STORIES {
        let text = text.replace("; ", ";\n");
        commute_in(&text, |_| {}).unwrap_or_else(|why| panic!("{story}: {why}\n{text}"));
    }
}

#[test]
fn forgotten_serializable_reads_are_noticed() {
    noticed_in(SERIALIZABLE, |event| forget(event, |watched| watched.held.clear()));
}

#[test]
fn forgotten_edges_are_noticed() {
    noticed_in(SERIALIZABLE, |event| forget(event, |watched| watched.asked = Default::default()));
}

#[test]
fn forgotten_new_edges_are_noticed() {
    noticed_in(SERIALIZABLE, |event| forget(event, |watched| watched.linked.clear()));
}

#[test]
fn forgotten_ends_are_noticed() {
    noticed_in(SERIALIZABLE, |event| forget(event, |watched| watched.ends = false));
}

fn forget(event: &mut Event, what: fn(&mut Watched)) {
    event.steps.iter_mut().filter_map(|step| step.footprint.watched.as_deref_mut()).for_each(what);
}

#[test]
fn forgotten_probes_are_noticed() {
    noticed(|event| event.steps.iter_mut().for_each(|step| step.footprint.probes.clear()));
}

#[test]
fn forgotten_reads_are_noticed() {
    noticed(|event| event.steps.iter_mut().for_each(|step| step.footprint.reads.clear()));
}

#[test]
fn forgotten_locks_are_noticed() {
    noticed(|event| event.steps.iter_mut().for_each(|step| step.footprint.locks.clear()));
}

#[test]
fn forgotten_rollbacks_are_noticed() {
    noticed(|event| event.steps.iter_mut().for_each(|step| step.footprint.undone.clear()));
}

fn noticed(spoil: Spoil) {
    noticed_in(0, spoil);
}

fn noticed_in(first: u64, spoil: Spoil) {
    let found = first_failure(first..first + 3000, &|program| commutes(program, spoil));
    assert!(found.is_some(), "footprints that leave something out pass for complete");
}

/// Whether independent steps of a program commute wherever they can be taken.
fn commutes(program: &Program, spoil: Spoil) -> Result<(), String> {
    commute_in(&program.to_string(), spoil)
}

fn commute_in(text: &str, spoil: Spoil) -> Result<(), String> {
    let scenario = scenario(text);
    let system = system(&scenario);
    let mut open = vec![system.initial()];
    let mut seen: BTreeSet<u128> = open.iter().filter_map(|state| system.digest(state)).collect();
    while let Some(state) = open.pop() {
        let next = look_around(&system, &state, spoil)?;
        for after in next {
            if seen.len() < STATES_MAX && system.digest(&after).is_some_and(|digest| seen.insert(digest)) {
                open.push(after);
            }
        }
    }
    Ok(())
}

/// Tries all pairs of steps from a state; returns the states one step away.
fn look_around(system: &ScenarioSystem<'_>, state: &State, spoil: Spoil) -> Result<Vec<State>, String> {
    let first = steps(system, state);
    let second: Vec<Vec<_>> = first.iter().map(|(.., after)| steps(system, after)).collect();
    for (at, (a, event_a, _)) in first.iter().enumerate() {
        for (b, event_b, after_ab) in &second[at] {
            if system.thread(a) == system.thread(b) {
                continue;
            }
            // The way round from b, if it could come first.
            let before = first.iter().position(|(choice, ..)| choice == b);
            let swapped = before.map(|at| (&first[at].1, second[at].iter().find(|(choice, ..)| choice == a)));
            let complain = |how: &str| {
                let names = (system.name(a), system.name(b));
                Err(format!(
                    "{} and {} are called independent, but {how}\n{}\n{}",
                    names.0,
                    names.1,
                    show(event_a),
                    show(event_b)
                ))
            };
            let independent = |x: &Event, y: &Event| {
                let (mut x, mut y) = (x.clone(), y.clone());
                spoil(&mut x);
                spoil(&mut y);
                levels_nest(system, &x, &y);
                !system.dependent(&x, &y)
            };
            let adjacent = independent(event_a, event_b);
            let siblings = swapped.as_ref().is_some_and(|(event, _)| independent(event_a, event));
            if !adjacent && !siblings {
                continue;
            }
            match swapped {
                None => complain("the second is possible only after the first")?,
                Some((_, None)) => complain("the first is not possible after the second")?,
                Some((early_b, Some((_, late_a, after_ba)))) => {
                    if result(early_b) != result(event_b) {
                        complain(&format!("the second does something else alone: {}", show(early_b)))?;
                    }
                    if result(event_a) != result(late_a) {
                        complain(&format!("the first does something else behind the second: {}", show(late_a)))?;
                    }
                    if system.digest(after_ab) != system.digest(after_ba) {
                        complain("they lead to different states")?;
                    }
                }
            }
        }
        // A step that is possible now must stay so if what is taken instead commutes with it.
        for (b, event_b, _) in &first {
            let lost = system.thread(a) != system.thread(b) && !second[at].iter().any(|(c, ..)| c == b);
            let (mut x, mut y) = (event_a.clone(), event_b.clone());
            spoil(&mut x);
            spoil(&mut y);
            if lost && !system.dependent(&x, &y) {
                return Err(format!(
                    "{} takes the chance from {}, but they are called independent\n{}\n{}",
                    system.name(a),
                    system.name(b),
                    show(event_a),
                    show(event_b)
                ));
            }
        }
    }
    Ok(first.into_iter().map(|(.., after)| after).collect())
}

/// Each level is a coarsening of the closer ones. (But `effect` is none of `cell`: what others may add to is less
/// certain.)
fn levels_nest(system: &ScenarioSystem<'_>, a: &Event, b: &Event) {
    let dependent = |dependence| ScenarioSystem { dependence, ..*system }.dependent(a, b);
    let chains = [
        [Dependence::Cell, Dependence::Attribute, Dependence::Relation, Dependence::Database],
        [Dependence::Cell, Dependence::Record, Dependence::Relation, Dependence::Database],
    ];
    for chain in chains {
        for pair in chain.windows(2) {
            assert!(
                !dependent(pair[0]) || dependent(pair[1]),
                "{} sees what {} does not",
                pair[0].name(),
                pair[1].name()
            );
        }
    }
    assert_eq!(system.dependent(a, b), system.dependent(b, a), "dependence goes both ways");
}

/// All steps of a state.
fn steps(system: &ScenarioSystem<'_>, state: &State) -> Vec<(Choice, Event, State)> {
    let mut choices = Vec::new();
    system.enabled(state, &mut choices);
    let take = |choice: Choice| {
        let mut after = state.clone();
        let event = system.execute(&mut after, &choice);
        (choice, event, after)
    };
    choices.into_iter().map(take).collect()
}

/// What a thread can tell of its event.
fn result(event: &Event) -> String {
    let of_step = |outcome: &Outcome| match outcome {
        Outcome::Rows { rows, .. } => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows.join("\n")
        }
        Outcome::Blocked(_) => "waits".into(),
        other => format!("{other:?}"),
    };
    let steps: Vec<String> = event.steps.iter().map(|step| of_step(&step.outcome)).collect();
    format!("{steps:?} {:?}", event.reactions)
}

/// An event on a few lines.
fn show(event: &Event) -> String {
    let steps = event.steps.iter().map(|step| {
        let (text, outcome, footprint) = (&step.pending.text, &step.outcome, &step.footprint);
        let outcome = if let Outcome::Blocked(_) = outcome { "waits".into() } else { format!("{outcome:?}") };
        format!("  {text} -> {outcome}\n    {footprint:?}")
    });
    format!("thread {}:\n{}", event.thread, steps.collect::<Vec<_>>().join("\n"))
}
