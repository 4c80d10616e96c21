//! Exact numbers of states, steps and runs of systems for which they are known.

#![allow(clippy::unwrap_used)]

mod toys;

use isolde_explore::{Completeness, Limit, Limits, Matching, Restore, Search, Strategy, Summary, System, Visit};
use isolde_explore::{Visitor, on_leaf, on_state};
use std::ops::ControlFlow::{self, Break, Continue};
use toys::*;

const STATELESS: Search = Search {
    strategy: Strategy::Depth,
    matching: Matching::Off,
    restore: Restore::Snapshot,
    limits: Limits { states_max: None, depth_max: None, preemptions_max: None },
    progress_every: 256,
    steps_alone: 0,
};
const STATEFUL: Search = Search { matching: Matching::Digest, ..STATELESS };
const SHORTEST: Search = Search { strategy: Strategy::Breadth, ..STATEFUL };

fn count<S: System>(search: Search, system: &S) -> Summary {
    search.run(system, &mut on_leaf(|_: &Visit<S>| Continue(())))
}

fn complete(states_seen: u64, transitions: u64, leaves: u64, depth_seen: usize) -> Summary {
    Summary { states_seen, transitions, leaves, depth_seen, ..Summary::default() }
}

/// n! / (a! b! ...) for parts a, b, ... that sum to n.
fn multinomial(parts: &[u64]) -> u64 {
    let mut total = 0;
    let mut product = 1;
    for &part in parts {
        for i in 1..=part {
            total += 1;
            product = product * total / i;
        }
    }
    product
}

#[test]
fn threads_that_never_meet() {
    for threads in 1..=4usize {
        for steps in 1..=3u8 {
            let system = Counters { threads, steps };
            let (k, n) = (threads as u64, u64::from(steps));
            let states = (n + 1).pow(threads as u32);
            let expected = complete(states, k * n * (n + 1).pow(threads as u32 - 1), 1, (k * n) as usize);
            assert_eq!(count(STATEFUL, &system), expected);
            assert_eq!(count(SHORTEST, &system), expected);
            assert_eq!(count(STATELESS, &system).leaves, multinomial(&vec![n; threads]));
        }
    }
}

#[test]
fn two_threads_have_a_tree_of_paths() {
    // Prefixes with i and j steps: C(i+j, i); their sum over the square is C(2n+2, n+1) - 1.
    for steps in 1..=7u8 {
        let n = u64::from(steps);
        let nodes = multinomial(&[n + 1, n + 1]) - 1;
        let expected = complete(nodes, nodes - 1, multinomial(&[n, n]), 2 * n as usize);
        let system = Counters { threads: 2, steps };
        assert_eq!(count(STATELESS, &system), expected);
        assert_eq!(count(Search { matching: Matching::Off, ..SHORTEST }, &system), expected);
    }
}

#[test]
fn bounded_buffer() {
    let roomy = Buffer { items: 6, capacity: 6 };
    assert_eq!(count(STATELESS, &roomy).leaves, 132); // the sixth Catalan number
    assert_eq!(count(STATEFUL, &roomy), complete(28, 42, 1, 12)); // 7 + 6 + ... + 1 states
    let narrow = Buffer { items: 6, capacity: 1 };
    assert_eq!(count(STATELESS, &narrow), complete(13, 12, 1, 12)); // no choice at all
    assert_eq!(count(STATELESS, &Buffer { items: 6, capacity: 2 }).leaves, 32); // 2^(items-1)
}

/// The number of ways to lay out the forks, by trying every assignment.
fn tables(seats: usize) -> u64 {
    let legal = |table: &[u8]| {
        (0..seats).all(|fork| {
            let by_left = u8::from(table[fork] >= 1);
            let by_right = u8::from(table[(fork + seats - 1) % seats] == 2);
            by_left + by_right <= 1
        })
    };
    let all = (0..3u32.pow(seats as u32)).map(|mut code| {
        let mut table = vec![0u8; seats];
        for seat in &mut table {
            *seat = (code % 3) as u8;
            code /= 3;
        }
        table
    });
    all.filter(|table| legal(table)).count() as u64
}

#[test]
fn philosophers_starve_at_one_table_only() {
    for seats in 2..=7 {
        let system = Philosophers { seats };
        let mut starved = Vec::new();
        let summary = SHORTEST.run(
            &system,
            &mut on_leaf(|at: &Visit<Philosophers>| {
                starved.push((at.state.clone(), at.schedule().line(at.system)));
                Continue(())
            }),
        );
        assert_eq!((summary.leaves, summary.completeness), (1, Completeness::Complete));
        assert_eq!(summary.states_seen, tables(seats));
        let everyone: Vec<String> = (0..seats).map(|seat| seat.to_string()).collect();
        assert_eq!(starved, [(vec![1; seats], everyone.join(" "))]);
        assert_eq!(count(STATEFUL, &system).states_seen, summary.states_seen);
    }
}

struct Exclusion {
    broken_by: Option<String>,
}

impl Visitor<Peterson> for Exclusion {
    fn leaf(&mut self, _: &Visit<'_, Peterson>) -> ControlFlow<()> {
        panic!("somebody can always act");
    }

    fn state(&mut self, at: &Visit<'_, Peterson>) -> ControlFlow<()> {
        if at.state.place != [3, 3] {
            return Continue(());
        }
        self.broken_by = Some(at.schedule().line(at.system));
        Break(())
    }
}

#[test]
fn peterson_excludes_and_the_careless_variant_does_not() {
    let mut exclusion = Exclusion { broken_by: None };
    let summary = SHORTEST.run(&Peterson { gives_way: true }, &mut exclusion);
    assert_eq!((exclusion.broken_by, summary.is_complete()), (None, true));
    assert_eq!(summary.states_seen, every_reachable_door());
    assert_eq!(summary.states_seen, 20); // of 16 places x 2 turns; the flags follow from the places

    let mut exclusion = Exclusion { broken_by: None };
    let summary = SHORTEST.run(&Peterson { gives_way: false }, &mut exclusion);
    assert_eq!(exclusion.broken_by.as_deref(), Some("0*3 1*3"));
    assert_eq!(summary.completeness, Completeness::Stopped(Limit::Visitor));
}

/// Reachability as a fixed point, without the search loop.
fn every_reachable_door() -> u64 {
    let system = Peterson { gives_way: true };
    let mut doors = std::collections::BTreeSet::from([system.initial()]);
    loop {
        let mut next = doors.clone();
        for door in &doors {
            let mut steps = Vec::new();
            system.enabled(door, &mut steps);
            for step in steps {
                let mut after = door.clone();
                system.execute(&mut after, &step);
                next.insert(after);
            }
        }
        if next == doors {
            return doors.len() as u64;
        }
        doors = next;
    }
}

#[test]
fn a_clock_goes_round_for_ever() {
    let clock = Clock { hours: 12 };
    assert_eq!(count(STATEFUL, &clock), complete(12, 12, 0, 11));
    assert_eq!(count(SHORTEST, &clock), complete(12, 12, 0, 11));
    let bounded = Search { limits: Limits { depth_max: Some(100), ..Limits::default() }, ..STATELESS };
    let summary = count(bounded, &clock);
    assert_eq!((summary.transitions, summary.completeness), (100, Completeness::Stopped(Limit::Depth)));
}

#[test]
fn a_state_limit_stops_only_what_goes_beyond_it() {
    let system = Counters { threads: 2, steps: 3 };
    let limited = |states| Search { limits: Limits { states_max: Some(states), ..Limits::default() }, ..STATEFUL };
    assert_eq!(count(limited(16), &system).completeness, Completeness::Complete);
    let summary = count(limited(15), &system);
    assert_eq!((summary.states_seen, summary.completeness), (15, Completeness::Stopped(Limit::States)));
    assert_eq!(count(limited(0), &system).states_seen, 0);
}

#[test]
fn a_depth_limit_that_nothing_exceeds_leaves_the_search_complete() {
    let system = Counters { threads: 2, steps: 2 };
    let bounded = |depth| Search { limits: Limits { depth_max: Some(depth), ..Limits::default() }, ..STATELESS };
    assert_eq!(count(bounded(4), &system), count(STATELESS, &system));
    let summary = count(bounded(3), &system);
    assert_eq!((summary.leaves, summary.depth_seen), (0, 3));
    assert_eq!(summary.completeness, Completeness::Stopped(Limit::Depth));
}

#[test]
fn a_run_of_a_million_steps_needs_no_deep_stack() {
    let long = Search { limits: Limits { depth_max: Some(1_000_000), ..Limits::default() }, ..STATELESS };
    assert_eq!(count(long, &Clock { hours: 7 }).depth_seen, 1_000_000);
    let wide = Clock { hours: 1_000_000 };
    let mut farthest = 0;
    let summary = SHORTEST.run(
        &wide,
        &mut on_state(|at: &Visit<Clock>| {
            farthest = farthest.max(at.depth());
            Continue(())
        }),
    );
    assert_eq!((summary.states_seen, farthest), (1_000_000, 999_999));
}

#[test]
fn a_system_without_steps_is_one_leaf() {
    let nothing = Counters { threads: 0, steps: 3 };
    for search in [STATELESS, STATEFUL, SHORTEST] {
        assert_eq!(count(search, &nothing), complete(1, 0, 1, 0));
    }
    let random = Search { strategy: Strategy::Random { seed: 1, runs: 5 }, ..STATELESS };
    assert_eq!(count(random, &nothing).completeness, Completeness::Stopped(Limit::Sample));
}

struct Patience {
    calls: Vec<u64>,
    last: u64,
}

impl Visitor<Counters> for Patience {
    fn leaf(&mut self, _: &Visit<'_, Counters>) -> ControlFlow<()> {
        Continue(())
    }

    fn progress(&mut self, progress: &isolde_explore::Progress) -> ControlFlow<Limit> {
        self.calls.push(progress.transitions);
        if self.calls.len() as u64 == self.last { Break(Limit::Time) } else { Continue(()) }
    }
}

#[test]
fn the_caller_watches_the_clock() {
    let mut patience = Patience { calls: Vec::new(), last: 3 };
    let search = Search { progress_every: 10, ..STATELESS };
    let summary = search.run(&Counters { threads: 3, steps: 3 }, &mut patience);
    assert_eq!(patience.calls, [10, 20, 30]);
    assert_eq!((summary.transitions, summary.completeness), (30, Completeness::Stopped(Limit::Time)));
}
