//! Sending steps, and what is reported when.
//!
//! A step that waits for a lock is reported as waiting and stays on a list; the list is looked through after every
//! step, in the order in which the waits began. Only when a step is to be sent to a session that is still busy, and at
//! the end, is a step waited for; then time passes.
//!
//! ```text
//!   for each step: is its session busy?  wait for it, then look through the list
//!                  send it;              done: report it. waits: report that, put it on the list
//!                  look through the list
//!   at the end:    wait for everybody on the list
//! ```

use std::fmt::Write;
use std::ops::ControlFlow;

use isolde_sql::{Diagnostic, SqlState};

use super::connections::{Answer, CONTROL, Connections, Message, Notice};
use super::engine::Embedded;
use super::{Blocker, PermutationStep, Spec, Sql, print};
use crate::ScenarioError;

/// What came of running a spec.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What isolationtester would have printed, on standard output and standard error.
    pub output: String,
    /// Permutations that were run.
    pub permutations: u64,
    /// Why isolationtester would have given up before the end, if it would have. The output ends with it.
    pub gave_up: Option<String>,
    /// The caller asked to stop before the end.
    pub interrupted: bool,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Permutations run.
    pub done: u64,
    /// Permutations in all.
    pub total: u64,
}

/// How long a step may wait, in microseconds, before the tester cancels it.
const PATIENCE: i64 = 300 * 1_000_000;

/// Runs every permutation. A mistake in the file, or SQL that the engine does not support, is an error.
pub fn run(spec: &Spec, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Run, ScenarioError> {
    run_on(&mut Embedded::open(spec), spec, progress)
}

/// The same on connections to whatever database.
pub fn run_on<'a>(
    connections: &mut dyn Connections<'a>,
    spec: &'a Spec,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Run, ScenarioError> {
    spec.check_count()?;
    let mut runner = Runner::new(spec, connections);
    runner.name_sessions()?;
    runner.unused_steps();
    let _ = writeln!(runner.out, "Parsed test spec with {} sessions", spec.sessions.len());
    let total = spec.permutation_count() as u64;
    let mut run = Run::default();
    let ended = spec.each_permutation(&mut |permutation| {
        runner.permutation(permutation)?;
        run.permutations += 1;
        match progress(Progress { done: run.permutations, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Interrupted),
        }
    });
    match ended {
        Ok(()) => {}
        Err(Stop::Mistake(error)) => return Err(*error),
        Err(Stop::Interrupted) => run.interrupted = true,
        Err(Stop::GaveUp(why)) => {
            runner.out += &why;
            run.gave_up = Some(why.trim_end().to_string());
        }
    }
    run.output = runner.out;
    Ok(run)
}

/// Why a run ends early.
enum Stop {
    Mistake(Box<ScenarioError>),
    GaveUp(String),
    Interrupted,
}

impl From<ScenarioError> for Stop {
    fn from(error: ScenarioError) -> Stop {
        Stop::Mistake(Box::new(error))
    }
}

/// Whether a step may be left waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// It is waited for, unless a blocker holds it.
    Wait,
    /// If it waits for a lock, it does.
    Look,
}

/// Whether a step has been reported before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    First,
    Again,
}

struct Runner<'a, 'c> {
    spec: &'a Spec,
    connections: &'c mut dyn Connections<'a>,
    out: String,
    /// Per session, the step that it is busy with, as a position in the permutation.
    active: Vec<Option<usize>>,
    /// Per session, notices received.
    notices: Vec<u64>,
    /// A notice has come since this was last looked at.
    new_notice: bool,
}

/// A permutation on its way.
struct Running<'p> {
    steps: &'p [PermutationStep],
    /// For each step and blocker that counts notices: how many must have come.
    targets: Vec<Vec<u64>>,
    /// Steps that wait, in the order in which they began.
    waiting: Vec<usize>,
}

impl<'a, 'c> Runner<'a, 'c> {
    fn new(spec: &'a Spec, connections: &'c mut dyn Connections<'a>) -> Runner<'a, 'c> {
        Runner {
            spec,
            connections,
            out: String::new(),
            active: vec![None; spec.sessions.len()],
            notices: vec![0; spec.sessions.len()],
            new_notice: false,
        }
    }

    /// As pg_isolation_regress and isolationtester do.
    fn name_sessions(&mut self) -> Result<(), ScenarioError> {
        for (i, session) in self.spec.sessions.iter().enumerate() {
            let name = format!("isolation/{}/{}", self.spec.name(), session.name);
            self.connections.set_application_name(i + 1, &name)?;
        }
        Ok(())
    }

    fn unused_steps(&mut self) {
        if self.spec.permutations.is_empty() {
            return;
        }
        let used = |i: usize| self.spec.permutations.iter().flatten().any(|p| p.step == i);
        let steps = self.spec.steps.iter().enumerate();
        let mut unused: Vec<&str> = steps.filter(|(i, _)| !used(*i)).map(|(_, step)| step.name.as_str()).collect();
        unused.sort_unstable();
        for name in unused {
            let _ = writeln!(self.out, "unused step name: {name}");
        }
    }

    fn permutation(&mut self, steps: &[PermutationStep]) -> Result<(), Stop> {
        self.out += "\nstarting permutation:";
        for step in steps {
            self.out.push(' ');
            self.out += &self.spec.steps[step.step].name;
        }
        self.out.push('\n');
        self.set_up()?;
        let mut running = Running { steps, targets: vec![Vec::new(); steps.len()], waiting: Vec::new() };
        for at in 0..steps.len() {
            self.make_free(&mut running, at)?;
            self.launch(&mut running, at)?;
            let waits = self.try_complete(&running, at, Patience::Look, Seen::First)?;
            self.try_all(&mut running, Patience::Look)?;
            if waits {
                running.waiting.push(at);
            }
        }
        self.try_all(&mut running, Patience::Wait)?;
        if !running.waiting.is_empty() {
            return Err(Stop::GaveUp("failed to complete permutation due to mutually-blocking steps\n".into()));
        }
        self.tear_down()
    }

    /// Runs the set-up blocks, or goes to where they led before.
    fn set_up(&mut self) -> Result<(), Stop> {
        if let Some(printed) = self.connections.start() {
            self.out += &printed;
            return Ok(());
        }
        let printed = self.out.len();
        for sql in &self.spec.setups {
            let (_, reply) = self.connections.exec(CONTROL, self.spec.block(sql))?;
            self.set_up_done(sql, reply)?;
        }
        for (i, session) in self.spec.sessions.iter().enumerate() {
            if let Some(sql) = &session.setup {
                let (notices, reply) = self.connections.exec(i + 1, self.spec.block(sql))?;
                notices.iter().for_each(|notice| self.show_notice(i, notice));
                self.set_up_done(sql, reply)?;
            }
        }
        self.connections.started(&self.out[printed..]);
        Ok(())
    }

    /// A set-up that fails is the end.
    fn set_up_done(&mut self, sql: &Sql, answer: Option<Answer>) -> Result<(), Stop> {
        match answer {
            Some(Answer::Table { columns, rows }) => print::table(&columns, &rows, &mut self.out),
            Some(Answer::Error { code, message }) => {
                let state = SqlState::parse(&code).unwrap_or(SqlState::INTERNAL_ERROR);
                let message = format!("setup failed: ERROR:  {message}");
                return Err(self.spec.mistake(Diagnostic::new(self.spec.block(sql).span, state, message)).into());
            }
            None => {}
        }
        Ok(())
    }

    fn tear_down(&mut self) -> Result<(), Stop> {
        for (i, session) in self.spec.sessions.iter().enumerate() {
            if let Some(sql) = &session.teardown {
                let (notices, reply) = self.connections.exec(i + 1, self.spec.block(sql))?;
                notices.iter().for_each(|notice| self.show_notice(i, notice));
                self.tear_down_done(&format!("teardown of session {}", session.name), reply);
            }
        }
        if let Some(sql) = &self.spec.teardown {
            let (_, reply) = self.connections.exec(CONTROL, self.spec.block(sql))?;
            self.tear_down_done("teardown", reply);
        }
        Ok(())
    }

    fn tear_down_done(&mut self, what: &str, answer: Option<Answer>) {
        match answer {
            Some(Answer::Table { columns, rows }) => print::table(&columns, &rows, &mut self.out),
            Some(Answer::Error { message, .. }) => drop(writeln!(self.out, "{what} failed: ERROR:  {message}")),
            None => {}
        }
    }

    /// Waits until the session of a step is free.
    fn make_free(&mut self, running: &mut Running<'_>, at: usize) -> Result<(), Stop> {
        let session = self.session_of(running, at);
        while let Some(old) = self.active[session] {
            let before = self.out.len();
            if !self.try_complete(running, old, Patience::Wait, Seen::Again)? {
                running.waiting.retain(|w| *w != old);
            }
            self.try_all(running, Patience::Look)?;
            if self.active[session].is_some() && self.out.len() == before {
                return Err(self.timed_out(running, old));
            }
        }
        Ok(())
    }

    fn timed_out(&self, running: &Running<'_>, at: usize) -> Stop {
        let name = |at: usize| &self.spec.steps[running.steps[at].step].name;
        let seconds = 2 * PATIENCE / 1_000_000;
        let mut why = format!("step {} timed out after {seconds} seconds\nactive steps are:", name(at));
        for active in self.active.iter().flatten() {
            why.push(' ');
            why += name(*active);
        }
        why.push('\n');
        Stop::GaveUp(why)
    }

    fn launch(&mut self, running: &mut Running<'_>, at: usize) -> Result<(), Stop> {
        let session = self.session_of(running, at);
        let step = &self.spec.steps[running.steps[at].step];
        self.connections.send(session + 1, self.spec.block(&step.sql))?;
        self.active[session] = Some(at);
        let target = |blocker: &Blocker| match blocker {
            Blocker::Notices(step, count) => count.saturating_add(self.notices[self.spec.steps[*step].session]),
            Blocker::Once | Blocker::Step(_) => 0,
        };
        running.targets[at] = running.steps[at].blockers.iter().map(target).collect();
        Ok(())
    }

    /// Looks through the steps that wait, again and again as long as one may have released another.
    fn try_all(&mut self, running: &mut Running<'_>, patience: Patience) -> Result<(), Stop> {
        loop {
            self.new_notice = false;
            let before = running.waiting.len();
            let mut held = false;
            let mut place = 0;
            while let Some(&at) = running.waiting.get(place) {
                if self.try_complete(running, at, patience, Seen::Again)? {
                    held |= !running.steps[at].blockers.is_empty();
                    place += 1;
                } else {
                    running.waiting.remove(place);
                }
            }
            if !held || (running.waiting.len() == before && !self.new_notice) {
                return Ok(());
            }
        }
    }

    /// Reports a step if it is done. Is it still waiting?
    fn try_complete(&mut self, running: &Running<'_>, at: usize, patience: Patience, seen: Seen) -> Result<bool, Stop> {
        let (session, step) = (self.session_of(running, at), &running.steps[at]);
        let once = step.blockers.iter().any(|blocker| matches!(blocker, Blocker::Once));
        if seen == Seen::First && once {
            self.report_waiting(running, at, seen);
            return Ok(true);
        }
        let started = self.connections.clock();
        let mut canceled = false;
        loop {
            self.connections.settle()?;
            for notice in self.connections.take_early_notices(session + 1) {
                self.show_notice(session, &notice);
            }
            if self.connections.is_done(session + 1) {
                break;
            }
            if patience == Patience::Look && self.connections.is_blocked(session + 1)? {
                self.report_waiting(running, at, seen);
                return Ok(true);
            }
            if self.connections.wait(started.saturating_add(PATIENCE))? {
                continue;
            }
            if canceled {
                return Err(self.timed_out(running, at));
            }
            let name = &self.spec.steps[step.step].name;
            let seconds = PATIENCE / 1_000_000;
            let _ = writeln!(self.out, "isolationtester: canceling step {name} after {seconds} seconds");
            self.connections.cancel(session + 1)?;
            canceled = true;
        }
        if self.is_held(running, at) {
            self.report_waiting(running, at, seen);
            return Ok(true);
        }
        self.report_done(running, at, seen);
        self.active[session] = None;
        Ok(false)
    }

    /// Whether a blocker keeps a step from being reported.
    fn is_held(&self, running: &Running<'_>, at: usize) -> bool {
        let blockers = running.steps[at].blockers.iter().zip(&running.targets[at]);
        blockers.into_iter().any(|(blocker, target)| match blocker {
            Blocker::Once => false,
            Blocker::Step(step) => {
                let active = self.active[self.spec.steps[*step].session];
                active.is_some_and(|active| running.steps[active].step == *step)
            }
            Blocker::Notices(step, _) => self.notices[self.spec.steps[*step].session] < *target,
        })
    }

    fn report_waiting(&mut self, running: &Running<'_>, at: usize, seen: Seen) {
        if seen == Seen::First {
            let step = &self.spec.steps[running.steps[at].step];
            let _ = writeln!(self.out, "step {}: {} <waiting ...>", step.name, self.spec.sql(&step.sql));
        }
    }

    fn report_done(&mut self, running: &Running<'_>, at: usize, seen: Seen) {
        let step = &self.spec.steps[running.steps[at].step];
        let _ = match seen {
            Seen::First => writeln!(self.out, "step {}: {}", step.name, self.spec.sql(&step.sql)),
            Seen::Again => writeln!(self.out, "step {}: <... completed>", step.name),
        };
        let mut messages = std::mem::take(self.connections.messages(step.session + 1)).into_iter().peekable();
        while let Some(message) = messages.next() {
            // Notices right behind an answer are shown before it.
            let answer = matches!(message, Message::Answer(_));
            while let Some(Message::Notice(notice)) =
                messages.next_if(|next| answer && matches!(next, Message::Notice(_)))
            {
                self.show_notice(step.session, &notice);
            }
            match message {
                Message::Notice(notice) => self.show_notice(step.session, &notice),
                Message::Columns => {}
                Message::Answer(Answer::Table { columns, rows }) => print::table(&columns, &rows, &mut self.out),
                Message::Answer(Answer::Error { message, .. }) => drop(writeln!(self.out, "ERROR:  {message}")),
            }
        }
        let name = &self.spec.sessions[step.session].name;
        for said in self.connections.take_notifications(step.session + 1) {
            let sender = said.from.map_or("PID 0", |i| &self.spec.sessions[i].name);
            let (channel, payload) = (&said.channel, &said.payload);
            let _ = writeln!(self.out, "{name}: NOTIFY \"{channel}\" with payload \"{payload}\" from {sender}");
        }
    }

    fn show_notice(&mut self, session: usize, notice: &Notice) {
        let (name, Notice { level, message }) = (&self.spec.sessions[session].name, notice);
        let _ = writeln!(self.out, "{name}: {level}:  {message}");
        self.notices[session] += 1;
        self.new_notice = true;
    }

    fn session_of(&self, running: &Running<'_>, at: usize) -> usize {
        self.spec.steps[running.steps[at].step].session
    }
}
