//! What the search loop itself costs: systems whose steps cost next to nothing.
//!
//! `cargo bench -p isolde-explore`; the rate is steps per second, so 10 M items/s are 100 ns per step.

use divan::Bencher;
use divan::counter::ItemsCount;
use isolde_explore::{Limits, Matching, Search, Strategy, System, Visit, digest_of, on_leaf};
use std::ops::ControlFlow::Continue;

fn main() {
    divan::main();
}

/// Four threads of six steps, a state of four bytes.
struct Threads;

impl System for Threads {
    type State = [u8; 4];
    type Step = u8;
    type Event = u8;

    fn initial(&self) -> [u8; 4] {
        [0; 4]
    }

    fn enabled(&self, state: &[u8; 4], steps: &mut Vec<u8>) {
        steps.extend((0..4).filter(|&thread| state[usize::from(thread)] < 6));
    }

    fn execute(&self, state: &mut [u8; 4], &thread: &u8) -> u8 {
        state[usize::from(thread)] += 1;
        thread
    }

    fn digest(&self, state: &[u8; 4]) -> Option<u128> {
        Some(digest_of(state))
    }
}

fn measure(bencher: Bencher, search: Search) {
    let run = || search.run(&Threads, &mut on_leaf(|_: &Visit<Threads>| Continue(())));
    bencher.counter(ItemsCount::new(run().transitions)).bench(run);
}

#[divan::bench]
fn depth_first_stateless(bencher: Bencher) {
    let limits = Limits { states_max: Some(1_000_000), ..Limits::default() };
    measure(bencher, Search { limits, ..Search::default() });
}

#[divan::bench]
fn depth_first_stateful(bencher: Bencher) {
    measure(bencher, Search { matching: Matching::Digest, ..Search::default() });
}

#[divan::bench]
fn breadth_first_stateful(bencher: Bencher) {
    measure(bencher, Search { strategy: Strategy::Breadth, matching: Matching::Digest, ..Search::default() });
}

#[divan::bench]
fn random_walks(bencher: Bencher) {
    measure(bencher, Search { strategy: Strategy::Random { seed: 1, runs: 10_000 }, ..Search::default() });
}
