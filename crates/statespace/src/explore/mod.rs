//! The explorer: all states that can be reached, breadth first.
//!
//! States are numbered in the order in which they are found, so the states of one level follow each other, and the
//! frontier is no queue but a range of numbers. What varies is how a state is taken apart and put together: a
//! [`Stepper`] either runs a compiled program on packed keys or asks the evaluator. When a value turns up that has no
//! code in its slot, the stepper makes room, every key is rewritten, and the state is looked at once more: nothing
//! wraps, and nothing is lost.

mod fast;
mod interpret;
mod node;
mod symmetry;
mod table;

use std::hash::Hash;
use std::ops::Range;

pub use fast::Fast;
pub use interpret::Interpreter;
pub(crate) use node::label;
pub(crate) use symmetry::Symmetry;

use crate::graph::{Graph, GraphBuilder, StateId};
use crate::packed::Key;
use crate::tla::fault::Fault;
use table::Table;

/// An integer that holds a state.
pub trait Word: Copy + Eq + Hash + Default + std::fmt::Debug + 'static {
    /// The state as everybody else knows it.
    fn key(self) -> Key;
    /// The state, if it fits.
    fn of(key: Key) -> Self;
    /// How many bits it has.
    const BITS: u32;
    /// What marks a free cell in a table of states; a state may be that, too.
    const FREE: Self;
    /// Well mixed bits of it.
    fn mixed(self) -> u64;
    /// The bits that both have.
    fn and(self, other: Self) -> Self;
    /// The bits that one of them has.
    fn or(self, other: Self) -> Self;
    /// Some bits from a place on.
    fn field(self, shift: u32, mask: u64) -> u64;
    /// Bits at a place.
    fn at(bits: u64, shift: u32) -> Self;
}

impl Word for u64 {
    const BITS: u32 = u64::BITS;
    const FREE: u64 = u64::MAX;
    fn and(self, other: u64) -> u64 {
        self & other
    }
    fn or(self, other: u64) -> u64 {
        self | other
    }
    fn field(self, shift: u32, mask: u64) -> u64 {
        self.checked_shr(shift).unwrap_or(0) & mask
    }
    fn at(bits: u64, shift: u32) -> u64 {
        bits.checked_shl(shift).unwrap_or(0)
    }
    fn key(self) -> Key {
        Key(self.into())
    }
    fn of(key: Key) -> u64 {
        key.0 as u64
    }
    fn mixed(self) -> u64 {
        let product = u128::from(self ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        (product ^ (product >> 64)) as u64
    }
}

impl Word for u128 {
    const BITS: u32 = u128::BITS;
    const FREE: u128 = u128::MAX;
    fn and(self, other: u128) -> u128 {
        self & other
    }
    fn or(self, other: u128) -> u128 {
        self | other
    }
    fn field(self, shift: u32, mask: u64) -> u64 {
        self.checked_shr(shift).unwrap_or(0) as u64 & mask
    }
    fn at(bits: u64, shift: u32) -> u128 {
        u128::from(bits).checked_shl(shift).unwrap_or(0)
    }
    fn key(self) -> Key {
        Key(self)
    }
    fn of(key: Key) -> u128 {
        key.0
    }
    fn mixed(self) -> u64 {
        ((self >> 64) as u64).mixed() ^ (self as u64).mixed().rotate_left(23)
    }
}

/// Why a step could not be made.
#[derive(Debug)]
pub enum Trouble {
    /// The specification has a mistake.
    Fault(Box<Fault>),
    /// A value has no code: there must be more room.
    Narrow,
}

impl From<Box<Fault>> for Trouble {
    fn from(fault: Box<Fault>) -> Trouble {
        Trouble::Fault(fault)
    }
}

/// Takes states apart and puts them together.
pub trait Stepper {
    /// What a state is held in.
    type Word: Word;

    /// The states it starts in; `found` says whether to go on.
    fn initial(&mut self, found: &mut dyn FnMut(Self::Word)) -> Result<(), Trouble>;

    /// Adds the steps from a state: by number, and where they lead.
    fn steps(&mut self, state: Self::Word, found: &mut Vec<(u32, Self::Word)>) -> Result<(), Trouble>;

    /// The first invariant that is broken in a state.
    fn broken(&mut self, state: Self::Word) -> Result<Option<usize>, Trouble>;

    /// Whether a state is to be looked at.
    fn inside(&mut self, state: Self::Word) -> Result<bool, Trouble>;

    /// Whether states are joined to classes, or steps are cut off: then the three questions that follow are asked.
    fn is_quotient(&self) -> bool {
        false
    }

    /// The state that stands for the class of a state; nothing, if the class is new.
    fn class(&mut self, _: Self::Word) -> Result<Option<Self::Word>, Trouble> {
        Ok(None)
    }

    /// From now on, this state stands for its class.
    fn stand_for_class(&mut self, _: Self::Word) -> Result<(), Trouble> {
        Ok(())
    }

    /// Whether the constraints on actions let a step be taken.
    fn is_permitted(&mut self, _: Self::Word, _: Self::Word) -> Result<bool, Trouble> {
        Ok(true)
    }

    /// Makes room, and says how states are held from now on.
    fn widen(&mut self) -> Result<Recode<Self::Word>, Box<Fault>>;
}

/// How states that were held in one way are held in another.
pub type Recode<W> = Box<dyn Fn(W) -> W>;

/// What to look for, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A state without steps is a mistake.
    pub deadlock: bool,
    /// Keep the transitions.
    pub graph: bool,
    /// Stop at the first mistake.
    pub stop: bool,
    /// More states than this are not looked at.
    pub states_max: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Found<W> {
    /// The states, level by level.
    pub states: Vec<W>,
    /// From which state each was found; its own number, if it is a start.
    pub parents: Vec<StateId>,
    /// Where each level ends.
    pub level_ends: Vec<usize>,
    /// How they follow each other, if that was asked for.
    pub graph: Option<Graph>,
    /// Where each transition of the graph really leads, if states are joined to classes: the graph says only to which
    /// class.
    pub concrete: Vec<W>,
    /// How many starts and steps were made, with those that led to a state already known, as TLC counts.
    pub generated: u64,
    /// How often each way was taken, and how often it led to a new state.
    pub taken: Vec<(u64, u64)>,
    /// What goes wrong.
    pub wrong: Option<Wrong<W>>,
    /// Why not everything was looked at.
    pub incomplete: Option<Incomplete>,
}

/// Something that goes wrong.
#[derive(Debug)]
pub struct Wrong<W> {
    /// What.
    pub what: What,
    /// In which state, or before it; nothing, if that is a start which is no part of the space.
    pub state: Option<StateId>,
    /// The state itself, if it is no part of the space: a constraint leaves it out, or another one stands for it.
    pub beyond: Option<W>,
}

/// What goes wrong.
#[derive(Debug)]
pub enum What {
    /// An invariant is broken.
    Invariant(usize),
    /// Nothing can happen any more.
    Deadlock,
    /// The specification has no meaning here.
    Fault(Box<Fault>),
}

/// Why not everything was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// There are more states than asked for.
    States,
    /// Somebody has interrupted.
    Interrupted,
}

/// Tells how far one is, and whether to go on.
pub trait Watch {
    /// So many states are known, so many of them were looked at, at this level; whether to go on.
    fn on(&mut self, states: usize, done: usize, level: usize) -> bool;
}

/// Nobody watches.
impl Watch for () {
    fn on(&mut self, _: usize, _: usize, _: usize) -> bool {
        true
    }
}

/// How many states are looked at between two looks at the clock.
const WATCH_EVERY: usize = 4096;

/// So many states are taken apart before their steps are looked up in the table, all together.
const BATCH: usize = 32;

/// Steps of some states that follow each other.
struct Batch<W> {
    steps: Vec<(u32, W)>,
    /// Where the steps of each state end.
    ends: Vec<usize>,
    /// Which of them lead to a state that is known; not all that do.
    known: Vec<bool>,
}

impl<W> Default for Batch<W> {
    fn default() -> Batch<W> {
        Batch { steps: Vec::new(), ends: Vec::new(), known: Vec::new() }
    }
}

impl<W> Batch<W> {
    fn clear(&mut self) {
        self.steps.clear();
        self.ends.clear();
    }
}

/// Explores.
pub fn explore<S: Stepper>(
    stepper: &mut S,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Found<S::Word>, Box<Fault>> {
    let mut search = Search {
        found: Found {
            states: Vec::new(),
            parents: Vec::new(),
            level_ends: Vec::new(),
            graph: None,
            concrete: Vec::new(),
            generated: 0,
            taken: Vec::new(),
            wrong: None,
            incomplete: None,
        },
        table: Table::new(options.graph),
        builder: options.graph.then(GraphBuilder::default),
        closed: 0,
        is_quotient: stepper.is_quotient(),
        stepper,
        options: *options,
    };
    search.start()?;
    search.run(watch)?;
    let Search { mut found, builder, closed, .. } = search;
    if found.level_ends.last() != Some(&found.states.len()) {
        found.level_ends.push(found.states.len());
    }
    if let Some(mut builder) = builder {
        // States that were not looked at have no transitions.
        for _ in closed..found.states.len() {
            builder.close();
        }
        found.graph = builder.finish().ok();
    }
    Ok(found)
}

struct Search<'s, S: Stepper> {
    found: Found<S::Word>,
    table: Table<S::Word>,
    builder: Option<GraphBuilder>,
    /// How many states have all their transitions.
    closed: usize,
    is_quotient: bool,
    stepper: &'s mut S,
    options: Options,
}

impl<S: Stepper> Search<'_, S> {
    fn start(&mut self) -> Result<(), Box<Fault>> {
        let mut initial = Vec::new();
        loop {
            initial.clear();
            match self.stepper.initial(&mut |state| initial.push(state)) {
                Ok(()) => break,
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::Narrow) => drop(self.stepper.widen()?),
            }
        }
        self.found.generated = initial.len() as u64;
        for state in initial {
            match self.is_quotient {
                true => drop(self.join(state, None)),
                false => self.reach(state, None),
            }
            if self.options.stop && self.found.wrong.is_some() {
                break;
            }
        }
        self.found.level_ends.push(self.found.states.len());
        Ok(())
    }

    fn run(&mut self, watch: &mut dyn Watch) -> Result<(), Box<Fault>> {
        let mut batch = Batch::default();
        let (mut state, mut watch_at) = (0, 0);
        while state < self.found.states.len() && !self.is_over() {
            if state == *self.found.level_ends.last().unwrap_or(&0) {
                self.found.level_ends.push(self.found.states.len());
            }
            if state >= watch_at {
                watch_at = state + WATCH_EVERY;
                if !watch.on(self.found.states.len(), state, self.found.level_ends.len()) {
                    self.found.incomplete = Some(Incomplete::Interrupted);
                    return Ok(());
                }
            }
            let level_end = *self.found.level_ends.last().unwrap_or(&usize::MAX);
            state = self.expand(state..level_end.min(state + BATCH), &mut batch)?;
        }
        Ok(())
    }

    /// Whether nothing more is to be looked at.
    fn is_over(&mut self) -> bool {
        if self.found.states.len() > self.options.states_max {
            self.found.incomplete = Some(Incomplete::States);
        }
        self.found.incomplete.is_some() || self.options.stop && self.found.wrong.is_some()
    }

    /// Takes some states apart, then looks up where their steps lead; says which state is next.
    fn expand(&mut self, states: Range<usize>, batch: &mut Batch<S::Word>) -> Result<usize, Box<Fault>> {
        batch.clear();
        let mut trouble = None;
        for state in states.clone() {
            if let Err(found) = self.stepper.steps(self.found.states[state], &mut batch.steps) {
                trouble = Some(found);
                break;
            }
            batch.ends.push(batch.steps.len());
        }
        batch.steps.truncate(batch.ends.last().copied().unwrap_or(0));
        self.table.look(&batch.steps, &mut batch.known);
        let mut start = 0;
        for (index, &end) in batch.ends.iter().enumerate() {
            let from = states.start + index;
            self.follow(from as StateId, &batch.steps[start..end], &batch.known[start..end]);
            start = end;
            if self.is_over() {
                return Ok(from + 1);
            }
        }
        let next = states.start + batch.ends.len();
        match trouble {
            None => Ok(next),
            Some(Trouble::Narrow) => self.widen().map(|()| next),
            Some(Trouble::Fault(fault)) => {
                self.blame(What::Fault(fault), Some(next as StateId), None);
                self.close(&mut Vec::new());
                Ok(next + 1)
            }
        }
    }

    /// All steps from a state, with what is known about where they lead.
    fn follow(&mut self, from: StateId, steps: &[(u32, S::Word)], known: &[bool]) {
        // A state whose steps are all cut off by a constraint is no deadlock.
        if steps.is_empty() && self.options.deadlock {
            self.blame(What::Deadlock, Some(from), None);
        }
        self.found.generated += steps.len() as u64;
        if self.is_quotient {
            return self.follow_joined(from, steps);
        }
        for (&(way, state), &known) in steps.iter().zip(known) {
            let before = self.found.states.len();
            if !known {
                self.reach(state, Some(from));
            }
            self.count(way, before);
        }
        if self.builder.is_some() {
            let edge = |(way, state): &(u32, S::Word)| Some((*way, self.table.number(*state)?));
            let mut edges = steps.iter().filter_map(edge).collect();
            self.close(&mut edges);
        }
    }

    /// The same where states are joined to classes or steps are cut off: everything is asked of the state that a step
    /// really leads to, whichever stands for it.
    fn follow_joined(&mut self, from: StateId, steps: &[(u32, S::Word)]) {
        let mut edges = Vec::new();
        for &(way, state) in steps {
            let before = self.found.states.len();
            match self.stepper.is_permitted(self.found.states[from as usize], state) {
                Ok(true) => edges.extend(self.join(state, Some(from)).map(|class| (way, class, state))),
                // As behind a constraint on states, invariants are checked where a step leads that is not taken.
                Ok(false) => drop(self.judge(state, Some(from), true)),
                Err(trouble) => self.blame_trouble(trouble, Some(from), Some(state)),
            }
            self.count(way, before);
        }
        let Some(builder) = &mut self.builder else { return };
        let numbered = |(way, class, state): (u32, S::Word, S::Word)| Some((way, self.table.number(class)?, state));
        let mut edges: Vec<(u32, StateId, S::Word)> = edges.into_iter().filter_map(numbered).collect();
        edges.sort_unstable_by_key(|(way, class, state)| (*way, *class, state.key()));
        edges.dedup();
        for (way, class, state) in edges {
            builder.push(way, class);
            self.found.concrete.push(state);
        }
        builder.close();
        self.closed += 1;
    }

    /// Counts a way that was taken; there were so many states before.
    fn count(&mut self, way: u32, before: usize) {
        if way as usize >= self.found.taken.len() {
            self.found.taken.resize(way as usize + 1, (0, 0));
        }
        let taken = &mut self.found.taken[way as usize];
        *taken = (taken.0 + 1, taken.1 + (self.found.states.len() - before) as u64);
    }

    fn close(&mut self, edges: &mut Vec<(u32, StateId)>) {
        let Some(builder) = &mut self.builder else { return };
        edges.sort_unstable();
        edges.dedup();
        for (way, target) in edges.iter() {
            builder.push(*way, *target);
        }
        builder.close();
        self.closed += 1;
    }

    /// A state that was reached: it becomes part of the space, if it is new and no constraint leaves it out.
    fn reach(&mut self, state: S::Word, from: Option<StateId>) {
        if !self.table.has(state) && self.judge(state, from, false) {
            self.enter(state, from);
        }
    }

    /// A state that was reached, where states are joined to classes: says which stands for it, if it is part of the
    /// space.
    fn join(&mut self, state: S::Word, from: Option<StateId>) -> Option<S::Word> {
        let known = match self.stepper.class(state) {
            Ok(known) => known,
            Err(trouble) => {
                self.blame_trouble(trouble, from, Some(state));
                return None;
            }
        };
        if known == Some(state) {
            return known;
        }
        if !self.judge(state, from, known.is_some()) {
            return None;
        }
        if known.is_none() {
            if let Err(trouble) = self.stepper.stand_for_class(state) {
                self.blame_trouble(trouble, from, Some(state));
                return None;
            }
            self.enter(state, from);
        }
        known.or(Some(state))
    }

    fn enter(&mut self, state: S::Word, from: Option<StateId>) {
        let number = self.found.states.len() as StateId;
        self.found.states.push(state);
        self.found.parents.push(from.unwrap_or(number));
        self.table.insert(&self.found.states);
    }

    /// Checks the invariants in a state that comes next, or that is no part of the space; says whether the constraints
    /// let it be one.
    fn judge(&mut self, state: S::Word, from: Option<StateId>, beyond: bool) -> bool {
        let wrong = match self.stepper.broken(state) {
            Ok(broken) => broken.map(What::Invariant),
            Err(Trouble::Fault(fault)) => Some(What::Fault(fault)),
            Err(Trouble::Narrow) => None,
        };
        let inside = match self.stepper.inside(state) {
            Ok(inside) => inside,
            Err(Trouble::Fault(fault)) => {
                self.blame(What::Fault(fault), from, Some(state));
                false
            }
            Err(Trouble::Narrow) => true,
        };
        let number = self.found.states.len() as StateId;
        match wrong {
            Some(what) if inside && !beyond => self.blame(what, Some(number), None),
            Some(what) => self.blame(what, from, Some(state)),
            None => {}
        }
        inside
    }

    /// The first thing that goes wrong counts.
    fn blame(&mut self, what: What, state: Option<StateId>, beyond: Option<S::Word>) {
        self.found.wrong.get_or_insert(Wrong { what, state, beyond });
    }

    fn blame_trouble(&mut self, trouble: Trouble, state: Option<StateId>, beyond: Option<S::Word>) {
        match trouble {
            Trouble::Fault(fault) => self.blame(What::Fault(fault), state, beyond),
            // A state that is there has a code for every value.
            Trouble::Narrow => {}
        }
    }

    /// Makes room: every state is held in another way from now on.
    fn widen(&mut self) -> Result<(), Box<Fault>> {
        let recode = self.stepper.widen()?;
        for state in &mut self.found.states {
            *state = recode(*state);
        }
        let beyond = self.found.wrong.as_mut().and_then(|wrong| wrong.beyond.as_mut());
        self.found.concrete.iter_mut().chain(beyond).for_each(|state| *state = recode(*state));
        self.table.rebuild(&self.found.states);
        Ok(())
    }
}

impl<W> Found<W> {
    /// The states from a start to a state, on a shortest way.
    pub fn way_to(&self, state: StateId) -> Vec<StateId> {
        let mut way = vec![state];
        let mut at = state;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
            way.push(at);
        }
        way.reverse();
        way
    }

    /// How many steps it takes to come to each state.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = Vec::with_capacity(self.states.len());
        for (level, end) in self.level_ends.iter().enumerate() {
            levels.resize(*end, level as u32);
        }
        levels.resize(self.states.len(), self.level_ends.len() as u32);
        levels
    }

    /// How many states there are on the way to the farthest, as TLC counts.
    pub fn depth(&self) -> usize {
        let mut ends = self.level_ends.clone();
        ends.dedup();
        ends.len()
    }
}
