//! The guard: a thread that looks at the clock, the memory and the interrupt while a command works.
//!
//! A search is looked at between two steps, but a single statement, a parser or a solver may work for ever. So the
//! guard looks besides, and ends the work in two stages:
//!
//! ```text
//!   limit reached ──▶ the budget ends, the solver is told ──▶ the work stops by itself, and answers with what it knows
//!        │
//!        └── it has not stopped after a while, or takes still more memory ──▶ the guard answers, and the process exits
//! ```
//!
//! The second stage needs no cooperation. Whatever loop does not look at the [`Budget`], there is an answer: it is
//! *inconclusive*, and names the limit and what was worked on. What a command has answered so far is kept: its page is
//! [`Held`], and the guard writes the last answer on it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use isolde_scenario::{Budget, BudgetEntered, Exhausted};
use isolde_smt::Stop;

use crate::{args, memory, watch};

/// Limits of the commands that have no others.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Limits {
    /// Give up after this long: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = args::duration, help_heading = "Limits")]
    pub(crate) time_max: Option<Duration>,

    /// Give up when the process uses this much: 500M, 4G
    ///
    /// Without it, most of what the machine or the container has.
    #[arg(long, value_name = "SIZE", value_parser = args::size, help_heading = "Limits")]
    pub(crate) memory_max: Option<u64>,
}

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long work may take to stop by itself.
struct Grace {
    /// Processor time that is enough.
    computed: Duration,
    /// Before that time it is not judged by what it has computed.
    elapsed: Duration,
    /// In any case: on a busy machine it may have had little time.
    elapsed_max: Duration,
    /// While something that was found is being repeated, to be shown: it would be lost.
    showing_max: Duration,
}

/// After Ctrl-C.
const AFTER_INTERRUPT: Grace = Grace {
    computed: Duration::from_millis(250),
    elapsed: Duration::from_millis(600),
    elapsed_max: Duration::from_millis(850),
    showing_max: Duration::from_secs(3),
};
/// After a limit.
const AFTER_LIMIT: Grace = Grace {
    computed: Duration::from_millis(600),
    elapsed: Duration::from_millis(1200),
    elapsed_max: Duration::from_millis(1700),
    showing_max: Duration::from_secs(10),
};

/// Where work is ended at once: this many hundredths of the limit.
const MEMORY_PERCENT_MAX: u64 = 107;

/// Work is guarded as long as this is there, and done under its budget by the thread that has it.
pub(crate) struct Guard {
    over: Arc<Mutex<bool>>,
    budget: Budget,
    stop: Stop,
    _entered: BudgetEntered,
}

impl Guard {
    /// Posts a guard. `last_words` writes an answer that says why there is no other, and says what to exit with.
    pub(crate) fn post(limits: Limits, last_words: impl FnOnce(&str) -> u8 + Send + 'static) -> Guard {
        let (budget, stop, over) = (Budget::default(), Stop::default(), Arc::new(Mutex::new(false)));
        let memory_max = limits.memory_max.or_else(memory::affordable);
        let post = Post {
            limits: Limits { memory_max, ..limits },
            started: Instant::now(),
            budget: budget.clone(),
            stop: stop.clone(),
            over: over.clone(),
        };
        // Without a guard, limits are still looked at between steps.
        drop(thread::Builder::new().name("guard".into()).spawn(move || post.watch(last_words)));
        Guard { over, _entered: budget.enter_whole(), budget, stop }
    }

    /// What work is done under.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What solvers listen to.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Waits while the guard says its last words: the process exits behind them.
        *locked(&self.over) = true;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the guard knows.
struct Post {
    limits: Limits,
    started: Instant,
    budget: Budget,
    stop: Stop,
    over: Arc<Mutex<bool>>,
}

impl Post {
    fn watch(self, last_words: impl FnOnce(&str) -> u8) {
        let Some(why) = self.until_limit() else { return };
        self.budget.end(why);
        self.stop.because(&why.error().message);
        if self.until_grace_is_over(why) {
            let over = locked(&self.over);
            if !*over {
                let at = self.budget.under_way();
                let at = if at.is_empty() { String::new() } else { format!(" in {at}") };
                std::process::exit(last_words(&format!("{}{at}", why.error().message)).into());
            }
        }
    }

    fn is_over(&self) -> bool {
        *locked(&self.over)
    }

    /// Which limit is reached; `None` if the work ends before.
    fn until_limit(&self) -> Option<Exhausted> {
        while !self.is_over() {
            if watch::interrupted() {
                return Some(Exhausted::Interrupt);
            }
            if self.limits.time_max.is_some_and(|max| self.started.elapsed() >= max) {
                return Some(Exhausted::Time);
            }
            if self.memory_used_percent() >= 100 {
                return Some(Exhausted::Memory);
            }
            thread::sleep(LOOK_EVERY);
        }
        None
    }

    /// Of the memory that may be used; large values are made only if there is room for them.
    fn memory_used_percent(&self) -> u64 {
        match (self.limits.memory_max, memory::used()) {
            (Some(max), Some(used)) => {
                self.budget.set_room((max + max / 20).saturating_sub(used));
                used.saturating_mul(100) / max.max(1)
            }
            _ => 0,
        }
    }

    /// Whether the work has had its time to stop, and has not.
    fn until_grace_is_over(&self, why: Exhausted) -> bool {
        let grace = if why == Exhausted::Interrupt { &AFTER_INTERRUPT } else { &AFTER_LIMIT };
        let (begun, computed) = (Instant::now(), memory::processor_time());
        while !self.is_over() {
            let had = match (computed, memory::processor_time()) {
                (Some(before), Some(now)) => now.saturating_sub(before),
                _ => grace.computed,
            };
            let elapsed_max = if self.budget.is_released() { grace.showing_max } else { grace.elapsed_max };
            let elapsed = begun.elapsed();
            let is_over = elapsed >= grace.elapsed && had >= grace.computed || elapsed >= elapsed_max;
            if is_over || self.memory_used_percent() >= MEMORY_PERCENT_MAX {
                return true;
            }
            thread::sleep(LOOK_EVERY);
        }
        false
    }
}

/// What the work and its guard both may finish: whoever takes it first.
pub(crate) struct Held<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Held<T> {
    fn clone(&self) -> Held<T> {
        Held(self.0.clone())
    }
}

impl<T> Held<T> {
    pub(crate) fn new(what: T) -> Held<T> {
        Held(Arc::new(Mutex::new(Some(what))))
    }

    /// For the guard; `None` if the work is at it.
    pub(crate) fn seize(&self) -> Option<T> {
        locked(&self.0).take()
    }

    /// For the work. Does not return if the guard has it: the process is about to exit.
    pub(crate) fn take(&self) -> T {
        loop {
            if let Some(held) = self.seize() {
                return held;
            }
            thread::park();
        }
    }

    /// Gives it back.
    pub(crate) fn put(&self, what: T) {
        *locked(&self.0) = Some(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_ends_what_does_not_come_to_a_step() {
        let limits = Limits { time_max: Some(Duration::from_millis(1)), memory_max: None };
        let guard = Guard::post(limits, |_| 3);
        let cut = std::iter::repeat_with(|| isolde_sql::budget::spend(1)).find_map(Result::err);
        assert!(cut.is_some_and(|error| error.is_cut()));
        assert_eq!(guard.budget().ended(), Some(Exhausted::Time));
    }

    /// Solvers hear of it too.
    #[test]
    fn who_listens_is_told_why() {
        let stop = Stop::default();
        assert_eq!(stop.reason(), None);
        stop.because("the time limit was reached");
        stop.because("the first reason counts");
        assert_eq!(stop.clone().reason(), Some("the time limit was reached"));
    }

    #[test]
    fn what_is_held_is_taken_once() {
        let held = Held::new(1);
        let other = held.clone();
        assert_eq!((held.take(), other.seize()), (1, None));
        held.put(2);
        assert_eq!(other.seize(), Some(2));
    }
}
