//! The serial oracle: what the threads come to if they run one after another.
//!
//! It needs no specification. Whoever wrote the threads had one run at a time in mind; if an interleaving comes to something
//! that no order of whole threads comes to, something happened that its author did not think of.
//!
//! A thread that was aborted and had no retry left takes part with the transactions that it did commit, which for most
//! threads means not at all. So there is a set of serial outcomes for each combination of how far the threads came;
//! nearly always that is the one in which all of them finished.
//!
//! Where it cannot be known which part of a thread counts ([`Completed::Unknown`]), or what the outcome of a thread alone
//! is, the oracle does not decide.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_explore::Limit;

use crate::backend::{Alone, Backend, Completed};
use crate::outcome::Outcome;
use crate::trouble::Trouble;

/// With more threads than this the orders are too many.
pub const SERIAL_THREADS_MAX: usize = 7;

/// Asked before each thread that is run: whether to stop, and why.
pub(crate) type Watch<'w> = &'w mut dyn FnMut() -> ControlFlow<Limit>;

/// Knows the serial outcomes of the threads of a back-end.
pub(crate) struct Oracle<B> {
    system: B,
    known: BTreeMap<Vec<usize>, Serial>,
}

/// The outcomes of all serial orders, each with an order that leads to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serial {
    pub(crate) outcomes: BTreeMap<Outcome, Vec<usize>>,
    /// A thread that did not end on its own, so that the outcomes are not all there are.
    pub(crate) endless: Option<usize>,
    /// A thread that waits in some order although no other one acts: that order is none.
    pub(crate) waits: Option<usize>,
}

/// What the oracle says about the end of a run.
pub(crate) enum Judgement<'o> {
    /// Some order of the threads has the same outcome.
    Serial,
    /// No order does; this is what it came to, and these are what the orders come to.
    NotSerial(Box<Outcome>, &'o Serial),
    /// It cannot say, because this thread has committed something that cannot be run by itself.
    Partly(usize),
    /// It cannot say, because this thread does not end on its own.
    Endless(usize),
    /// It cannot say, because there is no order in which no thread waits; this one does.
    Waits(usize),
    /// It was stopped.
    Stopped(Limit),
}

impl<B: Backend> Oracle<B> {
    pub(crate) fn new(system: B) -> Oracle<B> {
        Oracle { system, known: BTreeMap::new() }
    }

    /// Whether some serial order comes to the same as the run that ended in `state`.
    pub(crate) fn judge(&mut self, state: &B::State, watch: Watch<'_>) -> Result<Judgement<'_>, Trouble> {
        let mut limits = vec![0; self.system.threads()];
        for thread in self.system.present() {
            match self.system.completed(state, thread) {
                Completed::Statements(count) => limits[thread] = count,
                Completed::Unknown => return Ok(Judgement::Partly(thread)),
            }
        }
        let observed = self.system.outcome(state, &limits)?;
        if !self.known.contains_key(&limits) {
            match self.serial_outcomes(&limits, watch)? {
                ControlFlow::Continue(serial) => drop(self.known.insert(limits.clone(), serial)),
                ControlFlow::Break(limit) => return Ok(Judgement::Stopped(limit)),
            }
        }
        let serial = &self.known[&limits];
        Ok(match (serial.endless, serial.waits) {
            _ if serial.outcomes.contains_key(&observed) => Judgement::Serial,
            (Some(thread), _) => Judgement::Endless(thread),
            (None, Some(thread)) if serial.outcomes.is_empty() => Judgement::Waits(thread),
            _ => Judgement::NotSerial(Box::new(observed), serial),
        })
    }

    /// The outcomes of all orders of the threads, each running its first `limits` statements.
    pub(crate) fn serial_outcomes(
        &self,
        limits: &[usize],
        watch: Watch<'_>,
    ) -> Result<ControlFlow<Limit, Serial>, Trouble> {
        let serial = Serial::default();
        let mut orders = Orders { system: self.system, limits, watch, seen: BTreeSet::new(), serial };
        let walked = orders.extend(&self.system.initial(), &mut Vec::new())?;
        Ok(walked.map_continue(|()| orders.serial))
    }
}

/// A walk through all serial orders that visits a state once for each set of threads that led to it.
struct Orders<'o, B> {
    system: B,
    limits: &'o [usize],
    watch: Watch<'o>,
    seen: BTreeSet<(Vec<usize>, u128)>,
    serial: Serial,
}

impl<B: Backend> Orders<'_, B> {
    fn extend(&mut self, state: &B::State, order: &mut Vec<usize>) -> Result<ControlFlow<Limit>, Trouble> {
        let mut ran = order.clone();
        ran.sort_unstable();
        if !self.system.digest(state).is_none_or(|digest| self.seen.insert((ran, digest))) {
            return Ok(ControlFlow::Continue(()));
        }
        let left: Vec<usize> = (0..self.limits.len()).filter(|t| self.limits[*t] > 0 && !order.contains(t)).collect();
        if left.is_empty() {
            let outcome = self.system.outcome(state, self.limits)?;
            self.serial.outcomes.entry(outcome).or_insert_with(|| order.clone());
        }
        for thread in left {
            if let ControlFlow::Break(limit) = (self.watch)() {
                return Ok(ControlFlow::Break(limit));
            }
            let mut next = state.clone();
            match self.system.run_alone(&mut next, thread, self.limits[thread])? {
                Alone::Through => {}
                Alone::Endless => {
                    self.serial.endless.get_or_insert(thread);
                    continue;
                }
                Alone::Waits => {
                    self.serial.waits.get_or_insert(thread);
                    continue;
                }
            }
            order.push(thread);
            let walked = self.extend(&next, order)?;
            order.pop();
            if walked.is_break() {
                return Ok(walked);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
