//! Paths: what a verdict is shown with.
//!
//! A path that ends shows what can be reached. A path that comes back to one of its own states shows what can go on for
//! ever: a *lasso*, a way to a cycle and then round it.
//!
//! ```text
//!   0 ──▶ 1 ──▶ 2 ──▶ 3        states  [0, 1, 2, 3]
//!               ▲     │        back_to  Some(2)
//!               └─────┘
//! ```

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{Graph, StateId};

/// States one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The states passed, never none.
    pub states: Vec<StateId>,
    /// The transition taken from each state: one less than states, or as many if the path comes back. `None` is to stay
    /// where one is, which is all that a dead state can do.
    pub edges: Vec<Option<usize>>,
    /// The place in `states` to which the last transition comes back.
    pub back_to: Option<usize>,
}

impl Path {
    /// A path that stays where it begins.
    pub fn at(state: StateId) -> Path {
        Path { states: vec![state], edges: Vec::new(), back_to: None }
    }

    /// Its last state.
    pub fn end(&self) -> StateId {
        *self.states.last().expect("a path has a state")
    }

    /// Goes on by one transition.
    pub fn push(&mut self, edge: Option<usize>, state: StateId) {
        self.edges.push(edge);
        self.states.push(state);
    }

    /// Goes on along a path that begins where this one ends.
    pub fn then(mut self, rest: Path) -> Path {
        debug_assert_eq!(self.end(), rest.states[0], "a path goes on where it has come to");
        let shift = self.states.len() - 1;
        self.states.extend(&rest.states[1..]);
        self.edges.extend(rest.edges);
        self.back_to = rest.back_to.map(|place| place + shift);
        self
    }

    /// The states from some place on, once round the cycle: what is passed for ever, if it comes back.
    pub fn cycle(&self) -> &[StateId] {
        self.back_to.map_or(&[], |place| &self.states[place..])
    }

    /// Whether this is a path of the graph; staying is allowed where `stays` says so.
    pub fn is_of(&self, graph: &Graph, stays: impl Fn(StateId) -> bool) -> bool {
        let back = self.back_to.map(|place| self.states[place]);
        let ahead = self.states.iter().skip(1).copied().chain(back);
        let steps = self.states.iter().copied().zip(ahead).zip(&self.edges);
        let count = self.states.len() - usize::from(self.back_to.is_none());
        self.edges.len() == count
            && steps.into_iter().all(|((from, to), edge)| match edge {
                Some(edge) => graph.edges(from).contains(edge) && graph.target(*edge) == to,
                None => from == to && stays(from),
            })
    }
}

/// A breadth-first walk through part of a graph: finds shortest paths.
#[derive(Debug, Default)]
pub struct Walk {
    from: FxHashMap<StateId, Option<(StateId, usize)>>,
}

impl Walk {
    /// A shortest path from one of the `roots` to a state that is a `goal`, over states that are `inside`; the goal
    /// itself need not be.
    pub fn shortest(
        graph: &Graph,
        roots: impl IntoIterator<Item = StateId>,
        inside: impl Fn(StateId) -> bool,
        goal: impl Fn(StateId) -> bool,
    ) -> Option<Path> {
        let roots: Vec<StateId> = roots.into_iter().collect();
        match roots.iter().find(|&&root| goal(root)) {
            Some(&root) => Some(Path::at(root)),
            None => Walk::onward(graph, roots, inside, |_, target| goal(target)),
        }
    }

    /// A shortest path that ends with a transition which is a `goal`, given by its number and target.
    pub fn onward(
        graph: &Graph,
        roots: impl IntoIterator<Item = StateId>,
        inside: impl Fn(StateId) -> bool,
        goal: impl Fn(usize, StateId) -> bool,
    ) -> Option<Path> {
        let mut walk = Walk::default();
        let mut queue: VecDeque<StateId> = roots.into_iter().filter(|&root| inside(root)).collect();
        walk.from.extend(queue.iter().map(|&root| (root, None)));
        while let Some(state) = queue.pop_front() {
            for edge in graph.edges(state) {
                let target = graph.target(edge);
                if goal(edge, target) {
                    let mut path = walk.path_to(state);
                    path.push(Some(edge), target);
                    return Some(path);
                }
                if inside(target) && !walk.from.contains_key(&target) {
                    walk.from.insert(target, Some((state, edge)));
                    queue.push_back(target);
                }
            }
        }
        None
    }

    /// A shortest path with at least one transition from a state back to itself, over states that are `inside`.
    pub fn round(graph: &Graph, state: StateId, inside: impl Fn(StateId) -> bool) -> Option<Path> {
        let mut path = Walk::onward(graph, [state], inside, |_, target| target == state)?;
        path.states.pop();
        path.back_to = Some(0);
        Some(path)
    }

    fn path_to(&self, end: StateId) -> Path {
        let (mut states, mut edges) = (vec![end], Vec::new());
        let mut state = end;
        while let Some(&Some((before, edge))) = self.from.get(&state) {
            states.push(before);
            edges.push(Some(edge));
            state = before;
        }
        states.reverse();
        edges.reverse();
        Path { states, edges, back_to: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 2), (0, 4), (4, 3), (2, 2)];
        Graph::new(5, edges.iter().map(|&(a, b)| (a, 0, b)).collect()).expect("small")
    }

    #[test]
    fn the_shortest_way_is_found() {
        let graph = graph();
        let path = Walk::shortest(&graph, [0], |_| true, |state| state == 3).expect("3 is reached");
        assert_eq!(path.states, [0, 4, 3]);
        assert!(path.is_of(&graph, |_| false));
        let path = Walk::shortest(&graph, [0], |state| state != 4, |state| state == 3).expect("3 is reached");
        assert_eq!(path.states, [0, 1, 2, 3]);
        assert_eq!(Walk::shortest(&graph, [2], |_| true, |state| state == 0), None);
    }

    #[test]
    fn a_way_round_comes_back() {
        let graph = graph();
        let round = Walk::round(&graph, 3, |_| true).expect("3 is on a cycle");
        assert_eq!((round.states.as_slice(), round.back_to), ([3, 2].as_slice(), Some(0)));
        assert!(round.is_of(&graph, |_| false));
        assert_eq!(Walk::round(&graph, 2, |_| true).expect("2 steps to itself").states, [2]);
        assert_eq!(Walk::round(&graph, 0, |_| true), None);
        let lasso = Walk::shortest(&graph, [0], |_| true, |state| state == 3).expect("reached").then(round);
        assert_eq!((lasso.states.as_slice(), lasso.back_to), ([0, 4, 3, 2].as_slice(), Some(2)));
        assert_eq!(lasso.cycle(), [3, 2]);
        assert!(lasso.is_of(&graph, |_| false));
    }
}
