//! Loops written out a few times.

use std::collections::BTreeMap;

use super::{Edge, Graph, Node};

/// A place, and how often the head of each loop around it was come back to.
type Instance = (usize, Vec<(usize, usize)>);

/// The graph in which no loop head is come back to more than `rounds` times. What would go further is left out, and
/// `cut` says so.
pub fn unroll(graph: &Graph, rounds: usize) -> Graph {
    if graph.is_loop_free() {
        return graph.clone();
    }
    let mut work =
        Unrolling { graph, rounds, instances: BTreeMap::new(), nodes: Vec::new(), todo: Vec::new(), cut: false };
    let entry = work.instance((graph.entry, Vec::new()));
    // The way out is one place, whatever happened before.
    let exit = work.instance((graph.exit, Vec::new()));
    let mut edges = Vec::new();
    while let Some((from, at)) = work.todo.pop() {
        for edge in graph.leaving(from.0) {
            let Some(to) = work.target(&from, edge.to) else { continue };
            let on_error = match edge.on_error {
                None => None,
                Some(handler) => work.target(&from, handler),
            };
            edges.push(Edge { from: at, to, on_error, ..edge.clone() });
        }
    }
    Graph { nodes: work.nodes, edges, entry, exit, heads: Vec::new(), cut: work.cut, ..graph.clone() }
}

struct Unrolling<'g> {
    graph: &'g Graph,
    rounds: usize,
    instances: BTreeMap<Instance, usize>,
    nodes: Vec<Node>,
    todo: Vec<(Instance, usize)>,
    cut: bool,
}

impl Unrolling<'_> {
    fn instance(&mut self, instance: Instance) -> usize {
        if let Some(at) = self.instances.get(&instance) {
            return *at;
        }
        let at = self.nodes.len();
        self.nodes.push(Node { loops: Vec::new(), ..self.graph.nodes[instance.0].clone() });
        self.instances.insert(instance.clone(), at);
        self.todo.push((instance, at));
        at
    }

    /// Where an edge from an instance leads; nowhere, if that is one round too many.
    fn target(&mut self, from: &Instance, to: usize) -> Option<usize> {
        let around = &self.graph.nodes[to].loops;
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for head in around {
            let before = from.1.iter().find(|(h, _)| h == head).map(|(_, count)| *count);
            let count = match before {
                Some(count) if *head == to => count + 1,
                Some(count) => count,
                None => 0,
            };
            if count > self.rounds {
                self.cut = true;
                return None;
            }
            counts.push((*head, count));
        }
        Some(self.instance((to, counts)))
    }
}
