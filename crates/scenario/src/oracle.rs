//! The serial oracle: what the threads come to if they run one after another.
//!
//! It needs no specification. Whoever wrote the threads had one run at a time in mind; if an interleaving comes to something
//! that no order of whole threads comes to, something happened that its author did not think of.
//!
//! A thread that was aborted and had no retry left takes part with the transactions that it did commit, which for most
//! threads means not at all. So there is a set of serial outcomes for each combination of how far the threads came;
//! nearly always that is the one in which all of them finished.

use std::collections::{BTreeMap, BTreeSet};

use isolde_explore::System;

use crate::client::Status;
use crate::outcome::{Generated, Outcome, generated, outcome};
use crate::system::{ScenarioSystem, State};

/// With more threads than this the orders are too many.
pub const SERIAL_THREADS_MAX: usize = 7;
/// A thread that takes more steps than this on its own is taken to run for ever.
const STEPS_MAX: usize = 200_000;

/// Knows the serial outcomes of a scenario.
pub(crate) struct Oracle<'a> {
    system: ScenarioSystem<'a>,
    generated: Generated,
    known: BTreeMap<Vec<usize>, Serial>,
}

/// The outcomes of all serial orders, each with an order that leads to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serial {
    pub(crate) outcomes: BTreeMap<Outcome, Vec<usize>>,
    /// Some thread did not end on its own, so that the outcomes are not all there are.
    pub(crate) endless: bool,
}

/// What the oracle says about the end of a run.
pub(crate) enum Judgement<'o> {
    /// This order of the threads comes to the same.
    Serial,
    /// No order does; this is what it came to, and these are what the orders come to.
    NotSerial(Box<Outcome>, &'o Serial),
    /// It cannot say, because this thread committed part of a statement before it was aborted.
    PartlyAborted(usize),
    /// It cannot say, because a thread does not end on its own.
    Endless,
}

impl<'a> Oracle<'a> {
    pub(crate) fn new(system: ScenarioSystem<'a>) -> Oracle<'a> {
        let generated = generated(system.scenario.database.catalog());
        // Serial is serial, whatever the size of a step.
        let system = ScenarioSystem { atomic: false, ..system };
        Oracle { system, generated, known: BTreeMap::new() }
    }

    /// Whether some serial order comes to the same as the run that ended in `state`.
    pub(crate) fn judge(&mut self, state: &State) -> Judgement<'_> {
        let threads = &self.system.scenario.threads;
        let partly = state
            .clients
            .iter()
            .zip(threads)
            .position(|(client, thread)| thread.autocommit && matches!(client.status, Status::Aborted(_)));
        if let Some(thread) = partly {
            return Judgement::PartlyAborted(thread);
        }
        let mut limits = vec![0; threads.len()];
        self.system.present().for_each(|t| limits[t] = state.clients[t].completed(&threads[t]));
        let observed = outcome(self.system.scenario, &self.generated, state, &limits);
        if !self.known.contains_key(&limits) {
            let serial = self.serial_outcomes(&limits);
            self.known.insert(limits.clone(), serial);
        }
        match &self.known[&limits] {
            serial if serial.outcomes.contains_key(&observed) => Judgement::Serial,
            serial if serial.endless => Judgement::Endless,
            serial => Judgement::NotSerial(Box::new(observed), serial),
        }
    }

    /// The outcomes of all orders of the threads, each running its first `limits` statements.
    pub(crate) fn serial_outcomes(&self, limits: &[usize]) -> Serial {
        let mut orders = Orders { oracle: self, limits, seen: BTreeSet::new(), serial: Serial::default() };
        orders.extend(&self.system.initial(), &mut Vec::new());
        orders.serial
    }
}

/// A walk through all serial orders that visits a state once for each set of threads that led to it.
struct Orders<'o, 'a> {
    oracle: &'o Oracle<'a>,
    limits: &'o [usize],
    seen: BTreeSet<(Vec<usize>, u128)>,
    serial: Serial,
}

impl Orders<'_, '_> {
    fn extend(&mut self, state: &State, order: &mut Vec<usize>) {
        let system = self.oracle.system;
        let mut ran = order.clone();
        ran.sort_unstable();
        if !system.digest(state).is_none_or(|digest| self.seen.insert((ran, digest))) {
            return;
        }
        let left: Vec<usize> = (0..self.limits.len()).filter(|t| self.limits[*t] > 0 && !order.contains(t)).collect();
        if left.is_empty() {
            let outcome = outcome(system.scenario, &self.oracle.generated, state, self.limits);
            self.serial.outcomes.entry(outcome).or_insert_with(|| order.clone());
        }
        for thread in left {
            let mut next = state.clone();
            if !system.run_alone(&mut next, thread, self.limits[thread], STEPS_MAX) {
                self.serial.endless = true;
                continue;
            }
            order.push(thread);
            self.extend(&next, order);
            order.pop();
        }
    }
}
