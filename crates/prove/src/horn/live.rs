//! What is still read behind a place.

use std::collections::BTreeSet;

use isolde_sql::typed::ExprKind;

use crate::ir::{Action, Graph};
use crate::plan::each_expr;

/// Something that a state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Variable(usize),
    Cursor(usize),
    Saved(usize),
    Error,
}

/// For each node, what is read behind it before it is written.
pub(super) fn live(graph: &Graph) -> Vec<BTreeSet<Thing>> {
    let mut live = vec![BTreeSet::new(); graph.nodes.len()];
    loop {
        let mut changed = false;
        for edge in graph.edges.iter().rev() {
            let (reads, writes) = touched(&edge.action);
            let mut here: BTreeSet<Thing> = live[edge.to].difference(&writes).copied().collect();
            here.extend(reads);
            if let Some(handler) = edge.on_error {
                // The error is what sends it there.
                here.extend(
                    live[handler]
                        .iter()
                        .filter(|thing| **thing != Thing::Error || matches!(edge.action, Action::Again)),
                );
            }
            for thing in here {
                changed |= live[edge.from].insert(thing);
            }
        }
        if !changed {
            return live;
        }
    }
}

fn touched(action: &Action) -> (BTreeSet<Thing>, BTreeSet<Thing>) {
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    each_expr(action, &mut |expr| {
        expr.walk(0, &mut |e, _| {
            if let ExprKind::Param(variable) = e.kind {
                reads.insert(Thing::Variable(variable));
            }
        });
    });
    match action {
        Action::Assign(variable, _) | Action::Havoc(variable) => drop(writes.insert(Thing::Variable(*variable))),
        Action::Read(read) => writes.extend(read.into.iter().map(|(v, _)| *v).chain(read.found).map(Thing::Variable)),
        Action::Write(write) => {
            let all = write.into.iter().map(|(v, _)| *v).chain(write.found).chain(write.count);
            writes.extend(all.map(Thing::Variable));
        }
        Action::Open(cursor, _) => drop(writes.insert(Thing::Cursor(*cursor))),
        Action::Fetch(cursor, into) => {
            reads.insert(Thing::Cursor(*cursor));
            writes.extend(into.iter().map(|(v, _)| Thing::Variable(*v)));
        }
        Action::Drained(cursor) => drop(reads.insert(Thing::Cursor(*cursor))),
        Action::Save(mark) => drop(writes.insert(Thing::Saved(*mark))),
        Action::Restore(mark) => drop(reads.insert(Thing::Saved(*mark))),
        Action::Catch(..) | Action::Again => drop(reads.insert(Thing::Error)),
        Action::Skip | Action::Begin | Action::Assume(..) | Action::Raise(_) => {}
    }
    (reads, writes)
}
