//! A stage as a [`System`]: a place is the way that led there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;

use isolde_explore::{Digester, System};
use isolde_report::StepResult;
use isolde_scenario::file::FileOptions;
use isolde_scenario::{Alone, Choice, ThreadSet};
use isolde_sql::SqlState;

use super::check::Check;
use super::dependence;
use super::{Ending, Part, Stage, Standing, Touched};
use crate::Trouble;

/// A thread that takes more steps than this on its own is taken to run for ever.
const STEPS_ALONE_MAX: usize = 10_000;

/// A stage, and the way that it has gone: where on all ways the server is.
pub struct Cursor<'s> {
    pub(super) stage: RefCell<&'s mut dyn Stage>,
    pub(super) names: Vec<String>,
    pub(super) expected: Vec<Vec<SqlState>>,
    pub(super) retries: Vec<u32>,
    pub(super) options: FileOptions,
    /// Asked after each commit.
    pub(super) invariants: Vec<Check>,
    /// Asked when all threads have ended.
    pub(super) finals: Vec<Check>,
    start: Spot,
    /// The way that the stage has gone since its last start; `None` if that is not known.
    at: RefCell<Option<Way>>,
    /// Why nothing more can be done.
    trouble: RefCell<Option<Trouble>>,
    /// Steps taken again to come back to a place.
    replayed: Cell<u64>,
    /// Why reads were taken to be as wide as their tables, each reason once.
    pub(super) reasons: RefCell<BTreeSet<String>>,
}

/// A stage to be explored.
#[derive(Clone, Copy)]
pub struct LiveSystem<'c, 's> {
    pub(super) cursor: &'c Cursor<'s>,
    /// Threads that do not act.
    pub(super) absent: ThreadSet,
}

/// A place: the way there, and what everybody is at.
#[derive(Clone, Debug)]
pub struct Spot {
    way: Way,
    /// What each thread is at.
    pub standings: Arc<[Standing]>,
}

/// A way from the start, newest step first; none is the start itself.
type Way = Option<Arc<Link>>;

#[derive(Debug)]
struct Link {
    before: Way,
    thread: usize,
    /// Its session was ended; otherwise it took a step.
    leaves: bool,
    /// What the step did, to be recognised when it is taken again.
    did: Did,
}

/// What a step did, as far as it must be the same each time.
#[derive(Debug)]
struct Did {
    statement: Arc<str>,
    digest: u128,
    after: Arc<[Standing]>,
    /// Several waited, and it woke at least one: on the server those that it woke have raced.
    raced: bool,
}

/// How often a way is followed on which threads have raced, until they come in the order in which they came first.
const RACES_MAX: usize = 20;

/// What a step did.
#[derive(Clone, Debug)]
pub struct Event {
    /// The thread that was let go.
    pub thread: usize,
    /// What it did, and those that it woke.
    pub parts: Vec<Part>,
}

impl Event {
    /// Whether it changed the committed tables.
    pub fn published(&self) -> bool {
        self.touched().any(|touched| touched.publishes() || touched.everything)
    }

    /// The threads of a deadlock that it has closed, each before the one that it waited for.
    pub fn cycle(&self) -> &[usize] {
        self.parts.iter().map(|part| &*part.cycle).find(|cycle| !cycle.is_empty()).unwrap_or_default()
    }

    /// What its parts touched.
    pub fn touched(&self) -> impl Iterator<Item = &Touched> {
        self.parts.iter().map(|part| &part.touched)
    }
}

impl<'s> Cursor<'s> {
    /// Starts a stage, to be explored with nothing asked.
    pub fn new(stage: &'s mut dyn Stage) -> Result<Cursor<'s>, Trouble> {
        Cursor::asking(stage, FileOptions::default(), Vec::new(), Vec::new())
    }

    /// The same, with what is asked after each commit and at the end.
    pub fn asking(
        stage: &'s mut dyn Stage,
        options: FileOptions,
        invariants: Vec<Check>,
        finals: Vec<Check>,
    ) -> Result<Cursor<'s>, Trouble> {
        stage.restart()?;
        let names = stage.threads().to_vec();
        let start = Spot { way: None, standings: standings(stage) };
        Ok(Cursor {
            expected: (0..names.len()).map(|thread| stage.expected(thread).to_vec()).collect(),
            retries: (0..names.len()).map(|thread| stage.retries(thread)).collect(),
            stage: RefCell::new(stage),
            names,
            options,
            invariants,
            finals,
            start,
            at: RefCell::new(Some(None)),
            trouble: RefCell::new(None),
            replayed: Cell::new(0),
            reasons: RefCell::default(),
        })
    }

    /// All its threads, to be explored.
    pub fn system(&self) -> LiveSystem<'_, 's> {
        LiveSystem { cursor: self, absent: ThreadSet::default() }
    }

    /// Why nothing more can be done, if that is so.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.borrow().clone()
    }

    /// Steps taken again to come back to a place.
    pub fn replayed(&self) -> u64 {
        self.replayed.get()
    }

    /// Asks the stage something at a place; the stage is brought there first.
    pub fn ask<T>(&self, spot: &Spot, ask: impl FnOnce(&mut dyn Stage) -> Result<T, Trouble>) -> Result<T, Trouble> {
        self.go_to(spot)?;
        ask(&mut **self.stage.borrow_mut())
    }

    /// A schedule that was only tried has led to trouble, which does not matter.
    pub(super) fn forget_trouble(&self) {
        *self.trouble.borrow_mut() = None;
        *self.at.borrow_mut() = None;
    }

    /// Lets a thread run while no other one acts, at most its first `limit` statements; then its session ends.
    pub(super) fn run_alone(&self, spot: &mut Spot, thread: usize, limit: usize) -> Result<Alone, Trouble> {
        for _ in 0..STEPS_ALONE_MAX {
            match spot.standings.get(thread) {
                None | Some(Standing::Ended(_)) => return Ok(Alone::Through),
                Some(Standing::Waiting(_)) => return Ok(Alone::Waits),
                Some(Standing::Ready(_)) => {}
            }
            let done = self.ask(spot, |stage| Ok(stage.statements_done(thread)))?;
            self.advance(spot, thread, if done >= limit { Move::Leave } else { Move::StepAgain })?;
        }
        Ok(Alone::Endless)
    }

    /// Takes a step from a place, which becomes the place after it.
    fn advance(&self, spot: &mut Spot, thread: usize, made: Move) -> Result<Event, Trouble> {
        self.go_to(spot)?;
        let (parts, did) = {
            let mut stage = self.stage.borrow_mut();
            *self.at.borrow_mut() = None;
            step(&mut **stage, thread, made)?
        };
        let leaves = made == Move::Leave;
        spot.standings = did.after.clone();
        spot.way = Some(Arc::new(Link { before: spot.way.take(), thread, leaves, did }));
        *self.at.borrow_mut() = Some(spot.way.clone());
        Ok(Event { thread, parts })
    }

    /// Brings the stage to a place, from the start if it is elsewhere.
    fn go_to(&self, spot: &Spot) -> Result<(), Trouble> {
        let there = match &*self.at.borrow() {
            Some(at) => is_same(at, &spot.way),
            None => false,
        };
        if there {
            return Ok(());
        }
        let mut links = Vec::new();
        let mut next = &spot.way;
        while let Some(link) = next {
            links.push(link);
            next = &link.before;
        }
        let mut stage = self.stage.borrow_mut();
        *self.at.borrow_mut() = None;
        let mut followed = self.follow(&mut **stage, links.iter().rev().copied());
        let raced = links.iter().any(|link| link.did.raced);
        for _ in 0..RACES_MAX {
            match &followed {
                Err(Trouble::Nondeterministic { .. }) if raced => {
                    followed = self.follow(&mut **stage, links.iter().rev().copied());
                }
                _ => break,
            }
        }
        match followed {
            // If the server is gone, everything is different, and that is not what should be said.
            Err(trouble @ Trouble::Nondeterministic { .. }) => Err(stage.ask("SELECT 1").err().unwrap_or(trouble)),
            Err(trouble) => Err(trouble),
            Ok(()) => {
                *self.at.borrow_mut() = Some(spot.way.clone());
                Ok(())
            }
        }
    }

    /// Follows a way from the start, on which everything must be as it was.
    fn follow<'l>(&self, stage: &mut dyn Stage, links: impl Iterator<Item = &'l Arc<Link>>) -> Result<(), Trouble> {
        stage.restart()?;
        self.expect(&self.start.standings, &standings(stage), "starts")?;
        for link in links {
            let (_, did) = step(stage, link.thread, if link.leaves { Move::Leave } else { Move::StepAgain })?;
            self.replayed.set(self.replayed.get() + 1);
            self.expect(&link.did.after, &did.after, &link.did.statement)?;
            if (&did.statement, did.digest) != (&link.did.statement, link.did.digest) {
                let now = format!("{} (another result)", did.statement);
                return Err(self.differs(link.thread, &link.did.statement, &now));
            }
        }
        Ok(())
    }

    fn expect(&self, before: &[Standing], now: &[Standing], after: &str) -> Result<(), Trouble> {
        let differs = before.iter().zip(now).position(|(before, now)| !is_alike(before, now));
        differs.map_or(Ok(()), |t| {
            let shown = |standing: &Standing| format!("{} (after {after})", describe(standing, &self.names));
            Err(self.differs(t, &shown(&before[t]), &shown(&now[t])))
        })
    }

    fn differs(&self, thread: usize, before: &str, now: &str) -> Trouble {
        let thread = self.names.get(thread).cloned().unwrap_or_default();
        Trouble::Nondeterministic { thread, before: before.into(), now: now.into() }
    }
}

/// Whether a thread stands where it stood before. The detail of an error may name what differs from run to run.
fn is_alike(before: &Standing, now: &Standing) -> bool {
    match (before, now) {
        (Standing::Ended(Ending::Failed(before)), Standing::Ended(Ending::Failed(now))) => {
            (before.state, &before.message) == (now.state, &now.message)
        }
        _ => before == now,
    }
}

/// What a thread is at, in a few words.
fn describe(standing: &Standing, names: &[String]) -> String {
    match standing {
        Standing::Ready(statement) => statement.to_string(),
        Standing::Waiting(on) => {
            let on: Vec<&str> = on.iter().filter_map(|&t| names.get(t)).map(String::as_str).collect();
            format!("waiting for {}", isolde_scenario::listed(&on))
        }
        Standing::Ended(ending) => format!("ended: {ending:?}"),
    }
}

fn is_same(one: &Way, other: &Way) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn standings(stage: &mut dyn Stage) -> Arc<[Standing]> {
    (0..stage.threads().len()).map(|thread| stage.standing(thread).clone()).collect()
}

/// What a thread is let do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    /// A step, of which is to be found out what it touches.
    Step,
    /// A step, of which that does not matter.
    StepAgain,
    /// Its session ends.
    Leave,
}

impl Move {
    fn make(self, stage: &mut dyn Stage, thread: usize) -> Result<Vec<Part>, Trouble> {
        match self {
            Move::Step => stage.step(thread),
            Move::StepAgain => stage.step_again(thread),
            Move::Leave => stage.leave(thread),
        }
    }
}

fn step(stage: &mut dyn Stage, thread: usize, made: Move) -> Result<(Vec<Part>, Did), Trouble> {
    let statement = match stage.standing(thread) {
        Standing::Ready(statement) => statement.clone(),
        other => {
            let (names, now) = (stage.threads(), other.clone());
            let (thread, now) = (names[thread].clone(), describe(&now, names));
            return Err(Trouble::Nondeterministic { thread, before: "ready for its next statement".into(), now });
        }
    };
    let waited: Vec<usize> =
        (0..stage.threads().len()).filter(|&t| matches!(stage.standing(t), Standing::Waiting(_))).collect();
    let parts = made.make(stage, thread)?;
    let mut digester = Digester::default();
    parts.iter().for_each(|part| recognise(part, &mut digester));
    let raced = waited.len() > 1 && parts.iter().any(|part| waited.contains(&part.thread));
    let did = Did { statement, digest: digester.digest(), after: standings(stage), raced };
    Ok((parts, did))
}

/// What must be the same whenever a step is taken again: who did what, and what kind of thing came back. Values may
/// differ as far as they are masked, and if they matter, something else will differ soon.
fn recognise(part: &Part, digester: &mut Digester) {
    (part.thread, part.kind as u8).hash(digester);
    match &part.result {
        StepResult::Rows { columns, rows } => (0u8, columns, rows.len()).hash(digester),
        StepResult::Done { tag } => (1u8, tag).hash(digester),
        StepResult::Waits { on } => (2u8, on).hash(digester),
        StepResult::Error { code, .. } => (3u8, code).hash(digester),
    }
}

impl System for LiveSystem<'_, '_> {
    type State = Spot;
    type Step = Choice;
    type Event = Event;

    fn initial(&self) -> Spot {
        self.cursor.start.clone()
    }

    // Who dies in a deadlock is up to the server, so no victim is ever chosen.
    fn enabled(&self, spot: &Spot, steps: &mut Vec<Choice>) {
        let ready = |(thread, standing): &(usize, &Standing)| {
            matches!(standing, Standing::Ready(_)) && !self.absent.contains(*thread)
        };
        steps.extend(spot.standings.iter().enumerate().filter(ready).map(|(thread, _)| Choice::Step(thread)));
    }

    // In trouble, a step does nothing and no thread can continue: whoever looks on asks for the trouble.
    fn execute(&self, spot: &mut Spot, choice: &Choice) -> Event {
        let thread = choice.thread();
        match self.cursor.advance(spot, thread, Move::Step) {
            Ok(event) => {
                let coarse = event.touched().flat_map(|touched| touched.coarse.iter().cloned());
                self.cursor.reasons.borrow_mut().extend(coarse);
                event
            }
            Err(trouble) => {
                self.cursor.trouble.borrow_mut().get_or_insert(trouble);
                spot.standings = Arc::new([]);
                Event { thread, parts: Vec::new() }
            }
        }
    }

    fn thread(&self, choice: &Choice) -> u64 {
        choice.thread() as u64
    }

    fn dependent(&self, first: &Event, second: &Event) -> bool {
        // Something is asked after each commit.
        let ordered = !self.cursor.invariants.is_empty() && first.published() && second.published();
        ordered || dependence::dependent(self.cursor.stage.borrow().catalog(), first, second)
    }

    fn name(&self, choice: &Choice) -> String {
        self.cursor.names[choice.thread()].clone()
    }

    fn parse(&self, token: &str) -> Option<Choice> {
        self.cursor.names.iter().position(|name| name == token).map(Choice::Step)
    }
}
