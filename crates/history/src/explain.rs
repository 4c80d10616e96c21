//! The explanation of a run that no serial order explains: data first, text second.

use crate::{Anomaly, Conflict, History, UnitId, cycle, words};
use std::fmt;

/// Why no serial order of the units explains a run; `None` if the conflicts allow one.
///
/// The same history always gets the same explanation.
pub fn explain(history: &History) -> Option<Explanation> {
    let cycle = cycle::shortest(history)?;
    let (_, anomaly) = Anomaly::of(&cycle);
    let edges = cycle.conflicts.iter().filter_map(|&conflict| {
        let (from, to) = history.ends(conflict)?;
        Some(Edge { from: from.unit, to: to.unit, conflict: conflict.clone() })
    });
    let edges: Vec<Edge> = edges.collect();
    let sentences = words::sentences(history, &edges, anomaly);
    Some(Explanation { anomaly, cycle: edges, sentences })
}

/// Why no serial order explains a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What this is called.
    pub anomaly: &'static Anomaly,
    /// The units that must each come before the next, and the last before the first.
    pub cycle: Vec<Edge>,
    /// The same in words: a sentence for each edge, and a conclusion.
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
