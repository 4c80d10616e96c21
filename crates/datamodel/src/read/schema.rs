//! What a database knows of its tables: from `CREATE TABLE`, from `db/schema.rb`, or from migrations one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{OnDelete, Place, Remark};

/// The tables of a database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// By name.
    pub tables: BTreeMap<Arc<str>, Table>,
    /// Views, by name.
    pub views: BTreeSet<Arc<str>>,
    /// What was not understood.
    pub remarks: Vec<Remark>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// What it references.
    pub foreign_keys: Vec<ForeignKey>,
    /// What is unique in it, the primary key first.
    pub unique: Vec<UniqueKey>,
    /// Columns whose texts are equal whatever their case.
    pub folding: BTreeSet<Arc<str>>,
    /// Where it is defined.
    pub place: Place,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: Arc<str>,
    pub not_null: bool,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(crate) struct ForeignKey {
    /// The constraint's name, if it was given one.
    pub name: Option<Arc<str>>,
    pub columns: Vec<Arc<str>>,
    pub parent: Arc<str>,
    pub on_delete: OnDelete,
    pub place: Place,
}

/// A primary key, a unique constraint or a unique index.
#[derive(Clone, Debug)]
pub(crate) struct UniqueKey {
    pub name: Option<Arc<str>>,
    pub columns: Vec<Arc<str>>,
    pub partial: bool,
    /// The condition of a partial index, as SQL.
    pub filter: Option<Arc<str>>,
    /// Columns whose values are equal if they differ in case only: an index of `lower(...)`, or a collation that says
    /// so.
    pub folded: BTreeSet<Arc<str>>,
    pub is_primary: bool,
    pub place: Place,
}

impl Schema {
    /// The table, made if it is not there.
    pub(crate) fn table_mut(&mut self, name: &str, place: &Place) -> &mut Table {
        self.tables.entry(name.into()).or_insert_with(|| Table { place: place.clone(), ..Table::default() })
    }

    /// A table got another name; foreign keys follow it.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(table) = self.tables.remove(from) {
            self.tables.insert(to.into(), table);
        }
        for key in self.tables.values_mut().flat_map(|table| &mut table.foreign_keys) {
            if *key.parent == *from {
                key.parent = to.into();
            }
        }
    }
}

impl Table {
    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| *column.name == *name)
    }

    /// Adds a column, or says more about one that is there.
    pub(crate) fn add_column(&mut self, name: &str, not_null: bool) {
        match self.columns.iter_mut().find(|column| *column.name == *name) {
            Some(column) => column.not_null |= not_null,
            None => self.columns.push(Column { name: name.into(), not_null }),
        }
    }

    /// Says whether a column may be NULL.
    pub(crate) fn set_not_null(&mut self, name: &str, not_null: bool) {
        if let Some(column) = self.columns.iter_mut().find(|column| *column.name == *name) {
            column.not_null = not_null;
        }
    }

    /// Drops a column with all that stands on it.
    pub(crate) fn drop_column(&mut self, name: &str) {
        self.columns.retain(|column| *column.name != *name);
        self.foreign_keys.retain(|key| key.columns.iter().all(|column| **column != *name));
        self.unique.retain(|key| key.columns.iter().all(|column| **column != *name));
    }

    /// Gives a column another name.
    pub(crate) fn rename_column(&mut self, from: &str, to: &str) {
        let columns = self.columns.iter_mut().map(|column| &mut column.name);
        let keys = self.foreign_keys.iter_mut().flat_map(|key| &mut key.columns);
        let unique = self.unique.iter_mut().flat_map(|key| &mut key.columns);
        for name in columns.chain(keys).chain(unique).filter(|name| ***name == *from) {
            *name = to.into();
        }
    }

    /// Drops a constraint or an index of this name.
    pub(crate) fn drop_named(&mut self, name: &str) {
        self.foreign_keys.retain(|key| key.name.as_deref() != Some(name));
        self.unique.retain(|key| key.name.as_deref() != Some(name));
    }

    /// The foreign key of exactly this column.
    pub(crate) fn foreign_key(&self, column: &str) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|key| key.columns.len() == 1 && key.columns.iter().all(|c| **c == *column))
    }

    /// Whether no two rows agree on these columns, NULL apart.
    pub(crate) fn is_unique(&self, columns: &[&str]) -> bool {
        self.unique.iter().any(|key| !key.partial && same_set(&key.columns, columns))
    }
}

/// Whether two lists name the same columns, in any order.
pub(crate) fn same_set(left: &[Arc<str>], right: &[&str]) -> bool {
    left.len() == right.len() && left.iter().all(|column| right.contains(&&**column))
}
