//! Running one SQL statement, with stops.
//!
//! A statement has three phases. It *scans*: the rows it is about are read from its view, all at once; nothing
//! can stop it there but a call to user code. It goes *through the rows* one by one: lock, look again, change, check
//! unique keys; at each row it may have to wait. *After* the rows come foreign keys, which may wait too and may change
//! further rows. How far it has come is in [`Running`], which rests in the session's frame while it waits:
//!
//! ```text
//!   Scan ──▶ Rows { next } ──▶ After { next } ──▶ done
//!              │    ▲             │    ▲
//!              ▼    │             ▼    │
//!             wait for a lock, or for a routine it called
//! ```
//!
//! When it goes on, it takes up the same row again: everything before the wait is evaluated once more, from the same
//! view and with the same results of the routines it had called ([`Calls`](crate::eval::Calls)), so nothing happens
//! twice.

mod constraint;
mod deferred;
mod executor;
mod foreign_key;
mod merge;
mod modify;
mod running;
mod select;
mod version;

use std::sync::Arc;

use isolde_sql::budget::spend;
use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{OutputColumn, StatementKind};
use isolde_sql::{Row, SqlError, Value};

use crate::eval::{Inner, Interrupt};
use crate::lock::{RowRef, Target};
use crate::plan::WithPlan;
use crate::prepare::{Plan, Prepared};
use crate::session::StatementFrame;
use crate::trigger;

pub(crate) use constraint::{index_key_text, key_text};
pub(crate) use deferred::Deferred;
pub(crate) use executor::Executor;
pub(crate) use foreign_key::After;
pub(crate) use running::{AtHand, Input, Phase, Running, Wanted};
pub(crate) use version::Lock;

/// What a foreign key to see to costs; it may lead to others without end in sight. See [`isolde_sql::budget`].
const AFTER_COST: u64 = 100;

/// What a finished statement produced.
#[derive(Clone, Debug)]
pub(crate) struct Produced {
    pub(crate) verb: &'static str,
    pub(crate) columns: Arc<[OutputColumn]>,
    pub(crate) rows: Vec<Row>,
    pub(crate) count: u64,
    /// Where the rows come from, if a cursor wants to know.
    pub(crate) sources: Vec<Vec<RowRef>>,
    /// The statement itself, if it has only been asked for its first rows and there may be more.
    pub(crate) rest: Option<Box<StatementFrame>>,
}

/// Why a statement stopped before its end.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// It failed.
    Error(SqlError),
    /// It must wait.
    Wait(Target),
    /// It needs the result of a routine.
    Call(RoutineId, Vec<Value>),
    /// It needs the answer of a trigger's function.
    Trigger(Box<trigger::Call>),
    /// It needs the rows of a query inside it, which locks them.
    Query(Inner),
    /// It needs a statement of its WITH clause to run, whose rows go to a slot.
    With(usize, Arc<Prepared>),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Error(error)
    }
}

impl From<Interrupt> for Stop {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::Error(error) => Stop::Error(error),
            Interrupt::Call(routine, args) => Stop::Call(routine, args),
            Interrupt::Lock(query) => Stop::Query(query),
            Interrupt::Wait(target) => Stop::Wait(target),
            Interrupt::With(slot, statement) => Stop::With(slot, statement),
        }
    }
}

impl Executor<'_> {
    /// Runs a statement on from where it stands, to its end or its next stop.
    pub(crate) fn run_statement(
        &mut self,
        prepared: &Prepared,
        params: &[Value],
        run: &mut Running,
    ) -> Result<Produced, Stop> {
        run.calls.rewind();
        if let StatementKind::Truncate(truncate) = &prepared.statement.kind {
            return self.truncate_firing(truncate, run);
        }
        if !run.rows_are_done() {
            match &prepared.plan {
                Plan::Query(plan) if plan.locking.is_empty() && !plan.sources => {
                    let rows = self.with_context(&run.view.tables, params, &mut run.calls, |ctx| {
                        crate::query::run(ctx, &plan.query, None)
                    })?;
                    if plan.query.withs.is_empty() {
                        let count = rows.len() as u64;
                        let columns = plan.columns.clone();
                        return Ok(Produced { columns, rows, count, ..Produced::nothing("SELECT") });
                    }
                    run.output = rows;
                }
                Plan::Query(plan) => self.lock_rows(plan, params, run)?,
                Plan::Insert(plan) => self.insert(plan, params, run)?,
                Plan::Update(plan) => self.update(plan, params, run)?,
                Plan::Delete(plan) => self.delete(plan, params, run)?,
                Plan::Merge(plan) => self.merge(plan, params, run)?,
                Plan::Call(_) | Plan::Do(_) | Plan::Cursor(_) | Plan::Other => {
                    unreachable!("only queries and changes of rows are run as statements")
                }
            }
            if run.may_be_asked_for_more(&prepared.plan) {
                debug_assert!(run.after.is_empty(), "a query that is fetched from leaves nothing to see to");
                return Ok(run.produce(&prepared.plan));
            }
            run.end_rows();
        }
        if let Some(withs) = &run.withs.own {
            // Changes are made whether or not anybody has asked for their rows; PostgreSQL goes from the last to the
            // first.
            for with in withs.iter().rev() {
                if let WithPlan::Modify { slot, statement } = with
                    && run.calls.with(*slot).is_none()
                {
                    return Err(Stop::With(*slot, statement.clone()));
                }
            }
        }
        // Of a WITH statement, the foreign keys are looked at and the triggers fire when the whole statement is done.
        if run.slot.is_none() {
            self.work_off(run)?;
        }
        Ok(run.produce(&prepared.plan))
    }

    /// What is to be seen to after the rows, in the order of the queue.
    pub(crate) fn work_off(&mut self, run: &mut Running) -> Result<(), Stop> {
        while run.has_check() {
            spend(AFTER_COST)?;
            self.after(run)?;
            run.check_done();
        }
        Ok(())
    }
}
