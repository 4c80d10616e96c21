//! One session and everybody's locks: taking, waiting, going on.
//!
//! [`Locks`] borrows what locking needs and nothing else: the database for what others hold and queue for, the
//! session's own state for what it holds itself, and the three places of a footprint that tell of locks. Every request
//! of a session goes through it, whether a statement, a function inside an expression or the end of a wait makes it.

use isolde_sql::ast::{LockStrength, TableLockMode};
use isolde_sql::catalog::TableId;
use isolde_sql::refused::Construct;
use isolde_sql::{SqlError, SqlState};

use super::heavy::is_weak;
use super::{Answer, LockKey, RowRef, RowWait, Scope, Target, Wait, Wants, deadlock, holders, request};
use crate::database::Database;
use crate::eval::Interrupt;
use crate::exec::Stop;
use crate::footprint::{HeavyEvent, LockEvent, LockEventKind};
use crate::session::{Granted, SessionId, SessionState};

/// What locking needs of a session at work, borrowed.
pub(crate) struct Locks<'m> {
    pub(crate) db: &'m mut Database,
    pub(crate) me: SessionId,
    pub(crate) session: &'m mut SessionState,
    /// The footprint's lock events on rows.
    pub(crate) rows: &'m mut Vec<LockEvent>,
    /// The same on tables, sequences and advisory keys.
    pub(crate) heavy: &'m mut Vec<HeavyEvent>,
    /// The footprint's word for what has no event of its own.
    pub(crate) everything: &'m mut bool,
}

/// Why a lock on a table, a sequence or an advisory key was not granted.
#[derive(Debug)]
pub(crate) enum NotGranted {
    /// It must be waited for.
    Wait(Target),
    /// It is refused.
    Error(SqlError),
}

impl From<NotGranted> for Stop {
    fn from(not_granted: NotGranted) -> Self {
        match not_granted {
            NotGranted::Wait(target) => Stop::Wait(target),
            NotGranted::Error(error) => Stop::Error(error),
        }
    }
}

impl From<NotGranted> for Interrupt {
    fn from(not_granted: NotGranted) -> Self {
        match not_granted {
            NotGranted::Wait(target) => Interrupt::Wait(target),
            NotGranted::Error(error) => Interrupt::Error(error),
        }
    }
}

/// Locks on rows.
impl Locks<'_> {
    /// Locks a row as seen in a version, or says what to wait for. A request that meets no conflicting holder overtakes
    /// those who wait.
    pub(crate) fn acquire(
        &mut self,
        row: RowRef,
        version: u64,
        strength: LockStrength,
        waits: bool,
    ) -> Result<(), Wants> {
        debug_assert!(self.session.wait.is_none(), "a session that waits asks for nothing else");
        let held = self.session.transaction().locks.get(&row).copied();
        if held.is_some_and(|held| held.strength >= strength) {
            return Ok(());
        }
        let ignored = self.db.faults.no_write_lock;
        let busy = !ignored && !holders(self.db.sessions_except(self.me), self.me, row, strength).is_empty();
        if busy {
            self.note_conflict(row, strength, waits);
            return Err(if held.is_some() { Wants::Upgrade(strength) } else { Wants::Lock(strength) });
        }
        if waits && self.db.row_steps && self.has_locked_another(row) {
            // Nobody is in the way: the wait is over as soon as it begins, and has no place in the queue.
            self.note_conflict(row, strength, waits);
            return Err(Wants::Upgrade(strength));
        }
        self.rows.push(LockEvent { table: row.0, row: row.1, strength, kind: LockEventKind::Taken });
        self.assign_xid();
        self.session.transaction_mut().lock(row, strength, version);
        debug_assert!(
            self.session.lock_on(row).is_some_and(|held| held.strength >= strength),
            "a lock that was granted is held, at least as strong as asked for"
        );
        Ok(())
    }

    /// Whether this step has locked a row other than this one.
    fn has_locked_another(&self, row: RowRef) -> bool {
        self.rows.iter().any(|l| l.kind == LockEventKind::Taken && (l.table, l.row) != row)
    }

    /// Notes in the footprint that another session has a row.
    pub(crate) fn note_conflict(&mut self, row: RowRef, strength: LockStrength, waits: bool) {
        let kind = if waits { LockEventKind::Queued } else { LockEventKind::Refused };
        self.rows.push(LockEvent { table: row.0, row: row.1, strength, kind });
    }

    /// A transaction that writes or locks has a number.
    pub(crate) fn assign_xid(&mut self) {
        let transaction = self.session.transaction_mut();
        debug_assert!(!transaction.failed, "a transaction that has failed neither writes nor locks");
        if transaction.xid.is_none() {
            transaction.xid = Some(self.db.next_xid);
            self.db.next_xid += 1;
        }
        if self.db.waits_in_turn {
            transaction.number_savepoints(&mut self.db.next_xid);
        }
    }
}

/// Locks on tables, sequences and advisory keys.
impl Locks<'_> {
    /// Locks a table: see [`Locks::lock_heavy`].
    pub(crate) fn lock_table(&mut self, table: TableId, mode: TableLockMode) -> Result<(), NotGranted> {
        self.lock_heavy(LockKey::Table(table), mode, false)
    }

    /// Locks a table or a sequence until the transaction ends, or says what to wait for. Where no strong lock can occur
    /// the weak ones are not even remembered.
    pub(crate) fn lock_heavy(&mut self, key: LockKey, mode: TableLockMode, nowait: bool) -> Result<(), NotGranted> {
        if !self.db.tracks_table_locks {
            return if is_weak(mode) { Ok(()) } else { self.refuse_untracked() };
        }
        if self.session.holds(key).contains(mode) {
            return Ok(());
        }
        if mode == TableLockMode::AccessExclusive && self.session.transaction.is_some() {
            // Standby servers are told who has it, by number.
            self.assign_xid();
        }
        match self.ask(key, mode, Scope::Transaction, !nowait) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let name = match key {
                    LockKey::Table(table) => &*self.session.schema(self.db).catalog.table(table).name,
                    _ => unreachable!("only LOCK TABLE does not wait"),
                };
                let message = format!("could not obtain lock on relation \"{name}\"");
                Err(NotGranted::Error(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message)))
            }
            Err(not_granted) => Err(not_granted),
        }
    }

    /// Takes a lock if that is possible now; one who does not wait is told whether it was.
    pub(crate) fn ask(
        &mut self,
        key: LockKey,
        mode: TableLockMode,
        scope: Scope,
        waits: bool,
    ) -> Result<bool, NotGranted> {
        debug_assert!(self.session.wait.is_none(), "a session that waits asks for nothing else");
        let answer = request(self.db, self.me, self.session.holds(key), (key, mode), waits);
        let kind = match answer {
            Answer::Granted => LockEventKind::Taken,
            Answer::Queue(_) if waits => LockEventKind::Queued,
            Answer::Queue(_) | Answer::Deadlock => LockEventKind::Refused,
        };
        self.heavy.push(HeavyEvent { key, mode, kind });
        match answer {
            Answer::Granted => {
                self.take(key, mode, scope);
                Ok(true)
            }
            _ if !waits => Ok(false),
            Answer::Queue(_) => Err(NotGranted::Wait(Target::Heavy { key, mode, scope })),
            Answer::Deadlock => Err(NotGranted::Error(deadlock::detected())),
        }
    }

    /// A lock that was granted is held from now on.
    fn take(&mut self, key: LockKey, mode: TableLockMode, scope: Scope) {
        self.session.take_heavy(key, mode, scope);
        debug_assert!(
            scope == Scope::Transaction && self.session.transaction.is_none() || self.session.holds(key).contains(mode),
            "a lock that was granted is held"
        );
    }

    /// Weak locks are not remembered, so a strong one is for those who are alone.
    fn refuse_untracked(&mut self) -> Result<(), NotGranted> {
        *self.everything = true;
        if self.db.sessions_except(self.me).all(|(_, session)| session.transaction.is_none()) {
            return Ok(());
        }
        Err(NotGranted::Error(SqlError::unsupported(Construct::UNFORESEEN_TABLE_LOCK)))
    }
}

/// Waits.
impl Locks<'_> {
    /// The statement at the top of the stack waits.
    pub(crate) fn begin_wait(&mut self, target: Target) {
        debug_assert!(self.session.wait.is_none(), "a session waits for one thing at a time");
        if let Target::Heavy { key, mode, .. } = target {
            let place = match request(self.db, self.me, self.session.holds(key), (key, mode), true) {
                Answer::Queue(place) => place,
                Answer::Granted | Answer::Deadlock => usize::MAX,
            };
            self.db.queues.insert(key, place, self.me);
        }
        let (ticket, began) = (self.db.next_ticket, self.db.clock);
        self.db.next_ticket += 1;
        self.session.wait = Some(Wait { target, ticket, began, checked: false, first: None });
    }

    /// The wait is over, and what it was for is had; what is locked by rows is looked at again instead.
    pub(crate) fn end_wait(&mut self) {
        match self.leave_queue() {
            Some(Target::Heavy { key, mode, scope }) => {
                self.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Taken });
                self.take(key, mode, scope);
                // The others look at what is held.
                if matches!(key, LockKey::Advisory(_) | LockKey::AdvisoryPair(..)) {
                    self.session.granted = Some(Granted::Lock(key, mode, scope));
                }
            }
            Some(Target::Time(_)) => self.session.granted = Some(Granted::Slept),
            Some(Target::Row(_) | Target::SafeSnapshot(_)) | None => {}
        }
    }

    /// The wait is given up.
    pub(crate) fn leave_queue(&mut self) -> Option<Target> {
        let target = self.session.wait.take()?.target;
        let kind = LockEventKind::Left;
        match &target {
            Target::Heavy { key, mode, .. } => {
                debug_assert!(self.db.queues.of(*key).contains(&self.me), "one who waits for a key is in its queue");
                self.db.queues.remove(*key, self.me);
                self.heavy.push(HeavyEvent { key: *key, mode: *mode, kind });
            }
            Target::Row(RowWait { row, wants: Wants::Lock(strength) | Wants::Upgrade(strength), .. }) => {
                let (table, row) = *row;
                self.rows.push(LockEvent { table, row, strength: *strength, kind });
            }
            Target::Row(RowWait { wants: Wants::Outcome(_), .. }) | Target::Time(_) | Target::SafeSnapshot(_) => {}
        }
        Some(target)
    }
}
