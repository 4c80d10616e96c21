//! What holds of a database whenever no session is at work.
//!
//! Locks, waits, stacks and transactions are kept in different places, and each must fit the others: a lock that is
//! held conflicts with no other, one who waits for a key is in its queue, a row that is written is locked by its
//! writer. Nothing here is needed to run; builds with debug assertions look at it after every step, so that every test
//! that runs a program, written or generated, looks for a state that should not be.

use isolde_sql::ast::{Isolation, LockStrength};

use crate::database::Database;
use crate::lock::{LockKey, Target, Wants, conflicts, row_conflict};
use crate::session::{Frame, Part, Progress, Reply, Session, SessionId, Stack};
use crate::transaction::{Change, First, Transaction};

impl Database {
    /// Looks at a session that was just put back, and at what it shares with others.
    pub(crate) fn assert_at_rest(&self, session: SessionId, reply: Option<&Reply>) {
        if !cfg!(debug_assertions) {
            return;
        }
        let s = &*self.sessions[session.0];
        assert!(reply.is_none() || s.stack.is_idle(), "who has answered has nothing left to do");
        assert!(reply.is_some() || !s.stack.is_idle(), "who has not answered has something to do");
        assert_stack(&s.stack);
        self.assert_session(s);
        self.assert_wait(session, s);
        if let Some(t) = &s.transaction {
            self.assert_transaction(t);
            self.assert_locks(session, s, t);
        }
        self.assert_queues();
    }

    fn assert_session(&self, s: &Session) {
        let idle = s.stack.is_idle();
        assert!(s.granted.is_none() || !idle, "what a wait has brought is taken by the call that waited");
        assert!(s.stack.running().all(|run| !run.view.is_after(self.epoch)), "no snapshot is of the future");
        assert!(s.prepared_as.is_none(), "a prepared transaction has no client, and does nothing by itself");
        let implicit = s.transaction.as_ref().is_some_and(|t| !t.explicit);
        assert!(
            !(idle && implicit) || s.stack.part == Part::More,
            "the transaction that a statement opened by itself ends with it, or with the last of its query string"
        );
        assert!(s.stack.committing.is_none() || implicit, "only an implicit transaction is committed unasked");
        assert!(
            s.stack.committing_inside.is_none() || (implicit && s.options.autocommit),
            "a statement of a routine is committed by itself only in autocommit"
        );
        assert!(
            s.transaction.is_some() || s.kept.pending.is_empty(),
            "what is said when a transaction commits needs a transaction"
        );
    }

    /// One who waits does not have what it waits for, and stands where others look for it.
    fn assert_wait(&self, id: SessionId, s: &Session) {
        let Some(wait) = &s.wait else { return };
        assert!(!s.stack.is_idle(), "only a statement, or the end of a transaction, waits");
        assert!(wait.ticket < self.next_ticket, "tickets are given out in order");
        let same =
            self.sessions_except(id).any(|(_, other)| other.wait.as_ref().is_some_and(|w| w.ticket == wait.ticket));
        assert!(!same, "no two waits have the same ticket");
        if let Some(Frame::Statement(top)) = s.stack.frames.last() {
            let calls = matches!(top.progress, Progress::Called | Progress::Between(_));
            assert!(!calls, "one who waits for a routine, or for its next fetch, waits for no lock");
        }
        match &wait.target {
            Target::Heavy { key, mode, .. } => {
                let places = self.queues.of(*key).iter().filter(|waiter| **waiter == id).count();
                assert_eq!(places, 1, "one who waits for a key has one place in its queue");
                let advisory = matches!(key, LockKey::Advisory(_) | LockKey::AdvisoryPair(..));
                assert!(advisory || !s.holds(*key).contains(*mode), "a lock that is held is not waited for");
            }
            Target::Row(target) => {
                assert!(s.transaction.is_some(), "only a transaction waits for a row");
                if let (Wants::Lock(strength), None) = (target.wants, target.seen) {
                    let weaker = s.lock_on(target.row).is_none_or(|held| held.strength < strength);
                    assert!(weaker, "a lock that is held is not waited for");
                }
            }
            Target::SafeSnapshot(serial) => {
                let own = s.transaction.as_ref().and_then(|t| t.serial);
                assert_eq!(own, Some(*serial), "a session waits for its own snapshot to be safe");
            }
            Target::Time(_) => assert!(self.timed, "only where time passes can it be waited for"),
        }
    }

    /// A transaction and what it has done fit each other, and the database.
    fn assert_transaction(&self, t: &Transaction) {
        assert!(!t.failed || t.explicit, "a transaction that nobody opened ends when it fails");
        assert!(
            !t.failed || !t.savepoints.is_empty() || t.is_quiet(),
            "a transaction that has failed holds no more than its savepoints do"
        );
        let numbered = t.xid.is_some() || (t.writes.is_empty() && t.locks.is_empty());
        assert!(numbered, "a transaction that has written or locked a row has a number");
        assert!(t.xid.is_none_or(|xid| xid < self.next_xid), "numbers of transactions are given out in order");
        let holders = self
            .all_sessions()
            .filter(|(_, s)| t.xid.is_some() && s.transaction.as_ref().is_some_and(|o| o.xid == t.xid));
        assert!(holders.count() <= 1, "no two transactions have the same number");
        assert!(t.snapshot.as_ref().is_none_or(|s| !s.is_after(self.epoch)), "no snapshot is of the future");
        assert!(!t.view_is_after(self.epoch), "no view is of the future");
        assert!(
            t.serial.is_none() || t.isolation == Isolation::Serializable,
            "only serializable transactions are watched"
        );
        let mut written = 0;
        for savepoint in &t.savepoints {
            assert!(savepoint.written() >= written, "a savepoint has what those before it have");
            written = savepoint.written();
        }
        assert!(t.failed || t.written >= written, "a transaction has what its savepoints have");
        t.writes.iter().for_each(|(_, change)| self.assert_change(change));
        if t.definitions.is_empty() && !self.faults.no_write_lock {
            for (row, change) in &t.writes {
                let there = self.committed.version(*row).is_some();
                assert_eq!(there, change.before.is_some(), "the committed version of a written row stays until COMMIT");
            }
        }
    }

    /// The versions of a row form a chain.
    fn assert_change(&self, change: &Change) {
        assert_eq!(change.before.is_none(), change.first == First::Insert, "a row without a committed version is new");
        assert!(change.before.is_some() || change.after.is_some(), "a row that came and went is no change");
        let Some(tuple) = &change.after else { return };
        assert!(tuple.position < self.next_position, "positions are given out in order");
        assert!(tuple.replaces < tuple.position, "a version is younger than the one it replaces");
        assert!(tuple.key_position <= tuple.position, "a version has its key from itself or from an older one");
        assert!(tuple.entry_position <= tuple.position, "a version is found by its own entries or by older ones");
    }

    /// Locks that are held conflict with no others, and cover what is written.
    fn assert_locks(&self, id: SessionId, s: &Session, t: &Transaction) {
        for row in t.writes.keys() {
            let locked = t.locks.get(row).is_some_and(|held| held.strength >= LockStrength::NoKeyUpdate);
            assert!(locked, "a row that is written is locked by its writer");
        }
        for (other_id, other) in self.sessions_except(id) {
            for (row, held) in t.locks.iter().filter(|_| !self.faults.no_write_lock) {
                let conflict = other.lock_on(*row).is_some_and(|theirs| row_conflict(held.strength, theirs.strength));
                assert!(!conflict, "{id:?} and {other_id:?} hold locks on row {row:?} that exclude each other");
            }
            for key in t.heavy.keys().chain(s.advisory.keys()) {
                let theirs = other.holds(*key);
                let conflict = s.holds(*key).iter().any(|mode| conflicts(mode).meets(theirs));
                assert!(!conflict, "{id:?} and {other_id:?} hold locks on {key:?} that exclude each other");
            }
        }
    }

    /// In a queue are those who wait for its key, and no others.
    fn assert_queues(&self) {
        for (key, queue) in self.queues.iter() {
            assert!(!queue.is_empty(), "only keys that are waited for have a queue");
            for waiter in queue {
                let target = self.sessions[waiter.0].wait.as_ref().map(|wait| &wait.target);
                let waits = matches!(target, Some(Target::Heavy { key: wanted, .. }) if wanted == key);
                assert!(waits, "who is in a queue waits for its key");
            }
        }
    }
}

/// Statements and routines alternate as they call each other.
fn assert_stack(stack: &Stack) {
    let frames = &stack.frames;
    assert!(frames.first().is_none_or(is_statement), "at the bottom is what the client sent");
    assert!(
        stack.is_committing() || frames.last().is_none_or(is_statement),
        "a routine rests before its next statement or its commit, never between two instructions"
    );
    for pair in frames.windows(2) {
        let called = matches!(&pair[0], Frame::Statement(below) if matches!(below.progress, Progress::Called));
        assert!(!called || !is_statement(&pair[1]), "what CALL or DO has called is a routine");
        assert!(is_statement(&pair[0]) || is_statement(&pair[1]), "a routine is called by a statement");
        let between = matches!(&pair[0], Frame::Statement(below) if matches!(below.progress, Progress::Between(_)));
        assert!(!between, "a statement that rests between two fetches calls nothing");
    }
    if let Some(Frame::Statement(top)) = frames.last() {
        assert!(!matches!(top.progress, Progress::Called), "above what has called a routine is the routine");
    }
    for cursor in &stack.cursors {
        let rests = cursor.rest.as_ref().is_none_or(|rest| matches!(rest.progress, Progress::Between(_)));
        assert!(rests, "the statement of a cursor rests between two fetches");
    }
    let routines =
        frames.iter().filter_map(|frame| if let Frame::Routine(routine) = frame { Some(routine) } else { None });
    for open in routines.flat_map(|routine| routine.loops.iter().flatten()) {
        let rests = open.rest.as_ref().is_none_or(|rest| matches!(rest.progress, Progress::Between(_)));
        assert!(rests, "the statement of a loop rests between two fetches");
    }
}

fn is_statement(frame: &Frame) -> bool {
    matches!(frame, Frame::Statement(_))
}
