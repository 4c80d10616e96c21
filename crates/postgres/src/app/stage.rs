//! An application on a stage.
//!
//! A run begins with the data as set up and every command started and held at its first statement; requests are sent
//! when their thread is first let go. A step lets one thread send its statement and go on until it is at rest, and
//! then, one after the other, those that this has woken.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use isolde_explore::Schedule;
use isolde_report::{StepKind, StepResult};
use isolde_scenario::{Completed, Outcome, Runs};
use isolde_sql::SqlState;
use isolde_sql::ast::Isolation;
use isolde_sql::catalog::Catalog;
use isolde_sql::facts::{Facts, Verb};
use isolde_wire::{Complaint, Response, Settings};

use super::cast::Cast;
use super::conductor::{Conductor, Timing, error_of};
use super::data::Data;
use super::file::AppFile;
use super::normal;
use super::skeleton::Sketch;
use super::spec::{Case, Written};
use crate::analysis::Analyst;
use crate::live::{Cursor, Ending, Part, Stage, Standing, Touched, wait_cycle};
use crate::proxy::{Answered, SessionId};
use crate::reads::Module;
use crate::{Trouble, effects, reads};

/// An application whose threads are held at their next statement.
pub struct AppStage {
    conductor: Conductor,
    file: AppFile,
    names: Vec<String>,
    standings: Vec<Standing>,
    /// Requests are not answered while they are cleared away: the servers must be started anew.
    clean: bool,
    /// Of each thread, whether it has committed rows in this run.
    committed: Vec<bool>,
    /// The connections by which threads have said something in this run, in order.
    connections: Vec<(usize, SessionId)>,
    /// Sessions say what they read.
    tells_reads: bool,
    /// Threads that have written outside of a transaction.
    lone: BTreeSet<(usize, String)>,
    /// What each thread has shown at the end of a run in which it had committed rows.
    shown_after_writing: Vec<BTreeSet<Vec<String>>>,
}

/// The server's default is a second; like this a deadlock is over soon, and its victim always who closed the cycle.
const DEADLOCK_TIMEOUT: &str = "1ms";
/// Longer than that: after so long a session that waits has looked for deadlocks.
const WAIT_COUNTS_AFTER: Duration = Duration::from_millis(5);
/// How long servers are listened to before anybody runs.
const LEARNING: Duration = Duration::from_millis(400);
/// A command that sets something up may take this long.
const SETUP_LIMIT: Duration = Duration::from_secs(1800);
const DEADLOCK: &str = "40P01";
/// What is shown of a thread that leaves a transaction open.
pub(super) const DISCONNECTS: &str = "disconnects without COMMIT";

impl AppStage {
    /// Makes a database, sets it up, starts the servers, and lets everything run once so that caches are warm. Commands
    /// are run in `directory`.
    pub fn open(file: AppFile, directory: PathBuf, server: &Settings) -> Result<AppStage, Trouble> {
        AppStage::reading(file, directory, server, &Module::Installed)
    }

    /// The same, with the module that tells what is read at another place, or without it.
    pub fn reading(file: AppFile, directory: PathBuf, server: &Settings, module: &Module) -> Result<AppStage, Trouble> {
        let (sender, events) = channel();
        let mut data = Data::create(server, &file.ignored_columns)?;
        let alert = data.home().preset("deadlock_timeout", DEADLOCK_TIMEOUT)?;
        module.admit(data.home())?;
        let plain = data.settings().clone();
        let cast = Cast::new(&file, directory, &plain, sender)?;
        let wait_counts_after = if alert { WAIT_COUNTS_AFTER } else { Duration::ZERO };
        let timing = Timing { limit: file.time_limit, wait_counts_after };
        let conductor = Conductor::new(data, cast, events, &timing, file.masks.clone(), plain.patience.clone());
        let names: Vec<String> = file.threads.iter().map(|thread| thread.name.clone()).collect();
        let count = names.len();
        let mut stage = AppStage {
            conductor,
            file,
            names,
            standings: Vec::new(),
            committed: Vec::new(),
            clean: true,
            connections: Vec::new(),
            tells_reads: false,
            lone: BTreeSet::new(),
            shown_after_writing: vec![BTreeSet::new(); count],
        };
        stage.set_up()?;
        let mut own = Vec::new();
        own.extend(stage.file.isolation.map(|level| format!("-c default_transaction_isolation={}", option(level))));
        if stage.conductor.data.has(module)? {
            stage.tells_reads = true;
            own.extend(module.option());
        }
        let settings = plain.with_options(&own.join(" "));
        stage.conductor.cast.lead_to(&settings);
        stage.start_servers()?;
        stage.warm_up()?;
        Ok(stage)
    }

    /// What the reader of an answer should know: statements that were never scheduled, because servers say them by
    /// themselves.
    pub fn warnings(&self) -> Vec<String> {
        let texts = self.conductor.background.iter();
        let passed = texts.map(|text| format!("a server says `{text}` by itself; it is passed on whenever it comes"));
        let lone = self.lone.iter().map(|(thread, statement)| {
            let name = &self.names[*thread];
            format!(
                "{name} sends `{statement}` outside of a transaction, and it may not stand in one: what others do between it \
                 and its commit is not explored"
            )
        });
        passed.chain(lone).collect()
    }

    /// The server and how its data is put back, for `--stats`.
    pub fn describe(&self) -> String {
        format!("{}{}", self.conductor.data.describe(), reads::described(self.tells_reads))
    }

    /// A scenario made of what the threads send when they run alone; `file` says where it comes from.
    pub fn scenario(&mut self, file: &str) -> Result<String, Trouble> {
        let mut threads = Vec::new();
        for thread in 0..self.names.len() {
            self.restart()?;
            let mut parts = Vec::new();
            while matches!(self.standing(thread), Standing::Ready(_)) {
                parts.extend(self.step(thread)?.into_iter().filter(|part| part.thread == thread));
            }
            threads.push((self.names[thread].clone(), parts));
        }
        self.restart()?;
        let (invariants, finals) = (&self.file.invariants, &self.file.finals);
        Sketch { file, threads, invariants, finals }.write(&mut self.conductor.data)
    }

    /// The run of a schedule as an isolation spec; `file` says where it comes from. The inner error says why it cannot
    /// be written.
    pub fn spec(&mut self, schedule: &str, file: &str) -> Result<Result<Written, String>, Trouble> {
        let choices = {
            let cursor = Cursor::new(self)?;
            Schedule::parse(&cursor.system(), schedule).map_err(|error| Trouble::Usage(error.to_string()))?
        };
        self.restart()?;
        let mut steps = Vec::new();
        for choice in choices.steps {
            steps.push(self.step(choice.thread())?);
        }
        let (level, names) = (self.file.isolation.map(option), self.names.clone());
        let case = Case { file, names: &names, steps: &steps, level };
        let end = case.look(&mut self.conductor.data)?;
        self.restart()?;
        case.write(&mut self.conductor.data, &end)
    }

    fn set_up(&mut self) -> Result<(), Trouble> {
        let sql = self.file.database.setup_sql.clone();
        if !sql.trim().is_empty() {
            self.conductor.data.control()?.execute(&sql).map_err(|error| refused("setup_sql", error))?;
        }
        for command in self.file.database.setup.clone() {
            self.run(&command)?;
        }
        // Whoever set things up may still be leaving.
        self.conductor.hang_up(|_| true)?;
        self.conductor.data.capture()?;
        let known = self.conductor.data.known();
        let analyst = Analyst::new(known.catalog.clone(), known.opaque.clone());
        let level = self.file.isolation.unwrap_or(Isolation::ReadCommitted);
        self.conductor.understand(Arc::new(analyst), level);
        Ok(())
    }

    /// Runs a command to its end, everything let through.
    fn run(&mut self, command: &str) -> Result<(), Trouble> {
        self.conductor.cast.run_errand(command)?;
        match self.conductor.wait_until(SETUP_LIMIT, |conductor| conductor.cast.errand_is_done(command))? {
            true => Ok(()),
            false => Err(Trouble::Usage(format!("`{command}` does not end"))),
        }
    }

    fn start_servers(&mut self) -> Result<(), Trouble> {
        if !self.conductor.cast.has_servers() {
            return Ok(());
        }
        self.conductor.cast.start_servers()?;
        while let Some((_, limit)) = self.conductor.cast.unready() {
            if !self.conductor.wait_until(limit, |conductor| Ok(conductor.cast.unready().is_none()))? {
                let sentence = self.conductor.cast.unready().map(|(sentence, _)| sentence).unwrap_or_default();
                return Err(Trouble::Usage(sentence));
            }
        }
        // What they say now they say by themselves.
        self.conductor.learning = true;
        let listened = self.conductor.wait_until(LEARNING, |_| Ok(false));
        self.conductor.learning = false;
        listened.map(drop)
    }

    /// Lets all threads run once, one after the other; what that does is undone.
    fn warm_up(&mut self) -> Result<(), Trouble> {
        for thread in 0..self.names.len() {
            self.conductor.cast.begin(thread)?;
            let limit = self.file.time_limit * 3;
            if !self.conductor.wait_until(limit, |conductor| Ok(conductor.cast.has_ended(thread)))? {
                let doing = self.conductor.cast.idle(thread, limit.as_secs_f64());
                return Err(Trouble::Stuck { thread: self.names[thread].clone(), doing });
            }
        }
        Ok(())
    }

    /// Ends whatever the last run has left.
    fn clear(&mut self) -> Result<(), Trouble> {
        self.conductor.running = None;
        self.conductor.cast.end_commands();
        self.conductor.hang_up(|line| line.is_own())?;
        self.conductor.let_go();
        let limit = self.file.time_limit;
        let answered = self.conductor.wait_until(limit, |conductor| Ok(!conductor.cast.has_request_under_way()))?;
        self.clean &= answered;
        if !self.clean {
            self.conductor.cast.stop_servers();
            self.conductor.hang_up(|_| true)?;
            self.conductor.cast.clear();
            self.start_servers()?;
            self.clean = true;
        }
        // A connection that was given back to its pool with a transaction open would be in the way.
        self.conductor.catch_up()?;
        self.conductor.hang_up(|line| line.session.is_busy() && !line.session.listens())?;
        self.conductor.cast.clear();
        self.conductor.partings.clear();
        Ok(())
    }

    fn reset_data(&mut self) -> Result<(), Trouble> {
        let (command, sql) = (self.file.database.reset.clone(), self.file.database.reset_sql.clone());
        if command.is_none() && sql.is_none() {
            return self.put_back();
        }
        if let Some(sql) = sql {
            let done = self.conductor.data.control()?.execute(&sql);
            done.map_err(|error| refused("reset_sql", error))?;
        }
        command.map_or(Ok(()), |command| self.run(&command))?;
        self.conductor.data.forget_log()
    }

    fn put_back(&mut self) -> Result<(), Trouble> {
        let everybody_leaves = self.conductor.data.must_be_left() && self.conductor.cast.has_servers();
        if everybody_leaves {
            self.conductor.cast.stop_servers();
        }
        self.conductor.data.restore()?;
        if everybody_leaves {
            self.conductor.lines.clear();
            self.start_servers()?;
        }
        Ok(())
    }

    /// Takes note of what everybody is at.
    fn take_standings(&mut self) {
        let standing = |thread: usize| {
            match self.conductor.cast.ending(thread) {
                // Which of its statements were about what it has committed is known to the program alone.
                Some(Ending::Aborted(error, _)) if !self.committed[thread] => {
                    return Standing::Ended(Ending::Aborted(error.clone(), Completed::Statements(0)));
                }
                Some(ending) => return Standing::Ended(ending.clone()),
                None => {}
            }
            if let Some(request) = self.conductor.cast.unsent(thread) {
                return Standing::Ready(request.line().into());
            }
            match self.conductor.next_of(thread) {
                Some(text) => Standing::Ready(text.into()),
                None => Standing::Waiting(self.conductor.waits_for(thread)),
            }
        };
        self.standings = (0..self.names.len()).map(standing).collect();
    }

    /// Lets a thread go on until it is at rest, telling it every answer that it gets on the way.
    fn go_on(&mut self, thread: usize, parts: &mut Vec<Part>) -> Result<(), Trouble> {
        self.conductor.running = Some(thread);
        loop {
            self.conductor.come_to_rest(thread)?;
            match self.conductor.answered_of(thread) {
                Some(id) => self.tell(thread, id, parts),
                None => break,
            }
        }
        self.part(thread, parts);
        if self.conductor.waits_for(thread).is_empty() {
            return Ok(());
        }
        self.note_wait(thread, parts);
        Ok(())
    }

    /// Tells a thread what it was answered, and takes note of it.
    fn tell(&mut self, thread: usize, id: SessionId, parts: &mut Vec<Part>) {
        // Whoever is under way may change what is found.
        let alone = self.conductor.flights(None).is_empty();
        let Conductor { lines, data, .. } = &mut self.conductor;
        let owners: Vec<(i32, usize)> =
            lines.values().filter_map(|line| Some((line.session.pid, line.owner?))).collect();
        let Some(line) = lines.get_mut(&id) else { return };
        let Some(answered) = line.answered.take() else { return };
        let single = answered.unit.spoken.len() == 1;
        let waited = std::mem::take(&mut line.waits);
        let reads = data.reads(&answered.notices);
        let asks = alone && single && line.ledger.is_clean() && !reads.is_told();
        let again = line.ledger.again().filter(|_| asks);
        if single {
            line.ledger.told(if waited { reads.after_waiting() } else { reads });
        }
        let mut touched = Vec::new();
        let writes = data.writes(&answered.notices);
        data.note_draws(thread, &writes);
        let was_open = line.ledger.is_open();
        line.enter(&answered, writes, &mut |_, what| touched.push(what));
        if !was_open && !line.ledger.is_open() && touched.iter().any(|what| !what.writes.is_empty()) {
            self.lone.insert((thread, normal::shown(&answered.unit.text())));
        }
        let wrapped = answered.wrapped;
        let apart = line.ledger.is_noticeable_alone();
        if let (Some(again), [touched]) = (again, &mut *touched) {
            data.ask_again(&again, touched);
        }
        let before = std::mem::take(&mut line.passed);
        let mut described = described(thread, &answered, touched, waited);
        if let (Some(error), Some(last)) = (error_of(&answered), described.last_mut()) {
            last.cycle =
                wait_cycle(error, |pid| owners.iter().find(|(known, _)| *known == pid).map(|(_, owner)| *owner));
        }
        if let Some(first) = described.first_mut() {
            first.before = before;
            // Who repeats the run needs it; the client has not said it.
            first.before.extend((wrapped && apart).then(|| "BEGIN".to_string()));
        }
        let lost = answered.lost;
        // Who is gone will be seen to be gone.
        let _ = line.session.deliver(answered);
        if lost {
            self.conductor.lines.remove(&id);
        }
        if wrapped {
            self.conductor.commit_at_once(id, apart);
        }
        self.conductor.told(id);
        let connection = self.connection(thread, id);
        parts.extend(described.into_iter().map(|part| Part { connection, ..part }));
    }

    /// The number of a connection among those of its thread.
    fn connection(&mut self, thread: usize, id: SessionId) -> Option<usize> {
        if !self.connections.contains(&(thread, id)) {
            self.connections.push((thread, id));
        }
        self.connections.iter().filter(|(owner, _)| *owner == thread).position(|(_, known)| *known == id)
    }

    /// What a thread gave up when it left, and that it begins anew.
    fn part(&mut self, thread: usize, parts: &mut Vec<Part>) {
        let partings = std::mem::take(&mut self.conductor.partings);
        for (owner, id, touched) in partings {
            let result = StepResult::Done { tag: "ROLLBACK".into() };
            let connection = self.connection(owner, id);
            let left = part(owner, StepKind::Statement, DISCONNECTS.into(), result, touched);
            parts.push(Part { connection, ..left });
        }
        let again = self.conductor.cast.take_again(thread);
        if let (Some(again), Some(last)) = (again, parts.iter_mut().rfind(|part| part.thread == thread)) {
            last.reactions.push(again);
        }
    }

    /// Takes note that a thread's statement waits.
    fn note_wait(&mut self, thread: usize, parts: &mut Vec<Part>) {
        let on = self.conductor.waits_for(thread).iter().map(|&other| self.names[other].clone()).collect::<Vec<_>>();
        let mut waiting = Vec::new();
        for (id, line) in &mut self.conductor.lines {
            let Some(unit) = line.session.flying().filter(|_| line.owner == Some(thread) && !line.waits) else {
                continue;
            };
            let statement = normal::shown(&unit.text());
            line.waits = true;
            let result = StepResult::Waits { on: on.clone() };
            let before = std::mem::take(&mut line.passed);
            let waits = part(thread, StepKind::Statement, statement, result, line.ledger.waits());
            waiting.push((*id, Part { before, ..waits }));
        }
        for (id, part) in waiting {
            let connection = self.connection(thread, id);
            parts.push(Part { connection, ..part });
        }
    }
}

impl Stage for AppStage {
    fn runs(&self) -> Runs {
        Runs::Programs
    }

    fn threads(&self) -> &[String] {
        &self.names
    }

    fn retries(&self, thread: usize) -> u32 {
        self.conductor.cast.retries(thread)
    }

    fn expected(&self, _: usize) -> &[SqlState] {
        &[]
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        self.clear()?;
        self.reset_data()?;
        self.connections.clear();
        self.conductor.lines.values_mut().for_each(|line| line.passed.clear());
        self.conductor.free = false;
        let commands: Vec<usize> = (0..self.names.len()).filter(|&t| self.conductor.cast.is_command(t)).collect();
        commands.iter().try_for_each(|&thread| self.conductor.cast.begin(thread))?;
        commands.iter().try_for_each(|&thread| self.conductor.come_to_rest(thread))?;
        self.conductor.partings.clear();
        self.committed = vec![false; self.names.len()];
        self.take_standings();
        Ok(())
    }

    fn standing(&self, thread: usize) -> &Standing {
        &self.standings[thread]
    }

    fn step(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        self.conductor.catch_up()?;
        let mut parts = Vec::new();
        let request = self.conductor.cast.unsent(thread).cloned();
        if request.is_some() {
            self.conductor.running = Some(thread);
            self.conductor.cast.begin(thread)?;
            self.conductor.come_to_rest(thread)?;
        }
        if !self.conductor.cast.has_ended(thread) {
            self.conductor.release(thread)?;
            self.go_on(thread, &mut parts)?;
        }
        if let Some(request) = request {
            let line = request.line();
            match parts.first_mut() {
                Some(first) => first.notes.insert(0, line),
                None => parts.push(part(
                    thread,
                    StepKind::Statement,
                    line,
                    StepResult::Done { tag: String::new() },
                    Touched::default(),
                )),
            }
        }
        loop {
            self.conductor.settle()?;
            let Some((woken, id)) = self.conductor.next_answered() else { break };
            self.tell(woken, id, &mut parts);
            self.go_on(woken, &mut parts)?;
        }
        self.conductor.running = None;
        for part in &parts {
            self.committed[part.thread] |= part.touched.publishes();
        }
        self.take_standings();
        self.tell_ends(&mut parts);
        Ok(parts)
    }

    fn release(&mut self) {
        self.conductor.release_patience();
    }

    fn ask(&mut self, query: &str) -> Result<Response, Trouble> {
        let responses = self.conductor.data.control()?.query(query)?;
        Ok(responses.into_iter().next_back().unwrap_or(Response::Done { tag: String::new() }))
    }

    fn outcome(&mut self, limits: &[usize]) -> Result<Outcome, Trouble> {
        let shown = |(thread, limit): (usize, &usize)| match limit {
            0 => Vec::new(),
            _ => self.conductor.cast.shown(thread),
        };
        let shown: Vec<Vec<String>> = limits.iter().enumerate().map(shown).collect();
        for (thread, lines) in shown.iter().enumerate().filter(|(thread, _)| self.committed[*thread]) {
            self.shown_after_writing[thread].insert(lines.clone());
        }
        self.conductor.data.outcome(shown)
    }

    // What a program shows is what it used.
    fn effects(&mut self, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        self.outcome(limits).map(Some)
    }

    // It is known to write because it did, in a serial order at the latest, and it does not show what it shows then.
    fn gave_up(&self, thread: usize) -> bool {
        let shown = &self.shown_after_writing[thread];
        let done = matches!(self.standings[thread], Standing::Ended(Ending::Done));
        done && !self.committed[thread] && !shown.is_empty() && !shown.contains(&self.conductor.cast.shown(thread))
    }

    fn catalog(&self) -> &Catalog {
        self.conductor.analyst().catalog()
    }
}

impl AppStage {
    /// Adds to the last part of each thread that has ended what its user got to see.
    fn tell_ends(&self, parts: &mut [Part]) {
        for thread in 0..self.names.len() {
            let Some(last) = parts.iter_mut().rfind(|part| part.thread == thread) else { continue };
            if self.conductor.cast.has_ended(thread) {
                let shown = self.conductor.cast.shown(thread);
                last.notes.push(format!("{} ends: {}", self.names[thread], shown.join(" | ")));
            }
        }
    }
}

/// Why SQL of the file cannot be executed: a mistake in it, or something around it.
fn refused(what: &str, error: std::io::Error) -> Trouble {
    match Trouble::from(error) {
        Trouble::Server(sentence) => Trouble::Usage(format!("{what}: {sentence}")),
        trouble => trouble,
    }
}

/// As it is written in `options`, where a space ends a word.
fn option(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read\\ committed",
        Isolation::RepeatableRead => "repeatable\\ read",
        Isolation::Serializable => "serializable",
    }
}

fn part(thread: usize, kind: StepKind, statement: String, result: StepResult, touched: Touched) -> Part {
    let (connection, before, place, notes) = (None, Vec::new(), None, Vec::new());
    let (reactions, cycle) = (Vec::new(), Vec::new());
    let verb = match statement.as_str() {
        DISCONNECTS => Verb::Rollback,
        text => Facts::of_text(text).verb,
    };
    Part { thread, connection, before, kind, statement, verb, place, result, reactions, cycle, notes, touched }
}

/// What was answered, statement by statement.
fn described(thread: usize, answered: &Answered, touched: Vec<Touched>, waited: bool) -> Vec<Part> {
    let is_victim = error_of(answered).is_some_and(|error| error.sqlstate == DEADLOCK);
    let kind = match waited {
        _ if is_victim => StepKind::Victim,
        false if answered.unit.implicit => StepKind::Commit,
        true => StepKind::Resume,
        false => StepKind::Statement,
    };
    let spoken = &answered.unit.spoken;
    let mut parts = Vec::new();
    for (at, touched) in touched.into_iter().enumerate() {
        // Of a string of several statements the last answer is shown, which is the error if there is one.
        let response = if spoken.len() == 1 { answered.responses.last() } else { answered.responses.get(at) };
        let text = spoken.get(at).map_or_else(|| "COMMIT".to_string(), |spoken| spoken.inlined());
        let mut part = part(thread, kind, normal::shown(&text), result(response), touched);
        part.notes.extend(normal::source(&text));
        parts.push(part);
    }
    if let Some(first) = parts.first_mut() {
        let ours = |notice: &Complaint| effects::strip(notice).is_some() || reads::is_told(notice);
        let said = answered.notices.iter().filter(|notice| !ours(notice));
        let notices = said.map(|notice| format!("{}: {}", notice.severity, notice.message));
        first.notes.extend(notices);
    }
    parts
}

fn result(response: Option<&Response>) -> StepResult {
    match response {
        Some(Response::Rows { columns, rows, .. }) => StepResult::Rows { columns: columns.clone(), rows: rows.clone() },
        Some(Response::Done { tag }) => StepResult::Done { tag: tag.clone() },
        Some(Response::Error(error)) => {
            StepResult::Error { code: error.sqlstate.clone(), message: error.message.clone() }
        }
        None => StepResult::Done { tag: String::new() },
    }
}
