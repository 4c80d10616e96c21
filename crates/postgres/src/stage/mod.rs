//! A scenario on a server.
//!
//! Each thread has a session and a client behind it. A step sends what the client sends next, then lets everybody
//! react until all are at rest: answers are taken in, what they wake goes on, a client that failed rolls back, and
//! statements that nobody can notice are sent at once (`SET`) or with the next one (`BEGIN`). So between steps each
//! client is at a statement that others may notice, as on the embedded engine, and a schedule means the same on both.
//!
//! A routine that passes gates takes a step per statement. It is called inside of `BEGIN` where the thread has
//! no transaction, so that its commit is a step of its own.

mod client;
mod mask;
mod net;
mod observe;
mod react;
mod script;
mod setup;
mod told;
pub mod witness;

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use isolde_report::{Place, StepKind, StepResult};
use isolde_scenario::file::Sources;
use isolde_scenario::{Generated, Outcome, Runs, Uses};
use isolde_sql::ast::Isolation;
use isolde_sql::catalog::Catalog;
use isolde_sql::{Span, SqlState};
use isolde_wire::Response;

use crate::Expected::{self, Answer, Unknown, Wait};
use crate::analysis::{Analyst, Ledger};
use crate::catalog::Known;
use crate::effects::Rows;
use crate::gate::{ALERTS, GATES, Gates};
use crate::live::{Ending, Part, Stage, Standing};
use crate::reads::{self, Module};
use crate::{Blocker, Home, Restore, Sessions, Trouble, Version};
use client::{Client, Doing, Observation};
use mask::Masks;
use net::Net;
use observe::Observed;
use script::{Script, Variables};

pub(crate) use mask::MASKED;
pub use setup::{CLOCK_CANNOT_BE_SET, StageError, checks, settings};

/// Steps that are looked at to find out what differs from run to run: threads may have no end.
const MASK_STEPS: usize = 500;

/// The threads of a scenario on a server. Its database is gone with it.
#[derive(Debug)]
pub struct ScenarioStage {
    names: Vec<String>,
    sources: Sources,
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
    /// Sessions say what they read.
    tells_reads: bool,
    warnings: Vec<String>,
    masks: Masks,
    /// Situations that have been, and whether the thread had to wait.
    waited: BTreeMap<u64, Expected>,
    /// Of each thread, which of its answers can matter, if that is known.
    uses: Option<Vec<Arc<Uses>>>,
    /// A step is a whole transaction.
    atomic: bool,
    /// A lone statement and its commit are one step.
    whole: bool,
    /// What statements have found is asked for.
    asks: bool,
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
    module: Module,
    /// Neither definitions nor settings change, so statements can be kept prepared.
    prepares: bool,
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
        let reads = reads::described(self.tells_reads);
        format!(
            "PostgreSQL {}; {}{deadlocks}{reads}{}",
            self.home.version().text,
            self.restore.describe(),
            self.home.describe()
        )
    }

    /// Finds out what differs from run to run.
    fn find_masks(&mut self) -> Result<(), Trouble> {
        let (one, other) = (self.run_serially()?, self.run_serially()?);
        self.masks = Masks::between(&one, &other);
        let sources = &self.sources;
        self.warnings.extend(self.masks.describe(&self.known.catalog, |span| sources.place(span).1));
        self.put_back()?;
        self.restore.finish(self.sessions.control())?;
        self.fresh = true;
        Ok(())
    }

    /// What was observed of the run so far; with `uses`, as far as it can matter.
    fn observed<'s>(&'s self, uses: Option<&'s [Arc<Uses>]>) -> Observed<'s> {
        let (generated, catalog) = (&self.generated, &self.known.catalog);
        Observed { generated, catalog, clients: &self.clients, net: &self.net, masks: &self.masks, uses }
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
        let seen = self.clients.iter().map(|client| client.progress.seen.clone());
        Ok((seen.collect(), self.net.clone()))
    }

    /// All sessions idle, the data as set up as soon as that is [finished](Restore::finish).
    fn put_back(&mut self) -> Result<(), Trouble> {
        if std::mem::take(&mut self.fresh) {
            return Ok(());
        }
        if !self.restore.undoes() {
            self.home.return_to_copy()?;
            (self.sessions, self.tells_reads) = self.opened.sessions(&self.home, false)?;
            self.passed.fill(None);
            self.alerted.fill(false);
            return Ok(());
        }
        for late in self.sessions.calm()? {
            self.note(late);
        }
        self.close_gates()?;
        if self.opened.keeps {
            self.sessions.discard()?;
        }
        self.restore.begin(self.sessions.control())
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

    /// Who is about to do something, and what everybody has done. What waited in this situation will wait in it again,
    /// nearly always.
    fn situation(&self, thread: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        thread.hash(&mut hasher);
        for (at, client) in self.clients.iter().enumerate() {
            let open = client.ledger.is_open();
            (client.progress.next, client.passed, open, self.sessions.is_idle(at)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether nobody else has anything that a thread could wait for.
    fn is_alone(&self, thread: usize) -> bool {
        let others = self.clients.iter().enumerate().filter(|(other, _)| *other != thread);
        others
            .into_iter()
            .all(|(other, client)| self.sessions.is_idle(other) && !client.ledger.is_open() && !client.ledger.keeps())
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
    fn runs(&self) -> Runs {
        Runs::Scenario
    }

    fn threads(&self) -> &[String] {
        &self.names
    }

    fn retries(&self, thread: usize) -> u32 {
        self.scripts[thread].retries
    }

    fn expected(&self, thread: usize) -> &[SqlState] {
        &self.scripts[thread].expected
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        self.put_back()?;
        if self.restore.rewrites() {
            self.restore.finish(self.sessions.control())?;
        }
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
        self.restore.finish(self.sessions.control())?;
        self.react(&mut done)?;
        self.look();
        Ok(())
    }

    fn release(&mut self) {
        self.sessions.control().patience().release();
    }

    fn standing(&self, thread: usize) -> &Standing {
        &self.standings[thread]
    }

    fn step(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        let mut done = Vec::new();
        let over = self.clients[thread].ledger.over();
        let situation = self.situation(thread);
        let known = self.waited.get(&situation);
        self.sessions.expect(thread, known.copied().unwrap_or(if self.is_alone(thread) { Answer } else { Unknown }));
        self.begin(thread, &mut done)?;
        self.react(&mut done)?;
        while self.atomic && self.clients[thread].ledger.over() == over && self.is_amid(thread) {
            self.begin(thread, &mut done)?;
            self.react(&mut done)?;
        }
        for other in 0..self.clients.len() {
            done.extend(self.wait(other));
        }
        let waits = matches!(self.standing_of(thread), Standing::Waiting(_));
        self.waited.insert(situation, if waits { Wait } else { Answer });
        // Its own part first; which of the others was first to be heard means nothing.
        done.sort_by_key(|part| (part.thread != thread, part.thread));
        self.look();
        Ok(done)
    }

    fn step_again(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        self.asks = false;
        let done = self.step(thread);
        self.asks = true;
        done
    }

    fn ask(&mut self, query: &str) -> Result<Response, Trouble> {
        let responses = self.sessions.control().query(query)?;
        Ok(responses.into_iter().next_back().unwrap_or(Response::Done { tag: String::new() }))
    }

    fn statements_done(&self, thread: usize) -> usize {
        let client = &self.clients[thread];
        // The statement that called a routine has been answered, but is not done before its COMMIT.
        client.progress.next - usize::from(client.doing == Doing::Committing)
    }

    fn leave(&mut self, thread: usize) -> Result<Vec<Part>, Trouble> {
        let mut done = Vec::new();
        self.end(thread, &mut done)?;
        self.react(&mut done)?;
        self.look();
        Ok(done)
    }

    fn outcome(&mut self, limits: &[usize]) -> Result<Outcome, Trouble> {
        Ok(self.observed(None).outcome(limits))
    }

    fn effects(&mut self, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        Ok(self.uses.as_ref().map(|uses| self.observed(Some(uses)).outcome(limits)))
    }

    fn gave_up(&self, thread: usize) -> bool {
        let client = &self.clients[thread];
        let failed = match &client.doing {
            Doing::Ended(Ending::Done) => None,
            Doing::Ended(Ending::Failed(error)) => Some(error.state),
            _ => return false,
        };
        client.published.is_empty() && self.uses.as_ref().is_some_and(|uses| uses[thread].gives_up(failed))
    }

    fn place(&self, span: Span) -> Option<Place> {
        let (file, line) = self.sources.place(span);
        Some(Place { file: file.map(String::from), line })
    }

    fn catalog(&self) -> &Catalog {
        &self.known.catalog
    }
}
