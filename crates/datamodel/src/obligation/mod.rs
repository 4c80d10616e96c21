//! Obligations: what should be true of every data model, without anybody asking.
//!
//! Each kind below makes properties out of a model. A property that holds is proved for all data and not mentioned
//! again; one that fails is a [`Trouble`] with the data that show it, and a [`Remedy`] is tried: the model is changed,
//! and the same property decided again. Nothing is reported without an instance in hand.
//!
//! Most of them need no solver. One object that names another is often enough to break a property, and a rule that
//! settles whatever names what goes ([`settled`]) is enough to prove it. Only the rest is asked.

mod chain;
mod dangling;
mod database;
mod endless;
mod remedy;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use isolde_smt::{Silence, Solver};

use crate::logic::evaluate::{self, Scene};
use crate::logic::{
    Case, Instance, Limits, Object, Order, Outcome, Question, Reached, Schema, Verdict, decide, delete, doubt, settled,
};
use crate::model::{AssociationId, ClassId, DataModel, Path, Place, ReferenceId, Remark};
use crate::property::Property;

pub use remedy::{Edit, Patch, Remedy};
pub(crate) use words::rule as rule_word;

/// Every kind of trouble, by the word that its [name](Trouble::id) begins with, and what goes wrong. The order of
/// reports.
pub const KINDS: &[(&str, &str)] = &[
    ("dangling", "the delete of an object leaves others that name it"),
    ("skipped", "a delete passes over the rules of what it deletes, and what these would have taken along stays"),
    ("raises", "the delete of an object is stopped by the database"),
    ("never", "no object of a class can be deleted"),
    ("emptied", "a relation that is required is made to name nothing"),
    ("disagree", "the same delete ends differently in the application and in the database"),
    ("endless", "the delete of an object never ends if data are cyclic"),
    ("racy", "what is unique is only checked, not enforced"),
    ("nullable", "a relation that is required may be empty in the table"),
];

/// What came of the obligations of a model.
#[derive(Clone, Debug, Default)]
pub struct Obligations {
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
    /// How many were proved.
    pub proved: usize,
    /// What was not decided, and why.
    pub undecided: Vec<String>,
    /// What is left behind because the application says so.
    pub decisions: Vec<Remark>,
}

/// Something that goes wrong.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// What it is called, the same from run to run: its kind, and what it is about.
    pub id: String,
    /// What happens, in one sentence.
    pub headline: String,
    /// Why, in a sentence or two.
    pub why: String,
    /// Where it is declared.
    pub place: Place,
    /// Data that show it.
    pub case: Case,
    /// A query for rows of a real database that are in this state already.
    pub query: Option<String>,
    /// What to change.
    pub remedy: Option<Remedy>,
}

/// Decides the obligations of a model.
pub fn obligations(schema: &Schema<'_>, solver: &Solver, limits: Limits) -> Result<Obligations, Silence> {
    let mut work = Work::new(schema, solver, limits, None);
    work.all()?;
    work.keep_safe_remedies()?;
    Ok(work.found)
}

struct Work<'a, 'm> {
    schema: &'a Schema<'m>,
    solver: &'a Solver,
    limits: Limits,
    /// The classes whose deletes are asked about, without remedies; `None` for all, with them.
    scope: Option<BTreeSet<ClassId>>,
    found: Obligations,
    /// What the delete of an object reaches, by class; found once.
    reached: BTreeMap<ClassId, Reached>,
}

impl<'a, 'm> Work<'a, 'm> {
    fn new(
        schema: &'a Schema<'m>,
        solver: &'a Solver,
        limits: Limits,
        scope: Option<BTreeSet<ClassId>>,
    ) -> Work<'a, 'm> {
        Work { schema, solver, limits, scope, found: Obligations::default(), reached: BTreeMap::new() }
    }

    fn all(&mut self) -> Result<(), Silence> {
        let work = self;
        work.dangling()?;
        work.pairs()?;
        work.raises()?;
        work.never()?;
        work.emptied()?;
        work.disagree();
        work.endless();
        work.racy();
        work.nullable();
        Ok(())
    }
}

impl Work<'_, '_> {
    /// Data that break a property, if there are any; first the simplest, if they are given, then any.
    fn decide(
        &mut self,
        property: &Property,
        simplest: impl IntoIterator<Item = Instance>,
    ) -> Result<Option<Case>, Silence> {
        let simple = simplest.into_iter().find_map(|before| self.broken_by(property, before));
        if let Some(doubt) = simple.as_ref().and_then(|case| doubt(self.schema, case)) {
            self.found.undecided.push(format!("{}: {doubt}", property.text));
            return Ok(None);
        }
        if simple.is_some() {
            return Ok(simple);
        }
        let question = Question { schema: self.schema, property, assumptions: &[] };
        match decide(question, self.solver, self.limits)? {
            Verdict::Fails(case) => return Ok(case),
            Verdict::Holds(_) => self.found.proved += 1,
            Verdict::Unknown(reason) => self.found.undecided.push(format!("{}: {reason}", property.text)),
        }
        Ok(None)
    }

    /// The case in which the delete of object 0 breaks a property, if it does.
    fn broken_by(&self, property: &Property, before: Instance) -> Option<Case> {
        let outcome = delete(self.schema, &before, 0, Order::Up);
        let counts = matches!(outcome, Outcome::Done(_)) || property.formula.asks_for_refusal();
        let scene = Scene { schema: self.schema, before: &before, outcome: Some(&outcome) };
        let class = before.objects[0].class;
        let clear = self.schema.unclear.is_empty() || self.schema.unclear_in(&self.schema.reach(class)).is_none();
        let broken = counts && clear && !evaluate::is_true(scene, property, Some(0));
        broken.then_some(Case { before, delete: Some((0, outcome)) })
    }

    /// Decides a property that may be plain; `simplest` makes data that may break it.
    fn examine<I: IntoIterator<Item = Instance>>(
        &mut self,
        property: &Property,
        simplest: impl FnOnce(&Self) -> I,
    ) -> Result<Option<Case>, Silence> {
        if settled(self.schema, property) {
            self.found.proved += 1;
            return Ok(None);
        }
        let simplest = simplest(self);
        self.decide(property, simplest)
    }

    /// Whether deletes of a class are asked about.
    fn in_scope(&self, class: ClassId) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.contains(&class))
    }

    /// What the delete of an object of a class reaches.
    fn reached(&mut self, class: ClassId) -> Reached {
        self.reached.entry(class).or_insert_with(|| self.schema.reach(class)).clone()
    }

    /// Object 1 names object 0.
    fn naming(&self, reference: ReferenceId, target: ClassId) -> Vec<Instance> {
        let classes = self.concrete(target).zip(self.concrete(self.schema.child(reference)));
        let Some((parent, child)) = classes else { return Vec::new() };
        let mut data = Instance::default();
        data.objects.extend([Object::new(parent), Object::new(child)]);
        data.objects[1].references.insert(reference, 0);
        self.allowed(&data)
    }

    /// These data with what the model demands besides, as far as it allows them.
    fn allowed(&self, data: &Instance) -> Vec<Instance> {
        let completions = data.completions(self.schema).into_iter();
        completions.filter(|data| data.violation(self.schema).is_none()).collect()
    }

    /// A class of which there can be objects: this one, or one below it.
    fn concrete(&self, class: ClassId) -> Option<ClassId> {
        let mut all = (0..self.schema.model.classes.len()).map(ClassId);
        let fits = |other: &ClassId| self.schema.is_concrete(*other) && self.schema.model.is_a(*other, class);
        if self.schema.is_concrete(class) { Some(class) } else { all.find(fits) }
    }

    /// What a class declares about the objects that name it; rather without a condition.
    fn inverse(&self, reference: ReferenceId, target: ClassId) -> Option<AssociationId> {
        let ids = self.schema.model.associations_of(target).into_iter();
        let mut ids: Vec<AssociationId> = ids.filter(|id| *self.schema.path(*id) == Path::Inverse(reference)).collect();
        ids.sort_by_key(|id| (self.schema.model.association(*id).condition.is_some(), *id));
        ids.into_iter().next()
    }

    /// Whether a property holds of a changed model.
    fn holds_with(&self, model: &DataModel, property: &Property) -> bool {
        let schema = Schema::new(model, self.schema.semantics);
        if settled(&schema, property) {
            return true;
        }
        let question = Question { schema: &schema, property, assumptions: &[] };
        matches!(decide(question, self.solver, self.limits), Ok(Verdict::Holds(_)))
    }

    fn name(&self, class: ClassId) -> String {
        self.schema.model.class(class).name.to_string()
    }

    /// `Photo.profile`
    fn stored(&self, reference: ReferenceId) -> String {
        let declared = self.schema.model.reference(reference);
        format!("{}.{}", self.name(declared.child), declared.name)
    }
}
