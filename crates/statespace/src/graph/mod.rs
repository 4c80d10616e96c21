//! The state graph: states are numbers, transitions are rows of an array.
//!
//! Questions about a state space (what is reachable, where can a run go round for ever) are questions about a graph of
//! millions of vertices, asked many times. So the graph is as flat as it can be: the successors of a state stand next
//! to each other in one array, and a second array says where those of each state begin.
//!
//! ```text
//!   starts   0     2     3        6        (one more than there are states)
//!            ▼     ▼     ▼        ▼
//!   targets  1  2  0     0  1  2           state 2 steps to 0, 1 and 2
//!   actions  0  1  0     1  0  0           by these actions
//! ```
//!
//! The position of a transition in these arrays is its number, so a set of transitions is a [`BitSet`] as a set of
//! states is. Predecessors are the same in the other direction, made when first asked for.

mod bits;
mod components;
mod path;

use std::ops::Range;
use std::sync::OnceLock;

pub use bits::BitSet;
pub use components::{Component, Tarjan};
pub use path::{Path, Walk};

/// The number of a state.
pub type StateId = u32;

/// The number of a transition.
pub type EdgeId = u32;

/// A state graph whose transitions carry the numbers of actions.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    starts: Vec<u32>,
    targets: Vec<StateId>,
    actions: Vec<u32>,
    backward: OnceLock<Backward>,
}

/// Who steps to a state; parallel transitions are not joined.
#[derive(Clone, Debug)]
struct Backward {
    starts: Vec<u32>,
    sources: Vec<StateId>,
}

/// More transitions than numbers for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyTransitions;

impl std::fmt::Display for TooManyTransitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the state graph has more than 4,294,967,295 transitions")
    }
}

impl std::error::Error for TooManyTransitions {}

impl Graph {
    /// A graph of so many states with these transitions: source, action, target.
    pub fn new(states: usize, mut edges: Vec<(StateId, u32, StateId)>) -> Result<Graph, TooManyTransitions> {
        edges.sort_by_key(|&(source, ..)| source);
        let mut builder = GraphBuilder::default();
        let mut rest = edges.into_iter().peekable();
        for state in 0..states as StateId {
            while let Some((_, action, target)) = rest.next_if(|&(source, ..)| source == state) {
                builder.push(action, target);
            }
            builder.close();
        }
        builder.finish()
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many transitions there are.
    pub fn transitions(&self) -> usize {
        self.targets.len()
    }

    /// The numbers of a state's transitions.
    pub fn edges(&self, state: StateId) -> Range<usize> {
        self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize
    }

    /// Where a state's transitions lead.
    pub fn successors(&self, state: StateId) -> &[StateId] {
        &self.targets[self.edges(state)]
    }

    /// Where a transition leads.
    pub fn target(&self, edge: usize) -> StateId {
        self.targets[edge]
    }

    /// Whose transition it is.
    pub fn action(&self, edge: usize) -> u32 {
        self.actions[edge]
    }

    /// Every transition: source, number, target.
    pub fn all_edges(&self) -> impl Iterator<Item = (StateId, usize, StateId)> + '_ {
        (0..self.states() as StateId)
            .flat_map(move |state| self.edges(state).map(move |edge| (state, edge, self.targets[edge])))
    }

    /// Who steps to a state, once for each transition.
    pub fn predecessors(&self, state: StateId) -> &[StateId] {
        let backward = self.backward.get_or_init(|| self.reversed());
        let range = backward.starts[state as usize] as usize..backward.starts[state as usize + 1] as usize;
        &backward.sources[range]
    }

    /// No transition leaves the state.
    pub fn is_dead(&self, state: StateId) -> bool {
        self.edges(state).is_empty()
    }

    /// The states that no transition leaves.
    pub fn dead(&self) -> BitSet {
        BitSet::of(self.states(), |state| self.is_dead(state))
    }

    fn reversed(&self) -> Backward {
        let mut starts = vec![0u32; self.states() + 2];
        for &target in &self.targets {
            starts[target as usize + 2] += 1;
        }
        for place in 2..starts.len() {
            starts[place] += starts[place - 1];
        }
        // Counting sort: `starts[t + 1]` is where the next source of `t` goes, and in the end where those of `t` end.
        let mut sources = vec![0; self.targets.len()];
        for (source, _, target) in self.all_edges() {
            let next = &mut starts[target as usize + 1];
            sources[*next as usize] = source;
            *next += 1;
        }
        starts.pop();
        Backward { starts, sources }
    }
}

/// A graph in the making: the transitions of state 0, then those of state 1, and so on.
#[derive(Debug)]
pub struct GraphBuilder {
    graph: Graph,
}

impl Default for GraphBuilder {
    fn default() -> Self {
        GraphBuilder { graph: Graph { starts: vec![0], ..Graph::default() } }
    }
}

impl GraphBuilder {
    /// One more transition of the current state.
    pub fn push(&mut self, action: u32, target: StateId) {
        self.graph.targets.push(target);
        self.graph.actions.push(action);
    }

    /// The current state has no more transitions; the next state is the current one.
    pub fn close(&mut self) {
        // Too long is found at the end: until then a start may be wrong, and is not used.
        self.graph.starts.push(self.graph.targets.len() as u32);
    }

    /// The graph.
    pub fn finish(self) -> Result<Graph, TooManyTransitions> {
        match u32::try_from(self.graph.targets.len()) {
            Ok(_) => Ok(self.graph),
            Err(_) => Err(TooManyTransitions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_every_transition() {
        let edges = vec![(2, 1, 0), (0, 0, 1), (0, 1, 2), (1, 0, 0), (2, 0, 2), (2, 0, 1)];
        let graph = Graph::new(4, edges).expect("six transitions fit");
        assert_eq!(graph.successors(2), [0, 2, 1]);
        assert_eq!(graph.predecessors(0), [1, 2]);
        assert_eq!(graph.predecessors(2), [0, 2]);
        assert_eq!(graph.predecessors(3), [0; 0]);
        assert_eq!(graph.dead().iter().collect::<Vec<_>>(), [3]);
        assert_eq!(graph.edges(1).map(|edge| graph.action(edge)).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn an_empty_graph_has_nothing() {
        let graph = Graph::new(0, Vec::new()).expect("nothing fits");
        assert_eq!((graph.states(), graph.transitions()), (0, 0));
    }
}
