//! Where the application and the database do not fit together: deletes that are stopped, and rules that only one of
//! them has.

use std::collections::BTreeSet;

use isolde_smt::Silence;
use isolde_sql::print::identifier;

use super::words::{article, declaration, plural, rule};
use super::{Edit, Trouble, Work};
use crate::logic::instance::{column_name, table_name, type_column};
use crate::logic::{
    Action, Case, Instance, Object, Order, Outcome, Question, Reach, Reached, Rule, Schema, Semantics, Verdict, decide,
    delete,
};
use crate::model::{AssociationId, ClassId, DeleteRule, OnDelete, ReferenceId, Required, Uniqueness};
use crate::property::{Property, make};

impl Work<'_, '_> {
    pub(super) fn raises(&mut self) -> Result<(), Silence> {
        let mut known: BTreeSet<ClassId> = BTreeSet::new();
        let mut classes: Vec<(usize, ClassId, Reached)> = Vec::new();
        for index in 0..self.schema.model.classes.len() {
            let class = ClassId(index);
            let reached = self.reached(class);
            let is_foreign = self.schema.model.class(class).is_foreign;
            if self.schema.is_concrete(class) && self.in_scope(class) && !is_foreign && self.may_raise(class, &reached)
            {
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
                // Data in which only the declared refusal acts show nothing.
                if self.is_declared_refusal(class, &case) {
                    continue;
                }
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

    /// Whether a constraint may stop a delete that should go through. Where deletes are the database's alone, a refusal
    /// is what was declared; but not one further down, in the way of a cascade that was declared as well.
    fn may_raise(&self, class: ClassId, reached: &Reached) -> bool {
        let declared = matches!(self.schema.semantics, Semantics::Sql | Semantics::Prisma);
        (0..self.schema.references.len()).map(ReferenceId).any(|reference| {
            let stored = &self.schema.references[reference.0];
            let roots = stored.targets.iter().map(|target| self.schema.root(*target));
            let mut touched = roots.filter(|root| reached.contains(*root));
            let declines = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict));
            match stored.not_null && self.nullifies(reference) {
                true => touched.next().is_some(),
                false => declines && touched.any(|root| !declared || root != self.schema.root(class)),
            }
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
            // Where deletes are the database's alone, a refusal of the delete itself is what was declared.
            let is_declared = matches!(self.schema.semantics, Semantics::Sql | Semantics::Prisma);
            about && (!settled && refuses && !is_declared || stored.not_null && self.nullifies(*reference))
        })
    }

    /// Whether a delete is refused by what names the object itself, as the database was told to.
    fn is_declared_refusal(&self, class: ClassId, case: &Case) -> bool {
        if !matches!(self.schema.semantics, Semantics::Sql | Semantics::Prisma) {
            return false;
        }
        let refuses = |reference: &ReferenceId| {
            let stored = &self.schema.references[reference.0];
            let declines = matches!(stored.database, Some(OnDelete::NoAction | OnDelete::Restrict));
            declines && stored.targets.iter().any(|target| self.schema.model.is_a(class, *target))
        };
        let deleted = case.delete.as_ref().map(|(object, _)| *object);
        let mut named = case.before.objects.iter().flat_map(|object| &object.references);
        named.any(|(reference, target)| Some(*target) == deleted && refuses(reference))
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
        for class in owners.into_iter().filter(|class| self.in_scope(*class)).collect::<Vec<_>>() {
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
                if !self.in_scope(target) {
                    continue;
                }
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
        // What the database alone would do is a note about a model; no change is judged by it.
        if !matches!(self.schema.semantics, Semantics::Rails | Semantics::Django) || self.scope.is_some() {
            return;
        }
        let alone = Schema::new(self.schema.model, Semantics::Sql);
        for index in 0..self.schema.references.len() {
            let reference = ReferenceId(index);
            let (stored, declared) = (&self.schema.references[index], self.schema.model.reference(reference));
            for target in stored.targets.clone() {
                let Some(id) = self.inverse(reference, target).filter(|_| stored.database.is_some()) else { continue };
                if self.schema.model.class(target).is_foreign
                    || self.schema.unclear_in(&self.schema.reach(target)).is_some()
                {
                    continue;
                }
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
        if self.scope.is_some() {
            return;
        }
        let model = self.schema.model;
        for (index, unique) in model.uniqueness.iter().enumerate() {
            let class = model.class(unique.class);
            let only_checked = unique.validated && !unique.enforced && model.has_table(unique.class);
            let columns = unique_columns(self.schema, unique);
            if !only_checked || columns.is_empty() || class.is_view || class.is_foreign {
                continue;
            }
            let (name, table) = (self.name(unique.class), identifier(&table_name(self.schema, unique.class)));
            let vague = match (unique.is_open, unique.partial && unique.filter.is_none()) {
                (true, _) => Some("some of its columns are computed"),
                (false, true) => Some("it is not understood which objects it concerns"),
                (false, false) => None,
            };
            if let Some(reason) = vague {
                let place = &unique.place;
                let list = columns.join(", ");
                self.found.undecided.push(format!("{name} unique by {list}: {reason} ({place})"));
                continue;
            }
            let mut before = Instance::default();
            before.objects.extend([Object::new(unique.class), Object::new(unique.class)]);
            let Some(before) = before.completions(self.schema).into_iter().next() else { continue };
            let list = key_list(self.schema, unique).join(", ");
            let filter = unique.filter.as_ref().map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
            let case = if !unique.folded.is_empty() { ", whatever its case," } else { "" };
            self.found.troubles.push(Trouble {
                id: format!("racy:{name}:{}", columns.join(",")),
                headline: format!(
                    "Two {} with the same {}{case} can be saved at the same time",
                    plural(&name),
                    columns.join(" and ")
                ),
                why: match !unique.folded.is_empty() {
                    true => {
                        "The validation compares without regard to case, and looks before it writes; another request \
                             may write in between, and no unique index compares in the same way."
                            .into()
                    }
                    false => "The validation looks before it writes, and another request may write in between; no \
                              unique index forbids it."
                        .into(),
                },
                place: unique.place.clone(),
                case: Case { before, delete: None },
                query: Some(format!("SELECT {list} FROM {table}{filter} GROUP BY {list} HAVING count(*) > 1;")),
                remedy: Some(self.migration(Edit::UniqueIndex(index))),
            });
        }
    }

    /// Relations that are required, in tables that do not require them.
    pub(super) fn nullable(&mut self) {
        if self.scope.is_some() {
            return;
        }
        let model = self.schema.model;
        for (index, declared) in model.references.iter().enumerate() {
            let reference = ReferenceId(index);
            let child = model.class(declared.child);
            let is_theirs = child.is_view || child.is_foreign;
            if declared.required != Required::Validated
                || is_theirs
                || !model.has_table(declared.child)
                || self.nullifies(reference)
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

/// The columns of a uniqueness, those that name objects first, with what says of which class these are.
pub(super) fn unique_columns(schema: &Schema<'_>, unique: &Uniqueness) -> Vec<String> {
    let references = unique.references.iter().flat_map(|reference| {
        [Some(column_name(schema, *reference)), type_column(schema, *reference)].into_iter().flatten()
    });
    references.chain(unique.columns.iter().map(ToString::to_string)).collect()
}

/// The columns as SQL compares them.
pub(super) fn key_list(schema: &Schema<'_>, unique: &Uniqueness) -> Vec<String> {
    let key = |column: String| match unique.folded.contains(&*column) {
        true => format!("lower({})", identifier(&column)),
        false => identifier(&column),
    };
    unique_columns(schema, unique).into_iter().map(key).collect()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}
