//! Stateful search with reduction finds every end that a search of all states finds, on random programs.

#![allow(clippy::unwrap_used)]

mod toys;

use arbtest::arbtest;
use isolde_explore::{Matching, Search, Strategy, Summary, System, Visit, on_leaf};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use toys::looping::{Instruction, Program};

fn ends<S: System<State: Ord>>(system: &S, strategy: Strategy) -> (BTreeSet<S::State>, Summary) {
    let mut ends = BTreeSet::new();
    let search = Search { strategy, matching: Matching::Digest, ..Search::default() };
    let summary = search.run(
        system,
        &mut on_leaf(|at: &Visit<S>| {
            ends.insert(at.state.clone());
            Continue(())
        }),
    );
    assert!(summary.is_complete());
    (ends, summary)
}

/// Milliseconds of random programs: `PROGRAMS=60000` for a minute.
fn budget() -> u64 {
    std::env::var("PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

#[test]
fn every_end_is_found() {
    let mut total: BTreeMap<&str, u64> = BTreeMap::new();
    arbtest(|u| {
        let program = Program::random(u)?;
        let (all, plain) = ends(&program, Strategy::Depth);
        let (found, reduced) = ends(&program, Strategy::Reduced);
        assert_eq!(found, all, "{program:?}");
        assert!(reduced.states_seen <= plain.states_seen && reduced.leaves == plain.leaves);
        *total.entry("plain").or_default() += plain.states_seen;
        *total.entry("reduced").or_default() += reduced.states_seen;
        *total.entry("ends").or_default() += reduced.leaves;
        Ok(())
    })
    .budget_ms(budget());
    assert!(total["reduced"] * 10 < total["plain"] * 9, "hardly anything is reduced: {total:?}");
}

/// Here newcomers overtake those who wait for a lock, so that a step that was possible is no longer.
#[test]
fn every_end_is_found_where_threads_overtake() {
    arbtest(|u| {
        let program = toys::program::Program::random(u)?;
        let ((all, plain), (found, reduced)) = (ends(&program, Strategy::Depth), ends(&program, Strategy::Reduced));
        assert_eq!(found, all, "{program:?}");
        assert!(reduced.states_seen <= plain.states_seen);
        Ok(())
    })
    .budget_ms(budget());
}

#[test]
fn threads_that_never_meet_need_one_run() {
    for threads in 1..=5 {
        let system = toys::Counters { threads, steps: 4 };
        let (_, summary) = ends(&system, Strategy::Reduced);
        let steps = threads as u64 * 4;
        assert_eq!((summary.states_seen, summary.transitions, summary.races), (steps + 1, steps, 0));
    }
}

#[test]
fn where_everything_depends_on_everything_nothing_is_left_out() {
    for seats in 2..=4 {
        let system = toys::Philosophers { seats };
        let ((all, plain), (found, reduced)) = (ends(&system, Strategy::Depth), ends(&system, Strategy::Reduced));
        assert_eq!((found, reduced.states_seen), (all, plain.states_seen));
    }
    for gives_way in [false, true] {
        let system = toys::Peterson { gives_way };
        let ((_, plain), (_, reduced)) = (ends(&system, Strategy::Depth), ends(&system, Strategy::Reduced));
        assert_eq!(reduced.states_seen, plain.states_seen);
    }
}

/// One thread goes round and touches nothing; the other must still be tried.
#[test]
fn a_cycle_ignores_nobody() {
    use Instruction::{Await, Think, Write};
    let program = Program { threads: vec![vec![Await(0, 1)], vec![Think, Write(0, 1)]], classes: true };
    let (found, summary) = ends(&program, Strategy::Reduced);
    assert_eq!((found.len(), summary.leaves), (1, 1));
    let for_ever = Program { threads: vec![vec![Await(0, 2)], vec![Think, Write(0, 1)]], classes: true };
    assert_eq!(ends(&for_ever, Strategy::Reduced).1.leaves, 0);
}
