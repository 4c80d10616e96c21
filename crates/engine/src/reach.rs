//! What a session may still come to read.
//!
//! A transaction that keeps its snapshot reads from it until it ends, and what others commit meanwhile makes the
//! snapshot another one than a later one would be. That matters only for rows which the transaction can still come to
//! look at. Who knows its statements can say which these are, before it begins: tables, and where a statement asks for
//! `column = value` with a value that is known, rows with that value. Such a promise is a [`Reach`]
//! ([`Database::set_reach`](crate::Database::set_reach)); without one a session may read anything.

use std::collections::BTreeMap;

use isolde_sql::Value;
use isolde_sql::catalog::TableId;

use crate::footprint::{ColumnSet, TableSet, Write};
use crate::ssi::Conflicts;

/// A superset of the rows that a transaction will read, lock or change, as its snapshot shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reach {
    tables: TableSet,
    rows: BTreeMap<TableId, Vec<Key>>,
    conflicts: Conflicts,
}

/// Columns and the values that a row must have there; none is any row.
pub type Key = Vec<(usize, Value)>;

impl Reach {
    /// With the rows of a table that have these values; all its rows if there are none.
    pub fn insert(&mut self, table: TableId, key: Key) {
        self.tables.insert(table.0 as usize);
        let keys = self.rows.entry(table).or_default();
        if key.is_empty() {
            keys.clear();
        } else if keys.contains(&key) || keys.iter().any(Vec::is_empty) {
            return;
        }
        keys.push(key);
    }

    /// The keys of a table's rows, if it has any.
    pub fn rows(&self, table: TableId) -> Option<&[Key]> {
        self.rows.get(&table).map(Vec::as_slice)
    }

    /// If the transaction is serializable, it has edges with these others at most.
    pub fn promise(&mut self, conflicts: Conflicts) {
        self.conflicts = conflicts;
    }

    /// Those others.
    pub fn conflicts(&self) -> Conflicts {
        self.conflicts
    }

    /// The tables it has rows of.
    pub fn tables(&self) -> TableSet {
        self.tables
    }

    /// Whether a row is in it.
    pub fn wants(&self, table: TableId, row: &[Value]) -> bool {
        self.may_want(table, row, ColumnSet::ALL)
    }

    /// Whether a written row is, or was, in it, if of the row only the columns in `stable` are certain.
    pub fn concerns(&self, write: &Write, stable: ColumnSet) -> bool {
        let wanted = |row: &Option<_>| row.as_deref().is_some_and(|row| self.may_want(write.table, row, stable));
        wanted(&write.before) || wanted(&write.after)
    }

    fn may_want(&self, table: TableId, row: &[Value], stable: ColumnSet) -> bool {
        let fits = |key: &Key| key.iter().all(|(c, value)| !stable.contains(*c) || row.get(*c) == Some(value));
        self.rows.get(&table).is_some_and(|keys| keys.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(3);

    fn row(a: i64, b: i64) -> [Value; 2] {
        [Value::Int(a), Value::Int(b)]
    }

    #[test]
    fn a_key_is_about_its_rows_alone() {
        let mut reach = Reach::default();
        reach.insert(TABLE, vec![(0, Value::Int(1)), (1, Value::Int(2))]);
        reach.insert(TABLE, vec![(1, Value::Int(7))]);
        assert!(reach.wants(TABLE, &row(1, 2)) && reach.wants(TABLE, &row(5, 7)));
        assert!(!reach.wants(TABLE, &row(1, 3)) && !reach.wants(TableId(2), &row(1, 2)));
        reach.insert(TABLE, Vec::new());
        assert!(reach.wants(TABLE, &row(1, 3)));
    }

    #[test]
    fn a_column_that_may_change_tells_nothing() {
        let mut reach = Reach::default();
        reach.insert(TABLE, vec![(0, Value::Int(1)), (1, Value::Int(2))]);
        let certain: ColumnSet = [0].into_iter().collect();
        assert!(reach.may_want(TABLE, &row(1, 9), certain));
        assert!(!reach.may_want(TABLE, &row(2, 2), certain));
    }
}
