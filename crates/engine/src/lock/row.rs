//! Row locks.
//!
//! ```text
//!                   KEY SHARE   SHARE   NO KEY UPDATE   UPDATE
//!   KEY SHARE                                              X
//!   SHARE                                    X             X
//!   NO KEY UPDATE                 X          X             X
//!   UPDATE              X         X          X             X
//! ```
//!
//! PostgreSQL waits at two levels: the first waiter for a row holds a heavyweight lock on it and waits for the holder's
//! transaction; later waiters queue behind that lock. Hence two rules: a waiter also waits for earlier conflicting
//! waiters, and a newcomer who conflicts with no *holder* overtakes them all.

use isolde_sql::ast::LockStrength;
use isolde_sql::catalog::TableId;

use super::{SessionSet, Target};
use crate::database::Database;
use crate::session::{Session, SessionId};
use crate::storage::{RowId, Tables};

/// A row, in whichever table.
pub(crate) type RowRef = (TableId, RowId);

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) strength: LockStrength,
    /// The position of the oldest version that was locked.
    pub(crate) oldest: u64,
    /// The number of the transaction, or of the part of it since a savepoint, that locked it first.
    pub(crate) by: u64,
}

/// A wait for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowWait {
    /// The row in question.
    pub(crate) row: RowRef,
    /// What is wanted of it.
    pub(crate) wants: Wants,
    /// The version that a transaction which keeps its snapshot saw. Once another is committed it will be refused: there
    /// is nothing left to wait for but its place in the queue, and those who share a lock on the version that it saw.
    pub(crate) seen: Option<u64>,
    /// Whoever met an update under way, and not a mere lock, goes on to the version that it makes, even to be refused;
    /// but no further than that.
    pub(crate) follows: bool,
}

impl RowWait {
    /// Whether the version it saw is no longer the newest, nor the one after it that it goes on to.
    pub(crate) fn is_lost(&self, committed: &Tables) -> bool {
        let newest = committed.version(self.row);
        self.seen.is_some_and(|seen| {
            newest.is_none_or(|tuple| tuple.position != seen && !(self.follows && tuple.replaces == seen))
        })
    }
}

/// What a waiter wants of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A lock, behind those who asked before.
    Lock(LockStrength),
    /// A stronger lock than it has: it does not queue, or two upgrades would wait for each other's place.
    Upgrade(LockStrength),
    /// To know whether the change of the row by the transaction of this number lives: a unique key depends on it. What
    /// others do to the row afterwards is met when it goes on.
    Outcome(u64),
}

/// Whether two sessions cannot hold these on one row.
pub(crate) fn conflict(a: LockStrength, b: LockStrength) -> bool {
    use LockStrength::*;
    match (a, b) {
        (Update, _) | (_, Update) => true,
        (NoKeyUpdate, other) | (other, NoKeyUpdate) => other != KeyShare,
        _ => false,
    }
}

/// The sessions other than `me` that hold a conflicting lock on a row.
pub(crate) fn holders<'a>(
    sessions: impl Iterator<Item = (SessionId, &'a Session)>,
    me: SessionId,
    row: RowRef,
    strength: LockStrength,
) -> SessionSet {
    sessions
        .filter(|(id, session)| *id != me && session.lock_on(row).is_some_and(|held| conflict(held.strength, strength)))
        .map(|(id, _)| id)
        .collect()
}

/// The sessions other than `me` that hold a conflicting lock on a version which has been updated since. It can only be
/// FOR KEY SHARE, or it could not have been updated.
pub(crate) fn old_holders<'a>(
    sessions: impl Iterator<Item = (SessionId, &'a Session)>,
    me: SessionId,
    row: RowRef,
    version: u64,
    strength: LockStrength,
) -> SessionSet {
    sessions
        .filter(|(id, session)| *id != me && session.lock_on(row).is_some_and(|held| held.oldest <= version))
        .filter(|_| conflict(LockStrength::KeyShare, strength))
        .map(|(id, _)| id)
        .collect()
}

/// The sessions that a wait for a row waits for; none means that it is over.
pub(super) fn blockers(db: &Database, me: SessionId, wait: &RowWait, ticket: u64) -> SessionSet {
    let holders = |strength| {
        let holders = match wait.seen.filter(|_| wait.is_lost(&db.committed)) {
            Some(seen) => old_holders(db.all_sessions(), me, wait.row, seen, strength),
            None => holders(db.all_sessions(), me, wait.row, strength),
        };
        if db.waits_in_turn { first_of(db, wait.row, &holders) } else { holders }
    };
    match wait.wants {
        Wants::Outcome(of) => writer(db, wait.row, of).into_iter().collect(),
        Wants::Upgrade(strength) => holders(strength),
        Wants::Lock(strength) => {
            let ahead = ahead(db.all_sessions(), me, wait, ticket);
            if db.waits_in_turn {
                // Behind somebody's lock on the right to wait for the row.
                let ahead: SessionSet = ahead.collect();
                return if ahead.is_empty() { holders(strength) } else { ahead };
            }
            let mut blockers = holders(strength);
            for id in ahead {
                if !blockers.contains(&id) {
                    blockers.push(id);
                }
            }
            blockers
        }
    }
}

/// Where the transaction of a number is that has written a row, if it is still under way.
pub(crate) fn writer(db: &Database, row: RowRef, number: u64) -> Option<SessionId> {
    let is_it = |session: &Session| session.transaction.as_ref().is_some_and(|t| t.xid == Some(number));
    db.all_sessions().find(|(_, session)| is_it(session) && session.has_written(row)).map(|(id, _)| id)
}

/// Of several holders of a row, the one with the lowest number.
fn first_of(db: &Database, row: RowRef, holders: &[SessionId]) -> SessionSet {
    let number = |id: &SessionId| db.sessions[id.0].lock_on(row).map_or(u64::MAX, |held| held.by);
    holders.iter().copied().min_by_key(number).into_iter().collect()
}

/// The sessions other than `me` that have waited longer for a conflicting lock on the same row.
pub(crate) fn ahead<'a>(
    sessions: impl Iterator<Item = (SessionId, &'a Session)>,
    me: SessionId,
    wait: &RowWait,
    ticket: u64,
) -> impl Iterator<Item = SessionId> {
    let wanted = match wait.wants {
        Wants::Lock(strength) => Some(strength),
        Wants::Upgrade(_) | Wants::Outcome(_) => None,
    };
    sessions
        .filter(move |(id, session)| {
            let is_ahead = |strength| {
                session.wait.as_ref().is_some_and(|w| {
                    let Target::Row(other) = &w.target else { return false };
                    other.row == wait.row
                        && w.ticket < ticket
                        && matches!(other.wants, Wants::Lock(s) if conflict(s, strength))
                })
            };
            *id != me && wanted.is_some_and(is_ahead)
        })
        .map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use LockStrength::*;

    use super::*;

    #[test]
    fn the_matrix_is_the_documented_one() {
        let all = [KeyShare, Share, NoKeyUpdate, Update];
        let rows: Vec<String> =
            all.iter().map(|&a| all.iter().map(|&b| if conflict(a, b) { 'X' } else { '.' }).collect()).collect();
        assert_eq!(rows, ["...X", "..XX", ".XXX", "XXXX"]);
    }
}
