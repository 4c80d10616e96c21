//! The client behind each thread: what it sends next, what it has seen, when it gives up.
//!
//! A client behaves as an application does. It sends its statements one after another. If one fails, it does not go on
//! with the next: its transaction is rolled back and the thread ends. An *abort* (serialization failure, deadlock) is
//! no failure of the application; the client starts the transaction again if it has a retry left, forgetting what it
//! saw in the attempt, and otherwise ends as if it had not started it.
//!
//! Clients are eager. Right after a step they send the next statement, and BEGIN, SET or a procedure's local
//! computation happen at once, because nobody else can tell. So between steps a thread is always at a statement that
//! others may notice, or at its end. A thread that may read the time while that can [pass](crate::clock) is not eager:
//! it sends each statement in a step.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use isolde_engine::footprint::Footprint;
use isolde_engine::{Database, Notice, Outcome, Pending, PendingKind, Reach, Reply, Returned, Step};
use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Span, SqlError, Value};

use crate::effects::Published;
use crate::log::Log;
use crate::scenario::{Scenario, Submission, Thread, gset};

/// Statements in a loop that are recognised when they return the same again.
const LOOP_STATEMENTS: usize = 16;

/// How far a thread's client has come.
#[derive(Clone, Debug)]
pub struct Client {
    /// Whether it is still at it.
    pub status: Status,
    /// How often it may still start an aborted transaction again.
    pub retries_left: u32,
    /// A routine has committed part of the statement that it is at.
    pub(crate) partly: bool,
    /// Its next statement is not sent yet, because time may pass before.
    pub(crate) unsent: bool,
    /// When it sent the statement that it is at.
    sent: i64,
    /// What it has committed, also in attempts that were aborted later.
    pub(crate) published: Published,
    /// Where it is.
    pub(crate) progress: Progress,
    /// Where it was when its current transaction began.
    checkpoint: Progress,
}

/// Whether a thread is still at it, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It has more to do.
    Running,
    /// All its statements succeeded.
    Done,
    /// Its last transaction was aborted, and it had no retry left.
    Aborted(SqlError),
    /// A statement failed.
    Failed(SqlError),
}

/// Position, variables and observations: what a retry sets back.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The statement it is at.
    pub(crate) next: usize,
    pub(crate) variables: Arc<[Value]>,
    /// What it has seen.
    pub(crate) seen: Log<Observation>,
    /// What it drew from sequences, in order.
    pub(crate) draws: Log<(Arc<str>, i64)>,
    /// How many random values it had drawn when its transaction began.
    pub(crate) randoms: u64,
    /// When it sent each statement, and when that was answered, if it may read the time.
    pub(crate) times: Log<(i64, i64)>,
}

/// Something a client has seen.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    /// The answer to its n-th statement.
    Answer { statement: usize, tag: Arc<str>, columns: Arc<[OutputColumn]>, rows: Arc<[Row]> },
    /// What a statement inside a routine returned while the client waited for its n-th answer.
    Inner {
        statement: usize,
        span: Span,
        /// It asks for the order of its rows.
        ordered: bool,
        text: Arc<str>,
        columns: Arc<[OutputColumn]>,
        rows: Arc<[Row]>,
    },
    /// A message, while the client waited for its n-th answer.
    Notice { statement: usize, message: Arc<str> },
}

impl Observation {
    /// The client's statement that it belongs to.
    pub(crate) fn statement(&self) -> usize {
        match self {
            Observation::Answer { statement, .. }
            | Observation::Inner { statement, .. }
            | Observation::Notice { statement, .. } => *statement,
        }
    }
}

impl Hash for Observation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // The columns follow from the statement.
            Observation::Answer { statement, tag, rows, .. } => (0u8, statement, tag, rows).hash(state),
            Observation::Inner { statement, span, text, rows, .. } => (1u8, statement, span, text, rows).hash(state),
            Observation::Notice { statement, message } => (2u8, statement, message).hash(state),
        }
    }
}

impl Client {
    /// A client that has not sent anything.
    pub(crate) fn new(thread: &Thread) -> Client {
        let progress = Progress {
            next: 0,
            variables: thread.variables.clone().into(),
            seen: Log::default(),
            draws: Log::default(),
            randoms: 0,
            times: Log::default(),
        };
        let (status, retries_left, checkpoint) = (Status::Running, thread.retries, progress.clone());
        Client {
            status,
            retries_left,
            partly: false,
            unsent: false,
            sent: 0,
            published: Published::default(),
            checkpoint,
            progress,
        }
    }

    /// Whether its statement was cut off because a budget had ended. What the thread would have done is not known.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(&self.status, Status::Failed(error) if error.is_cut())
    }

    /// Statements it has completed in transactions that count.
    pub(crate) fn completed(&self, thread: &Thread) -> usize {
        match self.status {
            Status::Done | Status::Failed(_) => thread.statements.len(),
            Status::Running | Status::Aborted(_) => self.progress.next,
        }
    }

    /// Feeds everything that later steps and properties can depend on into a hasher.
    pub(crate) fn digest<H: Hasher>(&self, hasher: &mut H) {
        (&self.status, self.partly, self.unsent, self.sent).hash(hasher);
        self.progress.digest(hasher);
        // A thread that has ended never goes back.
        if self.status == Status::Running {
            self.retries_left.hash(hasher);
            self.checkpoint.digest(hasher);
        }
    }
}

impl Progress {
    fn digest<H: Hasher>(&self, hasher: &mut H) {
        self.next.hash(hasher);
        self.variables.hash(hasher);
        self.seen.digest().hash(hasher);
        self.draws.digest().hash(hasher);
        self.randoms.hash(hasher);
        self.times.digest().hash(hasher);
    }
}

/// What a client did in answer to something, for traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It started its transaction again, and may do so this often after that.
    Retried {
        /// What made it.
        error: SqlError,
        /// Retries left after this one.
        left: u32,
    },
    /// It ended while its transaction was open, which was rolled back.
    LeftOpen,
}

/// A client at work: borrows what it changes.
pub(crate) struct AtWork<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) thread: &'a Thread,
    pub(crate) database: &'a mut Database,
    pub(crate) client: &'a mut Client,
    /// What its transactions reach, by the statement they begin with.
    pub(crate) reach: Option<&'a [Arc<Reach>]>,
    /// Statements that it sends, at most.
    pub(crate) limit: usize,
    /// The time to which time passes between sending a statement and its first step.
    pub(crate) passes: Option<i64>,
    /// Steps of the engine that it took, with what it had to roll back.
    pub(crate) steps: Vec<Step>,
    pub(crate) reactions: Vec<Reaction>,
}

impl AtWork<'_> {
    /// Lets the engine take one step for this thread, then reacts to it.
    pub(crate) fn step(&mut self) {
        if std::mem::take(&mut self.client.unsent) {
            return self.send();
        }
        let step = self.database.step(self.thread.session);
        self.take(step);
    }

    /// Sends the next statement and takes its first step. What is through at once is a step as well.
    fn send(&mut self) {
        self.client.sent = self.database.clock();
        let Some(submission) = self.thread.statements.get(self.client.progress.next) else { return self.finish() };
        let session = self.thread.session;
        let reply = self.submit(submission);
        if let Some(time) = self.passes {
            self.database.set_clock(time);
        }
        let later = self.database.reads_on(session);
        let mut step = match reply {
            None if !self.database.can_step(session) => return,
            None => self.database.step(session),
            Some(reply) => through(submission, reply),
        };
        step.footprint.later = step.footprint.later.union(later);
        self.take(step);
    }

    fn submit(&mut self, submission: &Submission) -> Option<Reply> {
        let variables = &self.client.progress.variables;
        let params: Vec<Value> = submission.params.iter().map(|&slot| variables[slot].clone()).collect();
        let reply = self.database.submit(self.thread.session, &submission.prepared, &params);
        let said = self.database.take_notices(self.thread.session);
        self.notice(&said);
        reply
    }

    /// The thread is the one that a deadlock costs its transaction.
    pub(crate) fn be_victim(&mut self) {
        let step = self.database.kill(self.thread.session);
        self.take(step);
    }

    fn take(&mut self, step: Step) {
        self.notice(&step.notices);
        self.look_inside(&step);
        let draws = &mut self.client.progress.draws;
        step.footprint.sequences.iter().for_each(|draw| draws.push(draw.clone()));
        let reply = step.reply.clone();
        let committed = step.footprint.ended == Some(true) && !step.footprint.published.is_empty();
        if !step.footprint.published.is_empty() {
            let published = Arc::make_mut(&mut self.client.published);
            step.footprint.published.iter().for_each(|write| *published.entry(write.table).or_default() += 1);
        }
        self.client.partly = (self.client.partly || committed) && !matches!(reply, Some(Ok(_)));
        self.steps.push(step);
        if let Some(reply) = reply {
            self.answer(reply);
            self.advance();
            // What was sent may have begun, and has looked.
            let later = self.database.reads_on(self.thread.session);
            if let Some(last) = self.steps.last_mut() {
                last.footprint.later = last.footprint.later.union(later);
            }
        }
    }

    /// Sends statements until one is under way or none is left.
    pub(crate) fn advance(&mut self) {
        while self.client.status == Status::Running {
            if !self.database.in_transaction(self.thread.session) {
                self.client.progress.randoms = self.database.randoms(self.thread.session);
                self.client.checkpoint = self.client.progress.clone();
                let reach = self.reach.and_then(|reach| reach.get(self.client.progress.next));
                self.database.set_reach(self.thread.session, reach);
            }
            let next = self.client.progress.next;
            let Some(submission) = self.thread.statements.get(next).filter(|_| next < self.limit) else {
                return self.finish();
            };
            if self.thread.reads_clock {
                self.client.unsent = true;
                return;
            }
            match self.submit(submission) {
                None => return,
                Some(reply) => self.answer(reply),
            }
        }
    }

    fn answer(&mut self, reply: Reply) {
        if self.thread.reads_clock {
            self.client.progress.times.push((self.client.sent, self.database.clock()));
        }
        match reply {
            Err(error) => self.fail(error),
            Ok(result) => {
                let progress = &mut self.client.progress;
                let statement = progress.next;
                progress.next += 1;
                let slots = self.thread.statements.get(statement).and_then(|s| s.gset.as_ref());
                let stored = slots.map_or(Ok(()), |s| gset(s, &result, Arc::make_mut(&mut progress.variables)));
                progress.seen.push(Observation::Answer {
                    statement,
                    tag: result.tag,
                    columns: result.columns,
                    rows: result.rows.into(),
                });
                if let Err(error) = stored {
                    self.fail(error);
                }
            }
        }
    }

    /// What a statement of a routine returns is seen by the thread, whether or not its client is told; what the client
    /// is told is its [answer](AtWork::answer) alone, however much the statement did inside and however often it
    /// waited. Seeing the same again in the next round of a loop is not seeing something new; otherwise a thread that
    /// polls would come to a new state in every round.
    fn look_inside(&mut self, step: &Step) {
        for returned in &step.returned {
            self.see_inside(returned);
        }
    }

    fn see_inside(&mut self, returned: &Returned) {
        let statement = self.client.progress.next;
        let (text, columns, rows): (Arc<str>, Arc<[OutputColumn]>, Arc<[Row]>) = match &returned.outcome {
            Outcome::Rows { columns, rows } => ("".into(), columns.clone(), rows.as_slice().into()),
            Outcome::Count { verb, rows } => (format!("{verb} {rows}").into(), Arc::default(), Arc::default()),
            Outcome::Error(error) => (error.state.code().into(), Arc::default(), Arc::default()),
            Outcome::Blocked(_) | Outcome::Committed | Outcome::RolledBack | Outcome::Done => return,
        };
        let seen = &mut self.client.progress.seen;
        let span = returned.statement.span;
        let ordered = returned.statement.asks_order();
        let last = seen.backwards().take(LOOP_STATEMENTS).find_map(|o| match o {
            Observation::Inner { span: s, text, rows, .. } if *s == span => Some((text, rows)),
            _ => None,
        });
        if last != Some((&text, &rows)) {
            seen.push(Observation::Inner { statement, span, ordered, text, columns, rows });
        }
    }

    fn notice(&mut self, notices: &[Notice]) {
        let heard = notices.iter().filter(|n| !matches!(n.level, RaiseLevel::Debug | RaiseLevel::Log));
        let statement = self.client.progress.next;
        let seen = &mut self.client.progress.seen;
        heard.for_each(|n| seen.push(Observation::Notice { statement, message: n.message.clone() }));
    }

    fn fail(&mut self, error: SqlError) {
        self.roll_back();
        if !error.is_abort() {
            self.client.status = Status::Failed(error);
            return;
        }
        self.client.progress = self.client.checkpoint.clone();
        // What it drew by chance is forgotten too, unless a part of the statement has been committed. Any values would
        // do for the next attempt; with these it comes to the same as a run without the abort.
        if !self.client.partly {
            self.database.return_randoms(self.thread.session, self.client.progress.randoms);
        }
        match self.client.retries_left.checked_sub(1) {
            Some(left) => {
                self.client.retries_left = left;
                self.reactions.push(Reaction::Retried { error, left });
            }
            None => self.client.status = Status::Aborted(error),
        }
    }

    /// All that it is to send is through.
    fn finish(&mut self) {
        if self.roll_back() {
            self.reactions.push(Reaction::LeftOpen);
        }
        let released = self.database.disconnect(self.thread.session);
        if let Some(last) = self.steps.last_mut() {
            last.footprint.heavy.extend(released);
        }
        self.client.status = Status::Done;
    }

    /// Gives up the transaction, if there is one: what the server does when a client goes away.
    fn roll_back(&mut self) -> bool {
        let session = self.thread.session;
        let open = self.database.in_transaction(session);
        if open && self.database.submit(session, &self.scenario.rollback, &[]).is_none() {
            let step = self.database.step(session);
            debug_assert!(matches!(step.outcome, Outcome::RolledBack), "a ROLLBACK neither waits nor fails");
            self.steps.push(step);
        }
        open
    }
}

/// The step of a statement that nobody else can notice: BEGIN, SET, a query that reads no table.
fn through(submission: &Submission, reply: Reply) -> Step {
    let statement = &submission.prepared.statement;
    let outcome = match &reply {
        Err(error) => Outcome::Error(error.clone()),
        Ok(result) if result.columns.is_empty() => Outcome::Done,
        Ok(result) => Outcome::Rows { columns: result.columns.clone(), rows: result.rows.clone() },
    };
    let (text, span) = (statement.text.clone(), statement.span);
    Step {
        pending: Pending {
            text,
            span,
            kind: PendingKind::Statement,
            statement: Some(statement.clone()),
            in_routine: false,
        },
        outcome,
        returned: Vec::new(),
        footprint: Footprint::default(),
        notices: Vec::new(),
        reply: Some(reply),
    }
}
