//! A shorter counterexample out of a long one, without a search.
//!
//! Delta debugging over the schedule: without a thread, without a piece of it, with a thread's steps moved next to each
//! other. Each attempt is run: a step that has become impossible is passed over, and threads that have begun run to their
//! end if that is where the property is judged. What breaks the same property and ranks lower is the new best, until no
//! attempt improves it.

use std::collections::BTreeMap;

use isolde_explore::{Schedule, System};

use super::{absent, acting, rank};
use crate::check::Finding;
use crate::oracle::Oracle;
use crate::property::At;
use crate::system::{Choice, Event, ScenarioSystem, State};
use crate::threads::ThreadSet;

/// Steps executed in all attempts together.
const STEPS_MAX: usize = 100_000;

/// The run that was found, made smaller as far as that is easy.
pub(super) fn shorten(system: ScenarioSystem<'_>, found: Finding) -> Finding {
    let mut attempts = Attempts { system, oracles: BTreeMap::new(), steps_left: STEPS_MAX };
    let mut best = found;
    'again: while attempts.steps_left > 0 {
        for candidate in candidates(&best.schedule.steps) {
            if let Some(better) = attempts.run(&candidate, &best).filter(|f| rank(f) < rank(&best)) {
                best = better;
                continue 'again;
            }
        }
        break;
    }
    best
}

/// Schedules to try instead of one, the boldest first.
fn candidates(steps: &[Choice]) -> Vec<Vec<Choice>> {
    let acting = acting(steps);
    let threads = (0..128).rev().filter(|&thread| acting.contains(thread));
    let without = |thread: usize| steps.iter().copied().filter(|choice| choice.thread() != thread).collect();
    let mut candidates: Vec<Vec<Choice>> = threads.map(without).collect();
    let mut size = steps.len() / 2;
    while size > 0 {
        let pieces = (0..steps.len()).step_by(size);
        candidates.extend(pieces.map(|at| [&steps[..at], &steps[(at + size).min(steps.len())..]].concat()));
        size /= 2;
    }
    candidates.extend(moved(steps));
    candidates
}

/// The schedule with one block of a thread moved to that thread's next one, or the other way round.
fn moved(steps: &[Choice]) -> Vec<Vec<Choice>> {
    let blocks: Vec<&[Choice]> = steps.chunk_by(|a, b| a.thread() == b.thread()).collect();
    let mut moved = Vec::new();
    for (first, block) in blocks.iter().enumerate() {
        let later = blocks[first + 1..].iter().position(|other| other[0].thread() == block[0].thread());
        let Some(second) = later.map(|distance| first + 1 + distance) else { continue };
        let (before, between, after) = (&blocks[..first], &blocks[first + 1..second], &blocks[second + 1..]);
        let pair = [*block, blocks[second]].concat();
        let join = |a: &[&[Choice]], b: &[&[Choice]]| [a.concat(), pair.clone(), b.concat()].concat();
        moved.push(join(before, &[between, after].concat()));
        moved.push(join(&[before, between].concat(), after));
    }
    moved
}

/// Schedules that are tried.
struct Attempts<'a> {
    system: ScenarioSystem<'a>,
    /// By the threads that are left out.
    oracles: BTreeMap<ThreadSet, Oracle<'a>>,
    steps_left: usize,
}

impl Attempts<'_> {
    /// Follows `steps` as far as they are possible; what that breaks, if it is what `known` breaks.
    fn run(&mut self, steps: &[Choice], known: &Finding) -> Option<Finding> {
        let mut state = self.system.initial();
        let mut taken = Vec::new();
        for choice in steps {
            if self.enabled(self.system, &state).contains(choice)
                && let Some(finding) = self.step(&mut state, &mut taken, *choice, known)
            {
                return Some(finding);
            }
        }
        if !known.at_end {
            return None;
        }
        let left_out = match known.property.needs_all_threads() {
            true => ThreadSet::default(),
            false => absent(&Schedule { steps: taken.clone() }, &state),
        };
        let system = ScenarioSystem { absent: left_out, ..self.system };
        loop {
            let enabled = self.enabled(system, &state);
            let goes_on = enabled.iter().find(|c| taken.last().is_some_and(|last| last.thread() == c.thread()));
            let Some(choice) = goes_on.or(enabled.first()) else { break };
            // A run that does not end, or not soon, is no improvement.
            if taken.len() > known.schedule.steps.len() {
                return None;
            }
            if let Some(finding) = self.step(&mut state, &mut taken, *choice, known) {
                return Some(finding);
            }
        }
        let oracle = self.oracles.entry(left_out).or_insert_with(|| Oracle::new(system));
        let at = At { system, state: &state, event: None };
        let violation = known.property.at_end(&at, oracle).ok()??;
        let (property, schedule) = (known.property, taken.into());
        let same = violation.name == known.violation.name;
        same.then_some(Finding { property, violation, schedule, at_end: true, absent: left_out })
    }

    /// Takes one step; what that breaks.
    fn step(&mut self, state: &mut State, taken: &mut Vec<Choice>, choice: Choice, known: &Finding) -> Option<Finding> {
        self.steps_left = self.steps_left.saturating_sub(1);
        let event: Event = self.system.execute(state, &choice);
        taken.push(choice);
        let at = At { system: self.system, state, event: Some(&event) };
        let violation = known.property.at_state(&at).filter(|v| v.name == known.violation.name)?;
        let schedule = Schedule { steps: taken.clone() };
        let absent = absent(&schedule, state);
        Some(Finding { property: known.property, violation, schedule, at_end: false, absent })
    }

    fn enabled(&self, system: ScenarioSystem<'_>, state: &State) -> Vec<Choice> {
        let mut enabled = Vec::new();
        if self.steps_left > 0 {
            system.enabled(state, &mut enabled);
        }
        enabled
    }
}
