//! A scenario as a [`System`]: states, choices, and what a choice does.
//!
//! A choice is a thread that takes a step, or a thread that falls victim to a deadlock. A step is one SQL statement,
//! also inside a procedure, or a commit; with `atomic`, it is a whole transaction.

use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use isolde_engine::footprint::ColumnSet;
use isolde_engine::{Activity, Database, Generators, OrderedRows, Outcome, SessionId, Step};
use isolde_explore::{Digester, System, Undo};

use crate::backend::{Alone, Backend};
use crate::client::{AtWork, Client, Reaction, Status};
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
}

impl Choice {
    /// Who acts.
    pub fn thread(self) -> usize {
        match self {
            Choice::Step(thread) | Choice::Victim(thread) => thread,
        }
    }
}

/// What a choice did.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose.
    pub thread: usize,
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
            steps: Vec::new(),
            reactions: Vec::new(),
        }
    }

    /// Whether a thread can take a step.
    fn can_step(&self, state: &State, thread: usize) -> bool {
        state.clients[thread].status == Status::Running
            && !self.absent.contains(thread)
            && state.database.can_step(self.scenario.threads[thread].session)
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
            let client = &state.clients[thread];
            if client.status != Status::Running || client.progress.next >= limit {
                return if state.is_cut() { Alone::Endless } else { Alone::Through };
            }
            if !self.can_step(state, thread) {
                return Alone::Waits;
            }
            AtWork { limit, ..self.work(state, thread) }.step();
        }
        Alone::Endless
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

    // Ordered: first the threads as in the file, then the victims; a depth-first search tries them in this order.
    fn enabled(&self, state: &State, steps: &mut Vec<Choice>) {
        steps.extend((0..state.clients.len()).filter(|&t| self.can_step(state, t)).map(Choice::Step));
        steps.extend(self.deadlocked(state).into_iter().map(Choice::Victim));
    }

    fn execute(&self, state: &mut State, choice: &Choice) -> Event {
        let (thread, victim) = (choice.thread(), matches!(choice, Choice::Victim(_)));
        let session = self.scenario.threads[thread].session;
        let resumed = !victim && matches!(state.database.activity(session), Activity::Resumable(_));
        let cycle = if victim { self.waiting(state) } else { Vec::new() };
        let (steps, reactions, watched, moved) = (Vec::new(), Vec::new(), ColumnSet::NONE, ColumnSet::NONE);
        let (constant, touch) = (self.scenario.constant.clone(), OnceLock::new());
        let mut event = Event { thread, victim, resumed, steps, reactions, cycle, watched, moved, constant, touch };
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
        if self.serial != SerialCheck::Off {
            state.clients.iter().for_each(|client| client.published.hash(&mut digester));
        }
        Some(digester.digest())
    }

    fn thread(&self, choice: &Choice) -> u64 {
        choice.thread() as u64
    }

    fn dependent(&self, first: &Event, second: &Event) -> bool {
        self.dependence.dependent(first, second)
    }

    // Footprints name rows by their ids.
    fn identity(&self, state: &State) -> u128 {
        state.database.identity(&self.scenario.database)
    }

    fn class(&self, event: &Event) -> Option<u128> {
        let mut digester = Digester::default();
        (event.victim, event.resumed, &event.cycle, event.watched, event.moved).hash(&mut digester);
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
        }
    }

    fn parse(&self, token: &str) -> Option<Choice> {
        let (name, victim) = token.strip_suffix('!').map_or((token, false), |name| (name, true));
        let thread = self.scenario.threads.iter().position(|t| *t.name == *name)?;
        Some(if victim { Choice::Victim(thread) } else { Choice::Step(thread) })
    }
}
