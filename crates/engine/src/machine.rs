//! One session at work.
//!
//! A [`Machine`] is a session taken out of its database for the length of a step, with the footprint it leaves. It runs
//! the top of the session's stack until the session comes to rest: before the next statement that others could notice,
//! at a lock, or with an answer for the client.
//!
//! ```text
//!   submit ─▶ advance ─▶ rest ─▶ step: run the top statement ─▶ advance ─▶ rest ─▶ ...
//!                │                        │
//!                └── answer               └── blocked: rest; the next step tries again
//! ```
//!
//! It only coordinates: it alone has the stack, decides what runs next and where a result goes. What a statement does
//! is the [`Executor`]'s work, what it locks and waits for that of [`Locks`]; both borrow the parts they need from it.

mod call;
mod deliver;

use std::sync::{Arc, LazyLock};

use isolde_sql::budget::{Entered, spend};
use isolde_sql::catalog::{Catalog, ReturnsDef, RoutineId};
use isolde_sql::typed::{Change, CursorCommand, Define, StatementKind, Transaction as Control};
use isolde_sql::{Row, SqlError, SqlState, Value};

use crate::database::{Database, Schema};
use crate::eval::{self, CallResult, Calls, Env, Inner, Interrupt};
use crate::exec::{Executor, Produced, Running, Stop, Wanted};
use crate::footprint::{ColumnSet, Footprint, Read, SnapshotTaken, TableSet};
use crate::lock::{Locks, Target};
use crate::plan::{self, WithScope};
use crate::prepare::{Plan, Prepared};
use crate::routine::{Code, RoutineFrame};
use crate::session::{
    Frame, Notice, Outcome, Part, Progress, Reply, Returned, Session, SessionId, SessionState, Stack, StatementFrame,
    StatementResult,
};
use crate::transaction::{Snapshot, Transaction};
use crate::trigger;

/// A session taken out of its database, to run.
pub(crate) struct Machine<'a> {
    pub(crate) db: &'a mut Database,
    pub(crate) me: SessionId,
    pub(crate) stack: &'a mut Stack,
    pub(crate) session: &'a mut SessionState,
    pub(crate) footprint: Footprint,
    pub(crate) notices: Vec<Notice>,
    /// How the statement of this step ended, once it has.
    pub(crate) outcome: Option<Outcome>,
    /// What statements of routines returned in this step.
    pub(crate) returned: Vec<Returned>,
    /// The step is done under the budget of the database.
    _entered: Entered,
}

/// What a statement costs that is not a step of its own, or the beginning of one that is. See [`isolde_sql::budget`].
const STATEMENT_COST: u64 = 200;

/// What a session leaves to its database when it comes to rest.
pub(crate) struct Left {
    pub(crate) footprint: Footprint,
    pub(crate) notices: Vec<Notice>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) returned: Vec<Returned>,
}

/// What the client gets to know when a run ends: nothing yet, or the answer.
type Answer = Option<Reply>;

impl<'a> Machine<'a> {
    /// Takes a session out of its database, lets it work, and puts it back. What it did stays with the caller.
    pub(crate) fn run<R>(db: &'a mut Database, me: SessionId, act: impl FnOnce(&mut Machine<'_>) -> R) -> (R, Left) {
        // The place it leaves is never looked at: everybody asks for the *other* sessions.
        static NOBODY: LazyLock<Arc<Session>> = LazyLock::new(Arc::default);
        let mut slot = std::mem::replace(&mut db.sessions[me.0], NOBODY.clone());
        let Session { stack, state: session } = Arc::make_mut(&mut slot);
        let (footprint, notices, returned) = (Footprint::default(), Vec::new(), Vec::new());
        let _entered = db.ambient.budget.enter();
        let mut machine =
            Machine { db: &mut *db, me, stack, session, footprint, notices, outcome: None, returned, _entered };
        let result = act(&mut machine);
        let Machine { footprint, notices, outcome, returned, .. } = machine;
        let mut left = Left { footprint, notices, outcome, returned };
        db.sessions[me.0] = slot;
        if db.ssi.is_some() {
            let watched = db.take_watched(me);
            left.footprint.note_watched(watched);
        }
        (result, left)
    }

    /// What the statement at the top of the stack works with.
    pub(crate) fn exec(&mut self) -> Executor<'_> {
        let Machine { db, me, stack, session, footprint, notices, .. } = self;
        Executor { db, me: *me, session, routine: stack.routine(), footprint, notices }
    }

    /// What a routine that is not on the stack just now evaluates with.
    pub(crate) fn exec_for<'m>(&'m mut self, routine: &'m RoutineFrame) -> Executor<'m> {
        let Machine { db, me, session, footprint, notices, .. } = self;
        Executor { db, me: *me, session, routine: Some(routine), footprint, notices }
    }

    /// The session's locks, and everybody's.
    pub(crate) fn locks(&mut self) -> Locks<'_> {
        let Machine { db, me, session, footprint, .. } = self;
        let Footprint { locks: rows, heavy, everything, .. } = footprint;
        Locks { db, me: *me, session, rows, heavy, everything }
    }

    /// What is defined, as this session sees it.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.session.schema(self.db)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.schema().catalog
    }

    /// The statement at the top of the stack waits.
    pub(crate) fn begin_wait(&mut self, target: Target) -> Ran {
        debug_assert!(
            matches!(self.stack.frames.last(), None | Some(Frame::Statement(_))),
            "a statement waits, or the end of a transaction; a routine never does"
        );
        self.locks().begin_wait(target);
        Ran::Blocked
    }

    /// The client sends a statement.
    pub(crate) fn submit(&mut self, prepared: &Arc<Prepared>, params: &[Value]) -> Answer {
        let kind = &prepared.statement.kind;
        let ends = matches!(
            kind,
            StatementKind::Transaction(
                Control::Commit { .. } | Control::Rollback { .. } | Control::RollbackTo(_) | Control::Prepare(_)
            )
        );
        if self.is_failed() && !ends {
            return Some(Err(in_failed_transaction()));
        }
        if self.session.transaction.is_none() && !matches!(kind, StatementKind::Transaction(_)) {
            self.session.begin_implicit(self.db.clock);
        }
        self.session.statement_began = self.db.clock;
        self.push_statement(prepared.clone(), params.into());
        self.advance()
    }

    /// Does one step: what the session rests before.
    pub(crate) fn step(&mut self) -> Answer {
        self.locks().end_wait();
        let ran = if let Some(produced) = self.stack.committing_inside.take() {
            self.outcome = Some(Outcome::Committed);
            match self.commit() {
                Ok(()) => self.deliver(*produced),
                Err(error) => self.fail_late(error),
            }
        } else if self.stack.frames.is_empty()
            && let Some(result) = self.stack.committing.take()
        {
            self.outcome = Some(Outcome::Committed);
            let ran = self.commit_implicit(result);
            if !matches!(ran, Ran::Answered(_)) {
                self.outcome = None;
            }
            ran
        } else {
            self.run_statement_frame()
        };
        match ran {
            Ran::Blocked => None,
            Ran::Answered(reply) => Some(reply),
            Ran::On => self.advance(),
        }
    }

    /// Ends the statement at the top with an error, as if it had met it: the deadlock check does that to its victim.
    pub(crate) fn fail_with(&mut self, error: SqlError) -> Answer {
        self.locks().leave_queue();
        if self.is_failed() {
            return Some(Err(in_failed_transaction()));
        }
        match self.fail(error) {
            Ran::Answered(reply) => Some(reply),
            _ => self.advance(),
        }
    }

    fn is_failed(&self) -> bool {
        self.session.transaction.as_ref().is_some_and(|t| t.failed)
    }

    /// Runs on until the session rests or answers.
    fn advance(&mut self) -> Answer {
        loop {
            if self.stack.is_committing() {
                return None;
            }
            let ran = match self.stack.frames.last() {
                None => return None,
                Some(Frame::Statement(frame))
                    if matches!(frame.progress, Progress::Between(_))
                        || (frame.progress.is_new() && self.is_step(&frame.prepared)) =>
                {
                    return None;
                }
                Some(Frame::Statement(_)) => self.run_statement_frame(),
                Some(Frame::Routine(_)) => self.run_routine(),
            };
            match ran {
                Ran::Answered(reply) => return Some(reply),
                Ran::Blocked => return None,
                Ran::On => {}
            }
        }
    }

    /// Whether others could notice when a statement runs, so that it must be a step of its own.
    pub(crate) fn is_step(&self, prepared: &Prepared) -> bool {
        is_step(self.stack, self.session.transaction.as_ref(), prepared)
    }

    /// Runs the statement at the top of the stack, from its start or from where it stopped.
    pub(crate) fn run_statement_frame(&mut self) -> Ran {
        if let Err(ran) = self.enter_statement() {
            return ran;
        }
        let frame = self.stack.statement();
        let (prepared, params) = (frame.prepared.clone(), frame.params.clone());
        // The end of a transaction costs nothing: it must be possible when nothing is left to spend.
        if !matches!(prepared.statement.kind, StatementKind::Transaction(_))
            && let Err(cut) = spend(STATEMENT_COST)
        {
            return self.fail(cut);
        }
        let frame = self.stack.statement_mut();
        let (progress, fetch) = (std::mem::take(&mut frame.progress), frame.fetch);
        match &prepared.statement.kind {
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_) => self.run_rows(&prepared, &params, progress, fetch),
            StatementKind::Call(routine, _) => self.run_call(&prepared, *routine, &params, progress),
            StatementKind::Do(_) => {
                let Plan::Do(code) = &prepared.plan else { unreachable!("DO has code") };
                let code = code.clone();
                self.stack.statement_mut().progress = Progress::Called;
                self.enter(code, Vec::new())
            }
            StatementKind::Cursor(command) => self.run_cursor(&prepared, command),
            StatementKind::Transaction(_) if self.stack.committing.is_some() && self.stack.frames.len() == 1 => {
                // The deferred triggers of a transaction that ends by itself: another one, or its end.
                self.stack.frames.pop();
                match self.stack.committing.take() {
                    Some(result) => self.commit_implicit(result),
                    None => Ran::On,
                }
            }
            StatementKind::Transaction(control) => self.control(control),
            StatementKind::Define(Define::Change(change)) if change.fill.is_some() => self.define_and_fill(change),
            StatementKind::Define(define) => self.statement_done(|machine| {
                machine.session.mark_queried();
                machine.take_snapshot_if_kept();
                let verb = machine.exec().define(define)?;
                if machine.session.is_read_only() { Err(read_only(verb)) } else { Ok(verb) }
            }),
            StatementKind::SetConstraints(set) => match self.exec().set_constraints(set) {
                Ok(()) => self.statement_done(|_| Ok("SET CONSTRAINTS")),
                Err(Stop::Wait(target)) => self.begin_wait(target),
                Err(Stop::Error(error)) => self.fail(error),
                Err(Stop::Trigger(call)) => self.enter_trigger(*call),
                Err(Stop::Call(..) | Stop::Query(_) | Stop::With(..)) => {
                    unreachable!("a constraint that is deferred runs no other code of users")
                }
            },
            StatementKind::Truncate(truncate) if self.exec().truncate_fires(&truncate.tables) => {
                self.run_rows(&prepared, &params, progress, fetch)
            }
            StatementKind::Truncate(truncate) => self.statement_done(|machine| {
                machine.session.mark_queried();
                machine.exec().truncate(truncate)
            }),
            StatementKind::LockTable { .. } => self.statement_done(|_| Ok("LOCK TABLE")),
            StatementKind::Set { local, name, value } => {
                self.statement_done(|machine| machine.set(*local, name, value.as_deref()))
            }
            StatementKind::Session(command) => self.session_command(command, &params),
            StatementKind::Late(_) => unreachable!("a statement is bound before it runs"),
        }
    }

    fn run_rows(
        &mut self,
        prepared: &Arc<Prepared>,
        params: &[Value],
        progress: Progress,
        fetch: Option<usize>,
    ) -> Ran {
        let mut run = match progress {
            Progress::Running(run) | Progress::Between(run) => run,
            Progress::New => match self.begin_statement(prepared) {
                Ok(run) => Box::new(run),
                Err(error) => return self.fail(error),
            },
            Progress::Arguments(_) | Progress::Called => unreachable!("only CALL and DO call a routine themselves"),
        };
        run.wanted = match (fetch, prepared.rows_max) {
            (Some(rows), _) => Wanted::Next(rows),
            (None, Some(rows)) => Wanted::First(rows),
            (None, None) => Wanted::All,
        };
        let (looked_before, written_before) = (self.footprint.reads.len(), self.footprint.writes.len());
        let ran = self.exec().run_statement(prepared, params, &mut run);
        self.tell_callers(prepared, written_before);
        // An update of any column moves its row to the end of the heap.
        let ordered = |read: &&mut Read| prepared.ordered.contains(read.table.0 as usize);
        self.footprint.reads[looked_before..].iter_mut().filter(ordered).for_each(|r| r.columns = ColumnSet::ALL);
        match ran {
            Ok(mut produced) => {
                // Rows would have come to the error themselves.
                let is_empty = fetch.is_none() && produced.count == 0 && produced.rows.is_empty();
                if is_empty
                    && !params.is_empty()
                    && let Some(error) = plan::early::of_parameters(&prepared.statement.kind, params)
                {
                    return self.fail(error);
                }
                let frame = self.stack.frames.pop();
                if let Some(slot) = run.slot {
                    return self.keep_with(slot, produced.rows, *run);
                }
                if let Some(Frame::Statement(frame)) = frame.filter(|_| fetch.is_some_and(|n| produced.rows.len() >= n))
                {
                    produced.rest = Some(Box::new(StatementFrame { progress: Progress::Between(run), ..frame }));
                }
                self.end_inner_statement(prepared, produced)
            }
            Err(Stop::Error(error)) => self.fail(error),
            Err(Stop::Wait(target)) => {
                run.wait();
                self.suspend(run);
                self.begin_wait(target)
            }
            Err(Stop::Call(routine, args)) => {
                self.suspend(run);
                self.enter_routine(routine, args)
            }
            Err(Stop::Trigger(call)) => {
                self.suspend(run);
                self.enter_trigger(*call)
            }
            Err(Stop::Query(query)) => self.enter_query(query, params, run),
            Err(Stop::With(slot, statement)) => self.enter_with(slot, statement, params, run),
        }
    }

    /// The statements that wait for the routine which this statement is of remember the rows that it has changed.
    fn tell_callers(&mut self, prepared: &Prepared, written_before: usize) {
        let frames = &mut self.stack.frames;
        if frames.len() < 3 || matches!(prepared.statement.kind, StatementKind::Truncate(_)) {
            return;
        }
        let called = frames.iter().rposition(|frame| matches!(frame, Frame::Routine(_)));
        for run in frames[..called.unwrap_or(0)].iter_mut().flat_map(Frame::running_mut) {
            if run.has_found_rows() {
                run.disturbed.extend(self.footprint.writes[written_before..].iter().map(|w| (w.table, w.row)));
            }
        }
    }

    /// CREATE TABLE AS, REFRESH: the definition, then the INSERT that takes its place.
    fn define_and_fill(&mut self, change: &Arc<Change>) -> Ran {
        let Some(fill) = &change.fill else { return Ran::On };
        if let Err(error) = self.exec().define(&Define::Change(change.clone())) {
            return self.fail(error);
        }
        let statement = crate::define::fill_statement(self.catalog(), fill, change.tag);
        let prepared = Arc::new(Prepared::plan(self.catalog(), Arc::new(statement)));
        let frame = self.stack.statement_mut();
        frame.prepared = prepared.clone();
        let params = frame.params.clone();
        self.run_rows(&prepared, &params, Progress::New, None)
    }

    pub(crate) fn statement_done(&mut self, act: impl FnOnce(&mut Self) -> Result<&'static str, SqlError>) -> Ran {
        if let Some(t) = &mut self.session.transaction {
            t.statements += 1;
        }
        match act(self) {
            Ok(verb) => {
                self.outcome.get_or_insert(Outcome::Done);
                self.stack.frames.pop();
                self.deliver(Produced::nothing(verb))
            }
            Err(error) => self.fail(error),
        }
    }

    /// Takes the snapshot a statement reads.
    fn begin_statement(&mut self, prepared: &Prepared) -> Result<Running, SqlError> {
        if self.session.transaction.is_none() {
            self.session.begin_implicit(self.db.clock);
        }
        let plain = matches!(&prepared.statement.kind, StatementKind::Query(q) if q.locking.is_empty());
        let changes = (!plain && !prepared.plan.is_idle_merge()) || prepared.plan.modifies_in_with();
        let transaction = self.session.transaction.as_mut().expect("a transaction was just begun");
        if transaction.failed {
            return Err(in_failed_transaction());
        }
        transaction.queried = true;
        if let Some(error) = &prepared.early {
            self.take_snapshot_if_kept();
            return Err((**error).clone());
        }
        if transaction.read_only && changes {
            return Err(read_only(&verb_of(prepared)));
        }
        if prepared.visible || transaction.keeps_snapshot() {
            transaction.statements += 1;
            self.note_snapshot();
        }
        let transaction = self.session.transaction_mut();
        if self.db.faults.stale_snapshot && transaction.statements > 1 {
            transaction.pretend_fresh(self.db.epoch);
        }
        if let Some(run) = self.begin_in_stable_function(prepared, changes)? {
            return Ok(run);
        }
        Ok(self.take_view(prepared))
    }

    /// A statement takes its snapshot, or the one that its transaction keeps.
    fn note_snapshot(&mut self) {
        let transaction = self.session.transaction();
        if !transaction.keeps_snapshot() {
            self.footprint.snapshot = Some(SnapshotTaken::Statement);
        } else if transaction.snapshot.is_none() {
            self.footprint.snapshot = Some(SnapshotTaken::Transaction);
        }
    }

    /// A statement that begins now, with what it reads.
    fn take_view(&mut self, prepared: &Prepared) -> Running {
        let schema = self.schema().clone();
        let SessionState { reach, transaction, .. } = &mut *self.session;
        let transaction = transaction.as_mut().expect("a statement begins in a transaction");
        let view = transaction.begin_statement(&schema.catalog, &self.db.committed, reach, self.db.epoch).clone();
        // What a kept snapshot shows is known from there.
        let reads = if transaction.keeps_snapshot() { TableSet::NONE } else { prepared.reads };
        let snapshot = Snapshot::new(view, reads, self.db.epoch);
        let withs = WithScope { own: prepared.plan.withs(), around: None };
        Running { withs, ..Running::new(snapshot, self.db.next_position) }
    }

    /// The queries of a STABLE or IMMUTABLE function see what the statement that called it sees, and change nothing.
    fn begin_in_stable_function(&self, prepared: &Prepared, changes: bool) -> Result<Option<Running>, SqlError> {
        let mut below = self.stack.frames.iter().rev().skip(1);
        let Some(Frame::Routine(routine)) = below.next() else { return Ok(None) };
        if !routine.code.stable {
            return Ok(None);
        }
        if changes {
            let message = format!("{} is not allowed in a non-volatile function", verb_of(prepared));
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let caller = below.flat_map(Frame::running).next();
        Ok(caller.map(|caller| Running {
            withs: WithScope { own: prepared.plan.withs(), around: None },
            ..Running::new(caller.view.clone(), caller.start)
        }))
    }

    pub(crate) fn push_statement(&mut self, prepared: Arc<Prepared>, params: Arc<[Value]>) {
        self.stack.frames.push(Frame::Statement(StatementFrame::new(prepared, params)));
    }
}

/// What a statement does, in the words of an error: `UPDATE`, `SELECT FOR SHARE`.
fn verb_of(prepared: &Prepared) -> String {
    let locking = match &prepared.statement.kind {
        StatementKind::Query(query) => query.locking.first(),
        _ => None,
    };
    let verb = prepared.plan.result().0;
    locking.map_or_else(|| verb.to_string(), |locking| format!("{verb} FOR {}", locking.strength))
}

/// The beginning of a statement, for a message.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_string(),
    }
}

/// How a run of the top frame ended.
pub(crate) enum Ran {
    /// There is more to do.
    On,
    /// It waits for a lock.
    Blocked,
    /// The client's statement is complete.
    Answered(Reply),
}

impl Produced {
    /// The rows, or how many there were.
    fn outcome(&self) -> Outcome {
        let Produced { verb, columns, rows, count, .. } = self;
        match columns.is_empty() && *verb != "SELECT" {
            true => Outcome::Count { verb, rows: *count },
            false => Outcome::Rows { columns: columns.clone(), rows: rows.clone() },
        }
    }

    pub(crate) fn into_result(self) -> StatementResult {
        let tag: Arc<str> = match self.verb {
            "INSERT" => format!("INSERT 0 {}", self.count).into(),
            "SELECT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "FETCH" | "MOVE" => {
                format!("{} {}", self.verb, self.count).into()
            }
            verb => verb.into(),
        };
        StatementResult { tag, columns: self.columns, rows: self.rows }
    }
}

/// Whether others could notice when a session runs a statement.
pub(crate) fn is_step(stack: &Stack, transaction: Option<&Transaction>, prepared: &Prepared) -> bool {
    match &prepared.statement.kind {
        StatementKind::Transaction(Control::Commit { .. } | Control::Rollback { .. } | Control::RollbackTo(_)) => {
            transaction.is_some_and(|t| !t.is_quiet())
        }
        StatementKind::Transaction(Control::Prepare(_)) => transaction.is_some_and(|t| !t.failed || !t.is_quiet()),
        StatementKind::Transaction(Control::CommitPrepared(_) | Control::RollbackPrepared(_)) => true,
        StatementKind::Cursor(CursorCommand::Fetch { cursor, .. }) => {
            stack.cursors.iter().any(|open| open.name == *cursor && open.rest.is_some())
        }
        // The first query of a transaction that keeps its snapshot takes it, whatever it reads.
        StatementKind::Query(_) => {
            let takes = |t: &Transaction| t.keeps_snapshot() && t.snapshot.is_none();
            prepared.visible || transaction.is_some_and(|t| takes(t) && (t.explicit || prepared.calls))
        }
        _ => prepared.visible,
    }
}

pub(crate) fn read_only(verb: &str) -> SqlError {
    let message = format!("cannot execute {verb} in a read-only transaction");
    SqlError::new(SqlState::READ_ONLY_TRANSACTION, message)
}

pub(crate) fn in_failed_transaction() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(SqlState::IN_FAILED_TRANSACTION, message)
}
