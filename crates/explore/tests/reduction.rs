//! A reduced search finds what the full one finds, and does nothing twice.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbtest;
use isolde_explore::{Completeness, Limit, Limits, Reduction, Search, Strategy, System, Visit, Visitor, on_leaf};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::{self, Continue};
use toys::Counters;
use toys::program::{Act, Program, Touched, World};

fn strategy(reduction: Reduction) -> Search {
    Search { strategy: Strategy::Dpor(reduction), ..Search::default() }
}

/// The ends of all runs that a search looks at, and how many runs there are of each class.
fn ends(search: &Search, program: &Program) -> (BTreeSet<World>, BTreeMap<Class, usize>, isolde_explore::Summary) {
    let mut ends = BTreeSet::new();
    let mut classes = BTreeMap::new();
    let summary = search.run(
        program,
        &mut on_leaf(|at: &Visit<Program>| {
            ends.insert(at.state.clone());
            *classes.entry(class(program, &at.schedule().steps)).or_insert(0) += 1;
            Continue(())
        }),
    );
    (ends, classes, summary)
}

/// What all equivalent runs have in common: each thread's events, and for each what happens directly or indirectly before it.
type Class = Vec<Vec<(Touched, Past)>>;

/// Events: the thread and the how-many-eth of it.
type Past = BTreeSet<(usize, usize)>;

fn class(program: &Program, steps: &[Act]) -> Class {
    let mut state = program.initial();
    let mut events: Vec<(Touched, usize, Past)> = Vec::new();
    let mut class: Class = vec![Vec::new(); program.threads.len()];
    for step in steps {
        let event = program.execute(&mut state, step);
        let index = class[event.thread].len();
        let mut before = BTreeSet::new();
        for (other, i, past) in &events {
            if other.thread == event.thread || program.dependent(other, &event) {
                before.extend(past.iter().copied());
                before.insert((other.thread, *i));
            }
        }
        class[event.thread].push((event.clone(), before.clone()));
        events.push((event, index, before));
    }
    class
}

fn same_as_naive(program: &Program) {
    let (naive, naive_classes, _) = ends(&Search::default(), program);
    let (optimal, classes, summary) = ends(&strategy(Reduction::Optimal), program);
    assert_eq!(optimal, naive, "{program:?}");
    assert_eq!(summary.sleep_blocked, 0, "begun in vain: {program:?}");
    assert!(classes.values().all(|&runs| runs == 1), "a class was explored twice: {program:?}");
    assert_eq!(classes.len(), naive_classes.len(), "a class is missing: {program:?}");
    let crew = Search { steps_alone: 1, ..strategy(Reduction::Optimal) };
    let (summary, seen) = crew.run_jobs(program, 2, Ends::default);
    assert_eq!(summary.leaves as usize, classes.len(), "two workers: {program:?}");
    let together: BTreeSet<Class> = seen.into_iter().flat_map(|ends| ends.classes).collect();
    assert!(together.iter().eq(classes.keys()), "two workers: {program:?}");
    let (source, classes, _) = ends(&strategy(Reduction::Source), program);
    assert_eq!(source, naive, "{program:?}");
    assert!(classes.values().all(|&runs| runs == 1), "source sets, a class was explored twice: {program:?}");
}

#[test]
fn reduced_searches_end_where_the_full_one_ends() {
    let budget = std::env::var("PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    arbtest(|u| {
        same_as_naive(&Program::random(u)?);
        Ok(())
    })
    .budget_ms(budget);
}

#[test]
fn threads_that_never_meet_need_one_run() {
    for reduction in [Reduction::Optimal, Reduction::Source] {
        let summary =
            strategy(reduction).run(&Counters { threads: 5, steps: 4 }, &mut on_leaf(|_: &Visit<_>| Continue(())));
        assert_eq!((summary.leaves, summary.transitions, summary.races), (1, 20, 0));
    }
}

/// Before a thread's own last move another step of its is meant, although it goes by the same name.
#[test]
fn a_wait_in_the_middle_of_what_is_planted() {
    use toys::program::Op::{Lock, Read, TryLock, Write};
    same_as_naive(&Program { threads: vec![vec![Write(0)], vec![Lock(1), Read(0)], vec![TryLock(1), Read(1)]] });
    same_as_naive(&Program { threads: vec![vec![Lock(1), Write(2)], vec![Read(2)], vec![TryLock(1), Write(0)]] });
}

/// Only one of the threads in a deadlock is killed, and each of them is in some run.
#[test]
fn every_victim_is_tried() {
    use toys::program::Op::{Lock, Write};
    let program =
        Program { threads: vec![vec![Lock(0), Lock(1), Write(0)], vec![Lock(1), Lock(0), Write(0)], vec![Write(1)]] };
    same_as_naive(&program);
    let (ends, ..) = ends(&strategy(Reduction::Optimal), &program);
    let killed: BTreeSet<Vec<bool>> = ends.iter().map(|w| w.threads.iter().map(|t| t.killed).collect()).collect();
    assert_eq!(killed.len(), 3);
}

/// Who finds a run does not matter, nor how many look: each class is seen once.
#[test]
fn more_workers_see_the_same_runs() {
    use toys::program::Op::{Add, Lock, Read, Write};
    let program = Program {
        threads: vec![
            vec![Read(0), Write(0), Add(2), Write(1)],
            vec![Read(0), Lock(0), Write(0), Read(2)],
            vec![Lock(0), Read(1), Write(2), Write(0)],
            vec![Read(2), Write(0), Read(1)],
        ],
    };
    let search = strategy(Reduction::Optimal);
    let (alone, classes, summary) = ends(&search, &program);
    assert!(summary.transitions > 12_000, "{}: enough for several", summary.transitions);
    for jobs in [1, 2, 3, 8] {
        let (together, seen) = search.run_jobs(&program, jobs, Ends::default);
        assert_eq!(together.leaves, summary.leaves, "{jobs} workers");
        assert!(together.is_complete());
        let all: Vec<Class> = seen.iter().flat_map(|ends| ends.classes.iter().cloned()).collect();
        assert_eq!(all.len(), classes.len(), "{jobs} workers");
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), classes.keys().cloned().collect(), "{jobs} workers");
        let worlds: BTreeSet<World> = seen.into_iter().flat_map(|ends| ends.worlds).collect();
        assert_eq!(worlds, alone);
    }
    // Stopping one stops all.
    let few = Search { limits: Limits { states_max: Some(8_000), ..Limits::default() }, ..search };
    let (summary, _) = few.run_jobs(&program, 4, Ends::default);
    assert_eq!(summary.completeness, Completeness::Stopped(Limit::States));
}

#[derive(Default)]
struct Ends {
    worlds: Vec<World>,
    classes: Vec<Class>,
}

impl Visitor<Program> for Ends {
    fn leaf(&mut self, at: &Visit<'_, Program>) -> ControlFlow<()> {
        self.worlds.push(at.state.clone());
        self.classes.push(class(at.system, &at.schedule().steps));
        Continue(())
    }
}
