//! Probabilistic concurrency testing: runs by random priorities.
//!
//! Random walks switch at every step, and so hardly ever let one thread run far ahead of another. Here each thread gets
//! a random priority and the one with the highest that can act does, so runs are nearly serial; but at a few points,
//! drawn by chance, the thread whose turn it is falls behind all others. A mistake that needs `d` events to happen in a
//! certain order is met with probability at least 1 / (n k^(d-1)) by a run of n threads and k steps with d - 1 such
//! points, whatever else happens (Burckhardt, Kothari, Musuvathi, Nagarakatte: ASPLOS 2010).

use super::random::{Chance, share_of_runs};
use super::{Frontier, Path, Trail};
use crate::System;
use std::collections::BTreeMap;

/// Runs left to draw, and the one under way.
pub(crate) struct Pct<'a, S: System> {
    system: &'a S,
    seed: u64,
    runs_max: u64,
    runs_started: u64,
    /// How many events must be in order for the mistake looked for.
    bug_depth: u64,
    chance: Chance,
    /// By thread; the highest acts. Those that have fallen behind are below the others.
    priorities: BTreeMap<u64, u64>,
    /// Depths at which a thread falls behind.
    changes: Vec<usize>,
    /// The longest run so far: changes are drawn within it.
    length: usize,
    start: Option<(S::State, Vec<S::Step>)>,
    chosen: Option<(S::State, S::Step)>,
    trail: Trail<S>,
}

/// Where the priorities begin that threads get at first; below are those of threads that have fallen behind.
const FIRST: u64 = 1 << 32;

impl<'a, S: System> Pct<'a, S> {
    pub(crate) fn new(system: &'a S, seed: u64, runs_max: u64, bug_depth: u64) -> Self {
        Pct {
            system,
            seed,
            runs_max,
            runs_started: 0,
            bug_depth,
            chance: Chance::default(),
            priorities: BTreeMap::new(),
            changes: Vec::new(),
            length: 0,
            start: None,
            chosen: None,
            trail: Trail::default(),
        }
    }

    fn begin_run(&mut self) -> Option<(S::State, S::Step)> {
        if self.runs_started == self.runs_max {
            return None;
        }
        let (state, mut steps) = self.start.clone()?;
        self.chance = Chance::of_run(self.seed, self.runs_started);
        self.runs_started += 1;
        self.trail.truncate(0);
        self.priorities.clear();
        let length = self.length.max(1);
        self.changes = (1..self.bug_depth).map(|_| self.chance.below(length)).collect();
        let step = self.choose(&mut steps)?;
        Some((state, step))
    }

    /// Takes one of the steps: of the thread with the highest priority, once those have fallen behind that do so here.
    fn choose(&mut self, steps: &mut Vec<S::Step>) -> Option<S::Step> {
        let depth = self.trail.steps.len();
        let falls = self.changes.iter().filter(|&&change| change == depth).count();
        for _ in 0..falls {
            let thread = self.highest(steps)?;
            let lowest = self.priorities.values().copied().min().unwrap_or(FIRST).min(FIRST);
            self.priorities.insert(thread, lowest.saturating_sub(1));
        }
        let thread = self.highest(steps)?;
        let own: Vec<usize> = (0..steps.len()).filter(|&i| self.system.thread(&steps[i]) == thread).collect();
        let index = own[self.chance.below(own.len())];
        Some(steps.swap_remove(index))
    }

    fn highest(&mut self, steps: &[S::Step]) -> Option<u64> {
        for step in steps {
            let (thread, chance) = (self.system.thread(step), &mut self.chance);
            self.priorities.entry(thread).or_insert_with(|| FIRST + chance.below(1 << 30) as u64);
        }
        let threads = steps.iter().map(|step| self.system.thread(step));
        threads.max_by_key(|thread| self.priorities.get(thread).copied())
    }
}

impl<S: System> Frontier<S> for Pct<'_, S> {
    const EXHAUSTIVE: bool = false;

    fn next(&mut self) -> Option<(S::State, S::Step)> {
        self.chosen.take().or_else(|| self.begin_run())
    }

    fn enter(&mut self, step: S::Step, event: S::Event) {
        self.trail.push(step, event);
        self.length = self.length.max(self.trail.steps.len());
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
            self.chosen = self.choose(steps).map(|step| (state, step));
        }
    }

    fn pending(&self) -> usize {
        (self.runs_max - self.runs_started) as usize + usize::from(self.chosen.is_some())
    }

    fn explored(&mut self) -> Option<f64> {
        Some(share_of_runs(self.runs_started, self.runs_max, self.chosen.is_some()))
    }
}
