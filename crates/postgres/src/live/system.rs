//! A stage as a [`System`]: a place is the way that led there.

use std::cell::{Cell, RefCell};
use std::hash::Hash;
use std::sync::Arc;

use isolde_explore::{Digester, System};
use isolde_report::StepResult;

use super::dependence;
use super::oracle::Oracle;
use super::{Part, Stage, Standing, Touched};
use crate::Trouble;

/// A stage to be explored.
pub struct LiveSystem<'s> {
    stage: RefCell<&'s mut dyn Stage>,
    names: Vec<String>,
    start: Spot,
    /// The way that the stage has gone since its last start; `None` if that is not known.
    at: RefCell<Option<Way>>,
    /// Why nothing more can be done.
    trouble: RefCell<Option<Trouble>>,
    /// Steps taken again to come back to a place.
    replayed: Cell<u64>,
    /// Whether the order of commits matters by itself, because something is asked after each.
    commits_ordered: bool,
    /// What serial orders come to, as far as that is known.
    pub(super) oracle: RefCell<Oracle>,
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
    /// What the step did, to be recognised when it is taken again.
    did: Did,
}

/// What a step did, as far as it must be the same each time.
#[derive(Debug, PartialEq, Eq)]
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
        self.touched().any(|t| t.ended == Some(true) && (!t.settled.is_empty() || !t.settled_all.is_empty()))
            || self.touched().any(|t| t.everything)
    }

    /// What its parts touched.
    pub fn touched(&self) -> impl Iterator<Item = &Touched> {
        self.parts.iter().map(|part| &part.touched)
    }
}

impl<'s> LiveSystem<'s> {
    /// Starts a stage. With `commits_ordered`, no two commits are taken to commute.
    pub fn new(stage: &'s mut dyn Stage, commits_ordered: bool) -> Result<LiveSystem<'s>, Trouble> {
        stage.restart()?;
        let names = stage.threads().to_vec();
        let start = Spot { way: None, standings: standings(stage) };
        Ok(LiveSystem {
            stage: RefCell::new(stage),
            names,
            start,
            at: RefCell::new(Some(None)),
            trouble: RefCell::new(None),
            replayed: Cell::new(0),
            commits_ordered,
            oracle: RefCell::default(),
        })
    }

    /// The names of the threads.
    pub fn names(&self) -> &[String] {
        &self.names
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

    /// A schedule that was only tried has led to trouble, and that is no matter.
    pub(super) fn forget_trouble(&self) {
        *self.trouble.borrow_mut() = None;
        *self.at.borrow_mut() = None;
    }

    /// Lets somebody else use the stage, who leaves it wherever that leads.
    pub fn borrow<T>(&self, work: impl FnOnce(&mut dyn Stage) -> Result<T, Trouble>) -> Result<T, Trouble> {
        *self.at.borrow_mut() = None;
        work(&mut **self.stage.borrow_mut())
    }

    fn try_step(&self, spot: &mut Spot, thread: usize) -> Result<Event, Trouble> {
        self.go_to(spot)?;
        let (parts, did) = {
            let mut stage = self.stage.borrow_mut();
            *self.at.borrow_mut() = None;
            step(&mut **stage, thread, |stage, thread| stage.step(thread))?
        };
        spot.standings = did.after.clone();
        spot.way = Some(Arc::new(Link { before: spot.way.take(), thread, did }));
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
            let (_, did) = step(stage, link.thread, |stage, thread| stage.step_again(thread))?;
            self.replayed.set(self.replayed.get() + 1);
            self.expect(&link.did.after, &did.after, &link.did.statement)?;
            if did != link.did {
                let now = format!("{} (another result)", did.statement);
                return Err(self.differs(link.thread, &link.did.statement, &now));
            }
        }
        Ok(())
    }

    fn expect(&self, before: &[Standing], now: &[Standing], after: &str) -> Result<(), Trouble> {
        let differs = before.iter().zip(now).position(|(before, now)| before != now);
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

/// How a stage takes a step.
type Take = fn(&mut dyn Stage, usize) -> Result<Vec<Part>, Trouble>;

fn step(stage: &mut dyn Stage, thread: usize, take: Take) -> Result<(Vec<Part>, Did), Trouble> {
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
    let parts = take(stage, thread)?;
    let mut digester = Digester::default();
    parts.iter().for_each(|part| recognise(part, &mut digester));
    let raced = waited.len() > 1 && parts.iter().any(|part| waited.contains(&part.thread));
    let did = Did { statement, digest: digester.digest(), after: standings(stage), raced };
    Ok((parts, did))
}

/// What must be the same whenever a step is taken again: who did what, and what kind of thing came back. Values may differ as
/// far as they are masked, and if they matter, something else will differ soon.
fn recognise(part: &Part, digester: &mut Digester) {
    (part.thread, part.kind as u8).hash(digester);
    match &part.result {
        StepResult::Rows { columns, rows } => (0u8, columns, rows.len()).hash(digester),
        StepResult::Done { tag } => (1u8, tag).hash(digester),
        StepResult::Waits { on } => (2u8, on).hash(digester),
        StepResult::Error { code, .. } => (3u8, code).hash(digester),
    }
}

impl System for LiveSystem<'_> {
    type State = Spot;
    type Step = usize;
    type Event = Event;

    fn initial(&self) -> Spot {
        self.start.clone()
    }

    fn enabled(&self, spot: &Spot, steps: &mut Vec<usize>) {
        let ready = |(_, standing): &(usize, &Standing)| matches!(standing, Standing::Ready(_));
        steps.extend(spot.standings.iter().enumerate().filter(ready).map(|(thread, _)| thread));
    }

    // In trouble, a step does nothing and nobody can go on: whoever looks on asks for the trouble.
    fn execute(&self, spot: &mut Spot, thread: &usize) -> Event {
        match self.try_step(spot, *thread) {
            Ok(event) => event,
            Err(trouble) => {
                self.trouble.borrow_mut().get_or_insert(trouble);
                spot.standings = Arc::new([]);
                Event { thread: *thread, parts: Vec::new() }
            }
        }
    }

    fn thread(&self, thread: &usize) -> u64 {
        *thread as u64
    }

    fn dependent(&self, first: &Event, second: &Event) -> bool {
        let ordered = self.commits_ordered && first.published() && second.published();
        ordered || dependence::dependent(self.stage.borrow().catalog(), first, second)
    }

    fn name(&self, thread: &usize) -> String {
        self.names[*thread].clone()
    }

    fn parse(&self, token: &str) -> Option<usize> {
        self.names.iter().position(|name| name == token)
    }
}
