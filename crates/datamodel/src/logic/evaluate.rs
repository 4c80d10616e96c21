//! Whether a formula is true of some data, before and after a delete.

use std::collections::BTreeSet;

use super::execute::Outcome;
use super::instance::Instance;
use super::schema::Schema;
use crate::model::ClassId;
use crate::property::{Formula, Moment, Number, Property, Set, VariableId};

/// Data, and a delete if there was one.
#[derive(Clone, Copy)]
pub struct Scene<'a, 'm> {
    /// What the model means.
    pub schema: &'a Schema<'m>,
    /// The data before.
    pub before: &'a Instance,
    /// What became of the delete.
    pub outcome: Option<&'a Outcome>,
}

/// Whether a property's formula is true; `deleted` is the object that it deletes.
pub fn is_true(scene: Scene<'_, '_>, property: &Property, deleted: Option<usize>) -> bool {
    let mut values = vec![usize::MAX; property.variables.len()];
    if let (Some(VariableId(variable)), Some(object)) = (property.delete, deleted) {
        values[variable] = object;
    }
    scene.formula(property, &property.formula, &mut values)
}

impl Scene<'_, '_> {
    fn at(&self, moment: Moment) -> &Instance {
        match (moment, self.outcome) {
            (Moment::After, Some(Outcome::Done(after))) => after,
            // What is declined changes nothing.
            _ => self.before,
        }
    }

    fn formula(&self, property: &Property, formula: &Formula, values: &mut Vec<usize>) -> bool {
        match formula {
            Formula::Not(inner) => !self.formula(property, inner, values),
            Formula::And(a, b) => self.formula(property, a, values) && self.formula(property, b, values),
            Formula::Or(a, b) => self.formula(property, a, values) || self.formula(property, b, values),
            Formula::Implies(a, b) => !self.formula(property, a, values) || self.formula(property, b, values),
            Formula::Iff(a, b) => self.formula(property, a, values) == self.formula(property, b, values),
            Formula::Quantified(number, variable, moment, body) => {
                let class = property.variables[variable.0].class;
                let objects: Vec<usize> = self.at(*moment).of(self.schema, class).collect();
                let mut count = |object: &usize| {
                    values[variable.0] = *object;
                    self.formula(property, body, values)
                };
                let true_of = objects.iter().filter(|object| count(object)).count();
                is_so_many(*number, true_of, objects.len())
            }
            Formula::Has(number, set) => is_so_many(*number, self.set(set, values).len(), 0),
            Formula::Equal(a, b) => self.set(a, values) == self.set(b, values),
            Formula::In(a, b) => self.set(a, values).is_subset(&self.set(b, values)),
            Formula::Gone(set) => self.set(set, values).into_iter().all(|object| self.is_gone(object)),
            Formula::Dangling(set) => self.set(set, values).into_iter().any(|object| self.is_gone(object)),
            Formula::Torn(join) => {
                let pairs = &self.at(Moment::After).pairs;
                pairs.iter().any(|(j, left, right)| j == join && (self.is_gone(*left) || self.is_gone(*right)))
            }
            Formula::Is(set, class) => {
                let is = |object: usize| self.schema.model.is_a(self.before.objects[object].class, *class);
                self.set(set, values).into_iter().all(is)
            }
            Formula::Refused => matches!(self.outcome, Some(Outcome::Refused(_))),
            Formula::Raises => matches!(self.outcome, Some(Outcome::Raised(_))),
        }
    }

    fn is_gone(&self, object: usize) -> bool {
        !self.at(Moment::After).objects[object].is_there
    }

    fn set(&self, set: &Set, values: &[usize]) -> BTreeSet<usize> {
        let data = self.at(set.moment);
        let mut found = BTreeSet::from([values[set.start.0]]);
        for step in &set.steps {
            let follow = |object: usize| {
                let of_class = move |class: ClassId| self.schema.model.is_a(data.objects[object].class, class);
                let ways = step.ways.iter().filter(move |(class, _)| of_class(*class));
                ways.flat_map(move |(_, way)| data.follow(self.schema, *way, object))
            };
            found = found.into_iter().flat_map(follow).collect();
        }
        found
    }
}

fn is_so_many(number: Number, count: usize, all: usize) -> bool {
    match number {
        Number::All => count == all,
        Number::Some => count > 0,
        Number::No => count == 0,
        Number::One => count == 1,
        Number::Lone => count <= 1,
    }
}
