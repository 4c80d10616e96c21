//! The explanation of a run that no serial order explains: data first, text second.

use crate::{Anomaly, Conflict, Cycle, History, UnitId, cycle, words};
use std::collections::BTreeMap;
use std::fmt;

/// Why no serial order of the units explains a run; `None` if the conflicts allow one.
///
/// The same history always gets the same explanation.
pub fn explain(history: &History) -> Option<Explanation> {
    let cycle = cycle::shortest(history)?;
    let (_, anomaly) = Anomaly::of(&cycle);
    let others = others(history, &cycle);
    let edges: Vec<Edge> = cycle.conflicts.iter().filter_map(|conflict| Edge::new(history, conflict)).collect();
    let sentences = words::sentences(history, &edges, anomaly);
    Some(Explanation { anomaly, cycle: edges, others, sentences })
}

/// Why no serial order explains a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What this is called.
    pub anomaly: &'static Anomaly,
    /// The units that must each come before the next, and the last before the first. A read of what was rolled back is
    /// a single edge.
    pub cycle: Vec<Edge>,
    /// The rest of the dependency graph: of each kind, one edge for two units, if none of the cycle is like it.
    pub others: Vec<Edge>,
    /// The same in words: a sentence for each edge of the cycle, and a conclusion.
    pub sentences: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences.join(" "))
    }
}

/// A unit that must come before another, and the conflict that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The unit that must come first.
    pub from: UnitId,
    /// The unit that must come second.
    pub to: UnitId,
    /// Why.
    pub conflict: Conflict,
}

impl Edge {
    fn new(history: &History, conflict: &Conflict) -> Option<Edge> {
        let (from, to) = history.ends(conflict)?;
        Some(Edge { from: from.unit, to: to.unit, conflict: conflict.clone() })
    }
}

/// What else is known about the order of units, without telling anything twice.
fn others(history: &History, cycle: &Cycle<'_>) -> Vec<Edge> {
    let kind = |edge: &Edge| (edge.from, edge.to, edge.conflict.kind, edge.conflict.predicate);
    let told: Vec<_> = cycle.conflicts.iter().filter_map(|c| Edge::new(history, c)).map(|edge| kind(&edge)).collect();
    let mut others: BTreeMap<_, Edge> = BTreeMap::new();
    let committed = history.conflicts.iter().filter(|conflict| !history.is_of_aborted(conflict));
    for edge in committed.filter_map(|conflict| Edge::new(history, conflict)).filter(|e| !told.contains(&kind(e))) {
        let known = others.entry(kind(&edge)).or_insert_with(|| edge.clone());
        if edge.conflict < known.conflict {
            *known = edge;
        }
    }
    others.into_values().collect()
}
