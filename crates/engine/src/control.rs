//! Beginning and ending transactions.

use std::sync::Arc;

use isolde_sql::ast::TransactionModes;
use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::catalog::TableId;
use isolde_sql::typed::Transaction as Control;
use isolde_sql::{SqlError, SqlState};

use crate::exec::{Produced, Settling};
use crate::footprint::{ColumnSet, Write};
use crate::lock::RowRef;
use crate::machine::{Machine, Ran, in_failed_transaction};
use crate::session::{Frame, Notice, Outcome, Part, Session};
use crate::transaction::{Change, Published, Snapshot, Transaction, heavy_released, released};

impl Machine<'_> {
    /// Opens the transaction that a statement outside of any runs in.
    pub(crate) fn begin_implicit(&mut self) {
        if self.session.options.autocommit {
            // A statement of a routine stands for one that a client sends.
            self.session.statement_began = self.db.clock;
        }
        self.session.transaction = Some(self.new_transaction(false));
    }

    fn new_transaction(&self, explicit: bool) -> Transaction {
        let options = self.session.options;
        Transaction::new(options.isolation, options.read_only, explicit)
            .deferred(options.deferrable)
            .begun_at(self.db.clock)
    }

    /// Runs a transaction command at the top of the stack.
    pub(crate) fn control(&mut self, control: &Control) -> Ran {
        let inside = self.session.frames.len() > 1;
        if matches!(control, Control::Commit { .. } | Control::Prepare(_)) {
            match self.settle_all() {
                Ok(()) => {}
                Err(Settling::Waits(ran)) => return ran,
                // COMMIT that fails has ended the transaction.
                Err(Settling::Fails(error)) if !inside => {
                    self.outcome.get_or_insert_with(|| Outcome::Error(error.clone()));
                    self.session.frames.pop();
                    self.abort();
                    return Ran::Answered(Err(error));
                }
                Err(Settling::Fails(error)) => return self.fail(error),
            }
        }
        self.session.frames.pop();
        match self.run_control(control, inside) {
            Ok(verb) => {
                let done = Produced::nothing(verb);
                match self.session.frames.is_empty() {
                    // What the string before it did is committed, unless it says BEGIN.
                    true if self.session.part != Part::Whole => self.answer(done),
                    // The transaction is what the command left: nothing is committed behind it.
                    true => Ran::Answered(Ok(done.into_result())),
                    false => Ran::On,
                }
            }
            Err(error) => self.fail(error),
        }
    }

    fn run_control(&mut self, control: &Control, inside: bool) -> Result<&'static str, SqlError> {
        if inside {
            return self.control_inside(control);
        }
        let open = self.session.transaction.is_some();
        match control {
            Control::Begin(modes) => {
                if let Some(t) = self.session.transaction.as_mut().filter(|t| !t.explicit) {
                    // What the query string did before it belongs to it.
                    t.explicit = true;
                    self.set_modes(*modes)?;
                    return Ok("BEGIN");
                }
                if open {
                    self.warn("there is already a transaction in progress");
                    self.set_modes(*modes)?;
                    return Ok("BEGIN");
                }
                self.session.transaction = Some(self.new_transaction(true));
                self.set_modes(*modes)?;
                Ok("BEGIN")
            }
            Control::Commit { chain } | Control::Rollback { chain } => {
                let commits = matches!(control, Control::Commit { .. });
                let Some(t) = &self.session.transaction else {
                    self.warn("there is no transaction in progress");
                    return Ok(if commits { "COMMIT" } else { "ROLLBACK" });
                };
                let (isolation, read_only, deferrable) = (t.isolation, t.read_only, t.deferrable);
                let explicit = t.explicit;
                let verb = if commits && !t.failed { "COMMIT" } else { "ROLLBACK" };
                if !explicit && *chain {
                    self.in_block(&format!("{verb} AND CHAIN"))?;
                }
                if !explicit {
                    self.warn("there is no transaction in progress");
                }
                if verb == "COMMIT" {
                    self.commit()?;
                    self.outcome.get_or_insert(Outcome::Committed);
                } else {
                    self.outcome.get_or_insert(Outcome::RolledBack);
                    self.abort();
                }
                if *chain {
                    let next = Transaction::new(isolation, read_only, true).deferred(deferrable);
                    self.session.transaction = Some(next.begun_at(self.db.clock));
                }
                Ok(verb)
            }
            Control::Savepoint(name) => {
                self.settle_kept();
                self.in_block("SAVEPOINT")?.save(Some(name.clone()));
                Ok("SAVEPOINT")
            }
            Control::RollbackTo(name) => {
                let depth = self.in_block("ROLLBACK TO SAVEPOINT")?.find_savepoint(name);
                let depth = depth.ok_or_else(|| no_savepoint(name))?;
                self.outcome.get_or_insert(Outcome::RolledBack);
                self.rollback_to(depth);
                Ok("ROLLBACK")
            }
            Control::Release(name) => {
                let t = self.in_block("RELEASE SAVEPOINT")?;
                let depth = t.find_savepoint(name).ok_or_else(|| no_savepoint(name))?;
                t.release(depth);
                self.release_cursors(depth);
                self.settle_kept();
                Ok("RELEASE")
            }
            Control::Set(modes) => {
                if !open {
                    self.warn("SET TRANSACTION can only be used in transaction blocks");
                } else {
                    self.set_modes(*modes)?;
                }
                Ok("SET")
            }
            Control::SetSession(modes) => {
                let options = &mut self.session.options;
                options.isolation = modes.isolation.unwrap_or(options.isolation);
                options.read_only = modes.read_only.unwrap_or(options.read_only);
                options.deferrable = modes.deferrable.unwrap_or(options.deferrable);
                Ok("SET")
            }
            Control::Prepare(id) => self.prepare_transaction(id),
            Control::CommitPrepared(id) => self.end_prepared(id, true),
            Control::RollbackPrepared(id) => self.end_prepared(id, false),
        }
    }

    /// COMMIT and ROLLBACK inside a procedure end the transaction that CALL opened, and open the next.
    fn control_inside(&mut self, control: &Control) -> Result<&'static str, SqlError> {
        let commits = match control {
            Control::Commit { .. } => true,
            Control::Rollback { .. } => false,
            Control::Set(modes) => {
                self.set_modes(*modes)?;
                return Ok("SET");
            }
            _ => {
                let message = "unsupported transaction command in PL/pgSQL";
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let explicit = self.session.transaction.as_ref().is_some_and(|t| t.explicit);
        // Of the routines on the stack, the one at work last.
        let trying = |frame: &Frame| if let Frame::Routine(routine) = frame { Some(routine.is_trying()) } else { None };
        let trying: Vec<bool> = self.session.frames.iter().filter_map(trying).collect();
        let called_from_block = trying.iter().rev().skip(1).any(|trying| *trying);
        if explicit || !self.called_only() || called_from_block {
            return Err(SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, "invalid transaction termination"));
        }
        if trying.last() == Some(&true) {
            let verb = if commits { "commit" } else { "roll back" };
            let message = format!("cannot {verb} while a subtransaction is active");
            return Err(SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, message));
        }
        match commits {
            true => {
                self.commit()?;
                self.outcome.get_or_insert(Outcome::Committed);
            }
            false => {
                self.outcome.get_or_insert(Outcome::RolledBack);
                self.abort();
            }
        }
        self.begin_implicit();
        Ok("")
    }

    /// Whether every routine on the stack was reached by CALL or DO, not from inside a query.
    pub(crate) fn called_only(&self) -> bool {
        self.session.frames.iter().all(is_called)
    }

    /// The same for what is below the top of the stack.
    pub(crate) fn below_called_only(&self) -> bool {
        self.session.frames.iter().rev().skip(1).all(is_called)
    }

    fn in_block(&mut self, command: &str) -> Result<&mut Transaction, SqlError> {
        self.session.transaction.as_mut().filter(|t| t.explicit).ok_or_else(|| {
            SqlError::new(SqlState::NO_ACTIVE_TRANSACTION, format!("{command} can only be used in transaction blocks"))
        })
    }

    pub(crate) fn set_modes(&mut self, modes: TransactionModes) -> Result<(), SqlError> {
        let Some(t) = &mut self.session.transaction else { return Ok(()) };
        if t.failed {
            return Err(in_failed_transaction());
        }
        if modes.isolation.is_some_and(|level| level != t.isolation) && t.queried {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        if modes.isolation.is_some_and(|level| level != t.isolation) && !t.savepoints.is_empty() {
            let message = "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        if modes.deferrable.is_some() && t.queried {
            let message = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        t.isolation = modes.isolation.unwrap_or(t.isolation);
        t.read_only = modes.read_only.unwrap_or(t.read_only);
        t.deferrable = modes.deferrable.unwrap_or(t.deferrable);
        Ok(())
    }

    pub(crate) fn warn(&mut self, message: &str) {
        self.notices.push(Notice { level: RaiseLevel::Warning, message: message.into() });
    }

    /// Puts the transaction's writes into the committed tables and forgets its locks. If it may not commit, it is
    /// rolled back.
    pub(crate) fn commit(&mut self) -> Result<(), SqlError> {
        if let Err(error) = self.prepare_serial(false) {
            self.abort();
            return Err(error);
        }
        self.publish();
        Ok(())
    }

    fn publish(&mut self) {
        let Some(t) = self.session.transaction.take() else { return };
        let watched = self.others().any(|(_, session)| holds_snapshot(session));
        // What open snapshots must know of, if there are any.
        let mut published: Vec<Published> = Vec::new();
        let mut redefined: Vec<(TableId, u128)> = Vec::new();
        if !t.definitions.is_empty() {
            redefined = self.publish_definitions(&t);
        }
        let schema = self.db.schema.clone();
        // If nobody has committed since the view was made, the view is what is committed now.
        let successor = t.successor(self.db.epoch).cloned();
        for (row, change) in &t.writes {
            let (before, after) = (change.before.as_ref(), change.after.as_ref());
            let values = after.map(|tuple| &tuple.values);
            self.db.count_row(row.0, before, values);
            if watched {
                let before = self.db.committed.version(*row).cloned();
                if after.is_none() {
                    self.tell_of_deletion(*row, change, before.as_ref().map(|tuple| tuple.position));
                }
                published.push(Published { row: *row, before, after: after.cloned() });
            }
            if successor.is_none() {
                let table = schema.catalog.table(row.0);
                let data = self.db.committed.table_mut(row.0);
                match after {
                    Some(tuple) => data.put(table, row.1, tuple.clone()),
                    None => data.remove(table, row.1),
                }
            }
            let (table, id) = *row;
            let (before, after) = (before.cloned(), values.cloned());
            self.footprint.published.push(Write { table, row: id, before, after, set: ColumnSet::ALL });
        }
        if let Some(successor) = successor.filter(|_| !t.writes.is_empty()) {
            self.db.committed = successor;
        }
        if !t.writes.is_empty() || !t.definitions.is_empty() {
            self.db.epoch += 1;
            if watched {
                self.tell_snapshots(&published, &redefined);
            }
        }
        self.forget(&t, true);
        self.end_kept(true);
    }

    /// Forgets the transaction and everything it did.
    pub(crate) fn abort(&mut self) {
        if let Some(t) = self.session.transaction.take() {
            self.forget(&t, false);
            self.end_kept(false);
        }
    }

    /// A statement failed inside BEGIN: everything is undone and released at once, but the client must still say
    /// ROLLBACK.
    pub(crate) fn fail_transaction(&mut self) {
        let Some(t) = &mut self.session.transaction else { return };
        let mut savepoints = std::mem::take(&mut t.savepoints);
        // Nobody can roll back to those of blocks inside of the statement.
        savepoints.retain(|savepoint| savepoint.name.is_some());
        let mut failed = Transaction::new(t.isolation, t.read_only, true);
        failed.failed = true;
        (failed.statements, failed.began) = (t.statements, t.began);
        (failed.queried, failed.deferrable) = (t.queried, t.deferrable);
        failed.snapshot = t.snapshot.clone().filter(|_| !savepoints.is_empty());
        failed.xid = t.xid.filter(|_| !savepoints.is_empty());
        failed.serial = t.serial.filter(|_| !savepoints.is_empty());
        // What came before the last savepoint may still be saved by rolling back to it, so its locks are kept.
        if let Some(last) = savepoints.last() {
            failed.keep(last);
            failed.keep_drawn(t);
        }
        failed.savepoints = savepoints;
        let old = std::mem::replace(t, failed);
        self.footprint.undone.extend(undone(&old, self.session.transaction.as_ref()));
        self.footprint.everything |= !old.definitions.is_empty();
        let kept = self.transaction().locks.clone();
        let lost = old.locks.iter().filter(|&(row, held)| kept.get(row) != Some(held));
        self.footprint.locks.extend(lost.map(|(row, held)| released(*row, held.strength)));
        self.footprint.heavy.extend(heavy_released(&old.heavy, &self.transaction().heavy.clone()));
        if self.transaction().savepoints.is_empty() {
            self.footprint.ended = Some(false);
            self.end_serial(&old, false);
        } else {
            self.unwrite();
        }
    }

    /// Rolls back to the savepoint at this depth, which stays.
    pub(crate) fn rollback_to(&mut self, depth: usize) {
        if let Some(t) = &mut self.session.transaction {
            let old = t.clone();
            let (rows, heavy) = t.rollback_to(depth);
            self.footprint.undone.extend(undone(&old, Some(t)));
            self.footprint.everything |= !old.definitions.is_empty();
            self.footprint.locks.extend(rows);
            self.footprint.heavy.extend(heavy);
            self.rollback_kept(depth);
            self.unwrite();
            self.rollback_cursors(depth);
        }
    }

    fn forget(&mut self, t: &Transaction, committed: bool) {
        self.footprint.locks.extend(t.locks.iter().map(|(row, held)| released(*row, held.strength)));
        self.footprint.heavy.extend(heavy_released(&t.heavy, &imbl::OrdMap::new()));
        self.footprint.ended = Some(committed);
        self.footprint.everything |= !t.definitions.is_empty();
        match committed {
            true => self.footprint.undone.extend(replaced(t)),
            false => self.footprint.undone.extend(undone(t, None)),
        }
        self.end_serial(t, committed);
        self.end_cursors(committed);
    }

    /// Kept snapshots that show another version of a deleted row than the one that was deleted remember it.
    fn tell_of_deletion(&mut self, row: RowRef, change: &Change, deleted: Option<u64>) {
        for (id, slot) in self.db.sessions.iter_mut().enumerate() {
            let snapshot = slot.transaction.as_ref().and_then(|t| t.snapshot.as_ref()).filter(|_| id != self.me.0);
            let shown = snapshot.and_then(|s| s.tables.version(row));
            let other = shown.is_some_and(|tuple| deleted != Some(tuple.position));
            if (other || (shown.is_some() && change.is_updated_first()))
                && let Some(snapshot) = Arc::make_mut(slot).transaction.as_mut().and_then(|t| t.snapshot.as_mut())
            {
                snapshot.updated_first.insert(row);
            }
        }
    }

    /// Open snapshots of other sessions are out of date in what was just published.
    fn tell_snapshots(&mut self, published: &[Published], redefined: &[(TableId, u128)]) {
        let tell = |snapshot: &mut Snapshot| {
            published.iter().for_each(|row| snapshot.outdate(row));
            redefined.iter().for_each(|(table, digest)| snapshot.redefine(*table, *digest));
        };
        for (id, slot) in self.db.sessions.iter_mut().enumerate() {
            if id == self.me.0 || !holds_snapshot(slot) {
                continue;
            }
            let session = Arc::make_mut(slot);
            if let Some(snapshot) = session.transaction.as_mut().and_then(|t| t.snapshot.as_mut()) {
                tell(snapshot);
            }
            session.running_mut().for_each(|run| tell(&mut run.view));
        }
    }
}

/// Whether a frame is a routine, or what CALL or DO is to one.
fn is_called(frame: &Frame) -> bool {
    use isolde_sql::typed::StatementKind::{Call, Do};
    match frame {
        Frame::Statement(f) => matches!(f.prepared.statement.kind, Call(..) | Do(_)),
        Frame::Routine(_) => true,
    }
}

fn holds_snapshot(session: &Session) -> bool {
    session.running().next().is_some() || session.transaction.as_ref().is_some_and(|t| t.snapshot.is_some())
}

/// The uncommitted versions of a transaction that are no more, now that this is left of it.
fn undone(old: &Transaction, now: Option<&Transaction>) -> Vec<Write> {
    let position = |change: &Change| change.after.as_ref().map(|tuple| tuple.position);
    let kept = |row: &RowRef, change: &Change| {
        now.and_then(|t| t.writes.get(row)).is_some_and(|other| position(other) == position(change))
    };
    let lost = old.writes.iter().filter(|(row, change)| !kept(row, change)).map(|(&(table, row), change)| Write {
        table,
        row,
        before: change.before.clone(),
        after: change.after.as_ref().map(|tuple| tuple.values.clone()),
        set: ColumnSet::ALL,
    });
    lost.chain(replaced(old)).collect()
}

/// The versions that a transaction has written and then replaced by others with other keys.
fn replaced(t: &Transaction) -> Vec<Write> {
    let versions = t.replaced.iter().flat_map(|(&row, versions)| versions.iter().map(move |values| (row, values)));
    versions
        .map(|((table, row), values)| Write {
            table,
            row,
            before: Some(values.clone()),
            after: None,
            set: ColumnSet::ALL,
        })
        .collect()
}

fn no_savepoint(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
}
