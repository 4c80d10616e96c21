//! Deletes that never end: each object destroys those that name it, and they name each other in a cycle.
//!
//! ```text
//!   node1 ──parent──▶ node2 ──parent──▶ node1        destroy node1 → node2 → node1 → ... until the stack is exhausted
//! ```
//!
//! Rails loads the objects of an association anew and destroys them before the row of their owner goes, so nothing
//! stops it. A rule of a `belongs_to` acts after the row has gone, and ends such a cycle. Django collects first, and
//! the database deletes each row once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::words::{article, declaration};
use super::{Trouble, Work};
use crate::logic::{Action, Case, Instance, Object, Reach, Rule, Semantics};
use crate::model::{AssociationId, ClassId, ReferenceId};

impl Work<'_, '_> {
    pub(super) fn endless(&mut self) {
        if self.schema.semantics != Semantics::Rails {
            return;
        }
        let mut told: BTreeSet<ClassId> = BTreeSet::new();
        for index in 0..self.schema.model.classes.len() {
            let start = ClassId(index);
            let asked = self.schema.root(start) == start && self.in_scope(start);
            if !asked || self.schema.model.class(start).is_foreign || told.contains(&start) {
                continue;
            }
            let Some(cycle) = self.destroy_cycle(start) else { continue };
            told.extend(cycle.iter().map(|(_, reference)| self.schema.root(self.schema.child(*reference))));
            self.tell_endless(start, &cycle);
        }
    }

    fn tell_endless(&mut self, start: ClassId, cycle: &[(AssociationId, ReferenceId)]) {
        let model = self.schema.model;
        let (name, place) = (self.name(start), model.association(cycle[0].0).place.clone());
        let classes = || cycle.iter().map(|(_, reference)| model.class(self.schema.child(*reference)));
        if let Some(class) = classes().find(|class| class.has_own_validation || !class.destroy_code.is_empty()) {
            let reason = format!("code of {} may forbid cycles, and is not understood", class.name);
            self.found.undecided.push(format!("deleting {} ends: {reason} ({place})", article(&name)));
            return;
        }
        let Some(before) = self.cyclic(start, cycle) else {
            self.found.proved += 1;
            return;
        };
        let rules: Vec<String> = cycle.iter().map(|(id, _)| declaration(self.schema, *id)).collect();
        self.found.troubles.push(Trouble {
            id: format!("endless:{name}"),
            headline: format!("Deleting {} never ends if what it destroys leads back to it", article(&name)),
            why: format!(
                "{} with `dependent: :destroy` destroys objects before their owner's row goes; in a cycle that repeats \
                 until the stack is exhausted, and nothing forbids a cycle.",
                rules.join(", then ")
            ),
            place,
            case: Case { before, delete: None },
            query: None,
            remedy: None,
        });
    }

    /// The shortest way of destroying that leads from a class back to it.
    fn destroy_cycle(&self, start: ClassId) -> Option<Vec<(AssociationId, ReferenceId)>> {
        let whole = |rule: &&Rule| rule.action == Action::Destroy && rule.condition.is_none() && rule.filled.is_none();
        let mut before: BTreeMap<ClassId, (ClassId, AssociationId, ReferenceId)> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for rule in self.schema.rules.iter().filter(whole).filter(|rule| self.schema.root(rule.owner) == at) {
                let Reach::Children(reference) = rule.reach else { continue };
                let next = self.schema.root(self.schema.child(reference));
                // What only a class below has or names is another matter.
                if rule.owner != at || self.schema.child(reference) != next || before.contains_key(&next) {
                    continue;
                }
                before.insert(next, (at, rule.association, reference));
                if next == start {
                    return Some(way(start, &before));
                }
                queue.push_back(next);
            }
        }
        None
    }

    /// Objects that name each other in a cycle, if the model allows them.
    fn cyclic(&self, start: ClassId, cycle: &[(AssociationId, ReferenceId)]) -> Option<Instance> {
        let mut data = Instance::default();
        data.objects.push(Object::new(start));
        for (index, (_, reference)) in cycle.iter().enumerate() {
            let last = index + 1 == cycle.len();
            if !last {
                data.objects.push(Object::new(self.schema.child(*reference)));
            }
            let child = if last { 0 } else { index + 1 };
            data.objects[child].references.insert(*reference, index);
        }
        self.allowed(&data).into_iter().next()
    }
}

/// The steps from a class back to it.
fn way(
    start: ClassId,
    before: &BTreeMap<ClassId, (ClassId, AssociationId, ReferenceId)>,
) -> Vec<(AssociationId, ReferenceId)> {
    let mut steps = Vec::new();
    let mut at = start;
    while let Some((from, association, reference)) = before.get(&at) {
        steps.push((*association, *reference));
        at = *from;
        if at == start {
            break;
        }
    }
    steps.reverse();
    steps
}
