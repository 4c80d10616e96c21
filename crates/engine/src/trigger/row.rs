//! One row of a table with triggers: from the statement to the BEFORE triggers, and from the change to the queue.

use std::sync::Arc;

use isolde_sql::ast::TriggerTiming;
use isolde_sql::{Row, Value};

use super::{Event, RowStage, TableTriggers};
use crate::exec::Executor;
use crate::exec::{After, Running, Stop};
use crate::footprint::ColumnSet;
use crate::lock::RowRef;
use crate::prepare::{InsertPlan, UpdatePlan};
use crate::query::Candidate;

/// What is queued once a row is done.
pub(crate) struct Written {
    triggers: Arc<TableTriggers>,
    event: Event,
    old: Option<Row>,
    new: Row,
    queued: Vec<After>,
}

impl TableTriggers {
    /// Whether a row's triggers fire before it is changed.
    pub(crate) fn fires_before_row(&self, event: Event, set: ColumnSet) -> bool {
        !self.of(TriggerTiming::Before, true, event, set).is_empty()
    }
}

impl Executor<'_> {
    /// The BEFORE STATEMENT triggers of INSERT; with ON CONFLICT DO UPDATE those of UPDATE as well.
    pub(crate) fn before_insert(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &InsertPlan,
        run: &mut Running,
    ) -> Result<(), Stop> {
        self.before_statement(triggers, Event::Insert, ColumnSet::NONE, run)?;
        match plan.updates_conflicts() {
            true => self.before_statement(triggers, Event::Update, plan.conflict_columns(), run),
            false => Ok(()),
        }
    }

    /// The AFTER STATEMENT triggers of INSERT, behind those of the UPDATE that ON CONFLICT may have been.
    pub(crate) fn after_insert(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &InsertPlan,
        run: &mut Running,
    ) -> Result<(), Stop> {
        if plan.updates_conflicts() && !run.triggered().ended {
            self.after_statement(triggers, Event::Update, plan.conflict_columns(), run)?;
        }
        self.end_statement(triggers, Event::Insert, ColumnSet::NONE, run)
    }

    /// The rows are done: the AFTER STATEMENT triggers are queued, once.
    pub(crate) fn end_statement(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        run: &mut Running,
    ) -> Result<(), Stop> {
        if !run.triggered().ended {
            self.after_statement(triggers, event, set, run)?;
            run.calls.clear();
            run.triggered().ended = true;
        }
        Ok(())
    }

    /// A row that is to be inserted, as its BEFORE triggers leave it.
    pub(crate) fn insert_triggered(
        &mut self,
        triggers: &Arc<TableTriggers>,
        values: Row,
        run: &mut Running,
    ) -> Result<Option<Row>, Stop> {
        if run.staged().is_none() {
            run.set_stage(RowStage { new: Some(values), ..RowStage::default() }, false);
        }
        self.before_row(triggers, Event::Insert, ColumnSet::NONE, run, false)
    }

    /// Locks a row, fires its BEFORE triggers and writes what they leave of it; whether there is anything.
    pub(crate) fn update_triggered(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &UpdatePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
    ) -> Result<bool, Stop> {
        let Some(id) = seen.rows[0].id else { return Ok(false) };
        let row = (plan.table, id);
        if run.staged().is_none() {
            if self.is_own_command(row, seen.rows[0].position, run.start) {
                self.refuse_triggered_change(run, row, "updated")?;
                return Ok(false);
            }
            let wanted = self.apply_set(&plan.set, &seen.rows[0].values, &seen.rows, params, run)?;
            // It is not known yet what the triggers will do, so the columns that are set decide how the row is locked.
            let sets_key = plan.set.iter().any(|(c, _)| self.catalog().table(plan.table).is_key_column(*c));
            let lock = crate::exec::Lock::update(sets_key);
            let target = self.lock_target(&plan.select, row, lock, params, run, seen, "updated")?;
            let Some(candidate) = target else { return Ok(false) };
            let old = candidate.rows[0].values.clone();
            let new = match candidate.rows[0].position == seen.rows[0].position {
                true => wanted,
                false => self.apply_set(&plan.set, &old, &candidate.rows, params, run)?,
            };
            let (row, candidate) = (Some(row), Some(candidate));
            run.set_stage(RowStage { row, candidate, old: Some(old), new: Some(new), ..RowStage::default() }, false);
        }
        let Some(mut new) = self.before_row(triggers, Event::Update, plan.set_columns, run, false)? else {
            return Ok(false);
        };
        let Some(old) = run.staged().and_then(|stage| stage.old.clone()) else { return Ok(false) };
        self.undisturbed(run, row, "updated")?;
        self.check_row(plan.table, &mut new, &plan.row, run)?;
        self.write_staged(row, old, new, run)?;
        Ok(true)
    }

    /// Writes what BEFORE triggers have left of a row; if they changed its key, that takes a stronger lock.
    pub(crate) fn write_staged(&mut self, row: RowRef, old: Row, new: Row, run: &mut Running) -> Result<(), Stop> {
        if !self.same_keys(row.0, &old, &new) {
            self.lock_row(row, isolde_sql::ast::LockStrength::Update)?;
        }
        run.triggered().written = Some((Event::Update, Some(old.clone())));
        self.update_version(run, row, old, new, ColumnSet::ALL)?;
        Ok(())
    }

    /// Fires the BEFORE triggers of a row that is locked and to be deleted; whether it still is.
    pub(crate) fn delete_triggered(
        &mut self,
        triggers: &Arc<TableTriggers>,
        row: RowRef,
        found: &Candidate,
        run: &mut Running,
    ) -> Result<bool, Stop> {
        if !triggers.fires_before_row(Event::Delete, ColumnSet::NONE) {
            return Ok(true);
        }
        if run.staged().is_none() {
            let old = Some(found.rows[0].values.clone());
            let candidate = Some(found.clone());
            run.set_stage(RowStage { row: Some(row), candidate, old, ..RowStage::default() }, false);
        }
        let deleted = self.before_row(triggers, Event::Delete, ColumnSet::NONE, run, false)?.is_some();
        if deleted {
            self.undisturbed(run, row, "deleted")?;
        }
        Ok(deleted)
    }

    /// A cascade reaches a row of a table with triggers, to delete it.
    pub(crate) fn cascade_delete(
        &mut self,
        triggers: &Arc<TableTriggers>,
        row: RowRef,
        old: Row,
        run: &mut Running,
    ) -> Result<(), Stop> {
        if run.staged().is_none() {
            let stage = RowStage { row: Some(row), old: Some(old.clone()), ..RowStage::default() };
            run.set_stage(stage, false);
        }
        if self.before_row(triggers, Event::Delete, ColumnSet::NONE, run, false)?.is_none() {
            return Ok(());
        }
        self.undisturbed(run, row, "deleted")?;
        let both = (Some(&old), None);
        let queued = self.after_row(triggers, Event::Delete, ColumnSet::NONE, both, run)?;
        self.delete_version(run, row, &old)?;
        self.queue_after(triggers, Event::Delete, both, queued, run);
        Ok(())
    }

    /// A cascade has staged a row of a table with triggers, to change it; whether it did.
    pub(crate) fn cascade_update(
        &mut self,
        triggers: &Arc<TableTriggers>,
        set: ColumnSet,
        row: RowRef,
        run: &mut Running,
    ) -> Result<bool, Stop> {
        let Some(mut new) = self.before_row(triggers, Event::Update, set, run, false)? else { return Ok(false) };
        let Some(old) = run.staged().and_then(|stage| stage.old.clone()) else { return Ok(false) };
        self.undisturbed(run, row, "updated")?;
        let schema = self.schema().clone();
        self.check_row(row.0, &mut new, &crate::prepare::RowPlan::new(&schema.catalog, row.0), run)?;
        self.write_staged(row, old, new, run)?;
        Ok(true)
    }

    /// The AFTER ROW triggers of the row that was just written.
    pub(crate) fn written_triggers(
        &mut self,
        triggers: &Arc<TableTriggers>,
        set: ColumnSet,
        row: RowRef,
        run: &mut Running,
    ) -> Result<Option<Written>, Stop> {
        let Some((event, old)) = run.triggered().written.clone() else { return Ok(None) };
        let Some(new) = self.newest(row).map(|tuple| tuple.values) else { return Ok(None) };
        let queued = self.after_row(triggers, event, set, (old.as_ref(), Some(&new)), run)?;
        Ok(Some(Written { triggers: triggers.clone(), event, old, new, queued }))
    }

    /// Puts them into the queue.
    pub(crate) fn queue_written(&mut self, written: Written, run: &mut Running) {
        let Written { triggers, event, old, new, queued } = written;
        self.queue_after(&triggers, event, (old.as_ref(), Some(&new)), queued, run);
    }
}
