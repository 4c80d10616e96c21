//! All findings of a search, each of them once.
//!
//! A search that does not stop at the first violation meets the same one again and again: in every run in which the
//! same statements overlap in the same way, and in every later state of such a run. Two violations are *alike* if they
//! break the same property through the same cycle of statements:
//!
//! ```text
//!   final sum:  line 4 reads what line 12 then changes (rw), line 12 writes what line 5 then overwrites (ww)
//! ```
//!
//! Which threads run the statements, and on which rows, makes no difference; so the copies of a thread give one
//! finding. A cycle has no first edge, so it begins with the least one. What has no cycle (an error, a serial order
//! that breaks the property) is known by the last statement of its run.

use isolde_explore::Schedule;
use isolde_report::{EdgeEnd, EdgeKind, Graph, Place};

use crate::backend::Backend;
use crate::check::follow;
use crate::checker::Finding;
use crate::system::Choice;
use crate::trouble::Trouble;

/// Findings after which a search stops.
pub(crate) const FINDINGS_MAX: usize = 20;

/// What two violations have in common that are told only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Likeness {
    property: String,
    cycle: Vec<Link>,
    /// Without a cycle: the last statement.
    last: Option<At>,
}

/// An edge of a cycle, by its statements.
type Link = (u8, At, At);

/// A statement and its place.
type At = (Option<String>, u32, String);

impl Likeness {
    /// Of a finding, by following its schedule once more.
    pub(crate) fn of<B: Backend>(system: B, finding: &Finding) -> Result<Likeness, Trouble> {
        let run = follow(system.without(finding.absent), &finding.schedule)?;
        let graph = finding.property.on::<B>().explain(&run)?.graph;
        let cycle = graph.as_ref().map(cycle).unwrap_or_default();
        let last = match cycle.is_empty() {
            true => run.trace()?.steps.iter().rev().find_map(|step| Some(at(&step.statement, step.place.as_ref()?))),
            false => None,
        };
        Ok(Likeness { property: finding.violation.name.clone(), cycle, last })
    }
}

fn cycle(graph: &Graph) -> Vec<Link> {
    let end = |end: &EdgeEnd| match &end.place {
        Some(place) => at(&end.statement, place),
        None => (None, 0, end.statement.clone()),
    };
    let kind = |kind: EdgeKind| match kind {
        EdgeKind::Ww => 0,
        EdgeKind::Wr => 1,
        EdgeKind::Rw => 2,
        EdgeKind::Waits => 3,
    };
    let edges = graph.edges.iter().filter(|edge| edge.cycle);
    let mut links: Vec<Link> = edges.map(|edge| (kind(edge.kind), end(&edge.first), end(&edge.second))).collect();
    let least = (0..links.len()).min_by_key(|&start| [&links[start..], &links[..start]].concat());
    links.rotate_left(least.unwrap_or(0));
    links
}

fn at(statement: &str, place: &Place) -> At {
    (place.file.clone(), place.line, statement.to_string())
}

/// What a search has found so far.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    /// In the order in which they were met.
    pub(crate) known: Vec<(Likeness, Finding)>,
    /// Schedules that have broken a property, by its name: whatever follows them breaks it no more.
    broken: Vec<(Schedule<Choice>, String)>,
}

impl Findings {
    /// Adds a finding unless there is one like it.
    pub(crate) fn add<B: Backend>(&mut self, system: B, finding: &Finding) -> Result<(), Trouble> {
        let schedule = &finding.schedule;
        self.broken.retain(|(earlier, _)| schedule.steps.starts_with(&earlier.steps));
        if self.broken.iter().any(|(_, name)| *name == finding.violation.name) {
            return Ok(());
        }
        self.broken.push((schedule.clone(), finding.violation.name.clone()));
        let likeness = Likeness::of(system, finding)?;
        if !self.known.iter().any(|(known, _)| *known == likeness) {
            self.known.push((likeness, finding.clone()));
        }
        Ok(())
    }

    /// Whether there are as many as are told.
    pub(crate) fn are_many(&self) -> bool {
        self.known.len() >= FINDINGS_MAX
    }
}
