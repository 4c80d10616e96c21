//! Associations that go by others, or by a table of pairs.

use std::sync::Arc;

use super::{Item, Resolver};
use crate::model::{Association, ClassId, Join, JoinId, Kind, OnDelete, Path, Place, ReferenceId, Side};
use crate::read::rails::schema_rb::join_table_name;

impl Resolver<'_> {
    /// `has_and_belongs_to_many`
    pub(super) fn join(&mut self, item: &Item<'_>) {
        let Some(target) = self.target(item) else { return };
        self.set_target(item.id, Some(target));
        let table = |class: ClassId| self.model.class(class).table.clone().unwrap_or_default();
        let default = || join_table_name(&table(item.owner), &table(target));
        let name: Arc<str> = item.text("join_table").map_or_else(default, str::to_owned).into();
        let related = |a: ClassId, b: ClassId| self.model.is_a(a, b) || self.model.is_a(b, a);
        let existing = self.model.joins.iter().enumerate().find_map(|(index, join)| {
            let fits = *join.name == *name;
            let forth = related(join.left, item.owner) && related(join.right, target);
            let back = related(join.right, item.owner) && related(join.left, target);
            match (fits && forth, fits && back) {
                // Both ways round: a class joined with itself, where the later declaration is the way back.
                (true, true) | (false, true) => Some((JoinId(index), Side::Right)),
                (true, false) => Some((JoinId(index), Side::Left)),
                (false, false) => None,
            }
        });
        let (id, side) = existing.unwrap_or_else(|| {
            let on_delete = self.join_on_delete(&name, &item.declaration.place);
            let place = item.declaration.place.clone();
            self.model.joins.push(Join { name, left: item.owner, right: target, on_delete, place });
            (JoinId(self.model.joins.len() - 1), Side::Left)
        });
        self.set_path(item.id, Path::Join(id, side));
    }

    fn join_on_delete(&mut self, name: &str, place: &Place) -> Option<OnDelete> {
        let table = self.schema.tables.get(name)?;
        let actions: Vec<OnDelete> = table.foreign_keys.iter().map(|key| key.on_delete).collect();
        match actions.as_slice() {
            [] => None,
            [first, second] if first == second => Some(*first),
            [first, ..] => {
                self.remark(
                    format!("the foreign keys of {name} differ in what they do; `{first}` is taken for both"),
                    place,
                );
                Some(*first)
            }
        }
    }

    /// Ways through other associations; one may go through another such, so it takes several rounds.
    pub(super) fn through(&mut self, mut items: Vec<&Item<'_>>) {
        loop {
            let before = items.len();
            items.retain(|item| !self.try_through(item));
            if items.len() == before {
                break;
            }
        }
        for item in items {
            let owner = self.name(item.owner);
            let via = item.text("through").unwrap_or("?");
            let message = format!("{owner}.{} goes through {via}, which does not lead there", item.declaration.name);
            self.remark(message, &item.declaration.place);
        }
    }

    fn try_through(&mut self, item: &Item<'_>) -> bool {
        let Some(first) = item.text("through").and_then(|via| self.association_named(item.owner, via)) else {
            return false;
        };
        let Some(middle) = self.model.association(first).target.filter(|_| first != item.id) else { return false };
        let name = item.declaration.name.as_str();
        let singular = self.config.inflections.singularize(name);
        let sources = match item.text("source") {
            Some(source) => vec![source],
            None => vec![singular.as_str(), name],
        };
        let Some(second) = sources.iter().find_map(|source| self.association_named(middle, source)) else {
            return false;
        };
        let owner = self.name(item.owner);
        let by_type = item.text("source_type").and_then(|class| self.find_class(class, &owner));
        let association = self.model.association(second);
        let is_ready = association.target.is_some() || by_type.is_some() || !matches!(association.path, Path::Unknown);
        let target = by_type.or(association.target);
        if !is_ready || second == item.id {
            return false;
        }
        self.set_target(item.id, target);
        self.set_path(item.id, Path::Through(first, second));
        true
    }

    /// A `has_one` over the column of a `has_many` of the same class is only a choice among those.
    pub(super) fn choices(&mut self) {
        let many: Vec<(ClassId, ReferenceId)> =
            self.model.associations.iter().filter_map(by_inverse(Kind::HasMany)).collect();
        for association in &mut self.model.associations {
            if let Some(one) = by_inverse(Kind::HasOne)(association) {
                association.is_choice |= association.condition.is_none() && many.contains(&one);
            }
        }
    }
}

/// The owner and the column of a direct association of this kind, without a condition.
fn by_inverse(kind: Kind) -> impl Fn(&Association) -> Option<(ClassId, ReferenceId)> {
    move |association| match association.path {
        Path::Inverse(id) if association.kind == kind => Some((association.owner, id)),
        _ => None,
    }
}
