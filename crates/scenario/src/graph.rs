//! Circles as graphs of a report: of dependencies, and of threads that wait for each other.

use std::collections::BTreeSet;

use isolde_history::{ConflictKind, Edge, Explanation, History, Op};
use isolde_report::{EdgeEnd, EdgeKind, Graph, GraphEdge, Node, Place};
use isolde_sql::{Span, facts};

use crate::scenario::Scenario;
use crate::trace::Run;

/// The dependency graph of an explanation: the threads that touched what others did.
pub(crate) fn of_history(history: &History, explanation: &Explanation) -> Graph {
    let edges = || explanation.cycle.iter().map(|e| (e, true)).chain(explanation.others.iter().map(|e| (e, false)));
    let units = in_order(edges().flat_map(|(edge, _)| [edge.from.0, edge.to.0]));
    let place = |unit: usize| units.iter().position(|known| *known == unit).unwrap_or(0);
    let nodes = units.iter().map(|&unit| Node { name: history.units[unit].name.clone() });
    let edges = edges().map(|(Edge { from, to, conflict }, cycle)| GraphEdge {
        from: place(from.0),
        to: place(to.0),
        kind: match conflict.kind {
            ConflictKind::WriteWrite => EdgeKind::Ww,
            ConflictKind::WriteRead => EdgeKind::Wr,
            ConflictKind::ReadWrite => EdgeKind::Rw,
        },
        predicate: conflict.predicate,
        item: conflict.item.to_string(),
        first: end_of_op(history, &history.ops[conflict.from.0]),
        second: end_of_op(history, &history.ops[conflict.to.0]),
        cycle,
    });
    Graph { name: explanation.anomaly.name.into(), nodes: nodes.collect(), edges: edges.collect() }
}

fn end_of_op(history: &History, op: &Op) -> EdgeEnd {
    EdgeEnd {
        statement: op.kind.verb().into(),
        place: op.line.map(|line| Place { file: op.file.clone(), line }),
        transaction: history.transaction_of_unit(op),
    }
}

/// A thread that waits for something that another has locked.
pub(crate) struct Wait {
    pub(crate) thread: usize,
    pub(crate) holder: usize,
    /// What is locked: `account id = 2`.
    pub(crate) item: String,
    /// The statement that waits.
    pub(crate) wants: Span,
    /// The statement that locked it, if there was one.
    pub(crate) locked: Option<Span>,
}

/// Who waits for whom at the end of a run.
pub(crate) fn of_waits(run: &Run<'_>, waits: &[Wait]) -> Graph {
    let circle = circle(waits);
    let others = waits.iter().enumerate().filter(|(index, _)| !circle.contains(index)).map(|(_, wait)| (wait, false));
    let edges = || circle.iter().map(|&index| (&waits[index], true)).chain(others.clone());
    let threads = in_order(edges().flat_map(|(wait, _)| [wait.thread, wait.holder]));
    let place = |thread: usize| threads.iter().position(|known| *known == thread).unwrap_or(0);
    let nodes = threads.iter().map(|&thread| Node { name: run.system.scenario.threads[thread].name.to_string() });
    let edges = edges().map(|(wait, cycle)| GraphEdge {
        from: place(wait.thread),
        to: place(wait.holder),
        kind: EdgeKind::Waits,
        predicate: false,
        item: wait.item.clone(),
        first: end_of_span(run, wait.thread, Some(wait.wants)),
        second: end_of_span(run, wait.holder, wait.locked),
        cycle,
    });
    Graph { name: "deadlock".into(), nodes: nodes.collect(), edges: edges.collect() }
}

/// The waits of a circle, each by the thread that the one before waits for.
fn circle(waits: &[Wait]) -> Vec<usize> {
    let mut path: Vec<usize> = Vec::new();
    let mut next = (!waits.is_empty()).then_some(0);
    while let Some(wait) = next {
        if let Some(start) = path.iter().position(|&known| known == wait) {
            return path.split_off(start);
        }
        path.push(wait);
        let ahead = waits.iter().enumerate().filter(|(_, other)| other.thread == waits[wait].holder);
        next = ahead.map(|(index, _)| index).next();
    }
    Vec::new()
}

fn end_of_span(run: &Run<'_>, thread: usize, span: Option<Span>) -> EdgeEnd {
    let scenario = run.system.scenario;
    let ended = run.events.iter().filter(|event| event.thread == thread).flat_map(|event| &event.steps);
    let ended = ended.filter(|step| step.footprint.ended.is_some());
    EdgeEnd {
        statement: span.map_or("its place in the queue".into(), |span| first_word(scenario, span)),
        place: span.map(|span| {
            let (file, line) = scenario.sources.place(span);
            Place { file: file.map(String::from), line }
        }),
        transaction: ended.count() + 1,
    }
}

fn first_word(scenario: &Scenario, span: Span) -> String {
    facts::word(span.of(scenario.sources.text()))
}

/// Every number once, in the order of their first mention.
fn in_order(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    numbers.filter(|&number| seen.insert(number)).collect()
}
