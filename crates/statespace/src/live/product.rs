//! The state graph, with what is still owed.
//!
//! The negated property is brought to a form in which only predicates are negated; `[]`, `<>`, conjunctions and
//! disjunctions remain, each with a number. A vertex of the product is a state with the set of formulas that the rest
//! of the behaviour owes. To leave it, the set is *settled* at the state (the tableau rules of Gerth, Peled, Vardi and
//! Wolper):
//!
//! ```text
//!   f /\ g   both now                 []f   f now, and []f next
//!   f \/ g   one of them now          <>f   f now, or <>f next: then it is put off
//! ```
//!
//! Every way to settle gives predicates that the step must satisfy and a set owed next. A behaviour is one of the
//! negated property if it goes on for ever and no `<>` is put off for ever.

use rustc_hash::FxHashMap;

use super::{Temporal, TooLarge};
use crate::graph::{BitSet, Graph, GraphBuilder, StateId, TooManyTransitions};

/// More formulas than bits: a property of that size is not written by hand.
pub(super) const PARTS_MAX: usize = 64;

/// Vertices are numbered as they are found, so a vertex comes after one that leads to it.
pub(super) struct Product<'g> {
    pub(super) base: &'g Graph,
    /// For each vertex its state.
    pub(super) states: Vec<StateId>,
    /// Vertices and how they lead to each other; the action of a transition is a place in `steps`.
    pub(super) graph: Graph,
    /// For each transition the step taken, and which `<>` are put off (a bit for each).
    pub(super) steps: Vec<(Option<usize>, u64)>,
    /// The `<>` that occur, as bits.
    pub(super) eventualities: u64,
    pub(super) initial: Vec<StateId>,
}

impl<'g> Product<'g> {
    pub(super) fn new(base: &'g Graph, initial: &[StateId], property: &Temporal) -> Result<Product<'g>, TooLarge> {
        let mut parts = Parts::default();
        let root = parts.add(property, false)?;
        let eventualities = parts.bits(|part| matches!(part, Part::Eventually(_)));
        let mut product = Product {
            base,
            states: Vec::new(),
            graph: Graph::default(),
            steps: Vec::new(),
            eventualities,
            initial: Vec::new(),
        };
        product.explore(&parts, root, initial)?;
        Ok(product)
    }

    fn explore(&mut self, parts: &Parts, root: usize, initial: &[StateId]) -> Result<(), TooLarge> {
        let mut numbers: FxHashMap<(StateId, u64), StateId> = FxHashMap::default();
        let mut owed: Vec<u64> = Vec::new();
        let mut number = |states: &mut Vec<StateId>, owed: &mut Vec<u64>, state: StateId, set: u64| {
            *numbers.entry((state, set)).or_insert_with(|| {
                states.push(state);
                owed.push(set);
                states.len() as StateId - 1
            })
        };
        for &state in initial {
            let vertex = number(&mut self.states, &mut owed, state, 1 << root);
            self.initial.push(vertex);
        }
        let mut builder = GraphBuilder::default();
        let mut vertex = 0;
        while vertex < self.states.len() {
            let state = self.states[vertex];
            for way in parts.settle(state, owed[vertex]) {
                let steps = self.base.edges(state).map(Some).chain([None]);
                for step in steps.filter(|&step| parts.allows(&way, step)) {
                    let target = step.map_or(state, |edge| self.base.target(edge));
                    let next = number(&mut self.states, &mut owed, target, way.next);
                    builder.push(self.steps.len() as u32, next);
                    self.steps.push((step, way.put_off));
                }
            }
            builder.close();
            vertex += 1;
        }
        self.graph = builder.finish()?;
        Ok(())
    }
}

impl From<TooManyTransitions> for TooLarge {
    fn from(_: TooManyTransitions) -> Self {
        TooLarge::Product
    }
}

/// The parts of the negated property; each is named by its place.
#[derive(Default)]
struct Parts<'p> {
    list: Vec<Part<'p>>,
}

#[derive(Clone, PartialEq)]
enum Part<'p> {
    State { set: &'p BitSet, is: bool },
    Step { steps: &'p super::Steps, is: bool },
    And(Vec<usize>),
    Or(Vec<usize>),
    Always(usize),
    Eventually(usize),
}

/// One way to settle what is owed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Way {
    /// Predicates of the step.
    steps: u64,
    /// Owed next.
    next: u64,
    /// What is put off.
    put_off: u64,
}

impl<'p> Parts<'p> {
    /// Adds a formula, or its negation.
    fn add(&mut self, formula: &'p Temporal, is: bool) -> Result<usize, TooLarge> {
        let part = match formula {
            Temporal::State(set) => Part::State { set, is },
            Temporal::Step(steps) => Part::Step { steps, is },
            Temporal::Not(inner) => return self.add(inner, !is),
            Temporal::And(parts) | Temporal::Or(parts) => {
                let parts = parts.iter().map(|part| self.add(part, is)).collect::<Result<Vec<_>, _>>()?;
                if matches!(formula, Temporal::And(_)) == is { Part::And(parts) } else { Part::Or(parts) }
            }
            Temporal::Always(inner) | Temporal::Eventually(inner) => {
                let inner = self.add(inner, is)?;
                if matches!(formula, Temporal::Always(_)) == is { Part::Always(inner) } else { Part::Eventually(inner) }
            }
        };
        if let Some(place) = self.list.iter().position(|other| *other == part) {
            return Ok(place);
        }
        if self.list.len() == PARTS_MAX {
            return Err(TooLarge::Property);
        }
        self.list.push(part);
        Ok(self.list.len() - 1)
    }

    fn bits(&self, which: impl Fn(&Part) -> bool) -> u64 {
        self.list.iter().enumerate().filter(|(_, part)| which(part)).map(|(place, _)| 1 << place).sum()
    }

    /// All ways to settle what is owed at a state.
    fn settle(&self, state: StateId, owed: u64) -> Vec<Way> {
        let mut ways = Vec::new();
        self.settle_rest(state, owed, 0, Way::default(), &mut ways);
        ways
    }

    fn settle_rest(&self, state: StateId, mut owed: u64, mut done: u64, mut way: Way, ways: &mut Vec<Way>) {
        while owed != 0 {
            let place = owed.trailing_zeros() as usize;
            owed &= owed - 1;
            done |= 1 << place;
            let more = |places: &[usize]| places.iter().map(|place| 1u64 << place).fold(0, |a, b| a | b) & !done;
            match &self.list[place] {
                Part::State { set, is } if set.contains(state) == *is => {}
                Part::State { .. } => return,
                Part::Step { .. } => way.steps |= 1 << place,
                Part::And(parts) => owed |= more(parts),
                Part::Or(parts) => {
                    for &part in parts {
                        self.settle_rest(state, owed | more(&[part]), done, way, ways);
                    }
                    return;
                }
                Part::Always(inner) => {
                    way.next |= 1 << place;
                    owed |= more(&[*inner]);
                }
                Part::Eventually(inner) => {
                    self.settle_rest(state, owed | more(&[*inner]), done, way, ways);
                    way.next |= 1 << place;
                    way.put_off |= 1 << place;
                }
            }
        }
        if !ways.contains(&way) {
            ways.push(way);
        }
    }

    fn allows(&self, way: &Way, step: Option<usize>) -> bool {
        (0..self.list.len()).filter(|place| way.steps >> place & 1 == 1).all(|place| match &self.list[place] {
            Part::Step { steps, is } => step.map_or(steps.stutter, |edge| steps.edges.contains(edge as u32)) == *is,
            _ => true,
        })
    }
}
