//! Two transactions have each changed the catalog: both changes together, if they are about different things.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Catalog, TableId};
use crate::types::UserType;

impl Catalog {
    /// Which of a database's catalogs this is: a statement that was bound to another must be bound again.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Numbers this catalog.
    pub fn set_version(&mut self, version: u64) {
        self.version = version;
    }

    /// Gives no table number below `tables` and no routine number below `routines` to what is defined next: others have
    /// given them out.
    pub fn reserve(&mut self, tables: usize, routines: usize) {
        self.tables.resize(self.tables.len().max(tables), None);
        self.routines.resize(self.routines.len().max(routines), None);
    }

    /// The tables that are not the same in an older catalog.
    pub fn changed_tables<'a>(&'a self, older: &'a Catalog) -> impl Iterator<Item = TableId> + 'a {
        let count = self.tables.len().max(older.tables.len());
        let differs = |&i: &usize| !same(slot(&self.tables, i), slot(&older.tables, i));
        (0..count).filter(differs).map(|i| TableId(i as u32))
    }

    /// Everything that is defined, as text: equal for equal catalogs.
    pub fn describe(&self) -> String {
        let mut unnumbered = self.clone();
        unnumbered.version = 0;
        format!("{unnumbered:?}")
    }

    /// What `mine` and `theirs` have both made of `base`; `None` if they have changed the same thing.
    pub fn merged(base: &Catalog, mine: &Catalog, theirs: &Catalog) -> Option<Catalog> {
        // Taken apart, so that what is added to a catalog is not forgotten here.
        let Catalog {
            tables,
            routines,
            sequences,
            table_names,
            types,
            views,
            schemas,
            search_path,
            unchecked_bodies,
            version: _,
        } = base;
        let both = |all: &BTreeSet<Arc<str>>| all.iter().map(|name| (name.clone(), ())).collect::<BTreeMap<_, _>>();
        let merged = map(&both(schemas), &both(&mine.schemas), &both(&theirs.schemas), |(), ()| true)?;
        Some(Catalog {
            tables: slots(tables, &mine.tables, &theirs.tables)?,
            routines: slots(routines, &mine.routines, &theirs.routines)?,
            sequences: map(sequences, &mine.sequences, &theirs.sequences, Arc::ptr_eq)?,
            table_names: map(table_names, &mine.table_names, &theirs.table_names, TableId::eq)?,
            types: map(types, &mine.types, &theirs.types, UserType::eq)?,
            views: map(views, &mine.views, &theirs.views, Arc::ptr_eq)?,
            schemas: merged.into_keys().collect(),
            search_path: if mine.search_path == *search_path { &theirs.search_path } else { &mine.search_path }.clone(),
            unchecked_bodies: *unchecked_bodies,
            version: mine.version,
        })
    }
}

fn slot<T>(slots: &[Option<Arc<T>>], i: usize) -> Option<&Arc<T>> {
    slots.get(i).and_then(Option::as_ref)
}

fn same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Numbered things.
fn slots<T>(
    base: &[Option<Arc<T>>],
    mine: &[Option<Arc<T>>],
    theirs: &[Option<Arc<T>>],
) -> Option<Vec<Option<Arc<T>>>> {
    let merge = |i| {
        let (base, mine, theirs) = (slot(base, i), slot(mine, i), slot(theirs, i));
        match (same(base, mine), same(base, theirs)) {
            (true, _) => Some(theirs.cloned()),
            (false, true) => Some(mine.cloned()),
            (false, false) => None,
        }
    };
    (0..mine.len().max(theirs.len())).map(merge).collect()
}

/// Named things.
fn map<K: Ord + Clone, V: Clone>(
    base: &BTreeMap<K, V>,
    mine: &BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
    eq: impl Fn(&V, &V) -> bool,
) -> Option<BTreeMap<K, V>> {
    let same = |a: Option<&V>, b: Option<&V>| match (a, b) {
        (Some(a), Some(b)) => eq(a, b),
        (None, None) => true,
        _ => false,
    };
    let mut merged = BTreeMap::new();
    for key in mine.keys().chain(theirs.keys()) {
        let (base, mine, theirs) = (base.get(key), mine.get(key), theirs.get(key));
        let value = match (same(base, mine), same(base, theirs)) {
            (true, _) => theirs,
            (false, true) => mine,
            (false, false) => return None,
        };
        if let Some(value) = value {
            merged.insert(key.clone(), value.clone());
        }
    }
    Some(merged)
}
