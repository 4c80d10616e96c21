//! Which serializable transactions may ever have to do with each other.
//!
//! There is an edge from one transaction to another if the one reads what the other writes, and does not see it. Who
//! can possibly do so is known beforehand, as far as it is known [what transactions reach](super::reach). PostgreSQL
//! remembers reads coarsely, and so is this:
//!
//! - A row that is inserted, or updated so that it enters an index, meets everybody who reads the table.
//! - A row that is changed in place or deleted meets those who have read it. Who has read three rows of a page has read
//!   all of it; so only one who looks for one or two rows by the whole of a unique key is known to have read no others.
//!
//! Two transactions of one thread never overlap. And nobody fails for a single edge: it takes two in a row. So an edge
//! that none can precede and none can follow does not matter, and a transaction without edges that do is not watched:
//! as where some only read and the others only write.

use std::collections::BTreeSet;

use isolde_engine::footprint::{ColumnSet, Conflicts};
use isolde_engine::{Database, Key, Reach};
use isolde_sql::catalog::{Catalog, TableId};

/// What is known of a transaction before it begins.
#[derive(Debug)]
pub(super) struct Outlook {
    pub(super) thread: usize,
    /// It may be serializable.
    pub(super) serial: bool,
    /// The rows it reads; all rows that it looks for in order to change them among them.
    pub(super) reads: Reach,
    /// The rows it writes.
    pub(super) writes: Vec<(TableId, Written)>,
    /// It may go on after a failure.
    pub(super) catches: bool,
    /// It tells the planner what to do.
    pub(super) plans: bool,
    /// Tables that it may read in the order of an index, and so more of them than it looks for.
    pub(super) ordered: BTreeSet<TableId>,
}

/// How a row is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It gets new entries in indexes.
    Enters,
    /// It is changed or deleted where it is, and has these values.
    InPlace(Key),
}

/// Transactions that can be told apart.
const TRANSACTIONS_MAX: usize = 127;
/// More rows of a page than this are the page.
const ROWS_MAX: usize = 2;

/// Whom each of the transactions may have edges with that matter.
pub(super) fn of_all(database: &Database, outlooks: &[Outlook]) -> Vec<Conflicts> {
    if outlooks.len() > TRANSACTIONS_MAX {
        return vec![Conflicts::default(); outlooks.len()];
    }
    let catches = outlooks.iter().any(|outlook| outlook.catches);
    let has_edge = |reader: &Outlook, writer: &Outlook| {
        let both = reader.serial && writer.serial && reader.thread != writer.thread;
        both && reads_from(database, reader, writer)
    };
    let numbers = || 0..outlooks.len();
    let writers = |reader: usize| numbers().filter(|&w| has_edge(&outlooks[reader], &outlooks[w])).collect();
    let out: Vec<ColumnSet> = numbers().map(writers).collect();
    let into: Vec<ColumnSet> = numbers().map(|w| numbers().filter(|&r| out[r].contains(w)).collect()).collect();
    let matters = |reader: usize, writer: usize| !into[reader].is_empty() || !out[writer].is_empty();
    let of = |own: usize| {
        let out = out[own].iter().filter(|&writer| matters(own, writer)).collect();
        let into = into[own].iter().filter(|&reader| matters(reader, own)).collect();
        Conflicts::known(own, out, into, catches)
    };
    numbers().map(of).collect()
}

/// Whether one may read what the other writes.
fn reads_from(database: &Database, reader: &Outlook, writer: &Outlook) -> bool {
    writer.writes.iter().any(|(table, written)| {
        let Some(keys) = reader.reads.rows(*table) else { return false };
        match written {
            Written::Enters => true,
            Written::InPlace(row) => {
                match pinpointed(database, *table, keys).filter(|_| !reader.plans && !reader.ordered.contains(table)) {
                    Some(keys) => keys.iter().any(|key| are_compatible(key, row)),
                    None => true,
                }
            }
        }
    })
}

/// The keys of the rows that are read, if no others are.
fn pinpointed(database: &Database, table: TableId, keys: &[Key]) -> Option<Vec<Key>> {
    let columns = unique_key(database.catalog(), table).filter(|_| !database.is_analyzed(table))?;
    let mut pinpointed: Vec<Key> = Vec::new();
    for key in keys {
        let value = |column: &usize| key.iter().find(|(c, _)| c == column).cloned();
        let key: Key = columns.iter().map(value).collect::<Option<_>>()?;
        if !pinpointed.contains(&key) {
            pinpointed.push(key);
        }
    }
    (pinpointed.len() <= ROWS_MAX).then_some(pinpointed)
}

/// The columns of the only index that a table has, if it is unique.
fn unique_key(catalog: &Catalog, table: TableId) -> Option<&[usize]> {
    match catalog.table(table).indexes.as_slice() {
        [index] if index.is_key() && !index.columns.is_empty() => Some(&index.columns),
        _ => None,
    }
}

fn are_compatible(one: &Key, other: &Key) -> bool {
    one.iter().all(|(column, value)| other.iter().all(|(c, v)| c != column || v == value))
}
