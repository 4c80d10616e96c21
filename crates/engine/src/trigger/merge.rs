//! MERGE into a table with triggers.
//!
//! Each row fires the triggers of what becomes of it. The statement itself counts as all that its WHEN clauses name,
//! whether or not it comes to that, and as one UPDATE of all columns that any of them sets:
//!
//! ```text
//!   BEFORE STATEMENT of INSERT, UPDATE, DELETE ──▶ rows ──▶ AFTER STATEMENT of DELETE, UPDATE, INSERT
//! ```

use std::sync::Arc;

use isolde_sql::Row;

use super::{Event, RowStage, TableTriggers};
use crate::exec::Executor;
use crate::exec::{Running, Stop};
use crate::footprint::ColumnSet;
use crate::lock::RowRef;
use crate::prepare::{MergeActionPlan, MergePlan};

impl MergePlan {
    /// The columns that any of its UPDATEs sets.
    pub(crate) fn set_columns(&self) -> ColumnSet {
        let of = |action: &MergeActionPlan| match action {
            MergeActionPlan::Update(_, columns) => *columns,
            _ => ColumnSet::NONE,
        };
        self.whens.iter().fold(ColumnSet::NONE, |sum, when| sum.union(of(&when.action)))
    }

    fn names(&self, event: Event) -> bool {
        self.whens.iter().any(|when| match when.action {
            MergeActionPlan::Insert(_) => event == Event::Insert,
            MergeActionPlan::Update(..) => event == Event::Update,
            MergeActionPlan::Delete => event == Event::Delete,
            MergeActionPlan::Nothing => false,
        })
    }
}

impl Executor<'_> {
    /// The BEFORE STATEMENT triggers of everything that MERGE may do.
    pub(crate) fn before_merge(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &MergePlan,
        run: &mut Running,
    ) -> Result<(), Stop> {
        for event in [Event::Insert, Event::Update, Event::Delete] {
            if plan.names(event) {
                self.before_statement(triggers, event, plan.set_columns(), run)?;
            }
        }
        Ok(())
    }

    /// The rows are done: the AFTER STATEMENT triggers of all that are queued, once.
    pub(crate) fn after_merge(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &MergePlan,
        run: &mut Running,
    ) -> Result<(), Stop> {
        if run.triggered().ended {
            return Ok(());
        }
        for event in [Event::Delete, Event::Update, Event::Insert] {
            if plan.names(event) {
                self.after_statement(triggers, event, plan.set_columns(), run)?;
            }
        }
        run.calls.clear();
        run.triggered().ended = true;
        Ok(())
    }

    /// Fires the BEFORE triggers of the row that is staged, and does what they leave of it; whether it is written, so
    /// that its unique keys are to be checked.
    pub(crate) fn merge_staged(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &MergePlan,
        run: &mut Running,
    ) -> Result<bool, Stop> {
        let Some(RowStage { row, old, new, .. }) = run.staged().cloned() else { return Ok(false) };
        let event = match (row, new) {
            (None, _) => Event::Insert,
            (Some(_), Some(_)) => Event::Update,
            (Some(_), None) => Event::Delete,
        };
        let Some(mut left) = self.before_row(triggers, event, plan.set_columns(), run, false)? else {
            return Ok(false);
        };
        let (Some(row), Some(old)) = (row, old) else {
            self.check_row(plan.table, &mut left, &plan.row, run)?;
            self.insert_version(plan.table, left, run)?;
            run.triggered().written = Some((Event::Insert, None));
            return Ok(true);
        };
        self.undisturbed(run, row, "updated or deleted")?;
        if event == Event::Delete {
            self.delete_merged(triggers, row, &old, run)?;
            return Ok(false);
        }
        self.check_row(plan.table, &mut left, &plan.row, run)?;
        self.write_staged(row, old, left, run)?;
        Ok(true)
    }

    /// Deletes a row whose BEFORE triggers agree.
    pub(crate) fn delete_merged(
        &mut self,
        triggers: &Arc<TableTriggers>,
        row: RowRef,
        old: &Row,
        run: &mut Running,
    ) -> Result<(), Stop> {
        let both = (Some(old), None);
        let queued = self.after_row(triggers, Event::Delete, ColumnSet::NONE, both, run)?;
        self.delete_version(run, row, old)?;
        self.queue_after(triggers, Event::Delete, both, queued, run);
        run.count += 1;
        Ok(())
    }
}
