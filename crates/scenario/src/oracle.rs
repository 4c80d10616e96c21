//! The serial oracle: what the threads come to if they run one after another.
//!
//! It needs no specification. Whoever wrote the threads had one run at a time in mind; if an interleaving comes to
//! something that no order of whole threads comes to, something happened that its author did not think of.
//!
//! A thread that was aborted and had no retry left takes part with the transactions that it did commit, which for most
//! threads means not at all. So there is a set of serial outcomes for each combination of how far the threads came;
//! nearly always that is the one in which all of them finished.
//!
//! Generated values do not make a run another one. Where no serial order has the outcome of a run that drew some, the
//! run and the serial orders are repeated with other generators, and compared [up to renaming](crate::renaming).
//!
//! What is compared is the [degree](crate::file::SerialCheck) that the user has chosen. Answers are compared first:
//! what `strict` accepts, `effects` accepts. Where only one of the two accepts a run, the answer to the user says so.
//!
//! Where time may pass, it is an input: in a serial order each thread sends its statements at the times at which it
//! sent them in the run ([`crate::clock`] says why).
//!
//! Where it cannot be known which part of a thread counts ([`Completed::Unknown`]), or what the outcome of a thread
//! alone is, the oracle does not decide.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_explore::{Limit, Schedule, System};
use isolde_sql::Span;

use crate::backend::{Alone, Backend, Completed};
use crate::clock::{Pace, Way};
use crate::file::SerialCheck;
use crate::names;
use crate::outcome::Outcome;
use crate::system::Choice;
use crate::trouble::Trouble;

/// With more threads than this the orders are too many.
pub const SERIAL_THREADS_MAX: usize = 7;

/// Asked before each thread that is run: whether to stop, and why.
pub(crate) type Watch<'w> = &'w mut dyn FnMut() -> ControlFlow<Limit>;

/// Knows the serial outcomes of the threads of a back-end.
pub(crate) struct Oracle<B> {
    system: B,
    known: BTreeMap<(Degree, Vec<usize>, Pace), Serial>,
    /// The same up to renaming, by the number of the other generators.
    renamed: BTreeMap<(Degree, usize, Vec<usize>, Pace), Serial>,
    /// What was assumed when runs were accepted, as warnings to the user.
    pub(crate) notes: BTreeSet<String>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Degree {
    /// Every answer.
    Answers,
    /// [Effects](crate::effects).
    Effects,
}

impl Degree {
    fn outcome<B: Backend>(self, system: B, state: &B::State, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        match self {
            Degree::Answers => system.outcome(state, limits).map(Some),
            Degree::Effects => system.effects(state, limits),
        }
    }

    fn beside<B: Backend>(self, system: B, pair: (&B::State, &B::State), limits: &[usize]) -> Option<Outcome> {
        match self {
            Degree::Answers => system.outcome_beside(pair.0, pair.1, limits),
            Degree::Effects => system.effects_beside(pair.0, pair.1, limits),
        }
    }
}

/// A run that is judged: where it ended, and how it can be repeated, if that is known.
struct Ended<'r, B: Backend> {
    state: &'r B::State,
    schedule: Option<&'r dyn Fn() -> Schedule<Choice>>,
    /// When its threads sent their statements. Serial orders send them then.
    pace: Pace,
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
    NotSerial {
        observed: Box<Outcome>,
        serial: &'o Serial,
        /// Its effects are those of an order.
        by_effects: bool,
    },
    /// It cannot say, because this thread has committed something that cannot be run by itself.
    Partly(usize),
    /// It cannot say, because this thread does not end on its own.
    Endless(usize),
    /// It cannot say, because there is no order in which no thread waits; this one does.
    Waits(usize),
    /// It was stopped.
    Stopped(Limit),
}

/// So many threads of those that gave up are left out in all combinations.
const GAVE_UP_MAX: usize = 12;

impl<B: Backend> Oracle<B> {
    pub(crate) fn new(system: B) -> Oracle<B> {
        Oracle { system, known: BTreeMap::new(), renamed: BTreeMap::new(), notes: BTreeSet::new() }
    }

    /// Whether some serial order comes to the same as the run that ended in `state`. The run can be repeated if its
    /// schedule is known.
    pub(crate) fn judge(
        &mut self,
        state: &B::State,
        schedule: Option<&dyn Fn() -> Schedule<Choice>>,
        watch: Watch<'_>,
    ) -> Result<Judgement<'_>, Trouble> {
        let mut limits = vec![0; self.system.threads()];
        for thread in self.system.present() {
            match self.system.completed(state, thread) {
                Completed::Statements(count) => limits[thread] = count,
                Completed::Unknown => return Ok(Judgement::Partly(thread)),
            }
        }
        let ended = Ended { state, schedule, pace: self.system.pace(state) };
        match self.is_serial(Degree::Answers, &ended, &limits, watch)? {
            ControlFlow::Continue(true) => return Ok(Judgement::Serial),
            ControlFlow::Continue(false) => {}
            ControlFlow::Break(limit) => return Ok(Judgement::Stopped(limit)),
        }
        let by_effects = match self.has_serial_effects(&ended, &limits, watch)? {
            ControlFlow::Continue(by_effects) => by_effects,
            ControlFlow::Break(limit) => return Ok(Judgement::Stopped(limit)),
        };
        let by_degree = self.system.serial() == SerialCheck::Effects;
        if let Some(left_out) = by_effects.as_ref().filter(|_| by_degree) {
            self.note(&ended, &limits, left_out)?;
            return Ok(Judgement::Serial);
        }
        let effects = if by_degree { Degree::Effects.outcome(self.system, state, &limits)? } else { None };
        let (degree, observed) = match effects {
            Some(observed) => (Degree::Effects, observed),
            None => (Degree::Answers, self.system.outcome(state, &limits)?),
        };
        let serial = &self.known[&(degree, limits, ended.pace)];
        Ok(match (serial.endless, serial.waits) {
            (Some(thread), _) => Judgement::Endless(thread),
            (None, Some(thread)) if serial.outcomes.is_empty() => Judgement::Waits(thread),
            _ => Judgement::NotSerial { observed: Box::new(observed), serial, by_effects: by_effects.is_some() },
        })
    }

    /// The threads without which the effects are those of a serial order: of those that gave up, as few as possible;
    /// `None` if there is no such order.
    fn has_serial_effects(
        &mut self,
        ended: &Ended<'_, B>,
        limits: &[usize],
        watch: Watch<'_>,
    ) -> Result<ControlFlow<Limit, Option<Vec<usize>>>, Trouble> {
        let mut gave_up = Vec::new();
        for thread in self.system.present().filter(|&thread| limits[thread] > 0) {
            if self.system.gave_up(ended.state, thread)? {
                gave_up.push(thread);
            }
        }
        // Of more threads not even the orders could be tried.
        gave_up.truncate(GAVE_UP_MAX);
        let mut subsets: Vec<u32> = (0..1u32 << gave_up.len()).collect();
        subsets.sort_by_key(|subset| subset.count_ones());
        for subset in subsets {
            let left_out = gave_up.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            let left_out: Vec<usize> = left_out.map(|(_, &thread)| thread).collect();
            let mut limits = limits.to_vec();
            left_out.iter().for_each(|&thread| limits[thread] = 0);
            match self.is_serial(Degree::Effects, ended, &limits, watch)? {
                ControlFlow::Continue(true) => return Ok(ControlFlow::Continue(Some(left_out))),
                ControlFlow::Continue(false) => {}
                ControlFlow::Break(limit) => return Ok(ControlFlow::Break(limit)),
            }
        }
        Ok(ControlFlow::Continue(None))
    }

    /// Takes note of what `strict` would not have accepted.
    fn note(&mut self, ended: &Ended<'_, B>, limits: &[usize], left_out: &[usize]) -> Result<(), Trouble> {
        let system = self.system;
        let names: Vec<&str> = left_out.iter().map(|&thread| system.member(thread).name).collect();
        if !names.is_empty() {
            let (leave, them) = if names.len() == 1 { ("leaves", "it") } else { ("leave", "them") };
            self.notes.insert(format!(
                "{} {leave} nothing in some interleavings: taken as having given up, the other threads are judged \
                 without {them}",
                names::listed(&names)
            ));
            return Ok(());
        }
        let observed = system.outcome(ended.state, limits)?;
        let key = (Degree::Answers, limits.to_vec(), ended.pace.clone());
        let Some(serial) = self.known.get(&key) else { return Ok(()) };
        let differing = |outcome: &Outcome| -> Vec<(usize, Option<Span>)> {
            let threads = observed.threads.iter().zip(&outcome.threads).enumerate();
            threads.filter_map(|(thread, (here, there))| Some((thread, here.first_difference(there)?))).collect()
        };
        // Beside the order that differs least.
        let nearest = serial.outcomes.keys().map(differing).min_by_key(Vec::len).unwrap_or_default();
        for (thread, at) in nearest {
            let who = match at {
                Some(span) => names::line_of(&system.place(span)),
                None => system.member(thread).name.to_string(),
            };
            self.notes.insert(format!(
                "{who} reads what no serial order shows in some interleavings; nothing that counts depends on it \
                 (`serial strict` counts it)"
            ));
        }
        Ok(())
    }

    /// Whether some serial order comes to the same, up to renaming of generated values.
    fn is_serial(
        &mut self,
        degree: Degree,
        ended: &Ended<'_, B>,
        limits: &[usize],
        watch: Watch<'_>,
    ) -> Result<ControlFlow<Limit, bool>, Trouble> {
        let Some(observed) = degree.outcome(self.system, ended.state, limits)? else {
            return Ok(ControlFlow::Continue(false));
        };
        let key = (degree, limits.to_vec(), ended.pace.clone());
        if !self.known.contains_key(&key) {
            match self.serial_outcomes(degree, limits, &ended.pace, None, watch)? {
                ControlFlow::Continue(serial) => drop(self.known.insert(key.clone(), serial)),
                ControlFlow::Break(limit) => return Ok(ControlFlow::Break(limit)),
            }
        }
        if self.known[&key].outcomes.contains_key(&observed) {
            return Ok(ControlFlow::Continue(true));
        }
        let Some(schedule) = ended.schedule else { return Ok(ControlFlow::Continue(false)) };
        for (number, other) in self.system.with_other_generators(ended.state).into_iter().enumerate() {
            let Some(end) = repeated(other, &schedule())? else { continue };
            let Some(observed) = degree.beside(self.system, (ended.state, &end), limits) else { continue };
            let key = (degree, number, limits.to_vec(), ended.pace.clone());
            if !self.renamed.contains_key(&key) {
                match self.serial_outcomes(degree, limits, &ended.pace, Some(other), watch)? {
                    ControlFlow::Continue(serial) => drop(self.renamed.insert(key.clone(), serial)),
                    ControlFlow::Break(limit) => return Ok(ControlFlow::Break(limit)),
                }
            }
            if self.renamed[&key].outcomes.contains_key(&observed) {
                return Ok(ControlFlow::Continue(true));
            }
        }
        Ok(ControlFlow::Continue(false))
    }

    /// The outcomes of all orders of the threads, each running its first `limits` statements; with another system
    /// beside, up to renaming of generated values.
    fn serial_outcomes(
        &self,
        degree: Degree,
        limits: &[usize],
        pace: &Pace,
        other: Option<B>,
        watch: Watch<'_>,
    ) -> Result<ControlFlow<Limit, Serial>, Trouble> {
        let serial = Serial::default();
        let mut orders =
            Orders { system: self.system, other, degree, limits, pace, watch, seen: BTreeSet::new(), serial };
        let start = (self.system.initial(), other.map(|other| other.initial()));
        let walked = orders.extend(&start, &mut Vec::new())?;
        Ok(walked.map_continue(|()| orders.serial))
    }
}

/// The end of a schedule on another system; `None` if it is not possible there.
fn repeated<B: Backend>(system: B, schedule: &Schedule<Choice>) -> Result<Option<B::State>, Trouble> {
    let mut state = system.initial();
    for choice in &schedule.steps {
        let mut enabled = Vec::new();
        system.enabled(&state, &mut enabled);
        if !enabled.contains(choice) {
            return Ok(None);
        }
        system.execute(&mut state, choice);
        system.trouble().map_or(Ok(()), Err)?;
    }
    Ok(Some(state))
}

/// A walk through all serial orders that visits a state once for each set of threads that led to it.
struct Orders<'o, B> {
    system: B,
    /// The same threads with other generators, run beside.
    other: Option<B>,
    degree: Degree,
    limits: &'o [usize],
    pace: &'o Pace,
    watch: Watch<'o>,
    seen: BTreeSet<(Vec<usize>, u128, Option<u128>)>,
    serial: Serial,
}

/// A state, and that of the system beside.
type Pair<B> = (<B as System>::State, Option<<B as System>::State>);

impl<B: Backend> Orders<'_, B> {
    fn extend(&mut self, pair: &Pair<B>, order: &mut Vec<usize>) -> Result<ControlFlow<Limit>, Trouble> {
        let (state, beside) = pair;
        let mut ran = order.clone();
        ran.sort_unstable();
        let digest = beside.as_ref().and_then(|beside| self.system.digest(beside));
        if !self.system.digest(state).is_none_or(|own| self.seen.insert((ran, own, digest))) {
            return Ok(ControlFlow::Continue(()));
        }
        let left: Vec<usize> = (0..self.limits.len()).filter(|t| self.limits[*t] > 0 && !order.contains(t)).collect();
        if left.is_empty() {
            let outcome = match beside {
                None => self.degree.outcome(self.system, state, self.limits)?,
                Some(beside) => self.degree.beside(self.system, (state, beside), self.limits),
            };
            outcome.map(|outcome| self.serial.outcomes.entry(outcome).or_insert_with(|| order.clone()));
        }
        for thread in left {
            if let ControlFlow::Break(limit) = (self.watch)() {
                return Ok(ControlFlow::Break(limit));
            }
            let limit = self.limits[thread];
            for Way { alone, state: next, times } in self.system.ways_alone(state, thread, limit, self.pace)? {
                let mut next_beside = beside.clone();
                match alone {
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
                if let (Some(other), Some(beside)) = (self.other, &mut next_beside)
                    && other.run_at(beside, thread, limit, self.pace, &times)? != Alone::Through
                {
                    // With other generated values it does something else: not compared.
                    continue;
                }
                order.push(thread);
                let walked = self.extend(&(next, next_beside), order)?;
                order.pop();
                if walked.is_break() {
                    return Ok(walked);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
