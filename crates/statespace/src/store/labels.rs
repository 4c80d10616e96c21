//! Labels that are kept: what was decided once is read the next time.
//!
//! A label is a table of keys, named after a hash of the formula's canonical text, and a row of `label` that says which
//! formula it is. Both are written in one transaction. Labels belong to the states they were made of, so they are gone
//! with them: a store that is made again has none.

use super::{Cell, Database, Numbering, StoreError};
use crate::ctl::Labels;
use crate::graph::{BitSet, StateId};
use rustc_hash::FxHashMap;

/// Labels of a space in a store; atoms are decided by a function from text to states.
pub struct StoredLabels<'s, A> {
    database: &'s mut dyn Database,
    numbering: Numbering,
    index: Option<FxHashMap<i64, StateId>>,
    atom: A,
}

impl<'s, A> StoredLabels<'s, A> {
    pub(super) fn new(database: &'s mut dyn Database, numbering: Numbering, atom: A) -> Self {
        StoredLabels { database, numbering, index: None, atom }
    }

    /// A label that is kept.
    fn read(&mut self, formula: &str) -> Result<Option<BitSet>, StoreError> {
        let text = self.database.dialect().text(formula);
        let rows = self.database.rows(&format!("SELECT relation FROM label WHERE formula = {text}"))?;
        let Some(relation) = rows.first().map(|row| row[0].text()) else { return Ok(None) };
        let sql = format!("SELECT k FROM {}", self.database.dialect().name(&relation));
        self.select(&sql).map(Some)
    }

    /// The states whose keys a query gives.
    pub(super) fn select(&mut self, sql: &str) -> Result<BitSet, StoreError> {
        let index = self.index.get_or_insert_with(|| self.numbering.index());
        let mut label = BitSet::none(self.numbering.keys.len());
        self.database.each(sql, &mut |row| {
            if let Some(&state) = index.get(&row[0].int()) {
                label.insert(state);
            }
        })?;
        Ok(label)
    }

    fn write(&mut self, formula: &str, label: &BitSet) -> Result<(), StoreError> {
        let keys = &self.numbering.keys;
        self.database.atomically(|database| {
            let relation = relation(formula);
            create(database, &relation)?;
            let mut members: Vec<i64> = label.iter().map(|state| keys[state as usize]).collect();
            members.sort_unstable();
            database.load(&relation, &mut members.into_iter().map(|key| vec![Cell::Int(key)]))?;
            enter(database, formula, &relation)
        })
    }
}

/// The table of a formula's label.
pub(crate) fn relation(formula: &str) -> String {
    format!("label_{:016x}", isolde_digest::digest_of(formula) as u64)
}

/// An empty table for a label.
pub(crate) fn create(database: &mut dyn Database, relation: &str) -> Result<(), StoreError> {
    let dialect = database.dialect();
    let (name, key) = (dialect.name(relation), dialect.unique_key());
    let unlogged = if dialect == crate::sql::Dialect::Postgres { "UNLOGGED " } else { "" };
    database.execute(&format!("DROP TABLE IF EXISTS {name}; CREATE {unlogged}TABLE {name} (k {key})")).map(drop)
}

/// Says whose label the table is: from now on it is one.
pub(crate) fn enter(database: &mut dyn Database, formula: &str, relation: &str) -> Result<(), StoreError> {
    let dialect = database.dialect();
    let (text, name) = (dialect.text(formula), dialect.name(relation));
    let sql = format!("INSERT INTO label SELECT {text}, {}, count(*) FROM {name}", dialect.text(relation));
    database.execute(&sql).map(drop)
}

impl<A: FnMut(&str) -> Result<BitSet, StoreError>> Labels for StoredLabels<'_, A> {
    type Error = StoreError;

    fn atom(&mut self, text: &str) -> Result<BitSet, StoreError> {
        if let Some(label) = self.read(text)? {
            return Ok(label);
        }
        let label = (self.atom)(text)?;
        self.write(text, &label)?;
        Ok(label)
    }

    fn known(&mut self, name: &str) -> Result<Option<BitSet>, StoreError> {
        self.read(name)
    }

    fn learned(&mut self, name: &str, label: &BitSet) -> Result<(), StoreError> {
        self.write(name, label)
    }
}

impl<A> std::fmt::Debug for StoredLabels<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLabels").field("states", &self.numbering.keys.len()).finish_non_exhaustive()
    }
}
