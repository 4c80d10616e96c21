//! The connections of a run: query strings sent, answers and notices received.
//!
//! All sessions run on one engine. [`Connections::settle`] lets everybody do what they can, those who have waited longest first,
//! until each has answered or waits; [`Connections::wait`] lets time pass until the next timer goes off.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use isolde_engine::{
    Activity, CatalogMark, Database, Notice, Notification, Part, Prepared, Reply, SessionId, Step, WaitsFor,
};
use isolde_sql::ast::{Statement, plpgsql::RaiseLevel};
use isolde_sql::typed::StatementKind;
use isolde_sql::{Diagnostic, Span, SqlError, SqlState, parse};

use super::{Spec, Sql};
use crate::ScenarioError;

/// The control connection; those of the sessions follow.
pub(super) const CONTROL: usize = 0;

/// Steps of the engine in one permutation before it is taken for endless.
const STEPS_MAX: u64 = 1_000_000;

/// The sessions of a spec and their database.
pub(super) struct Connections<'a> {
    spec: &'a Spec,
    pub(super) db: Database,
    connections: Vec<Connection>,
    /// Those that wait, in the order in which they began.
    waiting: Vec<usize>,
    /// Query strings, parsed when first sent.
    scripts: BTreeMap<&'a str, Rc<Script>>,
    steps_left: u64,
}

struct Connection {
    session: SessionId,
    /// What was sent, and how many of its statements were.
    sent: Option<(Rc<Script>, usize)>,
    /// What has come and nobody has read, in order.
    unread: Vec<Message>,
}

/// Something that a connection receives.
pub(super) enum Message {
    Notice(Notice),
    /// The columns of a query, which is about to run.
    Columns,
    Answer(Reply),
}

/// A query string: its statements, or why it is none.
struct Script {
    statements: Result<Vec<Parsed>, Diagnostic>,
    /// Where it stands in the file.
    span: Span,
}

struct Parsed {
    statement: Statement,
    /// Its plan, for the catalog that it was made for.
    plan: RefCell<Option<(CatalogMark, Arc<Prepared>)>>,
}

impl<'a> Connections<'a> {
    /// Connects everybody to an empty database.
    pub(super) fn open(spec: &'a Spec) -> Connections<'a> {
        let mut db = Database::new();
        db.start_clock();
        db.track_table_locks(true);
        let open = |_| Connection { session: db.open_session(), sent: None, unread: Vec::new() };
        let connections = (0..=spec.sessions.len()).map(open).collect();
        let scripts = BTreeMap::new();
        Connections { spec, db, connections, waiting: Vec::new(), scripts, steps_left: STEPS_MAX }
    }

    /// What a session is called in the server's own views.
    pub(super) fn set_application_name(&mut self, who: usize, name: &str) {
        self.db.set_setting(self.connections[who].session, "application_name", name);
    }

    /// A new permutation begins: it may take as many steps as any.
    pub(super) fn rewind(&mut self) {
        self.steps_left = STEPS_MAX;
    }

    /// Runs a query string to its end, and returns the notices and the last answer, as `PQexec` does.
    pub(super) fn exec(&mut self, who: usize, sql: &'a Sql) -> Result<(Vec<Notice>, Option<Reply>), ScenarioError> {
        self.send(who, sql)?;
        loop {
            self.settle()?;
            if self.is_done(who) {
                let (mut notices, mut last) = (Vec::new(), None);
                for message in self.take_messages(who) {
                    match message {
                        Message::Notice(notice) => notices.push(notice),
                        Message::Answer(reply) => last = Some(reply),
                        Message::Columns => {}
                    }
                }
                return Ok((notices, last));
            }
            if !self.wait(i64::MAX)? {
                let message = "this waits for ever: another session of the spec holds a lock that it needs";
                let span = Span::new(sql.0.start, sql.0.end);
                let hint =
                    "end every transaction before the teardown, in the last step or in the session's own teardown";
                return Err(self.spec.mistake(Diagnostic::syntax(span, message).hint(hint)));
            }
        }
    }

    /// Sends a query string.
    pub(super) fn send(&mut self, who: usize, sql: &'a Sql) -> Result<(), ScenarioError> {
        let text = self.spec.sql(sql);
        let script = self.scripts.entry(text).or_insert_with(|| Rc::new(Script::parse(text, sql.0.start)));
        self.connections[who].sent = Some((script.clone(), 0));
        self.advance(who)
    }

    /// Everybody does what they can.
    pub(super) fn settle(&mut self) -> Result<(), ScenarioError> {
        while let Some(who) = self.runnable() {
            let Some(left) = self.steps_left.checked_sub(1) else {
                let span = self.connections[who].sent.as_ref().map(|(script, _)| script.span).unwrap_or_default();
                return Err(self.spec.mistake(Diagnostic::syntax(span, "this does not come to an end")));
            };
            self.steps_left = left;
            let step = self.db.step(self.connections[who].session);
            self.did(who, step)?;
        }
        Ok(())
    }

    /// Lets time pass until the next timer goes off, if it does so in time. Did it?
    pub(super) fn wait(&mut self, until: i64) -> Result<bool, ScenarioError> {
        let Some((when, session, timer)) = self.db.next_timer() else { return Ok(false) };
        if when > until {
            return Ok(false);
        }
        if let Some(step) = self.db.fire(session, timer) {
            let who = self.connections.iter().position(|c| c.session == session);
            self.did(who.unwrap_or(CONTROL), step)?;
        }
        Ok(true)
    }

    /// Ends what a connection is doing, as a request to cancel does.
    pub(super) fn cancel(&mut self, who: usize) -> Result<(), ScenarioError> {
        let error = SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request");
        let step = self.db.interrupt(self.connections[who].session, error);
        self.did(who, step)
    }

    /// Whether everything that was sent is answered.
    pub(super) fn is_done(&self, who: usize) -> bool {
        self.connections[who].sent.is_none()
    }

    /// Whether it waits for a lock that another session of the spec holds or waits for.
    pub(super) fn is_blocked(&self, who: usize) -> bool {
        let Activity::Blocked(blocked) = self.db.activity(self.connections[who].session) else { return false };
        let sessions = || self.connections.iter().skip(1).map(|c| c.session);
        !matches!(blocked.waits_for, WaitsFor::Time(_)) && sessions().any(|session| blocked.on.contains(&session))
    }

    /// What has come, in order.
    pub(super) fn take_messages(&mut self, who: usize) -> Vec<Message> {
        std::mem::take(&mut self.connections[who].unread)
    }

    /// The notices that came before the first answer, and right behind it: libpq shows these before it hands out the answer.
    pub(super) fn take_early_notices(&mut self, who: usize) -> Vec<Notice> {
        let mut early = Vec::new();
        let (mut answered, mut over) = (false, false);
        let mut later = Vec::new();
        for message in self.take_messages(who) {
            over |= answered && !matches!(message, Message::Notice(_));
            answered |= matches!(message, Message::Answer(_));
            match message {
                Message::Notice(notice) if !over => early.push(notice),
                message => later.push(message),
            }
        }
        self.connections[who].unread = later;
        early
    }

    /// The notifications that have come since, each with the number of the session that sent it.
    pub(super) fn take_notifications(&mut self, who: usize) -> Vec<(Notification, Option<usize>)> {
        let came = self.db.take_notifications(self.connections[who].session);
        let sender = |n: &Notification| self.connections.iter().position(|c| c.session == n.from);
        came.into_iter().map(|n| (n.clone(), sender(&n).and_then(|who| who.checked_sub(1)))).collect()
    }

    fn runnable(&self) -> Option<usize> {
        let can = |who: &usize| !self.is_done(*who) && self.db.can_step(self.connections[*who].session);
        let waiting = self.waiting.iter().copied();
        waiting.chain(0..self.connections.len()).find(can)
    }

    /// Takes in what a step did.
    fn did(&mut self, who: usize, step: Step) -> Result<(), ScenarioError> {
        self.heard(who, step.notices);
        self.waiting.retain(|w| *w != who);
        match step.reply {
            Some(reply) => {
                self.answered(who, reply)?;
                self.advance(who)
            }
            None => {
                self.note_wait(who);
                Ok(())
            }
        }
    }

    /// Submits the statements of a string one after another, until one needs a step or all are answered.
    fn advance(&mut self, who: usize) -> Result<(), ScenarioError> {
        while let Some((script, next)) = self.connections[who].sent.clone() {
            let session = self.connections[who].session;
            let reply = match &script.statements {
                Err(diagnostic) => Some(self.db.fail(session, self.fails(diagnostic)?)),
                Ok(statements) if next == statements.len() => {
                    self.connections[who].sent = None;
                    return Ok(());
                }
                Ok(statements) => {
                    self.connections[who].sent = Some((script.clone(), next + 1));
                    let part = match statements.len() {
                        1 => Part::Whole,
                        n if next + 1 == n => Part::Last,
                        _ => Part::More,
                    };
                    match statements[next].prepared(&self.db, session, self.spec) {
                        Ok(prepared) => {
                            if matches!(prepared.statement.kind, StatementKind::Query(_)) {
                                self.connections[who].unread.push(Message::Columns);
                            }
                            self.db.submit_part(session, &prepared, &[], part)
                        }
                        Err(diagnostic) => Some(self.db.fail(session, self.fails(&diagnostic)?)),
                    }
                }
            };
            let notices = self.db.take_notices(session);
            self.heard(who, notices);
            match reply {
                Some(reply) => self.answered(who, reply)?,
                None => {
                    self.note_wait(who);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// An error ends the string.
    fn answered(&mut self, who: usize, reply: Reply) -> Result<(), ScenarioError> {
        if let Err(error) = &reply {
            if is_ours(&error.message) {
                let span = self.connections[who].sent.as_ref().map(|(script, _)| script.span).unwrap_or_default();
                let mut diagnostic = Diagnostic::new(span, error.state, &*error.message);
                diagnostic.hint = error.hint.as_ref().map(ToString::to_string);
                return Err(self.spec.mistake(diagnostic));
            }
            self.connections[who].sent = None;
        }
        self.connections[who].unread.push(Message::Answer(reply));
        Ok(())
    }

    /// What a server says to a statement that cannot be bound. If the fault is the engine's, the file cannot be run.
    fn fails(&self, diagnostic: &Diagnostic) -> Result<SqlError, ScenarioError> {
        match is_ours(&diagnostic.message) {
            true => Err(self.spec.mistake(diagnostic.clone())),
            false => Ok(diagnostic.clone().into()),
        }
    }

    fn note_wait(&mut self, who: usize) {
        if !self.db.can_step(self.connections[who].session) {
            self.waiting.push(who);
        }
    }

    fn heard(&mut self, who: usize, notices: Vec<Notice>) {
        if notices.is_empty() {
            return;
        }
        let least = self.db.setting(self.connections[who].session, "client_min_messages");
        let least = least.map_or(3, |name| rank_of(&name));
        let heard = notices.into_iter().filter(|n| rank(n.level) >= least).map(Message::Notice);
        self.connections[who].unread.extend(heard);
    }
}

impl Script {
    fn parse(text: &str, offset: usize) -> Script {
        let parsed = parse::split(text).into_iter().map(|span| {
            let fragment = parse::Fragment { text: span.of(text), offset: span.start + offset as u32 };
            let statement = parse::statement(fragment)?;
            Ok(Parsed { statement, plan: Default::default() })
        });
        Script { statements: parsed.collect(), span: Span::new(offset, offset + text.len()) }
    }
}

impl Parsed {
    fn prepared(&self, db: &Database, session: SessionId, spec: &Spec) -> Result<Arc<Prepared>, Diagnostic> {
        let mark = db.catalog_mark(session);
        let mut plan = self.plan.borrow_mut();
        match &*plan {
            Some((made_for, prepared)) if *made_for == mark => Ok(prepared.clone()),
            _ => {
                let prepared = db.prepare_in(session, &self.statement, &spec.text, &[])?;
                *plan = Some((mark, prepared.clone()));
                Ok(prepared)
            }
        }
    }
}

/// Whether an error says that the engine cannot do something, which no server would say.
fn is_ours(message: &str) -> bool {
    message.contains("not supported by the embedded engine")
}

/// How important a message is.
fn rank(level: RaiseLevel) -> u8 {
    match level {
        RaiseLevel::Debug => 0,
        RaiseLevel::Log => 1,
        RaiseLevel::Notice => 3,
        RaiseLevel::Warning => 4,
        RaiseLevel::Exception => 5,
        // Always sent.
        RaiseLevel::Info => u8::MAX,
    }
}

/// The same for a value of `client_min_messages`.
fn rank_of(name: &str) -> u8 {
    match name {
        "log" => 1,
        "notice" => 3,
        "warning" => 4,
        "error" => 5,
        _ => 0,
    }
}

/// What a message is called.
pub(super) fn level_name(level: RaiseLevel) -> &'static str {
    match level {
        RaiseLevel::Debug => "DEBUG",
        RaiseLevel::Log => "LOG",
        RaiseLevel::Info => "INFO",
        RaiseLevel::Notice => "NOTICE",
        RaiseLevel::Warning => "WARNING",
        RaiseLevel::Exception => "ERROR",
    }
}
