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
//! Variables are written out as the values they had. A routine is one statement to a client, so between its statements
//! it is held by [gates](crate::gate): advisory locks that a session of their own, `schedule`, holds and gives up one
//! by one. Some choices are the server's: that a statement resumes when its lock is free, which session is the victim
//! of a deadlock. They have no step.
//!
//! No session keeps a lock that the teardown needs. Statements that no other thread can notice (the COMMIT of a
//! transaction that only read) are no choices, and are sent with the last one before them. Where the counterexample
//! stops in the middle of threads, their rest follows behind the look at the tables.
//!
//! What is written has been run on the embedded engine, and the tables are as in the counterexample.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

use isolde_engine::footprint::LockEventKind;
use isolde_engine::{LockKey, Outcome, PendingKind};
use isolde_explore::{Schedule, System};
use isolde_sql::Value;
use isolde_sql::ast::StatementKind;
use isolde_sql::print::identifier;

use super::{Draft, DraftSession, Spec, print, run};
use crate::check::follow;
use crate::client::{Reaction, Status};
use crate::embedded_check::without_trouble;
use crate::file::{ClientStatement, FileOptions, ScenarioFile};
use crate::gate::with_gates;
use crate::scenario::Scenario;
use crate::system::{Choice, Event, ScenarioSystem, State};
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

/// The step that looks at the tables.
const LOOK: &str = "look";

/// Everything happens in a schema of its own.
const IN_CASE: &str = "SET search_path = isolde_case;";

const CALL: &str = "PERFORM isolde_gate();";

/// The same in a thread in which every statement of a routine is a transaction of its own.
const CALL_AUTOCOMMIT: &str = "COMMIT; PERFORM isolde_gate();";

/// Writes the run of `schedule` as a spec. The error is a sentence that says why that cannot be done.
pub fn emit(file: &ScenarioFile, schedule: &str) -> Result<String, String> {
    emit_as(file, schedule, &file.options)
}

/// The same for a schedule that was found with these settings: they say what a step is.
pub fn emit_as(file: &ScenarioFile, schedule: &str, settings: &FileOptions) -> Result<String, String> {
    if !file.clock.is_empty() {
        return Err("time may pass in this file, and a spec cannot say when".into());
    }
    let scenario = Scenario::new(file.clone()).map_err(|error| error.to_string())?;
    let system = ScenarioSystem::new(&scenario, settings);
    let schedule = Schedule::parse(&system, schedule).map_err(|error| error.to_string())?;
    if !is_possible(system, &schedule) {
        return Err("its schedule is not possible in the file as it is read now".into());
    }
    let run = without_trouble(follow(system, &schedule));
    let mut writer = Writer::new(file, &scenario);
    writer.walk(&run)?;
    let text = writer.finish(&run)?;
    let spec = Spec::parse("counterexample.spec", &text).map_err(|error| error.to_string())?;
    let printed = run::run(&spec, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    match printed.gave_up {
        Some(why) => Err(format!("the order of its steps cannot be had from outside: {why}")),
        None if !shows(&printed.output, &run) => {
            Err("its tables are not those of the counterexample when its steps are sent from outside".into())
        }
        None => Ok(text),
    }
}

/// Whether each step of a schedule is there when its turn comes.
fn is_possible(system: ScenarioSystem<'_>, schedule: &Schedule<Choice>) -> bool {
    let mut state = system.initial();
    schedule.steps.iter().all(|choice| {
        let possible = system.is_enabled(&state, choice);
        if possible {
            system.execute(&mut state, choice);
        }
        possible
    })
}

/// Steps that the threads may take behind a counterexample.
const REST_MAX: usize = 10_000;

/// The run, followed by the rest of the threads that took part in it, as far as no deadlock stops them.
fn completed<'a>(run: &Run<'a>) -> Run<'a> {
    let mut run = run.clone();
    let acted: BTreeSet<usize> = run.events.iter().map(|event| event.thread).collect();
    for _ in 0..REST_MAX {
        let mut choices = Vec::new();
        run.system.enabled(&run.end, &mut choices);
        let next = choices.into_iter().find(|c| matches!(c, Choice::Step(thread) if acted.contains(thread)));
        match next.filter(|_| run.system.deadlocked(&run.end).is_empty()) {
            None => break,
            Some(choice) => run.events.push(run.system.execute(&mut run.end, &choice)),
        }
    }
    run
}

/// Whether the look at the tables shows what they hold at the end of the run.
fn shows(output: &str, run: &Run<'_>) -> bool {
    let look = output.lines().skip_while(|line| !line.starts_with("step look: ")).skip(1);
    let mut shown: Vec<&str> = look.take_while(|line| !line.starts_with("step ")).collect();
    let mut expected = String::new();
    for table in without_trouble(run.trace()).tables {
        if table.rows_total > table.rows.len() as u64 {
            return true;
        }
        let rows: Vec<Vec<String>> =
            table.rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect();
        print::table(&table.columns, &rows, &mut expected);
    }
    let mut expected: Vec<&str> = expected.lines().collect();
    // Rows that the first column does not order may come in any order; teardowns may say something more.
    shown.sort_unstable();
    expected.sort_unstable();
    let mut left = shown.into_iter();
    expected.into_iter().all(|line| left.any(|other| other == line))
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
    /// Sessions that are in a transaction when all steps are sent.
    open: BTreeSet<usize>,
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
        Writer { file, scenario, sessions, order: Vec::new(), gates: Vec::new(), call, open: BTreeSet::new() }
    }

    fn walk(&mut self, run: &Run<'_>) -> Result<(), String> {
        let whole = completed(run);
        let mut state = run.system.initial();
        for (at, event) in whole.events.iter().enumerate() {
            if at == run.events.len() {
                self.order.push(LOOK.into());
            }
            let client = state.clients[event.thread].clone();
            let (next, variables) = (client.progress.next, client.progress.variables.clone());
            let choice = match event.victim {
                true => Choice::Victim(event.thread),
                false => Choice::Step(event.thread),
            };
            run.system.execute(&mut state, &choice);
            self.event(&whole, at, event, next, &variables)?;
            self.end(event, &state);
        }
        if whole.events.len() == run.events.len() {
            self.order.push(LOOK.into());
        }
        let sessions = self.scenario.threads.iter().map(|thread| state.database.in_transaction(thread.session));
        self.open = sessions.enumerate().filter(|(_, open)| *open).map(|(thread, _)| thread).collect();
        Ok(())
    }

    /// What a thread sends after its last step: statements that no other thread notices, and what its end gives up.
    fn end(&mut self, event: &Event, state: &State) {
        let (thread, client) = (event.thread, &state.clients[event.thread]);
        let done = match client.status {
            Status::Done => self.file.threads[thread].body.len(),
            // One of those statements failed.
            Status::Failed(_) => client.progress.next + 1,
            Status::Running | Status::Aborted(_) => return,
        };
        let mut text = String::new();
        for index in self.sessions[thread].next..done.min(self.file.threads[thread].body.len()) {
            let _ = write!(text, "{}; ", self.text(thread, index, &client.progress.variables));
        }
        if event.reactions.contains(&Reaction::LeftOpen) {
            text.push_str("ROLLBACK; ");
        }
        let keys = event.steps.iter().flat_map(|step| &step.footprint.heavy);
        let mut released = keys.filter(|lock| lock.kind == LockEventKind::Released);
        let advisory = |key: LockKey| matches!(key, LockKey::Advisory(_) | LockKey::AdvisoryPair(..));
        if client.status == Status::Done && released.any(|lock| advisory(lock.key)) {
            text.push_str("SELECT pg_advisory_unlock_all(); ");
        }
        if !text.is_empty() {
            self.sessions[thread].next = done;
            self.step(thread, &text);
        }
    }

    /// Adds a step to a session, as the next in order.
    fn step(&mut self, thread: usize, text: &str) {
        let session = &mut self.sessions[thread];
        let name = format!("{}_{}", self.file.threads[thread].name, session.steps.len() + 1);
        session.steps.push((name.clone(), text.trim_end().to_string()));
        self.order.push(name);
    }

    /// A statement of a thread, with these values of its variables.
    fn text(&self, thread: usize, index: usize, variables: &[Value]) -> String {
        let client = &self.file.threads[thread].body[index];
        let submission = &self.scenario.threads[thread].statements[index];
        let values: Vec<&Value> = submission.params.iter().map(|&slot| &variables[slot]).collect();
        let source = self.file.sources.text();
        let gated = with_gates(&client.ast, source, self.call).filter(|_| values.is_empty());
        gated.map_or_else(|| written_out(client, source, &values), |(text, _)| text)
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
        let mut text = String::new();
        if std::mem::take(&mut self.sessions[thread].aborted) {
            text.push_str("ROLLBACK; ");
            self.sessions[thread].next = self.sessions[thread].next.min(statement);
        }
        let from = self.sessions[thread].next.min(statement);
        for index in from..statement {
            let _ = write!(text, "{}; ", self.text(thread, index, variables));
        }
        // A routine that commits must not be sent together with anything else.
        let alone = matches!(
            self.file.threads[thread].body[statement].ast.kind,
            StatementKind::Call { .. } | StatementKind::Do(_)
        );
        if alone && !text.is_empty() {
            self.step(thread, &text);
            text.clear();
        }
        let begin = if later { "BEGIN; " } else { "" };
        let _ = write!(text, "{begin}{}; ", self.text(thread, statement, variables));
        let session = &mut self.sessions[thread];
        session.next = statement + 1;
        session.passed += usize::from(inner);
        session.commits_later = later;
        self.step(thread, &text);
        Ok(())
    }

    /// The commit that a client's statement brings with it: nothing to be done, unless others act before it.
    fn commit(&mut self, thread: usize) {
        if std::mem::take(&mut self.sessions[thread].commits_later) {
            self.step(thread, "COMMIT;");
        }
    }

    /// Lets a routine resume with its next statement.
    fn open_gate(&mut self, thread: usize) {
        let session = &mut self.sessions[thread];
        session.passed += 1;
        let name = format!("{}_resumes_{}", self.file.threads[thread].name, session.passed - 1);
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
            let teardown = if self.open.contains(&number) { "ROLLBACK;" } else { "" }.into();
            sessions.push(DraftSession { name: thread.name.to_string(), setup, steps: session.steps, teardown });
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
                ..DraftSession::default()
            });
        }
        let steps = vec![(LOOK.to_string(), looks(run))];
        let looker = DraftSession { name: "looker".into(), setup: IN_CASE.into(), steps, ..DraftSession::default() };
        sessions.push(looker);
        let order = self.order;
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
    let trace = without_trouble(run.trace());
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

/// The text of a statement, these values in the places of its variables.
fn written_out(statement: &ClientStatement, source: &str, values: &[&Value]) -> String {
    let span = statement.ast.span;
    let mut places: Vec<(usize, usize, usize)> = statement
        .places
        .iter()
        .filter(|(place, _)| span.start <= place.start && place.end <= span.end)
        .map(|(place, variable)| ((place.start - span.start) as usize, (place.end - span.start) as usize, *variable))
        .collect();
    places.sort_unstable();
    let mut text = span.of(source).to_string();
    for (from, to, variable) in places.into_iter().rev() {
        if let (Some(value), true) = (values.get(variable), text.is_char_boundary(from) && text.is_char_boundary(to)) {
            text.replace_range(from..to, &literal(value));
        }
    }
    text.trim_end_matches(';').to_string()
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        // Two minus signs would begin a comment.
        Value::Int(number) if *number < 0 => format!("({number})"),
        Value::Int(number) => number.to_string(),
        other => format!("'{}'", other.to_string().replace('\'', "''")),
    }
}
