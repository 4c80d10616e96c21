//! `SELECT ... FOR UPDATE` and its family.
//!
//! The rows are those of the snapshot, in the order asked for; then each is locked in turn and looked at again. At READ
//! COMMITTED a row that has changed meanwhile is taken in its newest version, if that still satisfies the query; the
//! order is not made anew, and with LIMIT fewer rows may come back. OFFSET skips rows that are locked all the same.

use isolde_sql::Value;

use super::version::{Lock, Version, concurrent_update};
use super::{Executor, Input, Running, Stop};
use crate::prepare::LockingPlan;
use crate::query::{self, Candidate};

impl Executor<'_> {
    /// The scan and the row phase of a locking query.
    pub(super) fn lock_rows(&mut self, plan: &LockingPlan, params: &[Value], run: &mut Running) -> Result<(), Stop> {
        if run.input().is_none() {
            let withs = run.withs.clone();
            let (candidates, limit, offset) = self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                query::locking_candidates(ctx, &plan.query, &withs)
            })?;
            self.footprint.reads.iter_mut().for_each(|r| r.current = true);
            run.begin_rows(Input::Limited(candidates.into(), limit, offset));
        }
        let Some((Input::Limited(candidates, limit, offset), _)) = run.input() else {
            unreachable!("a locking query goes through its candidates")
        };
        let (candidates, limit, offset) = (candidates.clone(), *limit, *offset);
        while let Some(at) = run.row_at_hand()
            && limit.is_none_or(|limit| run.count < limit.saturating_add(offset))
        {
            run.calls.rewind();
            if let Some(candidate) = self.lock_candidate(plan, params, run, &candidates[at])? {
                if run.count >= offset {
                    let withs = run.withs.clone();
                    let row = self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                        query::project(ctx, &plan.query, &withs, &candidate)
                    })?;
                    run.output.push(row);
                    if plan.sources {
                        let tables = plan.tables.iter().zip(&candidate.rows);
                        run.sources.push(tables.filter_map(|(table, row)| Some(((*table)?, row.id?))).collect());
                    }
                }
                run.count += 1;
            }
            run.row_done();
        }
        Ok(())
    }

    /// Locks what the clauses ask for of one joined row; `None` if it is skipped.
    fn lock_candidate(
        &mut self,
        plan: &LockingPlan,
        params: &[Value],
        run: &mut Running,
        candidate: &Candidate,
    ) -> Result<Option<Candidate>, Stop> {
        let mut newest = candidate.clone();
        let mut changed = false;
        for clause in &plan.locking {
            for &rel in &clause.rels {
                let Some((table, row)) = plan.tables[rel].zip(candidate.rows[rel].id) else { continue };
                let lock = Lock::select(clause.strength, clause.wait);
                match self.lock_version((table, row), candidate.rows[rel].position, run.start, lock)? {
                    Version::Same | Version::SameKey => {}
                    Version::Gone | Version::Newer(_) if self.keeps_snapshot() => {
                        return Err(concurrent_update().into());
                    }
                    Version::Gone | Version::OwnCommand | Version::Skipped => return Ok(None),
                    Version::Newer(tuple) => {
                        newest.rows[rel].position = tuple.position;
                        newest.rows[rel].values = tuple.values;
                        changed = true;
                    }
                }
            }
        }
        if changed && self.rechecks() {
            let Some(select) = plan.query.select() else { return Ok(Some(newest)) };
            let withs = run.withs.clone();
            let holds = self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                query::recheck(ctx, select, &withs, &newest)
            })?;
            if !holds {
                return Ok(None);
            }
        }
        Ok(Some(newest))
    }
}
