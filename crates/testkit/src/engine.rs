//! The driver for the embedded engine.
//!
//! The engine has no time, so coming to rest is simple: whoever can do a step does it, those who have waited longest
//! first, until nobody can. Then those whose wait is new look for a deadlock, in the order in which they began to wait:
//! as in
//! [`crate::mirror`], the victim is the session whose wait closed the cycle. A wait is new, too, if it is for somebody
//! else than before, for the server starts another wait for each transaction that is in the way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use isolde_engine::{Activity, Database, Faults, Part, Prepared, Reply, SessionId, StatementResult};
use isolde_sql::ast::Statement;
use isolde_sql::{Diagnostic, parse};

use crate::generate::Dice;
use crate::mirror::Driver;
use crate::program::Response;

/// A fresh [`Database`] per program.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    db: Database,
    faults: Faults,
    setup: Option<SessionId>,
    sessions: Vec<Client>,
    /// Sessions in the order in which their present wait began, and for whom they waited when they last looked.
    waiting: Vec<(usize, Looked)>,
    /// Decides who goes first, if not those who have waited longest.
    dice: Option<Dice>,
    order: u64,
}

/// Whom a session waited for, and whether he only waited longer.
type Looked = (Vec<SessionId>, bool);

/// A client: the rest of the query string it sent, and the answers so far.
#[derive(Clone, Debug)]
struct Client {
    session: SessionId,
    rest: std::vec::IntoIter<String>,
    answers: Vec<Response>,
    busy: bool,
    /// The query string has several statements.
    several: bool,
}

impl Engine {
    /// An engine as it should be.
    pub fn new() -> Engine {
        Engine::default()
    }

    /// An engine that is broken on purpose: the tests must notice.
    pub fn broken(faults: Faults) -> Engine {
        Engine { faults, ..Engine::default() }
    }

    /// The database as it is now.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Sends the statements of a client one after another, until one needs a step or all are answered.
    fn advance(&mut self, who: usize) {
        while let Some(statement) = self.sessions[who].rest.next() {
            let session = self.sessions[who].session;
            let bound =
                parsed(&statement).map(|parsed| (self.db.prepare_in(session, &parsed, &statement, &[]), parsed));
            let reply = match bound {
                Ok((Ok(prepared), _)) => {
                    let client = &self.sessions[who];
                    let part = match (client.several, client.rest.len()) {
                        (false, _) => Part::Whole,
                        (true, 0) => Part::Last,
                        (true, _) => Part::More,
                    };
                    self.db.submit_part(client.session, &prepared, &[], part)
                }
                Ok((Err(diagnostic), parsed)) => Some(self.db.fail_unbound(session, &parsed, diagnostic.into())),
                Err(diagnostic) => Some(self.db.fail(session, diagnostic.into())),
            };
            match reply {
                Some(reply) => self.answered(who, reply),
                None => return,
            }
        }
    }

    fn answered(&mut self, who: usize, reply: Reply) {
        let client = &mut self.sessions[who];
        let failed = reply.is_err();
        client.answers.push(response(reply));
        if failed {
            client.rest = Vec::new().into_iter();
        }
    }

    fn step(&mut self, who: usize) {
        let session = self.sessions[who].session;
        let step = self.db.step(session);
        self.waiting.retain(|(w, _)| *w != who);
        match step.reply {
            Some(reply) => {
                self.answered(who, reply);
                self.advance(who);
            }
            None if matches!(self.db.activity(session), Activity::Blocked(_)) => {
                self.waiting.push((who, Looked::default()))
            }
            None => {}
        }
    }

    /// Those whose wait is new look for a deadlock; the first to be in one is its victim. Was there one?
    fn check_deadlocks(&mut self) -> bool {
        let deadlocked = self.db.deadlocked();
        let mut victims = Vec::new();
        for (who, looked) in &mut self.waiting {
            let session = self.sessions[*who].session;
            let Activity::Blocked(blocked) = self.db.activity(session) else { continue };
            let looks = (blocked.on, blocked.behind);
            let is_new = *looked != looks;
            *looked = looks;
            if is_new && deadlocked.contains(&session) {
                victims.push(*who);
            }
        }
        let Some(&first) = victims.first() else { return false };
        let victim = self.dice.as_mut().map_or(first, |dice| *dice.pick(&victims));
        self.waiting.retain(|(who, _)| *who != victim);
        if let Some(reply) = self.db.kill(self.sessions[victim].session).reply {
            self.answered(victim, reply);
            self.advance(victim);
        }
        true
    }

    fn runnable(&mut self) -> Option<usize> {
        let can = |who: &usize| self.sessions[*who].busy && self.db.can_step(self.sessions[*who].session);
        let waiting = self.waiting.iter().map(|(who, _)| *who);
        match &mut self.dice {
            None => waiting.chain(0..self.sessions.len()).find(can),
            Some(dice) => {
                let all: Vec<usize> = (0..self.sessions.len()).filter(can).collect();
                (!all.is_empty()).then(|| *dice.pick(&all))
            }
        }
    }
}

/// Statements that take more steps than this never end.
const STEPS_MAX: usize = 100_000;

impl Driver for Engine {
    fn reset(&mut self, sessions: usize) {
        // As the server's sessions, which scan tables in the order of the heap unless a program says otherwise.
        const PLANNER: &str = "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off";
        self.db = Database::new().with_faults(self.faults);
        self.db.track_table_locks(true);
        self.db.wait_in_turn(true);
        self.setup = Some(self.db.open_session());
        self.waiting.clear();
        self.dice = (self.order > 0).then(|| Dice::new(self.order));
        self.sessions = (0..sessions)
            .map(|_| Client {
                session: self.db.open_session(),
                rest: Vec::new().into_iter(),
                answers: Vec::new(),
                busy: false,
                several: false,
            })
            .collect();
        (0..sessions).for_each(|who| self.submit(who, PLANNER));
        self.settle();
    }

    fn setup(&mut self, statement: &str) -> Vec<Response> {
        let session = self.setup.expect("reset opens a session for the set-up");
        let mut responses = Vec::new();
        for statement in split(statement) {
            let mut reply = match prepare(&self.db, session, &statement) {
                Ok(prepared) => self.db.submit(session, &prepared, &[]),
                Err(diagnostic) => Some(Err(diagnostic.into())),
            };
            while reply.is_none() {
                reply = self.db.step(session).reply;
            }
            responses.extend(reply.map(response));
        }
        responses
    }

    fn submit(&mut self, session: usize, statement: &str) {
        let client = &mut self.sessions[session];
        let statements = split(statement);
        client.several = statements.len() > 1;
        client.rest = statements.into_iter();
        client.busy = true;
        self.advance(session);
    }

    fn settle(&mut self) -> Vec<(usize, Vec<Response>)> {
        let mut steps = 0;
        loop {
            while let Some(who) = self.runnable() {
                steps += 1;
                assert!(steps < STEPS_MAX, "the engine does not come to rest");
                self.step(who);
            }
            if !self.check_deadlocks() {
                break;
            }
        }
        let mut answers = Vec::new();
        for (who, client) in self.sessions.iter_mut().enumerate() {
            if client.busy && matches!(self.db.activity(client.session), Activity::Idle) {
                client.busy = false;
                answers.push((who, std::mem::take(&mut client.answers)));
            }
        }
        answers
    }

    fn choose(&mut self, order: u64) -> bool {
        self.order = order;
        true
    }
}

fn split(text: &str) -> Vec<String> {
    if !text.contains(';') {
        return vec![text.trim().to_string()];
    }
    parse::split(text).into_iter().map(|span| span.of(text).to_string()).collect()
}

fn prepare(db: &Database, session: SessionId, statement: &str) -> Result<Arc<Prepared>, Diagnostic> {
    let parsed = parsed(statement)?;
    db.prepare_in(session, &parsed, statement, &[])
}

thread_local! {
    /// Statements that have been parsed: BEGIN, COMMIT and set-ups come again and again.
    static PARSED: RefCell<HashMap<String, Arc<Statement>>> = RefCell::default();
}

/// How many are remembered, until all are forgotten.
const PARSED_MAX: usize = 5_000;

fn parsed(statement: &str) -> Result<Arc<Statement>, Diagnostic> {
    if let Some(known) = PARSED.with_borrow(|known| known.get(statement).cloned()) {
        return Ok(known);
    }
    let parsed = Arc::new(parse::statement(parse::Fragment { text: statement, offset: 0 })?);
    PARSED.with_borrow_mut(|known| {
        if known.len() >= PARSED_MAX {
            known.clear();
        }
        known.insert(statement.to_string(), parsed.clone());
    });
    Ok(parsed)
}

fn response(reply: Reply) -> Response {
    match reply {
        Ok(result) if result.columns.is_empty() && !is_selection(&result) => {
            Response::Done { tag: result.tag.to_string() }
        }
        Ok(result) => Response::Rows {
            tag: result.tag.to_string(),
            columns: result.columns.iter().map(|c| c.name.to_string()).collect(),
            rows: result
                .rows
                .iter()
                .map(|row| row.iter().map(|v| (!v.is_null()).then(|| v.to_string())).collect())
                .collect(),
        },
        Err(error) => Response::Error { sqlstate: error.state.code().to_string(), message: error.message.to_string() },
    }
}

/// Rows without columns, rather than the count of rows that CREATE TABLE AS stored.
fn is_selection(result: &StatementResult) -> bool {
    result.tag.starts_with("SELECT") && (!result.rows.is_empty() || &*result.tag == "SELECT 0")
}
