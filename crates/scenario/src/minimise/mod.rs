//! The counterexample that is shown.
//!
//! A search stops at the first violation it meets, and which that is depends on how it searches. What a reader gets
//! should not: he wants the simplest run that goes wrong, and the same one tomorrow. So once a violation is known, we
//! look for the best one there is,
//!
//! 1. with the fewest threads,
//! 2. of these with the fewest steps,
//! 3. of these with the fewest switches from one thread to another,
//! 4. of these the first that is met when the threads are tried in the order of the file.
//!
//! ```text
//!   found ──▶ greedy: parts left out or moved ──▶ search: one thread, all pairs, ... ──▶ which statements does it need?
//! ```
//!
//! The greedy part is quick and says how many threads are enough. The searches look at every set of fewer or as many
//! threads, breadth first with states matched ([`Strategy::Shortest`]), so they come to the same whatever was found
//! first. Only where that would be too many states does the result of the greedy part stand.
//!
//! # What counts as the same violation
//!
//! The property that was found broken, by its name. If it was found at the end of a run, then any property: there may
//! have been an earlier sign of it.
//!
//! # Threads that are left out
//!
//! A thread that is left out does not act at all; the schedule that is shown ends without it and is one of the original
//! file. For what is seen in a state (an error, a failed assertion, a deadlock, an invariant) that changes nothing.
//! The *serial outcome* is then that of the threads that did act: what they come to is compared with serial orders of
//! them alone. A `final` check is about the end of all threads, so for that none is left out.
//!
//! Statements cannot be left out of a schedule. Which of them the violation does not need is told beside it.
//!
//! # Back-ends that cannot compare states
//!
//! There the greedy part stands alone, with as many attempts as the back-end [grants](crate::Capabilities): each is a
//! run on a server.

mod greedy;
mod shortest;
mod statements;

use isolde_explore::Schedule;
#[cfg(doc)]
use isolde_explore::Strategy;
use isolde_sql::Span;

use crate::backend::{Backend, Fate};
use crate::checker::Finding;
use crate::findings::Likeness;
use crate::system::{Choice, ScenarioSystem};
use crate::threads::ThreadSet;

use shortest::{Budget, Wanted};

/// The best counterexample that breaks something, given one that does.
pub(crate) fn minimise<B: Backend>(system: B, found: Finding) -> Finding {
    let any = found.at_end && !found.property.on::<B>().needs_all_threads();
    let property = (!any).then(|| found.violation.name.clone());
    minimised(system, found, property, None)
}

/// The best one among those that are like it.
pub(crate) fn minimise_like<B: Backend>(system: B, found: Finding, like: &Likeness) -> Finding {
    let property = Some(found.violation.name.clone());
    minimised(system, found, property, Some(like))
}

fn minimised<B: Backend>(system: B, found: Finding, property: Option<String>, like: Option<&Likeness>) -> Finding {
    let mut budget = Budget::new(system);
    let known = greedy::shorten(system, found, like);
    if budget.is_spent() {
        return known;
    }
    if known.property.on::<B>().needs_all_threads() {
        let wanted = Wanted { property: property.as_deref(), like, steps_max: known.schedule.steps.len() };
        return budget.shortest(system, wanted).unwrap_or(known);
    }
    let enough = acting(&known.schedule.steps).len();
    let idle = idle(system);
    for size in 1..=enough {
        let steps_max = if size < enough { usize::MAX } else { known.schedule.steps.len() };
        let mut wanted = Wanted { property: property.as_deref(), like, steps_max };
        let mut best: Option<Finding> = None;
        for set in sets(system.threads(), size) {
            if budget.is_spent() {
                break;
            }
            let left_out = |thread: &usize| !set.contains(*thread) && !idle.contains(*thread);
            let absent = (0..system.threads()).filter(left_out).collect();
            let Some(finding) = budget.shortest(system.without(absent), wanted) else { continue };
            wanted.steps_max = finding.schedule.steps.len();
            best = Some(best.filter(|best| rank(best) <= rank(&finding)).unwrap_or(finding));
        }
        match best {
            Some(best) => return best,
            None if budget.is_spent() => return known,
            None => {}
        }
    }
    known
}

/// The statements that a counterexample can do without, all of them at once.
pub(crate) fn statements_not_needed(system: ScenarioSystem<'_>, shown: &Finding) -> Vec<Span> {
    statements::not_needed(system, shown)
}

/// The threads that do not act in a run that ends in `state`, although they could.
pub(crate) fn absent<B: Backend>(system: B, schedule: &Schedule<Choice>, state: &B::State) -> ThreadSet {
    let acts = acting(&schedule.steps);
    let running = (0..system.threads()).filter(|&thread| matches!(system.fate(state, thread), Fate::Running));
    running.filter(|&thread| !acts.contains(thread)).collect()
}

/// The threads that have ended before the first step: no statement of theirs is one. They cannot be left out, because a
/// schedule does not tell whether they are there.
fn idle<B: Backend>(system: B) -> ThreadSet {
    let start = system.initial();
    (0..system.threads()).filter(|&thread| !matches!(system.fate(&start, thread), Fate::Running)).collect()
}

/// The threads that act in a schedule.
fn acting(steps: &[Choice]) -> ThreadSet {
    steps.iter().map(|choice| choice.thread()).collect()
}

/// Lower is better: threads, steps, switches from one thread to another.
fn rank(finding: &Finding) -> (usize, usize, usize) {
    let steps = &finding.schedule.steps;
    let switches = steps.windows(2).filter(|pair| pair[0].thread() != pair[1].thread()).count();
    (acting(steps).len(), steps.len(), switches)
}

/// All sets of `size` threads out of `count`, those with the first threads of the file first.
fn sets(count: usize, size: usize) -> impl Iterator<Item = ThreadSet> {
    let mut next = (size <= count).then(|| (0..size).collect::<Vec<usize>>());
    std::iter::from_fn(move || {
        let members = next.take()?;
        // The last member that can move on takes those behind it along.
        if let Some(place) = (0..size).rev().find(|&place| members[place] < count - size + place) {
            let moved = members[place] + 1;
            next = Some([&members[..place], &(moved..moved + size - place).collect::<Vec<_>>()].concat());
        }
        Some(members.into_iter().collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_all_there_and_in_order() {
        let all = |count, size| sets(count, size).map(|set| format!("{set:?}")).collect::<Vec<_>>().join(" ");
        assert_eq!(all(3, 1), "{0} {1} {2}");
        assert_eq!(all(4, 2), "{0, 1} {0, 2} {0, 3} {1, 2} {1, 3} {2, 3}");
        assert_eq!(all(3, 3), "{0, 1, 2}");
        assert_eq!(all(2, 3), "");
        assert_eq!(sets(10, 4).count(), 210);
    }
}
