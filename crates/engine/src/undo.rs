//! Taking steps back, row by row.
//!
//! A database is a value, so coming back to an older one is to keep it. A server can do no such thing: it undoes what
//! was done, as ROLLBACK TO SAVEPOINT does. This is the same for the embedded database: the rows that have changed are
//! put back, one by one, and what is small (sessions, locks, counters) is kept as it was. It exists to measure what
//! that costs, and for states that are too large to be kept in numbers.

use std::sync::Arc;

use isolde_sql::catalog::TableId;

use crate::Database;
use crate::storage::{Older, Tables};

/// What it takes to come back to an older database.
#[derive(Clone, Debug)]
pub struct Undo {
    rows: Rows,
    /// The older database without its rows.
    rest: Database,
}

#[derive(Clone, Debug)]
enum Rows {
    /// Of each table that has changed.
    Changed(Vec<(TableId, Older)>),
    /// Tables were defined anew in between: all of them as they were.
    All(Tables),
}

impl Database {
    /// What it takes to come back here from a later version of this database. Costs what has changed in between.
    pub fn undo(&self, later: &Database) -> Undo {
        let rest = Database { committed: Tables::default(), ..self.clone() };
        if !Arc::ptr_eq(&self.schema, &later.schema) {
            return Undo { rows: Rows::All(self.committed.clone()), rest };
        }
        let tables = (0..self.committed.len()).map(|i| TableId(i as u32));
        let changed = tables.filter(|&id| !self.committed.same_table(&later.committed, id));
        let older = changed.map(|id| (id, self.committed.table(id).older(later.committed.table(id))));
        Undo { rows: Rows::Changed(older.collect()), rest }
    }

    /// Comes back to where `undo` was asked for, from the version that it was asked about.
    pub fn take_back(&mut self, undo: Undo) {
        let mut committed = std::mem::take(&mut self.committed);
        *self = undo.rest;
        match undo.rows {
            Rows::All(tables) => committed = tables,
            Rows::Changed(changed) => {
                for (id, older) in changed {
                    committed.table_mut(id).put_back(self.schema.catalog.table(id), older);
                }
            }
        }
        self.committed = committed;
    }
}
