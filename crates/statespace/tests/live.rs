//! Temporal properties against the definitions, on thousands of small graphs.
//!
//! The oracle knows nothing of components: it goes through all lassos up to a length and evaluates formulas on them by
//! what they mean. A verdict "broken" is checked by evaluating the lasso that was shown; a verdict "holds" by not
//! finding one.

#![allow(clippy::unwrap_used)]

use std::rc::Rc;

use arbtest::arbitrary::{Result, Unstructured};
use isolde_statespace::graph::{BitSet, Graph, Path};
use isolde_statespace::live::{Fairness, Steps, Strength, Temporal, violation};

#[test]
fn verdicts_are_what_lassos_say() {
    arbtest::arbtest(|u| {
        let graph = graph(u)?;
        let mut fairness = Vec::new();
        for _ in 0..u.int_in_range(0..=2)? {
            let strength = *u.choose(&[Strength::Weak, Strength::Strong])?;
            fairness.push(Fairness::of_actions(&graph, strength, &[u.int_in_range(0..=1)?]));
        }
        let property = property(u, &graph, 3)?;
        let bad = Temporal::Not(Box::new(property.clone()));
        let fair = Temporal::And(fairness.iter().map(Temporal::fair).collect());
        match violation(&graph, &[0], &fairness, &property).unwrap() {
            Some(path) => {
                assert!(path.is_of(&graph, |_| true), "{path:?} is no path");
                assert_eq!(path.states[0], 0);
                // A path that ends shows a prefix that cannot be mended; staying at its end is as good as anything.
                let lasso = stay(path.clone());
                assert!(holds(&bad, &lasso, 0), "{property:?}\nholds on {path:?}");
                assert!(path.back_to.is_none() || holds(&fair, &lasso, 0), "{path:?} is not fair");
            }
            None => {
                let found = some_lasso(&graph, &mut Path::at(0), 6, &mut |lasso| {
                    holds(&fair, lasso, 0) && holds(&bad, lasso, 0)
                });
                assert!(found.is_none(), "{property:?}\nis broken by {found:?}");
            }
        }
        Ok(())
    })
    .size_min(32)
    .budget_ms(6_000);
}

#[test]
fn fairness_makes_the_difference() {
    // Two processes: 0 spins by action 0, or steps on by action 1.
    let graph = Graph::new(3, vec![(0, 0, 1), (1, 0, 0), (0, 1, 2)]).unwrap();
    let goal = Temporal::eventually(Temporal::State(Rc::new(BitSet::of(3, |state| state == 2))));
    let check = |fairness: &[Fairness]| violation(&graph, &[0], fairness, &goal).unwrap();
    let weak = Fairness::of_actions(&graph, Strength::Weak, &[1]);
    let weak_spin = Fairness::of_actions(&graph, Strength::Weak, &[0]);
    let strong = Fairness::of_actions(&graph, Strength::Strong, &[1]);
    assert_eq!(check(&[]).unwrap().edges, [None], "it stutters");
    assert_eq!(check(std::slice::from_ref(&weak)).unwrap().states, [0, 1], "it stops where the action is not enabled");
    assert_eq!(check(&[weak, weak_spin]).unwrap().cycle().len(), 2, "it spins");
    assert_eq!(check(&[strong, Fairness::of_actions(&graph, Strength::Weak, &[0])]), None, "it gets there");
}

fn graph(u: &mut Unstructured) -> Result<Graph> {
    let states = u.int_in_range(1..=4usize)?;
    let mut edges = Vec::new();
    for _ in 0..u.int_in_range(0..=6)? {
        edges.push((u.choose_index(states)? as u32, u.int_in_range(0..=1)?, u.choose_index(states)? as u32));
    }
    Ok(Graph::new(states, edges).unwrap())
}

fn set(u: &mut Unstructured, len: usize) -> Result<BitSet> {
    let bits: u64 = u.arbitrary()?;
    Ok(BitSet::of(len, |id| bits >> id & 1 == 1))
}

fn property(u: &mut Unstructured, graph: &Graph, depth: usize) -> Result<Temporal> {
    if depth == 0 || u.ratio(1, 8)? {
        return Ok(match u.ratio(2, 3)? {
            true => Temporal::State(Rc::new(set(u, graph.states())?)),
            false => {
                let steps = Steps { edges: set(u, graph.transitions())?, stutter: u.arbitrary()? };
                Temporal::Step(Rc::new(steps))
            }
        });
    }
    let part = |u: &mut Unstructured| property(u, graph, depth - 1);
    Ok(match u.int_in_range(0..=7)? {
        0 => Temporal::Not(Box::new(part(u)?)),
        1 => Temporal::And(vec![part(u)?, part(u)?]),
        2 => Temporal::Or(vec![part(u)?, part(u)?]),
        3 => Temporal::leads_to(part(u)?, part(u)?),
        4 | 5 => Temporal::always(part(u)?),
        _ => Temporal::eventually(part(u)?),
    })
}

fn stay(mut path: Path) -> Path {
    if path.back_to.is_none() {
        path.edges.push(None);
        path.back_to = Some(path.states.len() - 1);
    }
    path
}

/// The first lasso of at most so many further steps that is wanted.
fn some_lasso(graph: &Graph, path: &mut Path, more: usize, wanted: &mut impl FnMut(&Path) -> bool) -> Option<Path> {
    let end = path.end();
    for step in graph.edges(end).map(Some).chain([None]) {
        let target = step.map_or(end, |edge| graph.target(edge));
        for back in (0..path.states.len()).filter(|&place| path.states[place] == target).collect::<Vec<_>>() {
            path.edges.push(step);
            path.back_to = Some(back);
            if wanted(path) {
                return Some(path.clone());
            }
            path.edges.pop();
            path.back_to = None;
        }
        if more > 1 {
            path.push(step, target);
            let found = some_lasso(graph, path, more - 1, wanted);
            path.edges.pop();
            path.states.pop();
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Whether a formula holds of the rest of a lasso.
fn holds(formula: &Temporal, lasso: &Path, at: usize) -> bool {
    // From a place, the places to come are those behind it and all of the cycle.
    let ahead = || at.min(lasso.back_to.unwrap())..lasso.states.len();
    match formula {
        Temporal::State(set) => set.contains(lasso.states[at]),
        Temporal::Step(steps) => lasso.edges[at].map_or(steps.stutter, |edge| steps.edges.contains(edge as u32)),
        Temporal::Not(inner) => !holds(inner, lasso, at),
        Temporal::And(parts) => parts.iter().all(|part| holds(part, lasso, at)),
        Temporal::Or(parts) => parts.iter().any(|part| holds(part, lasso, at)),
        Temporal::Always(inner) => ahead().all(|place| holds(inner, lasso, place)),
        Temporal::Eventually(inner) => ahead().any(|place| holds(inner, lasso, place)),
    }
}
