//! Isolation specs on a real server: the connections that `isolde-scenario` runs a [`Spec`] on.
//!
//! What is sent, reported and printed is the same code as on the embedded engine. Here time is real: a step is waited
//! for until it answers, or until the server says that it waits for a lock that another session of the spec holds.
//! PostgreSQL has a function for that question, which isolationtester asks every ten milliseconds; we ask as soon as
//! nothing comes.

use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use isolde_scenario::ScenarioError;
use isolde_scenario::spec::connections::{Answer, Block, Connections, Message, Notice, Notification};
use isolde_scenario::spec::{self, Progress, Run, Spec, Style};
use isolde_sql::{Diagnostic, Span, SqlState};
use isolde_wire::quote::literal;
use isolde_wire::{Connection, Settings, wait_for_any};

use crate::Trouble;
use crate::stage::StageError;

/// How long to listen before anything else is done.
const PATIENCE: Duration = Duration::from_millis(2);
/// How long to listen before the server is asked again.
const WAIT: Duration = Duration::from_millis(10);

/// Runs a spec in this database, which should be empty.
pub fn run(
    settings: &Settings,
    spec: &Spec,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Run, StageError> {
    let mut server = Server::open(settings, spec).map_err(Trouble::from)?;
    let run = spec::run_on(&mut server, spec, progress);
    match (run, server.trouble.take()) {
        (Err(_), Some(trouble)) => Err(StageError::Trouble(trouble)),
        (run, _) => run.map_err(StageError::File),
    }
}

/// The control connection, one for each session, and one to ask who is blocked.
struct Server<'a> {
    spec: &'a Spec,
    sessions: Vec<Session>,
    asking: Connection,
    start: Instant,
    /// Why nothing more can be sent or heard.
    trouble: RefCell<Option<Trouble>>,
}

struct Session {
    connection: Connection,
    /// The string that is under way.
    sent: Option<Span>,
    unread: Vec<Message>,
    told: Vec<(i32, String, String)>,
    /// A table that is being received.
    table: Option<(Vec<String>, Vec<Vec<String>>)>,
}

impl<'a> Server<'a> {
    fn open(settings: &Settings, spec: &'a Spec) -> io::Result<Server<'a>> {
        let style = match spec.style() {
            Style::Plain => "-c datestyle=ISO,MDY -c timezone=UTC",
            Style::Regress => {
                "-c datestyle=Postgres,MDY -c timezone=America/Los_Angeles -c intervalstyle=postgres_verbose"
            }
        };
        let settings = settings.with_options(style);
        let open = || Connection::open(&settings);
        let session =
            |connection| Session { connection, sent: None, unread: Vec::new(), told: Vec::new(), table: None };
        let sessions = (0..=spec.sessions().count()).map(|_| open().map(session)).collect::<io::Result<_>>()?;
        Ok(Server { spec, sessions, asking: open()?, start: Instant::now(), trouble: RefCell::default() })
    }

    /// Listens to everybody who is busy, for at most this long.
    fn listen(&mut self, patience: Duration) -> Result<(), ScenarioError> {
        self.asking.patience().check().map_err(|error| self.lost(&error))?;
        let busy: Vec<&Connection> =
            self.sessions.iter().filter(|s| s.sent.is_some()).map(|session| &session.connection).collect();
        if busy.is_empty() {
            return Ok(());
        }
        wait_for_any(&busy, patience).map_err(|error| self.lost(&error))?;
        for who in 0..self.sessions.len() {
            self.take_in(who)?;
        }
        Ok(())
    }

    /// Takes in what a session has received.
    fn take_in(&mut self, who: usize) -> Result<(), ScenarioError> {
        loop {
            let session = &mut self.sessions[who];
            match session.connection.receive(Some(Duration::ZERO)) {
                Ok(Some(message)) => session.heard(message),
                Ok(None) => return Ok(()),
                // A session that is terminated, by itself or by another one, has nothing more to say.
                Err(error) if session.sent.is_some() && error.kind() == io::ErrorKind::UnexpectedEof => {
                    let place = session.sent.unwrap_or_default();
                    return Err(self.lost_at(place, &error));
                }
                Err(_) if session.sent.is_none() => return Ok(()),
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    fn lost(&self, error: &io::Error) -> ScenarioError {
        let place = self.sessions.iter().find_map(|session| session.sent).unwrap_or_default();
        self.lost_at(place, error)
    }

    /// The server has gone away, or does not want us. If that says nothing about the spec, it is remembered.
    fn lost_at(&self, place: Span, error: &io::Error) -> ScenarioError {
        let sentence = format!("lost the server: {error}");
        let trouble = match error.kind() {
            io::ErrorKind::Other => None,
            io::ErrorKind::Interrupted => Some(Trouble::Interrupted),
            _ => Some(Trouble::Fault(sentence.clone())),
        };
        let mut known = self.trouble.borrow_mut();
        *known = known.take().or(trouble);
        self.spec.mistake(Diagnostic::new(place, SqlState::INTERNAL_ERROR, sentence))
    }
}

impl Session {
    fn heard(&mut self, message: isolde_wire::Message) {
        use isolde_wire::Message as Wire;
        match message {
            Wire::Columns(columns) => {
                self.table = Some((columns, Vec::new()));
                self.unread.push(Message::Columns);
            }
            Wire::Row(row) => {
                if let Some((_, rows)) = &mut self.table {
                    rows.push(row.into_iter().map(Option::unwrap_or_default).collect());
                }
            }
            Wire::Complete(_) => {
                let (columns, rows) = self.table.take().unwrap_or_default();
                self.unread.push(Message::Answer(Answer::Table { columns, rows }));
            }
            Wire::Error(error) => {
                self.table = None;
                self.unread.push(Message::Answer(Answer::Error { code: error.sqlstate, message: error.message }));
            }
            Wire::Notice(notice) => {
                let notice = Notice { level: notice.severity, message: notice.message };
                self.unread.push(Message::Notice(notice));
            }
            Wire::Notification { pid, channel, payload } => self.told.push((pid, channel, payload)),
            Wire::Ready => self.sent = None,
            Wire::CopyIn | Wire::Other => {}
        }
    }
}

impl<'a> Connections<'a> for Server<'a> {
    fn set_application_name(&mut self, who: usize, name: &str) -> Result<(), ScenarioError> {
        let sql = format!("SELECT pg_catalog.set_config('application_name', {}, false)", literal(name));
        let set = self.sessions[who].connection.execute(&sql);
        set.map(drop).map_err(|error| self.lost(&error))
    }

    fn exec(&mut self, who: usize, sql: Block<'a>) -> Result<(Vec<Notice>, Option<Answer>), ScenarioError> {
        self.send(who, sql)?;
        while !self.is_done(who) {
            self.listen(WAIT)?;
        }
        let (mut notices, mut last) = (Vec::new(), None);
        for message in std::mem::take(self.messages(who)) {
            match message {
                Message::Notice(notice) => notices.push(notice),
                Message::Answer(answer) => last = Some(answer),
                Message::Columns => {}
            }
        }
        Ok((notices, last))
    }

    fn send(&mut self, who: usize, sql: Block<'a>) -> Result<(), ScenarioError> {
        let session = &mut self.sessions[who];
        session.sent = Some(sql.span);
        let sent = session.connection.send(sql.text);
        sent.map_err(|error| self.lost_at(sql.span, &error))
    }

    fn settle(&mut self) -> Result<(), ScenarioError> {
        self.listen(PATIENCE)
    }

    fn wait(&mut self, until: i64) -> Result<bool, ScenarioError> {
        self.listen(WAIT)?;
        Ok(self.clock() < until)
    }

    fn clock(&self) -> i64 {
        self.start.elapsed().as_micros() as i64
    }

    fn cancel(&mut self, who: usize) -> Result<(), ScenarioError> {
        self.sessions[who].connection.cancel().map_err(|error| self.lost(&error))
    }

    fn is_done(&self, who: usize) -> bool {
        self.sessions[who].sent.is_none()
    }

    fn is_blocked(&mut self, who: usize) -> Result<bool, ScenarioError> {
        let pids: Vec<String> = self.sessions.iter().skip(1).map(|s| s.connection.pid().to_string()).collect();
        let pid = self.sessions[who].connection.pid();
        let question =
            format!("SELECT pg_catalog.pg_isolation_test_session_is_blocked({pid}, '{{{}}}')", pids.join(","));
        let answer = self.asking.execute(&question).map_err(|error| self.lost(&error))?;
        let blocked = answer.iter().any(|response| response.rows() == [[Some("t".to_string())]]);
        // What has answered since is not blocked, whatever was true when we asked.
        self.take_in(who)?;
        Ok(blocked && !self.is_done(who))
    }

    fn messages(&mut self, who: usize) -> &mut Vec<Message> {
        &mut self.sessions[who].unread
    }

    fn take_notifications(&mut self, who: usize) -> Vec<Notification> {
        let told = std::mem::take(&mut self.sessions[who].told);
        let sender = |pid: i32| self.sessions.iter().skip(1).position(|s| s.connection.pid() == pid);
        told.into_iter().map(|(pid, channel, payload)| Notification { channel, payload, from: sender(pid) }).collect()
    }
}
