//! MERGE: each joined row takes the first WHEN that fits.
//!
//! A source row that has found a target row goes through the WHEN MATCHED list as the snapshot shows the target. If
//! somebody has changed the target meanwhile, READ COMMITTED looks at the newest version: does the join still hold, the list is
//! gone through again from its start; does it not, or is the row gone, the source row counts as not matched. There is
//! no second look when a row is inserted: a key that somebody else has is an error.

use isolde_sql::{SqlError, SqlState, Value};

use super::version::{Lock, Version};
use super::{Running, Stop};
use crate::footprint::ColumnSet;
use crate::machine::Machine;
use crate::prepare::{MergeActionPlan, MergePlan, MergeWhenPlan};
use crate::query::{self, Candidate};
use crate::storage::RowId;

impl Machine<'_> {
    /// MERGE.
    pub(super) fn merge(&mut self, plan: &MergePlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        if self.triggers_of(plan.table).is_some() {
            let message = "MERGE into a table with triggers is not supported by the embedded engine";
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(error.hint("run it on a real server: --on postgres://...").into());
        }
        let candidates = self.scan(&plan.select, params, run)?;
        while run.goes_on(candidates.len()) {
            run.calls.rewind();
            self.merge_row(plan, params, run, &candidates[run.next])?;
            run.row_done();
        }
        Ok(())
    }

    fn merge_row(
        &mut self,
        plan: &MergePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
    ) -> Result<(), Stop> {
        if run.probing.is_some() {
            return self.finish_merge(run, ColumnSet::ALL);
        }
        let mut candidate = seen.clone();
        while candidate.rows[0].id.is_some() && !candidate.rows[0].missing {
            match self.merge_matched(plan, params, run, &candidate)? {
                Matched::Done => return Ok(()),
                Matched::Again(newest) => candidate = newest,
                Matched::Lost => {
                    let nulls = plan.select.nulls[0].clone();
                    candidate.rows[0] = crate::eval::RelRow { missing: true, ..crate::eval::RelRow::new(nulls) };
                }
            }
        }
        self.merge_unmatched(plan, params, run, &candidate)
    }

    /// The first WHEN of a kind whose condition holds.
    fn fitting<'p>(
        &mut self,
        plan: &'p MergePlan,
        matched: bool,
        params: &[Value],
        run: &mut Running,
        candidate: &Candidate,
    ) -> Result<Option<&'p MergeWhenPlan>, Stop> {
        for when in plan.whens.iter().filter(|w| w.matched == matched) {
            let holds = match &when.condition {
                Some(condition) => self.eval_condition(condition, &candidate.rows, params, run)?,
                None => true,
            };
            if holds {
                return Ok(Some(when));
            }
        }
        Ok(None)
    }

    fn merge_matched(
        &mut self,
        plan: &MergePlan,
        params: &[Value],
        run: &mut Running,
        candidate: &Candidate,
    ) -> Result<Matched, Stop> {
        let Some(when) = self.fitting(plan, true, params, run, candidate)? else { return Ok(Matched::Done) };
        let target = &candidate.rows[0];
        let Some(id) = target.id else { return Ok(Matched::Lost) };
        let row = (plan.table, id);
        let (lock, wanted) = match &when.action {
            MergeActionPlan::Nothing | MergeActionPlan::Insert(_) => return Ok(Matched::Done),
            MergeActionPlan::Delete => (Lock::delete(), None),
            MergeActionPlan::Update(set, _) => {
                let mut wanted = self.apply_set(set, &target.values, &candidate.rows, params, run)?;
                self.check_row(plan.table, &mut wanted, &plan.row, run)?;
                let table = self.catalog().table(plan.table);
                let sets_key = set.iter().any(|(column, _)| table.is_key_column(*column));
                let changes_key = !self.same_keys(plan.table, &target.values, &wanted);
                (Lock::update(changes_key, sets_key), Some(wanted))
            }
        };
        let version = self.lock_version(row, target.position, run.start, lock)?;
        self.refuse_changed(row, &version)?;
        match version {
            Version::Same | Version::SameKey => {}
            Version::Gone | Version::Skipped => return Ok(Matched::Lost),
            Version::OwnCommand => return Err(second_time().into()),
            Version::Newer(tuple) => {
                let mut newest = candidate.clone();
                newest.rows[0].position = tuple.position;
                newest.rows[0].values = tuple.values;
                let withs = run.withs.clone();
                let holds = self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                    query::still_joined(ctx, &plan.select, &withs, &newest)
                })?;
                return Ok(if holds { Matched::Again(newest) } else { Matched::Lost });
            }
        }
        let old = target.values.clone();
        match (&when.action, wanted) {
            (MergeActionPlan::Update(_, columns), Some(new)) => {
                self.update_version(run, row, old, new)?;
                run.written(row);
                self.finish_merge(run, *columns)?;
            }
            _ => {
                self.delete_version(run, row, &old)?;
                run.count += 1;
            }
        }
        Ok(Matched::Done)
    }

    fn merge_unmatched(
        &mut self,
        plan: &MergePlan,
        params: &[Value],
        run: &mut Running,
        candidate: &Candidate,
    ) -> Result<(), Stop> {
        let Some(when) = self.fitting(plan, false, params, run, candidate)? else { return Ok(()) };
        let MergeActionPlan::Insert(values) = &when.action else { return Ok(()) };
        let mut values: isolde_sql::Row = self.eval_all(values, &candidate.rows, params, run)?.into();
        self.check_row(plan.table, &mut values, &plan.row, run)?;
        let row = (plan.table, RowId(self.db.next_position));
        self.write_row(row, None, Some(values.clone()))?;
        self.queue_child_checks(run, row, None, &values);
        run.written(row);
        self.finish_merge(run, ColumnSet::ALL)
    }

    /// The row at hand is written: its unique keys.
    fn finish_merge(&mut self, run: &mut Running, columns: ColumnSet) -> Result<(), Stop> {
        self.probe_unique(run, columns)?;
        run.count += 1;
        Ok(())
    }
}

/// What came of a target row.
enum Matched {
    Done,
    /// It has changed, but still belongs to the source row.
    Again(Candidate),
    /// It does not belong to it any more.
    Lost,
}

fn second_time() -> SqlError {
    SqlError::new(SqlState::CARDINALITY_VIOLATION, "MERGE command cannot affect row a second time")
        .hint("Ensure that not more than one source row matches any one target row.")
}
