//! Obligations: what should be true of every data model, without anybody asking.
//!
//! Each kind below makes properties out of a model. A property that holds is proved for all data and not mentioned again; one
//! that fails is a [`Trouble`] with the data that show it, and a [`Remedy`] is tried: the model is changed, and the same
//! property decided again. Nothing is reported without an instance in hand.
//!
//! | kind | what goes wrong |
//! |---|---|
//! | dangling | the delete of an object leaves others that name it |
//! | skipped | the delete of an object deletes others past their own rules, and what these would have taken along stays |
//! | raises | the delete of an object is stopped by the database |
//! | never | no object of a class can be deleted |
//! | emptied | a relation that is required is made to name nothing |
//! | disagree | the same delete ends differently in the application and in the database |
//! | racy | what is unique is only checked, not enforced |

use std::collections::BTreeSet;

use isolde_smt::{Silence, Solver};

use crate::logic::evaluate::{self, Scene};
use crate::logic::instance::{column_name, table_name, variable_name};
use crate::logic::{
    Action, Case, Instance, Limits, Object, Order, Outcome, Projection, Question, Reach, Schema, Semantics, Verdict,
    decide, delete,
};
use crate::model::{
    Association, AssociationId, ClassId, DataModel, DeleteRule, Framework, Kind, OnDelete, Path, Place, ReferenceId,
    Required,
};
use crate::property::{Property, make};

/// What came of the obligations of a model.
#[derive(Clone, Debug, Default)]
pub struct Obligations {
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
    /// How many were proved.
    pub proved: usize,
    /// What was not decided, and why.
    pub undecided: Vec<String>,
}

/// Something that goes wrong.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// What it is called, the same from run to run.
    pub id: String,
    /// What happens, in one sentence.
    pub headline: String,
    /// Why, in a sentence.
    pub why: String,
    /// Where it is declared.
    pub place: Place,
    /// Data that show it.
    pub case: Case,
    /// What to change.
    pub remedy: Option<Remedy>,
}

/// A change to a model.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// The declaration or statement to write.
    pub code: String,
    /// Where.
    pub place: Place,
    /// Whether the property was proved with it.
    pub verified: bool,
}

/// Decides the obligations of a model.
pub fn obligations(schema: &Schema<'_>, solver: &Solver, limits: Limits) -> Result<Obligations, Silence> {
    let mut work = Work { schema, solver, limits, found: Obligations::default() };
    work.dangling()?;
    work.raises()?;
    work.never()?;
    work.emptied()?;
    work.disagree();
    work.racy();
    Ok(work.found)
}

struct Work<'a, 'm> {
    schema: &'a Schema<'m>,
    solver: &'a Solver,
    limits: Limits,
    found: Obligations,
}

impl Work<'_, '_> {
    /// References that name what is gone: first after the delete of what they name, then, where that is safe, after deletes
    /// that pass over its rules.
    fn dangling(&mut self) -> Result<(), Silence> {
        let past_rules = self.deleted_past_rules();
        for index in 0..self.schema.references.len() {
            let reference = ReferenceId(index);
            let mut safe = true;
            for target in self.schema.references[index].targets.clone() {
                if self.cannot_dangle(reference) {
                    continue;
                }
                let property = make::no_dangling(self.schema.model, reference, target);
                if let Some(case) = self.decide(&property, Some((reference, target)))? {
                    safe = false;
                    let trouble = self.left_behind(reference, target, &property, case);
                    self.found.troubles.push(trouble);
                }
            }
            if safe {
                self.skipped(reference, &past_rules)?;
            }
        }
        Ok(())
    }

    /// For every class with rules: the roots of what its delete deletes past the rules of that.
    fn deleted_past_rules(&self) -> Vec<(ClassId, BTreeSet<ClassId>)> {
        let owners: BTreeSet<ClassId> = self.schema.rules.iter().map(|rule| rule.owner).collect();
        let reach = |owner| Projection::whole(self.schema, &make::never_raises(self.schema.model, owner)).deleted;
        owners.into_iter().map(|owner| (owner, reach(owner))).collect()
    }

    fn skipped(&mut self, reference: ReferenceId, past_rules: &[(ClassId, BTreeSet<ClassId>)]) -> Result<(), Silence> {
        for (owner, deleted) in past_rules {
            let owner = *owner;
            let targets = self.schema.target_roots(reference);
            let direct = targets.contains(&self.schema.root(owner));
            if direct || self.cannot_dangle(reference) || !targets.iter().any(|target| deleted.contains(target)) {
                continue;
            }
            let property = make::no_dangling(self.schema.model, reference, owner);
            if let Some(case) = self.decide(&property, None)? {
                let trouble = self.passed_over(reference, owner, &property, case);
                self.found.troubles.push(trouble);
            }
        }
        Ok(())
    }

    /// A foreign key lets nothing dangle, whatever else happens.
    fn cannot_dangle(&self, reference: ReferenceId) -> bool {
        let stored = &self.schema.references[reference.0];
        let soft = stored.targets.iter().any(|target| !self.schema.row_goes(*target));
        stored.database.is_some() && !soft
    }

    fn left_behind(&self, reference: ReferenceId, target: ClassId, property: &Property, case: Case) -> Trouble {
        let (child, parent) = (self.name(self.schema.child(reference)), self.name(target));
        let declared = self.inverse(reference, target);
        let why = match declared.map(|id| self.schema.model.association(id)) {
            Some(association) if association.on_delete.is_none() => {
                format!("{parent} declares {} without saying what becomes of them.", association.name)
            }
            Some(association) => format!("What {parent}.{} says does not cover all of them.", association.name),
            None => format!("{parent} does not know that a {child} may name it."),
        };
        let place = declared
            .map_or(&self.schema.model.reference(reference).place, |id| &self.schema.model.association(id).place);
        Trouble {
            id: format!("dangling:{}:{parent}", self.stored(reference)),
            headline: format!("Deleting {} leaves {} that name it", article(&parent), plural(&child)),
            why,
            place: place.clone(),
            case,
            remedy: self.remedy(reference, target, property),
        }
    }

    fn passed_over(&self, reference: ReferenceId, owner: ClassId, property: &Property, case: Case) -> Trouble {
        let (child, parent) = (self.name(self.schema.child(reference)), self.name(owner));
        let between: Vec<String> =
            self.schema.target_roots(reference).into_iter().map(|root| self.name(root)).collect();
        let culprit = self.schema.rules.iter().find(|rule| {
            let Reach::Children(r) = rule.reach else { return false };
            rule.action == Action::Delete
                && self.schema.target_roots(reference).contains(&self.schema.root(self.schema.child(r)))
                && (rule.owner == owner || self.schema.root(rule.owner) == self.schema.root(owner))
        });
        let remedy = culprit.map(|rule| {
            let mut changed = self.schema.model.clone();
            changed.associations[rule.association.0].on_delete = Some(DeleteRule::Destroy);
            let association = self.schema.model.association(rule.association);
            let code = format!("{} :{} with dependent: :destroy", macro_name(association.kind), association.name);
            Remedy { code, place: association.place.clone(), verified: self.holds_with(&changed, property) }
        });
        let between = between.join(" or ");
        let place = culprit.map_or(&self.schema.model.class(owner).place, |rule| {
            &self.schema.model.association(rule.association).place
        });
        Trouble {
            id: format!("skipped:{}:{parent}", self.stored(reference)),
            headline: format!(
                "Deleting {} leaves {} that name a {between} that is gone",
                article(&parent),
                plural(&child)
            ),
            why: format!("Rows of {between} are deleted directly, so that its own rules never run."),
            place: place.clone(),
            case,
            remedy,
        }
    }

    fn raises(&mut self) -> Result<(), Silence> {
        let mut known: BTreeSet<ClassId> = BTreeSet::new();
        let mut classes: Vec<(usize, ClassId, Projection, Property)> = Vec::new();
        for index in 0..self.schema.model.classes.len() {
            let class = ClassId(index);
            if !self.schema.is_concrete(class) {
                continue;
            }
            let property = make::never_raises(self.schema.model, class);
            let reach = Projection::whole(self.schema, &property);
            let gone: BTreeSet<ClassId> = reach.destroyed.union(&reach.deleted).copied().collect();
            if self.may_raise(&gone) {
                classes.push((gone.len(), class, reach, property));
            }
        }
        // What is stopped at a class is not told again for those that lead to it.
        classes.sort_by_key(|(size, class, ..)| (*size, *class));
        for (_, class, reach, property) in classes {
            let below = reach.destroyed.iter().chain(&reach.deleted);
            if below.filter(|root| **root != self.schema.root(class)).any(|root| known.contains(root)) {
                continue;
            }
            let direct = self.blocking(class);
            if let Some(case) = self.decide(&property, direct.map(|reference| (reference, class)))? {
                known.insert(self.schema.root(class));
                let trouble = self.stopped(class, direct, &property, case);
                self.found.troubles.push(trouble);
            }
        }
        Ok(())
    }

    fn may_raise(&self, gone: &BTreeSet<ClassId>) -> bool {
        (0..self.schema.references.len()).map(ReferenceId).any(|reference| {
            let stored = &self.schema.references[reference.0];
            let declines = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict));
            let reached = self.schema.target_roots(reference).iter().any(|root| gone.contains(root));
            reached
                && (declines && self.schema.semantics != Semantics::Sql || stored.not_null && self.nullifies(reference))
        })
    }

    fn nullifies(&self, reference: ReferenceId) -> bool {
        let by_rule =
            |rule: &crate::logic::Rule| rule.reach == Reach::Children(reference) && rule.action == Action::Nullify;
        self.schema.rules.iter().any(by_rule) || self.schema.references[reference.0].database == Some(OnDelete::SetNull)
    }

    /// A reference that stops deletes of a class, and about which the application says nothing.
    fn blocking(&self, class: ClassId) -> Option<ReferenceId> {
        (0..self.schema.references.len()).map(ReferenceId).find(|reference| {
            let stored = &self.schema.references[reference.0];
            let about = stored.targets.iter().any(|target| self.schema.model.is_a(class, *target));
            let settled = self.schema.rules.iter().any(|rule| rule.reach == Reach::Children(*reference));
            about && !settled && matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict))
        })
    }

    fn stopped(&self, class: ClassId, direct: Option<ReferenceId>, property: &Property, case: Case) -> Trouble {
        let name = self.name(class);
        let reason = match &case.delete {
            Some((_, Outcome::Raised(reason))) => reason.clone(),
            _ => String::new(),
        };
        Trouble {
            id: format!("raises:{name}"),
            headline: format!("Deleting {} can fail with an error of the database", article(&name)),
            why: format!("A constraint stands in the way: {reason}."),
            place: direct
                .map_or(&self.schema.model.class(class).place, |r| &self.schema.model.reference(r).place)
                .clone(),
            case,
            remedy: direct.and_then(|reference| self.remedy(reference, class, property)),
        }
    }

    fn never(&mut self) -> Result<(), Silence> {
        let owners: BTreeSet<ClassId> =
            self.schema.rules.iter().filter(|rule| rule.action == Action::Refuse).map(|rule| rule.owner).collect();
        for class in owners {
            let name = self.name(class);
            let property = make::deletable(self.schema.model, class);
            let question = Question { schema: self.schema, property: &property, assumptions: &[] };
            if decide(question, self.solver, self.limits)? != Verdict::Fails(None) {
                continue;
            }
            let mut before = Instance::default();
            before.objects.push(Object::new(class));
            let Some(before) = before.completed(self.schema) else { continue };
            let outcome = delete(self.schema, &before, 0, Order::Up);
            self.found.troubles.push(Trouble {
                id: format!("never:{name}"),
                headline: format!("No {name} can ever be deleted"),
                why: "What refuses the delete is always there.".into(),
                place: self.schema.model.class(class).place.clone(),
                case: Case { before, delete: Some((0, outcome)) },
                remedy: None,
            });
        }
        Ok(())
    }

    fn emptied(&mut self) -> Result<(), Silence> {
        for index in 0..self.schema.references.len() {
            let reference = ReferenceId(index);
            let declared = self.schema.model.reference(reference);
            if declared.required != Required::Validated || !self.nullifies(reference) {
                continue;
            }
            let (child, name) = (self.name(declared.child), declared.name.clone());
            for target in self.schema.references[index].targets.clone() {
                let parent = self.name(target);
                let property = make::not_emptied(self.schema.model, reference, target);
                if let Some(case) = self.decide(&property, Some((reference, target)))? {
                    self.found.troubles.push(Trouble {
                        id: format!("emptied:{}:{parent}", self.stored(reference)),
                        headline: format!(
                            "Deleting {} leaves {} without a {name}, which they require",
                            article(&parent),
                            plural(&child)
                        ),
                        why: "The validation runs when an object is saved, not when what it names is deleted.".into(),
                        place: declared.place.clone(),
                        case,
                        remedy: None,
                    });
                }
            }
        }
        Ok(())
    }

    /// The same delete by the application and by the database alone, on one object that names another.
    fn disagree(&mut self) {
        if !matches!(self.schema.semantics, Semantics::Rails | Semantics::Django) {
            return;
        }
        let alone = Schema::new(self.schema.model, Semantics::Sql);
        for index in 0..self.schema.references.len() {
            let reference = ReferenceId(index);
            let (stored, declared) = (&self.schema.references[index], self.schema.model.reference(reference));
            for target in stored.targets.clone() {
                let Some(id) = self.inverse(reference, target).filter(|_| stored.database.is_some()) else { continue };
                let association = self.schema.model.association(id);
                let (Some(_), None) = (association.on_delete, &association.condition) else { continue };
                let Some(before) = self.pair(reference, target) else { continue };
                let fate = |outcome: &Outcome| match outcome {
                    Outcome::Done(after) if !after.objects[1].is_there => "deletes",
                    Outcome::Done(after) if after.objects[1].references.contains_key(&reference) => "leaves alone",
                    Outcome::Done(_) => "cuts off",
                    Outcome::Refused(_) | Outcome::Raised(_) => "protects",
                };
                let (by_application, by_database) =
                    (delete(self.schema, &before, 0, Order::Up), delete(&alone, &before, 0, Order::Up));
                let (here, there) = (fate(&by_application), fate(&by_database));
                // A database that protects what the application deals with first is a second line of defence.
                if here == there || there == "protects" {
                    continue;
                }
                let (child, parent) = (self.name(declared.child), self.name(target));
                self.found.troubles.push(Trouble {
                    id: format!("disagree:{}:{parent}", self.stored(reference)),
                    headline: format!(
                        "Application and database disagree about {} of a deleted {parent}",
                        plural(&child)
                    ),
                    why: format!("{parent}.{} {here} them; the foreign key {there} them.", association.name),
                    place: association.place.clone(),
                    case: Case { before, delete: Some((0, by_application)) },
                    remedy: None,
                });
            }
        }
    }

    /// Validations of uniqueness without an index, where the tables are known.
    fn racy(&mut self) {
        let model = self.schema.model;
        let tables_known = model.uniqueness.iter().any(|unique| unique.enforced)
            || model.references.iter().any(|r| r.on_delete.is_some() || r.required == Required::NotNull);
        for unique in model.uniqueness.iter().filter(|unique| unique.validated && !unique.enforced && tables_known) {
            let columns = unique.references.iter().map(|reference| column_name(self.schema, *reference));
            let columns: Vec<String> = columns.chain(unique.columns.iter().map(ToString::to_string)).collect();
            if unique.partial || columns.is_empty() {
                continue;
            }
            let mut before = Instance::default();
            before.objects.extend([Object::new(unique.class), Object::new(unique.class)]);
            let Some(before) = before.completed(self.schema) else { continue };
            let name = self.name(unique.class);
            let code =
                format!("add_index :{}, [{}], unique: true", table_name(self.schema, unique.class), symbols(&columns));
            self.found.troubles.push(Trouble {
                id: format!("racy:{name}:{}", columns.join(",")),
                headline: format!(
                    "Two {} with the same {} can be saved at the same time",
                    plural(&name),
                    columns.join(" and ")
                ),
                why: "The validation looks before it writes, and another may write in between; no index forbids it."
                    .into(),
                place: unique.place.clone(),
                case: Case { before, delete: None },
                remedy: Some(Remedy { code, place: Place::default(), verified: false }),
            });
        }
    }

    /// Data that break a property, if there are any; first the simplest, one object that names another, then any.
    fn decide(
        &mut self,
        property: &Property,
        simplest: Option<(ReferenceId, ClassId)>,
    ) -> Result<Option<Case>, Silence> {
        let simple = simplest.and_then(|(reference, target)| self.simple_case(property, reference, target));
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

    fn simple_case(&self, property: &Property, reference: ReferenceId, target: ClassId) -> Option<Case> {
        let before = self.pair(reference, target)?;
        let outcome = delete(self.schema, &before, 0, Order::Up);
        let counts = matches!(outcome, Outcome::Done(_)) || property.formula.asks_for_refusal();
        let scene = Scene { schema: self.schema, before: &before, outcome: Some(&outcome) };
        let broken = counts && !evaluate::is_true(scene, property, Some(0));
        broken.then_some(Case { before, delete: Some((0, outcome)) })
    }

    /// Object 1 names object 0.
    fn pair(&self, reference: ReferenceId, target: ClassId) -> Option<Instance> {
        let mut data = Instance::default();
        data.objects.push(Object::new(self.concrete(target)?));
        data.objects.push(Object::new(self.concrete(self.schema.child(reference))?));
        data.objects[1].references.insert(reference, 0);
        let data = data.completed(self.schema)?;
        data.violation(self.schema).is_none().then_some(data)
    }

    fn concrete(&self, class: ClassId) -> Option<ClassId> {
        let mut all = (0..self.schema.model.classes.len()).map(ClassId);
        let fits = |other: &ClassId| self.schema.is_concrete(*other) && self.schema.model.is_a(*other, class);
        if self.schema.is_concrete(class) { Some(class) } else { all.find(fits) }
    }

    /// What a class declares about the objects that name it.
    fn inverse(&self, reference: ReferenceId, target: ClassId) -> Option<AssociationId> {
        let ids = self.schema.model.associations_of(target).into_iter();
        let mut ids: Vec<AssociationId> = ids.filter(|id| *self.schema.path(*id) == Path::Inverse(reference)).collect();
        ids.sort_by_key(|id| (self.schema.model.association(*id).condition.is_some(), *id));
        ids.into_iter().next()
    }

    /// A rule for what names a deleted object: it goes too if it needs what it names, otherwise it is cut off.
    fn remedy(&self, reference: ReferenceId, target: ClassId, property: &Property) -> Option<Remedy> {
        let mut changed = self.schema.model.clone();
        let needed = self.schema.model.reference(reference).required > Required::No;
        let declared = self.schema.model.reference(reference);
        if self.schema.model.framework != Framework::Rails {
            changed.references[reference.0].on_delete =
                Some(if needed { OnDelete::Cascade } else { OnDelete::SetNull });
            let action = if needed { "CASCADE" } else { "SET NULL" };
            let (table, column) = (table_name(self.schema, declared.child), column_name(self.schema, reference));
            let parent = table_name(self.schema, target);
            let code =
                format!("ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES {parent} ON DELETE {action};");
            return Some(Remedy { code, place: declared.place.clone(), verified: self.holds_with(&changed, property) });
        }
        let (rule, word) = if needed { (DeleteRule::Destroy, "destroy") } else { (DeleteRule::Nullify, "nullify") };
        let Some(id) = self.inverse(reference, target) else {
            let made = self.added(reference, target, rule);
            let (class, column) = (self.name(declared.child), column_name(self.schema, reference));
            let code =
                format!("has_many :{}, class_name: \"{class}\", foreign_key: :{column}, dependent: :{word}", made.name);
            let place = made.place.clone();
            changed.associations.push(made);
            return Some(Remedy { code, place, verified: self.holds_with(&changed, property) });
        };
        let association = self.schema.model.association(id);
        let conditional = association.condition.is_some() && association.on_delete.is_some();
        changed.associations[id.0].condition = None;
        let what = match conditional {
            true => "its rule without the condition".to_string(),
            false => {
                changed.associations[id.0].on_delete = Some(rule);
                format!("dependent: :{word}")
            }
        };
        let code = format!("{} :{} with {what}", macro_name(association.kind), association.name);
        Some(Remedy { code, place: association.place.clone(), verified: self.holds_with(&changed, property) })
    }

    fn added(&self, reference: ReferenceId, target: ClassId, rule: DeleteRule) -> Association {
        let child = self.schema.child(reference);
        Association {
            owner: target,
            name: plural(&variable_name(&self.name(child))).into(),
            kind: Kind::HasMany,
            target: Some(child),
            path: Path::Inverse(reference),
            condition: None,
            is_choice: false,
            on_delete: Some(rule),
            place: self.schema.model.class(target).place.clone(),
        }
    }

    fn holds_with(&self, model: &DataModel, property: &Property) -> bool {
        let schema = Schema::new(model, self.schema.semantics);
        let question = Question { schema: &schema, property, assumptions: &[] };
        matches!(decide(question, self.solver, self.limits), Ok(Verdict::Holds(_)))
    }

    fn name(&self, class: ClassId) -> String {
        self.schema.model.class(class).name.to_string()
    }

    fn stored(&self, reference: ReferenceId) -> String {
        let declared = self.schema.model.reference(reference);
        format!("{}.{}", self.name(declared.child), declared.name)
    }
}

fn macro_name(kind: Kind) -> &'static str {
    match kind {
        Kind::BelongsTo => "belongs_to",
        Kind::HasOne => "has_one",
        Kind::HasMany => "has_many",
        Kind::ManyToMany => "has_and_belongs_to_many",
    }
}

fn symbols(columns: &[String]) -> String {
    columns.iter().map(|column| format!(":{column}")).collect::<Vec<_>>().join(", ")
}

fn article(name: &str) -> String {
    match name.starts_with(['A', 'E', 'I', 'O']) {
        true => format!("an {name}"),
        false => format!("a {name}"),
    }
}

fn plural(name: &str) -> String {
    match name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{stem}ies"),
        None if name.ends_with(['s', 'x']) || name.ends_with("ch") => format!("{name}es"),
        None => format!("{name}s"),
    }
}
