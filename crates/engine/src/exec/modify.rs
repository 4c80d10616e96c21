//! INSERT, UPDATE and DELETE: what happens to one row.
//!
//! The heart of READ COMMITTED is in [`Executor::lock_target`]: the row was found in the statement's snapshot, but it
//! is the newest version that is changed. If somebody changed it in between, the conditions are evaluated again on the
//! newest version (EvalPlanQual), with every other row of the join as it was. Rows that match only now are not found.
//! REPEATABLE READ refuses instead.

use std::sync::Arc;

use isolde_sql::ast::LockStrength;
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, SqlError, SqlState, Value};

use super::version::{Lock, Version};
use super::{Executor, Input, Running, Stop};
use crate::eval::{self, Context, Env, Interrupt, RelRow};
use crate::footprint::{ColumnSet, Write};
use crate::lock::RowRef;
use crate::plan::Expr;
use crate::prepare::{ConflictPlan, ConflictUpdatePlan, DeletePlan, InsertPlan, UpdatePlan};
use crate::query::{self, Candidate};
use crate::storage::{RowId, Tuple};
use crate::trigger::{Event, RowStage, TableTriggers};

impl Executor<'_> {
    /// INSERT.
    pub(super) fn insert(&mut self, plan: &InsertPlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        let triggers = self.triggers_of(plan.table);
        if let Some(triggers) = &triggers {
            self.before_insert(triggers, plan, run)?;
        }
        if run.input().is_none() {
            let rows = self.evaluate(&[], params, run, |ctx, env| eval::run_source(ctx, env, &plan.source))?;
            run.begin_rows(Input::Rows(rows.into()));
        }
        let Some((Input::Rows(rows), _)) = run.input() else { unreachable!("an INSERT goes through rows") };
        let rows = rows.clone();
        while let Some(at) = run.row_at_hand() {
            run.calls.rewind();
            self.insert_row(plan, params, run, &rows[at], triggers.as_ref())?;
            run.row_done();
        }
        match &triggers {
            Some(triggers) => self.after_insert(triggers, plan, run),
            None => Ok(()),
        }
    }

    fn insert_row(
        &mut self,
        plan: &InsertPlan,
        params: &[Value],
        run: &mut Running,
        source: &Row,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        if let Some(triggers) = triggers.filter(|t| t.table.of_view) {
            return self.insert_instead(triggers, plan, params, run, source);
        }
        if run.written().is_none() {
            let values: Row = match run.staged().is_some() {
                true => Arc::default(),
                false => self.eval_all(&plan.values, &[RelRow::new(source.clone())], params, run)?.into(),
            };
            run.not_again();
            let values = match triggers {
                Some(triggers) => self.insert_triggered(triggers, values, run)?,
                None => Some(values),
            };
            let Some(mut values) = values else { return Ok(()) };
            self.check_row(plan.table, &mut values, &plan.row, run)?;
            if let Some(conflict) = &plan.conflict
                && self.resolve_conflict(plan, conflict, params, run, &values, triggers)?
            {
                return Ok(());
            }
            self.insert_version(plan.table, values, run)?;
            if triggers.is_some() {
                run.triggered().written = Some((Event::Insert, None));
            }
        }
        self.finish_insert(plan, params, run, triggers)
    }

    /// The row at hand is written: checks its unique keys and returns it.
    fn finish_insert(
        &mut self,
        plan: &InsertPlan,
        params: &[Value],
        run: &mut Running,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        self.probe_unique(run, ColumnSet::ALL)?;
        if let Some((row, _)) = run.written() {
            let after = match triggers {
                Some(triggers) => self.written_triggers(triggers, plan.conflict_columns(), row, run)?,
                None => None,
            };
            if !plan.returning.is_empty() {
                let written = self.own_version(row);
                self.return_row(&plan.returning, &[written], params, run)?;
            }
            if let Some(after) = after {
                self.queue_written(after, run);
            }
        }
        run.count += 1;
        Ok(())
    }

    /// ON CONFLICT: whether the row at hand is done with, because another has its key.
    fn resolve_conflict(
        &mut self,
        plan: &InsertPlan,
        conflict: &ConflictPlan,
        params: &[Value],
        run: &mut Running,
        values: &Row,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<bool, Stop> {
        if run.staged_conflict().is_some() {
            return self.update_conflicting(plan, params, run, triggers);
        }
        let Some(existing) = self.find_conflict(plan.table, &conflict.arbiters, values)? else { return Ok(false) };
        let row = (plan.table, existing);
        let Some(ConflictUpdatePlan { set, filter }) = &conflict.update else {
            self.come_to(row)?;
            self.refuse_unseen(row)?;
            return Ok(true);
        };
        let key_changes = set.iter().any(|(c, _)| self.catalog().table(plan.table).is_key_column(*c));
        let strength = if key_changes { LockStrength::Update } else { LockStrength::NoKeyUpdate };
        self.lock_row(row, strength)?;
        self.come_to(row)?;
        self.refuse_unseen(row)?;
        let Some(current) = self.newest(row) else {
            return self.resolve_conflict(plan, conflict, params, run, values, triggers);
        };
        if self.transaction().writes.contains_key(&row) && current.position >= run.start {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message)
                .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
                .into());
        }
        let rows = [RelRow::of_table(existing, current.position, current.values.clone()), RelRow::new(values.clone())];
        if let Some(filter) = filter
            && !self.eval_condition(filter, &rows, params, run)?
        {
            return Ok(true);
        }
        let mut changed = self.apply_set(set, &current.values, &rows, params, run)?;
        if triggers.is_some() {
            let (old, new) = (Some(current.values), Some(changed));
            run.set_stage(RowStage { row: Some(row), old, new, ..RowStage::default() }, true);
            return self.update_conflicting(plan, params, run, triggers);
        }
        self.check_row(plan.table, &mut changed, &plan.row, run)?;
        self.update_version(run, row, current.values, changed, ColumnSet::ALL)?;
        self.finish_insert(plan, params, run, triggers)?;
        Ok(true)
    }

    /// ON CONFLICT DO UPDATE of a table with triggers: the row is locked, and what it shall be is staged.
    fn update_conflicting(
        &mut self,
        plan: &InsertPlan,
        params: &[Value],
        run: &mut Running,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<bool, Stop> {
        let Some(RowStage { row: Some(row), old: Some(old), .. }) = run.staged_conflict().cloned() else {
            return Ok(true);
        };
        let Some(fires) = triggers else { return Ok(true) };
        let changed = self.before_row(fires, Event::Update, plan.conflict_columns(), run, true)?;
        let Some(mut changed) = changed else { return Ok(true) };
        self.undisturbed(run, row, "updated")?;
        self.check_row(plan.table, &mut changed, &plan.row, run)?;
        self.write_staged(row, old, changed, run)?;
        self.finish_insert(plan, params, run, triggers)?;
        Ok(true)
    }

    /// UPDATE.
    pub(super) fn update(&mut self, plan: &UpdatePlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        let triggers = self.triggers_of(plan.table);
        if let Some(triggers) = &triggers {
            self.before_statement(triggers, Event::Update, plan.set_columns, run)?;
        }
        let candidates = self.scan(&plan.select, params, run)?;
        while let Some(at) = run.row_at_hand() {
            run.calls.rewind();
            self.update_row(plan, params, run, &candidates[at], triggers.as_ref())?;
            run.row_done();
        }
        match &triggers {
            Some(triggers) => self.end_statement(triggers, Event::Update, plan.set_columns, run),
            None => Ok(()),
        }
    }

    fn update_row(
        &mut self,
        plan: &UpdatePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        if let Some(triggers) = triggers.filter(|t| t.table.of_view) {
            return self.update_instead(triggers, plan, params, run, seen);
        }
        let Some(id) = seen.rows[0].id else { return Ok(()) };
        let row = (plan.table, id);
        let before = triggers.filter(|t| t.fires_before_row(Event::Update, plan.set_columns));
        if let Some(triggers) = before.filter(|_| run.written().is_none()) {
            if !self.update_triggered(triggers, plan, params, run, seen)? {
                return Ok(());
            }
        } else if run.written().is_none() {
            if self.is_own_command(row, seen.rows[0].position, run.start) {
                return Ok(self.refuse_triggered_change(run, row, "updated")?);
            }
            let mut wanted = self.apply_set(&plan.set, &seen.rows[0].values, &seen.rows, params, run)?;
            // Constraints come before the lock: a row that could not be stored is refused without waiting.
            self.check_seen(plan, row, &mut wanted, run)?;
            let lock = Lock::update(!self.same_keys(plan.table, &seen.rows[0].values, &wanted));
            let Some(candidate) = self.lock_target(&plan.select, row, lock, params, run, seen, "updated")? else {
                return Ok(());
            };
            let old = &candidate.rows[0];
            let values = if old.position == seen.rows[0].position {
                wanted
            } else {
                let mut values = self.apply_set(&plan.set, &old.values, &candidate.rows, params, run)?;
                self.check_seen(plan, row, &mut values, run)?;
                if !self.same_keys(plan.table, &old.values, &values) {
                    self.lock_row(row, LockStrength::Update)?;
                }
                values
            };
            let old = old.values.clone();
            if triggers.is_some() {
                run.triggered().written = Some((Event::Update, Some(old.clone())));
            }
            if !plan.added.is_empty() {
                self.footprint.added.push((row, plan.added));
            }
            self.update_version(run, row, old, values, plan.set_columns)?;
        }
        self.probe_unique(run, if before.is_some() { ColumnSet::ALL } else { plan.set_columns })?;
        let after = match triggers {
            Some(triggers) => self.written_triggers(triggers, plan.set_columns, row, run)?,
            None => None,
        };
        if !plan.returning.is_empty() {
            let mut rows = seen.rows.clone();
            rows[0] = self.own_version(row);
            self.return_row(&plan.returning, &rows, params, run)?;
        }
        if let Some(after) = after {
            self.queue_written(after, run);
        }
        run.count += 1;
        Ok(())
    }

    /// Checks what a row shall be. An error shows all of it, so that it depends on all of it.
    fn check_seen(&mut self, plan: &UpdatePlan, row: RowRef, values: &mut Row, run: &mut Running) -> Result<(), Stop> {
        let checked = self.check_row(plan.table, values, &plan.row, run);
        if let Err(Stop::Error(_)) = checked {
            self.footprint.looked.push(row);
        }
        checked
    }

    /// DELETE.
    pub(super) fn delete(&mut self, plan: &DeletePlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        let triggers = self.triggers_of(plan.table);
        if let Some(triggers) = &triggers {
            self.before_statement(triggers, Event::Delete, ColumnSet::NONE, run)?;
        }
        let candidates = self.scan(&plan.select, params, run)?;
        // To find a row for a trigger is, to PostgreSQL, the same as to update it.
        let fires = triggers.as_ref().is_some_and(|t| t.fires_before_row(Event::Delete, ColumnSet::NONE));
        let done = if fires { "updated" } else { "deleted" };
        let lock = Lock::delete();
        while let Some(at) = run.row_at_hand() {
            run.calls.rewind();
            let seen = &candidates[at];
            if let Some(triggers) = triggers.as_ref().filter(|t| t.table.of_view) {
                self.delete_instead(triggers, plan, params, run, seen)?;
            } else if let Some(id) = seen.rows[0].id {
                let row = (plan.table, id);
                let found = match run.staged() {
                    Some(stage) => stage.candidate.clone(),
                    None => self.lock_target(&plan.select, row, lock, params, run, seen, done)?,
                };
                if let Some(found) = found {
                    self.delete_row(plan, params, run, row, &found, triggers.as_ref())?;
                }
            }
            run.row_done();
        }
        match &triggers {
            Some(triggers) => self.end_statement(triggers, Event::Delete, ColumnSet::NONE, run),
            None => Ok(()),
        }
    }

    /// Deletes a row that is locked, unless a trigger says no.
    fn delete_row(
        &mut self,
        plan: &DeletePlan,
        params: &[Value],
        run: &mut Running,
        row: RowRef,
        found: &Candidate,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        let old = &found.rows[0].values;
        if let Some(triggers) = triggers
            && !self.delete_triggered(triggers, row, found, run)?
        {
            return Ok(());
        }
        let after = match triggers {
            Some(triggers) => self.after_row(triggers, Event::Delete, ColumnSet::NONE, (Some(old), None), run)?,
            None => Vec::new(),
        };
        self.return_row(&plan.returning, &found.rows, params, run)?;
        self.delete_version(run, row, old)?;
        if let Some(triggers) = triggers {
            self.queue_after(triggers, Event::Delete, (Some(old), None), after, run);
        }
        run.count += 1;
        Ok(())
    }

    pub(super) fn scan(
        &mut self,
        select: &crate::plan::SelectPlan,
        params: &[Value],
        run: &mut Running,
    ) -> Result<Arc<[Candidate]>, Stop> {
        if run.input().is_none() {
            let withs = run.withs.clone();
            let found = self
                .with_context(&run.view.tables, params, &mut run.calls, |ctx| query::candidates(ctx, select, &withs))?;
            self.footprint.reads.iter_mut().for_each(|r| r.current = true);
            run.begin_rows(Input::Candidates(found.into()));
        }
        match run.input() {
            Some((Input::Candidates(candidates), _)) => Ok(candidates.clone()),
            _ => unreachable!("an UPDATE or DELETE goes through candidates"),
        }
    }

    /// Locks the row that is to be changed, and finds the version that the change applies to: the one seen, or at READ
    /// COMMITTED the newest if it still qualifies. `None`: the row is to be left alone.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn lock_target(
        &mut self,
        select: &crate::plan::SelectPlan,
        row: RowRef,
        lock: Lock,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
        done: &str,
    ) -> Result<Option<Candidate>, Stop> {
        self.locks().assign_xid();
        run.not_again();
        let version = self.lock_version(row, seen.rows[0].position, run.start, lock)?;
        self.refuse_changed(row, &version)?;
        match version {
            Version::Same | Version::SameKey => Ok(Some(seen.clone())),
            Version::OwnCommand => {
                self.refuse_triggered_change(run, row, done)?;
                Ok(None)
            }
            Version::Gone | Version::Skipped => Ok(None),
            Version::Newer(tuple) => {
                let mut newest = seen.clone();
                newest.rows[0].position = tuple.position;
                newest.rows[0].values = tuple.values;
                let withs = run.withs.clone();
                let holds = !self.rechecks()
                    || self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                        query::recheck(ctx, select, &withs, &newest)
                    })?;
                Ok(holds.then_some(newest))
            }
        }
    }

    /// Writes a row that is new, and queues what its foreign keys ask for.
    pub(crate) fn insert_version(&mut self, table: TableId, values: Row, run: &mut Running) -> Result<(), SqlError> {
        let id = RowId::of_session(self.me.0, self.session.made, self.db.next_position);
        self.session.made += 1;
        let row = (table, id);
        self.write_row(row, None, Some(values.clone()), ColumnSet::ALL)?;
        self.queue_child_checks(run, row, &values);
        run.set_written(row, true);
        Ok(())
    }

    /// Writes a new version of a row that we have locked, with values for these columns, and queues what its keys ask
    /// for.
    pub(crate) fn update_version(
        &mut self,
        run: &mut Running,
        row: RowRef,
        old: Row,
        new: Row,
        set: ColumnSet,
    ) -> Result<(), SqlError> {
        let own = self.transaction().writes.contains_key(&row);
        self.write_row(row, Some(&old), Some(new.clone()), set)?;
        let enters = self.enters_indexes(row.0, &old, &new);
        self.queue_parent_checks(run, row.0, &old, Some(new.clone()));
        // The check of what we wrote before counts for that version only, so ours is checked whatever has changed.
        self.queue_moved_child_checks(run, row, Some(&old).filter(|_| !own), &new);
        run.set_written(row, enters);
        Ok(())
    }

    /// Deletes a row that we have locked, and queues what that means for its children.
    pub(crate) fn delete_version(&mut self, run: &mut Running, row: RowRef, old: &Row) -> Result<(), SqlError> {
        self.write_row(row, Some(old), None, ColumnSet::ALL)?;
        self.queue_parent_checks(run, row.0, old, None);
        Ok(())
    }

    /// Writes a version and notes it in the footprint. At SERIALIZABLE, somebody's having read the old one may forbid
    /// it.
    pub(crate) fn write_row(
        &mut self,
        row: RowRef,
        before: Option<&Row>,
        after: Option<Row>,
        set: ColumnSet,
    ) -> Result<(), SqlError> {
        let replaced = self.newest(row);
        if self.transaction().serial.is_some() {
            self.check_write(row, replaced.as_ref())?;
        }
        self.locks().assign_xid();
        let position = self.db.next_position;
        self.db.next_position += 1;
        let (table, id) = row;
        self.footprint.writes.push(Write { table, row: id, before: before.cloned(), after: after.clone(), set });
        let replaces = replaced.as_ref().map_or(0, |tuple| tuple.position);
        let key_position = replaced.as_ref().map_or(position, |tuple| tuple.key_position);
        let entry_position = match (&replaced, &after) {
            (Some(old), Some(new)) if !self.enters_indexes(table, &old.values, new) => old.entry_position,
            _ => position,
        };
        if self.db.ssi.is_some() {
            self.note_version(row, replaced, after.clone().map(|values| (position, values)));
        }
        let schema = Arc::clone(self.schema());
        let transaction = self.transaction_mut();
        transaction.written += 1;
        if before.is_none() || after.is_none() {
            // A new row is ours alone until it is committed; the lock says so to those who find it by its key.
            transaction.lock(row, LockStrength::Update, position);
        }
        let key_position = if transaction.holds_fully(row) { position } else { key_position };
        let after = after.map(|values| Tuple { position, key_position, entry_position, replaces, values });
        transaction.write(&schema.catalog, row, before, after);
        Ok(())
    }

    pub(crate) fn apply_set(
        &mut self,
        set: &[(usize, Expr)],
        old: &Row,
        rows: &[RelRow],
        params: &[Value],
        run: &mut Running,
    ) -> Result<Row, Stop> {
        let mut values: smallvec::SmallVec<[Value; 8]> = old.iter().cloned().collect();
        for (column, expr) in set {
            values[*column] = self.eval_one(expr, rows, params, run)?;
        }
        Ok(values.into_iter().collect())
    }

    pub(crate) fn return_row(
        &mut self,
        returning: &[Expr],
        rows: &[RelRow],
        params: &[Value],
        run: &mut Running,
    ) -> Result<(), Stop> {
        if !returning.is_empty() {
            let row = self.eval_all(returning, rows, params, run)?.into();
            run.output.push(row);
        }
        Ok(())
    }

    fn eval_one(&mut self, expr: &Expr, rows: &[RelRow], params: &[Value], run: &mut Running) -> Result<Value, Stop> {
        self.evaluate(rows, params, run, |ctx, env| eval::eval(ctx, env, expr))
    }

    /// Evaluates over some rows, with the statement's WITH queries in sight.
    fn evaluate<T>(
        &mut self,
        rows: &[RelRow],
        params: &[Value],
        run: &mut Running,
        act: impl FnOnce(&mut Context<'_>, &Env<'_>) -> Result<T, Interrupt>,
    ) -> Result<T, Stop> {
        let env = Env::new(rows);
        // What was read before the wait need not be remembered twice, nor be refused to one that is doomed since.
        let serial = if run.is_again() { self.transaction_mut().serial.take() } else { None };
        let result = if run.withs.is_empty() {
            self.with_context(&run.view.tables, params, &mut run.calls, |ctx| act(ctx, &env))
        } else {
            let withs = run.withs.clone();
            self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                query::in_scope(&withs, |level| act(ctx, &level.of(rows)))
            })
        };
        if run.is_again() {
            self.transaction_mut().serial = serial;
        }
        Ok(result?)
    }

    pub(crate) fn eval_all(
        &mut self,
        exprs: &[Expr],
        rows: &[RelRow],
        params: &[Value],
        run: &mut Running,
    ) -> Result<Vec<Value>, Stop> {
        self.evaluate(rows, params, run, |ctx, env| {
            exprs.iter().map(|e| eval::eval(ctx, env, e)).collect::<Result<Vec<_>, _>>()
        })
    }

    pub(super) fn eval_condition(
        &mut self,
        expr: &Expr,
        rows: &[RelRow],
        params: &[Value],
        run: &mut Running,
    ) -> Result<bool, Stop> {
        Ok(matches!(self.eval_one(expr, rows, params, run)?, Value::Bool(true)))
    }
}
