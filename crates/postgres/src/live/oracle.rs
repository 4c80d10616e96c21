//! The serial oracle: what the threads come to if they run one after another, found out by letting them.
//!
//! A thread that was aborted and did not try again takes no part: what the others come to without it is compared.

use std::collections::BTreeMap;

use super::{Ending, Outcome, Stage, Standing};
use crate::Trouble;

/// With more threads than this the orders are too many to be run.
pub(super) const THREADS_MAX: usize = 5;
/// A thread that takes more steps than this on its own is taken to run for ever.
const STEPS_MAX: usize = 10_000;

/// What the orders of some threads come to, each outcome with an order that leads to it; or why that cannot be known.
type Orders = Result<Vec<(Outcome, Vec<usize>)>, String>;

/// Knows what serial orders come to.
#[derive(Default)]
pub(super) struct Oracle {
    known: BTreeMap<Vec<usize>, Orders>,
}

/// The threads whose work counts: all but those that were aborted.
pub(super) fn members(standings: &[Standing]) -> Vec<usize> {
    let aborted = |standing: &Standing| matches!(standing, Standing::Ended(Ending::Aborted(_)));
    (0..standings.len()).filter(|&thread| !aborted(&standings[thread])).collect()
}

/// What a run came to, as far as these threads are concerned.
pub(super) fn of_members(outcome: Outcome, members: &[usize]) -> Outcome {
    let threads = outcome.threads.into_iter().enumerate();
    let threads = threads.map(|(thread, lines)| if members.contains(&thread) { lines } else { Vec::new() });
    Outcome { threads: threads.collect(), tables: outcome.tables }
}

impl Oracle {
    /// The outcomes of all orders of these threads, each with an order that leads to it. The inner error is a doubt.
    pub(super) fn serial(&mut self, stage: &mut dyn Stage, members: &[usize]) -> Result<&Orders, Trouble> {
        if !self.known.contains_key(members) {
            let outcomes = all_orders(stage, members)?;
            self.known.insert(members.to_vec(), outcomes);
        }
        Ok(&self.known[members])
    }
}

fn all_orders(stage: &mut dyn Stage, members: &[usize]) -> Result<Orders, Trouble> {
    let mut outcomes: Vec<(Outcome, Vec<usize>)> = Vec::new();
    for order in permutations(members) {
        stage.restart()?;
        for &thread in &order {
            if let Some(doubt) = run_alone(stage, thread)? {
                return Ok(Err(doubt));
            }
        }
        let outcome = of_members(stage.outcome()?, members);
        if !outcomes.iter().any(|(known, _)| *known == outcome) {
            outcomes.push((outcome, order));
        }
    }
    Ok(Ok(outcomes))
}

/// Lets a thread run to its end; why that is not possible, otherwise.
fn run_alone(stage: &mut dyn Stage, thread: usize) -> Result<Option<String>, Trouble> {
    for _ in 0..STEPS_MAX {
        match stage.standing(thread) {
            Standing::Ended(_) => return Ok(None),
            Standing::Ready(_) => {}
            Standing::Waiting(_) => {
                let name = &stage.threads()[thread];
                return Ok(Some(format!("the serial outcome is not checked: {name} waits although it runs alone")));
            }
        }
        stage.step(thread)?;
    }
    let name = &stage.threads()[thread];
    Ok(Some(format!("the serial outcome is not checked: {name} does not end when it runs alone")))
}

/// All orders, the given one first.
fn permutations(members: &[usize]) -> Vec<Vec<usize>> {
    if members.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, &first) in members.iter().enumerate() {
        let mut rest = members.to_vec();
        rest.remove(index);
        all.extend(permutations(&rest).into_iter().map(|order| [vec![first], order].concat()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_once() {
        assert_eq!(permutations(&[0, 2]), [[0, 2], [2, 0]]);
        assert_eq!(permutations(&[0, 1, 2]).len(), 6);
    }
}
