//! Where the application and the database do not fit together: deletes that are stopped, and rules that only one of them has.

use std::collections::BTreeSet;

use isolde_smt::Silence;

use super::words::{article, declaration, plural, rule};
use super::{Edit, Trouble, Work};
use crate::logic::instance::{column_name, table_name};
use crate::logic::{
    Action, Case, Instance, Object, Order, Outcome, Question, Reach, Reached, Rule, Schema, Semantics, Verdict, decide,
    delete,
};
use crate::model::{AssociationId, ClassId, DeleteRule, OnDelete, ReferenceId, Required};
use crate::property::{Property, make};

impl Work<'_, '_> {
    pub(super) fn raises(&mut self) -> Result<(), Silence> {
        let mut known: BTreeSet<ClassId> = BTreeSet::new();
        let mut classes: Vec<(usize, ClassId, Reached)> = Vec::new();
        for index in 0..self.schema.model.classes.len() {
            let class = ClassId(index);
            let reached = self.reached(class);
            if self.schema.is_concrete(class) && self.may_raise(&reached) {
                classes.push((reached.destroyed.union(&reached.deleted).count(), class, reached));
            }
        }
        // What is stopped at a class is not told again for those that lead to it.
        classes.sort_by_key(|(size, class, _)| (*size, *class));
        for (_, class, reached) in classes {
            let mut below = reached.destroyed.iter().chain(&reached.deleted);
            if below.any(|root| *root != self.schema.root(class) && known.contains(root)) {
                continue;
            }
            let property = make::never_raises(self.schema.model, class);
            let direct = self.blocking(class);
            let simplest = |work: &Self| {
                let near = direct.into_iter().flat_map(|reference| work.naming(reference, class));
                let far = work.refusing(&reached).into_iter().flat_map(|reference| work.chain(class, reference));
                near.chain(far).collect::<Vec<_>>()
            };
            if let Some(case) = self.examine(&property, simplest)? {
                known.insert(self.schema.root(class));
                let trouble = self.stopped(class, direct, &property, case);
                self.found.troubles.push(trouble);
            }
        }
        Ok(())
    }

    /// References that may stop a delete which reaches so far.
    fn refusing(&self, reached: &Reached) -> Vec<ReferenceId> {
        let refuses = |reference: &ReferenceId| {
            let stored = &self.schema.references[reference.0];
            let touched = stored.targets.iter().any(|target| reached.contains(self.schema.root(*target)));
            let declines = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict));
            touched && (declines || stored.not_null && self.nullifies(*reference))
        };
        (0..self.schema.references.len()).map(ReferenceId).filter(refuses).collect()
    }

    fn may_raise(&self, reached: &Reached) -> bool {
        (0..self.schema.references.len()).map(ReferenceId).any(|reference| {
            let stored = &self.schema.references[reference.0];
            let declines = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict))
                && !matches!(self.schema.semantics, Semantics::Sql | Semantics::Prisma);
            let touched = || stored.targets.iter().any(|target| reached.contains(self.schema.root(*target)));
            (declines || stored.not_null && self.nullifies(reference)) && touched()
        })
    }

    fn nullifies(&self, reference: ReferenceId) -> bool {
        let by_rule = |rule: &Rule| rule.reach == Reach::Children(reference) && rule.action == Action::Nullify;
        self.schema.rules.iter().any(by_rule) || self.schema.references[reference.0].database == Some(OnDelete::SetNull)
    }

    /// A reference that stops deletes of a class, and about which the application says nothing that helps.
    fn blocking(&self, class: ClassId) -> Option<ReferenceId> {
        (0..self.schema.references.len()).map(ReferenceId).find(|reference| {
            let stored = &self.schema.references[reference.0];
            let about = stored.targets.iter().any(|target| self.schema.model.is_a(class, *target));
            let settled = self.schema.rules.iter().any(|rule| rule.reach == Reach::Children(*reference));
            let refuses = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict));
            about && (!settled && refuses || stored.not_null && self.nullifies(*reference))
        })
    }

    fn stopped(&self, class: ClassId, direct: Option<ReferenceId>, property: &Property, case: Case) -> Trouble {
        let name = self.name(class);
        let declared = direct.and_then(|reference| self.inverse(reference, class));
        let column = |reference| {
            format!("{}.{}", table_name(self.schema, self.schema.child(reference)), column_name(self.schema, reference))
        };
        let why = match (direct, declared) {
            (Some(reference), _) if self.schema.references[reference.0].not_null && self.nullifies(reference) => {
                format!("{} is to be emptied, but it is NOT NULL.", column(reference))
            }
            (Some(reference), Some(id)) if self.schema.semantics == Semantics::Django => format!(
                "{} says {}, which leaves them alone, and the foreign key of {} does not let the row go.",
                declaration(self.schema, id),
                self.said(id),
                column(reference)
            ),
            (Some(reference), Some(id)) => format!(
                "{} does not deal with them first, and the foreign key of {} does not let the row go.",
                declaration(self.schema, id),
                column(reference)
            ),
            (Some(reference), None) => format!(
                "{name} does not declare that it has {}, and the foreign key of {} does not let the row go.",
                plural(&self.name(self.schema.child(reference))),
                column(reference)
            ),
            (None, _) => match &case.delete {
                Some((_, Outcome::Raised(reason))) => format!("A constraint stands in the way: {reason}."),
                _ => "A constraint stands in the way.".into(),
            },
        };
        let place = match (declared, direct) {
            (Some(id), _) => &self.schema.model.association(id).place,
            (None, Some(reference)) => &self.schema.model.reference(reference).place,
            (None, None) => &self.schema.model.class(class).place,
        };
        Trouble {
            id: format!("raises:{name}"),
            headline: format!("Deleting {} can fail with an error of the database", article(&name)),
            why,
            place: place.clone(),
            case,
            query: None,
            remedy: direct.and_then(|reference| self.remedy(reference, class, property)),
        }
    }

    /// What an association says about deletes, as it is written.
    fn said(&self, id: AssociationId) -> &'static str {
        let association = self.schema.model.association(id);
        association.on_delete.map_or("nothing", |said| rule(self.schema.model.framework, association.kind, said))
    }

    pub(super) fn never(&mut self) -> Result<(), Silence> {
        let owners: BTreeSet<ClassId> =
            self.schema.rules.iter().filter(|rule| rule.action == Action::Refuse).map(|rule| rule.owner).collect();
        for class in owners {
            let name = self.name(class);
            let property = make::deletable(self.schema.model, class);
            let question = Question { schema: self.schema, property: &property, assumptions: &[] };
            let Some(before) = self.one(class) else { continue };
            let outcome = delete(self.schema, &before, 0, Order::Up);
            let goes = matches!(outcome, Outcome::Done(_));
            if goes || decide(question, self.solver, self.limits)? != Verdict::Fails(None) {
                continue;
            }
            self.found.troubles.push(Trouble {
                id: format!("never:{name}"),
                headline: format!("No {name} can ever be deleted"),
                why: "What refuses the delete is always there, whatever the data are.".into(),
                place: self.schema.model.class(class).place.clone(),
                case: Case { before, delete: Some((0, outcome)) },
                query: None,
                remedy: None,
            });
        }
        Ok(())
    }

    /// One object, with what it needs.
    fn one(&self, class: ClassId) -> Option<Instance> {
        let mut data = Instance::default();
        data.objects.push(Object::new(self.concrete(class)?));
        self.allowed(&data).into_iter().next()
    }

    pub(super) fn emptied(&mut self) -> Result<(), Silence> {
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
                let simplest = self.naming(reference, target);
                if let Some(case) = self.decide(&property, simplest)? {
                    let declared_there = self.inverse(reference, target);
                    let place = declared_there.map_or(&declared.place, |id| &self.schema.model.association(id).place);
                    let destroy = declared_there.map(|id| Edit::Dependent(id, DeleteRule::Destroy));
                    self.found.troubles.push(Trouble {
                        id: format!("emptied:{}:{parent}", self.stored(reference)),
                        headline: format!(
                            "Deleting {} leaves {} without a {name}, which they require",
                            article(&parent),
                            plural(&child)
                        ),
                        why: format!(
                            "{} must have a {name} to be saved, but that is not looked at when the {name} is deleted: \
                             the next change of such {} fails.",
                            article(&child),
                            article(&child)
                        ),
                        place: place.clone(),
                        case,
                        query: None,
                        remedy: destroy.and_then(|edit| self.tried(edit, &property)),
                    });
                }
            }
        }
        Ok(())
    }

    /// The same delete by the application and by the database alone, on one object that names another.
    pub(super) fn disagree(&mut self) {
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
                let Some(before) = self.naming(reference, target).into_iter().next() else { continue };
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
                        "Application and database disagree about the {} of a deleted {parent}",
                        plural(&child)
                    ),
                    why: format!(
                        "{} {here} them; the foreign key of {}.{} {there} them, as every delete does that passes over \
                         the application.",
                        declaration(self.schema, id),
                        table_name(self.schema, declared.child),
                        column_name(self.schema, reference)
                    ),
                    place: association.place.clone(),
                    case: Case { before, delete: Some((0, by_application)) },
                    query: None,
                    remedy: None,
                });
            }
        }
    }

    /// Validations of uniqueness without an index, where the tables are known.
    pub(super) fn racy(&mut self) {
        let model = self.schema.model;
        for (index, unique) in model.uniqueness.iter().enumerate() {
            let only_checked = unique.validated && !unique.enforced && model.has_table(unique.class);
            let columns = unique.references.iter().map(|reference| column_name(self.schema, *reference));
            let columns: Vec<String> = columns.chain(unique.columns.iter().map(ToString::to_string)).collect();
            if !only_checked || unique.partial || columns.is_empty() {
                continue;
            }
            let mut before = Instance::default();
            before.objects.extend([Object::new(unique.class), Object::new(unique.class)]);
            let Some(before) = before.completions(self.schema).into_iter().next() else { continue };
            let (name, table) = (self.name(unique.class), table_name(self.schema, unique.class));
            let list = columns.join(", ");
            self.found.troubles.push(Trouble {
                id: format!("racy:{name}:{}", columns.join(",")),
                headline: format!(
                    "Two {} with the same {} can be saved at the same time",
                    plural(&name),
                    columns.join(" and ")
                ),
                why:
                    "The validation looks before it writes, and another request may write in between; no unique index \
                      forbids it."
                        .into(),
                place: unique.place.clone(),
                case: Case { before, delete: None },
                query: Some(format!("SELECT {list} FROM {table} GROUP BY {list} HAVING count(*) > 1;")),
                remedy: Some(self.migration(Edit::UniqueIndex(index))),
            });
        }
    }

    /// Relations that are required, in tables that do not require them.
    pub(super) fn nullable(&mut self) {
        let model = self.schema.model;
        for (index, declared) in model.references.iter().enumerate() {
            let reference = ReferenceId(index);
            if declared.required != Required::Validated || !model.has_table(declared.child) || self.nullifies(reference)
            {
                continue;
            }
            let Some(mut before) = self.one(declared.child) else { continue };
            before.objects[0].references.remove(&reference);
            let before = before.reachable_from(0);
            let (child, name) = (self.name(declared.child), &declared.name);
            let (table, column) = (table_name(self.schema, declared.child), column_name(self.schema, reference));
            self.found.troubles.push(Trouble {
                id: format!("nullable:{}", self.stored(reference)),
                headline: format!("{} without a {name} can be stored", capital(&article(&child))),
                why: format!(
                    "The relation is required by a validation only; {table}.{column} may be NULL, and `update_column`, \
                     `insert_all` or SQL put it there."
                ),
                place: declared.place.clone(),
                case: Case { before, delete: None },
                query: Some(format!("SELECT * FROM {table} WHERE {column} IS NULL;")),
                remedy: Some(self.migration(Edit::NotNull(reference))),
            });
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}
