//! INSTEAD OF triggers: what is done to the rows of a view.
//!
//! The rows come from the statement, or from the view's query as of the statement's snapshot. No row is locked or
//! written but by the functions themselves: what they return is counted and shown by RETURNING, NULL is neither.

use std::sync::Arc;

use isolde_sql::ast::TriggerTiming;
use isolde_sql::{Row, Value};

use super::{Event, RowStage, TableTriggers};
use crate::eval::RelRow;
use crate::exec::Executor;
use crate::exec::{Running, Stop};
use crate::footprint::ColumnSet;
use crate::prepare::{DeletePlan, InsertPlan, UpdatePlan};
use crate::query::Candidate;

impl Executor<'_> {
    /// A row for a view.
    pub(crate) fn insert_instead(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &InsertPlan,
        params: &[Value],
        run: &mut Running,
        source: &Row,
    ) -> Result<(), Stop> {
        if run.staged().is_none() {
            let new = self.eval_all(&plan.values, &[RelRow::new(source.clone())], params, run)?;
            run.set_stage(RowStage { new: Some(new.into()), ..RowStage::default() }, false);
        }
        let Some(row) = self.instead_of_row(triggers, Event::Insert, run)? else { return Ok(()) };
        self.return_row(&plan.returning, &[RelRow::new(row)], params, run)?;
        run.count += 1;
        Ok(())
    }

    /// A row of a view is to be another.
    pub(crate) fn update_instead(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &UpdatePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
    ) -> Result<(), Stop> {
        if run.staged().is_none() {
            let old = seen.rows[0].values.clone();
            let new = self.apply_set(&plan.set, &old, &seen.rows, params, run)?;
            run.set_stage(RowStage { old: Some(old), new: Some(new), ..RowStage::default() }, false);
        }
        let Some(row) = self.instead_of_row(triggers, Event::Update, run)? else { return Ok(()) };
        if !plan.returning.is_empty() {
            let mut rows = seen.rows.clone();
            rows[0] = RelRow::new(row);
            self.return_row(&plan.returning, &rows, params, run)?;
        }
        run.count += 1;
        Ok(())
    }

    /// A row of a view is to go.
    pub(crate) fn delete_instead(
        &mut self,
        triggers: &Arc<TableTriggers>,
        plan: &DeletePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
    ) -> Result<(), Stop> {
        if run.staged().is_none() {
            let old = Some(seen.rows[0].values.clone());
            run.set_stage(RowStage { old, ..RowStage::default() }, false);
        }
        if self.instead_of_row(triggers, Event::Delete, run)?.is_some() {
            self.return_row(&plan.returning, &seen.rows, params, run)?;
            run.count += 1;
        }
        Ok(())
    }

    fn instead_of_row(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        run: &mut Running,
    ) -> Result<Option<Row>, Stop> {
        let chosen = triggers.of(TriggerTiming::InsteadOf, true, event, ColumnSet::NONE);
        self.hand_on(triggers, &chosen, event, run, false)
    }
}
