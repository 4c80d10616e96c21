//! Strongly connected components: where a run can go round.
//!
//! Two states are in one component if each can reach the other. A run that goes on for ever stays, from some time on,
//! in one component that has a transition inside; so every question about what happens for ever is one about
//! components.
//!
//! The algorithm is Tarjan's (1972), with a stack of our own instead of recursion: state graphs are millions of states
//! deep. It is made to be run again and again on ever smaller parts of one graph, as strong fairness needs it: what a
//! run costs depends on the part that is looked at, not on the graph.

use super::{Graph, StateId};

/// States that reach each other, in no particular order.
pub type Component = Vec<StateId>;

/// The algorithm with its memory.
#[derive(Debug)]
pub struct Tarjan {
    /// When a state was found, from 1; 0 if not yet; `DONE` if its component is known.
    found: Vec<u32>,
    low: Vec<u32>,
    open: Vec<StateId>,
    calls: Vec<(StateId, usize)>,
    clock: u32,
}

const DONE: u32 = u32::MAX;

impl Tarjan {
    /// For graphs of so many states.
    pub fn new(states: usize) -> Tarjan {
        let (found, low) = (vec![0; states], vec![0; states]);
        Tarjan { found, low, open: Vec::new(), calls: Vec::new(), clock: 0 }
    }

    /// The components of the part of the graph that is `inside` and can be reached from the roots without leaving it,
    /// those first from which no other leads away.
    pub fn components(
        &mut self,
        graph: &Graph,
        roots: impl IntoIterator<Item = StateId>,
        inside: impl Fn(StateId) -> bool,
    ) -> Vec<Component> {
        let mut components = Vec::new();
        for root in roots {
            if inside(root) && self.found[root as usize] == 0 {
                self.visit(graph, root, &inside, &mut components);
            }
        }
        for &state in components.iter().flatten() {
            self.found[state as usize] = 0;
        }
        self.clock = 0;
        components
    }

    fn visit(
        &mut self,
        graph: &Graph,
        root: StateId,
        inside: &impl Fn(StateId) -> bool,
        components: &mut Vec<Component>,
    ) {
        self.enter(graph, root);
        while let Some((state, edge)) = self.calls.last_mut() {
            let state = *state;
            if *edge < graph.edges(state).end {
                let target = graph.target(*edge);
                *edge += 1;
                match self.found[target as usize] {
                    0 if inside(target) => self.enter(graph, target),
                    0 | DONE => {}
                    when => self.low[state as usize] = self.low[state as usize].min(when),
                }
            } else {
                self.leave(state, components);
            }
        }
    }

    fn enter(&mut self, graph: &Graph, state: StateId) {
        self.clock += 1;
        self.found[state as usize] = self.clock;
        self.low[state as usize] = self.clock;
        self.open.push(state);
        self.calls.push((state, graph.edges(state).start));
    }

    fn leave(&mut self, state: StateId, components: &mut Vec<Component>) {
        self.calls.pop();
        let low = self.low[state as usize];
        if let Some(&(caller, _)) = self.calls.last() {
            self.low[caller as usize] = self.low[caller as usize].min(low);
        }
        if low == self.found[state as usize] {
            let start = self.open.iter().rposition(|&open| open == state).expect("a state is open until it is left");
            let component = self.open.split_off(start);
            for &member in &component {
                self.found[member as usize] = DONE;
            }
            components.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(states: usize, edges: &[(u32, u32)]) -> Vec<Component> {
        let graph = Graph::new(states, edges.iter().map(|&(a, b)| (a, 0, b)).collect()).expect("small");
        let mut components = Tarjan::new(states).components(&graph, 0..states as u32, |_| true);
        components.iter_mut().for_each(|component| component.sort());
        components
    }

    #[test]
    fn the_end_comes_first() {
        let found = components(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5)]);
        assert_eq!(found, [vec![3, 4], vec![0, 1, 2], vec![5]]);
    }

    #[test]
    fn a_long_way_needs_no_deep_stack() {
        let edges: Vec<_> = (0..200_000).map(|state| (state, (state + 1) % 200_000)).collect();
        assert_eq!(components(200_000, &edges).len(), 1);
    }

    #[test]
    fn components_are_what_reaches_each_other() {
        arbtest::arbtest(|u| {
            let states = u.int_in_range(1..=7usize)?;
            let mut edges = Vec::new();
            for _ in 0..u.int_in_range(0..=12)? {
                edges.push((u.choose_index(states)? as u32, u.choose_index(states)? as u32));
            }
            let mut reach = vec![vec![false; states]; states];
            (0..states).for_each(|state| reach[state][state] = true);
            for _ in 0..states {
                for &(a, b) in &edges {
                    for row in &mut reach {
                        row[b as usize] |= row[a as usize];
                    }
                }
            }
            for component in components(states, &edges) {
                let member = component[0] as usize;
                for (other, from_other) in reach.iter().enumerate() {
                    let together = reach[member][other] && from_other[member];
                    assert_eq!(component.contains(&(other as u32)), together);
                }
            }
            Ok(())
        });
    }
}
