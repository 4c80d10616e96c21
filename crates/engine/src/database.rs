//! The database and its sessions, from outside.

use std::sync::{Arc, OnceLock};

use isolde_sql::ast::{self, Volatility};
use isolde_sql::budget::Budget;
use isolde_sql::catalog::{Catalog, RoutineId, TableId};
use isolde_sql::{Diagnostic, Row, Span, SqlError, SqlState, Type, Value, bind};
use smallvec::SmallVec;

use crate::enter::LOCK_OUTSIDE;
use crate::exec::Produced;
use crate::footprint::{HeavyEvent, SnapshotTaken, TableSet};
use crate::generators::Generators;
use crate::host::Sequences;
use crate::kept::Notification;
use crate::lock::{self, Queues, Target, Wants, advisory, deadlock};
use crate::machine::{Left, Machine, is_step};
use crate::order::Ordered;
use crate::prepare::{Prepared, locked_in_turn};
use crate::reach::Reach;
use crate::routine::Code;
use crate::session::{
    Activity, Blocked, Frame, Notice, Outcome, Part, Pending, PendingKind, Reply, Session, SessionId, SessionOptions,
    Step, WaitsFor,
};
use crate::ssi::{Ssi, Statistics};
use crate::storage::{TableData, Tables};
use crate::trigger::TableTriggers;

/// A database with its sessions, as a value. See the crate's documentation for the idea.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) schema: Arc<Schema>,
    /// What every new snapshot is a clone of.
    pub(crate) committed: Tables,
    /// Sum of the hashes of all committed rows.
    pub(crate) committed_digest: u128,
    /// Counts commits that changed something.
    pub(crate) epoch: u64,
    pub(crate) next_position: u64,
    pub(crate) next_ticket: u64,
    /// The next transaction number. A transaction gets one when it first writes or locks.
    pub(crate) next_xid: u64,
    /// What serializable transactions share, while there are any.
    pub(crate) ssi: Option<Arc<Ssi>>,
    pub(crate) sequences: Sequences,
    /// What generated values start from.
    pub(crate) generators: Generators,
    /// Counts schemas, so that a statement knows whether it was bound to another one.
    pub(crate) schema_versions: u64,
    /// Who waits for tables and advisory keys, in order.
    pub(crate) queues: Queues,
    /// Whether weak table locks are remembered.
    pub(crate) tracks_table_locks: bool,
    /// Of several holders of a row the one with the lowest number is waited for first, then the next.
    pub(crate) waits_in_turn: bool,
    /// Whether a statement that locks several rows takes a step for each.
    pub(crate) row_steps: bool,
    /// Whether the commit of a lone statement is a step.
    pub(crate) commit_steps: bool,
    /// The tables in which the order of rows is part of the state, if there are any.
    pub(crate) ordered: Option<Arc<Ordered>>,
    /// Microseconds since the start, and whether they pass.
    pub(crate) clock: i64,
    pub(crate) timed: bool,
    pub(crate) sessions: SmallVec<[Arc<Session>; 4]>,
    pub(crate) faults: Faults,
    /// What every step is done under.
    pub(crate) ambient: Arc<Ambient>,
}

/// What steps are done under and hardly ever change: one pointer, so that a copy of a database costs less.
#[derive(Clone, Debug)]
pub(crate) struct Ambient {
    /// What the steps may cost. Clones share it: it is no part of the state.
    pub(crate) budget: Budget,
    /// What the planner knows of tables.
    pub(crate) statistics: Statistics,
}

/// The catalog, and its routines compiled when first called.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) catalog: Catalog,
    routines: Vec<OnceLock<Result<Arc<Code>, SqlError>>>,
    /// By table; of those that have triggers.
    triggers: Vec<OnceLock<Arc<TableTriggers>>>,
    digest: OnceLock<u128>,
}

/// Which catalog a statement was prepared for: equal only while nothing has been defined in between.
#[derive(Clone, Debug)]
pub struct CatalogMark(Arc<Schema>);

impl PartialEq for CatalogMark {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Ways to break the engine, to prove that tests notice. Nothing outside of tests sets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Faults {
    /// Nobody waits for a row lock.
    pub no_write_lock: bool,
    /// READ COMMITTED keeps the snapshot of its first statement.
    pub stale_snapshot: bool,
    /// A newer version is changed without looking at the conditions again.
    pub no_recheck: bool,
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl Database {
    /// An empty database without sessions.
    pub fn new() -> Self {
        Database {
            schema: Arc::default(),
            committed: Tables::default(),
            committed_digest: 0,
            epoch: 0,
            next_position: 1,
            next_ticket: 1,
            next_xid: 1,
            ssi: None,
            sequences: Sequences::default(),
            generators: Generators::default(),
            schema_versions: 0,
            queues: Queues::default(),
            tracks_table_locks: false,
            waits_in_turn: false,
            row_steps: false,
            commit_steps: false,
            ordered: None,
            clock: 0,
            timed: false,
            sessions: SmallVec::new(),
            faults: Faults::default(),
            ambient: Arc::new(Ambient { budget: Budget::current(), statistics: Statistics::default() }),
        }
    }

    /// What its steps are done under: the budget that its maker worked under, who may end it.
    pub fn budget(&self) -> &Budget {
        &self.ambient.budget
    }

    /// The same database, broken on purpose.
    #[doc(hidden)]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// From now on it is remembered who reads and writes which table. Needed where some statement can take a strong
    /// table lock (LOCK TABLE, TRUNCATE, DDL); without it such a statement is refused beside other transactions, and
    /// ends of transactions that have only read are nobody's business.
    pub fn track_table_locks(&mut self, on: bool) {
        self.tracks_table_locks = on;
    }

    /// From now on whoever waits for several holders of a row waits for one after the other, by their transaction
    /// numbers, as on a real server: a deadlock with the second is only there when the first has ended. Without it a
    /// wait is for all of them at once, and who was the first to write anything at all is nobody's business.
    pub fn wait_in_turn(&mut self, on: bool) {
        self.waits_in_turn = on;
    }

    /// From now on a statement that locks several rows does so in several steps, and others may act between them, as a
    /// real server lets them. Without it a statement is one step, except where it waits.
    pub fn set_row_steps(&mut self, on: bool) {
        self.row_steps = on;
    }

    /// From now on a statement that is a transaction by itself commits in a step of its own, wherever a written COMMIT
    /// would be one: others may act between the statement's snapshot and its commit, as a real server lets them.
    /// Without it such a statement and its commit are one step, as for a client who is alone.
    pub fn set_commit_steps(&mut self, on: bool) {
        self.commit_steps = on;
    }

    /// A client goes away: its transaction must have ended, and the advisory locks of its session are released: these.
    pub fn disconnect(&mut self, session: SessionId) -> Vec<HeavyEvent> {
        if self.sessions[session.0].advisory.is_empty() {
            return Vec::new();
        }
        advisory::release_all(&mut Arc::make_mut(&mut self.sessions[session.0]).state)
    }

    /// Opens a session.
    pub fn open_session(&mut self) -> SessionId {
        self.sessions.push(Arc::default());
        SessionId(self.sessions.len() - 1)
    }

    /// Promises that a session's next transaction will read, lock and change no other rows than these, by whatever it
    /// is going to be sent: then what others do to other rows is nothing to a snapshot that it keeps. `None` takes it
    /// back.
    pub fn set_reach(&mut self, session: SessionId, reach: Option<&Arc<Reach>>) {
        let same = |own: &Arc<Reach>| reach.is_some_and(|other| Arc::ptr_eq(own, other));
        if self.sessions[session.0].reach.as_ref().map_or(reach.is_some(), |own| !same(own)) {
            Arc::make_mut(&mut self.sessions[session.0]).reach = reach.cloned();
        }
    }

    /// The tables that a session may go on reading as they are now: a statement has begun, and is not through.
    pub fn reads_on(&self, session: SessionId) -> TableSet {
        self.sessions[session.0].reads_on(self.epoch)
    }

    /// What a session's client has set.
    pub fn options_mut(&mut self, session: SessionId) -> &mut SessionOptions {
        &mut Arc::make_mut(&mut self.sessions[session.0]).options
    }

    /// A setting of a session as SHOW shows it, if it is known.
    pub fn setting(&self, session: SessionId, name: &str) -> Option<String> {
        crate::command::shown(&self.sessions[session.0], name).ok()
    }

    /// Sets what the client gave when it connected. What the server would refuse is not set.
    pub fn set_setting(&mut self, session: SessionId, name: &str, value: &str) {
        Arc::make_mut(&mut Arc::make_mut(&mut self.sessions[session.0]).kept)
            .settings
            .set(name, Some(value), false)
            .ok();
    }

    /// Tells whether a statement was prepared for the catalog that a session sees now.
    pub fn catalog_mark(&self, session: SessionId) -> CatalogMark {
        let own = self.sessions[session.0].transaction.as_ref().and_then(|t| t.definitions.schema.as_ref());
        CatalogMark(own.unwrap_or(&self.schema).clone())
    }

    /// What is defined.
    pub fn catalog(&self) -> &Catalog {
        &self.schema.catalog
    }

    /// The committed rows.
    pub fn committed(&self) -> &Tables {
        &self.committed
    }

    /// Binds and plans a statement; `source` is the text that its spans refer to, `params` the types of `$1` and so on.
    pub fn prepare(
        &self,
        statement: &ast::Statement,
        source: &str,
        params: &[Type],
    ) -> Result<Arc<Prepared>, Diagnostic> {
        Prepared::new(&self.schema.catalog, statement, source, params).map(Arc::new)
    }

    /// The same for a session, which may have definitions of its own. What cannot be bound now, but names a table that
    /// somebody is changing, is bound when it runs, after it has waited for that table.
    pub fn prepare_in(
        &self,
        session: SessionId,
        statement: &ast::Statement,
        source: &str,
        params: &[Type],
    ) -> Result<Arc<Prepared>, Diagnostic> {
        let _entered = self.ambient.budget.enter();
        let own = self.sessions[session.0].transaction.as_ref().and_then(|t| t.definitions.schema.as_ref());
        let catalog = &self.sessions[session.0].names(&own.unwrap_or(&self.schema).catalog);
        Prepared::new(catalog, statement, source, params).map(Arc::new).or_else(|error| {
            let own = &self.sessions[session.0];
            let in_block = own.stack.is_in_block(own.transaction.as_ref());
            if matches!(statement.kind, ast::StatementKind::LockTable(_)) && !in_block {
                return Err(Diagnostic::new(error.span, SqlState::NO_ACTIVE_TRANSACTION, LOCK_OUTSIDE));
            }
            let changing = || self.sessions_except(session).any(|(_, s)| s.is_redefining() || s.shuts_tables());
            let in_turn = || locked_in_turn(catalog, &statement.kind).is_some();
            let late = (changing() || in_turn()).then(|| Prepared::late(catalog, statement, source, params));
            late.filter(|late| !late.locks.is_empty()).map(Arc::new).ok_or(error)
        })
    }

    /// A statement that is bound when it runs, because its tables are not there yet.
    pub fn prepare_late(&self, statement: &ast::Statement, source: &str, params: &[Type]) -> Arc<Prepared> {
        Arc::new(Prepared::late(&self.schema.catalog, statement, source, params))
    }

    /// The client of an idle session sends a statement. What nobody else could notice is done at once; the answer comes
    /// now if that was all.
    ///
    /// # Panics
    /// If the session is not idle.
    pub fn submit(&mut self, session: SessionId, statement: &Arc<Prepared>, params: &[Value]) -> Option<Reply> {
        self.submit_part(session, statement, params, Part::Whole)
    }

    /// The same for a statement of a string of several.
    ///
    /// # Panics
    /// If the session is not idle.
    pub fn submit_part(
        &mut self,
        session: SessionId,
        statement: &Arc<Prepared>,
        params: &[Value],
        part: Part,
    ) -> Option<Reply> {
        assert!(
            self.sessions[session.0].stack.is_idle(),
            "a client waits for the answer before it sends the next statement"
        );
        let (reply, _) = Machine::run(self, session, |machine| {
            machine.stack.part = part;
            let reply = machine.submit(statement, params);
            machine.stack.notices = std::mem::take(&mut machine.notices);
            reply
        });
        self.untangle(session);
        self.renew_waits();
        self.assert_at_rest(session, reply.as_ref());
        reply
    }

    /// What was said to the client while [`Database::submit`] did its work; steps bring their own.
    pub fn take_notices(&mut self, session: SessionId) -> Vec<Notice> {
        if self.sessions[session.0].stack.notices.is_empty() {
            return Vec::new();
        }
        std::mem::take(&mut Arc::make_mut(&mut self.sessions[session.0]).stack.notices)
    }

    /// What has been notified on the channels that a session listens on, and has reached its client: between
    /// transactions.
    pub fn take_notifications(&mut self, session: SessionId) -> Vec<Notification> {
        if self.sessions[session.0].kept.sent.is_empty() {
            return Vec::new();
        }
        let session = Arc::make_mut(&mut self.sessions[session.0]);
        std::mem::take(&mut Arc::make_mut(&mut session.kept).sent)
    }

    /// The client of an idle session sent a statement that could not be bound: its transaction fails as for any error,
    /// but may have a snapshot now.
    pub fn fail_unbound(&mut self, session: SessionId, statement: &ast::Statement, error: SqlError) -> Reply {
        if statement.kind.is_bound_under_snapshot() {
            Machine::run(self, session, |machine| machine.take_snapshot_to_bind());
        }
        self.fail(session, error)
    }

    /// The client of an idle session sent something that could not even be parsed: its transaction fails as for any
    /// error.
    pub fn fail(&mut self, session: SessionId, error: SqlError) -> Reply {
        let (reply, _) = Machine::run(self, session, |machine| machine.fail_with(error.clone()));
        reply.unwrap_or(Err(error))
    }

    /// What a session is doing.
    pub fn activity(&self, session: SessionId) -> Activity {
        let s = &*self.sessions[session.0];
        let Some(pending) = self.pending(session) else { return Activity::Idle };
        let Some(wait) = &s.wait else { return Activity::Ready(pending) };
        if lock::is_over(self, session, wait) {
            return Activity::Resumable(pending);
        }
        let waits_for = match &wait.target {
            Target::Row(target) => {
                let strength = match target.wants {
                    Wants::Lock(strength) | Wants::Upgrade(strength) => Some(strength),
                    Wants::Outcome(_) => None,
                };
                WaitsFor::Row { row: target.row, strength }
            }
            Target::Heavy { key, mode, .. } => WaitsFor::Lock { key: *key, mode: *mode },
            Target::Time(until) => WaitsFor::Time(*until),
            Target::SafeSnapshot(_) => WaitsFor::SafeSnapshot,
        };
        let behind = lock::is_behind(self, session, wait);
        Activity::Blocked(Blocked { pending, waits_for, on: lock::blockers(self, session, wait).to_vec(), behind })
    }

    /// Whether a session has a step to do now: cheaper than [`Database::activity`].
    pub fn can_step(&self, session: SessionId) -> bool {
        let s = &*self.sessions[session.0];
        match &s.wait {
            Some(wait) => lock::is_over(self, session, wait),
            None => !s.stack.is_idle(),
        }
    }

    /// Whether a session is inside a transaction.
    pub fn in_transaction(&self, session: SessionId) -> bool {
        self.sessions[session.0].transaction.is_some()
    }

    /// Does one step of a session that is ready or resumable: one SQL statement, or the rest of it, or the end of a
    /// transaction; then what nobody else could notice.
    ///
    /// # Panics
    /// If the session is idle.
    pub fn step(&mut self, session: SessionId) -> Step {
        let pending = self.pending(session).expect("only a session with something to do can do a step");
        let quiet = self.sessions[session.0].is_quiet();
        let (reply, left) = Machine::run(self, session, |machine| machine.step());
        self.finish_step(session, quiet, left, pending, reply)
    }

    /// The sessions that wait for each other in a cycle: one of them must be the victim.
    pub fn deadlocked(&self) -> Vec<SessionId> {
        if self.sessions.iter().filter(|s| s.wait.is_some()).count() < 2 {
            return Vec::new();
        }
        deadlock::members(self)
    }

    /// Makes a waiting session the victim of the deadlock it is in.
    ///
    /// # Panics
    /// If the session is idle.
    pub fn kill(&mut self, victim: SessionId) -> Step {
        self.interrupt(victim, deadlock::detected())
    }

    /// Ends what a session is doing with an error that comes from outside of it: a timeout, or a request to cancel.
    ///
    /// # Panics
    /// If the session is idle.
    pub fn interrupt(&mut self, session: SessionId, error: SqlError) -> Step {
        let pending = self.pending(session).expect("only a session with something to do can be interrupted");
        let (reply, left) = Machine::run(self, session, |machine| machine.fail_with(error));
        self.finish_step(session, false, left, pending, reply)
    }

    fn finish_step(
        &mut self,
        session: SessionId,
        was_quiet: bool,
        Left { mut footprint, notices, outcome, returned }: Left,
        pending: Pending,
        reply: Option<Reply>,
    ) -> Step {
        footprint.heavy.extend(self.untangle(session));
        self.renew_waits();
        self.assert_at_rest(session, reply.as_ref());
        footprint.quiet = (was_quiet, self.sessions[session.0].is_quiet());
        match (footprint.snapshot, &self.sessions[session.0].reach) {
            (Some(SnapshotTaken::Transaction), Some(reach)) => footprint.kept = Some(reach.clone()),
            (Some(SnapshotTaken::Transaction), None) => footprint.later = TableSet::ALL,
            _ => footprint.later = self.reads_on(session),
        }
        let outcome = outcome.unwrap_or_else(|| match self.activity(session) {
            Activity::Blocked(blocked) => Outcome::Blocked(blocked),
            _ => Outcome::Done,
        });
        Step { pending, outcome, returned, footprint, notices, reply }
    }

    /// Runs a query on the committed rows, changing nothing.
    pub fn query(&self, query: &Arc<Prepared>) -> Result<Vec<Row>, SqlError> {
        let mut copy = self.clone();
        // It looks at what is committed, whoever is about to change it.
        copy.tracks_table_locks = false;
        let observer = copy.open_session();
        if let Some(reply) = copy.submit(observer, query, &[]) {
            return reply.map(|result| result.rows);
        }
        loop {
            match copy.activity(observer) {
                Activity::Ready(_) | Activity::Resumable(_) => {
                    if let Some(reply) = copy.step(observer).reply {
                        return reply.map(|result| result.rows);
                    }
                }
                Activity::Blocked(_) | Activity::Idle => {
                    let message = "a property may not wait for a lock";
                    return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message));
                }
            }
        }
    }

    fn pending(&self, session: SessionId) -> Option<Pending> {
        let s = &*self.sessions[session.0];
        if s.stack.is_committing() {
            let kind = PendingKind::ImplicitCommit;
            let (text, span) = (commit_text(), Span::default());
            return Some(Pending { text, span, kind, statement: None, in_routine: false });
        }
        let Some(Frame::Statement(frame)) = s.stack.frames.last() else { return None };
        // A WITH statement, the query of a cursor, a subquery that locks: a part is named after the whole.
        let (whole, in_routine) = s.stack.whole_statement()?;
        let statement = &whole.prepared.statement;
        let ends = matches!(statement.kind, isolde_sql::typed::StatementKind::Transaction(_));
        let kind = if ends { PendingKind::End } else { PendingKind::Statement };
        debug_assert!(
            !frame.progress.is_new() || is_step(&s.stack, s.transaction.as_ref(), &frame.prepared),
            "a session rests only before a step"
        );
        let text = statement.text.clone();
        Some(Pending { text, span: statement.span, kind, statement: Some(statement.clone()), in_routine })
    }

    pub(crate) fn all_sessions(&self) -> impl Iterator<Item = (SessionId, &Session)> + Clone {
        self.sessions.iter().enumerate().map(|(i, s)| (SessionId(i), &**s))
    }

    pub(crate) fn sessions_except(&self, me: SessionId) -> impl Iterator<Item = (SessionId, &Session)> + Clone {
        self.all_sessions().filter(move |(id, _)| *id != me)
    }

    /// Keeps the digest of the committed rows up to date.
    pub(crate) fn count_row(&mut self, table: TableId, before: Option<&Row>, after: Option<&Row>) {
        if let Some(before) = before {
            self.committed_digest = self.committed_digest.wrapping_sub(row_digest(table, before));
        }
        if let Some(after) = after {
            self.committed_digest = self.committed_digest.wrapping_add(row_digest(table, after));
        }
    }

    /// Puts a table's rows in place of what it has.
    pub(crate) fn recount_table(&mut self, table: TableId, data: &TableData) {
        let old: Vec<Row> = self.committed.table(table).iter().map(|(_, t)| t.values.clone()).collect();
        old.iter().for_each(|row| self.count_row(table, Some(row), None));
        let new: Vec<Row> = data.iter().map(|(_, t)| t.values.clone()).collect();
        new.iter().for_each(|row| self.count_row(table, None, Some(row)));
        *self.committed.table_mut(table) = data.clone();
    }
}

/// The hash of a row in its table.
pub(crate) fn row_digest(table: TableId, row: &Row) -> u128 {
    isolde_digest::tagged(0x526f77, (table, row))
}

fn commit_text() -> Arc<str> {
    static TEXT: OnceLock<Arc<str>> = OnceLock::new();
    TEXT.get_or_init(|| "COMMIT".into()).clone()
}

impl Schema {
    pub(crate) fn new(catalog: Catalog) -> Self {
        let routines = (0..catalog.routine_count()).map(|_| OnceLock::new()).collect();
        let triggers = (0..catalog.table_count()).map(|_| OnceLock::new()).collect();
        Schema { catalog, routines, triggers, digest: OnceLock::new() }
    }

    /// The triggers of a table, if it has any.
    pub(crate) fn triggers(&self, id: TableId) -> Option<Arc<TableTriggers>> {
        let table = self.catalog.table(id);
        let compile = || Arc::new(TableTriggers::new(&self.catalog, table));
        (!table.triggers.is_empty()).then(|| self.triggers[id.0 as usize].get_or_init(compile).clone())
    }

    /// A digest of all definitions.
    pub(crate) fn digest(&self) -> u128 {
        *self.digest.get_or_init(|| isolde_digest::tagged(0x53, self.catalog.describe()))
    }

    /// A routine's code, compiled when first asked for.
    pub(crate) fn code(&self, id: RoutineId) -> Result<Arc<Code>, SqlError> {
        let compile = || {
            let def = self.catalog.routine(id);
            let routine = bind::routine_late(&self.catalog, def)?;
            Ok(Arc::new(Code {
                routine: Some(id),
                stable: def.volatility != Volatility::Volatile,
                ..Code::compile(&self.catalog, &routine)
            }))
        };
        self.routines[id.0 as usize].get_or_init(compile).clone()
    }
}

impl Produced {
    /// What a statement without a result produces.
    pub(crate) fn nothing(verb: &'static str) -> Self {
        Produced { verb, columns: Arc::default(), rows: Vec::new(), count: 0, sources: Vec::new(), rest: None }
    }
}
