//! Time that may pass: `--@ clock 0s 10m 1h`.
//!
//! Without that line time stands still. With it, the clock is one more thread of the search, which takes as many steps
//! as there are marks behind the first: each lets time pass to the next mark, before any step of the others.
//!
//! ```text
//!   alice   BEGIN 00:00 ──────────────── now() is 00:00 ── COMMIT
//!   clock               10 minutes pass
//!   bob                                   now() is 00:10
//! ```
//!
//! # Which steps depend on it
//!
//! Every step of a thread that may read the time, and no other: the statements of the thread, or what set-up defines
//! (defaults, triggers, routines, views), name a function that reads a clock, or execute a text. Such a thread sends
//! each statement in a step of its own, BEGIN included, because its transaction begins there. When no such thread is
//! left, no more time passes; so the last steps of two such threads are dependent, too. Invariants that read the time
//! are asked again whenever it passes.
//!
//! # Serial orders
//!
//! Time is an input. A run is compared with the orders of whole threads in which each thread sends every statement *at
//! the time at which it sent it in the run*, and is answered no later than there. So between two threads of an order
//! the clock may be set back: two transactions that overlap while time passes are each as slow as they were, and that
//! alone is no violation. A run in which no threads overlap is its own serial order.

use std::collections::BTreeSet;

use isolde_engine::footprint::ColumnSet;
use isolde_explore::System;
use isolde_sql::ast::StatementKind;
use isolde_sql::builtin;
use isolde_sql::facts::Facts;
use isolde_sql::parse;

use crate::backend::Alone;
use crate::file::{ClientStatement, QuerySection, ScenarioFile, Sources};
use crate::log::Log;
use crate::system::{Event, ScenarioSystem, State};

/// What the clock is called where threads are named.
pub(crate) const NAME: &str = "clock";

/// The times of a file, in microseconds since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// The marks behind the start, in order.
    marks: Vec<i64>,
    /// Of each thread, whether it may read the time.
    readers: Vec<bool>,
    /// Invariants that read the time, by position in the file.
    invariants: ColumnSet,
    /// A check reads the time, so all marks are passed.
    checked: bool,
}

impl Clock {
    pub(crate) fn of(file: &ScenarioFile) -> Clock {
        if file.clock.is_empty() {
            return Clock { readers: vec![false; file.threads.len()], ..Clock::default() };
        }
        let sources = &file.sources;
        let defines = |statement: &&ClientStatement| Facts::of(&statement.ast).effects.defines;
        let always = file.setup.iter().filter(defines).any(|statement| reads_clock(statement, sources));
        let defined = defined(file);
        let reads = |body: &[ClientStatement]| always || body.iter().any(|statement| reads_clock(statement, sources));
        let asks = |check: &QuerySection| {
            let names = parse::names(check.statement.ast.span.of(sources.text()));
            let called = || defined.as_ref().is_none_or(|defined| names.iter().any(|name| defined.contains(name)));
            reads_clock(&check.statement, sources) || always && called()
        };
        let invariants = file.invariants.iter().enumerate().filter(|(_, check)| asks(check));
        let invariants: ColumnSet = invariants.map(|(number, _)| number).collect();
        Clock {
            marks: file.clock.clone(),
            readers: file.threads.iter().map(|thread| reads(&thread.body)).collect(),
            invariants,
            checked: !invariants.is_empty() || file.finals.iter().any(asks),
        }
    }

    /// Whether time may pass at all.
    pub(crate) fn runs(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Whether a thread may read the time.
    pub(crate) fn is_read_by(&self, thread: usize) -> bool {
        self.readers.get(thread).copied().unwrap_or_default()
    }

    /// The next mark.
    pub(crate) fn next(&self, now: i64) -> Option<i64> {
        self.marks.iter().copied().find(|mark| *mark > now)
    }

    /// Whether all marks are passed, whatever the threads do.
    pub(crate) fn is_checked(&self) -> bool {
        self.checked
    }

    /// The invariants whose answer may change when time passes.
    pub(crate) fn invariants(&self) -> ColumnSet {
        self.invariants
    }

    /// Whether the order of two events may matter, one of which lets time pass.
    pub(crate) fn is_between(&self, first: &Event, second: &Event) -> bool {
        let reads = |event: &Event| event.passed.is_none() && self.is_read_by(event.thread);
        reads(first) || reads(second) || !first.watched.common(second.watched).is_empty()
    }

    /// The marks from one time to another, both included.
    fn between(&self, from: i64, to: i64) -> impl Iterator<Item = i64> {
        let marks = self.marks.iter().copied().filter(move |mark| *mark > from && *mark <= to);
        std::iter::once(from).chain(marks)
    }
}

/// Whether a statement, or what it defines, may read the time.
fn reads_clock(statement: &ClientStatement, sources: &Sources) -> bool {
    let executes = Facts::of(&statement.ast).effects.executes
        || Facts::of_defined(&statement.ast).is_some_and(|defined| defined.effects.executes);
    executes || parse::names(statement.ast.span.of(sources.text())).iter().any(|name| builtin::reads_clock(name))
}

/// The names of the routines and views of set-up; `None` if some may have other names by now.
fn defined(file: &ScenarioFile) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for ClientStatement { ast, .. } in &file.setup {
        match &ast.kind {
            StatementKind::CreateRoutine(routine) => drop(names.insert(routine.name.name.name.to_string())),
            StatementKind::CreateView(view) => drop(names.insert(view.name.name.name.to_string())),
            StatementKind::AlterObject(_) | StatementKind::Do(_) | StatementKind::Call { .. } => return None,
            _ => {}
        }
    }
    Some(names)
}

/// When each thread sent its statements, and when each was answered; nothing for a thread that does not read the time.
pub type Pace = Vec<Vec<(i64, i64)>>;

/// A way in which a thread runs alone at a given pace.
pub struct Way<S> {
    /// How it ended.
    pub alone: Alone,
    /// Where.
    pub state: S,
    /// When each of its steps was taken.
    pub times: Vec<i64>,
}

/// More ways than this to place the passing of time inside of a thread's statements are not looked at.
const WAYS_MAX: usize = 4096;

impl ScenarioSystem<'_> {
    /// The times at which the threads sent their statements.
    pub(crate) fn times(&self, state: &State) -> Pace {
        let times = |thread: usize| match self.scenario.clock.is_read_by(thread) {
            true => state.clients[thread].progress.times.to_vec().into_iter().copied().collect(),
            false => Vec::new(),
        };
        (0..state.clients.len()).map(times).collect()
    }

    /// The time at which a thread sends its next statement, or sent the one that it is at; and until when that may
    /// take.
    fn span(&self, state: &State, thread: usize, pace: &Pace) -> (i64, i64) {
        let times = &pace[thread];
        let at = state.clients[thread].progress.next;
        // A statement that the run did not come to follows at once.
        let last = times.last().map_or(0, |(_, end)| *end);
        times.get(at).copied().unwrap_or((last, last))
    }

    /// Sets the clock to when a thread takes its next step, the earliest way.
    pub(crate) fn keep_pace(&self, state: &mut State, thread: usize, pace: &Pace) {
        if self.scenario.clock.is_read_by(thread) {
            let (start, end) = self.span(state, thread, pace);
            let now = if state.clients[thread].unsent { start } else { end };
            state.database.set_clock(now);
        }
    }

    /// Every way in which a thread runs alone at this pace: time may pass between the steps of one statement.
    pub(crate) fn all_ways(
        &self,
        start: &State,
        thread: usize,
        limit: usize,
        pace: &Pace,
        max: usize,
    ) -> Vec<Way<State>> {
        let mut ways = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(start.clone(), Log::default())];
        let way =
            |alone, state, times: &Log<i64>| Way { alone, state, times: times.to_vec().into_iter().copied().collect() };
        for _ in 0..max {
            let Some((state, times)) = open.pop() else { break };
            if let Some(alone) = self.ended_alone(&state, thread, limit) {
                ways.push(way(alone, state, &times));
                continue;
            }
            for time in self.times_of_step(&state, thread, pace) {
                let mut next = state.clone();
                self.step_at(&mut next, thread, limit, pace, time);
                // A state that was seen before leads to the ends that are found from there.
                if self.digest(&next).is_none_or(|digest| seen.insert(digest)) {
                    let mut times = times.clone();
                    times.push(time);
                    open.push((next, times));
                }
            }
            if ways.len() + open.len() >= WAYS_MAX {
                break;
            }
        }
        // Not all ways are known, or none ends.
        if !open.is_empty() || ways.is_empty() {
            ways.push(way(Alone::Endless, start.clone(), &Log::default()));
        }
        ways
    }

    /// Runs a thread alone, its steps at these times; [`Alone::Endless`] if it takes others.
    pub(crate) fn run_at(&self, state: &mut State, thread: usize, limit: usize, pace: &Pace, times: &[i64]) -> Alone {
        for time in times {
            if self.ended_alone(state, thread, limit).is_some() {
                return Alone::Endless;
            }
            self.step_at(state, thread, limit, pace, *time);
        }
        self.ended_alone(state, thread, limit).unwrap_or(Alone::Endless)
    }

    /// When the next step of a thread may be taken.
    fn times_of_step(&self, state: &State, thread: usize, pace: &Pace) -> Vec<i64> {
        if !self.scenario.clock.is_read_by(thread) {
            return vec![state.database.clock()];
        }
        let (start, end) = self.span(state, thread, pace);
        let from = if state.clients[thread].unsent { start } else { state.database.clock().max(start) };
        self.scenario.clock.between(from, end.max(from)).collect()
    }

    fn step_at(&self, state: &mut State, thread: usize, limit: usize, pace: &Pace, time: i64) {
        if state.clients[thread].unsent {
            let (start, _) = self.span(state, thread, pace);
            state.database.set_clock(start);
            self.step_alone(state, thread, limit, Some(time));
        } else {
            state.database.set_clock(time);
            self.step_alone(state, thread, limit, None);
        }
    }
}

/// `10 minutes pass`
pub(crate) fn passing(micros: i64) -> String {
    let verb = if UNITS.iter().any(|(unit, _)| *unit == micros) { "passes" } else { "pass" };
    format!("{} {verb}", duration(micros))
}

/// `1 hour 30 minutes`
fn duration(micros: i64) -> String {
    let mut left = micros;
    let mut parts = Vec::new();
    for (unit, name) in UNITS {
        let count = left / unit;
        left %= unit;
        if count > 0 {
            parts.push(format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
        }
    }
    parts.join(" ")
}

/// Microseconds of what is counted.
const UNITS: [(i64, &str); 6] = [
    (86_400_000_000, "day"),
    (3_600_000_000, "hour"),
    (60_000_000, "minute"),
    (1_000_000, "second"),
    (1_000, "millisecond"),
    (1, "microsecond"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_words() {
        assert_eq!(passing(600_000_000), "10 minutes pass");
        assert_eq!(passing(60_000_000), "1 minute passes");
        assert_eq!(passing(90 * 60_000_000), "1 hour 30 minutes pass");
        assert_eq!(passing(86_400_000_000), "1 day passes");
    }
}
