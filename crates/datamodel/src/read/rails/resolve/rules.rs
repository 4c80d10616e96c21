//! What the database and validations add to what is declared.

use std::sync::Arc;

use super::Resolver;
use crate::model::{ClassId, ColumnFact, Literal, Path, Reference, Required};
use crate::read::rails::expand::Validation;
use crate::read::rails::meaning;
use crate::read::rails::tables::{self, Said, Who};

impl<'a> Resolver<'a> {
    /// Foreign keys that nobody declared, and unique indexes.
    pub(super) fn database(&mut self) {
        self.model.tables = self.schema.tables.keys().map(|table| table.as_ref().into()).collect();
        for (name, table) in &self.schema.tables {
            let columns = table.columns.iter().filter(|column| column.not_null);
            self.model.not_null.extend(columns.map(|column| (name.clone(), column.name.clone())));
        }
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
                    let said = self.said(validation, attribute);
                    tables::add_unique(&mut self.model, class, &columns, said, Who::Orm, &validation.place);
                }
            }
        }
    }

    /// Which objects a validation compares, and how.
    fn said(&self, validation: &Validation, attribute: &str) -> Said {
        let blank =
            ColumnFact { column: attribute.into(), values: vec![Some(Literal::Text("".into()))], is_one: false };
        // A column that names an object is empty or filled, never blank.
        let blank = Some(blank).filter(|_| validation.skips_blank && !attribute.ends_with("_id"));
        let facts: Vec<ColumnFact> = validation.meaning.iter().flatten().cloned().chain(blank).collect();
        let is_known = !facts.is_empty() && (!validation.partial || validation.meaning.is_some());
        Said {
            partial: validation.partial || !facts.is_empty(),
            filter: is_known.then(|| meaning::to_sql(&facts).into()),
            folded: Some(attribute.into()).filter(|_| validation.folded).into_iter().collect(),
            is_open: validation.is_open,
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
