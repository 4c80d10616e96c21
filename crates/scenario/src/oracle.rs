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
//! Where time may pass, it is an input: in a serial order each thread sends its statements at the times at which it sent
//! them in the run ([`crate::clock`] says why).
//!
//! Where it cannot be known which part of a thread counts ([`Completed::Unknown`]), or what the outcome of a thread
//! alone is, the oracle does not decide.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_explore::{Limit, Schedule, System};

use crate::backend::{Alone, Backend, Completed};
use crate::clock::{Pace, Way};
use crate::file::SerialCheck;
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
    /// Every answer, or all to the client's own statements.
    Answers,
    /// Effects.
    Effects,
}

impl Degree {
    fn outcome<B: Backend>(self, system: B, state: &B::State, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        match self {
            Degree::Answers => system.outcome(state, limits).map(Some),
            Degree::Effects => Ok(system.effects(state, limits)),
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
        let mut degree = Degree::Answers;
        match self.is_serial(degree, &ended, &limits, watch)? {
            ControlFlow::Continue(true) => return Ok(Judgement::Serial),
            ControlFlow::Continue(false) => {}
            ControlFlow::Break(limit) => return Ok(Judgement::Stopped(limit)),
        }
        if self.system.serial() == SerialCheck::Effects {
            match self.has_serial_effects(&ended, &limits, watch)? {
                ControlFlow::Continue(true) => return Ok(Judgement::Serial),
                ControlFlow::Continue(false) => degree = Degree::Effects,
                ControlFlow::Break(limit) => return Ok(Judgement::Stopped(limit)),
            }
        }
        let observed = match degree.outcome(self.system, state, &limits)? {
            Some(observed) => observed,
            None => {
                self.notes.insert("effects are not known on a server: answers count, as with `serial outcome`".into());
                degree = Degree::Answers;
                self.system.outcome(state, &limits)?
            }
        };
        let serial = &self.known[&(degree, limits, ended.pace)];
        Ok(match (serial.endless, serial.waits) {
            (Some(thread), _) => Judgement::Endless(thread),
            (None, Some(thread)) if serial.outcomes.is_empty() => Judgement::Waits(thread),
            _ => Judgement::NotSerial(Box::new(observed), serial),
        })
    }

    /// Whether the effects are those of a serial order, with or without the threads that gave up.
    fn has_serial_effects(
        &mut self,
        ended: &Ended<'_, B>,
        limits: &[usize],
        watch: Watch<'_>,
    ) -> Result<ControlFlow<Limit, bool>, Trouble> {
        let gave_up: Vec<usize> =
            self.system.present().filter(|&t| limits[t] > 0 && self.system.gave_up(ended.state, t)).collect();
        // As few as possible are left out: the subsets by their sizes.
        let mut subsets: Vec<u32> = (0..1u32 << gave_up.len()).collect();
        subsets.sort_by_key(|subset| subset.count_ones());
        for subset in subsets {
            let left_out = gave_up.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            let left_out: Vec<usize> = left_out.map(|(_, &thread)| thread).collect();
            let mut limits = limits.to_vec();
            left_out.iter().for_each(|&thread| limits[thread] = 0);
            match self.is_serial(Degree::Effects, ended, &limits, watch)? {
                ControlFlow::Continue(true) => {
                    let name = |&thread: &usize| {
                        format!(
                            "{} leaves nothing in some interleavings, as if it had given up; the others are judged without it",
                            self.system.member(thread).name
                        )
                    };
                    self.notes.extend(left_out.iter().map(name));
                    return Ok(ControlFlow::Continue(true));
                }
                ControlFlow::Continue(false) => {}
                stopped => return Ok(stopped),
            }
        }
        Ok(ControlFlow::Continue(false))
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
