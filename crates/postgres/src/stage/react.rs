//! What happens after a thread was let go, until everybody is at rest: answers, gates, failures, and what clients make
//! of them.

use isolde_engine::footprint::Write;
use isolde_report::{StepKind, StepResult};
use isolde_scenario::Reaction;
use isolde_sql::Value;
use isolde_sql::catalog::Catalog;
use isolde_sql::facts::Verb;
use isolde_sql::parse::{Lexeme, lexemes};
use isolde_wire::{Complaint, Field, Response, TransactionStatus};

use super::client::{After, Client, Doing, Observation, Stop, What, result};
use super::{ScenarioStage, observe, setup};
use crate::effects::{self, EffectKind};
use crate::fault::fault;
use crate::gate::{self, Told};
use crate::live::{Ending, Part, Touched, sql_error, wait_cycle};
use crate::reads::Reads;
use crate::{Blocker, Reply, Trouble};

/// Said inside of a transaction in a thread whose routines commit their statements elsewhere.
const NO_AUTOCOMMIT: &str = "SET LOCAL isolde.autocommit = 'off'";

/// What the server answers to the longer form of BEGIN.
const START: &str = "START TRANSACTION";

impl ScenarioStage {
    /// Begins the next step of a thread.
    pub(super) fn begin(&mut self, thread: usize, done: &mut Vec<Part>) -> Result<(), Trouble> {
        match self.clients[thread].doing.clone() {
            Doing::AtGate(stop) => {
                self.enter(thread, &stop);
                self.pass(thread, stop.key)
            }
            Doing::Committing => {
                self.clients[thread].part = Some(part(thread, StepKind::Commit, (Verb::Commit, "COMMIT"), None));
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
        client.part = Some(part(thread, StepKind::Statement, (sent.verb, &sent.shown), Some(sent.place.clone())));
        let text = match sent.text(&client.progress.variables) {
            Ok(text) => text,
            Err(name) => {
                let error = unset(&name);
                let result = result(&Response::Error(error.clone()));
                done.extend(client.part.take().map(|part| Part { result, ..part }));
                return self.fail(thread, &error);
            }
        };
        // A routine that passes gates, or a statement: in either case the commit is to be a step.
        let gated = sent.calls && !self.gates.is_empty() && !self.gates.controls && !self.scripts[thread].autocommit;
        let inside = sent.calls && (self.gates.controls || self.scripts[thread].autocommit);
        let lone = sent.wraps && !self.whole && !inside;
        let opens = (gated || lone) && !client.ledger.is_open();
        let calls_inside = sent.calls && self.scripts[thread].autocommit && client.ledger.is_open();
        if opens {
            client.wrapped = true;
            self.queue(thread, "BEGIN")?;
        } else if calls_inside && !self.gates.is_empty() {
            // Between BEGIN and COMMIT nothing commits by itself.
            self.queue(thread, NO_AUTOCOMMIT)?;
        }
        let client = &mut self.clients[thread];
        client.ledger.statement(&text, &[]);
        if self.opened.prepares && self.scripts[thread].statements[client.progress.next].planned {
            client.doing = Doing::Statement;
            return self.sessions.send_prepared(thread, &text);
        }
        self.send(thread, Doing::Statement, &text)
    }

    /// Says something together with what is sent next: it succeeds, leaves a transaction open, and nobody notices.
    fn queue(&mut self, thread: usize, text: &str) -> Result<(), Trouble> {
        let ledger = &mut self.clients[thread].ledger;
        ledger.statement(text, &[]);
        ledger.done(false, TransactionStatus::Open, Vec::new());
        self.sessions.queue(thread, text)
    }

    fn send(&mut self, thread: usize, doing: Doing, text: &str) -> Result<(), Trouble> {
        self.clients[thread].doing = doing;
        self.sessions.send(thread, text)
    }

    /// Lets everybody react until all are at rest.
    pub(super) fn react(&mut self, done: &mut Vec<Part>) -> Result<(), Trouble> {
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

    /// The thread whose session is this process of the server.
    fn thread_of(&self, pid: i32) -> Option<usize> {
        (0..self.sessions.len()).find(|&session| self.sessions.pid(session) == pid)
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
        self.finish(thread, result, false, status, heard, done)?;
        self.clients[thread].doing = Doing::AtGate(stop);
        Ok(false)
    }

    /// A thread goes through a gate: what is under way from now on is the statement behind it.
    fn enter(&mut self, thread: usize, stop: &Stop) {
        let Some(place) = self.gates.place(stop.place) else { return };
        let client = &mut self.clients[thread];
        client.passed += 1;
        client.at = Some(stop.place);
        client.part = Some(part(thread, StepKind::Statement, (place.verb, &place.shown), Some(place.place.clone())));
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
            Doing::Quiet | Doing::Statement | Doing::Commit => self.answered(thread, reply, failed, done),
            Doing::RollBack(after) => {
                let client = &mut self.clients[thread];
                let more = client.ledger.done(failed.is_some(), reply.status, Vec::new());
                self.settle(thread, &more);
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
        let fault = failed.as_ref().and_then(|error| fault(&self.names[thread], error));
        fault.map_or(Ok(()), Err)?;
        let Reply { response, notices, fields, status, .. } = reply;
        let doing = self.clients[thread].doing.clone();
        let waited = self.clients[thread].part.as_ref().is_some_and(|part| part.kind == StepKind::Resume);
        let heard = self.hear(thread, notices);
        let cycle = failed.as_ref().map(|error| wait_cycle(error, |pid| self.thread_of(pid))).unwrap_or_default();
        if let (true, Some(part)) = (!cycle.is_empty(), &mut self.clients[thread].part) {
            part.cycle = cycle;
            if waited {
                part.kind = StepKind::Victim;
            }
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
        self.finish(thread, shown, failed.is_some(), status, heard, done)?;
        if let Some(error) = failed {
            if doing == Doing::Commit {
                self.clients[thread].unsee();
            }
            return self.fail(thread, &error);
        }
        if doing == Doing::Commit {
            self.clients[thread].partly = false;
            return self.advance(thread, done);
        }
        let oids: Vec<u32> = fields.iter().map(|field| field.type_oid).collect();
        self.observe(thread, &response, fields);
        let client = &mut self.clients[thread];
        let next = client.progress.next;
        let sent = &self.scripts[thread].statements[next];
        client.progress.next += 1;
        client.partly = false;
        if let Some(prefix) = sent.gset.clone() {
            let none = Vec::new();
            let (columns, rows) = match &response {
                Response::Rows { columns, rows, .. } => (columns, rows),
                _ => (&none, &Vec::new()),
            };
            let names = setup::type_names(self.sessions.control(), &mut self.types, &oids)?;
            let set = self.clients[thread].progress.variables.set(&prefix, columns, &names, rows);
            if let Err((code, message)) = set {
                let error = Complaint { sqlstate: code.into(), message: message.into(), ..Complaint::default() };
                return self.fail(thread, &error);
            }
        }
        let client = &mut self.clients[thread];
        if doing == Doing::Statement && std::mem::take(&mut client.wrapped) && status == TransactionStatus::Open {
            // Where nobody could come in between with any effect, the commit is no step of its own.
            let apart = match client.passed {
                0 | 1 => !self.whole && client.ledger.is_noticeable_alone(),
                _ => client.ledger.is_noticeable(),
            };
            if apart {
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
    ) -> Result<(), Trouble> {
        let client = &mut self.clients[thread];
        let again = client.ledger.again().filter(|_| self.asks && !failed && !heard.reads.is_told());
        let waited = client.part.as_ref().is_some_and(|part| part.kind != StepKind::Statement);
        client.ledger.told(if waited { heard.reads.after_waiting() } else { heard.reads });
        let clean = client.ledger.is_clean();
        let mut touched = client.ledger.done(failed, status, heard.writes);
        client.partly |= touched.publishes();
        touched.everything |= heard.truncated;
        if let Some(again) = again.as_ref().filter(|_| clean) {
            again.ask(self.sessions.control(), &self.known.catalog, &mut touched);
        } else if let Some(again) = again.filter(|_| status == TransactionStatus::Open && self.sessions.is_idle(thread))
        {
            let answer = self.sessions.ask_within(thread, again.query())?;
            again.keep(answer.as_ref(), &self.known.catalog, &mut touched);
        }
        self.settle(thread, &touched);
        match self.clients[thread].part.take() {
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
        Ok(())
    }

    /// Transactions have ended, or parts of them.
    fn settle(&mut self, thread: usize, touched: &Touched) {
        let Some(committed) = touched.ended else { return };
        if committed {
            self.net.settle(&touched.settled);
            let tables = touched.settled.iter().map(|write| write.table).chain(touched.settled_all.iter().copied());
            let published = &mut self.clients[thread].published;
            tables.for_each(|table| *published.entry(table).or_default() += 1);
        }
        self.restore.settle(thread, committed, touched.settled.len());
    }

    /// Takes note of an answer that nobody waits for any more.
    pub(super) fn note(&mut self, reply: Reply) {
        let (thread, failed) = (reply.session, reply.response.is_error());
        let heard = self.hear(thread, reply.notices);
        let touched = self.clients[thread].ledger.done(failed, reply.status, heard.writes);
        self.settle(thread, &touched);
    }

    /// Takes in the messages that came on the way.
    fn hear(&mut self, thread: usize, notices: Vec<Complaint>) -> Heard {
        let mut heard = Heard::default();
        let client = &mut self.clients[thread];
        let inside = client.at.and_then(|place| self.gates.place(place)).map(|gate| gate.span);
        let sent = self.scripts[thread].statements.get(client.progress.next).map(|sent| sent.span);
        let at = client.part.as_ref().and_then(|_| inside.or(sent));
        for notice in notices {
            if let Some(effect) = effects::strip(&notice) {
                heard.truncated |= effect.kind == EffectKind::Truncate;
                self.restore.hear(thread, &effect);
                if let Some(write) = self.rows.write(&self.known, effect) {
                    draw(&self.known.catalog, client, &write);
                    heard.writes.push(write);
                }
            } else if heard.reads.take(&self.known, &notice) {
                continue;
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
                if let Some(at) = at {
                    let (statement, what) = (client.progress.next, What::Notice(notice.message.as_str().into()));
                    client.progress.seen.push(Observation { statement, at, what, inner: false });
                }
            }
        }
        heard
    }

    /// A client remembers an answer.
    fn observe(&mut self, thread: usize, response: &Response, fields: Vec<Field>) {
        let client = &mut self.clients[thread];
        let Some(sent) = self.scripts[thread].statements.get(client.progress.next) else { return };
        let (columns, ordered) = (self.known.columns(&fields), sent.ordered);
        let (text, rows) = match response {
            Response::Rows { rows, .. } => ("".into(), rows.iter().map(|row| observe::row(row, &columns)).collect()),
            Response::Done { tag } => (tag.as_str().into(), Vec::new()),
            Response::Error(error) => (error.sqlstate.as_str().into(), Vec::new()),
        };
        let (statement, what) = (client.progress.next, What::Answer { text, columns, rows, ordered });
        client.progress.seen.push(Observation { statement, at: sent.span, what, inner: false });
    }

    /// An error: the transaction is given up, then the thread starts again or ends.
    fn fail(&mut self, thread: usize, error: &Complaint) -> Result<(), Trouble> {
        let client = &mut self.clients[thread];
        let after = client.judge(sql_error(error));
        client.ledger.statement("ROLLBACK", &[]);
        match self.sessions.status(thread) {
            TransactionStatus::Idle => self.send(thread, Doing::RollBack(after), "SELECT 1 WHERE false"),
            _ => self.send(thread, Doing::RollBack(after), "ROLLBACK"),
        }
    }

    /// The transaction is given up.
    fn after(&mut self, thread: usize, after: After, done: &mut [Part]) -> Result<(), Trouble> {
        match after {
            After::Retry(reaction) => {
                react_in_last(done, thread, reaction);
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
    pub(super) fn advance(&mut self, thread: usize, done: &mut [Part]) -> Result<(), Trouble> {
        let client = &mut self.clients[thread];
        if !client.ledger.is_open() {
            client.checkpoint = client.progress.clone();
        }
        let Some(sent) = self.scripts[thread].statements.get(client.progress.next) else {
            return self.end(thread, done);
        };
        client.doing = Doing::Next;
        let Ok(text) = sent.text(&client.progress.variables) else { return Ok(()) };
        if self.sessions.is_idle(thread) && client.ledger.begins(&text) {
            // Sent when it matters: with what comes next.
            let tag = if lexemes(&text).find(Lexeme::counts).is_some_and(|first| first.is("BEGIN")) {
                "BEGIN"
            } else {
                START
            };
            self.queue(thread, &text)?;
            self.observe(thread, &Response::Done { tag: tag.into() }, Vec::new());
            self.clients[thread].progress.next += 1;
            return self.advance(thread, done);
        }
        if client.ledger.is_quiet(&text, &[]) {
            client.ledger.statement(&text, &[]);
            return self.send(thread, Doing::Quiet, &text);
        }
        Ok(())
    }

    /// All statements are through.
    pub(super) fn end(&mut self, thread: usize, done: &mut [Part]) -> Result<(), Trouble> {
        if self.clients[thread].ledger.is_open() {
            react_in_last(done, thread, Reaction::LeftOpen);
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
}

/// What was heard on the way to an answer or a gate.
#[derive(Clone, Debug, Default)]
struct Heard {
    writes: Vec<Write>,
    reads: Reads,
    truncated: bool,
    notes: Vec<String>,
    /// What the statement inside of a routine came to.
    result: Option<StepResult>,
    /// Its transaction was committed inside.
    committed: bool,
    stop: Option<Stop>,
}

fn part(thread: usize, kind: StepKind, (verb, statement): (Verb, &str), place: Option<isolde_report::Place>) -> Part {
    Part {
        thread,
        connection: Some(0),
        before: Vec::new(),
        kind,
        statement: statement.to_string(),
        verb,
        place,
        result: StepResult::Done { tag: String::new() },
        reactions: Vec::new(),
        cycle: Vec::new(),
        notes: Vec::new(),
        touched: Touched::default(),
    }
}

/// What the client makes of its last part.
fn react_in_last(done: &mut [Part], thread: usize, reaction: Reaction) {
    let last = done.iter_mut().rev().find(|part| part.thread == thread);
    last.into_iter().for_each(|part| part.reactions.push(reaction.clone()));
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
    touched.moves.extend(more.moves);
}

/// Numbers that a client drew from sequences, as far as rows show them.
fn draw(catalog: &Catalog, client: &mut Client, write: &Write) {
    let (None, Some(row)) = (&write.before, &write.after) else { return };
    for (column, value) in catalog.table(write.table).columns.iter().zip(row.iter()) {
        if let (Some(sequence), Value::Int(number)) = (&column.sequence, value) {
            client.progress.draws.push((sequence.clone(), *number));
        }
    }
}

/// What a routine told of one of its statements.
fn told_result(gate: &gate::GatePlace, rows: i64, values: Vec<Option<String>>) -> StepResult {
    match gate.targets.is_empty() {
        true => StepResult::Done { tag: format!("{} {rows}", gate.word) },
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
