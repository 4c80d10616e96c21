//! Locks: who holds, who waits, who is in a cycle.
//!
//! There is no lock table. A lock is an entry in its holder's [`Transaction`](crate::transaction::Transaction) (or, for
//! session-level advisory locks, in its session); a wait is a field of the waiting session. Whether a wait is over is a
//! question put to the present state, so that nothing has to be woken, and releasing is forgetting.
//!
//! Locks on rows ([`row`]) follow rules of their own. Tables, sequences and advisory keys share one mechanism
//! ([`heavy`]): eight modes, a queue per key, and an order in that queue which a [deadlock check](deadlock) may change.
//! [`advisory`] has the functions of the family `pg_advisory_lock`. A session at work asks, waits and resumes through
//! [`Locks`], which borrows of it what locking needs and no more.

pub(crate) mod advisory;
pub(crate) mod deadlock;
pub(crate) mod heavy;
pub(crate) mod needs;
pub(crate) mod row;
mod session;

use smallvec::SmallVec;

pub(crate) use advisory::Scope;
pub(crate) use heavy::{Answer, LockKey, Modes, Queues, conflicts, request};
pub(crate) use row::{Held, RowRef, RowWait, Wants, conflict as row_conflict, holders, old_holders};
pub(crate) use session::{Locks, NotGranted};

use isolde_sql::ast::TableLockMode;

use crate::database::Database;
use crate::session::SessionId;
use crate::ssi::XactId;

/// Sessions, by number.
pub(crate) type SessionSet = SmallVec<[SessionId; 4]>;

/// What a session waits for, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) target: Target,
    /// When the wait began, counted over all waits; smaller waits longer.
    pub(crate) ticket: u64,
    /// When it began by the database's clock.
    pub(crate) began: i64,
    /// Its deadlock check has run.
    pub(crate) checked: bool,
    /// Whom it waited for first when somebody last looked, and whether [behind](is_behind) him: waiting for somebody
    /// else is another wait.
    pub(crate) first: Option<(SessionId, bool)>,
}

/// What can be waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A row.
    Row(RowWait),
    /// A table or an advisory key, in a queue.
    Heavy { key: LockKey, mode: TableLockMode, scope: Scope },
    /// A time of the clock.
    Time(i64),
    /// To know whether a READ ONLY transaction's snapshot is safe: see [`crate::ssi`].
    SafeSnapshot(XactId),
}

impl Target {
    /// A wait for a row.
    pub(crate) fn row(row: RowRef, wants: Wants, seen: Option<u64>) -> Self {
        Target::Row(RowWait { row, wants, seen, follows: false })
    }
}

/// The sessions that a wait waits for; none means that it is over, unless it waits for time.
pub(crate) fn blockers(db: &Database, me: SessionId, wait: &Wait) -> SessionSet {
    match &wait.target {
        Target::Row(target) => row::blockers(db, me, target, wait.ticket),
        Target::Heavy { key, mode, .. } => heavy::blockers(db, me, *key, *mode),
        Target::Time(_) => SessionSet::new(),
        Target::SafeSnapshot(id) => db.unsettled(*id),
    }
}

/// Whether a wait for a row is for others who have waited longer for it, and only then for those who have it.
pub(crate) fn is_behind(db: &Database, me: SessionId, wait: &Wait) -> bool {
    match &wait.target {
        Target::Row(target) => row::ahead(db.all_sessions(), me, target, wait.ticket).next().is_some(),
        _ => false,
    }
}

/// Whether a wait is over.
pub(crate) fn is_over(db: &Database, me: SessionId, wait: &Wait) -> bool {
    match wait.target {
        Target::Time(until) => db.clock >= until,
        Target::SafeSnapshot(id) => db.is_settled(id),
        _ => blockers(db, me, wait).is_empty(),
    }
}
