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
//! view and with the same results of the routines it had called ([`Calls`]), so nothing happens twice.

mod constraint;
mod deferred;
mod executor;
mod foreign_key;
mod merge;
mod modify;
mod select;
mod version;

use std::sync::Arc;

use isolde_sql::budget::spend;
use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{OutputColumn, StatementKind};
use isolde_sql::{Row, SqlError, Value};

use crate::eval::{Calls, Inner, Interrupt};
use crate::lock::{RowRef, Target};
use crate::plan::{WithPlan, WithScope};
use crate::prepare::{Plan, Prepared};
use crate::query::Candidate;
use crate::session::StatementFrame;
use crate::transaction::Snapshot;
use crate::trigger::{self, Triggered};

pub(crate) use constraint::{index_key_text, key_text};
pub(crate) use deferred::Deferred;
pub(crate) use executor::Executor;
pub(crate) use foreign_key::After;
pub(crate) use version::Lock;

/// What a foreign key to see to costs; it may lead to others without end in sight. See [`isolde_sql::budget`].
const AFTER_COST: u64 = 100;

/// How far a statement has come.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// What it reads.
    pub(crate) view: Snapshot,
    /// Versions at or past this position are this statement's own work, which it does not see.
    pub(crate) start: u64,
    /// Results of routines called by the part that is being evaluated.
    pub(crate) calls: Calls,
    /// What there is to go through; `None` while it scans.
    pub(crate) input: Option<Input>,
    /// Rows done.
    pub(crate) next: usize,
    /// The row that was just written and must be checked against unique keys, and the first index not yet checked.
    pub(crate) probing: Option<(RowRef, usize)>,
    /// The row at hand is taken up again after a wait: what is evaluated before it is locked has been evaluated before.
    pub(crate) again: bool,
    /// The row that was just written enters the indexes of its table; known where one of them can be deferred.
    pub(crate) enters: bool,
    /// Foreign keys to see to, those from `after_next` on not yet.
    pub(crate) after: Vec<After>,
    pub(crate) after_next: usize,
    /// What it will return.
    pub(crate) output: Vec<Row>,
    /// It stops after so many rows: see [`Prepared::rows_max`] and [`StatementFrame::fetch`].
    pub(crate) rows_max: Option<usize>,
    /// Where the rows of `output` come from, if a cursor wants to know.
    pub(crate) sources: Vec<Vec<RowRef>>,
    /// Rows changed or locked.
    pub(crate) count: u64,
    /// CALL: the arguments are evaluated and the procedure runs.
    pub(crate) entered: bool,
    /// How far the triggers of its tables have come.
    pub(crate) triggered: Option<Box<Triggered>>,
    /// Rows that the routines it called have changed.
    pub(crate) disturbed: Vec<RowRef>,
    /// The WITH queries it sees.
    pub(crate) withs: WithScope,
    /// It is itself a WITH statement, whose rows go to this slot of the one around it.
    pub(crate) slot: Option<usize>,
    /// Its own rows are done; what remains are WITH statements that nobody has asked for, and foreign keys.
    pub(crate) complete: bool,
}

/// What the row phase goes through.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Rows to insert.
    Rows(Arc<[Row]>),
    /// Joined rows to update, delete or lock.
    Candidates(Arc<[Candidate]>),
    /// The same for a locking SELECT, with its LIMIT and OFFSET.
    Limited(Arc<[Candidate]>, Option<u64>, u64),
}

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

impl Running {
    /// A statement that begins now.
    pub(crate) fn new(view: Snapshot, start: u64) -> Self {
        Running {
            view,
            start,
            calls: Calls::default(),
            input: None,
            next: 0,
            probing: None,
            again: false,
            enters: true,
            after: Vec::new(),
            after_next: 0,
            output: Vec::new(),
            sources: Vec::new(),
            rows_max: None,
            count: 0,
            entered: false,
            triggered: None,
            disturbed: Vec::new(),
            withs: WithScope::default(),
            slot: None,
            complete: false,
        }
    }

    /// Whether there is another of `count` rows to go through.
    fn goes_on(&self, count: usize) -> bool {
        self.next < count && self.rows_max.is_none_or(|max| self.output.len() < max)
    }

    /// The row at hand is written: what came before is not evaluated again, what comes next starts with its unique
    /// keys.
    pub(crate) fn written(&mut self, row: RowRef) {
        self.probing = Some((row, 0));
        self.calls.clear();
    }

    /// The row at hand is done.
    fn row_done(&mut self) {
        self.next += 1;
        self.calls.clear();
        self.probing = None;
        self.again = false;
        self.forget_row();
    }

    /// What triggers have made of the row at hand no longer matters.
    fn forget_row(&mut self) {
        if let Some(triggered) = &mut self.triggered {
            (triggered.row, triggered.conflict, triggered.written) = (None, None, None);
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
        if !run.complete {
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
            run.complete = run.withs.own.is_some();
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
        if run.slot.is_some() {
            // Its foreign keys are looked at, and its triggers fire, when the whole statement is done.
            let rows = std::mem::take(&mut run.output);
            let (verb, columns) = prepared.plan.result();
            return Ok(Produced { columns, rows, count: run.count, ..Produced::nothing(verb) });
        }
        self.work_off(run)?;
        let (verb, columns) = prepared.plan.result();
        let rows = std::mem::take(&mut run.output);
        let count = if let Plan::Query(_) = prepared.plan { rows.len() as u64 } else { run.count };
        let sources = std::mem::take(&mut run.sources);
        Ok(Produced { verb, columns, rows, count, sources, rest: None })
    }

    /// What is to be seen to after the rows, in the order of the queue.
    pub(crate) fn work_off(&mut self, run: &mut Running) -> Result<(), Stop> {
        while run.after_next < run.after.len() {
            spend(AFTER_COST)?;
            self.after(run)?;
            run.after_next += 1;
            run.calls.clear();
            run.forget_row();
        }
        Ok(())
    }
}
