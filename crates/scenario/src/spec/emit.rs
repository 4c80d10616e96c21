//! A counterexample as an isolation spec, which PostgreSQL's own tester runs: a regression test for any server.
//!
//! Each thread is a session, each choice of the schedule a step, and one permutation gives their order:
//!
//! ```text
//! session alice
//! step alice_1 { BEGIN; SELECT balance FROM account WHERE id = 1; }
//! ...
//! permutation alice_1 bob_1 alice_2 bob_2 look
//! ```
//!
//! Variables are written out as the values they had. A routine is one statement to a client, so between its statements it is
//! held by [gates](crate::gate): advisory locks that a session of their own, `schedule`, holds and gives up one by one. Some
//! choices are the server's: that a statement goes on when its lock is free, who is the victim of a deadlock. They have
//! no step.
//!
//! What is written has been run on the embedded engine, and ends as the counterexample does.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

use isolde_engine::{Outcome, PendingKind};
use isolde_explore::Schedule;
use isolde_sql::Value;
use isolde_sql::print::identifier;

use super::{Draft, DraftSession, Spec, run};
use crate::check::follow;
use crate::client::Reaction;
use crate::file::{ClientStatement, FileOptions, ScenarioFile};
use crate::gate::with_gates;
use crate::scenario::Scenario;
use crate::system::{Event, ScenarioSystem};
use crate::trace::Run;

/// What passes a gate: waits for the advisory lock with the number of the thread and of the pass.
const GATE: &str = "CREATE FUNCTION isolde_gate() RETURNS void LANGUAGE plpgsql AS $gate$
DECLARE
  thread text := current_setting('isolde.thread', true);
  pass int := coalesce(nullif(current_setting('isolde.pass', true), ''), '0')::int + 1;
BEGIN
  IF thread <> '' THEN
    PERFORM set_config('isolde.pass', pass::text, false);
    PERFORM pg_advisory_lock(thread::int, pass);
    PERFORM pg_advisory_unlock(thread::int, pass);
  END IF;
END $gate$;";

/// Everything happens in a schema of its own.
const IN_CASE: &str = "SET search_path = isolde_case;";

const CALL: &str = "PERFORM isolde_gate();";

/// The same in a thread in which every statement of a routine is a transaction of its own.
const CALL_AUTOCOMMIT: &str = "COMMIT; PERFORM isolde_gate();";

/// Writes the run of `schedule` as a spec. The error is a sentence that says why that cannot be done.
pub fn emit(file: &ScenarioFile, schedule: &str) -> Result<String, String> {
    let scenario = Scenario::new(file.clone()).map_err(|error| error.to_string())?;
    let system = ScenarioSystem::new(&scenario, &FileOptions::default());
    let schedule = Schedule::parse(&system, schedule).map_err(|error| error.to_string())?;
    let run = follow(system, &schedule);
    let mut writer = Writer::new(file, &scenario);
    writer.walk(&run)?;
    let text = writer.finish(&run)?;
    let spec = Spec::parse("counterexample.spec", &text).map_err(|error| error.to_string())?;
    let printed = run::run(&spec, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    match printed.gave_up {
        Some(why) => Err(format!("the order of its steps cannot be had from outside: {why}")),
        None => Ok(text),
    }
}

struct Writer<'a> {
    file: &'a ScenarioFile,
    scenario: &'a Scenario,
    sessions: Vec<Session>,
    /// Names of steps, in the order of the schedule.
    order: Vec<String>,
    /// Gates that are closed at first, and the step that opens each.
    gates: Vec<(usize, usize, String)>,
    /// What passes a gate.
    call: &'static str,
}

/// What was written of a thread.
#[derive(Default)]
struct Session {
    steps: Vec<(String, String)>,
    /// The next statement to be sent.
    next: usize,
    /// Gates passed.
    passed: usize,
    /// An open transaction that nobody wrote a BEGIN for must be ended by a step of its own.
    commits_later: bool,
    /// The last transaction was aborted.
    aborted: bool,
}

impl<'a> Writer<'a> {
    fn new(file: &'a ScenarioFile, scenario: &'a Scenario) -> Writer<'a> {
        let sessions = file.threads.iter().map(|_| Session::default()).collect();
        let call = if file.threads.iter().all(|thread| thread.autocommit) { CALL_AUTOCOMMIT } else { CALL };
        Writer { file, scenario, sessions, order: Vec::new(), gates: Vec::new(), call }
    }

    fn walk(&mut self, run: &Run<'_>) -> Result<(), String> {
        let mut state = isolde_explore::System::initial(&run.system);
        for (at, event) in run.events.iter().enumerate() {
            let client = state.clients[event.thread].clone();
            let (next, variables) = (client.progress.next, client.progress.variables.clone());
            let choice = match event.victim {
                true => crate::system::Choice::Victim(event.thread),
                false => crate::system::Choice::Step(event.thread),
            };
            isolde_explore::System::execute(&run.system, &mut state, &choice);
            self.event(run, at, event, next, &variables)?;
        }
        Ok(())
    }

    fn event(
        &mut self,
        run: &Run<'_>,
        at: usize,
        event: &Event,
        statement: usize,
        variables: &[Value],
    ) -> Result<(), String> {
        let thread = event.thread;
        let retried = event.reactions.iter().any(|r| matches!(r, Reaction::Retried { .. }));
        if event.victim || event.resumed {
            self.sessions[thread].aborted |= retried;
            return Ok(());
        }
        let Some(step) = event.steps.first() else { return Ok(()) };
        let submitted = self.scenario.threads[thread].statements.get(statement).map(|s| s.prepared.statement.span);
        let inner = submitted != Some(step.pending.span) && step.pending.kind != PendingKind::ImplicitCommit;
        if inner && self.file.threads[thread].autocommit && self.call != CALL_AUTOCOMMIT {
            return Err(
                "a routine cannot be a transaction in one session and several in another: autocommit is for all".into(),
            );
        }
        let first = self.sessions[thread].next <= statement || self.sessions[thread].aborted;
        match step.pending.kind {
            PendingKind::ImplicitCommit => self.commit(thread),
            _ if inner && !first => self.open_gate(thread),
            _ => self.send(run, at, thread, statement, variables, inner)?,
        }
        self.sessions[thread].aborted |= retried;
        Ok(())
    }

    /// A step that sends the thread's statements up to this one.
    fn send(
        &mut self,
        run: &Run<'_>,
        at: usize,
        thread: usize,
        statement: usize,
        variables: &[Value],
        inner: bool,
    ) -> Result<(), String> {
        let later = commits_later(run, at, thread);
        let session = &mut self.sessions[thread];
        let mut text = String::new();
        if std::mem::take(&mut session.aborted) {
            text.push_str("ROLLBACK; ");
            session.next = session.next.min(statement);
        }
        let from = session.next.min(statement);
        for index in from..=statement {
            let begin = if later && index == statement { "BEGIN; " } else { "" };
            let client = &self.file.threads[thread].body[index];
            let submission = &self.scenario.threads[thread].statements[index];
            let values: Vec<&Value> = submission.params.iter().map(|&slot| &variables[slot]).collect();
            let written = written_out(client, self.file.sources.text(), &values);
            let gated = with_gates(&client.ast, self.file.sources.text(), self.call).filter(|_| values.is_empty());
            let _ = write!(text, "{begin}{}; ", gated.map_or(written, |(text, _)| text));
        }
        session.next = statement + 1;
        session.passed += usize::from(inner);
        session.commits_later = later;
        let name = format!("{}_{}", self.file.threads[thread].name, session.steps.len() + 1);
        session.steps.push((name.clone(), text.trim_end().to_string()));
        self.order.push(name);
        Ok(())
    }

    /// The commit that a client's statement brings with it: nothing to be done, unless others act before it.
    fn commit(&mut self, thread: usize) {
        let session = &mut self.sessions[thread];
        if std::mem::take(&mut session.commits_later) {
            let name = format!("{}_{}", self.file.threads[thread].name, session.steps.len() + 1);
            session.steps.push((name.clone(), "COMMIT;".into()));
            self.order.push(name);
        }
    }

    /// Lets a routine go on to its next statement.
    fn open_gate(&mut self, thread: usize) {
        let session = &mut self.sessions[thread];
        session.passed += 1;
        let name = format!("{}_goes_on_{}", self.file.threads[thread].name, session.passed - 1);
        self.gates.push((thread, session.passed, name.clone()));
        self.order.push(name);
    }

    fn finish(self, run: &Run<'_>) -> Result<String, String> {
        let source = self.file.sources.text();
        let gated = !self.gates.is_empty();
        let mut setup = vec![format!("CREATE SCHEMA isolde_case; {IN_CASE}")];
        setup.extend(gated.then(|| GATE.to_string()));
        for statement in &self.file.setup {
            let text = with_gates(&statement.ast, source, self.call).filter(|_| gated).map(|(text, _)| text);
            setup.push(format!("{};", text.unwrap_or_else(|| plain(statement, source))));
        }
        let mut sessions = Vec::new();
        for (number, (session, thread)) in self.sessions.into_iter().zip(&self.file.threads).enumerate() {
            if session.steps.is_empty() {
                continue;
            }
            let mut setup = String::from(IN_CASE);
            let level = thread.isolation.or(self.file.options.isolation);
            if let Some(level) = level {
                let _ = write!(setup, " SET default_transaction_isolation = '{}';", level.to_string().to_lowercase());
            }
            if gated {
                let _ = write!(setup, " SET isolde.thread = '{number}';");
            }
            sessions.push(DraftSession { name: thread.name.to_string(), setup, steps: session.steps });
        }
        if gated {
            let locks = self.gates.iter().map(|(thread, pass, _)| format!("pg_advisory_lock({thread}, {pass})"));
            let setup = format!("SELECT {};", locks.collect::<Vec<_>>().join(", "));
            let step = |(thread, pass, step): &(usize, usize, String)| {
                (step.clone(), format!("SELECT pg_advisory_unlock({thread}, {pass});"))
            };
            sessions.push(DraftSession {
                name: "schedule".into(),
                setup,
                steps: self.gates.iter().map(step).collect(),
            });
        }
        let steps = vec![("look".to_string(), looks(run))];
        sessions.push(DraftSession { name: "looker".into(), setup: IN_CASE.into(), steps });
        let mut order = self.order;
        order.push("look".into());
        let about =
            format!("{}: found by isolde; for isolationtester, or: isolde spec THIS_FILE", self.file.sources.name());
        Draft { about, setup, teardown: "DROP SCHEMA isolde_case CASCADE;".into(), sessions, order }.write()
    }
}

/// Whether the commit that a statement brings with it comes only after others have acted.
fn commits_later(run: &Run<'_>, at: usize, thread: usize) -> bool {
    let mut others = false;
    for event in &run.events[at + 1..] {
        if event.thread != thread {
            others = true;
            continue;
        }
        match event.steps.first() {
            Some(step) if step.pending.kind == PendingKind::ImplicitCommit => return others,
            Some(step) if matches!(step.outcome, Outcome::Blocked(_)) || !step.footprint.published.is_empty() => {
                others = false;
            }
            Some(step) if step.pending.kind == PendingKind::End => return false,
            _ => others = false,
        }
    }
    false
}

/// The tables that the run has changed, as queries.
fn looks(run: &Run<'_>) -> String {
    let trace = run.trace();
    let names: BTreeSet<&str> = trace.tables.iter().map(|table| table.name.as_str()).collect();
    match names.is_empty() {
        true => "SELECT 'nothing has changed' AS tables;".into(),
        false => names
            .iter()
            .map(|name| format!("SELECT * FROM {} ORDER BY 1;", identifier(name)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn plain(statement: &ClientStatement, source: &str) -> String {
    statement.ast.span.of(source).trim_end_matches(';').to_string()
}

/// The text of a statement, its variables replaced by these values.
fn written_out(statement: &ClientStatement, source: &str, values: &[&Value]) -> String {
    let mut text = plain(statement, source);
    for ((variable, _), value) in statement.variables.iter().zip(values) {
        let literal = literal(value);
        for spelling in [format!(":'{variable}'"), format!(":{variable}")] {
            text = replaced(&text, &spelling, &literal);
        }
    }
    text
}

/// Every occurrence that is a word of its own.
fn replaced(text: &str, spelling: &str, literal: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(spelling) {
        let (before, after) = (&rest[..at], &rest[at + spelling.len()..]);
        let longer = after.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !spelling.ends_with('\'');
        let cast = before.ends_with(':');
        out.push_str(before);
        out.push_str(if longer || cast { spelling } else { literal });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(number) => number.to_string(),
        other => format!("'{}'", other.to_string().replace('\'', "''")),
    }
}
