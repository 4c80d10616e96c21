//! Locks on tables, sequences and advisory keys: eight modes, and a queue.
//!
//! ```text
//!                          AS  RS  RX  SUX  S  SRX  X  AX
//!   ACCESS SHARE                                       X     SELECT
//!   ROW SHARE                                      X   X     SELECT FOR ..., foreign keys
//!   ROW EXCLUSIVE                           X  X   X   X     INSERT, UPDATE, DELETE
//!   SHARE UPDATE EXCLUSIVE              X   X  X   X   X     VALIDATE CONSTRAINT
//!   SHARE                           X   X      X   X   X     CREATE INDEX
//!   SHARE ROW EXCLUSIVE             X   X   X  X   X   X     CREATE TRIGGER, ADD FOREIGN KEY
//!   EXCLUSIVE                   X   X   X   X  X   X   X
//!   ACCESS EXCLUSIVE        X   X   X   X   X  X   X   X     TRUNCATE, DROP, most of ALTER
//! ```
//!
//! Who conflicts neither with a holder nor with one who waits gets the lock at once. The others queue, at the end; but
//! one who already holds something that a waiter wants to be rid of goes before that waiter, and if the waiter in turn
//! holds what *it* wants to be rid of, that is a deadlock which needs no timer. A wait is over when the request
//! conflicts neither with holders nor with those ahead: the rule by which PostgreSQL wakes.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::ast::TableLockMode;
use isolde_sql::catalog::TableId;

use super::{SessionSet, Target};
use crate::database::Database;
use crate::session::{SessionId, SessionState};

/// What such a lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockKey {
    /// A table.
    Table(TableId),
    /// A sequence: see [`LockKey::sequence`].
    Sequence(u128),
    /// `pg_advisory_lock(bigint)`
    Advisory(i64),
    /// `pg_advisory_lock(int, int)`: a space of its own.
    AdvisoryPair(i32, i32),
}

impl LockKey {
    /// The key of a sequence is made from its name: sequences have no numbers.
    pub fn sequence(name: &str) -> LockKey {
        LockKey::Sequence(isolde_digest::tagged(0x5365, name))
    }
}

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Modes(u8);

impl Modes {
    pub(crate) const NONE: Modes = Modes(0);

    /// With one mode more.
    pub(crate) fn with(self, mode: TableLockMode) -> Modes {
        Modes(self.0 | 1 << mode as u8)
    }

    pub(crate) fn union(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }

    pub(crate) fn contains(self, mode: TableLockMode) -> bool {
        self.meets(Modes::NONE.with(mode))
    }

    pub(crate) fn meets(self, other: Modes) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The modes, weakest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = TableLockMode> {
        TableLockMode::ALL.into_iter().filter(move |mode| self.contains(*mode))
    }
}

/// The modes that exclude one.
pub(crate) fn conflicts(mode: TableLockMode) -> Modes {
    // Bit n is the n-th mode of `TableLockMode::ALL`.
    Modes(match mode {
        TableLockMode::AccessShare => 0b1000_0000,
        TableLockMode::RowShare => 0b1100_0000,
        TableLockMode::RowExclusive => 0b1111_0000,
        TableLockMode::ShareUpdateExclusive => 0b1111_1000,
        TableLockMode::Share => 0b1110_1100,
        TableLockMode::ShareRowExclusive => 0b1111_1100,
        TableLockMode::Exclusive => 0b1111_1110,
        TableLockMode::AccessExclusive => 0b1111_1111,
    })
}

/// Whether only a strong mode excludes this one: then it need not be known where no strong one can occur.
pub(crate) fn is_weak(mode: TableLockMode) -> bool {
    mode <= TableLockMode::RowExclusive
}

/// Who waits for each key, in the order in which they will be served. Only keys that somebody waits for are here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queues(Arc<BTreeMap<LockKey, Vec<SessionId>>>);

impl Queues {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those who wait for a key.
    pub(crate) fn of(&self, key: LockKey) -> &[SessionId] {
        self.0.get(&key).map_or(&[], Vec::as_slice)
    }

    /// All queues.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&LockKey, &Vec<SessionId>)> {
        self.0.iter()
    }

    pub(crate) fn insert(&mut self, key: LockKey, at: usize, session: SessionId) {
        let queue = Arc::make_mut(&mut self.0).entry(key).or_default();
        debug_assert!(!queue.contains(&session), "a session has one place in a queue");
        queue.insert(at.min(queue.len()), session);
    }

    pub(crate) fn remove(&mut self, key: LockKey, session: SessionId) {
        let queues = Arc::make_mut(&mut self.0);
        if let Some(queue) = queues.get_mut(&key) {
            queue.retain(|waiter| *waiter != session);
            if queue.is_empty() {
                queues.remove(&key);
            }
        }
    }

    /// Puts a queue into another order.
    pub(crate) fn reorder(&mut self, key: LockKey, order: Vec<SessionId>) {
        if let Some(queue) = Arc::make_mut(&mut self.0).get_mut(&key) {
            debug_assert!(
                queue.len() == order.len() && queue.iter().all(|waiter| order.contains(waiter)),
                "a queue that is put into another order keeps its waiters"
            );
            *queue = order;
        }
    }
}

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The lock can be taken now.
    Granted,
    /// It must be waited for, at this place in the queue.
    Queue(usize),
    /// Waiting would be a deadlock.
    Deadlock,
}

/// What becomes of a request by a session that holds `held` on the key. One who does not want to wait is not let pass
/// either.
pub(crate) fn request(
    db: &Database,
    me: SessionId,
    held: Modes,
    (key, mode): (LockKey, TableLockMode),
    waits: bool,
) -> Answer {
    let excluded = conflicts(mode);
    let taken = held_by_others(db, me, key);
    let queue = db.queues.of(key);
    let waited_for = queue.iter().filter_map(|&id| wanted(db, id)).fold(Modes::NONE, Modes::with);
    if held.contains(mode) || (!excluded.meets(taken) && !excluded.meets(waited_for)) {
        return Answer::Granted;
    }
    let mut ahead = Modes::NONE;
    for (place, &waiter) in queue.iter().enumerate().filter(|_| waits && !held.is_empty()) {
        let Some(theirs) = wanted(db, waiter) else { continue };
        if conflicts(theirs).meets(held) {
            return match excluded {
                _ if excluded.meets(db.sessions[waiter.0].holds(key)) => Answer::Deadlock,
                _ if !excluded.meets(ahead) && !excluded.meets(taken) => Answer::Granted,
                _ => Answer::Queue(place),
            };
        }
        ahead = ahead.with(theirs);
    }
    Answer::Queue(queue.len())
}

/// The sessions that one who waits for a mode waits for: holders, and those ahead in the queue.
pub(super) fn blockers(db: &Database, me: SessionId, key: LockKey, mode: TableLockMode) -> SessionSet {
    let excluded = conflicts(mode);
    let mut blockers = hard_blockers(db, me, key, excluded);
    for &ahead in db.queues.of(key).iter().take_while(|id| **id != me) {
        let conflicting = wanted(db, ahead).is_some_and(|mode| excluded.contains(mode));
        if conflicting && !blockers.contains(&ahead) {
            blockers.push(ahead);
        }
    }
    blockers
}

/// The other sessions that hold one of these modes.
pub(super) fn hard_blockers(db: &Database, me: SessionId, key: LockKey, excluded: Modes) -> SessionSet {
    db.sessions_except(me).filter(|(_, s)| s.holds(key).meets(excluded)).map(|(id, _)| id).collect()
}

/// The mode that a session waits for in a queue.
pub(crate) fn wanted(db: &Database, session: SessionId) -> Option<TableLockMode> {
    match db.sessions[session.0].wait.as_ref()?.target {
        Target::Heavy { mode, .. } => Some(mode),
        _ => None,
    }
}

fn held_by_others(db: &Database, me: SessionId, key: LockKey) -> Modes {
    db.sessions_except(me).fold(Modes::NONE, |sum, (_, s)| sum.union(s.holds(key)))
}

impl SessionState {
    /// What it holds on a key, by its transaction and by itself.
    pub(crate) fn holds(&self, key: LockKey) -> Modes {
        let of_transaction = self.transaction.as_ref().and_then(|t| t.heavy.get(&key)).copied().unwrap_or_default();
        match key {
            LockKey::Table(_) | LockKey::Sequence(_) => of_transaction,
            LockKey::Advisory(_) | LockKey::AdvisoryPair(..) => of_transaction.union(self.advisory_modes(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_the_documented_one() {
        let line = |mode: TableLockMode| -> String {
            TableLockMode::ALL.iter().map(|&other| if conflicts(mode).contains(other) { 'X' } else { '.' }).collect()
        };
        let rows: Vec<String> = TableLockMode::ALL.iter().map(|&mode| line(mode)).collect();
        let documented =
            [".......X", "......XX", "....XXXX", "...XXXXX", "..XX.XXX", "..XXXXXX", ".XXXXXXX", "XXXXXXXX"];
        assert_eq!(rows, documented);
    }

    #[test]
    fn conflicts_go_both_ways() {
        for a in TableLockMode::ALL {
            for b in TableLockMode::ALL {
                assert_eq!(conflicts(a).contains(b), conflicts(b).contains(a), "{a} and {b}");
            }
        }
    }
}
