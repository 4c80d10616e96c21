//! Properties made without text, for [obligations](crate::obligation): names of tables may be anything.

use super::{Formula, Mode, Moment, Number, Property, Set, Step, Variable, VariableId, Way};
use crate::model::{ClassId, DataModel, JoinId, ReferenceId, Target};

/// The object that is deleted, and another.
const DELETED: VariableId = VariableId(0);
const EACH: VariableId = VariableId(1);

/// After the delete of an object of a class nothing names by this reference what is gone.
pub(crate) fn no_dangling(model: &DataModel, reference: ReferenceId, class: ClassId) -> Property {
    let dangles = Formula::Dangling(named(model, reference, Moment::After));
    let formula = Formula::Quantified(Number::All, EACH, Moment::After, Box::new(not(dangles)));
    let text = format!("no dangling {} after {}", stored(model, reference), model.class(class).name);
    about(model, class, Some(reference), text, Mode::Always, formula)
}

/// After the delete of an object of a class no pair of a join names what is gone.
pub(crate) fn no_torn_pairs(model: &DataModel, join: JoinId, class: ClassId) -> Property {
    let text = format!("no dangling rows of {} after {}", model.join(join).name, model.class(class).name);
    about(model, class, None, text, Mode::Always, not(Formula::Torn(join)))
}

/// After the delete of an object of a class whatever named something by this reference still does.
pub(crate) fn not_emptied(model: &DataModel, reference: ReferenceId, class: ClassId) -> Property {
    let had = Formula::Has(Number::Some, named(model, reference, Moment::Before));
    let has = Formula::Has(Number::Some, named(model, reference, Moment::After));
    let keeps = Formula::Implies(Box::new(had), Box::new(has));
    let formula = Formula::Quantified(Number::All, EACH, Moment::After, Box::new(keeps));
    let text = format!("{} still filled after {}", stored(model, reference), model.class(class).name);
    about(model, class, Some(reference), text, Mode::Always, formula)
}

/// The database lets every object of a class be deleted.
pub(crate) fn never_raises(model: &DataModel, class: ClassId) -> Property {
    let text = format!("after delete x: {} | not raises", model.class(class).name);
    about(model, class, None, text, Mode::Always, not(Formula::Raises))
}

/// Some object of a class can be deleted.
pub(crate) fn deletable(model: &DataModel, class: ClassId) -> Property {
    let text = format!("possible after delete x: {} | not refused and not raises", model.class(class).name);
    let goes = Formula::And(Box::new(not(Formula::Refused)), Box::new(not(Formula::Raises)));
    about(model, class, None, text, Mode::Possible, goes)
}

fn about(
    model: &DataModel,
    class: ClassId,
    reference: Option<ReferenceId>,
    text: String,
    mode: Mode,
    formula: Formula,
) -> Property {
    let each = reference.map(|reference| Variable { name: "each".into(), class: model.reference(reference).child });
    let variables = [Variable { name: "deleted".into(), class }].into_iter().chain(each).collect();
    Property { name: text.clone(), text, line: 0, mode, delete: Some(DELETED), formula, variables }
}

fn named(model: &DataModel, reference: ReferenceId, moment: Moment) -> Set {
    let declared = model.reference(reference);
    let targets = match &declared.target {
        Target::Class(class) => vec![*class],
        Target::Any(classes) => classes.clone(),
    };
    let step = Step { ways: vec![(declared.child, Way::Reference(reference))], targets };
    Set { start: EACH, steps: vec![step], moment }
}

fn stored(model: &DataModel, reference: ReferenceId) -> String {
    let declared = model.reference(reference);
    format!("{}.{}", model.class(declared.child).name, declared.name)
}

fn not(inner: Formula) -> Formula {
    Formula::Not(Box::new(inner))
}
