//! A reduced search finds what the full one finds, and does nothing twice.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbtest;
use isolde_explore::{
    Checkpoint, Completeness, Done, Limit, Limits, Reduction, Search, Strategy, Summary, System, Visit, Visitor,
    on_leaf,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::{self, Continue};
use toys::Counters;
use toys::program::{Act, Program, Touched, World};

fn strategy(reduction: Reduction) -> Search {
    Search { strategy: Strategy::Dpor(reduction), ..Search::default() }
}

/// The ends of all runs that a search looks at, and how many runs there are of each class.
fn ends(search: &Search, program: &Program) -> (BTreeSet<World>, BTreeMap<Class, usize>, Summary) {
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

/// What all equivalent runs have in common: each thread's events, and for each what happens directly or indirectly
/// before it.
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
    let Done { summary, visitors: seen, .. } = crew.run_jobs(program, 2, None, Ends::default).unwrap();
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
        let Done { summary: together, visitors: seen, .. } =
            search.run_jobs(&program, jobs, None, Ends::default).unwrap();
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
    let Done { summary, .. } = few.run_jobs(&program, 4, None, Ends::default).unwrap();
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

/// Stopped again and again, and gone on with, by one or by several, a search sees what it would have seen at once.
fn in_pieces(program: &Program, jobs: usize) -> (Summary, Vec<Class>) {
    let mut from: Option<Checkpoint> = None;
    let mut classes = Vec::new();
    loop {
        let states_max = from.as_ref().map_or(3, |_| u64::MAX);
        let piece = Search {
            limits: Limits { states_max: Some(states_max), ..Limits::default() },
            progress_every: 3,
            steps_alone: 2,
            ..strategy(Reduction::Optimal)
        };
        let done = piece.run_jobs(program, jobs, from.as_ref(), Piece::default).unwrap();
        classes.extend(done.visitors.into_iter().flat_map(|piece| piece.0.classes));
        match done.checkpoint {
            None => return (done.summary, classes),
            checkpoint => from = checkpoint,
        }
    }
}

/// Stops a while after it has begun.
#[derive(Default)]
struct Piece(Ends, u64);

impl Visitor<Program> for Piece {
    fn leaf(&mut self, at: &Visit<'_, Program>) -> ControlFlow<()> {
        self.0.leaf(at)
    }

    fn progress(&mut self, _: &isolde_explore::Progress) -> ControlFlow<Limit> {
        self.1 += 1;
        if self.1 > 3 { ControlFlow::Break(Limit::Interrupt) } else { Continue(()) }
    }
}

#[test]
fn a_search_that_was_stopped_goes_on() {
    arbtest(|u| {
        let program = Program::random(u)?;
        let (_, classes, summary) = ends(&strategy(Reduction::Optimal), &program);
        for jobs in [1, 2] {
            let (pieces, seen) = in_pieces(&program, jobs);
            assert!(pieces.is_complete());
            assert_eq!(seen.len(), classes.len(), "{jobs} workers: {program:?}");
            assert!(seen.into_iter().collect::<BTreeSet<_>>().iter().eq(classes.keys()), "{jobs}: {program:?}");
            assert_eq!(pieces.leaves, summary.leaves, "{jobs} workers: {program:?}");
        }
        Ok(())
    })
    .budget_ms(2_000);
}

/// Two workers are stopped in two branches of one place, again and again: what both lead to is left to neither.
#[test]
fn what_two_workers_leave_is_found_by_one() {
    use toys::program::Op::{Lock, Need, TryLock, Unlock, Write};
    let threads = vec![vec![TryLock(0), Need(1), Unlock(0)], vec![Lock(1), Write(1)], vec![Unlock(0), TryLock(1)]];
    let program = Program { threads };
    let (_, classes, _) = ends(&strategy(Reduction::Optimal), &program);
    for _ in 0..1_000 {
        assert_eq!(in_pieces(&program, 2).1.len(), classes.len());
    }
}

#[test]
fn a_checkpoint_of_another_system_is_refused() {
    use toys::program::Op::{Read, Write};
    let big = Program { threads: vec![vec![Write(0), Read(0)], vec![Write(0), Read(0)], vec![Read(0)]] };
    let small = Program { threads: vec![vec![Write(0)], vec![Write(0)]] };
    let stop = Search { limits: Limits { states_max: Some(9), ..Limits::default() }, ..strategy(Reduction::Optimal) };
    let checkpoint = stop.run_jobs(&big, 1, None, Ends::default).unwrap().checkpoint.unwrap();
    let error = stop.run_jobs(&small, 1, Some(&checkpoint), Ends::default).err().unwrap();
    assert!(error.to_string().contains("is of another search"), "{error}");
}
