//! A scenario as a [`System`]: states, choices, and what a choice does.
//!
//! A choice is a thread that takes a step, or a thread that falls victim to a deadlock. A step is one SQL statement,
//! also inside a procedure, or a commit; with `atomic`, it is a whole transaction. Where a file says so, time may pass
//! between steps: the choice of a thread that is only a [clock](crate::clock).

use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use isolde_engine::footprint::ColumnSet;
use isolde_engine::{Activity, Database, Generators, OrderedRows, Outcome, SessionId, Step};
use isolde_explore::{Digester, System, Undo};

use crate::backend::{Alone, Backend};
use crate::client::{AtWork, Client, Reaction, Status};
use crate::clock;
use crate::dependence::{Dependence, Touch};
use crate::file::{FileOptions, Granularity, Hashing, SerialCheck};
use crate::scenario::{Check, Scenario};
use crate::threads::ThreadSet;

/// A scenario to be explored.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioSystem<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Whether a whole transaction is one step.
    pub atomic: bool,
    /// Which steps are taken to commute.
    pub dependence: Dependence,
    /// How states are recognised.
    pub hash: Hashing,
    /// Threads that do not act, as if they were not in the file.
    pub absent: ThreadSet,
    /// Between what others may act.
    pub granularity: Granularity,
    /// What generated values start from.
    pub generators: Generators,
    /// How runs are compared with serial ones.
    pub serial: SerialCheck,
}

/// The database and how far each thread has come.
#[derive(Clone, Debug)]
pub struct State {
    /// The database, with the sessions of all threads.
    pub database: Database,
    /// The threads' clients, in the order of the file.
    pub clients: Vec<Arc<Client>>,
}

impl State {
    /// Whether a thread was cut off: then nothing can be said about the state.
    pub(crate) fn is_cut(&self) -> bool {
        self.clients.iter().any(|client| client.is_cut())
    }
}

/// Who acts: a thread, by position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Choice {
    /// The thread takes a step.
    Step(usize),
    /// The thread is the victim of a deadlock.
    Victim(usize),
    /// Time passes to the next mark: the step of the [clock](crate::clock), which has the number behind the last
    /// thread's.
    Pass(usize),
}

impl Choice {
    /// Who acts.
    pub fn thread(self) -> usize {
        match self {
            Choice::Step(thread) | Choice::Victim(thread) | Choice::Pass(thread) => thread,
        }
    }
}

/// What a choice did.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose.
    pub thread: usize,
    /// Time has passed, by so many microseconds; nobody else acted.
    pub passed: Option<i64>,
    /// Its thread has ended with it, and may have read the time: when the last such thread ends, time stops.
    pub(crate) last_reading: bool,
    /// It was the victim of a deadlock.
    pub victim: bool,
    /// It went on with a statement that had waited.
    pub resumed: bool,
    /// What the engine did, in order; several in one for a transaction as one step, or with a final rollback.
    pub steps: Vec<Step>,
    /// What the client made of it.
    pub reactions: Vec<Reaction>,
    /// The victim of a deadlock: the threads that waited then, itself included.
    pub cycle: Vec<usize>,
    /// Invariants whose answer it may have changed, by position in the file.
    pub watched: ColumnSet,
    /// Those who take rows in the order in which they lie, and could tell when it wrote its rows.
    pub(crate) moved: ColumnSet,
    /// The columns of each table whose value no row ever changes.
    pub(crate) constant: Arc<[ColumnSet]>,
    touch: OnceLock<Touch>,
}

impl Event {
    /// What it touched, summed up when first asked for.
    pub(crate) fn touch(&self) -> &Touch {
        self.touch.get_or_init(|| Touch::new(self))
    }

    /// The choice that it came from.
    pub fn choice(&self) -> Choice {
        match (self.passed, self.victim) {
            (Some(_), _) => Choice::Pass(self.thread),
            (None, true) => Choice::Victim(self.thread),
            (None, false) => Choice::Step(self.thread),
        }
    }

    /// Whether it changed the committed tables.
    pub fn published(&self) -> bool {
        self.steps.iter().any(|s| !s.footprint.published.is_empty())
    }
}

impl<'a> ScenarioSystem<'a> {
    /// The scenario, with steps as `settings` say.
    pub fn new(scenario: &'a Scenario, settings: &FileOptions) -> ScenarioSystem<'a> {
        let (atomic, dependence) = (settings.atomic.unwrap_or_default(), settings.dependence.unwrap_or_default());
        let hash = settings.hash.unwrap_or_default();
        let absent = ThreadSet::default();
        let granularity = settings.granularity.unwrap_or_default();
        let generators = Generators::default();
        let serial = settings.serial.or(scenario.options.serial).unwrap_or_default();
        ScenarioSystem { scenario, atomic, dependence, hash, absent, granularity, generators, serial }
    }

    /// The thread that a session belongs to.
    pub fn thread_of(&self, session: SessionId) -> Option<usize> {
        self.scenario.threads.iter().position(|t| t.session == session)
    }

    /// Lets a thread's client do something.
    fn work<'s>(&'s self, state: &'s mut State, thread: usize) -> AtWork<'s> {
        AtWork {
            scenario: self.scenario,
            thread: &self.scenario.threads[thread],
            database: &mut state.database,
            client: Arc::make_mut(&mut state.clients[thread]),
            reach: self.scenario.reach.as_ref().map(|reach| reach[thread].as_slice()),
            limit: usize::MAX,
            passes: None,
            steps: Vec::new(),
            reactions: Vec::new(),
        }
    }

    /// Whether a choice is one of those that there are.
    pub(crate) fn is_enabled(&self, state: &State, choice: &Choice) -> bool {
        match choice {
            Choice::Step(thread) => self.can_step(state, *thread),
            Choice::Victim(thread) => self.deadlocked(state).contains(thread),
            Choice::Pass(_) => self.next_time(state).is_some(),
        }
    }

    /// Whether a thread can take a step.
    fn can_step(&self, state: &State, thread: usize) -> bool {
        state.clients[thread].status == Status::Running
            && !self.absent.contains(thread)
            && (state.clients[thread].unsent || state.database.can_step(self.scenario.threads[thread].session))
    }

    /// The number of the clock among the threads.
    fn clock(&self) -> usize {
        self.scenario.threads.len()
    }

    /// The time to which time may pass: to the next mark, while somebody is there who can tell.
    fn next_time(&self, state: &State) -> Option<i64> {
        let clock = &self.scenario.clock;
        let reads = |thread: usize| clock.is_read_by(thread) && state.clients[thread].status == Status::Running;
        let noticed = clock.is_checked() || Backend::present(self).any(reads);
        clock.next(state.database.clock()).filter(|_| noticed)
    }

    /// Lets time pass to the next mark.
    fn pass(&self, state: &mut State) -> Event {
        let now = state.database.clock();
        let next = self.next_time(state).unwrap_or(now);
        state.database.set_clock(next);
        Event { passed: Some(next - now), watched: self.scenario.clock.invariants(), ..self.event(self.clock(), false) }
    }

    /// An event in which nothing has happened yet.
    fn event(&self, thread: usize, victim: bool) -> Event {
        Event {
            thread,
            passed: None,
            last_reading: false,
            victim,
            resumed: false,
            steps: Vec::new(),
            reactions: Vec::new(),
            cycle: Vec::new(),
            watched: ColumnSet::NONE,
            moved: ColumnSet::NONE,
            constant: self.scenario.constant.clone(),
            touch: OnceLock::new(),
        }
    }

    /// The threads that wait for somebody.
    fn waiting(&self, state: &State) -> Vec<usize> {
        let waits = |&t: &usize| state.clients[t].status == Status::Running && !self.can_step(state, t);
        Backend::present(self).filter(waits).collect()
    }

    /// The invariants that look at a table in which an event has published.
    fn watched(&self, event: &Event) -> ColumnSet {
        let footprints = || event.steps.iter().map(|step| &step.footprint);
        let watches = |check: &Check| {
            footprints().any(|f| {
                let tables = f.published.iter().map(|write| write.table).chain(f.defined.iter().copied());
                check.watches.as_ref().map_or(f.defined.len() + f.published.len() > 0, |watched| {
                    tables.into_iter().any(|table| watched.contains(&table))
                })
            })
        };
        let invariants = self.scenario.invariants.iter().enumerate();
        invariants.filter(|(_, check)| watches(check)).map(|(i, _)| i).collect()
    }

    /// The readers of the order of rows that could tell when an event wrote its rows.
    fn moved(&self, event: &Event) -> ColumnSet {
        if self.granularity == Granularity::Whole {
            return ColumnSet::NONE;
        }
        let writes = event.steps.iter().flat_map(|step| &step.footprint.writes);
        writes.fold(ColumnSet::NONE, |moved, write| moved.union(self.scenario.order.moved(write)))
    }

    /// The threads that wait for each other in a cycle, in the order of the file.
    pub fn deadlocked(&self, state: &State) -> Vec<usize> {
        let mut threads: Vec<usize> =
            state.database.deadlocked().into_iter().filter_map(|session| self.thread_of(session)).collect();
        threads.sort_unstable();
        threads
    }

    /// Runs the first `limit` statements of a thread while no other one acts, then ends its session.
    pub(crate) fn run_alone(&self, state: &mut State, thread: usize, limit: usize, steps_max: usize) -> Alone {
        for _ in 0..steps_max {
            if let Some(ended) = self.ended_alone(state, thread, limit) {
                return ended;
            }
            self.step_alone(state, thread, limit, None);
        }
        Alone::Endless
    }

    /// How a thread has ended that runs alone up to a statement, if it has.
    pub(crate) fn ended_alone(&self, state: &State, thread: usize, limit: usize) -> Option<Alone> {
        let client = &state.clients[thread];
        let over = client.status != Status::Running || client.progress.next >= limit;
        match (over, self.can_step(state, thread)) {
            (false, true) => None,
            _ if state.is_cut() => Some(Alone::Endless),
            (true, _) => Some(Alone::Through),
            (false, false) => Some(Alone::Waits),
        }
    }

    /// One step of a thread that runs alone up to a statement; time may pass once its statement is sent.
    pub(crate) fn step_alone(&self, state: &mut State, thread: usize, limit: usize, passes: Option<i64>) {
        AtWork { limit, passes, ..self.work(state, thread) }.step();
    }
}

impl System for ScenarioSystem<'_> {
    type State = State;
    type Step = Choice;
    type Event = Event;

    fn initial(&self) -> State {
        let clients = self.scenario.threads.iter().map(|t| Arc::new(Client::new(t))).collect();
        let mut state = State { database: self.scenario.database.clone(), clients };
        state.database.set_generators(self.generators);
        state.database.set_row_steps(self.granularity == Granularity::Row);
        state.database.set_commit_steps(self.granularity != Granularity::Whole);
        if self.granularity == Granularity::Whole {
            state.database.set_ordered(OrderedRows::Of(Vec::new()));
        }
        for thread in 0..self.scenario.threads.len() {
            self.work(&mut state, thread).advance();
        }
        state
    }

    // Ordered: first the threads as in the file, then the victims, then the clock; a depth-first search tries them in
    // this order.
    fn enabled(&self, state: &State, steps: &mut Vec<Choice>) {
        steps.extend((0..state.clients.len()).filter(|&t| self.can_step(state, t)).map(Choice::Step));
        steps.extend(self.deadlocked(state).into_iter().map(Choice::Victim));
        steps.extend(self.next_time(state).map(|_| Choice::Pass(self.clock())));
    }

    fn execute(&self, state: &mut State, choice: &Choice) -> Event {
        let (thread, victim) = match *choice {
            Choice::Step(thread) => (thread, false),
            Choice::Victim(thread) => (thread, true),
            Choice::Pass(_) => return self.pass(state),
        };
        let session = self.scenario.threads[thread].session;
        let resumed = !victim && matches!(state.database.activity(session), Activity::Resumable(_));
        let cycle = if victim { self.waiting(state) } else { Vec::new() };
        let mut event = Event { resumed, cycle, ..self.event(thread, victim) };
        if state.is_cut() && !self.is_enabled(state, choice) {
            // A search follows what it planned when nothing was cut off. Of this run it learns nothing more.
            return event;
        }
        loop {
            let mut work = self.work(state, thread);
            if victim {
                work.be_victim()
            } else {
                work.step()
            }
            let ended = work.steps.iter().any(|s| s.footprint.ended.is_some());
            event.steps.append(&mut work.steps);
            event.reactions.append(&mut work.reactions);
            if !self.atomic || victim || ended || !self.can_step(state, thread) {
                let ended = state.clients[thread].status != Status::Running;
                event.last_reading = ended && self.scenario.clock.is_read_by(thread);
                event.watched = self.watched(&event);
                event.moved = self.moved(&event);
                return event;
            }
        }
    }

    fn digest(&self, state: &State) -> Option<u128> {
        let mut digester = Digester::default();
        match self.hash {
            Hashing::Incremental => state.database.digest().hash(&mut digester),
            Hashing::Full => state.database.digest_from_scratch().hash(&mut digester),
            Hashing::Off => return None,
        }
        state.clients.iter().for_each(|client| client.digest(&mut digester));
        if self.scenario.clock.runs() {
            state.database.clock().hash(&mut digester);
        }
        if self.serial != SerialCheck::Off {
            state.clients.iter().for_each(|client| client.published.hash(&mut digester));
        }
        Some(digester.digest())
    }

    fn thread(&self, choice: &Choice) -> u64 {
        choice.thread() as u64
    }

    fn dependent(&self, first: &Event, second: &Event) -> bool {
        match (first.passed, second.passed) {
            // Neither stops the clock by itself: both together do, whichever comes last.
            (None, None) if first.last_reading && second.last_reading => true,
            (None, None) => self.dependence.dependent(first, second),
            _ => self.scenario.clock.is_between(first, second),
        }
    }

    // Footprints name rows by their ids.
    fn identity(&self, state: &State) -> u128 {
        state.database.identity(&self.scenario.database)
    }

    fn class(&self, event: &Event) -> Option<u128> {
        let mut digester = Digester::default();
        (event.passed, event.last_reading, event.victim, event.resumed, &event.cycle, event.watched, event.moved)
            .hash(&mut digester);
        for step in &event.steps {
            let waits = matches!(step.outcome, Outcome::Blocked(_));
            let failed = matches!(step.outcome, Outcome::Error(_));
            (&step.pending.text, step.pending.span.start, step.pending.kind, waits, failed).hash(&mut digester);
            step.footprint.hash_class(&mut digester);
        }
        Some(digester.digest())
    }

    fn undo(&self, before: &State, after: &State) -> Undo<State> {
        let (undo, clients) = (before.database.undo(&after.database), before.clients.clone());
        Box::new(move |state| {
            state.database.take_back(undo);
            state.clients = clients;
        })
    }

    fn name(&self, choice: &Choice) -> String {
        match *choice {
            Choice::Step(thread) => self.scenario.threads[thread].name.to_string(),
            Choice::Victim(thread) => format!("{}!", self.scenario.threads[thread].name),
            Choice::Pass(_) => clock::NAME.into(),
        }
    }

    fn parse(&self, token: &str) -> Option<Choice> {
        if token == clock::NAME && self.scenario.clock.runs() {
            return Some(Choice::Pass(self.clock()));
        }
        let (name, victim) = token.strip_suffix('!').map_or((token, false), |name| (name, true));
        let thread = self.scenario.threads.iter().position(|t| *t.name == *name)?;
        Some(if victim { Choice::Victim(thread) } else { Choice::Step(thread) })
    }
}
