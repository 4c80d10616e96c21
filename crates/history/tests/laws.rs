//! Laws of explanations, tried on random conflicts.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use isolde_history::{Change, Conflict, ConflictKind, History, Item, Op, OpId, OpKind, UnitId, explain};
use std::collections::BTreeSet;

fn random(u: &mut Unstructured) -> Result<History> {
    let mut history = History::default();
    let units = u.int_in_range(1..=6)?;
    for unit in 0..units {
        history.unit(format!("unit{unit}"));
    }
    for step in 0..u.int_in_range(1..=14)? {
        let unit = UnitId(u.int_in_range(0..=units - 1)?);
        let kind = *u.choose(&[OpKind::Select, OpKind::Insert, OpKind::Update, OpKind::Delete, OpKind::Other])?;
        let (statement, line, found_none) = ("...".to_string(), u.arbitrary()?, u.arbitrary()?);
        history.op(Op {
            unit,
            transaction: unit.0,
            step,
            through: step,
            kind,
            statement,
            file: None,
            line,
            found_none,
        });
    }
    let last = history.ops.len(); // one too far, on purpose
    for _ in 0..u.int_in_range(0..=12)? {
        let id = u.int_in_range(1..=3)?;
        let row = format!("id = {id}");
        history.conflicts.push(Conflict {
            from: OpId(u.int_in_range(0..=last)?),
            to: OpId(u.int_in_range(0..=last)?),
            kind: *u.choose(&[ConflictKind::WriteWrite, ConflictKind::WriteRead, ConflictKind::ReadWrite])?,
            item: Item { table: "t".to_string(), id, row, columns: Vec::new() },
            predicate: u.arbitrary()?,
            change: *u.choose(&[Change::Added, Change::Changed, Change::Removed])?,
            key: u.arbitrary()?,
            direct: u.arbitrary()?,
        });
    }
    Ok(history)
}

/// Which units must come before which.
fn edges(history: &History) -> BTreeSet<(UnitId, UnitId)> {
    let unit = |op: OpId| history.ops.get(op.0).map(|op| op.unit);
    let edges = history.conflicts.iter().filter_map(|conflict| unit(conflict.from).zip(unit(conflict.to)));
    edges.filter(|(from, to)| from != to).collect()
}

/// The length of a shortest cycle: the least power of the relation between units that relates one to itself.
fn shortest(history: &History) -> Option<usize> {
    let edges = edges(history);
    let mut paths = edges.clone();
    for length in 1..=history.units.len() {
        if paths.iter().any(|(from, to)| from == to) {
            return Some(length);
        }
        let longer = paths.iter().flat_map(|&(from, middle)| {
            edges.iter().filter(move |edge| edge.0 == middle).map(move |edge| (from, edge.1))
        });
        paths = longer.collect();
    }
    None
}

#[test]
fn an_explanation_is_a_shortest_cycle_of_observed_conflicts() {
    arbtest(|u| {
        let history = random(u)?;
        let explanation = explain(&history);
        assert_eq!(explanation.as_ref().map(|explanation| explanation.cycle.len()), shortest(&history));
        let Some(explanation) = explanation else { return Ok(()) };
        let cycle = &explanation.cycle;
        for (index, edge) in cycle.iter().enumerate() {
            assert!(history.conflicts.contains(&edge.conflict));
            assert_eq!(history.ops[edge.conflict.from.0].unit, edge.from);
            assert_eq!(history.ops[edge.conflict.to.0].unit, edge.to);
            assert_eq!(cycle[(index + 1) % cycle.len()].from, edge.to);
        }
        assert_eq!(explanation.sentences.len(), cycle.len() + 1);
        for edge in &explanation.others {
            assert!(history.conflicts.contains(&edge.conflict) && !cycle.contains(edge));
        }
        let known = cycle.iter().chain(&explanation.others).map(|edge| (edge.from, edge.to));
        assert_eq!(known.collect::<BTreeSet<_>>(), edges(&history), "the graph has all dependencies");
        assert!(explanation.to_string().ends_with(&format!("{}.", explanation.anomaly.phrase)));
        Ok(())
    })
    .budget_ms(400);
}

#[test]
fn the_order_in_which_conflicts_are_listed_does_not_matter() {
    arbtest(|u| {
        let mut history = random(u)?;
        let before = explain(&history);
        history.conflicts.reverse();
        let after = explain(&history);
        let story = |explanation: Option<isolde_history::Explanation>| {
            explanation.map(|explanation| (explanation.anomaly.name, explanation.sentences))
        };
        assert_eq!(story(before), story(after));
        Ok(())
    });
}
