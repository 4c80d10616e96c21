//! A model, a delete and a property as formulas.
//!
//! Each tree of classes is a sort, and each class of it a predicate (`isPhoto`), which also says whether an object
//! exists: a sort is never empty, a table may be. A reference `Photo.profile` is a predicate "it names something" and a
//! function "what", one pair for each sort that it may name; so a polymorphic reference needs no sort above them all,
//! and at most one of its pairs is filled. (The paper has one sort for everything polymorphic, with disjoint predicates
//! that cover it: the same structures, cut differently.)
//!
//! # A delete
//!
//! `destroyed` and `deleted` are predicates of objects: gone with callbacks, gone without. Both are described from two
//! sides. *Closure*: what a rule applies to is gone. *Justification*: what is gone, a rule applied to. Together they
//! define the set, unless rules go round in a cycle (a tree of comments): then a set could justify itself. So within a
//! cycle every justification must come from an object of lower rank, by a strict order. In finite data this is exactly
//! the least set, as an object at the end of any chain of reasons must be the one deleted; so what we prove holds for
//! all finite data, and nothing else is claimed.
//!
//! Where an object can go in two ways, with and without callbacks, by different references, which one comes first
//! depends on the order among siblings. Both are allowed here. The same holds for refusals about objects that are about
//! to go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_smt::{Script, Sort, Term};

use super::project::Projection;
use super::schema::{Action, Reach, Rule, Schema, Semantics};
use super::worlds::World;
use crate::model::{AssociationId, ClassId, JoinId, OnDelete, ReferenceId, Side};
use crate::property::{Mode, Property};

mod formula;
mod removal;

/// A question for a solver: its answer "unsatisfiable" means that no data break an assertion, or that none show a
/// predicate.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Everything that is said.
    pub script: Script,
    /// The sort of each root.
    pub sorts: BTreeMap<ClassId, Sort>,
    /// The sort of ranks, if rules go round in cycles, and the roots that have one.
    pub ranks: Option<(Sort, BTreeSet<ClassId>)>,
    /// Predicates that say whether objects exist, one for each root.
    pub existence: Vec<Arc<str>>,
}

/// The constant that stands for the object that is deleted.
pub const DELETED: &str = "x";

/// Puts a property of a part of a model into formulas.
pub fn encode(schema: &Schema<'_>, part: &Projection, property: &Property, assumptions: &[Property]) -> Encoded {
    let mut encoder =
        Encoder { schema, part, script: Script::default(), sorts: BTreeMap::new(), cycles: BTreeSet::new(), fresh: 0 };
    encoder.declare();
    encoder.constrain();
    for assumption in assumptions {
        let term = encoder.property(assumption);
        encoder.script.assert(term, format!("assumed: {}", assumption.text));
    }
    if let Some(variable) = property.delete {
        encoder.delete(property.variables[variable.0].class, property.formula.asks_for_refusal());
    }
    let term = encoder.property(property);
    match property.mode {
        Mode::Always => encoder.script.assert(term.not(), format!("broken: {}", property.text)),
        Mode::Possible => encoder.script.assert(term, format!("shown: {}", property.text)),
    }
    let ranks = (!encoder.cycles.is_empty()).then(|| (Sort::Named(RANK.into()), encoder.cycles.clone()));
    let roots = encoder.sorts.keys().copied().collect::<Vec<_>>();
    let existence = roots.into_iter().map(|root| is_name(schema, root)).collect();
    Encoded { script: encoder.script, sorts: encoder.sorts, ranks, existence }
}

const RANK: &str = "Rank";

/// The name of a class's predicate.
pub fn is_name(schema: &Schema<'_>, class: ClassId) -> Arc<str> {
    format!("is{}", schema.model.class(class).name).into()
}

/// The names of the two functions of a reference: whether it names something of a sort, and what.
pub fn reference_names(schema: &Schema<'_>, reference: ReferenceId, root: ClassId) -> (String, String) {
    let declared = schema.model.reference(reference);
    let mut name = format!("{}.{}", schema.model.class(declared.child).name, declared.name);
    // Two columns may go by one name, and a name may be said of several sorts.
    let same = |other: &crate::model::Reference| other.child == declared.child && other.name == declared.name;
    if schema.model.references.iter().position(same) != Some(reference.0) {
        name.push_str(&format!("#{}", reference.0));
    }
    if schema.target_roots(reference).len() > 1 {
        name.push_str(&format!("/{}", schema.model.class(root).name));
    }
    (format!("{name}?"), name)
}

/// The name of a condition's predicate.
pub fn condition_name(index: usize) -> String {
    format!("condition{index}")
}

/// The name of a join's predicate.
pub fn join_name(schema: &Schema<'_>, join: JoinId) -> String {
    format!("join{}:{}", join.0, schema.model.join(join).name)
}

/// The name of the predicate of an association that nobody understands.
pub fn unknown_name(association: AssociationId) -> String {
    format!("unknown{}", association.0)
}

struct Encoder<'a, 'm> {
    schema: &'a Schema<'m>,
    part: &'a Projection,
    script: Script,
    sorts: BTreeMap<ClassId, Sort>,
    /// Roots of classes between which rules go round.
    cycles: BTreeSet<ClassId>,
    fresh: usize,
}

impl Encoder<'_, '_> {
    fn declare(&mut self) {
        for class in &self.part.classes {
            let root = self.schema.root(*class);
            let sort = self.script.sort(&self.schema.model.class(root).name);
            self.script.function(&is_name(self.schema, *class), std::slice::from_ref(&sort), Sort::Bool);
            self.sorts.insert(root, sort);
        }
        for reference in &self.part.references {
            let child = self.sort(self.schema.root(self.schema.child(*reference)));
            for root in self.schema.target_roots(*reference) {
                let (filled, value) = reference_names(self.schema, *reference, root);
                let target = self.sort(root);
                self.script.function(&filled, std::slice::from_ref(&child), Sort::Bool);
                self.script.function(&value, std::slice::from_ref(&child), target);
            }
        }
        for join in &self.part.joins {
            let (left, right) = (self.schema.model.join(*join).left, self.schema.model.join(*join).right);
            let sorts = [self.sort(self.schema.root(left)), self.sort(self.schema.root(right))];
            self.script.function(&join_name(self.schema, *join), &sorts, Sort::Bool);
        }
        for (index, condition) in self.schema.conditions.iter().enumerate() {
            if let Some(sort) = self.sorts.get(&condition.root) {
                self.script.function(&condition_name(index), std::slice::from_ref(sort), Sort::Bool);
            }
        }
        for id in &self.part.unknown {
            let association = self.schema.model.association(*id);
            let Some(target) = association.target else { continue };
            let sorts = [self.sort(self.schema.root(association.owner)), self.sort(self.schema.root(target))];
            self.script.function(&unknown_name(*id), &sorts, Sort::Bool);
        }
    }

    fn sort(&self, root: ClassId) -> Sort {
        self.sorts.get(&root).cloned().expect("a projection has the classes of all that it keeps")
    }

    /// What is true of all data.
    fn constrain(&mut self) {
        for class in self.part.classes.clone() {
            self.constrain_class(class);
        }
        for reference in self.part.references.clone() {
            self.constrain_reference(reference);
        }
        for unique in &self.schema.unique {
            if unique.references.iter().all(|reference| self.part.references.contains(reference)) {
                let term = self.unique(unique);
                self.script.assert(term, format!("unique among {}", self.schema.model.class(unique.class).name));
            }
        }
        for (root, worlds) in &self.schema.worlds {
            if let Some(sort) = self.sorts.get(root).cloned() {
                let term = self.one_of(worlds, *root);
                self.script.assert(Term::all([("x", &sort)], term), "conditions");
            }
        }
        for join in self.part.joins.clone() {
            let declared = self.schema.model.join(join);
            let (left, right) = (self.schema.root(declared.left), self.schema.root(declared.right));
            let (l, r) = (Term::var("l"), Term::var("r"));
            let both = Term::and([self.is(declared.left, l.clone()), self.is(declared.right, r.clone())]);
            let pair = Term::apply(join_name(self.schema, join), [l, r]);
            let sorts = (self.sort(left), self.sort(right));
            self.script.assert(Term::all([("l", &sorts.0), ("r", &sorts.1)], pair.implies(both)), "");
        }
    }

    /// `x` meets conditions, and has references filled, as in one of some worlds.
    fn one_of(&self, worlds: &[World], root: ClassId) -> Term {
        let x = Term::var("x");
        let known = (0..self.schema.conditions.len())
            .filter(|index| self.schema.conditions[*index].root == root && self.schema.is_understood(*index));
        let known: Vec<usize> = known.collect();
        let of_world = |world: &World| {
            let meets = known.iter().map(|index| {
                let term = Term::apply(condition_name(*index), [x.clone()]);
                if world.meets.contains(index) { term } else { term.not() }
            });
            let kept = world.filled.iter().filter(|(reference, _)| self.part.references.contains(*reference));
            let filled = kept.map(|(reference, filled)| {
                let term = Term::or(self.named(*reference, &x).into_iter().map(|(_, filled, _)| filled));
                if *filled { term } else { term.not() }
            });
            Term::and(meets.chain(filled).collect::<Vec<_>>())
        };
        Term::or(worlds.iter().map(of_world).collect::<Vec<_>>())
    }

    fn constrain_class(&mut self, class: ClassId) {
        let below = self.schema.below(class);
        let kept: Vec<ClassId> = below.iter().copied().filter(|c| self.part.classes.contains(c)).collect();
        let sort = self.sort(self.schema.root(class));
        let x = Term::var("x");
        let mut terms: Vec<Term> =
            kept.iter().map(|c| self.is(*c, x.clone()).implies(self.is(class, x.clone()))).collect();
        for (index, one) in kept.iter().enumerate() {
            for other in &kept[index + 1..] {
                terms.push(Term::and([self.is(*one, x.clone()), self.is(*other, x.clone())]).not());
            }
        }
        if !self.schema.is_concrete(class) && kept.len() == below.len() {
            let any = Term::or(kept.iter().map(|c| self.is(*c, x.clone())));
            terms.push(self.is(class, x).implies(any));
        }
        let name = &self.schema.model.class(class).name;
        self.script.assert(Term::all([("x", &sort)], Term::and(terms)), format!("classes below {name}"));
    }

    fn constrain_reference(&mut self, reference: ReferenceId) {
        let stored = &self.schema.references[reference.0];
        let child = self.schema.child(reference);
        let sort = self.sort(self.schema.root(child));
        let x = Term::var("x");
        let named = self.named(reference, &x);
        let mut terms = Vec::new();
        for (root, filled, value) in &named {
            let fits = stored.targets.iter().filter(|target| self.schema.root(**target) == *root);
            let fits = Term::or(fits.map(|target| self.is(*target, value.clone())));
            terms.push(filled.clone().implies(Term::and([self.is(child, x.clone()), fits])));
        }
        for (index, (_, one, _)) in named.iter().enumerate() {
            for (_, other, _) in &named[index + 1..] {
                terms.push(Term::and([one.clone(), other.clone()]).not());
            }
        }
        if stored.filled {
            let any = Term::or(named.iter().map(|(_, filled, _)| filled.clone()));
            terms.push(self.is(child, x).implies(any));
        }
        let name = &self.schema.model.reference(reference).name;
        let why = format!("{}.{name}", self.schema.model.class(child).name);
        self.script.assert(Term::all([("x", &sort)], Term::and(terms)), why);
    }

    fn unique(&self, unique: &super::schema::Unique) -> Term {
        let sort = self.sort(self.schema.root(unique.class));
        let (x, y) = (Term::var("x"), Term::var("y"));
        let mut when = vec![self.is(unique.class, x.clone()), self.is(unique.class, y.clone())];
        for reference in &unique.references {
            let pairs = self.named(*reference, &x).into_iter().zip(self.named(*reference, &y));
            let agree = pairs.map(|((_, fx, vx), (_, fy, vy))| Term::and([fx, fy, vx.equal(vy)]));
            when.push(Term::or(agree));
        }
        if let Some(condition) = unique.condition {
            when.extend([&x, &y].map(|z| Term::apply(condition_name(condition), [z.clone()])));
        }
        Term::all([("x", &sort), ("y", &sort)], Term::and(when).implies(x.equal(y)))
    }

    fn is(&self, class: ClassId, x: Term) -> Term {
        Term::apply(is_name(self.schema, class), [x])
    }

    /// What a reference of `x` may name before a delete: of which root, when, and what.
    fn named(&self, reference: ReferenceId, x: &Term) -> Vec<(ClassId, Term, Term)> {
        let roots = self.schema.target_roots(reference).into_iter();
        roots
            .map(|root| {
                let (filled, value) = reference_names(self.schema, reference, root);
                (root, Term::apply(filled, [x.clone()]), Term::apply(value, [x.clone()]))
            })
            .collect()
    }

    fn name(&mut self, hint: &str) -> String {
        self.fresh += 1;
        format!("{hint}{}", self.fresh)
    }
}
