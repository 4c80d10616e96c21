//! A scenario on a server.
//!
//! Each thread has a session and a [client](client) behind it. A step sends what the client sends next, then lets everybody
//! react until all are at rest: answers are taken in, what they wake goes on, a client that failed rolls back, and statements that
//! nobody can notice (`BEGIN`, `SET`) are sent at once. So between steps each client is at a statement that others may
//! notice, as on the embedded engine, and a schedule means the same on both.
//!
//! A routine that passes [gates](crate::gate) takes a step per statement. It is called inside of `BEGIN` where the thread has
//! no transaction, so that its commit is a step of its own.

mod client;
mod mask;
mod outcome;
mod script;
mod setup;

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_report::{StepKind, StepResult};
use isolde_scenario::Generated;
use isolde_sql::ast::Isolation;
use isolde_sql::catalog::Catalog;
use isolde_wire::{Complaint, Response, TransactionStatus};

use crate::analysis::{Analyst, Ledger};
use crate::catalog::Known;
use crate::effects::{self, EffectKind, Rows};
use crate::gate::{self, ALERTS, GATES, Gates, Told};
use crate::live::{Ending, Outcome, Part, Stage, Standing, Touched};
use crate::{Blocker, Home, Reply, Restore, Sessions, Trouble, Version};
use client::{After, Client, Doing, Observation, Stop, What, result};
use mask::Masks;
use outcome::Net;
use script::{Script, Variables};

pub use setup::{StageError, checks, settings};

/// Steps that are looked at to find out what differs from run to run: threads may have no end.
const MASK_STEPS: usize = 500;

/// The threads of a scenario on a server. Its database is gone with it.
#[derive(Debug)]
pub struct ScenarioStage {
    names: Vec<String>,
    scripts: Vec<Script>,
    clients: Vec<Client>,
    standings: Vec<Standing>,
    sessions: Sessions,
    restore: Restore,
    known: Known,
    analyst: Arc<Analyst>,
    generated: Generated,
    rows: Rows,
    /// What the transactions of this run have changed.
    net: Net,
    /// Names of types by oid.
    types: BTreeMap<u32, Arc<str>>,
    /// The variables after set-up.
    variables: Variables,
    gates: Gates,
    /// Of each thread, the gate that it has passed and that is not closed again.
    passed: Vec<Option<i64>>,
    /// Of each thread, whether it was told at its gate that somebody waits for it.
    alerted: Vec<bool>,
    opened: Open,
    warnings: Vec<String>,
    masks: Masks,
    /// What routines see counts.
    inner: bool,
    /// A step is a whole transaction.
    atomic: bool,
    /// Nothing has happened since everything was put in place.
    fresh: bool,
    // The last, so that nobody is connected when it goes.
    home: Home,
}

/// How the sessions of the threads are opened.
#[derive(Clone, Debug)]
struct Open {
    isolation: Vec<Option<Isolation>>,
    autocommit: Vec<bool>,
    /// Sessions keep something beyond their transactions.
    keeps: bool,
}

impl ScenarioStage {
    /// The version of the server.
    pub fn version(&self) -> &Version {
        self.home.version()
    }

    /// The name of its database.
    pub fn database(&self) -> &str {
        self.home.name()
    }

    /// A statement that waits for nobody is given up after this time.
    pub fn set_time_max(&mut self, time_max: std::time::Duration) {
        self.sessions.set_time_max(time_max);
    }

    /// What the reader of an answer should know.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// How it is done, for `--stats`.
    pub fn describe(&self) -> String {
        let deadlocks = match self.sessions.finds_deadlocks_at_once() {
            true => "",
            false => "; deadlocks are found after the server's deadlock_timeout",
        };
        format!("PostgreSQL {}; {}{deadlocks}", self.home.version().text, self.restore.describe())
    }

    /// Finds out what differs from run to run.
    fn find_masks(&mut self) -> Result<(), Trouble> {
        let (one, other) = (self.run_serially()?, self.run_serially()?);
        self.masks = Masks::between(&one, &other);
        self.warnings.extend(self.masks.describe(&self.known.catalog));
        self.put_back()?;
        self.fresh = true;
        Ok(())
    }

    /// Lets the threads run one after another, as far as they go.
    fn run_serially(&mut self) -> Result<(Vec<Vec<Observation>>, Net), Trouble> {
        self.restart()?;
        let mut steps = 0;
        for thread in 0..self.names.len() {
            while matches!(self.standings[thread], Standing::Ready(_)) && steps < MASK_STEPS {
                self.step(thread)?;
                steps += 1;
            }
        }
        Ok((outcome::seen(&self.clients, self.inner), self.net.clone()))
    }

    /// All sessions idle, the data as set up.
    fn put_back(&mut self) -> Result<(), Trouble> {
        if std::mem::take(&mut self.fresh) {
            return Ok(());
        }
        if !self.restore.undoes() {
            self.home.return_to_copy()?;
            self.sessions = self.opened.sessions(&self.home, false)?;
            self.passed.fill(None);
            self.alerted.fill(false);
            return Ok(());
        }
        self.sessions.calm()?;
        self.close_gates()?;
        if self.opened.keeps {
            self.sessions.tell_all("DISCARD ALL")?;
            self.sessions.alert_anew()?;
        }
        self.restore.undo(self.sessions.control())
    }

    fn close_gates(&mut self) -> Result<(), Trouble> {
        let open: Vec<String> = self.passed.iter_mut().filter_map(Option::take).map(|key| key.to_string()).collect();
        if !open.is_empty() {
            let close = format!("SELECT pg_advisory_lock({GATES}, k) FROM unnest(ARRAY[{}]) AS k", open.join(", "));
            self.sessions.control().execute(&close)?;
        }
        Ok(())
    }

    /// Lets a thread through the gate that it stands before.
    fn pass(&mut self, thread: usize, key: i64) -> Result<(), Trouble> {
        let waited_for =
            (0..self.sessions.len()).any(|s| self.sessions.blockers(s).contains(&Blocker::Session(thread)));
        let mut calls = Vec::new();
        if let Some(passed) = self.passed[thread].replace(key) {
            calls.push(format!("pg_advisory_lock({GATES}, {passed})"));
        }
        if self.sessions.finds_deadlocks_at_once() && waited_for != self.alerted[thread] {
            let call = if waited_for { "pg_advisory_lock" } else { "pg_advisory_unlock" };
            calls.push(format!("{call}({ALERTS}, {thread})"));
            self.alerted[thread] = waited_for;
        }
        calls.push(format!("pg_advisory_unlock({GATES}, {key})"));
        self.sessions.control().execute(&format!("SELECT {}", calls.join(", ")))?;
        self.sessions.resumes(thread, self.alerted[thread]);
        self.clients[thread].doing = Doing::Statement;
        Ok(())
    }

    /// Begins the next step of a thread.
    fn begin(&mut self, thread: usize, done: &mut Vec<Part>) -> Result<(), Trouble> {
        match self.clients[thread].doing.clone() {
            Doing::AtGate(stop) => {
                self.enter(thread, &stop);
                self.pass(thread, stop.key)
            }
            Doing::Committing => {
                self.clients[thread].part = Some(part(thread, StepKind::Commit, "COMMIT", None));
                self.clients[thread].ledger.statement("COMMIT", &[]);
                self.send(thread, Doing::Commit, "COMMIT")
            }
            _ => self.send_next(thread, done),
        }
    }

    /// Sends the statement that a client is at.
    fn send_next(&mut self, thread: usize, done: &mut Vec<Part>) -> Result<(), Trouble> {
        let client = &mut self.clients[thread];
        (client.passed, client.at, client.wrapped) = (0, None, false);
        let sent = &self.scripts[thread].statements[client.progress.next];
        client.part = Some(part(thread, StepKind::Statement, &sent.shown, Some(sent.place.clone())));
        let text = match sent.text(&client.progress.variables) {
            Ok(text) => text,
            Err(name) => {
                let error = unset(&name);
                let result = result(&Response::Error(error.clone()));
                done.extend(client.part.take().map(|part| Part { result, ..part }));
                return self.fail(thread, &error);
            }
        };
        let opens = sent.calls
            && !self.gates.is_empty()
            && !self.gates.controls
            && !self.scripts[thread].autocommit
            && !client.ledger.is_open();
        if opens {
            client.wrapped = true;
            client.ledger.statement("BEGIN", &[]);
            return self.send(thread, Doing::Opening, "BEGIN");
        }
        client.ledger.statement(&text, &[]);
        self.send(thread, Doing::Statement, &text)
    }

    fn send(&mut self, thread: usize, doing: Doing, text: &str) -> Result<(), Trouble> {
        self.clients[thread].doing = doing;
        self.sessions.send(thread, text)
    }

    /// Lets everybody react until all are at rest.
    fn react(&mut self, done: &mut Vec<Part>) -> Result<(), Trouble> {
        loop {
            let replies = self.sessions.settle().map_err(|trouble| self.named(trouble))?;
            let mut more = false;
            for reply in replies {
                let thread = reply.session;
                self.take(reply, done)?;
                more |= !self.sessions.is_idle(thread);
            }
            for thread in 0..self.clients.len() {
                more |= self.arrive(thread, done)?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// The trouble of a session is that of its thread.
    fn named(&self, trouble: Trouble) -> Trouble {
        match trouble {
            Trouble::Stuck { thread, doing } => {
                let number = thread.rsplit(' ').next().and_then(|n| n.parse::<usize>().ok());
                let name = number.and_then(|n| self.names.get(n.checked_sub(1)?).cloned());
                Trouble::Stuck { thread: name.unwrap_or(thread), doing }
            }
            other => other,
        }
    }

    /// Looks whether a thread has come to a gate; whether it goes on at once.
    fn arrive(&mut self, thread: usize, done: &mut Vec<Part>) -> Result<bool, Trouble> {
        let at_gate = self.sessions.blockers(thread) == [Blocker::Control];
        if self.sessions.is_idle(thread) || !at_gate || self.clients[thread].doing != Doing::Statement {
            return Ok(false);
        }
        let notices = self.sessions.take_notices(thread);
        let heard = self.hear(thread, notices);
        let Some(stop) = heard.stop.clone() else { return Ok(false) };
        let client = &self.clients[thread];
        let calls = self.scripts[thread].statements.get(client.progress.next).is_some_and(|sent| sent.calls);
        let begun = self.clients[thread].part.is_some();
        if calls && begun && self.clients[thread].passed == 0 {
            // Up to here the routine has only computed.
            self.enter(thread, &stop);
            self.pass(thread, stop.key)?;
            return Ok(true);
        }
        let over = heard.committed || self.clients[thread].ledger.ends();
        let status = if over { TransactionStatus::Idle } else { TransactionStatus::Open };
        let result = heard.result.clone().unwrap_or(StepResult::Done { tag: String::new() });
        self.finish(thread, result, false, status, heard, done);
        self.clients[thread].doing = Doing::AtGate(stop);
        Ok(false)
    }

    /// A thread goes through a gate: what is under way from now on is the statement behind it.
    fn enter(&mut self, thread: usize, stop: &Stop) {
        let Some(place) = self.gates.place(stop.place) else { return };
        let client = &mut self.clients[thread];
        client.passed += 1;
        client.at = Some(stop.place);
        client.part = Some(part(thread, StepKind::Statement, &place.shown, Some(place.place.clone())));
        client.ledger.statement(&place.statement(&stop.values), &[]);
    }

    /// Takes in an answer.
    fn take(&mut self, reply: Reply, done: &mut Vec<Part>) -> Result<(), Trouble> {
        let thread = reply.session;
        let failed = match &reply.response {
            Response::Error(error) => Some(error.clone()),
            _ => None,
        };
        match self.clients[thread].doing.clone() {
            Doing::Opening => {
                let client = &mut self.clients[thread];
                client.ledger.done(failed.is_some(), reply.status, Vec::new());
                let sent = &self.scripts[thread].statements[client.progress.next];
                let text = sent.text(&client.progress.variables).unwrap_or_default();
                client.ledger.statement(&text, &[]);
                self.send(thread, Doing::Statement, &text)
            }
            Doing::Quiet | Doing::Statement | Doing::Commit => self.answered(thread, reply, failed, done),
            Doing::RollBack(after) => {
                let client = &mut self.clients[thread];
                let more = client.ledger.done(failed.is_some(), reply.status, Vec::new());
                add_to_last(done, thread, more, None);
                self.after(thread, after, done)
            }
            Doing::Closing => {
                let more = self.clients[thread].ledger.disconnect();
                add_to_last(done, thread, more, None);
                self.clients[thread].doing = Doing::Ended(Ending::Done);
                Ok(())
            }
            Doing::Next | Doing::AtGate(_) | Doing::Committing | Doing::Ended(_) => Ok(()),
        }
    }

    /// The answer to a statement, or to a COMMIT.
    fn answered(
        &mut self,
        thread: usize,
        reply: Reply,
        failed: Option<Complaint>,
        done: &mut Vec<Part>,
    ) -> Result<(), Trouble> {
        let Reply { response, notices, fields, status, .. } = reply;
        let doing = self.clients[thread].doing.clone();
        let waited = self.clients[thread].part.as_ref().is_some_and(|part| part.kind == StepKind::Resume);
        let heard = self.hear(thread, notices);
        if let (Some(error), true, Some(part)) = (&failed, waited, &mut self.clients[thread].part)
            && error.sqlstate == "40P01"
        {
            part.kind = StepKind::Victim;
        }
        let through = heard.result.clone().filter(|_| failed.is_none());
        let shown = through.unwrap_or_else(|| result(&response));
        let then_fails = failed.as_ref().filter(|_| heard.result.is_some());
        let note = then_fails.map(|error| format!("then fails: {} ({})", error.message, error.sqlstate));
        let shown = match (&note, &heard.result) {
            (Some(_), Some(result)) => result.clone(),
            _ => shown,
        };
        note.into_iter().for_each(|note| self.clients[thread].note(note));
        self.finish(thread, shown, failed.is_some(), status, heard, done);
        if let Some(error) = failed {
            return self.fail(thread, &error);
        }
        if doing == Doing::Commit {
            return self.advance(thread, done);
        }
        let oids: Vec<u32> = fields.iter().map(|field| field.type_oid).collect();
        self.observe(thread, &response, fields);
        let client = &mut self.clients[thread];
        let next = client.progress.next;
        let sent = &self.scripts[thread].statements[next];
        let calls = sent.calls && doing == Doing::Statement;
        client.progress.next += 1;
        if let (Some(prefix), Response::Rows { columns, rows, .. }) = (sent.gset.clone(), &response) {
            let names = setup::type_names(self.sessions.control(), &mut self.types, &oids)?;
            let set = self.clients[thread].progress.variables.set(&prefix, columns, &names, rows);
            if let Err((code, message)) = set {
                let error = Complaint { sqlstate: code.into(), message: message.into(), ..Complaint::default() };
                return self.fail(thread, &error);
            }
        }
        let client = &mut self.clients[thread];
        if calls && std::mem::take(&mut client.wrapped) && status == TransactionStatus::Open {
            // Where nobody could come in between with any effect, the commit is no step of its own.
            if client.passed > 1 && client.ledger.is_noticeable() {
                client.doing = Doing::Committing;
                return Ok(());
            }
            client.ledger.statement("COMMIT", &[]);
            return self.send(thread, Doing::Commit, "COMMIT");
        }
        self.advance(thread, done)
    }

    /// What is under way is done: it becomes part of the event.
    fn finish(
        &mut self,
        thread: usize,
        result: StepResult,
        failed: bool,
        status: TransactionStatus,
        heard: Heard,
        done: &mut Vec<Part>,
    ) {
        let client = &mut self.clients[thread];
        let mut touched = client.ledger.done(failed, status, heard.writes);
        touched.everything |= heard.truncated;
        if touched.ended == Some(true) {
            self.net.settle(&touched.settled);
        }
        match client.part.take() {
            Some(mut part) => {
                part.result = result;
                part.notes.extend(heard.notes);
                part.touched = touched;
                done.push(part);
            }
            // A COMMIT that belongs to the statement before it.
            None => {
                let note = match result {
                    StepResult::Error { code, message } => Some(format!("then fails: {message} ({code})")),
                    _ => None,
                };
                add_to_last(done, thread, touched, note);
            }
        }
    }

    /// Takes in the messages that came on the way.
    fn hear(&mut self, thread: usize, notices: Vec<Complaint>) -> Heard {
        let mut heard = Heard::default();
        let client = &mut self.clients[thread];
        let place = client.part.as_ref().and_then(|part| part.place.clone());
        for notice in notices {
            if let Some(effect) = effects::strip(&notice) {
                heard.truncated |= effect.kind == EffectKind::Truncate;
                if let Some(write) = self.rows.write(&self.known, effect) {
                    draw(&self.known.catalog, client, &write);
                    heard.writes.push(write);
                }
            } else if let Some(told) = gate::strip(&notice) {
                match told {
                    Told::Gate { place, key, values } => heard.stop = Some(Stop { key, place, values }),
                    Told::Result { rows: -1, .. } => heard.committed = true,
                    Told::Result { place, rows, values } => {
                        if let Some(gate) = self.gates.place(place) {
                            let result = told_result(gate, rows, values);
                            client.see_inside(gate, &result);
                            // A loop tells of its next row when the statement inside is through.
                            if client.at == Some(place) {
                                heard.result.get_or_insert(result);
                            }
                        }
                    }
                }
            } else {
                heard.notes.push(format!("{}: {}", notice.severity, notice.message));
                if let Some(place) = &place {
                    let what = What::Notice(notice.message.clone());
                    client.progress.seen.push(Observation { place: place.clone(), what, inner: false });
                }
            }
        }
        heard
    }

    /// A client remembers an answer.
    fn observe(&mut self, thread: usize, response: &Response, fields: Vec<isolde_wire::Field>) {
        let client = &mut self.clients[thread];
        let Some(sent) = self.scripts[thread].statements.get(client.progress.next) else { return };
        let what = match response {
            Response::Rows { rows, .. } => What::Rows { rows: rows.clone(), fields, ordered: sent.ordered },
            Response::Done { tag } => What::Tag(tag.clone()),
            Response::Error(error) => What::Error(error.sqlstate.clone()),
        };
        client.progress.seen.push(Observation { place: sent.place.clone(), what, inner: false });
    }

    /// An error: the transaction is given up, then the thread starts again or ends.
    fn fail(&mut self, thread: usize, error: &Complaint) -> Result<(), Trouble> {
        let script = &self.scripts[thread];
        let client = &mut self.clients[thread];
        let after = client.judge(script, error);
        client.ledger.statement("ROLLBACK", &[]);
        match self.sessions.status(thread) {
            TransactionStatus::Idle => self.send(thread, Doing::RollBack(after), "SELECT 1 WHERE false"),
            _ => self.send(thread, Doing::RollBack(after), "ROLLBACK"),
        }
    }

    /// The transaction is given up.
    fn after(&mut self, thread: usize, after: After, done: &mut [Part]) -> Result<(), Trouble> {
        match after {
            After::Retry => {
                let note = self.clients[thread].starts_again(&self.names[thread]);
                add_to_last(done, thread, Touched::default(), Some(note));
                self.advance(thread, done)
            }
            After::End(Ending::Done) => self.close(thread, done),
            After::End(ending) => {
                let more = self.clients[thread].ledger.disconnect();
                add_to_last(done, thread, more, None);
                self.clients[thread].doing = Doing::Ended(ending);
                Ok(())
            }
        }
    }

    /// Goes on to the next statement that others can notice, or to the end.
    fn advance(&mut self, thread: usize, done: &mut [Part]) -> Result<(), Trouble> {
        let client = &mut self.clients[thread];
        if !client.ledger.is_open() {
            client.checkpoint = client.progress.clone();
        }
        let Some(sent) = self.scripts[thread].statements.get(client.progress.next) else {
            return self.end(thread, done);
        };
        client.doing = Doing::Next;
        let Ok(text) = sent.text(&client.progress.variables) else { return Ok(()) };
        if client.ledger.is_quiet(&text, &[]) {
            client.ledger.statement(&text, &[]);
            return self.send(thread, Doing::Quiet, &text);
        }
        Ok(())
    }

    /// All statements are through.
    fn end(&mut self, thread: usize, done: &mut [Part]) -> Result<(), Trouble> {
        if self.clients[thread].ledger.is_open() {
            let note = format!("{} ends without COMMIT", self.names[thread]);
            add_to_last(done, thread, Touched::default(), Some(note));
            self.clients[thread].ledger.statement("ROLLBACK", &[]);
            return self.send(thread, Doing::RollBack(After::End(Ending::Done)), "ROLLBACK");
        }
        self.close(thread, done)
    }

    /// Gives up what the session keeps.
    fn close(&mut self, thread: usize, done: &mut [Part]) -> Result<(), Trouble> {
        if self.clients[thread].ledger.keeps() {
            return self.send(thread, Doing::Closing, "SELECT pg_advisory_unlock_all()");
        }
        let more = self.clients[thread].ledger.disconnect();
        add_to_last(done, thread, more, None);
        self.clients[thread].doing = Doing::Ended(Ending::Done);
        Ok(())
    }

    /// Whether a thread is in a transaction and could go on.
    fn is_amid(&self, thread: usize) -> bool {
        let client = &self.clients[thread];
        match client.doing {
            Doing::AtGate(_) | Doing::Committing => true,
            Doing::Next => client.ledger.is_open() && self.sessions.is_idle(thread),
            _ => false,
        }
    }

    /// What everybody is at.
    fn look(&mut self) {
        for thread in 0..self.clients.len() {
            self.standings[thread] = self.standing_of(thread);
        }
    }

    fn standing_of(&self, thread: usize) -> Standing {
        let client = &self.clients[thread];
        match &client.doing {
            Doing::Ended(ending) => Standing::Ended(ending.clone()),
            Doing::AtGate(stop) => Standing::Ready(match self.gates.place(stop.place) {
                Some(place) => place.shown.clone(),
                None => "".into(),
            }),
            Doing::Committing => Standing::Ready("COMMIT".into()),
            _ if self.sessions.is_idle(thread) => {
                let sent = self.scripts[thread].statements.get(client.progress.next);
                Standing::Ready(sent.map_or("".into(), |sent| sent.shown.clone()))
            }
            _ => Standing::Waiting(self.waits_for(thread)),
        }
    }

    fn waits_for(&self, thread: usize) -> Vec<usize> {
        let blockers = self.sessions.blockers(thread).iter();
        blockers.filter_map(|b| if let Blocker::Session(other) = b { Some(*other) } else { None }).collect()
    }

    /// A statement that has begun and waits: that is what it came to so far.
    fn wait(&mut self, thread: usize) -> Option<Part> {
        if self.sessions.is_idle(thread) {
            return None;
        }
        let on = self.waits_for(thread).into_iter().map(|other| self.names[other].clone()).collect();
        let client = &mut self.clients[thread];
        let part = client.part.as_mut()?;
        if part.kind == StepKind::Resume {
            return None;
        }
        let mut waits = part.clone();
        waits.result = StepResult::Waits { on };
        waits.touched = client.ledger.waits();
        // When it goes on, that is a part of its own.
        part.kind = StepKind::Resume;
        Some(waits)
    }
}

impl Stage for ScenarioStage {
    fn threads(&self) -> &[String] {
        &self.names
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        self.put_back()?;
        self.rows.restart();
        self.net = Net::default();
        for (thread, script) in self.scripts.iter().enumerate() {
            let level = self.opened.isolation[thread].unwrap_or_default();
            self.clients[thread] =
                Client::new(script, self.variables.clone(), Ledger::new(self.analyst.clone(), level));
        }
        let mut done = Vec::new();
        for thread in 0..self.clients.len() {
            self.advance(thread, &mut done)?;
        }
        self.react(&mut done)?;
        self.look();
        Ok(())
    }

    fn standing(&self, thread: usize) -> &Standing {
        &self.standings[thread]
    }

    fn step(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        let mut done = Vec::new();
        let over = self.clients[thread].ledger.over();
        self.begin(thread, &mut done)?;
        self.react(&mut done)?;
        while self.atomic && self.clients[thread].ledger.over() == over && self.is_amid(thread) {
            self.begin(thread, &mut done)?;
            self.react(&mut done)?;
        }
        for other in 0..self.clients.len() {
            done.extend(self.wait(other));
        }
        // Its own part first; which of the others was first to be heard means nothing.
        done.sort_by_key(|part| (part.thread != thread, part.thread));
        self.look();
        Ok(done)
    }

    fn ask(&mut self, query: &str) -> Result<Response, Trouble> {
        let responses = self.sessions.control().query(query)?;
        Ok(responses.into_iter().next_back().unwrap_or(Response::Done { tag: String::new() }))
    }

    fn outcome(&mut self) -> Result<Outcome, Trouble> {
        Ok(outcome::outcome(&self.known, &self.generated, &self.clients, &self.net, &self.masks, self.inner))
    }

    fn catalog(&self) -> &Catalog {
        &self.known.catalog
    }
}

/// What was heard on the way to an answer or a gate.
#[derive(Clone, Debug, Default)]
struct Heard {
    writes: Vec<isolde_engine::footprint::Write>,
    truncated: bool,
    notes: Vec<String>,
    /// What the statement inside of a routine came to.
    result: Option<StepResult>,
    /// Its transaction was committed inside.
    committed: bool,
    stop: Option<Stop>,
}

fn part(thread: usize, kind: StepKind, statement: &str, place: Option<isolde_report::Place>) -> Part {
    Part {
        thread,
        kind,
        statement: statement.to_string(),
        place,
        result: StepResult::Done { tag: String::new() },
        notes: Vec::new(),
        touched: Touched::default(),
    }
}

/// What came after a thread's part, and belongs to it.
fn add_to_last(done: &mut [Part], thread: usize, more: Touched, note: Option<String>) {
    let Some(part) = done.iter_mut().rev().find(|part| part.thread == thread) else { return };
    part.notes.extend(note);
    let touched = &mut part.touched;
    touched.ended = touched.ended.or(more.ended);
    touched.settled.extend(more.settled);
    touched.released.extend(more.released);
    touched.settled_all.extend(more.settled_all);
    touched.released_keys.extend(more.released_keys);
}

/// Numbers that a client drew from sequences, as far as rows show them.
fn draw(catalog: &Catalog, client: &mut Client, write: &isolde_engine::footprint::Write) {
    let (None, Some(row)) = (&write.before, &write.after) else { return };
    for (column, value) in catalog.table(write.table).columns.iter().zip(row.iter()) {
        if let (Some(sequence), isolde_sql::Value::Int(number)) = (&column.sequence, value) {
            client.progress.draws.push((sequence.clone(), *number));
        }
    }
}

/// What a routine told of one of its statements.
fn told_result(gate: &gate::GatePlace, rows: i64, values: Vec<Option<String>>) -> StepResult {
    match gate.targets.is_empty() {
        true => StepResult::Done { tag: format!("{} {rows}", gate.verb) },
        false => {
            StepResult::Rows { columns: gate.targets.clone(), rows: if rows > 0 { vec![values] } else { Vec::new() } }
        }
    }
}

fn unset(name: &str) -> Complaint {
    Complaint {
        severity: "ERROR".into(),
        sqlstate: "42P02".into(),
        message: format!("variable {name} is not set"),
        ..Complaint::default()
    }
}
