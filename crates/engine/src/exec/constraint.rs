//! NOT NULL, CHECK and unique keys.
//!
//! A unique key is checked against *everybody's* rows, committed or not, whatever the snapshot shows: a key in
//! somebody's uncommitted row is neither free nor taken, so the statement waits to see what becomes of it.

use std::ops::ControlFlow;

use isolde_sql::ast::Deferral;
use isolde_sql::catalog::{Index, Table, TableId};
use isolde_sql::{Row, SqlError, SqlState, Value};

use super::running::AtHand;
use super::{Executor, Running, Stop};
use crate::eval;
use crate::footprint::{ColumnSet, Probe, ProbeKind};
use crate::lock::{RowRef, Target, Wants};
use crate::prepare::RowPlan;
use crate::session::SessionId;
use crate::storage::{Key, RowId, key_of, same_entries};

impl Executor<'_> {
    /// Generated columns get their values; then NOT NULL and CHECK.
    pub(crate) fn check_row(
        &mut self,
        table: TableId,
        row: &mut Row,
        plan: &RowPlan,
        run: &mut Running,
    ) -> Result<(), Stop> {
        let table = self.catalog().table(table).clone();
        if !plan.generated.is_empty() {
            let mut values = row.to_vec();
            for (column, expr) in &plan.generated {
                values[*column] = eval::local_compiled(expr, row, &[])?;
            }
            *row = values.into();
        }
        let values = &*row;
        for (column, value) in table.columns.iter().zip(values.iter()) {
            if column.not_null && matches!(value, Value::Null) {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    column.name, table.name
                );
                return Err(SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
                    .detail(failing_row(values))
                    .table(table.name.clone())
                    .column(column.name.clone())
                    .into());
            }
        }
        for check in &plan.checks {
            let truth = match check.calls {
                true => self.with_context(&run.view.tables, &[], &mut run.calls, |ctx| {
                    eval::truth(ctx, &eval::Env::only(values), &check.expr)
                })?,
                false => eval::local_truth(&check.expr, values, &[])?,
            };
            if truth == Some(false) {
                let message =
                    format!("new row for relation \"{}\" violates check constraint \"{}\"", table.name, check.name);
                return Err(SqlError::new(SqlState::CHECK_VIOLATION, message)
                    .detail(failing_row(values))
                    .table(table.name.clone())
                    .constraint(check.name.clone())
                    .into());
            }
        }
        for view in &plan.views {
            if eval::local_truth(&view.expr, values, &[])? != Some(true) {
                let message = format!("new row violates check option for view \"{}\"", view.name);
                return Err(SqlError::new(SqlState(*b"44000"), message).detail(failing_row(values)).into());
            }
        }
        if plan.special {
            for special in table.indexes.iter().filter_map(|i| i.special.as_ref()) {
                eval::special_key(special, values)?;
            }
        }
        Ok(())
    }

    /// Checks the row that was just written against the unique indexes whose columns were set, from the first one not
    /// checked.
    pub(super) fn probe_unique(&mut self, run: &mut Running, set: ColumnSet) -> Result<(), Stop> {
        let AtHand::Written { row, index: mut next, enters } = run.at_hand else { return Ok(()) };
        let schema = self.schema().clone();
        let table = schema.catalog.table(row.0);
        let Some(values) = self.newest(row).map(|t| t.values) else { return Ok(()) };
        while let Some(index) = table.indexes.get(next) {
            let concerned = index.unique
                && match index.deferral {
                    Deferral::NotDeferrable => index.mentions().iter().any(|&c| set.contains(c)),
                    Deferral::Immediate | Deferral::Deferred => enters,
                };
            if let Some(key) = concerned.then(|| unique_key(index, &values)).flatten() {
                self.note_probe(row.0, index, &key, ProbeKind::Entry);
                match self.find_key(row.0, next, &key, Some(row.1)) {
                    Found::Nobody => {}
                    Found::Row(_) | Found::Pending(_) if index.deferral != Deferral::NotDeferrable => {
                        self.queue_key_check(run, row, next, values.clone());
                    }
                    Found::Row(_) => {
                        // Somebody may have read that the key was free: that counts for more.
                        self.check_entry(row, next, key.first())?;
                        return Err(duplicate_key(schema.catalog.table(row.0), index, &key).into());
                    }
                    Found::Pending(other) => return Err(self.await_outcome((row.0, other))),
                }
            }
            if self.transaction().serial.is_some()
                && let Some(key) = key_of(index, &values)
            {
                self.check_entry(row, next, key.first())?;
            }
            next += 1;
            if self.db.ssi.is_some() {
                self.note_entries(row, next);
            }
            run.at_hand = AtHand::Written { row, index: next, enters };
        }
        Ok(())
    }

    /// Whether a version that replaces another enters the indexes of its table: all of them if a column of one has
    /// changed, and none otherwise, for then it is found by the entries of the old one. It matters to keys that two
    /// rows may have for a while.
    pub(super) fn enters_indexes(&self, table: TableId, old: &Row, new: &Row) -> bool {
        let table = self.catalog().table(table);
        let deferrable = table.indexes.iter().any(|index| index.unique && index.deferral != Deferral::NotDeferrable);
        !deferrable || !same_entries(table, old, new)
    }

    /// A key that was let through because its constraint can be deferred. If the row that entered the indexes with it
    /// has since entered them again, that is another check's affair.
    pub(super) fn check_deferred_key(&mut self, row: RowRef, index: usize, entered: &Row) -> Result<(), Stop> {
        let schema = self.schema().clone();
        let table = schema.catalog.table(row.0);
        let newest = self.newest(row).map(|t| t.values);
        let Some(values) = newest.filter(|newest| same_entries(table, entered, newest)) else { return Ok(()) };
        let Some(key) = unique_key(&table.indexes[index], &values) else { return Ok(()) };
        self.note_probe(row.0, &table.indexes[index], &key, ProbeKind::Entry);
        match self.find_key_first(row.0, index, &key, Some(row.1)) {
            Found::Nobody => Ok(()),
            Found::Row(_) => {
                self.check_duplicate(row, index, key.first())?;
                Err(duplicate_key(table, &table.indexes[index], &key).into())
            }
            Found::Pending(other) => Err(self.await_outcome((row.0, other))),
        }
    }

    /// ON CONFLICT: the row that has the key which `values` would have in one of the arbiter indexes.
    pub(super) fn find_conflict(
        &mut self,
        table: TableId,
        arbiters: &[usize],
        values: &Row,
    ) -> Result<Option<RowId>, Stop> {
        let schema = self.schema().clone();
        for &arbiter in arbiters {
            let index = &schema.catalog.table(table).indexes[arbiter];
            if index.deferral != Deferral::NotDeferrable {
                let message =
                    "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
                return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
            }
            let Some(key) = unique_key(index, values) else { continue };
            self.note_probe(table, index, &key, ProbeKind::Arbiter);
            match self.find_key(table, arbiter, &key, None) {
                Found::Nobody => {}
                Found::Row(row) => {
                    // All of it counts, not only its key.
                    self.footprint.looked.push((table, row));
                    return Ok(Some(row));
                }
                Found::Pending(row) => return Err(self.await_outcome((table, row))),
            }
        }
        Ok(None)
    }

    fn note_probe(&mut self, table: TableId, index: &Index, key: &[Value], kind: ProbeKind) {
        self.footprint.probes.push(Probe { table, columns: probed(index), key: probed_key(index, key), kind });
    }

    /// Who has a key, leaving out the row `except`.
    fn find_key(&self, table: TableId, index: usize, key: &[Value], except: Option<RowId>) -> Found {
        let mut found = Found::Nobody;
        let _ = self.each_with_key(table, index, key, except, &mut |_, who| {
            found = who;
            ControlFlow::Break(())
        });
        found
    }

    /// The same for a key that several may have: the first of them along the index.
    fn find_key_first(&self, table: TableId, index: usize, key: &[Value], except: Option<RowId>) -> Found {
        let mut first = (u64::MAX, Found::Nobody);
        let _ = self.each_with_key(table, index, key, except, &mut |position, who| {
            if position < first.0 {
                first = (position, who);
            }
            ControlFlow::Continue(())
        });
        first.1
    }

    /// Calls `found` with everybody who has a key, and where among equal entries.
    fn each_with_key(
        &self,
        table: TableId,
        index: usize,
        key: &[Value],
        except: Option<RowId>,
        found: &mut dyn FnMut(u64, Found) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let except = |row: RowId| Some(row) == except;
        let mine = self.transaction();
        for (row, tuple) in self.latest(table).lookup(index, key) {
            if except(row) || mine.writes.contains_key(&(table, row)) {
                continue;
            }
            let pending = self.writer_of((table, row)).is_some();
            found(tuple.entry_position, if pending { Found::Pending(row) } else { Found::Row(row) })?;
        }
        for (row, tuple) in mine.view().table(table).lookup(index, key) {
            if !except(row) && mine.writes.contains_key(&(table, row)) {
                found(tuple.entry_position, Found::Row(row))?;
            }
        }
        for (_, session) in self.others() {
            let Some(theirs) = session.transaction.as_ref() else { continue };
            for (replaced, versions) in theirs.replaced.iter().filter(|(row, _)| row.0 == table) {
                let index = &self.catalog().table(table).indexes[index];
                if versions.iter().any(|values| key_of(index, values).is_some_and(|k| *k == *key)) {
                    // Where they were is not known any more, but it was before all that came later.
                    found(0, Found::Pending(replaced.1))?;
                }
            }
            if !theirs.has_written_in(table) {
                continue;
            }
            for (row, tuple) in theirs.view().table(table).lookup(index, key) {
                if theirs.writes.contains_key(&(table, row)) && session.has_entered((table, row), index) {
                    found(tuple.entry_position, Found::Pending(row))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// What is left to do about a key that depends on somebody's uncommitted change of a row.
    fn await_outcome(&self, row: RowRef) -> Stop {
        Stop::Wait(Target::row(row, self.outcome_of(row), None))
    }

    /// The wish to know what becomes of somebody's uncommitted change of a row.
    pub(super) fn outcome_of(&self, row: RowRef) -> Wants {
        let writer = self.others().find(|(_, session)| session.has_written(row));
        Wants::Outcome(writer.and_then(|(_, session)| session.transaction.as_ref()?.xid).unwrap_or_default())
    }

    /// Another session with an uncommitted change of a row.
    pub(super) fn writer_of(&self, row: RowRef) -> Option<SessionId> {
        self.others().find(|(_, session)| session.has_written(row)).map(|(id, _)| id)
    }
}

enum Found {
    Nobody,
    /// A row that is committed or our own.
    Row(RowId),
    /// A row that somebody is inserting, changing or deleting.
    Pending(RowId),
}

fn duplicate_key(table: &Table, index: &Index, key: &[Value]) -> SqlError {
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    SqlError::new(SqlState::UNIQUE_VIOLATION, message)
        .detail(format!("Key {} already exists.", index_key_text(&table.columns, index, key)))
        .table(table.name.clone())
        .constraint(index.name.clone())
}

/// The key of a row in a unique index, unless another row may have the same.
fn unique_key(index: &Index, values: &[Value]) -> Option<Key> {
    key_of(index, values).filter(|key| !index.allows_twins(key))
}

/// What a probe of an index looks at. One over expressions may meet any row: it is as if all were looked at.
fn probed(index: &Index) -> Vec<usize> {
    if index.is_plain() { index.columns.clone() } else { Vec::new() }
}

fn probed_key(index: &Index, key: &[Value]) -> Vec<Value> {
    if index.is_plain() { key.to_vec() } else { Vec::new() }
}

/// The key of an index, as DETAIL lines show it.
pub(crate) fn index_key_text(columns: &[isolde_sql::catalog::Column], index: &Index, key: &[Value]) -> String {
    match &index.special {
        None => key_text(columns, &index.columns, key),
        Some(special) => {
            let values: Vec<String> =
                key.iter().map(|v| if v.is_null() { "null".into() } else { v.to_string() }).collect();
            format!("({})=({})", special.shown.join(", "), values.join(", "))
        }
    }
}

/// `(a, b)=(1, x)`, as PostgreSQL's DETAIL lines show a key.
pub(crate) fn key_text(columns: &[isolde_sql::catalog::Column], key_columns: &[usize], key: &[Value]) -> String {
    let names: Vec<&str> = key_columns.iter().map(|&c| &*columns[c].name).collect();
    let values: Vec<String> = key.iter().map(|v| if v.is_null() { "null".into() } else { v.to_string() }).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}

fn failing_row(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(|v| if v.is_null() { "null".into() } else { v.to_string() }).collect();
    format!("Failing row contains ({}).", values.join(", "))
}
