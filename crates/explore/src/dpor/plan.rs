//! Looking back over a run: each race could have come out the other way round.

use std::sync::Arc;

use isolde_digest::digest_of;

use super::node::Asleep;
use super::wakeup::{Branch, Planned, Tree, is_first};
use super::{Dpor, Reduction};
use crate::System;

impl<S: System> Dpor<'_, S> {
    /// At the end of a run: plants the reversal of every race in it.
    pub(super) fn look_back(&mut self) {
        for second in 0..self.moves.len() {
            for race in 0..self.moves[second].races.len() {
                let first = self.moves[second].races[race] as usize;
                self.tally.races += 1;
                let step = self.moves[second].step.clone();
                self.reverse(first, Some(second), step);
            }
        }
        for first in 0..self.moves.len() {
            for index in 0..self.moves[first].disabled.len() {
                let step = self.moves[first].disabled[index].clone();
                self.reverse(first, None, step);
            }
        }
    }

    /// Plants, before the move at `first`: all later moves that did not need it, then `step`, which is the move at
    /// `second` if it was made at all.
    fn reverse(&mut self, first: usize, second: Option<usize>, step: S::Step) {
        let apart: Vec<usize> = (first + 1..self.moves.len()).filter(|&m| !self.happens_before(first, m)).collect();
        match self.reduction {
            Reduction::Optimal => self.plant_sequence(first, &apart, second, step),
            Reduction::Source => self.plant_step(first, &apart, step),
        }
    }

    fn plant_sequence(&mut self, first: usize, apart: &[usize], second: Option<usize>, step: S::Step) {
        let node = self.nodes[first].clone();
        let thread = self.threads.of(self.system, &step);
        let mut sequence: Vec<Planned<S>> = apart.iter().map(|&m| self.planned(m)).collect();
        let mut guard = node.open();
        let open = &mut *guard;
        let mut asleep = node.sleep.iter().chain(&open.taken);
        // Cheap, and mostly enough: a step that sleeps can come first, whatever the last event is.
        if asleep.clone().any(|q| q.starts(self.system, &sequence) == Some(true)) || {
            sequence.is_empty() && asleep.clone().any(|q| q.step == step)
        } {
            return;
        }
        // An earlier run with this beginning may have come to the same; then it was planted, or need not be.
        let steps: Vec<&S::Step> = sequence.iter().map(|planned| &planned.step).chain([&step]).collect();
        if !open.considered.insert(digest_of(&steps)) {
            return;
        }
        let needed: Vec<bool> =
            apart.iter().map(|&m| second.is_some_and(|second| self.happens_before(m, second))).collect();
        let Some(event) = self.execute_apart(&node.state, &mut sequence, &needed, &step) else { return };
        sequence.push(Planned { step, thread, event });
        if asleep.any(|q| q.covers(self.system, &sequence)) {
            return;
        }
        open.todo.plant(self.system, sequence);
    }

    fn planned(&self, position: usize) -> Planned<S> {
        let m = &self.moves[position];
        Planned { step: m.step.clone(), thread: m.thread, event: m.event.clone() }
    }

    /// Executes a sequence and then `step`, from `state`; what the step does, if it is possible there.
    ///
    /// Moves of the sequence that are not possible are left out of it. So are those that take the step's chance away,
    /// unless they are `needed`, because they happened before it: the step could come before the others as well.
    fn execute_apart(
        &self,
        state: &S::State,
        sequence: &mut Vec<Planned<S>>,
        needed: &[bool],
        step: &S::Step,
    ) -> Option<Arc<S::Event>> {
        let mut state = state.clone();
        let mut enabled = Vec::new();
        self.system.enabled(&state, &mut enabled);
        // Before the thread's own last move in the sequence, another step is meant.
        let thread = self.system.thread(step);
        let own = sequence.iter().rposition(|planned| self.system.thread(&planned.step) == thread);
        let mut possible = enabled.contains(step);
        let mut left_out: Vec<Planned<S>> = Vec::new();
        let mut kept = Vec::with_capacity(sequence.len());
        for (index, planned) in sequence.drain(..).enumerate() {
            let needs = |other: &Planned<S>| {
                other.thread == planned.thread || self.system.dependent(&other.event, &planned.event)
            };
            if !enabled.contains(&planned.step) || left_out.iter().any(needs) {
                left_out.push(planned);
                continue;
            }
            let before = (possible && !needed[index] && own.is_none_or(|own| own < index)).then(|| state.clone());
            self.system.execute(&mut state, &planned.step);
            enabled.clear();
            self.system.enabled(&state, &mut enabled);
            let still = enabled.contains(step);
            match before {
                Some(before) if !still => {
                    state = before;
                    enabled.clear();
                    self.system.enabled(&state, &mut enabled);
                    left_out.push(planned);
                }
                _ => {
                    possible = still;
                    kept.push(planned);
                }
            }
        }
        *sequence = kept;
        possible.then(|| Arc::new(self.system.execute(&mut state, step)))
    }

    /// Plants a single step that leads towards the reversal, unless one is planted or was tried.
    fn plant_step(&mut self, first: usize, apart: &[usize], step: S::Step) {
        let node = self.nodes[first].clone();
        let sequence: Vec<Planned<S>> = apart.iter().map(|&m| self.planned(m)).collect();
        let mut candidates: Vec<S::Step> = (0..sequence.len())
            .filter(|&index| is_first(self.system, &sequence, index))
            .map(|index| sequence[index].step.clone())
            .filter(|step| node.enabled.contains(step))
            .collect();
        if candidates.is_empty() && node.enabled.contains(&step) {
            candidates.push(step);
        }
        let mut open = node.open();
        let known = |step: &S::Step| {
            node.sleep.iter().chain(&open.taken).any(|q| q.step == *step)
                || open.todo.branches().iter().any(|branch| branch.step == *step)
        };
        if candidates.iter().any(known) {
            return;
        }
        // Without a step that is sure to lead there, all of them.
        let planted = match candidates.into_iter().next() {
            Some(step) => vec![step],
            None => node.enabled.iter().filter(|step| !known(step)).cloned().collect(),
        };
        for step in planted {
            let thread = self.threads.of(self.system, &step);
            // Who else works here must know what a branch does before somebody has taken it.
            let event = self.crew.map(|_| Arc::new(self.system.execute(&mut node.state.clone(), &step)));
            open.todo.push(Branch { step, thread, event, below: Tree::default() });
        }
    }
}

impl<S: System> Asleep<S> {
    /// Whether the step can come before all of a sequence; `None` if that is up to what follows the sequence.
    fn starts(&self, system: &S, sequence: &[Planned<S>]) -> Option<bool> {
        let own = sequence.iter().position(|planned| planned.thread == self.thread);
        own.map(|index| sequence[index].step == self.step && is_first(system, sequence, index))
    }

    /// Whether all that the sequence leads to was explored after this step: it can come first, or does not disturb.
    fn covers(&self, system: &S, sequence: &[Planned<S>]) -> bool {
        self.starts(system, sequence)
            .unwrap_or_else(|| sequence.iter().all(|planned| !system.dependent(&self.event, &planned.event)))
    }
}
