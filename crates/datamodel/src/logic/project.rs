//! Projection: the part of a model that a property can depend on.
//!
//! A property names some classes and paths; a delete reaches some classes by its rules. What is on no way from the
//! deleted object to something named is left out, and with it its constraints. Leaving constraints out allows more
//! data, so what is proved of the part is true of the whole. A counterexample is completed with the objects that the
//! whole demands, and replayed there; if it cannot be there, more of the model is looked at: see
//! [`decide`](super::decide()).

use std::collections::BTreeSet;

use super::schema::{Action, Reach, Reached, Schema};
use crate::model::{AssociationId, ClassId, JoinId, OnDelete, Path, ReferenceId};
use crate::property::{Formula, Property, Way};

/// A part of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// Classes, with those above them.
    pub classes: BTreeSet<ClassId>,
    /// References.
    pub references: BTreeSet<ReferenceId>,
    /// Joins.
    pub joins: BTreeSet<JoinId>,
    /// Associations that lead anywhere.
    pub unknown: BTreeSet<AssociationId>,
    /// Rules, by index.
    pub rules: BTreeSet<usize>,
    /// Roots of classes of which objects may be destroyed, with what follows.
    pub destroyed: BTreeSet<ClassId>,
    /// Roots of classes of which rows may be deleted without more.
    pub deleted: BTreeSet<ClassId>,
}

impl Projection {
    /// All of a model.
    pub fn whole(schema: &Schema<'_>, property: &Property) -> Projection {
        let mut all = Projection {
            classes: (0..schema.model.classes.len()).map(ClassId).collect(),
            references: (0..schema.references.len()).map(ReferenceId).collect(),
            joins: (0..schema.model.joins.len()).map(JoinId).collect(),
            rules: (0..schema.rules.len()).collect(),
            ..Projection::default()
        };
        let associations = (0..schema.model.associations.len()).map(AssociationId);
        all.unknown = associations.filter(|id| *schema.path(*id) == Path::Unknown).collect();
        if let Some(variable) = property.delete {
            let Reached { destroyed, deleted } = schema.reach(property.variables[variable.0].class);
            (all.destroyed, all.deleted) = (destroyed, deleted);
        }
        all
    }

    /// What a property can depend on, given what is assumed.
    pub fn of(schema: &Schema<'_>, property: &Property, assumptions: &[Property]) -> Projection {
        let mut part = Projection::default();
        for property in assumptions.iter().chain([property]) {
            part.add_property(schema, property);
        }
        if let Some(variable) = property.delete {
            let reached = schema.reach(property.variables[variable.0].class);
            part.add_rules(schema, &reached, property.formula.asks_for_refusal());
        }
        part.close(schema);
        part.follow(schema, property);
        part
    }

    /// What a property can depend on, with all that the delete does and all that the whole demands of these objects:
    /// the objects that they must name, and what those must.
    pub fn demanded(schema: &Schema<'_>, property: &Property, assumptions: &[Property]) -> Projection {
        let mut part = Projection::of(schema, property, assumptions);
        if let Some(variable) = property.delete {
            part.add_rules(schema, &schema.reach(property.variables[variable.0].class), true);
        }
        loop {
            let size = part.references.len();
            let roots: BTreeSet<ClassId> = part.classes.iter().map(|class| schema.root(*class)).collect();
            let is_demanded = |reference: &ReferenceId| {
                schema.references[reference.0].filled && roots.contains(&schema.root(schema.child(*reference)))
            };
            part.references.extend((0..schema.references.len()).map(ReferenceId).filter(is_demanded));
            part.close(schema);
            if size == part.references.len() {
                break;
            }
        }
        part.follow(schema, property);
        part
    }

    fn add_property(&mut self, schema: &Schema<'_>, property: &Property) {
        property.formula.visit(&mut |part| {
            if let Formula::Torn(join) = part {
                self.joins.insert(*join);
            }
        });
        self.classes.extend(property.variables.iter().map(|variable| variable.class));
        for set in property.formula.sets() {
            for step in &set.steps {
                self.classes.extend(&step.targets);
                for (class, way) in &step.ways {
                    self.classes.insert(*class);
                    self.add_way(schema, *way);
                }
            }
        }
    }

    fn add_way(&mut self, schema: &Schema<'_>, way: Way) {
        match way {
            Way::Reference(reference) => {
                self.references.insert(reference);
            }
            Way::Association(id) => match schema.path(id) {
                Path::Own(reference) | Path::Inverse(reference) => {
                    self.references.insert(*reference);
                }
                Path::Join(join, _) => {
                    self.joins.insert(*join);
                }
                Path::Through(first, last) => {
                    self.add_way(schema, Way::Association(*first));
                    self.add_way(schema, Way::Association(*last));
                }
                Path::Unknown => {
                    self.unknown.insert(id);
                    let association = schema.model.association(id);
                    self.classes.insert(association.owner);
                    self.classes.extend(association.target);
                }
            },
        }
    }

    /// Rules that lead from what the delete reaches to what is of interest; all that it reaches, if `all`.
    fn add_rules(&mut self, schema: &Schema<'_>, reached: &Reached, all: bool) {
        let touches =
            |reference: ReferenceId| schema.target_roots(reference).iter().any(|root| reached.contains(*root));
        let rules: Vec<usize> = (0..schema.rules.len())
            .filter(|index| reached.destroyed.contains(&schema.root(schema.rules[*index].owner)))
            .collect();
        let keys: Vec<ReferenceId> = (0..schema.references.len())
            .map(ReferenceId)
            .filter(|reference| schema.references[reference.0].database.is_some() && touches(*reference))
            .collect();
        if all {
            let is_touched = |join: &JoinId| {
                let join = schema.model.join(*join);
                let sides = [schema.root(join.left), schema.root(join.right)];
                join.on_delete.is_some() && sides.iter().any(|root| reached.contains(*root))
            };
            self.joins.extend((0..schema.model.joins.len()).map(JoinId).filter(is_touched));
        }
        loop {
            let size = (self.rules.len(), self.references.len(), self.classes.len());
            self.close(schema);
            let roots: BTreeSet<ClassId> = self.classes.iter().map(|class| schema.root(*class)).collect();
            for index in &rules {
                let interesting = match schema.rules[*index].reach {
                    Reach::Children(r) => roots.contains(&schema.root(schema.child(r))) || self.references.contains(&r),
                    Reach::Parent(r) => schema.target_roots(r).iter().any(|root| roots.contains(root)),
                    Reach::Pairs(join, _) => self.joins.contains(&join),
                };
                if (interesting || all) && self.rules.insert(*index) {
                    self.add_rule(schema, *index);
                }
            }
            let interesting = |r: &ReferenceId| all || roots.contains(&schema.root(schema.child(*r)));
            self.references.extend(keys.iter().copied().filter(interesting));
            if size == (self.rules.len(), self.references.len(), self.classes.len()) {
                return;
            }
        }
    }

    fn add_rule(&mut self, schema: &Schema<'_>, index: usize) {
        let rule = &schema.rules[index];
        self.classes.insert(rule.owner);
        self.classes.extend(&rule.except);
        self.references.extend(rule.filled);
        match rule.reach {
            Reach::Children(reference) | Reach::Parent(reference) => {
                self.references.insert(reference);
            }
            Reach::Pairs(join, _) => {
                self.joins.insert(join);
            }
        }
    }

    fn reaches_target(&self, schema: &Schema<'_>, reference: ReferenceId) -> bool {
        schema.target_roots(reference).iter().any(|root| self.destroyed.contains(root) || self.deleted.contains(root))
    }

    /// Adds the classes that references, joins and classes speak of.
    fn close(&mut self, schema: &Schema<'_>) {
        for reference in self.references.clone() {
            self.classes.insert(schema.child(reference));
            self.classes.extend(&schema.references[reference.0].targets);
        }
        for join in self.joins.clone() {
            let join = schema.model.join(join);
            self.classes.extend([join.left, join.right]);
        }
        for class in self.classes.clone() {
            let mut at = class;
            while at != schema.root(class) {
                at = schema.model.class(at).parent.unwrap_or(schema.root(class));
                self.classes.insert(at);
            }
        }
    }

    /// What the delete reaches by the rules that are kept.
    fn follow(&mut self, schema: &Schema<'_>, property: &Property) {
        let Some(variable) = property.delete else { return };
        let start = schema.root(property.variables[variable.0].class);
        match schema.semantics.has_orm() {
            true => self.destroyed.insert(start),
            false => self.deleted.insert(start),
        };
        loop {
            let size = (self.destroyed.len(), self.deleted.len());
            for index in &self.rules {
                let rule = &schema.rules[*index];
                if !self.destroyed.contains(&schema.root(rule.owner)) {
                    continue;
                }
                let targets = match rule.reach {
                    Reach::Children(reference) => vec![schema.root(schema.child(reference))],
                    Reach::Parent(reference) => schema.target_roots(reference),
                    Reach::Pairs(..) => Vec::new(),
                };
                match rule.action {
                    Action::Destroy | Action::Later => self.destroyed.extend(targets),
                    Action::Delete => self.deleted.extend(targets),
                    Action::Nullify | Action::Refuse | Action::RefuseOthers => {}
                }
            }
            for reference in self.references.clone() {
                let cascades = schema.references[reference.0].database == Some(OnDelete::Cascade);
                if cascades && self.reaches_target(schema, reference) {
                    self.deleted.insert(schema.root(schema.child(reference)));
                }
            }
            if size == (self.destroyed.len(), self.deleted.len()) {
                return;
            }
        }
    }
}
