//! Which conditions an object can meet together.
//!
//! Conditions that are understood are facts about columns. For the objects of one root, every choice of values for the
//! columns that are mentioned is a world: it says which conditions are met, and which references are filled. Nothing
//! else can be.
//!
//! ```text
//!   where(comment_id: nil)        comment_id is NULL        the first is met, the reference `comment` is empty
//!   where.not(comment_id: nil)    comment_id is something   the second is met, it is filled
//! ```
//!
//! Conditions that are not understood are no part of worlds: an object may meet them or not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::schema::Schema;
use crate::model::{ClassId, ColumnFact, Literal, ReferenceId};

/// A choice of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct World {
    /// The conditions that are met, of those that are understood.
    pub meets: BTreeSet<usize>,
    /// Which references are filled, of those whose columns are mentioned.
    pub filled: BTreeMap<ReferenceId, bool>,
}

/// More choices than this are not enumerated; the conditions are then not understood.
const WORLDS_MAX: usize = 2048;

/// A value of a column, as far as it matters.
#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Null,
    Value(Literal),
    /// None of those that are mentioned.
    Other,
}

/// The worlds of each root that has conditions which are understood.
pub(super) fn worlds(schema: &Schema<'_>) -> BTreeMap<ClassId, Vec<World>> {
    let roots: BTreeSet<ClassId> = schema.conditions.iter().map(|condition| condition.root).collect();
    roots.into_iter().filter_map(|root| Some((root, of_root(schema, root)?))).collect()
}

fn of_root(schema: &Schema<'_>, root: ClassId) -> Option<Vec<World>> {
    let meaning = |index: usize| schema.model.meanings.get(&schema.conditions[index].text);
    let known: Vec<(usize, &Vec<ColumnFact>)> = (0..schema.conditions.len())
        .filter(|index| schema.conditions[*index].root == root)
        .filter_map(|index| Some((index, meaning(index)?)))
        .collect();
    let facts = || known.iter().flat_map(|(_, facts)| facts.iter());
    let columns: BTreeSet<&Arc<str>> = facts().map(|fact| &fact.column).collect();
    let mut choices: Vec<(&Arc<str>, Option<ReferenceId>, Vec<Choice>)> = Vec::new();
    let mut count = 1;
    for column in columns {
        let literals: BTreeSet<&Literal> =
            facts().filter(|fact| fact.column == *column).flat_map(|fact| fact.values.iter().flatten()).collect();
        let kinds: BTreeSet<u8> = literals.iter().map(|literal| kind(literal)).collect();
        // A number and a text may be the same value of an enum.
        if kinds.len() > 1 {
            return None;
        }
        let reference = reference_of(schema, root, column);
        let is_bool = literals.iter().any(|literal| matches!(literal, Literal::Bool(_)));
        let mut domain: Vec<Choice> = match is_bool {
            true => [true, false].map(|value| Choice::Value(Literal::Bool(value))).to_vec(),
            false => literals.into_iter().cloned().map(Choice::Value).chain([Choice::Other]).collect(),
        };
        if !is_filled(schema, root, column, reference) {
            domain.push(Choice::Null);
        }
        count *= domain.len();
        if count > WORLDS_MAX {
            return None;
        }
        choices.push((column, reference, domain));
    }
    let mut found: BTreeSet<World> = BTreeSet::new();
    for number in 0..count {
        let mut rest = number;
        let mut chosen: BTreeMap<&str, &Choice> = BTreeMap::new();
        let mut filled = BTreeMap::new();
        for (column, reference, domain) in &choices {
            let choice = &domain[rest % domain.len()];
            rest /= domain.len();
            chosen.insert(column, choice);
            filled.extend(reference.map(|reference| (reference, *choice != Choice::Null)));
        }
        let is_met = |facts: &[ColumnFact]| facts.iter().all(|fact| holds(fact, chosen[&*fact.column]));
        let meets = known.iter().filter(|(_, facts)| is_met(facts)).map(|(index, _)| *index).collect();
        found.insert(World { meets, filled });
    }
    Some(found.into_iter().collect())
}

fn kind(literal: &Literal) -> u8 {
    match literal {
        Literal::Bool(_) => 0,
        Literal::Int(_) => 1,
        Literal::Text(_) => 2,
    }
}

/// Whether a fact is true of a value, as in SQL: what is NULL is none of some values only if that is not asked of it.
fn holds(fact: &ColumnFact, choice: &Choice) -> bool {
    let is_listed = match choice {
        Choice::Null => fact.values.contains(&None),
        Choice::Value(literal) => fact.values.iter().flatten().any(|value| value == literal),
        Choice::Other => false,
    };
    match fact.is_one {
        true => is_listed,
        false => !is_listed && *choice != Choice::Null,
    }
}

/// The reference that a column of a root's table is.
fn reference_of(schema: &Schema<'_>, root: ClassId, column: &str) -> Option<ReferenceId> {
    let mut ids = (0..schema.references.len()).map(ReferenceId);
    ids.find(|id| {
        let declared = schema.model.reference(*id);
        declared.child == root && declared.column.as_deref() == Some(column)
    })
}

fn is_filled(schema: &Schema<'_>, root: ClassId, column: &str, reference: Option<ReferenceId>) -> bool {
    let table = schema.model.class(root).table.as_ref();
    let by_table = table.is_some_and(|table| schema.model.not_null.contains(&(table.clone(), column.into())));
    by_table || reference.is_some_and(|reference| schema.references[reference.0].filled)
}
