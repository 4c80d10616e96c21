//! Labelling: the states in which a formula holds.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{Core, Formula};
use crate::graph::{BitSet, Graph, StateId};

/// Where labels come from, and where they go.
pub trait Labels {
    /// Why an atom has none.
    type Error;

    /// The states in which TLA+ text is true.
    fn atom(&mut self, text: &str) -> Result<BitSet, Self::Error>;

    /// A label that was kept under the name of its formula.
    fn known(&mut self, _name: &str) -> Result<Option<BitSet>, Self::Error> {
        Ok(None)
    }

    /// A label to keep under the name of its formula, for the next time.
    fn learned(&mut self, _name: &str, _label: &BitSet) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Any function from text to states will do.
impl<E, F: FnMut(&str) -> Result<BitSet, E>> Labels for F {
    type Error = E;

    fn atom(&mut self, text: &str) -> Result<BitSet, E> {
        self(text)
    }
}

/// Decides formulas about one graph, and remembers what every part came to.
#[derive(Debug)]
pub struct Checker<'g, L> {
    pub(super) graph: &'g Graph,
    labels: L,
    memory: FxHashMap<Rc<Core>, Rc<BitSet>>,
}

impl<'g, L: Labels> Checker<'g, L> {
    /// About a graph, with its labels.
    pub fn new(graph: &'g Graph, labels: L) -> Checker<'g, L> {
        Checker { graph, labels, memory: FxHashMap::default() }
    }

    /// The states in which a formula holds.
    pub fn states(&mut self, formula: &Formula) -> Result<Rc<BitSet>, L::Error> {
        self.label(&Core::of(formula))
    }

    /// The first of these states in which a formula does not hold.
    pub fn failing(
        &mut self,
        formula: &Formula,
        initial: impl IntoIterator<Item = StateId>,
    ) -> Result<Option<StateId>, L::Error> {
        let holds = self.states(formula)?;
        Ok(initial.into_iter().find(|&state| !holds.contains(state)))
    }

    /// The states in which a formula of few operators holds.
    pub(super) fn label(&mut self, core: &Rc<Core>) -> Result<Rc<BitSet>, L::Error> {
        if let Some(label) = self.memory.get(core) {
            return Ok(label.clone());
        }
        // Only what costs a walk is worth keeping; the rest is made of it in no time.
        let name = (!core.is_local()).then(|| core.to_string());
        let kept = name.as_deref().map(|name| self.labels.known(name)).transpose()?.flatten();
        let label = match kept {
            Some(label) if label.universe() == self.graph.states() => label,
            _ => {
                let label = self.compute(core)?;
                if let (Some(name), Core::Ex(_) | Core::Eu(..) | Core::Eg(_)) = (name, &**core) {
                    self.labels.learned(&name, &label)?;
                }
                label
            }
        };
        let label = Rc::new(label);
        self.memory.insert(core.clone(), label.clone());
        Ok(label)
    }

    fn compute(&mut self, core: &Core) -> Result<BitSet, L::Error> {
        Ok(match core {
            Core::True => BitSet::all(self.graph.states()),
            Core::Atom(text) => self.labels.atom(text)?,
            Core::Not(f) => BitSet::clone(&*self.label(f)?).complement(),
            Core::And(f, g) => BitSet::clone(&*self.label(f)?).and(&*self.label(g)?),
            Core::Or(f, g) => BitSet::clone(&*self.label(f)?).or(&*self.label(g)?),
            Core::Ex(f) => some_next(self.graph, &*self.label(f)?),
            Core::Eu(f, g) => some_until(self.graph, &*self.label(f)?, &*self.label(g)?),
            Core::Eg(f) => some_globally(self.graph, &*self.label(f)?),
        })
    }
}

/// States with a step into the set. Who cannot step stays.
fn some_next(graph: &Graph, goal: &BitSet) -> BitSet {
    let mut label = BitSet::none(graph.states());
    for state in goal.iter() {
        if graph.is_dead(state) {
            label.insert(state);
        }
        for &before in graph.predecessors(state) {
            label.insert(before);
        }
    }
    label
}

/// From the goal backwards, over states that may be passed; each state is looked at once.
fn some_until(graph: &Graph, over: &BitSet, goal: &BitSet) -> BitSet {
    let mut label = goal.clone();
    let mut frontier: Vec<StateId> = goal.iter().collect();
    while let Some(state) = frontier.pop() {
        for &before in graph.predecessors(state) {
            if over.contains(before) && label.insert(before) {
                frontier.push(before);
            }
        }
    }
    label
}

/// Everything, without the states that have no step left inside; with a counter of the steps left, each transition is
/// looked at once. No components are needed.
fn some_globally(graph: &Graph, inside: &BitSet) -> BitSet {
    let mut label = inside.clone();
    let mut left: Vec<u32> = vec![0; graph.states()];
    let mut leaving = Vec::new();
    for state in inside.iter() {
        let count = graph.successors(state).iter().filter(|&&target| inside.contains(target)).count();
        left[state as usize] = count as u32;
        if count == 0 && !graph.is_dead(state) {
            leaving.push(state);
            label.remove(state);
        }
    }
    while let Some(state) = leaving.pop() {
        for &before in graph.predecessors(state) {
            if !label.contains(before) {
                continue;
            }
            left[before as usize] -= 1;
            if left[before as usize] == 0 {
                label.remove(before);
                leaving.push(before);
            }
        }
    }
    label
}
