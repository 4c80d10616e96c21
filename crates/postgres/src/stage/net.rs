//! What the transactions of a run have changed.

use std::collections::{BTreeMap, BTreeSet};

use isolde_engine::footprint::Write;
use isolde_sql::Value;
use isolde_sql::catalog::TableId;

/// How the committed rows of each table differ from those after set-up: how many more of a row there are, or fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Net(BTreeMap<TableId, BTreeMap<Vec<Value>, i64>>);

impl Net {
    /// The rows of each table that are new (a positive count) or gone (a negative one).
    pub(super) fn rows(&self) -> impl Iterator<Item = (TableId, &BTreeMap<Vec<Value>, i64>)> {
        self.0.iter().map(|(table, rows)| (*table, rows))
    }

    /// The columns in which the rows that are new differ.
    pub(super) fn differing_columns(&self, other: &Net) -> BTreeSet<(TableId, usize)> {
        let column = |net: &Net, table: TableId, column: usize| -> Vec<Value> {
            let rows = net.0.get(&table).into_iter().flatten().filter(|(_, count)| **count > 0);
            let mut values: Vec<Value> = rows.filter_map(|(row, _)| row.get(column).cloned()).collect();
            values.sort();
            values
        };
        let mut differing = BTreeSet::new();
        for (&table, rows) in &self.0 {
            let width = rows.keys().map(Vec::len).max().unwrap_or(0);
            differing
                .extend((0..width).filter(|&c| column(self, table, c) != column(other, table, c)).map(|c| (table, c)));
        }
        differing
    }

    /// A transaction has made these changes visible.
    pub(super) fn settle(&mut self, writes: &[Write]) {
        for write in writes {
            let table = self.0.entry(write.table).or_default();
            for (row, by) in [(&write.before, -1), (&write.after, 1)] {
                if let Some(row) = row {
                    let count = table.entry(row.to_vec()).or_default();
                    *count += by;
                    if *count == 0 {
                        table.remove(&row.to_vec());
                    }
                }
            }
        }
    }
}
