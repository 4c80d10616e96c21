//! Time, for those who ask for it.
//!
//! An exploration keeps time still: what depends on a timer is a choice there. A driver that wants to see what a server
//! would do (the runner of `.spec` files) [starts the clock](Database::start_clock). Steps take no time; time passes
//! only when a timer goes off, and only when the driver says so:
//!
//! ```text
//!   while somebody can step: step
//!   next_timer() ──▶ (when, who, what) ──▶ fire(who, what): the clock is now `when`
//! ```
//!
//! Each wait for a lock has its own deadlock check and its own `lock_timeout`; `statement_timeout` counts from the
//! moment at which the client sent its statement.

use isolde_sql::{SqlError, SqlState};

use crate::database::Database;
use crate::footprint::{HeavyEvent, LockEventKind};
use crate::lock::{self, Target, deadlock};
use crate::session::{SessionId, Step};

/// What goes off. At the same time, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The session looks whether it waits in a cycle.
    Deadlock,
    /// It has waited for this lock as long as `lock_timeout` allows.
    LockTimeout,
    /// Its statement has run as long as `statement_timeout` allows.
    StatementTimeout,
    /// `pg_sleep` is over.
    Sleep,
}

/// How long a session is patient, in microseconds; 0 is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timeouts {
    /// `deadlock_timeout`
    pub deadlock: i64,
    /// `lock_timeout`
    pub lock: i64,
    /// `statement_timeout`
    pub statement: i64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { deadlock: 1_000_000, lock: 0, statement: 0 }
    }
}

impl Database {
    /// From now on time passes: `pg_sleep` sleeps, and waits have timers.
    pub fn start_clock(&mut self) {
        self.timed = true;
        self.waits_in_turn = true;
    }

    /// Microseconds since the start.
    pub fn clock(&self) -> i64 {
        self.clock
    }

    /// Sets the time of an exploration, in microseconds since the start. Time has passed; or another run is repeated,
    /// whose steps were taken at these times.
    pub fn set_clock(&mut self, micros: i64) {
        self.clock = micros;
    }

    /// The timer that goes off next, if the clock runs and anybody waits for one: when, whose and which.
    pub fn next_timer(&self) -> Option<(i64, SessionId, Timer)> {
        let sessions = self.all_sessions().filter(|_| self.timed);
        // At the same time, whoever began to wait first: on a server a little time has passed in between.
        let timers = sessions.flat_map(|(id, session)| {
            let ticket = session.wait.as_ref().map(|wait| wait.ticket);
            self.timers(id).into_iter().map(move |(time, timer)| (time, ticket, timer, id))
        });
        timers.min().map(|(time, _, timer, id)| (time, id, timer))
    }

    /// Lets a timer of [`Database::next_timer`] go off. There is a step if it ends the session's wait with an error;
    /// otherwise see whether somebody can step now.
    pub fn fire(&mut self, session: SessionId, timer: Timer) -> Option<Step> {
        let time = self.timers(session).into_iter().find(|(_, t)| *t == timer)?.0;
        self.clock = self.clock.max(time);
        match timer {
            Timer::Sleep => None,
            Timer::Deadlock => self.look_for_deadlock(session),
            Timer::LockTimeout => {
                let error = SqlError::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
                Some(self.interrupt(session, error))
            }
            Timer::StatementTimeout => {
                let error = SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout");
                Some(self.interrupt(session, error))
            }
        }
    }

    /// The timers of a session that waits.
    fn timers(&self, id: SessionId) -> Vec<(i64, Timer)> {
        let session = &*self.sessions[id.0];
        let Some(wait) = session.wait.as_ref().filter(|wait| !lock::is_over(self, id, wait)) else { return Vec::new() };
        let Timeouts { deadlock, lock, statement } = session.options.timeouts;
        let mut timers = Vec::new();
        match wait.target {
            Target::Time(until) => timers.push((until, Timer::Sleep)),
            Target::SafeSnapshot(_) => {}
            _ => {
                timers.extend((!wait.checked).then_some((wait.began + deadlock, Timer::Deadlock)));
                timers.extend((lock > 0).then_some((wait.began + lock, Timer::LockTimeout)));
            }
        }
        timers.extend((statement > 0).then_some((session.statement_began + statement, Timer::StatementTimeout)));
        timers
    }

    /// A session's deadlock check: it may be a victim, or change a queue.
    fn look_for_deadlock(&mut self, session: SessionId) -> Option<Step> {
        self.change_wait(session, |wait| wait.checked = true);
        match deadlock::check(self, session) {
            deadlock::Verdict::Free => None,
            deadlock::Verdict::Reorder(orders) => {
                orders.into_iter().for_each(|(key, order)| self.queues.reorder(key, order));
                None
            }
            deadlock::Verdict::Deadlock => Some(self.kill(session)),
        }
    }

    /// A queue that is the only reason for a deadlock is put in order, as soon as somebody waits in it: explorations
    /// have no timer to wait for. Returns what happened to those in it.
    pub(crate) fn untangle(&mut self, session: SessionId) -> Vec<HeavyEvent> {
        if self.timed || self.queues.is_empty() || self.sessions[session.0].wait.is_none() {
            return Vec::new();
        }
        let deadlock::Verdict::Reorder(orders) = deadlock::check(self, session) else { return Vec::new() };
        let mut moved = Vec::new();
        for (key, order) in orders {
            let modes = order.iter().filter_map(|id| lock::heavy::wanted(self, *id));
            moved.extend(modes.map(|mode| HeavyEvent { key, mode, kind: LockEventKind::Moved }));
            self.queues.reorder(key, order);
        }
        moved
    }

    /// Whoever waits for a row, and now for somebody else than before, has begun another wait.
    pub(crate) fn renew_waits(&mut self) {
        if !self.timed {
            return;
        }
        for id in (0..self.sessions.len()).map(SessionId) {
            let Some(wait) = self.sessions[id.0].wait.as_ref().filter(|w| matches!(w.target, Target::Row(_))) else {
                continue;
            };
            let behind = lock::is_behind(self, id, wait);
            let (first, before) = (lock::blockers(self, id, wait).first().map(|first| (*first, behind)), wait.first);
            let clock = self.clock;
            if first.is_some() && first != before {
                self.change_wait(id, |wait| {
                    wait.first = first;
                    if before.is_some() {
                        (wait.began, wait.checked) = (clock, false);
                    }
                });
            }
        }
    }

    fn change_wait(&mut self, session: SessionId, change: impl FnOnce(&mut lock::Wait)) {
        if let Some(wait) = &mut std::sync::Arc::make_mut(&mut self.sessions[session.0]).wait {
            change(wait);
        }
    }
}
