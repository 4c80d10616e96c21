//! The ways to search less, and the ways to come back to a state.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbtest;
use isolde_explore::{Completeness, Limit, Limits, Matching, Restore, Search, Strategy, Summary, System, Visit};
use isolde_explore::{Visitor, on_leaf, on_state};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow::{self, Continue};
use toys::looping::{Instruction, Program};

/// The schedules of all states, in the order in which they are seen.
fn states<S: System>(search: Search, system: &S) -> (Vec<String>, Summary) {
    let mut lines = Vec::new();
    let summary = search.run(
        system,
        &mut on_state(|at: &Visit<S>| {
            lines.push(at.schedule().line(system));
            Continue(())
        }),
    );
    (lines, summary)
}

#[test]
fn every_restore_sees_the_same() {
    arbtest(|u| {
        let program = Program::random(u)?;
        let limits = Limits { states_max: Some(3_000), depth_max: Some(14), preemptions_max: None };
        for (strategy, matching) in [
            (Strategy::Depth, Matching::Off),
            (Strategy::Depth, Matching::Digest),
            (Strategy::Reduced, Matching::Digest),
        ] {
            let search = |restore| Search { strategy, matching, restore, limits, ..Search::default() };
            let (lines, summary) = states(search(Restore::Snapshot), &program);
            assert_eq!(summary.replayed, 0);
            for restore in [Restore::Replay, Restore::Rollback] {
                let (others, other) = states(search(restore), &program);
                assert_eq!(others, lines);
                assert_eq!(Summary { replayed: 0, ..other }, summary);
                assert!(restore != Restore::Rollback || strategy != Strategy::Depth || other.replayed == 0);
            }
        }
        Ok(())
    })
    .budget_ms(2_000);
}

/// Depth first, going back costs the whole way by replay, and nothing by undoing.
#[test]
fn what_replay_costs() {
    let system = toys::Counters { threads: 2, steps: 2 };
    let replayed = |restore| {
        let search = Search { restore, ..Search::default() };
        states(search, &system).1.replayed
    };
    // Back to depth 1 twice, once from each first step, for nothing else than that step; to depth 2 twice, for two.
    assert_eq!((replayed(Restore::Replay), replayed(Restore::Rollback)), (6, 0));
}

fn bounded(preemptions: usize, matching: Matching) -> Search {
    let limits = Limits { preemptions_max: Some(preemptions), ..Limits::default() };
    Search { matching, limits, ..Search::default() }
}

#[test]
fn preemptions_are_counted() {
    // Runs of two threads of three steps, by preemptions: 0 for one after the other; the sum is 6! / (3! 3!).
    let system = toys::Counters { threads: 2, steps: 3 };
    let count = |n| states(bounded(n, Matching::Off), &system).1;
    let runs: Vec<u64> = (0..6).map(|n| count(n).leaves).collect();
    assert_eq!(runs, [2, 6, 14, 18, 20, 20]);
    assert_eq!(count(3).completeness, Completeness::Stopped(Limit::Preemptions));
    assert!(count(4).is_complete());
}

#[test]
fn matching_leaves_out_nothing_within_the_bound() {
    arbtest(|u| {
        let program = Program::random(u)?;
        for preemptions in 0..3 {
            let ends = |matching| {
                let mut ends = BTreeSet::new();
                let limits = Limits { depth_max: Some(12), ..bounded(preemptions, matching).limits };
                let summary = Search { limits, ..bounded(preemptions, matching) }.run(
                    &program,
                    &mut on_leaf(|at: &Visit<Program>| {
                        ends.insert(at.state.clone());
                        Continue(())
                    }),
                );
                (ends, summary.completeness)
            };
            let (plain, matched) = (ends(Matching::Off), ends(Matching::Digest));
            if plain.1 != Completeness::Stopped(Limit::Depth) {
                assert_eq!(plain, matched, "{program:?}");
            }
        }
        Ok(())
    })
    .budget_ms(2_000);
}

/// The first thread must get through eight steps between two particular ones of the second.
fn rare() -> Program {
    use Instruction::{Copy, Read, Think, Write};
    let first = vec![Think, Think, Think, Think, Think, Think, Think, Write(0, 2)];
    let second = vec![Write(0, 0), Think, Think, Think, Think, Think, Read(0), Copy(1)];
    Program { threads: vec![first, second], classes: true }
}

fn hits(strategy: Strategy) -> usize {
    let mut hits = 0;
    let summary = Search { strategy, ..Search::default() }.run(
        &rare(),
        &mut on_leaf(|at: &Visit<Program>| {
            hits += usize::from(at.state.values[1] == 0);
            Continue(())
        }),
    );
    assert_eq!((summary.leaves, summary.completeness), (1_000, Completeness::Stopped(Limit::Sample)));
    hits
}

#[test]
fn priorities_that_change_once_find_what_needs_one_switch() {
    let by_priority = hits(Strategy::Pct { seed: 3, runs: 1_000, bug_depth: 2 });
    // One of two threads must start, and fall behind at one of sixteen points.
    assert!(by_priority > 1_000 / (2 * 16), "{by_priority}");
    let serial = Strategy::Pct { seed: 3, runs: 1_000, bug_depth: 1 };
    assert_eq!(hits(serial), 0, "without a change every run is serial");
    assert_eq!(by_priority, hits(Strategy::Pct { seed: 3, runs: 1_000, bug_depth: 2 }));
}

/// A visitor with a clock that shows one more each time.
#[derive(Default)]
struct Clocked(Cell<u64>);

impl<S: System> Visitor<S> for Clocked {
    fn leaf(&mut self, _: &Visit<'_, S>) -> ControlFlow<()> {
        Continue(())
    }

    fn now(&self) -> Option<u64> {
        self.0.set(self.0.get() + 1);
        Some(self.0.get())
    }
}

#[test]
fn a_clock_tells_what_time_went_into_what() {
    let system = toys::Counters { threads: 2, steps: 2 };
    let search = Search { matching: Matching::Digest, ..Search::default() };
    let summary = search.run(&system, &mut Clocked::default());
    // One digest for the initial state and for each step; one step more is asked for than there is.
    assert_eq!((summary.times.hashing, summary.times.restoring), (13, 13));
    let (_, unmeasured) = states(search, &system);
    assert_eq!((unmeasured.times.hashing, unmeasured.times.restoring), (0, 0));
}
