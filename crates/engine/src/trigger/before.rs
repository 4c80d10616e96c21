//! BEFORE triggers: once per statement, and on each row before it is changed.
//!
//! A row is locked, and looked at again if somebody changed it, before its triggers see it. From there on it is
//! remembered as a [`RowStage`], so that what came before is not done twice when the statement goes on.

use std::sync::Arc;

use isolde_sql::ast::TriggerTiming;
use isolde_sql::{Row, SqlError};

use super::{Event, TableTriggers};
use crate::exec::Executor;
use crate::exec::{Running, Stop};
use crate::footprint::ColumnSet;
use crate::lock::RowRef;
use crate::query::Candidate;

/// The row at hand while its BEFORE triggers fire.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowStage {
    /// How many have fired.
    pub(crate) fired: usize,
    /// Which row, if it is in the table already.
    pub(crate) row: Option<RowRef>,
    /// The joined row that it was found by, in the version that is locked.
    pub(crate) candidate: Option<Candidate>,
    pub(crate) old: Option<Row>,
    pub(crate) new: Option<Row>,
    /// How many rows had been changed behind the statement's back when it was staged.
    pub(crate) disturbed: usize,
}

impl Running {
    fn stage(&mut self, conflict: bool) -> &mut RowStage {
        let triggered = self.triggered();
        let stage = if conflict { &mut triggered.conflict } else { &mut triggered.row };
        stage.get_or_insert_with(RowStage::default)
    }

    /// Whether the BEFORE triggers of the row at hand have begun to fire.
    pub(crate) fn staged(&self) -> Option<&RowStage> {
        self.triggered.as_ref()?.row.as_ref()
    }

    /// The same for ON CONFLICT DO UPDATE.
    pub(crate) fn staged_conflict(&self) -> Option<&RowStage> {
        self.triggered.as_ref()?.conflict.as_ref()
    }

    /// The row at hand is ready for its BEFORE triggers.
    pub(crate) fn set_stage(&mut self, stage: RowStage, conflict: bool) {
        let disturbed = self.disturbed.len();
        *self.stage(conflict) = RowStage { disturbed, ..stage };
        self.calls.clear();
    }
}

impl Executor<'_> {
    /// Fires the BEFORE STATEMENT triggers, unless they have fired for this statement.
    pub(crate) fn before_statement(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        run: &mut Running,
    ) -> Result<(), Stop> {
        let key = (triggers.table.id, event);
        if run.triggered().begun.contains(&key) {
            return Ok(());
        }
        let chosen = triggers.of(TriggerTiming::Before, false, event, set);
        while let Some(&at) = chosen.get(run.triggered().firing) {
            if self.when_holds(triggers, at, None, None, run)? {
                self.fire((triggers, at), event, None, None, None, run)?;
            }
            run.calls.clear();
            run.triggered().firing += 1;
        }
        run.triggered().firing = 0;
        run.triggered().begun.push(key);
        Ok(())
    }

    /// Fires the BEFORE ROW triggers of the row that is staged: the row that is left, or `None` if it is to be left
    /// alone.
    pub(crate) fn before_row(
        &mut self,
        triggers: &Arc<TableTriggers>,
        event: Event,
        set: ColumnSet,
        run: &mut Running,
        conflict: bool,
    ) -> Result<Option<Row>, Stop> {
        let chosen = triggers.of(TriggerTiming::Before, true, event, set);
        self.hand_on(triggers, &chosen, event, run, conflict)
    }

    /// Fires these triggers of the row that is staged, each on what the one before has made of it.
    pub(super) fn hand_on(
        &mut self,
        triggers: &Arc<TableTriggers>,
        chosen: &[usize],
        event: Event,
        run: &mut Running,
        conflict: bool,
    ) -> Result<Option<Row>, Stop> {
        loop {
            let stage = run.stage(conflict);
            let (old, new) = (stage.old.clone(), stage.new.clone());
            let Some(&at) = chosen.get(stage.fired) else {
                return Ok(new.or(old));
            };
            if self.when_holds(triggers, at, old.as_ref(), new.as_ref(), run)? {
                let Some(row) = self.fire((triggers, at), event, old.as_ref(), new.as_ref(), None, run)? else {
                    return Ok(None);
                };
                if new.is_some() {
                    run.stage(conflict).new = Some(row);
                }
            }
            run.calls.clear();
            run.stage(conflict).fired += 1;
        }
    }

    /// A row must still be as its BEFORE triggers found it.
    pub(crate) fn undisturbed(&self, run: &Running, row: RowRef, done: &str) -> Result<(), SqlError> {
        let staged = run.staged_conflict().or(run.staged()).map_or(0, |stage| stage.disturbed);
        match run.disturbed[staged..].contains(&row) {
            true => self.refuse_triggered_change(run, row, done),
            false => Ok(()),
        }
    }
}
