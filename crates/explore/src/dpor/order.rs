//! What happens before what, and which events race.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::Dpor;
use crate::System;

/// For each thread, how many moves of the path to look at to find its last event that happens before: positions plus
/// one.
pub(super) type Clock = SmallVec<[u32; 8]>;

/// A step on the path, and how it relates to those before it.
pub(crate) struct Move<S: System> {
    pub(super) step: S::Step,
    pub(super) thread: usize,
    pub(crate) event: Arc<S::Event>,
    /// What happens before it, and itself.
    pub(super) clock: Clock,
    /// Positions of the moves that it races with, and that it could come before.
    pub(super) races: SmallVec<[u32; 4]>,
    /// Steps of other threads that could be taken before it, and no longer after it.
    pub(super) disabled: Vec<S::Step>,
}

/// The threads seen so far: small numbers for whatever the system calls them, the same ones for all who work on a
/// search.
#[derive(Clone, Default)]
pub(super) struct Threads {
    /// Those that we have met.
    known: Vec<u64>,
    all: Arc<Mutex<Vec<u64>>>,
}

impl Threads {
    pub(super) fn of<S: System>(&mut self, system: &S, step: &S::Step) -> usize {
        let thread = system.thread(step);
        self.known.iter().position(|&t| t == thread).unwrap_or_else(|| self.meet(thread))
    }

    fn meet(&mut self, thread: u64) -> usize {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.iter().position(|&t| t == thread).unwrap_or_else(|| {
            all.push(thread);
            all.len() - 1
        });
        self.known.clone_from(&all);
        number
    }
}

/// Whether the move at `position`, of `thread`, is at or before what a clock has seen.
fn has_seen(clock: &Clock, thread: usize, position: usize) -> bool {
    clock.get(thread).is_some_and(|&seen| seen as usize > position)
}

fn see(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

impl<S: System> Dpor<'_, S> {
    /// Whether one move of the path happens before another, or is the same.
    pub(super) fn happens_before(&self, first: usize, second: usize) -> bool {
        has_seen(&self.moves[second].clock, self.moves[first].thread, first)
    }

    /// What happens before an event that ends the path, and which moves it races with.
    pub(super) fn order(&self, step: &S::Step, thread: usize, event: &S::Event) -> (Clock, SmallVec<[u32; 4]>) {
        let position = self.moves.len();
        let own = self.moves.iter().rposition(|m| m.thread == thread);
        let mut clock = own.map_or_else(Clock::new, |own| self.moves[own].clock.clone());
        let enabling = self.enabling(step, own.map_or(0, |own| own + 1));
        let mut races = SmallVec::new();
        for (index, earlier) in self.moves.iter().enumerate().rev() {
            if has_seen(&clock, earlier.thread, index) {
                continue;
            }
            let enables = enabling == Some(index);
            if !enables && !self.system.dependent(&earlier.event, event) {
                continue;
            }
            // What had to happen for the step to be possible cannot be made to wait for it.
            let needed = enables || enabling.is_some_and(|by| self.happens_before(index, by));
            if !needed {
                races.push(index as u32);
            }
            see(&mut clock, &earlier.clock);
        }
        if clock.len() <= thread {
            clock.resize(thread + 1, 0);
        }
        clock[thread] = position as u32 + 1;
        (clock, races)
    }

    /// The move that made a step possible, if it was not, since its thread last moved.
    fn enabling(&self, step: &S::Step, since: usize) -> Option<usize> {
        (since..self.moves.len()).rev().find(|&index| !self.nodes[index].enabled.contains(step))
    }

    /// Notes what the last move took the chance from, now that the steps possible after it are known.
    pub(super) fn note_disabled(&mut self, enabled: &[S::Step]) {
        let Some(depth) = self.moves.len().checked_sub(1) else { return };
        let thread = self.moves[depth].thread;
        let gone = self.nodes[depth].enabled.iter().filter(|step| !enabled.contains(step)).cloned();
        let mut disabled: Vec<S::Step> = gone.collect();
        disabled.retain(|step| self.threads.of(self.system, step) != thread);
        if let Some(last) = Arc::get_mut(&mut self.moves[depth]) {
            last.disabled = disabled;
        }
    }
}
