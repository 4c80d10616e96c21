//! Deferred constraints: checks that wait for COMMIT, or for SET CONSTRAINTS ... IMMEDIATE.
//!
//! What would be checked behind a statement is kept in the transaction instead. When its time has come the checks run
//! as they would have behind a statement, on what the rows have become by then; each may have to wait for another
//! session, and goes on where it was. A unique key that can be deferred is not waited for when a row is written: if
//! somebody may have the key, it is looked for again later.

use std::sync::Arc;

use isolde_sql::Row;
use isolde_sql::ast::Deferral;
use isolde_sql::catalog::{Index, TableId};
use isolde_sql::typed::SetConstraints;

use super::foreign_key::After;
use super::{Executor, Running, Stop};
use crate::footprint::TableSet;
use crate::lock::RowRef;
use crate::transaction::Snapshot;

/// A constraint: its table and its name.
type Constraint = (TableId, Arc<str>);

/// What a transaction has put off, and what SET CONSTRAINTS has said about that. Empty in most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferred {
    /// Checks to be made, oldest first.
    pub(crate) checks: Vec<After>,
    /// Constraints that are deferred or not, whatever they say themselves; the last that fits counts, `None` is all.
    pub(crate) modes: Vec<(Option<Constraint>, bool)>,
}

impl Deferred {
    /// Whether something is put off that a change of this table has brought about.
    pub(crate) fn concerns(&self, table: TableId) -> bool {
        self.checks.iter().any(|check| match check {
            After::Child { row, .. } | After::Unique { row, .. } => row.0 == table,
            After::Parent(check) => check.parent() == table,
            After::Fire(fire) => fire.trigger().0 == table,
            _ => false,
        })
    }
}

impl Executor<'_> {
    /// Whether a constraint is checked at the end of the transaction rather than of the statement.
    pub(crate) fn is_deferred(&self, table: TableId, name: &str, deferral: Deferral) -> bool {
        if deferral == Deferral::NotDeferrable {
            return false;
        }
        let t = self.transaction();
        if self.session.options.autocommit && !t.explicit {
            return false;
        }
        let fits = |which: &Option<Constraint>| {
            which.as_ref().is_none_or(|(of, constraint)| *of == table && **constraint == *name)
        };
        let said = t.deferred.modes.iter().rev().find(|(which, _)| fits(which));
        said.map_or(deferral == Deferral::Deferred, |(_, deferred)| *deferred)
    }

    /// Makes a check behind the statement, or keeps it for later.
    pub(super) fn queue_check(&mut self, run: &mut Running, check: After, table: TableId, name: &str, when: Deferral) {
        match self.is_deferred(table, name, when) {
            true => self.transaction_mut().deferred.checks.push(check),
            false => run.after.push(check),
        }
    }

    /// The same for a unique key. A primary key is looked at before the foreign keys of its row, others behind them: in
    /// the order of the names that PostgreSQL gives to what does it.
    pub(super) fn queue_key_check(&mut self, run: &mut Running, row: RowRef, index: usize, entered: Row) {
        let schema = self.schema().clone();
        let Index { name, deferral: when, primary, .. } = &schema.catalog.table(row.0).indexes[index];
        let (when, primary) = (*when, *primary);
        let queue = match self.is_deferred(row.0, name, when) {
            true => &mut self.transaction_mut().deferred.checks,
            false => &mut run.after,
        };
        let of_row = |check: &After| primary && matches!(check, After::Child { row: other, .. } if *other == row);
        let at = queue.iter().rposition(|check| !of_row(check)).map_or(0, |last| last + 1);
        queue.insert(at, After::Unique { row, index, entered });
    }

    /// Makes the checks that are due now: all, or those that `due` says.
    pub(crate) fn settle(&mut self, due: impl Fn(&Self, &After) -> bool) -> Result<(), Stop> {
        if self.session.transaction.as_ref().is_none_or(|t| t.deferred.checks.is_empty() || t.failed) {
            return Ok(());
        }
        let all = std::mem::take(&mut self.transaction_mut().deferred.checks);
        let (now, later): (Vec<After>, Vec<After>) = all.into_iter().partition(|check| due(self, check));
        self.transaction_mut().deferred.checks = later;
        let schema = self.schema().clone();
        let (committed, reach, epoch) = (self.db.committed.clone(), self.session.reach.clone(), self.db.epoch);
        let view = self.transaction_mut().begin_statement(&schema.catalog, &committed, &reach, epoch).clone();
        let mut run = Running::of_checks(Snapshot::new(view, TableSet::NONE, epoch), self.db.next_position, now);
        while run.has_check() {
            if let Err(stop) = self.after(&mut run) {
                let mut rest = run.after.split_off(run.check_at());
                if matches!(stop, Stop::Trigger(_)) {
                    // It fires now, and nobody waits for its answer.
                    rest.remove(0);
                }
                let checks = &mut self.transaction_mut().deferred.checks;
                checks.splice(0..0, rest);
                return Err(stop);
            }
            run.check_done();
        }
        Ok(())
    }

    /// SET CONSTRAINTS. What becomes IMMEDIATE is checked at once.
    pub(crate) fn set_constraints(&mut self, set: &SetConstraints) -> Result<(), Stop> {
        let modes = &mut self.transaction_mut().deferred.modes;
        match &set.constraints {
            None => *modes = vec![(None, set.deferred)],
            Some(named) => {
                for constraint in named {
                    modes.retain(|(which, _)| which.as_ref() != Some(constraint));
                    modes.push((Some(constraint.clone()), set.deferred));
                }
            }
        }
        match set.deferred {
            true => Ok(()),
            false => self.settle(|machine, check| !machine.stays_deferred(check)),
        }
    }

    fn stays_deferred(&self, check: &After) -> bool {
        let catalog = self.catalog();
        match check {
            After::Child { row, key, .. } => {
                let fk = &catalog.table(row.0).foreign_keys[*key];
                self.is_deferred(row.0, &fk.name, fk.deferral)
            }
            After::Parent(check) => {
                let fk = &catalog.table(check.child()).foreign_keys[check.key()];
                self.is_deferred(check.child(), &fk.name, fk.deferral)
            }
            After::Fire(fire) => {
                let (table, trigger) = fire.trigger();
                self.is_deferred(table, &trigger.name, trigger.deferral())
            }
            After::Unique { row, index, .. } => {
                let index = &catalog.table(row.0).indexes[*index];
                self.is_deferred(row.0, &index.name, index.deferral)
            }
            _ => false,
        }
    }
}
