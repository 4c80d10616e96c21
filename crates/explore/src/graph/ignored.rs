//! Threads that a cycle ignores.
//!
//! A reduction that takes only what is independent of the rest can go round in cycles and never take the rest. A set of
//! nodes that all lead to each other and to nothing else is where such a search ends up; there every thread that could
//! act must act somewhere. (Tarjan's algorithm, with its recursion written out.)

use super::Node;
use crate::System;
use rustc_hash::FxHashSet;

/// For each closed cycle that ignores threads: a node on it, and one of these threads.
pub(super) fn find<S: System>(nodes: &[Node<S>]) -> Vec<(usize, u64)> {
    let mut ignored = Vec::new();
    closed_components(nodes, |component| {
        let acting: FxHashSet<u64> = component
            .iter()
            .flat_map(|&node| nodes[node].moves.iter().filter(|m| m.to.is_some()).map(|m| m.thread))
            .collect();
        let idle = component.iter().find_map(|&node| {
            let idle = nodes[node].moves.iter().find(|m| !m.planned && !acting.contains(&m.thread))?;
            Some((node, idle.thread))
        });
        ignored.extend(idle);
    });
    ignored
}

/// Calls `found` for every set of nodes that lead to each other and to nothing else, single ends of runs excepted.
fn closed_components<S: System>(nodes: &[Node<S>], mut found: impl FnMut(&[usize])) {
    const UNSEEN: usize = usize::MAX;
    const DONE: usize = usize::MAX - 1;
    let targets = |node: usize| nodes[node].moves.iter().filter_map(|m| m.to);
    // `low[n]`: the earliest node of the stack known to be reachable from n; `open[n]`: nothing outside is.
    let mut low = vec![UNSEEN; nodes.len()];
    let mut closed = vec![true; nodes.len()];
    let mut stack: Vec<usize> = Vec::new();
    let mut calls: Vec<(usize, usize, usize)> = Vec::new();
    let mut count = 0;
    for root in 0..nodes.len() {
        if low[root] != UNSEEN {
            continue;
        }
        calls.push((root, count, 0));
        while let Some((node, number, next)) = calls.pop() {
            if next == 0 {
                low[node] = number;
                count = number + 1;
                stack.push(node);
            }
            match targets(node).nth(next) {
                Some(to) => {
                    calls.push((node, number, next + 1));
                    match low[to] {
                        UNSEEN => calls.push((to, count, 0)),
                        DONE => closed[node] = false,
                        reached => low[node] = low[node].min(reached),
                    }
                }
                None => {
                    if low[node] == number {
                        let start = stack.iter().rposition(|&n| n == node).expect("a node waits until it is done");
                        let component = stack.split_off(start);
                        if component.iter().all(|&n| closed[n]) && targets(node).next().is_some() {
                            found(&component);
                        }
                        component.iter().for_each(|&n| low[n] = DONE);
                        // What led here leads out of its own component.
                        if let Some(&(parent, ..)) = calls.last() {
                            closed[parent] = false;
                        }
                    } else if let Some(&(parent, ..)) = calls.last() {
                        low[parent] = low[parent].min(low[node]);
                    }
                }
            }
        }
    }
}
