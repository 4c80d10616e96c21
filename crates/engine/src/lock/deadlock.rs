//! Deadlocks: cycles of those who wait for each other.
//!
//! An edge is *hard* if the other holds what I want, *soft* if the other is merely ahead of me in a queue. A cycle of
//! hard edges costs one of its members its transaction. A cycle with soft edges is undone by changing the order of a
//! queue: PostgreSQL tries to turn the soft edges around, the one found deepest first, and turns further ones if that
//! closes another cycle. Each session looks only for cycles through itself, once per wait.

use isolde_sql::{SqlError, SqlState};

use super::heavy::{LockKey, conflicts, hard_blockers, wanted};
use super::{SessionSet, Target, Wait, row};
use crate::database::Database;
use crate::session::SessionId;

/// What a look for deadlocks finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No cycle.
    Free,
    /// Cycles that go away if these queues get this order.
    Reorder(Vec<(LockKey, Vec<SessionId>)>),
    /// A cycle that costs a victim.
    Deadlock,
}

/// 40P01
pub(crate) fn detected() -> SqlError {
    SqlError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
}

/// Looks for cycles through a session that waits.
pub(crate) fn check(db: &Database, session: SessionId) -> Verdict {
    let mut search = Search { db, constraints: Vec::new() };
    match search.solve(session) {
        None => Verdict::Deadlock,
        Some(orders) if orders.is_empty() => Verdict::Free,
        Some(orders) => Verdict::Reorder(orders),
    }
}

/// A soft edge: `waiter` is behind `blocker` in the queue for a key. As a constraint: it shall be before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Soft {
    key: LockKey,
    waiter: SessionId,
    blocker: SessionId,
}

type Orders = Vec<(LockKey, Vec<SessionId>)>;

struct Search<'a> {
    db: &'a Database,
    /// Edges that are to be turned around.
    constraints: Vec<Soft>,
}

impl Search<'_> {
    /// Orders of queues under which no cycle passes through the session, if there are any.
    fn solve(&mut self, session: SessionId) -> Option<Orders> {
        let orders = self.orders()?;
        let soft = match self.find(session, &orders) {
            Cycle::None => return Some(orders),
            Cycle::Hard => return None,
            Cycle::Soft(edges) => edges,
        };
        for edge in soft {
            self.constraints.push(edge);
            if let Some(orders) = self.solve(session) {
                return Some(orders);
            }
            self.constraints.pop();
        }
        None
    }

    /// A cycle through the session, or through somebody whom the constraints have moved.
    fn find(&self, session: SessionId, orders: &Orders) -> Cycle {
        let moved = self.constraints.iter().flat_map(|c| [c.waiter, c.blocker]);
        let mut found = Cycle::None;
        for start in moved.chain([session]) {
            let mut walk = Walk { db: self.db, orders, start, seen: Vec::new(), soft: Vec::new() };
            if walk.reaches_start(start) {
                if walk.soft.is_empty() {
                    return Cycle::Hard;
                }
                found = Cycle::Soft(walk.soft);
            }
        }
        found
    }

    /// The queues with the constraints fulfilled; `None` if they contradict each other.
    fn orders(&self) -> Option<Orders> {
        let mut keys: Vec<LockKey> = self.constraints.iter().map(|c| c.key).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter().map(|key| Some((key, self.order(key)?))).collect()
    }

    /// A queue from behind: the last one that need not be before anybody who is still to be placed.
    fn order(&self, key: LockKey) -> Option<Vec<SessionId>> {
        let mut rest: Vec<SessionId> = self.db.queues.of(key).to_vec();
        let mut order = Vec::new();
        while !rest.is_empty() {
            let goes_before = |session: SessionId| {
                self.constraints.iter().any(|c| c.key == key && c.waiter == session && rest.contains(&c.blocker))
            };
            let last = rest.iter().rposition(|&session| !goes_before(session))?;
            order.push(rest.remove(last));
        }
        order.reverse();
        Some(order)
    }
}

enum Cycle {
    None,
    Hard,
    /// With the soft edges on it, deepest first.
    Soft(Vec<Soft>),
}

/// A search along waits, depth first.
struct Walk<'a> {
    db: &'a Database,
    orders: &'a Orders,
    start: SessionId,
    seen: Vec<SessionId>,
    soft: Vec<Soft>,
}

impl Walk<'_> {
    fn reaches_start(&mut self, session: SessionId) -> bool {
        if self.seen.contains(&session) {
            return session == self.start;
        }
        self.seen.push(session);
        let Some(wait) = &self.db.sessions[session.0].wait else { return false };
        match &wait.target {
            Target::Row(target) => {
                let on = row::blockers(self.db, session, target, wait.ticket);
                on.into_iter().any(|next| self.reaches_start(next))
            }
            Target::Heavy { key, mode, .. } => {
                let excluded = conflicts(*mode);
                let holders = hard_blockers(self.db, session, *key, excluded);
                if holders.into_iter().any(|next| self.reaches_start(next)) {
                    return true;
                }
                let queue = self.orders.iter().find(|(k, _)| k == key).map(|(_, order)| order.as_slice());
                let queue = queue.unwrap_or_else(|| self.db.queues.of(*key)).to_vec();
                for ahead in queue.into_iter().take_while(|id| *id != session) {
                    let conflicting = wanted(self.db, ahead).is_some_and(|mode| excluded.contains(mode));
                    if conflicting && self.reaches_start(ahead) {
                        self.soft.push(Soft { key: *key, waiter: session, blocker: ahead });
                        return true;
                    }
                }
                false
            }
            Target::Time(_) | Target::SafeSnapshot(_) => false,
        }
    }
}

/// The sessions that wait in a cycle which no queue can be blamed for, in order: whichever of them PostgreSQL's check
/// finds first is the victim.
pub(crate) fn members(db: &Database) -> Vec<SessionId> {
    let waits = |id: SessionId| -> Option<&Wait> { db.sessions[id.0].wait.as_ref() };
    let all = (0..db.sessions.len()).map(SessionId);
    if db.queues.is_empty() {
        let waits_for: Vec<SessionSet> =
            all.map(|id| waits(id).map_or_else(SessionSet::new, |wait| super::blockers(db, id, wait))).collect();
        return cycle(&waits_for);
    }
    all.filter(|&id| waits(id).is_some() && check(db, id) == Verdict::Deadlock).collect()
}

/// The members of all wait cycles.
fn cycle(waits_for: &[SessionSet]) -> Vec<SessionId> {
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
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn only_members_of_a_cycle_are_victims() {
        // 0 waits for 1, 1 for 2, 2 for 1: 0 is stuck behind the cycle, but not in it.
        let waits: Vec<SessionSet> = vec![smallvec![SessionId(1)], smallvec![SessionId(2)], smallvec![SessionId(1)]];
        assert_eq!(cycle(&waits), [SessionId(1), SessionId(2)]);
    }
}
