//! Cycles as graphs of a report: of dependencies, and of threads that wait for each other.

use std::collections::BTreeSet;

use isolde_history::{ConflictKind, Edge, Explanation, History, Op};
use isolde_report::{EdgeEnd, EdgeKind, Graph, GraphEdge, Node, Place};

use crate::backend::{Backend, Holds, Wait, WaitEnd};
use crate::trace::RunOf;

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

/// Who waits for whom at the end of a run.
pub(crate) fn of_waits<B: Backend>(run: &RunOf<B>, waits: &[Wait]) -> Graph {
    let cycle = cycle(waits);
    let others = waits.iter().enumerate().filter(|(index, _)| !cycle.contains(index)).map(|(_, wait)| (wait, false));
    let edges = || cycle.iter().map(|&index| (&waits[index], true)).chain(others.clone());
    let threads = in_order(edges().flat_map(|(wait, _)| [wait.thread, wait.holder]));
    let place = |thread: usize| threads.iter().position(|known| *known == thread).unwrap_or(0);
    let nodes = threads.iter().map(|&thread| Node { name: run.system.member(thread).name.to_string() });
    let end = |thread: usize, end: Option<&WaitEnd>, otherwise: &str| EdgeEnd {
        statement: end.map_or(otherwise.into(), |end| end.verb.clone()),
        place: end.and_then(|end| end.place.clone()),
        transaction: run.transactions_ended(thread) + 1,
    };
    let edges = edges().map(|(wait, cycle)| GraphEdge {
        from: place(wait.thread),
        to: place(wait.holder),
        kind: EdgeKind::Waits,
        predicate: false,
        item: wait.item.clone().unwrap_or_else(|| "a lock".into()),
        first: end(wait.thread, Some(&wait.wants), ""),
        second: match &wait.holds {
            Holds::Since(holds) => end(wait.holder, Some(holds), ""),
            Holds::Queued => end(wait.holder, None, "its place in the queue"),
            Holds::Somehow => end(wait.holder, None, "its transaction"),
        },
        cycle,
    });
    Graph { name: "deadlock".into(), nodes: nodes.collect(), edges: edges.collect() }
}

/// The waits of a cycle, each by the thread that the one before waits for.
fn cycle(waits: &[Wait]) -> Vec<usize> {
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

/// Every number once, in the order of their first mention.
fn in_order(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    numbers.filter(|&number| seen.insert(number)).collect()
}
