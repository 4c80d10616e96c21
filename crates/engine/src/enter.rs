//! Before a statement begins: it is bound to the definitions of the moment, and has its tables.
//!
//! A statement that was bound earlier may meet other definitions when it runs, or after it has waited for a table. It
//! is then bound again, as PostgreSQL plans again when it finds that something has changed.

use std::sync::Arc;

use isolde_sql::ast::Isolation;
use isolde_sql::refused::Construct;
use isolde_sql::typed::StatementKind;
use isolde_sql::{SqlError, SqlState};

use crate::LockKey;
use crate::footprint::SnapshotTaken;
use crate::lock::NotGranted;
use crate::machine::{Machine, Ran, read_only};
use crate::prepare::{Plan, Prepared};
use crate::routine::Instruction;
use crate::session::{Frame, Stack};
use crate::transaction::Transaction;

/// What LOCK TABLE says where its lock would be gone at once.
pub(crate) const LOCK_OUTSIDE: &str = "LOCK TABLE can only be used in transaction blocks";

impl Stack {
    /// Whether what runs is part of a transaction that outlives it.
    pub(crate) fn is_in_block(&self, transaction: Option<&Transaction>) -> bool {
        self.frames.len() > 1 || transaction.is_some_and(|t| t.explicit)
    }
}

impl Machine<'_> {
    /// Before a statement begins, it has its tables: it waits for them if need be.
    pub(crate) fn enter_statement(&mut self) -> Result<(), Ran> {
        let Some(Frame::Statement(frame)) = self.stack.frames.last() else { return Ok(()) };
        if !frame.progress.is_new() {
            return Ok(());
        }
        let reads = !matches!(frame.prepared.plan, Plan::Call(_) | Plan::Do(_) | Plan::Other)
            || matches!(frame.prepared.statement.kind, StatementKind::Truncate(_) | StatementKind::Define(_))
            // With arguments that look at tables.
            || (matches!(frame.prepared.plan, Plan::Call(_)) && frame.prepared.visible);
        if frame.prepared.lock_table().is_some() && !self.stack.is_in_block(self.session.transaction.as_ref()) {
            // Before anybody asks whether there is such a table.
            return Err(self.fail(SqlError::new(SqlState::NO_ACTIVE_TRANSACTION, LOCK_OUTSIDE)));
        }
        let prepared = frame.prepared.clone();
        let kind = &prepared.statement.kind;
        let keeps =
            matches!(kind, StatementKind::Define(_) | StatementKind::Truncate(_) | StatementKind::SetConstraints(_));
        if keeps && self.session.transaction.is_none() {
            // In a thread with autocommit, a routine has no transaction between two of its statements.
            self.session.begin_implicit(self.db.clock);
        }
        match kind {
            StatementKind::Define(_) => self.exec().reserve_numbers(),
            StatementKind::Truncate(_) if self.session.is_read_only() => {
                return Err(self.fail(read_only("TRUNCATE TABLE")));
            }
            _ => {}
        }
        let mut prepared = self.bind_again()?;
        if reads && let Err(target) = self.exec().take_serial_snapshot() {
            return Err(self.begin_wait(target));
        }
        if prepared.locks.is_empty() {
            return Ok(());
        }
        if prepared.late {
            self.lock_tables_of(&prepared)?;
            prepared = self.bind_late(&prepared)?;
        }
        self.lock_tables_of(&prepared)
    }

    /// The statement at the top, bound again if definitions have changed since.
    fn bind_again(&mut self) -> Result<Arc<Prepared>, Ran> {
        let Some(Frame::Statement(frame)) = self.stack.frames.last() else {
            unreachable!("a statement is at the top of the stack")
        };
        let prepared = frame.prepared.clone();
        let is_bound = matches!(prepared.statement.kind, StatementKind::Transaction(_) | StatementKind::Set { .. });
        let version = self.catalog().version();
        let is_current = match prepared.late {
            // It is bound as soon as it has its locks.
            true => !prepared.locks.is_empty(),
            false => is_bound || prepared.version == version,
        };
        if is_current { Ok(prepared) } else { self.bind_late(&prepared) }
    }

    fn bind_late(&mut self, prepared: &Arc<Prepared>) -> Result<Arc<Prepared>, Ran> {
        let schema = self.schema().clone();
        let bound = match prepared.again(&schema.catalog) {
            Some(bound) => bound.map(Arc::new).map_err(SqlError::from),
            None => self.bind_in_routine(prepared),
        };
        if bound.is_err() && prepared.is_bound_under_snapshot() {
            self.take_snapshot_to_bind();
        }
        let bound = bound.map_err(|error| self.fail(error))?;
        if let Some(Frame::Statement(frame)) = self.stack.frames.last_mut() {
            frame.prepared = bound.clone();
        }
        Ok(bound)
    }

    /// A statement of a routine that was compiled for other definitions: the same place in the routine as it is
    /// compiled now.
    fn bind_in_routine(&mut self, prepared: &Arc<Prepared>) -> Result<Arc<Prepared>, SqlError> {
        let schema = self.schema().clone();
        let below = self.stack.frames.len().saturating_sub(2);
        let Some(Frame::Routine(frame)) = self.stack.frames.get(below) else { return Ok(prepared.clone()) };
        let code = match frame.code.routine {
            Some(routine) => schema.code(routine)?,
            None => return Ok(prepared.clone()),
        };
        let place = frame.at.checked_sub(1).and_then(|at| code.instructions.get(at));
        match place {
            Some(Instruction::Run(bound, _)) if bound.statement.text == prepared.statement.text => Ok(bound.clone()),
            _ => Err(SqlError::unsupported(Construct::ROUTINE_OF_CHANGED_DEFINITIONS)),
        }
    }

    /// Takes the table locks of a statement, or waits.
    fn lock_tables_of(&mut self, prepared: &Prepared) -> Result<(), Ran> {
        let nowait = prepared.lock_table().unwrap_or_else(|| {
            self.take_kept_snapshot();
            false
        });
        for &(key, mode) in prepared.locks.iter() {
            let locked =
                self.locks().lock_heavy(key, mode, nowait).and_then(|()| match (&prepared.statement.kind, key) {
                    (StatementKind::Truncate(truncate), LockKey::Table(table)) => {
                        self.exec().refuse_pending(truncate, table).map_err(NotGranted::Error)
                    }
                    _ => Ok(()),
                });
            match locked {
                Ok(()) => {}
                Err(NotGranted::Wait(target)) => return Err(self.begin_wait(target)),
                Err(NotGranted::Error(error)) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    /// A transaction that keeps its snapshot takes it before it waits for tables.
    fn take_kept_snapshot(&mut self) {
        if !self.db.tracks_table_locks {
            return;
        }
        if self.session.transaction.is_none() {
            self.session.begin_implicit(self.db.clock);
        }
        self.take_snapshot_if_kept();
    }

    /// Names are looked up under a snapshot, which stays even if one is not found.
    pub(crate) fn take_snapshot_to_bind(&mut self) {
        if self.session.transaction.as_ref().is_none_or(|t| t.failed) {
            return;
        }
        self.session.mark_queried();
        self.take_snapshot_if_kept();
        // One that would have to wait for a safe snapshot fails before.
        let _ = self.exec().take_serial_snapshot();
    }

    /// Takes the snapshot of a transaction that keeps one and has none yet.
    pub(crate) fn take_snapshot_if_kept(&mut self) {
        let (db, schema, session) = (&*self.db, self.schema().clone(), &mut self.session);
        let new = |t: &&mut Transaction| t.isolation == Isolation::RepeatableRead && t.snapshot.is_none() && !t.failed;
        if let Some(t) = session.transaction.as_mut().filter(new) {
            t.begin_statement(&schema.catalog, &db.committed, &session.reach, db.epoch);
            self.footprint.snapshot = Some(SnapshotTaken::Transaction);
        }
    }
}
