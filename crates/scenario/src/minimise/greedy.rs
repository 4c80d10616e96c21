//! A shorter counterexample out of a long one, without a search.
//!
//! Delta debugging over the schedule: without a thread, without a piece of it, with a thread's steps moved next to each
//! other. Each attempt is run: a step that has become impossible is passed over, and threads that have begun run to
//! their end if that is where the property is judged. What breaks the same property and ranks lower is the new best,
//! until no attempt improves it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use isolde_explore::Schedule;

use super::{absent, acting, rank};
use crate::backend::{Backend, Capabilities};
use crate::checker::Finding;
use crate::findings::Likeness;
use crate::oracle::Oracle;
use crate::property::At;
use crate::system::Choice;
use crate::threads::ThreadSet;
use crate::trouble::Trouble;

/// The run that was found, made smaller as far as that is easy.
pub(super) fn shorten<B: Backend>(system: B, found: Finding, like: Option<&Likeness>) -> Finding {
    let Capabilities { attempts_max, steps_max, .. } = system.capabilities();
    let (steps_left, runs_left) = (steps_max, attempts_max);
    let mut attempts = Attempts { system, like, oracles: BTreeMap::new(), steps_left, runs_left };
    let thrifty = attempts_max < usize::MAX;
    let is_better = |one: &Finding, other: &Finding| match thrifty {
        true => fewest_switches(one) < fewest_switches(other),
        false => rank(one) < rank(other),
    };
    let mut best = found;
    'again: while attempts.steps_left > 0 {
        for candidate in candidates(&best.schedule.steps, thrifty) {
            let Some(left) = attempts.runs_left.checked_sub(1) else { return best };
            attempts.runs_left = left;
            let tried = attempts.run(&candidate, &best).unwrap_or_else(|_: Trouble| {
                // The schedule that is known to work is shown.
                system.forget_trouble();
                None
            });
            if let Some(better) = tried.filter(|tried| is_better(tried, &best)) {
                best = better;
                continue 'again;
            }
        }
        break;
    }
    best
}

/// Lower is better where runs are few, and no search looks for the shortest one: threads, switches, steps.
fn fewest_switches(finding: &Finding) -> (usize, usize, usize) {
    let (threads, steps, switches) = rank(finding);
    (threads, switches, steps)
}

/// Schedules to try instead of one, the boldest first. Where runs are few, none with pieces left out: what a thread
/// does then, it does at the end.
fn candidates(steps: &[Choice], thrifty: bool) -> Vec<Vec<Choice>> {
    let acting = acting(steps);
    let threads = (0..128).rev().filter(|&thread| acting.contains(thread));
    let without = |thread: usize| steps.iter().copied().filter(|choice| choice.thread() != thread).collect();
    let mut candidates: Vec<Vec<Choice>> = threads.map(without).collect();
    let mut size = if thrifty { 0 } else { steps.len() / 2 };
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
struct Attempts<'l, B> {
    system: B,
    /// What a finding must be like, if not just any one of its property will do.
    like: Option<&'l Likeness>,
    /// By the threads that are left out.
    oracles: BTreeMap<ThreadSet, Oracle<B>>,
    steps_left: usize,
    runs_left: usize,
}

impl<B: Backend> Attempts<'_, B> {
    /// Follows `steps` as far as they are possible; what that breaks, if it is what `known` breaks.
    fn run(&mut self, steps: &[Choice], known: &Finding) -> Result<Option<Finding>, Trouble> {
        let property = known.property.on::<B>();
        let mut state = self.system.initial();
        let mut taken = Vec::new();
        for choice in steps {
            if self.enabled(self.system, &state).contains(choice)
                && let Some(finding) = self.step(&mut state, &mut taken, *choice, known)?
            {
                return Ok(Some(finding));
            }
        }
        if !known.at_end {
            return Ok(None);
        }
        let left_out = match property.needs_all_threads() {
            true => ThreadSet::default(),
            false => absent(self.system, &Schedule { steps: taken.clone() }, &state),
        };
        let system = self.system.without(left_out);
        loop {
            let enabled = self.enabled(system, &state);
            let goes_on = enabled.iter().find(|c| taken.last().is_some_and(|last| last.thread() == c.thread()));
            let Some(choice) = goes_on.or(enabled.first()) else { break };
            // A run that does not end, or not soon, is no improvement.
            if taken.len() > known.schedule.steps.len() {
                return Ok(None);
            }
            if let Some(finding) = self.step(&mut state, &mut taken, *choice, known)? {
                return Ok(Some(finding));
            }
        }
        let oracle = self.oracles.entry(left_out).or_insert_with(|| Oracle::new(system));
        let schedule = || Schedule { steps: taken.clone() };
        let at = At { system, state: &state, event: None, schedule: Some(&schedule) };
        let judged = property.at_end(&at, oracle, &mut || ControlFlow::Continue(()));
        let violation = judged.unwrap_or_default().into_iter().find(|violation| violation.name == known.violation.name);
        let (property, schedule) = (known.property, taken.into());
        let finding =
            violation.map(|violation| Finding { property, violation, schedule, at_end: true, absent: left_out });
        self.like(finding)
    }

    /// Takes one step; what that breaks.
    fn step(
        &mut self,
        state: &mut B::State,
        taken: &mut Vec<Choice>,
        choice: Choice,
        known: &Finding,
    ) -> Result<Option<Finding>, Trouble> {
        self.steps_left = self.steps_left.saturating_sub(1);
        let event = self.system.execute(state, &choice);
        self.system.trouble().map_or(Ok(()), Err)?;
        taken.push(choice);
        let at = At { system: self.system, state, event: Some(&event), schedule: None };
        let violations = known.property.on::<B>().at_state(&at)?.into_iter();
        let violation = violations.into_iter().find(|v| v.name == known.violation.name);
        let finding = violation.map(|violation| {
            let schedule = Schedule { steps: taken.clone() };
            let absent = absent(self.system, &schedule, state);
            Finding { property: known.property, violation, schedule, at_end: false, absent }
        });
        self.like(finding)
    }

    /// A finding, if it is of the kind that is wanted.
    fn like(&self, finding: Option<Finding>) -> Result<Option<Finding>, Trouble> {
        match (finding, self.like) {
            (Some(finding), Some(like)) => {
                let same = Likeness::of(self.system, &finding)? == *like;
                Ok(same.then_some(finding))
            }
            (finding, _) => Ok(finding),
        }
    }

    fn enabled(&self, system: B, state: &B::State) -> Vec<Choice> {
        let mut enabled = Vec::new();
        if self.steps_left > 0 {
            system.enabled(state, &mut enabled);
        }
        enabled
    }
}
