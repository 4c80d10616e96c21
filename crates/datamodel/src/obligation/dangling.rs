//! What a delete leaves behind: columns and pairs that name what is gone.
//!
//! First after the delete of what they name; then, where that is safe, after deletes that pass over its rules
//! (`delete_all`, a cascade of the database).

use std::collections::BTreeSet;

use isolde_smt::Silence;
use isolde_sql::print::identifier;

use super::words::{article, declaration, plural, rule};
use super::{Edit, Trouble, Work};
use crate::logic::instance::{column_name, table_name, type_column};
use crate::logic::{Action, Case, Instance, Object, Reach, Rule};
use crate::model::{ClassId, DeleteRule, Framework, JoinId, ReferenceId, Remark};
use crate::property::{Property, make};

impl Work<'_, '_> {
    pub(super) fn dangling(&mut self) -> Result<(), Silence> {
        let past_rules = self.deleted_past_rules();
        for index in 0..self.schema.references.len() {
            let reference = ReferenceId(index);
            // A view has no rows of its own that could stay.
            if self.is_guarded(reference) || self.schema.model.class(self.schema.child(reference)).is_view {
                continue;
            }
            let mut safe = true;
            for target in self.schema.references[index].targets.clone() {
                if !self.is_asked(target) {
                    self.found.decisions.extend(self.marked(reference, target));
                    continue;
                }
                let property = make::no_dangling(self.schema.model, reference, target);
                if let Some(case) = self.examine(&property, |work| work.naming(reference, target))? {
                    safe = false;
                    if let Some(decision) = self.decision(reference, target) {
                        self.found.decisions.push(decision);
                        continue;
                    }
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
    fn deleted_past_rules(&mut self) -> Vec<(ClassId, BTreeSet<ClassId>)> {
        let owners: BTreeSet<ClassId> = self.schema.rules.iter().map(|rule| rule.owner).collect();
        let reached = owners.into_iter().map(|owner| (owner, self.reached(owner).deleted));
        reached.filter(|(_, deleted)| !deleted.is_empty()).collect()
    }

    fn skipped(&mut self, reference: ReferenceId, past_rules: &[(ClassId, BTreeSet<ClassId>)]) -> Result<(), Silence> {
        let targets = self.schema.target_roots(reference);
        for (owner, deleted) in past_rules {
            let owner = *owner;
            let direct = targets.contains(&self.schema.root(owner));
            if direct || !self.is_asked(owner) || !targets.iter().any(|target| deleted.contains(target)) {
                continue;
            }
            let property = make::no_dangling(self.schema.model, reference, owner);
            if let Some(case) = self.examine(&property, |work| work.chain(owner, reference))? {
                let trouble = self.passed_over(reference, owner, &property, case);
                self.found.troubles.push(trouble);
            }
        }
        Ok(())
    }

    /// Joins whose rows the database does not look after.
    pub(super) fn pairs(&mut self) -> Result<(), Silence> {
        let past_rules = self.deleted_past_rules();
        for index in 0..self.schema.model.joins.len() {
            let join = JoinId(index);
            if self.schema.pairs_are_guarded(join) {
                continue;
            }
            let declared = self.schema.model.join(join);
            let sides: BTreeSet<ClassId> = [declared.left, declared.right].into();
            let roots: BTreeSet<ClassId> = sides.iter().map(|class| self.schema.root(*class)).collect();
            let past = past_rules.iter().filter(|(_, deleted)| !deleted.is_disjoint(&roots));
            let owners = past.map(|(owner, _)| *owner).filter(|owner| !roots.contains(&self.schema.root(*owner)));
            let classes = sides.iter().copied().chain(owners.collect::<Vec<_>>());
            for class in classes.filter(|class| self.is_asked(*class)).collect::<Vec<_>>() {
                let property = make::no_torn_pairs(self.schema.model, join, class);
                if let Some(case) = self.examine(&property, |work| work.pair(join, class))? {
                    let trouble = self.torn(join, class, &property, case);
                    self.found.troubles.push(trouble);
                }
            }
        }
        Ok(())
    }

    /// Whether deletes of a class are the application's to get right, and remove rows at all. A row that is only marked
    /// is still there to be named.
    fn is_asked(&self, class: ClassId) -> bool {
        let declared = self.schema.model.class(class);
        !declared.is_foreign && !declared.is_view && self.schema.row_goes(class) && self.in_scope(class)
    }

    /// What is not asked, because the row of the named object is only marked as deleted.
    fn marked(&self, reference: ReferenceId, target: ClassId) -> Option<Remark> {
        (!self.schema.row_goes(target) && self.in_scope(target)).then_some(())?;
        let (parent, child) = (article(&self.name(target)), plural(&self.name(self.schema.child(reference))));
        let message = format!("deleting {parent} only marks its row; {child} still name a row that is there");
        Some(Remark { message, place: self.schema.model.class(target).place.clone() })
    }

    /// A foreign key lets nothing dangle, whatever else happens.
    fn is_guarded(&self, reference: ReferenceId) -> bool {
        let stored = &self.schema.references[reference.0];
        stored.database.is_some() && stored.targets.iter().all(|target| self.schema.row_goes(*target))
    }

    /// One pair, of which object 0 is to be deleted; both ways round, if a class is joined with itself.
    fn pair(&self, join: JoinId, class: ClassId) -> Vec<Instance> {
        let declared = self.schema.model.join(join);
        let sides = [(declared.left, declared.right, (join, 0, 1)), (declared.right, declared.left, (join, 1, 0))];
        let here = sides.into_iter().filter(|(near, ..)| self.schema.root(*near) == self.schema.root(class));
        let one = |(near, far, pair)| {
            let mut data = Instance::default();
            data.objects.extend([Object::new(self.concrete(near)?), Object::new(self.concrete(far)?)]);
            data.pairs.insert(pair);
            Some(self.allowed(&data))
        };
        here.filter_map(one).flatten().collect()
    }

    /// The rule of a class that deletes rows which a reference may name, past their own rules.
    fn culprit(&self, owner: ClassId, reference: ReferenceId) -> Option<&Rule> {
        let targets = self.schema.target_roots(reference);
        self.schema.rules.iter().find(|rule| {
            let Reach::Children(r) = rule.reach else { return false };
            let here = self.schema.root(rule.owner) == self.schema.root(owner);
            here && rule.action == Action::Delete && targets.contains(&self.schema.root(self.schema.child(r)))
        })
    }

    /// `dependent: nil` is a statement about deletes, not an omission: it is reported as a remark, not as a finding.
    fn decision(&self, reference: ReferenceId, target: ClassId) -> Option<Remark> {
        let model = self.schema.model;
        let id = self.inverse(reference, target).filter(|_| model.framework == Framework::Rails)?;
        let association = model.association(id);
        (association.on_delete == Some(DeleteRule::Nothing)).then_some(())?;
        let (parent, child) = (article(&self.name(target)), plural(&self.name(self.schema.child(reference))));
        let message = format!(
            "deleting {parent} leaves its {child} behind: {} says `dependent: nil`, which is taken for a decision",
            declaration(self.schema, id)
        );
        Some(Remark { message, place: association.place.clone() })
    }

    fn left_behind(&self, reference: ReferenceId, target: ClassId, property: &Property, case: Case) -> Trouble {
        let (child, parent) = (self.name(self.schema.child(reference)), self.name(target));
        let declared = self.inverse(reference, target);
        let place = declared
            .map_or(&self.schema.model.reference(reference).place, |id| &self.schema.model.association(id).place);
        Trouble {
            id: format!("dangling:{}:{parent}", self.stored(reference)),
            headline: format!("Deleting {} leaves its {} behind", article(&parent), plural(&child)),
            why: self.why_left_behind(reference, target),
            place: place.clone(),
            case,
            query: Some(self.orphans(reference, target)),
            remedy: self.remedy(reference, target, property),
        }
    }

    fn why_left_behind(&self, reference: ReferenceId, target: ClassId) -> String {
        let model = self.schema.model;
        let parent = self.name(target);
        let column = format!(
            "{}.{}",
            table_name(self.schema, self.schema.child(reference)),
            column_name(self.schema, reference)
        );
        let unprotected = match self.schema.references[reference.0].database {
            None => format!("nothing in the database protects {column}"),
            Some(_) => format!("{parent} is only marked as deleted, so the foreign key of {column} never acts"),
        };
        let Some(id) = self.inverse(reference, target) else {
            let child = plural(&self.name(self.schema.child(reference)));
            return format!("{parent} does not declare that it has {child}, and {unprotected}.");
        };
        let association = model.association(id);
        let written = declaration(self.schema, id);
        match (association.on_delete, &association.condition) {
            (None, _) if model.framework == Framework::Rails => {
                format!("{written} has no `dependent:`, and {unprotected}.")
            }
            (Some(said), Some(condition)) => {
                let said = rule(model.framework, association.kind, said);
                format!(
                    "{written} with `dependent: {said}` concerns only those with `{condition}`; the others stay, and {unprotected}."
                )
            }
            (Some(said @ DeleteRule::Nothing), None) => {
                let said = rule(model.framework, association.kind, said);
                format!("{written} says {said}, which leaves them alone, and {unprotected}.")
            }
            _ => format!("What {written} says does not cover all of them, and {unprotected}."),
        }
    }

    /// Rows that name by a reference what is not there.
    fn orphans(&self, reference: ReferenceId, target: ClassId) -> String {
        let (child, parent) = (table_name(self.schema, self.schema.child(reference)), table_name(self.schema, target));
        let column = identifier(&column_name(self.schema, reference));
        let of_type = type_column(self.schema, reference)
            .map(|column| format!("{} = '{}' AND ", identifier(&column), self.name(self.schema.root(target))));
        let of_type = of_type.unwrap_or_default();
        let key = identifier(self.schema.model.reference(reference).key.as_deref().unwrap_or("id"));
        let (child, parent) = (identifier(&child), identifier(&parent));
        format!("SELECT * FROM {child} WHERE {of_type}{column} NOT IN (SELECT {key} FROM {parent});")
    }

    fn passed_over(&self, reference: ReferenceId, owner: ClassId, property: &Property, case: Case) -> Trouble {
        let model = self.schema.model;
        let (child, parent) = (self.name(self.schema.child(reference)), self.name(owner));
        let roots = self.schema.target_roots(reference);
        let reached = self.schema.reach(owner).deleted;
        let between = roots.iter().copied().find(|root| reached.contains(root)).unwrap_or(self.schema.child(reference));
        let middle = self.name(between);
        let culprit = self.culprit(owner, reference).map(|rule| rule.association);
        let why = match culprit {
            Some(id) => format!(
                "{} with `dependent: {}` deletes the rows of its {} without their callbacks, so what {middle} says about its {} never runs.",
                declaration(self.schema, id),
                rule(model.framework, model.association(id).kind, DeleteRule::Delete),
                plural(&middle),
                plural(&child)
            ),
            None => format!(
                "Rows of {middle} are deleted by the database, so what {middle} says about its {} never runs.",
                plural(&child)
            ),
        };
        let place = culprit.map_or(&model.class(owner).place, |id| &model.association(id).place);
        Trouble {
            id: format!("skipped:{}:{parent}", self.stored(reference)),
            headline: format!(
                "Deleting {} leaves {} of {} that are deleted with it",
                article(&parent),
                plural(&child),
                plural(&middle)
            ),
            why,
            place: place.clone(),
            case,
            query: Some(self.orphans(reference, between)),
            remedy: culprit.and_then(|id| self.tried(Edit::Dependent(id, DeleteRule::Destroy), property)),
        }
    }

    fn torn(&self, join: JoinId, class: ClassId, property: &Property, case: Case) -> Trouble {
        let declared = self.schema.model.join(join);
        let (name, parent) = (&declared.name, self.name(class));
        let roots = [declared.left, declared.right].map(|side| self.schema.root(side));
        let why = match (roots.contains(&self.schema.root(class)), roots[0] == roots[1]) {
            (true, true) => format!(
                "{parent} is joined with itself, and removes only the rows of its own side; those on whose other side \
                 it stands stay, and nothing in the database protects them."
            ),
            (true, false) => format!(
                "{parent} does not declare the relation of {name}, so nobody removes the rows, and nothing in the \
                 database protects them."
            ),
            (false, _) => "What is deleted goes without its callbacks, which would have removed the rows, and nothing \
                           in the database protects them."
                .into(),
        };
        Trouble {
            id: format!("dangling:{name}:{parent}"),
            headline: format!("Deleting {} leaves rows of {name} that name what is gone", article(&parent)),
            why,
            place: declared.place.clone(),
            case,
            query: None,
            remedy: self.tried(Edit::GuardPairs(join), property),
        }
    }
}
