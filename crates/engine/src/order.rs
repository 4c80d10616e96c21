//! The order of rows as part of the state.
//!
//! Each new version of a row goes to the end of the heap, so two orders of the same updates leave the same rows in
//! different places. Where some statement takes rows as they lie (`LIMIT 1` without ORDER BY, or locks on several
//! rows), these are different states. Whoever explores says for which tables that is so ([`Database::set_ordered`]); in
//! all others tables are sets.
//!
//! What counts is how versions lie relative to each other, committed ones, uncommitted ones and those that only a
//! snapshot still shows. Versions from before the promise lie before all later ones, each in its place: they count only
//! where something hangs on them. So hashing costs what has changed.
//!
//! ```text
//!   at the start       1 2 3          -
//!   UPDATE 1, then 2   3 | 1' 2'      1' 2'
//!   UPDATE 2, then 1   3 | 2' 1'      2' 1'
//! ```

use std::collections::BTreeMap;
use std::hash::Hash;

use isolde_digest::Digester;
use isolde_sql::Row;
use isolde_sql::catalog::TableId;

use crate::database::{Database, row_digest};
use crate::lock::Target;
use crate::reach::Key;
use crate::storage::{RowId, TableData, Tables};

/// The rows whose order counts.
#[derive(Clone, Debug)]
pub enum OrderedRows {
    /// All rows of all tables.
    All,
    /// Of these tables, the rows with these values, which never change; once for each who takes them so.
    Of(Vec<(TableId, Key)>),
}

/// The rows whose order counts, and all rows when that was said.
#[derive(Debug)]
pub(crate) struct Ordered {
    rows: OrderedRows,
    origin: Tables,
}

/// Which version of a row it is, where, and of which content.
struct Version<'v> {
    position: u64,
    /// Who can see it: what is committed, a session's write set, savepoint or snapshot.
    holder: (u8, usize, usize),
    row: RowId,
    values: &'v Row,
}

const COMMITTED: u8 = 0;
const WRITTEN: u8 = 1;
const SAVED: u8 = 2;
const KEPT: u8 = 3;
const READ: u8 = 4;

impl Database {
    /// From now on the order of these rows is part of the state. No session may be in a transaction.
    pub fn set_ordered(&mut self, rows: OrderedRows) {
        let none = matches!(&rows, OrderedRows::Of(rows) if rows.is_empty());
        let ordered = Ordered { rows, origin: self.committed.clone() };
        self.ordered = (!none).then(|| ordered.into());
    }

    /// Feeds the order of rows into a digest, for the tables where it counts.
    pub(crate) fn hash_order(&self, ordered: &Ordered, h: &mut Digester) {
        match &ordered.rows {
            OrderedRows::All => {
                let tables = (0..self.committed.len()).map(|i| TableId(i as u32));
                tables.for_each(|table| self.hash_order_of(table, &Key::new(), ordered, h));
            }
            OrderedRows::Of(rows) => rows.iter().for_each(|(table, key)| self.hash_order_of(*table, key, ordered, h)),
        }
        for run in self.sessions.iter().flat_map(|session| session.stack.running()) {
            run.candidates_left().iter().for_each(|c| c.rows.iter().for_each(|r| r.id.hash(h)));
        }
    }

    fn hash_order_of(&self, table: TableId, key: &Key, ordered: &Ordered, h: &mut Digester) {
        let none = TableData::default();
        let origin = if (table.0 as usize) < ordered.origin.len() { ordered.origin.table(table) } else { &none };
        let mut versions = self.versions(table, origin);
        versions.retain(|version| key.iter().all(|(column, value)| version.values.get(*column) == Some(value)));
        versions.sort_by_key(|version| (version.position, version.holder));
        // A row from the start is known by its id, another by the place of its first version.
        let mut numbers: BTreeMap<RowId, (bool, u64)> = BTreeMap::new();
        for (at, version) in versions.iter().enumerate() {
            numbers.entry(version.row).or_insert_with(|| match origin.get(version.row) {
                Some(_) => (true, version.row.0),
                None => (false, at as u64),
            });
        }
        let number = |row: RowId| numbers.get(&row).copied().unwrap_or((true, row.0));
        for version in &versions {
            (version.holder, number(version.row), row_digest(table, version.values)).hash(h);
        }
        for (id, session) in self.all_sessions() {
            let locks = session.transaction.iter().flat_map(|t| &t.locks).filter(|((of, _), _)| *of == table);
            let mut locked: Vec<_> = locks.map(|((_, row), held)| (number(*row), held.strength)).collect();
            locked.sort_unstable();
            (id, locked).hash(h);
            if let Some(Target::Row(target)) = session.wait.as_ref().map(|wait| &wait.target)
                && target.row.0 == table
            {
                number(target.row.1).hash(h);
            }
        }
    }

    /// All versions that are not where they were at the start, or that only some can see.
    fn versions<'v>(&'v self, table: TableId, origin: &'v TableData) -> Vec<Version<'v>> {
        let committed = self.committed.table(table);
        let mut versions: Vec<Version<'v>> = Vec::new();
        let mut beyond = |holder, tables: &'v TableData, known: &'v TableData, shows: &dyn Fn(&Row) -> bool| {
            let new = tables.versions_beyond(known).filter(|(_, tuple)| shows(&tuple.values));
            versions.extend(new.map(|(row, tuple)| Version {
                position: tuple.position,
                holder,
                row,
                values: &tuple.values,
            }));
        };
        beyond((COMMITTED, 0, 0), committed, origin, &|_| true);
        for (id, session) in self.all_sessions() {
            if let Some(kept) = session.transaction.as_ref().and_then(|t| t.snapshot.as_ref())
                && (table.0 as usize) < kept.tables.len()
            {
                // Of a snapshot, only what can still be read from it counts.
                beyond((KEPT, id.0, 0), kept.tables.table(table), committed, &|row| kept.may_show(table, row));
            }
            for (at, run) in session.stack.running().enumerate() {
                if (table.0 as usize) < run.view.tables.len() {
                    let shown = run.view.tables.table(table);
                    beyond((READ, id.0, at), shown, committed, &|row| run.view.may_show(table, row));
                }
            }
        }
        for (id, session) in self.all_sessions() {
            let Some(t) = &session.transaction else { continue };
            let saved =
                t.savepoints.iter().enumerate().map(|(depth, savepoint)| ((SAVED, id.0, depth), savepoint.writes()));
            for (holder, writes) in saved.chain([((WRITTEN, id.0, 0), &t.writes)]) {
                let own = writes.iter().filter(|((of, _), _)| *of == table);
                versions.extend(own.filter_map(|((_, row), change)| {
                    let tuple = change.after.as_ref()?;
                    Some(Version { position: tuple.position, holder, row: *row, values: &tuple.values })
                }));
            }
        }
        versions
    }
}
