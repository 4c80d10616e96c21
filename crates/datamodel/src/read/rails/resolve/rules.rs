//! What the database and validations add to what is declared.

use std::sync::Arc;

use super::Resolver;
use crate::model::{ClassId, Path, Reference, Required};
use crate::read::rails::tables::{self, Who};

impl<'a> Resolver<'a> {
    /// Foreign keys that nobody declared, and unique indexes.
    pub(super) fn database(&mut self) {
        self.model.tables = self.schema.tables.keys().map(|table| table.as_ref().into()).collect();
        tables::add_foreign_keys(&mut self.model, self.schema, &self.by_table);
        tables::add_unique_keys(&mut self.model, self.schema, &self.by_table);
    }

    /// `validates ..., presence: true`, and `uniqueness: ...`
    pub(super) fn validations(&mut self) {
        let classes: Vec<(&'a str, ClassId)> = self.ids.iter().map(|(name, id)| (*name, *id)).collect();
        for (name, class) in classes {
            let validations: Vec<_> = self.lineage(name).into_iter().flat_map(|model| &model.validations).collect();
            for validation in validations {
                if validation.presence && !validation.partial {
                    validation.attributes.iter().for_each(|attribute| self.require(class, attribute));
                }
                let Some(within) = &validation.unique_within else { continue };
                for attribute in &validation.attributes {
                    let mut columns: Vec<Arc<str>> = Vec::new();
                    for name in [attribute].into_iter().chain(within) {
                        columns.extend(self.columns_of(class, name));
                    }
                    tables::add_unique(
                        &mut self.model,
                        class,
                        &columns,
                        validation.partial,
                        Who::Orm,
                        &validation.place,
                    );
                }
            }
        }
    }

    /// The columns behind an attribute: an association's, or the one of this name.
    fn columns_of(&self, class: ClassId, attribute: &str) -> Vec<Arc<str>> {
        let association = self.association_named(class, attribute).map(|id| self.model.association(id));
        let Some(Path::Own(id)) = association.map(|association| &association.path) else {
            return vec![attribute.into()];
        };
        let reference = self.model.reference(*id);
        reference.column.clone().into_iter().chain(tables::type_column(reference)).collect()
    }

    /// `validates :profile, presence: true`, or `:profile_id`.
    fn require(&mut self, class: ClassId, attribute: &str) {
        let Some(column) = self.columns_of(class, attribute).into_iter().next() else { return };
        // A class below that demands it says nothing about those above.
        let is_it = |reference: &Reference| {
            reference.column.as_ref() == Some(&column) && self.model.is_a(reference.child, class)
        };
        let concerned: Vec<bool> = self.model.references.iter().map(is_it).collect();
        for (reference, _) in self.model.references.iter_mut().zip(concerned).filter(|(_, concerned)| *concerned) {
            reference.required = reference.required.max(Required::Validated);
        }
    }
}
