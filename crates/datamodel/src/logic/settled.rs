//! What needs no solver: rules that settle whatever names what goes.
//!
//! That nothing dangles after a delete is plain where every object that the delete can reach goes *with* its rules, and
//! its class has a rule without a condition about everything that may name it: whoever named it is gone, or names
//! nothing any more. The same for the pairs of a join. And the database stops no delete where every foreign key that
//! would is dealt with in this way before the row goes. Everything else is a question for a solver; this answers "yes"
//! or nothing.

use super::schema::{Action, Reach, Reached, Schema, Semantics};
use crate::model::{ClassId, JoinId, OnDelete, Path, ReferenceId, Side};
use crate::property::{Formula, Moment, Number, Property, Way};

/// Whether a property is plainly true: that nothing dangles by a reference, or in a join, after a delete, or that the
/// database lets it go through.
pub fn settled(schema: &Schema<'_>, property: &Property) -> bool {
    let Some(variable) = property.delete else { return false };
    let reached = || schema.reach(property.variables[variable.0].class);
    if schema.unclear_in(&reached()).is_some() {
        return false;
    }
    match shape(schema, property) {
        Some(Shape::Reference(reference)) => reference_is_settled(schema, reference, &reached()),
        Some(Shape::Pairs(join)) => pairs_are_settled(schema, join, &reached()),
        Some(Shape::Raises) => nothing_raises(schema, &reached()),
        None => false,
    }
}

enum Shape {
    Reference(ReferenceId),
    Pairs(JoinId),
    Raises,
}

/// What a property says, if it is of one of these kinds.
fn shape(schema: &Schema<'_>, property: &Property) -> Option<Shape> {
    match &property.formula {
        Formula::Not(inner) => match **inner {
            Formula::Torn(join) => Some(Shape::Pairs(join)),
            Formula::Raises => Some(Shape::Raises),
            _ => None,
        },
        Formula::Quantified(Number::All, _, Moment::After, body) => {
            let Formula::Not(inner) = &**body else { return None };
            let Formula::Dangling(set) = &**inner else { return None };
            match set.steps.as_slice() {
                [step] if set.moment == Moment::After => match step.ways.as_slice() {
                    [(_, Way::Reference(reference))] => Some(Shape::Reference(*reference)),
                    [(_, Way::Association(id))] => match schema.path(*id) {
                        Path::Own(reference) => Some(Shape::Reference(*reference)),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn reference_is_settled(schema: &Schema<'_>, reference: ReferenceId, reached: &Reached) -> bool {
    let stored = &schema.references[reference.0];
    !stored.targets.is_empty()
        && stored.targets.iter().all(|target| {
            let root = schema.root(*target);
            !reached.contains(root)
                || stored.database.is_some() && schema.row_goes(root)
                || !reached.deleted.contains(&root) && every_kind(schema, *target, Reach::Children(reference), false)
        })
}

fn pairs_are_settled(schema: &Schema<'_>, join: JoinId, reached: &Reached) -> bool {
    let declared = schema.model.join(join);
    let sides = [(declared.left, Side::Left), (declared.right, Side::Right)];
    sides.into_iter().all(|(class, side)| {
        let root = schema.root(class);
        !reached.contains(root)
            || schema.pairs_are_guarded(join) && schema.row_goes(root)
            || !reached.deleted.contains(&root) && every_kind(schema, class, Reach::Pairs(join, side), false)
    })
}

fn nothing_raises(schema: &Schema<'_>, reached: &Reached) -> bool {
    let references = (0..schema.references.len()).map(ReferenceId);
    let keys = references.into_iter().all(|reference| key_is_dealt_with(schema, reference, reached));
    let joins = (0..schema.model.joins.len()).map(JoinId).all(|join| {
        let declared = schema.model.join(join);
        let sides = [(declared.left, Side::Left), (declared.right, Side::Right)];
        matches!(declared.on_delete, None | Some(OnDelete::Cascade))
            || sides.into_iter().all(|(class, side)| {
                let root = schema.root(class);
                !reached.contains(root)
                    || !reached.deleted.contains(&root) && every_kind(schema, class, Reach::Pairs(join, side), false)
            })
    });
    keys && joins
}

/// Whether a foreign key stops nothing: no row goes that it is about, or all that name it are dealt with, or refused,
/// before.
fn key_is_dealt_with(schema: &Schema<'_>, reference: ReferenceId, reached: &Reached) -> bool {
    let stored = &schema.references[reference.0];
    let mut touched = stored.targets.iter().filter(|target| reached.contains(schema.root(**target)));
    let nullified = |target: &ClassId| {
        let root = schema.root(*target);
        stored.database == Some(OnDelete::SetNull)
            || schema.rules.iter().any(|rule| {
                let here = rule.reach == Reach::Children(reference) && schema.root(rule.owner) == root;
                here && rule.action == Action::Nullify
            })
    };
    let child = schema.reach(schema.child(reference));
    touched.all(|target| {
        let root = schema.root(*target);
        // What is being deleted already, further up, is not deleted in time.
        let in_time = schema.semantics == Semantics::Django || !child.contains(root);
        let dealt_with = match stored.database {
            None | Some(OnDelete::Cascade | OnDelete::SetNull) => true,
            Some(OnDelete::NoAction | OnDelete::Restrict | OnDelete::SetDefault) => {
                in_time
                    && !reached.deleted.contains(&root)
                    && every_kind(schema, *target, Reach::Children(reference), true)
            }
        };
        dealt_with && !(stored.not_null && nullified(target))
    })
}

/// Whether objects of a class, and of every class below it, have a rule that settles all of these; or refuses, if that
/// counts.
fn every_kind(schema: &Schema<'_>, class: ClassId, reach: Reach, or_refuses: bool) -> bool {
    let kinds = (0..schema.model.classes.len()).map(ClassId).filter(|kind| schema.model.is_a(*kind, class));
    kinds.into_iter().all(|kind| {
        schema.rules_of(kind).any(|rule| {
            let whole = rule.condition.is_none() && rule.filled.is_none();
            let refuses = matches!(rule.action, Action::Refuse | Action::RefuseOthers);
            rule.reach == reach && whole && (rule.action.settles() || or_refuses && refuses)
        })
    })
}
