//! A session takes the locks of a statement, waits, and goes on.

use isolde_sql::ast::TableLockMode;
use isolde_sql::catalog::TableId;
use isolde_sql::refused::Construct;
use isolde_sql::{SqlError, SqlState};

use super::heavy::is_weak;
use super::{Answer, LockKey, RowWait, Scope, Target, Wait, Wants, deadlock, request};
use crate::exec::Stop;
use crate::footprint::{HeavyEvent, LockEvent, LockEventKind};
use crate::machine::{Machine, Ran};
use crate::session::Granted;

impl Machine<'_> {
    /// Locks a table: see [`Machine::lock_heavy`].
    pub(crate) fn lock_table(&mut self, table: TableId, mode: TableLockMode) -> Result<(), Stop> {
        self.lock_heavy(LockKey::Table(table), mode, false)
    }

    /// Locks a table or a sequence until the transaction ends, or says what to wait for. Where no strong lock can occur
    /// the weak ones are not even remembered.
    pub(crate) fn lock_heavy(&mut self, key: LockKey, mode: TableLockMode, nowait: bool) -> Result<(), Stop> {
        if !self.db.tracks_table_locks {
            return if is_weak(mode) { Ok(()) } else { self.refuse_untracked() };
        }
        let held = self.session.holds(key);
        if held.contains(mode) {
            return Ok(());
        }
        if mode == TableLockMode::AccessExclusive && self.session.transaction.is_some() {
            // Standby servers are told who has it, by number.
            self.assign_xid();
        }
        match request(self.db, self.me, held, (key, mode), !nowait) {
            Answer::Granted => {
                self.footprint.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Taken });
                self.session.take_heavy(key, mode, Scope::Transaction);
                Ok(())
            }
            _ if nowait => {
                self.footprint.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Refused });
                let name = match key {
                    LockKey::Table(table) => &*self.catalog().table(table).name,
                    _ => unreachable!("only LOCK TABLE does not wait"),
                };
                let message = format!("could not obtain lock on relation \"{name}\"");
                Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message).into())
            }
            Answer::Queue(_) => {
                self.footprint.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Queued });
                Err(Stop::Wait(Target::Heavy { key, mode, scope: Scope::Transaction }))
            }
            Answer::Deadlock => {
                self.footprint.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Refused });
                Err(deadlock::detected().into())
            }
        }
    }

    /// Nobody has kept account of weak locks, so a strong one is for those who are alone.
    fn refuse_untracked(&mut self) -> Result<(), Stop> {
        self.footprint.everything = true;
        if self.others().all(|(_, session)| session.transaction.is_none()) {
            return Ok(());
        }
        Err(SqlError::unsupported(Construct::UNFORESEEN_TABLE_LOCK).into())
    }

    /// The statement at the top of the stack waits.
    pub(crate) fn begin_wait(&mut self, target: Target) -> Ran {
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
        Ran::Blocked
    }

    /// The wait is over, and what it was for is had; what is locked by rows is looked at again instead.
    pub(crate) fn end_wait(&mut self) {
        match self.leave_queue() {
            Some(Target::Heavy { key, mode, scope }) => {
                self.footprint.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Taken });
                self.session.take_heavy(key, mode, scope);
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
                self.db.queues.remove(*key, self.me);
                self.footprint.heavy.push(HeavyEvent { key: *key, mode: *mode, kind });
            }
            Target::Row(RowWait { row, wants: Wants::Lock(strength) | Wants::Upgrade(strength), .. }) => {
                let (table, row) = *row;
                self.footprint.locks.push(LockEvent { table, row, strength: *strength, kind });
            }
            Target::Row(RowWait { wants: Wants::Outcome(_), .. }) | Target::Time(_) | Target::SafeSnapshot(_) => {}
        }
        Some(target)
    }
}
