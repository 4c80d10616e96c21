//! MERGE: each joined row takes the first WHEN that fits.
//!
//! A source row that has found a target row goes through the WHEN MATCHED list as the snapshot shows the target. If
//! somebody has changed the target meanwhile, READ COMMITTED looks at the newest version: does the join still hold, the
//! list is gone through again from its start; does it not, or is the row gone, the source row counts as not matched.
//! There is no second look when a row is inserted: a key that somebody else has is an error.

use std::sync::Arc;

use isolde_sql::{SqlError, SqlState, Value};

use super::version::{Lock, Version};
use super::{Executor, Input, Phase, Running, Stop};
use crate::footprint::ColumnSet;
use crate::prepare::{MergeActionPlan, MergePlan, MergeWhenPlan};
use crate::query::{self, Candidate};
use crate::trigger::{Event, RowStage, TableTriggers};

impl Executor<'_> {
    /// MERGE.
    pub(super) fn merge(&mut self, plan: &MergePlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        let triggers = self.triggers_of(plan.table);
        if let Some(triggers) = &triggers {
            self.before_merge(triggers, plan, run)?;
        }
        let candidates = self.merge_candidates(plan, params, run)?;
        while let Some(at) = run.row_at_hand() {
            run.calls.rewind();
            self.merge_row(plan, params, run, &candidates[at], triggers.as_ref())?;
            run.row_done();
        }
        match &triggers {
            Some(triggers) => self.after_merge(triggers, plan, run),
            None => Ok(()),
        }
    }

    /// The joined rows, in the order of the target's heap if that is read first; those without a target row are last
    /// then.
    fn merge_candidates(
        &mut self,
        plan: &MergePlan,
        params: &[Value],
        run: &mut Running,
    ) -> Result<Arc<[Candidate]>, Stop> {
        let fresh = run.input().is_none();
        let found = self.scan(&plan.select, params, run)?;
        if !fresh || !plan.target_first || found.len() < 2 {
            return Ok(found);
        }
        let mut sorted = found.to_vec();
        sorted.sort_by_key(|candidate| (candidate.rows[0].missing, candidate.rows[0].position));
        let sorted: Arc<[Candidate]> = sorted.into();
        run.phase = Phase::Rows { input: Input::Candidates(sorted.clone()), next: 0 };
        Ok(sorted)
    }

    fn merge_row(
        &mut self,
        plan: &MergePlan,
        params: &[Value],
        run: &mut Running,
        seen: &Candidate,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        if run.written().is_some() {
            return self.finish_merge(plan, run, ColumnSet::ALL, triggers);
        }
        if let Some(triggers) = triggers.filter(|_| run.staged().is_some()) {
            return self.go_on_staged(triggers, plan, run);
        }
        let mut candidate = seen.clone();
        while candidate.rows[0].id.is_some() && !candidate.rows[0].missing {
            match self.merge_matched(plan, params, run, &candidate, triggers)? {
                Matched::Done => return Ok(()),
                Matched::Again(newest) => candidate = newest,
                Matched::Lost => {
                    let nulls = plan.select.nulls[0].clone();
                    candidate.rows[0] = crate::eval::RelRow { missing: true, ..crate::eval::RelRow::new(nulls) };
                }
            }
        }
        self.merge_unmatched(plan, params, run, &candidate, triggers)
    }

    /// The row at hand is in the hands of its BEFORE triggers.
    fn go_on_staged(&mut self, triggers: &Arc<TableTriggers>, plan: &MergePlan, run: &mut Running) -> Result<(), Stop> {
        match self.merge_staged(triggers, plan, run)? {
            true => self.finish_merge(plan, run, ColumnSet::ALL, Some(triggers)),
            false => Ok(()),
        }
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
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<Matched, Stop> {
        let Some(when) = self.fitting(plan, true, params, run, candidate)? else { return Ok(Matched::Done) };
        let target = &candidate.rows[0];
        let Some(id) = target.id else { return Ok(Matched::Lost) };
        let row = (plan.table, id);
        let fires = |event| triggers.filter(|t| t.fires_before_row(event, plan.set_columns()));
        let (lock, wanted, before) = match &when.action {
            MergeActionPlan::Nothing | MergeActionPlan::Insert(_) => return Ok(Matched::Done),
            MergeActionPlan::Delete => (Lock::delete(), None, fires(Event::Delete)),
            MergeActionPlan::Update(set, _) => {
                let mut wanted = self.apply_set(set, &target.values, &candidate.rows, params, run)?;
                let before = fires(Event::Update);
                if before.is_none() {
                    self.check_row(plan.table, &mut wanted, &plan.row, run)?;
                }
                // It is not known yet what triggers will do, so the columns that are set decide how the row is locked.
                let table = self.catalog().table(plan.table);
                let sets_key = plan.set_columns().iter().any(|column| table.is_key_column(column));
                let changes_key = match before {
                    Some(_) => sets_key,
                    None => !self.same_keys(plan.table, &target.values, &wanted),
                };
                (Lock::merge(changes_key, sets_key), Some(wanted), before)
            }
        };
        run.not_again();
        // All of it counts: what is not set is carried along.
        self.footprint.looked.push(row);
        let version = self.lock_version(row, target.position, run.start, lock)?;
        self.refuse_changed(row, &version)?;
        match version {
            Version::Same | Version::SameKey => {}
            Version::Gone | Version::Skipped => return Ok(Matched::Lost),
            Version::OwnCommand => {
                // To find a row for a trigger is, to PostgreSQL, the same as to update it.
                let done = if before.is_some() { "updated" } else { "updated or deleted" };
                self.refuse_triggered_change(run, row, done)?;
                return Err(second_time().into());
            }
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
        if let Some(triggers) = before {
            let stage = RowStage { row: Some(row), old: Some(old), new: wanted, ..RowStage::default() };
            run.set_stage(stage, false);
            self.go_on_staged(triggers, plan, run)?;
            return Ok(Matched::Done);
        }
        match (&when.action, wanted, triggers) {
            (MergeActionPlan::Update(_, columns), Some(new), _) => {
                if triggers.is_some() {
                    run.triggered().written = Some((Event::Update, Some(old.clone())));
                }
                self.update_version(run, row, old, new, *columns)?;
                self.finish_merge(plan, run, *columns, triggers)?;
            }
            (.., Some(triggers)) => self.delete_merged(triggers, row, &old, run)?,
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
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        let Some(when) = self.fitting(plan, false, params, run, candidate)? else { return Ok(()) };
        let MergeActionPlan::Insert(values) = &when.action else { return Ok(()) };
        let mut values: isolde_sql::Row = self.eval_all(values, &candidate.rows, params, run)?.into();
        if let Some(triggers) = triggers {
            run.set_stage(RowStage { new: Some(values), ..RowStage::default() }, false);
            return self.go_on_staged(triggers, plan, run);
        }
        self.check_row(plan.table, &mut values, &plan.row, run)?;
        self.insert_version(plan.table, values, run)?;
        self.finish_merge(plan, run, ColumnSet::ALL, None)
    }

    /// The row at hand is written: its unique keys, and its AFTER triggers.
    fn finish_merge(
        &mut self,
        plan: &MergePlan,
        run: &mut Running,
        columns: ColumnSet,
        triggers: Option<&Arc<TableTriggers>>,
    ) -> Result<(), Stop> {
        self.probe_unique(run, columns)?;
        if let (Some((row, _)), Some(triggers)) = (run.written(), triggers)
            && let Some(written) = self.written_triggers(triggers, plan.set_columns(), row, run)?
        {
            self.queue_written(written, run);
        }
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
