//! Sessions: what a client's connection is doing.
//!
//! A session runs a stack of [`Frame`]s. At the bottom is the statement its client sent; a CALL or a function puts the
//! routine's frame on top, that routine's SQL the next, and so on. Positions in frames are numbers, so a session at
//! rest is a value.
//!
//! Between steps a session rests in one of four ways, its [`Activity`]. It never rests before work that nobody else
//! could see: local computation is done at once, as part of the step before it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use imbl::OrdMap;
use isolde_sql::ast::{Isolation, LockStrength, TableLockMode, plpgsql::RaiseLevel};
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span, SqlError, Value};

use crate::clock::Timeouts;
use crate::cursor::Cursor;
use crate::database::{Database, Schema};
use crate::eval::Calls;
use crate::exec::{Produced, Running};
use crate::footprint::{Footprint, TableSet};
use crate::kept::Kept;
use crate::lock::advisory::Counts;
use crate::lock::{Held, LockKey, Modes, RowRef, Scope, Wait};
use crate::prepare::Prepared;
use crate::reach::Reach;
use crate::routine::RoutineFrame;
use crate::transaction::Transaction;

/// A session's number, in order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub usize);

/// What a client can set before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionOptions {
    /// The level of transactions that name none.
    pub isolation: Isolation,
    /// Transactions may not write unless they say READ WRITE.
    pub read_only: bool,
    /// READ ONLY transactions at SERIALIZABLE wait for a safe snapshot unless they say NOT DEFERRABLE.
    pub deferrable: bool,
    /// Each statement inside a routine is a transaction of its own: the routine stands for application code that opens
    /// none.
    pub autocommit: bool,
    /// `lock_timeout` and its kin.
    pub timeouts: Timeouts,
}

/// Where a statement stands in the query string that its client sent. The statements of one string are one transaction,
/// which is committed behind the last unless the string says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// It is the whole string.
    #[default]
    Whole,
    /// More statements follow.
    More,
    /// It is the last of several.
    Last,
}

/// What a session is doing while nobody runs it.
#[derive(Clone, Debug)]
pub enum Activity {
    /// Nothing: its client may send a statement.
    Idle,
    /// About to do this.
    Ready(Pending),
    /// It waited for a lock, and the wait is over.
    Resumable(Pending),
    /// It waits.
    Blocked(Blocked),
}

/// The next thing a session does.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The statement, on one line.
    pub text: Arc<str>,
    /// Where it stands in the source.
    pub span: Span,
    /// What kind of step it is.
    pub kind: PendingKind,
    /// The statement, bound; `None` for the commit that nobody wrote.
    pub statement: Option<Arc<isolde_sql::typed::Statement>>,
    /// It is a statement of a routine, not the one that the client sent.
    pub in_routine: bool,
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PendingKind {
    /// A SQL statement is executed.
    Statement,
    /// COMMIT or ROLLBACK, as written.
    End,
    /// The transaction that a statement opened by itself is committed.
    ImplicitCommit,
}

/// Whom a statement waits for.
#[derive(Clone, Debug)]
pub struct Blocked {
    /// The statement.
    pub pending: Pending,
    /// What it wants.
    pub waits_for: WaitsFor,
    /// Who is in the way.
    pub on: Vec<SessionId>,
    /// They do not have it, but have waited longer.
    pub behind: bool,
}

/// What a statement waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A row.
    Row {
        /// Which.
        row: RowRef,
        /// The lock it wants on it; `None` where it wants to know whether a unique key is taken.
        strength: Option<LockStrength>,
    },
    /// A table or an advisory key.
    Lock {
        /// Which.
        key: LockKey,
        /// The mode.
        mode: TableLockMode,
    },
    /// A time of the [clock](crate::Database::clock).
    Time(i64),
    /// To know whether the snapshot of a READ ONLY DEFERRABLE transaction is safe.
    SafeSnapshot,
}

/// What a step did.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was to be done.
    pub pending: Pending,
    /// How it ended.
    pub outcome: Outcome,
    /// What statements of routines returned to these, in the order in which they ended.
    pub returned: Vec<Returned>,
    /// What it touched.
    pub footprint: Footprint,
    /// What RAISE had to say.
    pub notices: Vec<Notice>,
    /// The answer to the client, if its statement is complete.
    pub reply: Option<Reply>,
}

/// What a statement of a routine returned to the routine. It is told once, when the whole statement ends: a statement
/// that waited tells the same as one that did not. Its parts (WITH, a subquery that locks) tell nothing of their own.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The statement.
    pub statement: Arc<isolde_sql::typed::Statement>,
    /// Rows, a count or an error.
    pub outcome: Outcome,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Rows came back.
    Rows {
        /// Their columns.
        columns: Arc<[OutputColumn]>,
        /// The rows.
        rows: Vec<Row>,
    },
    /// Rows were changed.
    Count {
        /// `INSERT`, `UPDATE`, ...
        verb: &'static str,
        /// How many.
        rows: u64,
    },
    /// It met a lock, and waits.
    Blocked(Blocked),
    /// It failed.
    Error(SqlError),
    /// The transaction was committed.
    Committed,
    /// The transaction was rolled back.
    RolledBack,
    /// Anything else.
    Done,
}

/// A message to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// NOTICE, WARNING, ...
    pub level: RaiseLevel,
    /// The text.
    pub message: Arc<str>,
}

/// The answer to a client's statement.
pub type Reply = Result<StatementResult, SqlError>;

/// A statement's result.
#[derive(Clone, Debug)]
pub struct StatementResult {
    /// The command tag: `UPDATE 1`.
    pub tag: Arc<str>,
    /// The columns; none for statements that return no rows.
    pub columns: Arc<[OutputColumn]>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One connection: what it is doing, and what it has. The two are apart because most code needs only one of them: a
/// statement that runs reads and changes the [`SessionState`], and never sees the [`Stack`] that it runs on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) stack: Stack,
    pub(crate) state: SessionState,
}

/// Of another session, mostly what it has is asked for.
impl Deref for Session {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        &self.state
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }
}

/// What a session is doing: the statements and routines that have begun and are not through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack {
    /// The client's statement first, what runs now last.
    pub(crate) frames: Vec<Frame>,
    /// Its open cursors.
    pub(crate) cursors: Vec<Cursor>,
    /// How many cursors were opened that were not given a name.
    pub(crate) portals: u64,
    /// Where the present statement stands in its query string.
    pub(crate) part: Part,
    /// The reply that waits for the implicit transaction to be committed.
    pub(crate) committing: Option<StatementResult>,
    /// What a statement of a routine has produced that is a transaction of its own, and waits to be committed.
    pub(crate) committing_inside: Option<Box<Produced>>,
    /// Said during a submission, and not yet told.
    pub(crate) notices: Vec<Notice>,
}

/// What a session has: its transaction, its locks, its settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) options: SessionOptions,
    /// Settings, prepared statements, channels.
    pub(crate) kept: Arc<Kept>,
    /// Not a connection, but a prepared transaction of this name.
    pub(crate) prepared_as: Option<Arc<str>>,
    pub(crate) transaction: Option<Transaction>,
    /// Set while the top frame's statement waits for a lock.
    pub(crate) wait: Option<Wait>,
    /// Values this session last drew, by sequence, for `currval`; the last one is `lastval`'s.
    pub(crate) drawn: Arc<Vec<(Arc<str>, i64)>>,
    /// Advisory locks that it keeps from one transaction to the next.
    pub(crate) advisory: OrdMap<LockKey, Counts>,
    /// What its wait has brought, for the call that waited.
    pub(crate) granted: Option<Granted>,
    /// When its client sent what it is doing.
    pub(crate) statement_began: i64,
    /// What its transaction may read from a snapshot that it keeps, if that is known.
    pub(crate) reach: Option<Arc<Reach>>,
    /// How many rows it has inserted.
    pub(crate) made: u64,
    /// How many pseudo-random values it has drawn.
    pub(crate) randoms: u64,
}

/// What a function that waited inside an expression got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Granted {
    /// An advisory lock.
    Lock(LockKey, TableLockMode, Scope),
    /// Its sleep.
    Slept,
}

/// An activation on a session's stack.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// A statement.
    Statement(StatementFrame),
    /// A routine's code.
    Routine(Box<RoutineFrame>),
}

/// A statement that is about to run, or runs.
#[derive(Clone, Debug)]
pub(crate) struct StatementFrame {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) params: Arc<[Value]>,
    pub(crate) progress: Progress,
    /// A loop fetches its rows so many at a time; `None`: all at once.
    pub(crate) fetch: Option<usize>,
}

/// How far a statement has come.
#[derive(Clone, Debug, Default)]
pub(crate) enum Progress {
    /// It has not begun, or it does all that it does at once.
    #[default]
    New,
    /// CALL: its arguments are evaluated, with what the routines in them have returned.
    Arguments(Box<Running>),
    /// CALL and DO: the routine that they call runs, above them on the stack.
    Called,
    /// It reads, locks or changes rows.
    Running(Box<Running>),
    /// The same, resting between two fetches: resuming is a step of its own.
    Between(Box<Running>),
}

impl Progress {
    /// The statement that has begun, with its snapshot.
    pub(crate) fn running(&self) -> Option<&Running> {
        match self {
            Progress::Arguments(run) | Progress::Running(run) | Progress::Between(run) => Some(run),
            Progress::New | Progress::Called => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn running_mut(&mut self) -> Option<&mut Running> {
        match self {
            Progress::Arguments(run) | Progress::Running(run) | Progress::Between(run) => Some(run),
            Progress::New | Progress::Called => None,
        }
    }

    /// Where the results of what it calls go, if it waits for any.
    pub(crate) fn calls_mut(&mut self) -> Option<&mut Calls> {
        match self {
            Progress::Arguments(run) | Progress::Running(run) => Some(&mut run.calls),
            Progress::New | Progress::Called | Progress::Between(_) => None,
        }
    }

    /// Whether it has not begun.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self, Progress::New)
    }
}

impl StatementFrame {
    /// A statement that has not begun.
    pub(crate) fn new(prepared: Arc<Prepared>, params: Arc<[Value]>) -> Self {
        StatementFrame { prepared, params, progress: Progress::New, fetch: None }
    }

    /// It rests no longer between two fetches.
    pub(crate) fn resume(&mut self) {
        self.progress = match std::mem::take(&mut self.progress) {
            Progress::Between(run) => Progress::Running(run),
            progress => progress,
        };
    }
}

impl Frame {
    /// The statements that have begun: the frame's own, or those that a routine's loops fetch from.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Running> {
        let (own, loops) = match self {
            Frame::Statement(frame) => (Some(frame), [].as_slice()),
            Frame::Routine(frame) => (None, frame.loops.as_slice()),
        };
        let rests = loops.iter().flatten().filter_map(|open| open.rest.as_deref());
        own.into_iter().chain(rests).filter_map(|frame| frame.progress.running())
    }

    /// The same, to be changed.
    pub(crate) fn running_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        let (own, loops) = match self {
            Frame::Statement(frame) => (Some(frame), [].as_mut_slice()),
            Frame::Routine(frame) => (None, frame.loops.as_mut_slice()),
        };
        let rests = loops.iter_mut().flatten().filter_map(|open| open.rest.as_deref_mut());
        own.into_iter().chain(rests).filter_map(|frame| frame.progress.running_mut())
    }
}

impl Stack {
    /// All statements that have begun and rest.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Running> {
        let cursors = self.cursors.iter().filter_map(|cursor| cursor.rest.as_ref()?.progress.running());
        self.frames.iter().flat_map(Frame::running).chain(cursors)
    }

    /// The same, to be changed.
    pub(crate) fn running_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        let cursors = self.cursors.iter_mut().filter_map(|cursor| cursor.rest.as_mut()?.progress.running_mut());
        self.frames.iter_mut().flat_map(Frame::running_mut).chain(cursors)
    }

    /// The statement at the top.
    pub(crate) fn statement(&self) -> &StatementFrame {
        match self.frames.last() {
            Some(Frame::Statement(frame)) => frame,
            Some(Frame::Routine(_)) | None => unreachable!("a statement at work is at the top of the stack"),
        }
    }

    /// The same, to be changed.
    pub(crate) fn statement_mut(&mut self) -> &mut StatementFrame {
        match self.frames.last_mut() {
            Some(Frame::Statement(frame)) => frame,
            Some(Frame::Routine(_)) | None => unreachable!("a statement at work is at the top of the stack"),
        }
    }

    /// The routine at work: the nearest one below the statement at the top.
    pub(crate) fn routine(&self) -> Option<&RoutineFrame> {
        self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Routine(routine) => Some(&**routine),
            Frame::Statement(_) => None,
        })
    }

    /// The frame of the statement at work, as a client or a routine sent it: what is above it are its parts. And
    /// whether a routine sent it.
    pub(crate) fn whole_statement(&self) -> Option<(&StatementFrame, bool)> {
        let above = self.frames.iter().rposition(|frame| matches!(frame, Frame::Routine(_))).map(|at| at + 1);
        let statements = self.frames.get(above.unwrap_or(0)..)?.iter();
        let mut statements = statements.filter_map(|frame| match frame {
            Frame::Statement(frame) => Some(frame),
            Frame::Routine(_) => None,
        });
        statements.next().map(|frame| (frame, above.is_some()))
    }

    /// Whether what it does next is a commit that no statement asks for.
    pub(crate) fn is_committing(&self) -> bool {
        self.committing_inside.is_some() || (self.committing.is_some() && self.frames.is_empty())
    }

    /// Whether its client may send a statement.
    pub(crate) fn is_idle(&self) -> bool {
        self.frames.is_empty() && self.committing.is_none()
    }
}

impl SessionState {
    /// The lock it holds on a row.
    pub(crate) fn lock_on(&self, row: RowRef) -> Option<Held> {
        self.transaction.as_ref()?.locks.get(&row).copied()
    }

    /// Whether it has a lock on a table that keeps others from writing it.
    pub(crate) fn shuts_tables(&self) -> bool {
        use TableLockMode::{AccessExclusive, Exclusive, Share, ShareRowExclusive};
        let shut =
            |modes: &Modes| [Share, ShareRowExclusive, Exclusive, AccessExclusive].iter().any(|m| modes.contains(*m));
        self.transaction.as_ref().is_some_and(|t| t.heavy.values().any(shut))
    }

    /// Whether it has changed a definition and not committed.
    pub(crate) fn is_redefining(&self) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.definitions.schema.is_some())
    }

    /// Whether it has changed a row and not committed.
    pub(crate) fn has_written(&self, row: RowRef) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.writes.contains_key(&row) || t.replaced.contains_key(&row))
    }

    /// What is defined, as the session sees it.
    pub(crate) fn schema<'s>(&'s self, db: &'s Database) -> &'s Arc<Schema> {
        let own = self.transaction.as_ref().and_then(|t| t.definitions.schema.as_ref());
        own.unwrap_or(&db.schema)
    }

    /// The transaction that the statement at work belongs to.
    pub(crate) fn transaction(&self) -> &Transaction {
        self.transaction.as_ref().expect("a running statement has a transaction")
    }

    /// The same, to be changed.
    pub(crate) fn transaction_mut(&mut self) -> &mut Transaction {
        self.transaction.as_mut().expect("a running statement has a transaction")
    }

    /// From here on the transaction's isolation level is settled.
    pub(crate) fn mark_queried(&mut self) {
        if let Some(t) = &mut self.transaction {
            t.queried = true;
        }
    }

    /// Whether the transaction that is open may not change anything.
    pub(crate) fn is_read_only(&self) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.read_only && !t.failed)
    }

    /// Whether others cannot tell it from a session without a transaction.
    pub(crate) fn is_quiet(&self) -> bool {
        self.wait.is_none() && self.transaction.as_ref().is_none_or(Transaction::is_quiet)
    }

    /// How many savepoints there are.
    pub(crate) fn depth(&self) -> usize {
        self.transaction.as_ref().map_or(0, |t| t.savepoints.len())
    }

    /// Opens the transaction that a statement outside of any runs in.
    pub(crate) fn begin_implicit(&mut self, now: i64) {
        debug_assert!(self.transaction.is_none(), "an open transaction is ended before the next begins");
        if self.options.autocommit {
            // A statement of a routine stands for one that a client sends.
            self.statement_began = now;
        }
        self.transaction = Some(self.new_transaction(false, now));
    }

    /// A transaction with the modes that the session's client has set.
    pub(crate) fn new_transaction(&self, explicit: bool, now: i64) -> Transaction {
        let SessionOptions { isolation, read_only, deferrable, .. } = self.options;
        Transaction::new(isolation, read_only, explicit).deferred(deferrable).begun_at(now)
    }
}

impl Session {
    /// Whether a row that it has written is in an index yet: one that waits for a unique key enters neither that index
    /// nor those behind it.
    pub(crate) fn has_entered(&self, row: RowRef, index: usize) -> bool {
        let Some(Frame::Statement(frame)) = self.stack.frames.last() else { return true };
        let written = frame.progress.running().and_then(Running::written);
        written.is_none_or(|(written, next)| written != row || index < next)
    }

    /// The tables that statements which have begun may still read from their own snapshots, if these are of this epoch.
    pub(crate) fn reads_on(&self, epoch: u64) -> TableSet {
        let fresh = self.stack.running().filter(|run| run.view.is_of(epoch));
        fresh.fold(TableSet::NONE, |sum, run| sum.union(run.view.reads))
    }
}
