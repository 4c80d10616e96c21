//! The conductor: hears everything that happens, lets one thread go at a time, and knows when everybody is at rest.
//!
//! A thread is at rest when it is held at a statement, when its statement surely waits for another one's, or when it
//! has ended and its connections are gone. Between a statement's answer and the next statement an application does what
//! it does, and nobody knows how long; so that is waited for, up to the file's time limit, and then the thread is
//! stuck.
//!
//! That a statement *waits* is asked of the server (`pg_blocking_pids`) when it has not answered for a moment. It
//! counts once it has lasted longer than the server's `deadlock_timeout`, if that can be made short: then who closes a
//! wait cycle is always its victim, and the same schedule gives the same run. On a busy machine a server's process may
//! not have come to look by then: how long an answer to the question takes says how busy it is, and a wait must last
//! several times that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use isolde_engine::footprint::Write;
use isolde_sql::ast::Isolation;
use isolde_sql::facts::{Facts, SettingKind};
use isolde_wire::{Complaint, Patience, TransactionStatus};
use regex_automata::meta::Regex;

use super::cast::Cast;
use super::data::Data;
use super::http::Reply;
use super::normal;
use super::process::Exited;
use crate::Trouble;
use crate::analysis::{Analyst, Ledger};
use crate::live::Touched;
use crate::proxy::{self, Answered, Frame, Session, SessionId};

/// Whatever can happen.
#[derive(Debug)]
pub(super) enum Event {
    /// A client or a server has said something.
    Wire(proxy::Event),
    /// A process has ended.
    Exited(Exited),
    /// A request was answered, or could not be sent.
    Replied(u64, std::io::Result<Reply>),
}

impl From<proxy::Event> for Event {
    fn from(event: proxy::Event) -> Event {
        Event::Wire(event)
    }
}

impl From<Exited> for Event {
    fn from(exited: Exited) -> Event {
        Event::Exited(exited)
    }
}

/// Hears and directs.
pub(super) struct Conductor {
    pub(super) data: Data,
    pub(super) cast: Cast,
    pub(super) lines: BTreeMap<SessionId, Line>,
    events: Receiver<Event>,
    /// The thread that runs; what is said on a connection that nobody holds is its.
    pub(super) running: Option<usize>,
    /// Everything is let through at once.
    pub(super) free: bool,
    /// What servers say by themselves, as it is recognised: it was said while nobody ran.
    pub(super) background: BTreeSet<String>,
    /// Nobody runs, so whatever is said is that.
    pub(super) learning: bool,
    /// What threads had open when they left without a word.
    pub(super) partings: Vec<(usize, SessionId, Touched)>,
    analyst: Arc<Analyst>,
    level: Isolation,
    masks: Vec<Regex>,
    pub(super) time_limit: Duration,
    /// How long a wait must last to count on a machine that is not busy; zero if it need not last.
    wait_counts_after: Duration,
    /// How long the last answers took that the server gave to a simple question, the longest of them for most.
    answer_takes: Duration,
    /// Who ends it from outside.
    patience: Patience,
}

/// A connection, and whose it is.
pub(super) struct Line {
    pub(super) session: Session,
    pub(super) ledger: Ledger,
    /// The thread it speaks for; nobody's is let through.
    pub(super) owner: Option<usize>,
    /// It came by a thread's own door.
    is_own: bool,
    /// The answer to what it was let go with, not told yet.
    pub(super) answered: Option<Answered>,
    /// It was said that its statement waits.
    pub(super) waits: bool,
    /// What has passed about its transaction since it was last held.
    pub(super) passed: Vec<String>,
    blocked_by: Vec<i32>,
    blocked_since: Option<Instant>,
    /// The client is gone, and the server has been told.
    leaving: bool,
    /// The server has closed the connection, after an answer that has not been told yet.
    is_closed: bool,
    /// What its transaction has done is not known: the next statement may touch anything.
    is_doubtful: bool,
}

/// How everything is timed.
pub(super) struct Timing {
    pub(super) limit: Duration,
    pub(super) wait_counts_after: Duration,
}

/// Between two looks at who waits for whom.
const GLANCE: Duration = Duration::from_millis(2);
/// A thread that says several things at once has said all of them after so long.
const PARALLEL_SETTLE: Duration = Duration::from_millis(20);

impl Conductor {
    pub(super) fn new(
        data: Data,
        cast: Cast,
        events: Receiver<Event>,
        timing: &Timing,
        masks: Vec<Regex>,
        patience: Patience,
    ) -> Conductor {
        Conductor {
            data,
            cast,
            lines: BTreeMap::new(),
            events,
            running: None,
            free: true,
            background: BTreeSet::new(),
            learning: false,
            partings: Vec::new(),
            analyst: Arc::default(),
            level: Isolation::ReadCommitted,
            masks,
            time_limit: timing.limit,
            wait_counts_after: timing.wait_counts_after,
            answer_takes: Duration::ZERO,
            patience,
        }
    }

    /// From now on statements are analysed so, and transactions have this level unless they say otherwise.
    pub(super) fn understand(&mut self, analyst: Arc<Analyst>, level: Isolation) {
        for line in self.lines.values_mut() {
            line.ledger = Ledger::new(analyst.clone(), level);
        }
        (self.analyst, self.level) = (analyst, level);
    }

    /// The tables, as far as they are known.
    pub(super) fn analyst(&self) -> &Arc<Analyst> {
        &self.analyst
    }

    /// The end of the time does not end it any more.
    pub(super) fn release_patience(&self) {
        self.patience.release();
    }

    /// Waits for something to happen, and takes it in; whether something did.
    pub(super) fn listen(&mut self, patience: Duration) -> Result<bool, Trouble> {
        self.patience.check()?;
        match self.events.recv_timeout(patience) {
            Ok(event) => self.take(event).map(|()| true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(Trouble::Server("nobody is left to listen to".into())),
        }
    }

    /// Takes in everything that has happened already.
    pub(super) fn catch_up(&mut self) -> Result<(), Trouble> {
        while self.listen(Duration::ZERO)? {}
        Ok(())
    }

    /// Waits until something is true; whether it became so in time.
    pub(super) fn wait_until(
        &mut self,
        limit: Duration,
        mut is_true: impl FnMut(&mut Conductor) -> Result<bool, Trouble>,
    ) -> Result<bool, Trouble> {
        const PATIENCE: Duration = Duration::from_millis(20);
        let deadline = Instant::now() + limit;
        loop {
            if is_true(self)? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.listen(PATIENCE)?;
        }
    }

    fn take(&mut self, event: Event) -> Result<(), Trouble> {
        match event {
            Event::Wire(proxy::Event::Opened(opened)) => {
                let owner = self.cast.behind_door(opened.port);
                let line = Line::new(Session::new(opened), owner, Ledger::new(self.analyst.clone(), self.level));
                self.lines.insert(line.session.id, line);
            }
            Event::Wire(proxy::Event::Refused { reason, fault, .. }) => {
                self.cast.note_refusal(reason, fault);
                return self.cast.fault();
            }
            Event::Wire(proxy::Event::FromClient(id, frames)) => self.hear_client(id, frames),
            Event::Wire(proxy::Event::FromServer(id, frames)) => {
                self.hear_server(id, frames);
                return self.cast.fault();
            }
            Event::Wire(proxy::Event::ClientGone(id)) => self.client_gone(id),
            Event::Wire(proxy::Event::ServerGone(id)) => {
                self.note_loss(id);
                self.server_gone(id);
                return self.cast.fault();
            }
            Event::Exited(exited) => return self.cast.exited(&exited),
            Event::Replied(job, reply) => return self.cast.replied(job, reply),
        }
        Ok(())
    }

    fn hear_client(&mut self, id: SessionId, frames: Vec<Frame>) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let is_taken = line.is_own || line.session.is_busy() || line.answered.is_some();
        // Who is gone will be seen to be gone.
        let _ = line.session.hear_client(frames);
        if !is_taken {
            let text = line.session.held().map(|unit| normal::statement(&unit.text(), &self.masks));
            line.owner = self.running.filter(|_| !line.session.listens());
            match text {
                Some(text) if self.learning || (line.owner.is_none() && !self.free) => {
                    self.background.insert(text);
                }
                Some(text) if self.background.contains(&text) => line.owner = None,
                _ => {}
            }
        }
        self.let_through(id);
    }

    fn hear_server(&mut self, id: SessionId, frames: Vec<Frame>) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        for answered in line.session.hear_server(frames).unwrap_or_default() {
            if !answered.held {
                line.enter(&answered, Vec::new(), &mut |_, _| {});
            } else if let Some(owner) = line.owner.filter(|_| !self.free) {
                if let Some(error) = error_of(&answered) {
                    self.cast.note_error(owner, error.clone());
                }
                line.answered = Some(answered);
            } else {
                line.enter(&answered, Vec::new(), &mut |_, _| {});
                let _ = line.session.deliver(answered);
            }
        }
        self.let_through(id);
    }

    /// Passes on what nobody schedules.
    fn let_through(&mut self, id: SessionId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let ended = |thread: usize| self.cast.has_ended(thread);
        if self.free || line.owner.is_none_or(|thread| !line.is_own && ended(thread)) {
            while line.session.held().is_some() && line.session.send_through().is_ok() {}
        }
    }

    fn client_gone(&mut self, id: SessionId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.leaving = true;
        line.session.close();
        self.commit_at_once(id, true);
    }

    /// A server says why it ends a session. One that goes without having been asked to is lost, and what its client
    /// makes of that says nothing.
    fn note_loss(&mut self, id: SessionId) {
        if let Some(line) = self.lines.get(&id).filter(|line| !line.leaving && !line.session.is_gone()) {
            let whose = line.owner.map(|owner| format!(" of {}", self.cast.name(owner))).unwrap_or_default();
            self.cast.note_fault(format!("a connection{whose} was lost: the server has closed it"));
        }
    }

    fn server_gone(&mut self, id: SessionId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let was_open = line.ledger.is_open();
        let lost = line.session.lose_server().filter(|answered| answered.held && line.owner.is_some() && !self.free);
        if lost.is_some() {
            line.answered = lost;
            return;
        }
        if line.answered.is_some() {
            line.is_closed = true;
            return;
        }
        let Some(mut line) = self.lines.remove(&id) else { return };
        line.session.close();
        if let Some(owner) = line.owner.filter(|_| was_open && !self.free) {
            self.partings.push((owner, id, line.ledger.disconnect()));
        }
    }

    /// An answer has been told: a connection that the server closed behind it is forgotten now.
    pub(super) fn told(&mut self, id: SessionId) {
        if self.lines.get(&id).is_some_and(|line| line.is_closed) {
            self.server_gone(id);
        }
    }

    /// Lets a thread's statement go.
    pub(super) fn release(&mut self, thread: usize) -> Result<(), Trouble> {
        let Some(id) = self.held_of(thread) else {
            let name = self.cast.name(thread);
            return Err(Trouble::Stuck { thread: name, doing: "it has nothing to send".into() });
        };
        let Some(line) = self.lines.get_mut(&id) else { return Ok(()) };
        if let Some(spoken) = line.session.held().and_then(|unit| unit.spoken.first()) {
            line.ledger.statement(&spoken.inlined(), &[]);
        }
        (line.blocked_by, line.blocked_since, line.waits) = (Vec::new(), None, false);
        match line.ledger.is_read_committed() {
            true => Ok(line.session.send_lone()?),
            false => Ok(line.session.send_lone_reading()?),
        }
    }

    /// What a thread sent outside of a transaction is done, and its commit is held. It is no step where nobody could
    /// come in between with any effect, and none if the client is gone: then it comes at once.
    pub(super) fn commit_at_once(&mut self, id: SessionId, apart: bool) {
        let Some(line) = self.lines.get_mut(&id).filter(|line| line.session.owes_commit()) else { return };
        // Who is gone will be seen to be gone.
        let _ = match (apart, line.leaving) {
            (false, _) => line.session.send_through(),
            (true, true) => {
                line.ledger.statement("COMMIT", &[]);
                (line.blocked_by, line.blocked_since, line.waits) = (Vec::new(), None, false);
                line.session.send()
            }
            (true, false) => Ok(()),
        };
    }

    /// The connection by which a thread would send its next statement. Of several, always the same.
    pub(super) fn held_of(&self, thread: usize) -> Option<SessionId> {
        let held = self.lines_of(thread).filter(|(_, line)| !line.leaving && !line.session.is_gone());
        let texts = held.filter_map(|(id, line)| Some((line.session.held()?.text(), id)));
        texts.map(|(text, id)| (self.recognised(&text), id)).min().map(|(_, id)| id)
    }

    /// What a thread would send next, as it is recognised.
    pub(super) fn next_of(&self, thread: usize) -> Option<String> {
        let unit = self.lines.get(&self.held_of(thread)?)?.session.held()?;
        let text = unit.text();
        Some(if text.is_empty() { "COMMIT".into() } else { self.recognised(&text) })
    }

    fn recognised(&self, text: &str) -> String {
        normal::statement(text, &self.masks)
    }

    fn lines_of(&self, thread: usize) -> impl Iterator<Item = (SessionId, &Line)> {
        self.lines.iter().filter(move |(_, line)| line.owner == Some(thread)).map(|(id, line)| (*id, line))
    }

    /// The first connection of a thread whose answer has not been told.
    pub(super) fn answered_of(&self, thread: usize) -> Option<SessionId> {
        self.lines_of(thread).find(|(_, line)| line.answered.is_some()).map(|(id, _)| id)
    }

    /// The connections with a statement under way, of one thread or of all.
    pub(super) fn flights(&self, thread: Option<usize>) -> Vec<SessionId> {
        let flying = |line: &Line| line.owner.is_some() && line.session.flying().is_some() && line.answered.is_none();
        let of_thread = |line: &Line| thread.is_none() || line.owner == thread;
        self.lines.iter().filter(|(_, line)| flying(line) && of_thread(line)).map(|(id, _)| *id).collect()
    }

    /// Whether the connections of a command that has ended are gone.
    fn has_left(&self, thread: usize) -> bool {
        self.lines_of(thread).all(|(_, line)| !line.is_own || line.session.flying().is_some())
    }

    /// Waits until a thread is held, has ended, waits for another one, or has been answered.
    pub(super) fn come_to_rest(&mut self, thread: usize) -> Result<(), Trouble> {
        let started = Instant::now();
        let mut quiet = Instant::now();
        loop {
            if self.answered_of(thread).is_some() {
                return Ok(());
            }
            let flights = self.flights(Some(thread));
            let stopped = !flights.is_empty() && self.all_stopped(&flights);
            let held = self.lines_of(thread).filter(|(_, line)| line.session.held().is_some() && !line.leaving).count();
            self.cast.note_parallel(thread, held + flights.len() > 1);
            let settled = !self.cast.is_parallel(thread) || quiet.elapsed() >= PARALLEL_SETTLE;
            match self.cast.has_ended(thread) {
                true if self.has_left(thread) => return Ok(()),
                true => {}
                false if stopped && settled => return Ok(()),
                false if held > 0 && flights.is_empty() && settled => return Ok(()),
                false => {}
            }
            if self.listen(GLANCE)? {
                quiet = Instant::now();
            } else if !flights.is_empty() {
                self.look()?;
            }
            if quiet.elapsed() > self.time_limit && started.elapsed() > self.time_limit {
                return Err(self.stuck(thread));
            }
        }
    }

    /// Waits until every statement under way is answered or surely waits.
    pub(super) fn settle(&mut self) -> Result<(), Trouble> {
        let deadline = Instant::now() + self.time_limit;
        loop {
            self.catch_up()?;
            let flights = self.flights(None);
            if flights.is_empty() {
                return Ok(());
            }
            self.look()?;
            let heard = self.listen(Duration::ZERO)?;
            if !heard && self.all_stopped(&flights) && !self.has_cycle(&flights) {
                return Ok(());
            }
            if !heard {
                self.listen(GLANCE)?;
            }
            if Instant::now() > deadline {
                let moving = flights.iter().find(|id| !self.is_stopped(**id)).or(flights.first());
                let thread = moving.and_then(|id| self.lines.get(id)?.owner).unwrap_or_default();
                return Err(self.stuck(thread));
            }
        }
    }

    /// Asks the server who waits for whom.
    fn look(&mut self) -> Result<(), Trouble> {
        let flights = self.flights(None);
        let pids: Vec<String> = flights.iter().map(|id| self.lines[id].session.pid.to_string()).collect();
        if pids.is_empty() {
            return Ok(());
        }
        let query = format!(
            "SELECT pid, array_to_string(pg_blocking_pids(pid), ' ') FROM unnest(ARRAY[{}]) AS pid",
            pids.join(", ")
        );
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<i32>().ok());
        let asked = Instant::now();
        let rows = self.data.rows(&query)?;
        self.answer_takes = asked.elapsed().max(self.answer_takes * 7 / 8);
        let blocked: BTreeMap<i32, Vec<i32>> = rows
            .iter()
            .filter_map(|row| {
                let on = row.get(1)?.as_deref()?.split(' ').filter_map(|pid| pid.parse().ok()).collect();
                Some((number(row.first()?)?, on))
            })
            .collect();
        for id in flights {
            let Some(line) = self.lines.get_mut(&id) else { continue };
            line.blocked_by = blocked.get(&line.session.pid).cloned().unwrap_or_default();
            line.blocked_since = match line.blocked_by.is_empty() {
                true => None,
                false => Some(line.blocked_since.unwrap_or_else(Instant::now)),
            };
        }
        Ok(())
    }

    fn all_stopped(&self, flights: &[SessionId]) -> bool {
        flights.iter().all(|id| self.is_stopped(*id))
    }

    /// Whether a statement waits for another thread's, and has done so for long enough.
    fn is_stopped(&self, id: SessionId) -> bool {
        let Some(line) = self.lines.get(&id) else { return false };
        let by_thread = !self.blockers(line).is_empty();
        by_thread && line.blocked_since.is_some_and(|since| since.elapsed() >= self.long_enough())
    }

    /// After how long the server's process has surely looked for deadlocks.
    fn long_enough(&self) -> Duration {
        const ANSWERS: u32 = 5;
        match self.wait_counts_after {
            Duration::ZERO => Duration::ZERO,
            at_least => at_least.max(self.answer_takes * ANSWERS),
        }
    }

    /// The threads that a connection waits for.
    pub(super) fn blockers(&self, line: &Line) -> BTreeSet<usize> {
        let of_thread = |other: &&Line| line.blocked_by.contains(&other.session.pid) && !other.leaving;
        self.lines.values().filter(of_thread).filter_map(|other| other.owner).collect()
    }

    /// The threads that a thread waits for.
    pub(super) fn waits_for(&self, thread: usize) -> Vec<usize> {
        let flights = self.flights(Some(thread));
        let all: BTreeSet<usize> =
            flights.iter().filter_map(|id| self.lines.get(id)).flat_map(|line| self.blockers(line)).collect();
        all.into_iter().collect()
    }

    /// Whether some wait for each other: then the server is about to end one of them.
    fn has_cycle(&self, flights: &[SessionId]) -> bool {
        let lines: Vec<&Line> = flights.iter().filter_map(|id| self.lines.get(id)).collect();
        let mut open: BTreeMap<i32, &[i32]> = lines.iter().map(|line| (line.session.pid, &*line.blocked_by)).collect();
        // Who waits for nobody that waits can go on one day; whoever is left is in a cycle or behind one.
        loop {
            let free = open.iter().find(|(_, on)| !on.iter().any(|pid| open.contains_key(pid))).map(|(pid, _)| *pid);
            match free {
                Some(pid) => drop(open.remove(&pid)),
                None => return !open.is_empty(),
            }
        }
    }

    /// The first connection that is to be told something, of the first thread.
    pub(super) fn next_answered(&self) -> Option<(usize, SessionId)> {
        (0..self.cast.len()).find_map(|thread| Some((thread, self.answered_of(thread)?)))
    }

    /// Why a thread does not go on.
    fn stuck(&self, thread: usize) -> Trouble {
        let seconds = self.time_limit.as_secs_f64();
        let flying = self.flights(Some(thread)).first().and_then(|id| self.lines.get(id));
        let statement = flying.and_then(|line| line.session.flying()).map(|unit| normal::shown(&unit.text()));
        let doing = match statement {
            Some(statement) => format!("`{statement}` has not been answered for {seconds} s"),
            None => self.cast.idle(thread, seconds),
        };
        Trouble::Stuck { thread: self.cast.name(thread), doing }
    }

    /// Lets everything go that is held or kept back.
    pub(super) fn let_go(&mut self) {
        self.free = true;
        let ids: Vec<SessionId> = self.lines.keys().copied().collect();
        for id in ids {
            if let Some(line) = self.lines.get_mut(&id)
                && let Some(answered) = line.answered.take()
            {
                line.enter(&answered, Vec::new(), &mut |_, _| {});
                let _ = line.session.deliver(answered);
            }
            self.told(id);
            self.let_through(id);
        }
    }

    /// Ends connections, and waits until the server has given up their transactions.
    pub(super) fn hang_up(&mut self, which: impl Fn(&Line) -> bool) -> Result<(), Trouble> {
        let ids: Vec<SessionId> = self.lines.iter().filter(|(_, line)| which(line)).map(|(id, _)| *id).collect();
        let mut pids = Vec::new();
        for mut line in ids.iter().filter_map(|id| self.lines.remove(id)) {
            line.session.close();
            pids.push(line.session.pid);
        }
        self.data.terminate(&pids)
    }
}

impl Line {
    fn new(session: Session, owner: Option<usize>, ledger: Ledger) -> Line {
        Line {
            session,
            ledger,
            owner,
            is_own: owner.is_some(),
            answered: None,
            waits: false,
            passed: Vec::new(),
            blocked_by: Vec::new(),
            blocked_since: None,
            leaving: false,
            is_closed: false,
            is_doubtful: false,
        }
    }

    /// Whether it came by a thread's own door.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Tells the ledger what was answered, statement by statement; `each` is told what was touched.
    pub(super) fn enter(&mut self, answered: &Answered, writes: Vec<Write>, each: &mut dyn FnMut(usize, Touched)) {
        let count = answered.unit.spoken.len();
        // Which statement of a pipeline has written what is not told: the last one is taken to have.
        let mut writes = Some(writes);
        for (at, spoken) in answered.unit.spoken.iter().enumerate() {
            if at > 0 || !answered.held {
                let text = spoken.inlined();
                self.ledger.statement(&text, &[]);
                let said = !answered.held && !answered.unit.implicit;
                self.passed.extend((said && is_about_transactions(&text)).then_some(text));
            }
            let failed = answered.responses.get(at).is_some_and(isolde_wire::Response::is_error);
            let last = failed || at + 1 == count;
            // Between the statements of a pipeline its transaction is open.
            let status = if last { answered.status } else { TransactionStatus::Open };
            let writes = if last { writes.take().unwrap_or_default() } else { Vec::new() };
            let mut touched = self.ledger.done(failed, status, writes);
            // What the server says about the transaction is not what its text was understood to do.
            touched.everything |= self.ledger.is_open() != (status != TransactionStatus::Idle);
            touched.everything |= std::mem::take(&mut self.is_doubtful);
            each(at, touched);
            if last {
                break;
            }
        }
        let read_committed = self.ledger.is_read_committed();
        // Who is gone will be seen to be gone.
        let _ = self.session.set_read_committed(read_committed);
        // Nothing was executed, and the server is in no transaction: then what was understood was wrong.
        if count == 0 && answered.status == TransactionStatus::Idle && self.ledger.is_open() && !answered.held {
            self.ledger.disconnect();
            self.is_doubtful = true;
        }
        // A Sync by itself is held only if it ends the transaction of what was flushed before.
        if count == 0 && answered.held {
            self.ledger.statement("COMMIT", &[]);
            each(0, self.ledger.done(false, answered.status, Vec::new()));
        }
    }
}

/// Whether a statement is about transactions, or about how those to come are.
fn is_about_transactions(text: &str) -> bool {
    let facts = Facts::of_text(text);
    // Of settings, those that decide what a transaction sees.
    let decides = |name: &str| matches!(SettingKind::of(name), SettingKind::Level | SettingKind::Mode);
    facts.verb.is_about_transactions() || facts.setting.is_some_and(|name| decides(&name))
}

/// The error that an answer ends with.
pub(super) fn error_of(answered: &Answered) -> Option<&Complaint> {
    answered.responses.iter().find_map(|response| match response {
        isolde_wire::Response::Error(error) => Some(error),
        _ => None,
    })
}
