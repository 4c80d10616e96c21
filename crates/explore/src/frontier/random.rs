//! Random walks: from the start, any enabled step, until the run ends; then again.
//!
//! A walk depends on the seed and its own number only, so walk 17 is the same whatever the first sixteen met.

use super::{Frontier, Path, Trail};
use crate::System;
use isolde_digest::mix;

/// Runs left to draw, and the one under way.
pub(crate) struct Random<S: System> {
    seed: u64,
    runs_max: u64,
    runs_started: u64,
    chance: Chance,
    /// Where all runs start, with the steps enabled there.
    start: Option<(S::State, Vec<S::Step>)>,
    /// The next step of the run under way.
    chosen: Option<(S::State, S::Step)>,
    trail: Trail<S>,
}

impl<S: System> Random<S> {
    pub(crate) fn new(seed: u64, runs_max: u64) -> Self {
        Random {
            seed,
            runs_max,
            runs_started: 0,
            chance: Chance::default(),
            start: None,
            chosen: None,
            trail: Trail::default(),
        }
    }

    fn begin_run(&mut self) -> Option<(S::State, S::Step)> {
        let (state, steps) = self.start.as_ref()?;
        if self.runs_started == self.runs_max {
            return None;
        }
        self.chance = Chance::of_run(self.seed, self.runs_started);
        self.runs_started += 1;
        self.trail.truncate(0);
        Some((state.clone(), steps[self.chance.below(steps.len())].clone()))
    }
}

impl<S: System> Frontier<S> for Random<S> {
    const EXHAUSTIVE: bool = false;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        self.chosen.take().or_else(|| self.begin_run())
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.trail.push(step, event);
    }

    fn path(&self) -> Path<'_, S> {
        Path::Trail(&self.trail)
    }

    fn expand(&mut self, state: S::State, steps: &mut Vec<S::Step>) {
        if steps.is_empty() {
            return;
        }
        if self.start.is_none() {
            self.start = Some((state, std::mem::take(steps)));
        } else {
            let index = self.chance.below(steps.len());
            self.chosen = Some((state, steps.swap_remove(index)));
        }
    }

    fn pending(&self) -> usize {
        (self.runs_max - self.runs_started) as usize + usize::from(self.chosen.is_some())
    }

    fn explored(&mut self) -> Option<f64> {
        Some(share_of_runs(self.runs_started, self.runs_max, self.chosen.is_some()))
    }
}

/// The share of runs that are over.
pub(super) fn share_of_runs(started: u64, max: u64, under_way: bool) -> f64 {
    started.saturating_sub(u64::from(under_way)) as f64 / max.max(1) as f64
}

/// Random numbers: splitmix64, a counter whose values are mixed.
#[derive(Default)]
pub(super) struct Chance(u64);

impl Chance {
    /// The numbers of one run.
    pub(super) fn of_run(seed: u64, run: u64) -> Chance {
        Chance(mix(seed).wrapping_add(mix(run ^ 0x5851_f42d_4c95_7f2d)))
    }

    /// A number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The high half of the product is uniform up to bound / 2^64.
        ((u128::from(mix(self.0)) * bound as u128) >> 64) as usize
    }
}
