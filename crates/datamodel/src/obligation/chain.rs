//! The simplest data in which a delete comes to something far away: a chain of objects, each of which goes with the one
//! before.
//!
//! ```text
//!   user1 ◀── post1 ◀── comment1 ◀── vote1          delete user1: does vote1 name what is gone, does it stand in the way?
//! ```

use std::collections::{BTreeMap, VecDeque};

use super::Work;
use crate::logic::{Action, Instance, Object, Reach};
use crate::model::{ClassId, OnDelete, ReferenceId};

/// How an object goes with another.
#[derive(Clone, Copy)]
enum Link {
    /// It names the other by this.
    Down(ReferenceId),
    /// It is named by it.
    Up(ReferenceId),
}

/// An object of a class that goes, with its rules or past them.
type Goes = (ClassId, bool);

impl Work<'_, '_> {
    /// A chain from an object of a class to something that a reference may name, and an object that names it.
    pub(super) fn chain(&self, class: ClassId, reference: ReferenceId) -> Vec<Instance> {
        let Some(concrete) = self.concrete(class) else { return Vec::new() };
        let start = (concrete, self.schema.semantics.has_orm());
        let mut before: BTreeMap<Goes, (Goes, Link)> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        let targets = &self.schema.references[reference.0].targets;
        while let Some(at) = queue.pop_front() {
            let is_target = targets.iter().any(|target| self.schema.model.is_a(at.0, *target));
            let data = is_target.then(|| self.built(start, at, &before, reference)).flatten();
            if let Some(data) = data {
                return self.allowed(&data);
            }
            for (next, link) in self.followers(at) {
                if next != start && !before.contains_key(&next) {
                    before.insert(next, (at, link));
                    queue.push_back(next);
                }
            }
        }
        Vec::new()
    }

    /// What goes with an object.
    fn followers(&self, (class, with_rules): Goes) -> Vec<(Goes, Link)> {
        let mut found = Vec::new();
        let mut add = |to: ClassId, with_rules: bool, link: Link| {
            found.extend(self.concrete(to).map(|to| ((to, with_rules), link)));
        };
        for rule in self.schema.rules_of(class).filter(|_| with_rules) {
            let with_rules = match rule.action {
                Action::Destroy | Action::Later => true,
                Action::Delete => false,
                Action::Nullify | Action::Refuse | Action::RefuseOthers => continue,
            };
            match rule.reach {
                Reach::Children(reference) => add(self.schema.child(reference), with_rules, Link::Down(reference)),
                Reach::Parent(reference) => {
                    let targets = &self.schema.references[reference.0].targets;
                    targets.iter().for_each(|target| add(*target, with_rules, Link::Up(reference)));
                }
                Reach::Pairs(..) => {}
            }
        }
        for (index, stored) in self.schema.references.iter().enumerate() {
            let names = stored.targets.iter().any(|target| self.schema.model.is_a(class, *target));
            if stored.database == Some(OnDelete::Cascade) && names {
                add(self.schema.child(ReferenceId(index)), false, Link::Down(ReferenceId(index)));
            }
        }
        found
    }

    /// The objects of a chain, the deleted one first, and one more that names the last.
    fn built(
        &self,
        start: Goes,
        end: Goes,
        before: &BTreeMap<Goes, (Goes, Link)>,
        reference: ReferenceId,
    ) -> Option<Instance> {
        let mut links = Vec::new();
        let mut at = end;
        while at != start {
            let (from, link) = *before.get(&at)?;
            links.push((at.0, link));
            at = from;
        }
        let mut data = Instance::default();
        data.objects.push(Object::new(start.0));
        let naming = (self.concrete(self.schema.child(reference))?, Link::Down(reference));
        for (class, link) in links.into_iter().rev().chain([naming]) {
            let (last, next) = (data.objects.len() - 1, data.objects.len());
            data.objects.push(Object::new(class));
            match link {
                Link::Down(reference) => data.objects[next].references.insert(reference, last),
                Link::Up(reference) => data.objects[last].references.insert(reference, next),
            };
        }
        Some(data)
    }
}
