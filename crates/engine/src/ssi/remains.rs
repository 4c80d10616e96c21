//! Versions that are in the way.
//!
//! A doomed transaction fails at the first version that it comes to, and it comes to some that nobody sees: those that
//! others have written and not committed, and those that were taken back or replaced. PostgreSQL leaves them where they
//! are. Here they are remembered for those serializable transactions that may come to them: the ones that were active
//! when a version was written, or began while its writer was open. Of older ones it is not known whether they have been
//! swept away.

use isolde_sql::Row;
use isolde_sql::catalog::TableId;

use super::Ssi;
use super::trace::SessionBits;
use crate::footprint::TableSet;
use crate::lock::RowRef;
use crate::session::SessionId;
use crate::storage::{TableData, Tuple};

/// A version that was written, whatever became of it.
#[derive(Clone, Debug)]
pub(super) struct Remains {
    row: RowRef,
    position: u64,
    values: Row,
    /// It has got as far as this many of the table's indexes.
    entered: usize,
    /// Whose it is, as long as its transaction is open.
    writer: Option<SessionId>,
    /// Whose serializable transactions may come to it.
    met_by: SessionBits,
}

/// A version that is not committed.
pub(super) struct OpenVersion {
    pub(super) writer: SessionId,
    pub(super) row: RowRef,
    pub(super) version: Tuple,
    /// The table's indexes.
    pub(super) indexes: usize,
}

impl Ssi {
    /// A session has written a version.
    pub(super) fn leave(&mut self, writer: SessionId, row: RowRef, position: u64, values: &Row) {
        let interested = self.active().filter(|x| x.tables.contains(row.0.0 as usize));
        let met_by: SessionBits = interested.map(|x| x.owner.0).collect();
        if !met_by.is_empty() {
            let (values, writer) = (values.clone(), Some(writer));
            self.remains.push_back(Remains { row, position, values, entered: 0, writer, met_by });
        }
    }

    /// The row that was written last is in the first `count` indexes of its table.
    pub(super) fn enter(&mut self, row: RowRef, count: usize) {
        if let Some(place) = self.remains.iter().rposition(|r| r.row == row) {
            self.remains[place].entered = count;
        }
    }

    /// A transaction begins that may come to versions in these tables.
    pub(super) fn meet_open(&mut self, me: SessionId, tables: TableSet, open: Vec<OpenVersion>) {
        let concerns = |row: &RowRef| tables.contains(row.0.0 as usize);
        for entry in self.remains.iter_mut() {
            if concerns(&entry.row) && entry.writer.is_some_and(|writer| writer != me) {
                entry.met_by.insert(me.0);
            }
        }
        for OpenVersion { writer, row, version, indexes } in open.into_iter().filter(|open| concerns(&open.row)) {
            let known = self.remains.iter().any(|r| r.row == row && r.position == version.position);
            if !known {
                let (position, values, met_by) = (version.position, version.values, [me.0].into_iter().collect());
                let writer = Some(writer);
                self.remains.push_back(Remains { row, position, values, entered: indexes, writer, met_by });
            }
        }
    }

    /// A session's transaction has ended, serializable or not.
    pub(super) fn end_writer(&mut self, session: SessionId) {
        let gone: SessionBits = [session.0].into_iter().collect();
        if self.remains.iter().any(|r| r.writer == Some(session) || r.met_by.meets(gone)) {
            for entry in self.remains.iter_mut() {
                entry.writer = entry.writer.filter(|writer| *writer != session);
                entry.met_by = entry.met_by.without(gone);
            }
            self.remains.retain(|entry| !entry.met_by.is_empty());
        }
    }

    /// The tables in which a session's open transaction has left something.
    pub(super) fn tables_of(&self, session: SessionId) -> TableSet {
        self.remains.iter().filter(|r| r.writer == Some(session)).map(|r| r.row.0.0 as usize).collect()
    }

    /// Whether there is anything in a table, and has not been thrown away with all of it.
    pub(super) fn has_remains(&self, table: TableId, data: &TableData) -> bool {
        self.remains.iter().any(|r| r.row.0 == table && data.may_hold(r.position))
    }

    /// What is in an index of a table.
    pub(super) fn remains_in(&self, table: TableId, data: &TableData, index: usize) -> impl Iterator<Item = &Row> {
        let here = move |r: &&Remains| r.row.0 == table && index < r.entered && data.may_hold(r.position);
        self.remains.iter().filter(here).map(|r| &r.values)
    }

    /// Its part of the digest: a sum, as their order does not matter.
    pub(super) fn remains_digest(&self, is_in_heap: impl Fn(TableId, u64) -> bool) -> u128 {
        let digest = |r: &Remains| isolde_digest::tagged(0x77, (r.row.0, &r.values, r.entered, r.writer, r.met_by));
        let there = self.remains.iter().filter(|r| is_in_heap(r.row.0, r.position));
        there.map(digest).fold(0u128, u128::wrapping_add)
    }
}
