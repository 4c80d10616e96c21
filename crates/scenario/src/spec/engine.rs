//! A spec's connections to the embedded engine.
//!
//! All sessions run on one engine. Settling lets everybody do what they can, those who have waited longest first,
//! until each has answered or waits; waiting lets time pass until the next timer goes off. And since a database is a
//! value, the state after setting up is kept and gone back to.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use isolde_engine::{Activity, CatalogMark, Database, Part, Prepared, Reply, SessionId, Step, WaitsFor};
use isolde_sql::ast::{Statement, plpgsql::RaiseLevel};
use isolde_sql::typed::StatementKind;
use isolde_sql::{Diagnostic, Span, SqlError, SqlState, parse};

use super::connections::{Answer, Block, CONTROL, Connections, Message, Notice, Notification};
use super::{Spec, print};
use crate::ScenarioError;

/// Steps of the engine in one permutation before it is taken for endless.
const STEPS_MAX: u64 = 1_000_000;

/// Starts of permutations that are remembered.
const STARTS_MAX: usize = 16;

/// The sessions of a spec and their database.
pub(super) struct Embedded<'a> {
    spec: &'a Spec,
    db: Database,
    connections: Vec<Connection>,
    /// Those that wait, in the order in which they began.
    waiting: Vec<usize>,
    /// Query strings, parsed when first sent.
    scripts: BTreeMap<&'a str, Rc<Script>>,
    steps_left: u64,
    /// What setting up led to, by the digest of what there was before, if nothing was defined then.
    starts: HashMap<u128, (Database, String)>,
    /// The digest of what there is before a setting-up that is to be remembered.
    blank: Option<u128>,
}

struct Connection {
    session: SessionId,
    /// What was sent, and how many of its statements were.
    sent: Option<(Rc<Script>, usize)>,
    /// What has come and nobody has read, in order.
    unread: Vec<Message>,
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

impl<'a> Embedded<'a> {
    /// Connects everybody to an empty database.
    pub(super) fn open(spec: &'a Spec) -> Embedded<'a> {
        let mut db = Database::new();
        db.start_clock();
        db.track_table_locks(true);
        let open = |_| Connection { session: db.open_session(), sent: None, unread: Vec::new() };
        let connections = (0..=spec.sessions.len()).map(open).collect();
        let scripts = BTreeMap::new();
        let (waiting, starts) = (Vec::new(), HashMap::new());
        Embedded { spec, db, connections, waiting, scripts, steps_left: STEPS_MAX, starts, blank: None }
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
                        Err(diagnostic) => {
                            let error = self.fails(&diagnostic)?;
                            Some(self.db.fail_unbound(session, &statements[next].statement, error))
                        }
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
            if error.refused {
                let span = self.connections[who].sent.as_ref().map(|(script, _)| script.span).unwrap_or_default();
                let mut diagnostic = Diagnostic::new(span, error.state, &*error.message);
                diagnostic.hint = error.hint.as_ref().map(ToString::to_string);
                return Err(self.spec.mistake(diagnostic));
            }
            self.connections[who].sent = None;
        }
        let answer = match reply {
            Ok(result) => Answer::Table {
                columns: result.columns.iter().map(|column| column.name.to_string()).collect(),
                rows: result.rows.iter().map(|row| print::texts(row, self.spec.style)).collect(),
            },
            Err(error) => Answer::Error { code: error.state.to_string(), message: error.message.to_string() },
        };
        self.connections[who].unread.push(Message::Answer(answer));
        Ok(())
    }

    /// What a server says to a statement that cannot be bound. If the fault is the engine's, the file cannot be run.
    fn fails(&self, diagnostic: &Diagnostic) -> Result<SqlError, ScenarioError> {
        match diagnostic.refused {
            true => Err(self.spec.mistake(diagnostic.clone())),
            false => Ok(diagnostic.clone().into()),
        }
    }

    fn note_wait(&mut self, who: usize) {
        if !self.db.can_step(self.connections[who].session) {
            self.waiting.push(who);
        }
    }

    fn heard(&mut self, who: usize, notices: Vec<isolde_engine::Notice>) {
        if notices.is_empty() {
            return;
        }
        let least = self.db.setting(self.connections[who].session, "client_min_messages");
        let least = least.map_or(3, |name| rank_of(&name));
        let heard = notices
            .into_iter()
            .filter(|n| rank(n.level) >= least)
            .map(|n| Message::Notice(Notice { level: level_name(n.level).into(), message: n.message.to_string() }));
        self.connections[who].unread.extend(heard);
    }
}

impl<'a> Connections<'a> for Embedded<'a> {
    fn set_application_name(&mut self, who: usize, name: &str) -> Result<(), ScenarioError> {
        self.db.set_setting(self.connections[who].session, "application_name", name);
        Ok(())
    }

    fn exec(&mut self, who: usize, sql: Block<'a>) -> Result<(Vec<Notice>, Option<Answer>), ScenarioError> {
        self.send(who, sql)?;
        loop {
            self.settle()?;
            if self.is_done(who) {
                let (mut notices, mut last) = (Vec::new(), None);
                for message in std::mem::take(self.messages(who)) {
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
                let hint =
                    "end every transaction before the teardown, in the last step or in the session's own teardown";
                return Err(self.spec.mistake(Diagnostic::syntax(sql.span, message).hint(hint)));
            }
        }
    }

    fn send(&mut self, who: usize, sql: Block<'a>) -> Result<(), ScenarioError> {
        let script = self.scripts.entry(sql.text).or_insert_with(|| Rc::new(Script::parse(sql.text, sql.span)));
        self.connections[who].sent = Some((script.clone(), 0));
        self.advance(who)
    }

    fn settle(&mut self) -> Result<(), ScenarioError> {
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

    fn wait(&mut self, until: i64) -> Result<bool, ScenarioError> {
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

    fn clock(&self) -> i64 {
        self.db.clock()
    }

    fn cancel(&mut self, who: usize) -> Result<(), ScenarioError> {
        let error = SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request");
        let step = self.db.interrupt(self.connections[who].session, error);
        self.did(who, step)
    }

    fn is_done(&self, who: usize) -> bool {
        self.connections[who].sent.is_none()
    }

    fn is_blocked(&mut self, who: usize) -> Result<bool, ScenarioError> {
        let Activity::Blocked(blocked) = self.db.activity(self.connections[who].session) else { return Ok(false) };
        let sessions = || self.connections.iter().skip(1).map(|c| c.session);
        Ok(!matches!(blocked.waits_for, WaitsFor::Time(_)) && sessions().any(|session| blocked.on.contains(&session)))
    }

    fn messages(&mut self, who: usize) -> &mut Vec<Message> {
        &mut self.connections[who].unread
    }

    fn take_notifications(&mut self, who: usize) -> Vec<Notification> {
        let came = self.db.take_notifications(self.connections[who].session);
        let told = came.into_iter().map(|n| {
            let from = self.connections.iter().position(|c| c.session == n.from).and_then(|who| who.checked_sub(1));
            Notification { channel: n.channel.to_string(), payload: n.payload.to_string(), from }
        });
        told.collect()
    }

    fn start(&mut self) -> Option<String> {
        self.steps_left = STEPS_MAX;
        self.blank = self.db.catalog().is_empty().then(|| self.db.digest());
        let (db, printed) = self.starts.get(&self.blank?)?;
        self.db = db.clone();
        Some(printed.clone())
    }

    fn started(&mut self, printed: &str) {
        if let Some(before) = self.blank.filter(|_| self.starts.len() < STARTS_MAX) {
            self.starts.insert(before, (self.db.clone(), printed.to_string()));
        }
    }
}

impl Script {
    fn parse(text: &str, place: Span) -> Script {
        let offset = place.start;
        let parsed = parse::split(text).into_iter().map(|span| {
            let fragment = parse::Fragment { text: span.of(text), offset: span.start + offset };
            let statement = parse::statement(fragment)?;
            Ok(Parsed { statement, plan: Default::default() })
        });
        Script { statements: parsed.collect(), span: place }
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
fn level_name(level: RaiseLevel) -> &'static str {
    match level {
        RaiseLevel::Debug => "DEBUG",
        RaiseLevel::Log => "LOG",
        RaiseLevel::Info => "INFO",
        RaiseLevel::Notice => "NOTICE",
        RaiseLevel::Warning => "WARNING",
        RaiseLevel::Exception => "ERROR",
    }
}
