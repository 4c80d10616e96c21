//! Fair cycles: components in which a behaviour can stay for ever without being unfair to anyone.
//!
//! A behaviour that stays in a component can take every transition of it again and again. So a component is good if
//!
//! - for every `<>`, some transition inside does not put it off;
//! - for every weakly fair action, some transition inside takes it or leaves from where it is not enabled;
//! - for every strongly fair action, some transition inside takes it, or it is enabled nowhere inside.
//!
//! If only the last fails, the behaviour can still avoid the states where the action is enabled: they are taken out and
//! what remains is cut into components again (Streett; Lichtenstein and Pnueli). For the others there is no such
//! remedy: less of a component is never better.

use super::product::Product;
use super::{Fairness, Strength};
use crate::graph::{Component, Path, StateId, Tarjan, Walk};

/// A way to a fair cycle and round it, as a path of the state graph.
pub(super) fn lasso(product: &Product, fairness: &[Fairness]) -> Option<Path> {
    let mut search = Search { product, fairness, region: vec![0; product.states.len()], regions: 1 };
    let mut tarjan = Tarjan::new(product.states.len());
    let mut open = tarjan.components(&product.graph, product.initial.iter().copied(), |_| true);
    // The component from which no other leads away comes first; the last ones are nearest to the start.
    while let Some(component) = open.pop() {
        let region = search.mark(&component);
        if !search.has_inner(&component, region) {
            continue;
        }
        match search.judge(&component, region) {
            Judgement::Fair(goals) => return Some(search.show(&component, region, &goals)),
            Judgement::Unfair => {}
            Judgement::FairWithout(states) => {
                for state in states {
                    search.region[state as usize] = 0;
                }
                let inside = |state: StateId| search.region[state as usize] == region;
                open.extend(tarjan.components(&product.graph, component, inside));
            }
        }
    }
    None
}

struct Search<'a> {
    product: &'a Product<'a>,
    fairness: &'a [Fairness],
    /// Which component a vertex is looked at in.
    region: Vec<u32>,
    regions: u32,
}

enum Judgement {
    /// A cycle is fair if it passes these transitions.
    Fair(Vec<usize>),
    Unfair,
    /// It may be without these vertices.
    FairWithout(Vec<StateId>),
}

impl Search<'_> {
    fn mark(&mut self, component: &Component) -> u32 {
        self.regions += 1;
        for &vertex in component {
            self.region[vertex as usize] = self.regions;
        }
        self.regions
    }

    /// The transitions inside: source, number.
    fn inner<'s>(&'s self, component: &'s Component, region: u32) -> impl Iterator<Item = (StateId, usize)> + 's {
        let graph = &self.product.graph;
        component
            .iter()
            .flat_map(move |&vertex| graph.edges(vertex).map(move |edge| (vertex, edge)))
            .filter(move |&(_, edge)| self.region[graph.target(edge) as usize] == region)
    }

    fn has_inner(&self, component: &Component, region: u32) -> bool {
        self.inner(component, region).next().is_some()
    }

    /// What a transition of the product is in the state graph, and what it puts off.
    fn step(&self, edge: usize) -> (Option<usize>, u64) {
        self.product.steps[self.product.graph.action(edge) as usize]
    }

    fn judge(&self, component: &Component, region: u32) -> Judgement {
        let mut goals = Vec::new();
        let mut owed = self.product.eventualities;
        while owed != 0 {
            let bit = owed & owed.wrapping_neg();
            owed ^= bit;
            match self.inner(component, region).find(|&(_, edge)| self.step(edge).1 & bit == 0) {
                Some((_, edge)) => goals.push(edge),
                None => return Judgement::Unfair,
            }
        }
        let mut without = Vec::new();
        for fairness in self.fairness {
            let enabled = |vertex: StateId| fairness.enabled.contains(self.product.states[vertex as usize]);
            let taken = |edge: usize| self.step(edge).0.is_some_and(|edge| fairness.taken.contains(edge as u32));
            let taking = self.inner(component, region).find(|&(_, edge)| taken(edge));
            let idle = || self.inner(component, region).find(|&(vertex, _)| !enabled(vertex));
            match (taking, fairness.strength) {
                (Some((_, edge)), _) => goals.push(edge),
                (None, Strength::Weak) => match idle() {
                    Some((_, edge)) => goals.push(edge),
                    None => return Judgement::Unfair,
                },
                (None, Strength::Strong) => without.extend(component.iter().copied().filter(|&vertex| enabled(vertex))),
            }
        }
        if without.is_empty() { Judgement::Fair(goals) } else { Judgement::FairWithout(without) }
    }

    /// A shortest way to the component, then round through all the goals.
    fn show(&self, component: &Component, region: u32, goals: &[usize]) -> Path {
        let graph = &self.product.graph;
        let inside = |vertex: StateId| self.region[vertex as usize] == region;
        let stem = Walk::shortest(graph, self.product.initial.iter().copied(), |_| true, inside)
            .expect("components are reached from the start");
        let start = stem.end();
        let mut round = Path::at(start);
        let mut goals = goals.to_vec();
        while let Some(goal) = goals.pop() {
            if !round.edges.contains(&Some(goal)) {
                let leg = Walk::onward(graph, [round.end()], inside, |edge, _| edge == goal);
                round = round.then(leg.expect("one gets everywhere in a component"));
            }
        }
        if round.end() != start || round.edges.is_empty() {
            let leg = Walk::onward(graph, [round.end()], inside, |_, target| target == start);
            round = round.then(leg.expect("one gets everywhere in a component"));
        }
        debug_assert!(component.contains(&start), "the way leads into the component");
        round.states.pop();
        round.back_to = Some(0);
        self.in_states(stem.then(round))
    }

    /// A path of the product as one of the state graph.
    fn in_states(&self, path: Path) -> Path {
        Path {
            states: path.states.iter().map(|&vertex| self.product.states[vertex as usize]).collect(),
            edges: path.edges.iter().map(|edge| edge.and_then(|edge| self.step(edge).0)).collect(),
            back_to: path.back_to,
        }
    }
}
