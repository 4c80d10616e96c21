//! Row locks: who holds, who waits, who is in a cycle.
//!
//! There is no lock table. A lock is an entry in its holder's [`Transaction`]; a wait is a field of the waiting session, with a
//! ticket that says when it began. Whether a wait is over is a question put to the present state, so that
//! nothing has to be woken, and releasing is forgetting.
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
use smallvec::SmallVec;

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
}

/// What a session waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The row in question.
    pub(crate) row: RowRef,
    /// What is wanted of it.
    pub(crate) wants: Wants,
    /// The version that a transaction which keeps its snapshot saw. Once another is committed it will be refused: there is
    /// nothing left to wait for but its place in the queue, and those who share a lock on the version that it saw.
    pub(crate) seen: Option<u64>,
    /// When the wait began, counted over all waits; smaller waits longer.
    pub(crate) ticket: u64,
}

impl Wait {
    /// Whether the version it saw is no longer the newest.
    fn is_lost(&self, committed: &Tables) -> bool {
        let newest = committed.version(self.row).map(|tuple| tuple.position);
        self.seen.is_some_and(|seen| newest != Some(seen))
    }
}

/// What a waiter wants of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wants {
    /// A lock, behind those who asked before.
    Lock(LockStrength),
    /// A stronger lock than it has: it does not queue, or two upgrades would wait for each other's place.
    Upgrade(LockStrength),
    /// To know whether somebody's uncommitted change of the row lives: a unique key depends on it.
    Outcome,
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

/// Sessions, by number.
pub(crate) type SessionSet = SmallVec<[SessionId; 4]>;

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

/// The sessions other than `me` that hold a conflicting lock on a version which has been updated since. It can only be FOR
/// KEY SHARE, or it could not have been updated.
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

/// The sessions that a wait waits for; none means that it is over.
pub(crate) fn blockers<'a, I>(sessions: I, committed: &Tables, me: SessionId, wait: &Wait) -> SessionSet
where
    I: Iterator<Item = (SessionId, &'a Session)> + Clone,
{
    let holders = |sessions: I, strength| match wait.seen.filter(|_| wait.is_lost(committed)) {
        Some(seen) => old_holders(sessions, me, wait.row, seen, strength),
        None => holders(sessions, me, wait.row, strength),
    };
    match wait.wants {
        Wants::Outcome => sessions.filter(|(id, s)| *id != me && s.has_written(wait.row)).map(|(id, _)| id).collect(),
        Wants::Upgrade(strength) => holders(sessions, strength),
        Wants::Lock(strength) => {
            let mut blockers = holders(sessions.clone(), strength);
            for (id, session) in sessions {
                let ahead = session.wait.as_ref().is_some_and(|w| {
                    w.row == wait.row
                        && w.ticket < wait.ticket
                        && matches!(w.wants, Wants::Lock(s) if conflict(s, strength))
                });
                if id != me && ahead && !blockers.contains(&id) {
                    blockers.push(id);
                }
            }
            blockers
        }
    }
}

/// The members of all wait cycles, in order: whichever of them PostgreSQL's check finds first is the victim.
pub(crate) fn cycle(waits_for: &[SessionSet]) -> Vec<SessionId> {
    (0..waits_for.len()).map(SessionId).filter(|&s| reaches(waits_for, s, s)).collect()
}

fn reaches(waits_for: &[SessionSet], from: SessionId, to: SessionId) -> bool {
    let mut seen = vec![false; waits_for.len()];
    let mut open: SessionSet = waits_for[from.0].clone();
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if !std::mem::replace(&mut seen[next.0], true) {
            open.extend(waits_for[next.0].iter().copied());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use LockStrength::*;
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn the_matrix_is_the_documented_one() {
        let all = [KeyShare, Share, NoKeyUpdate, Update];
        let rows: Vec<String> =
            all.iter().map(|&a| all.iter().map(|&b| if conflict(a, b) { 'X' } else { '.' }).collect()).collect();
        assert_eq!(rows, ["...X", "..XX", ".XXX", "XXXX"]);
    }

    #[test]
    fn only_members_of_a_cycle_are_victims() {
        // 0 waits for 1, 1 for 2, 2 for 1: 0 is stuck behind the cycle, but not in it.
        let waits: Vec<SessionSet> = vec![smallvec![SessionId(1)], smallvec![SessionId(2)], smallvec![SessionId(1)]];
        assert_eq!(cycle(&waits), [SessionId(1), SessionId(2)]);
    }
}
