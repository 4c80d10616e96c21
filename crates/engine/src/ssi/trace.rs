//! What a step had to do with the watch.
//!
//! The watch is one structure for all serializable transactions, but a step reads and changes little of it: what its
//! transaction is remembered to have read, the edges of a few transactions, whether they are doomed, and which of two
//! events came first. Each of these facts is noted by those who ask for it and those who change it, so that two steps
//! which share none can be swapped. (Which pairs share one is said where steps are compared.)
//!
//! Which events came first is asked about three transactions in a row, `T1 ──▶ T2 ──▶ T3`. Whether there can ever be
//! such edges follows from what the transactions are going to read and write, if that is known beforehand: see
//! [`Conflicts`].

use isolde_sql::catalog::TableId;

use super::target::{Held, Relation, Target};
use super::{Ssi, Xact, XactId};
use crate::footprint::{ColumnSet, TableSet};
use crate::lock::RowRef;
use crate::session::SessionId;
use crate::storage::RowId;

/// Sessions, by number.
pub type SessionBits = ColumnSet;

/// What a step had to do with the watch over serializable transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watched {
    /// Whose step it was.
    pub session: usize,
    /// It took the snapshot of a serializable transaction.
    pub begins: bool,
    /// It ended one.
    pub ends: bool,
    /// It may have to do with anything: it was READ ONLY, or doomed, or did something rare.
    pub wholly: bool,
    /// Tables it has read.
    pub read: TableSet,
    /// What it is remembered to have read from now on, or is no longer.
    pub held: Vec<Mark>,
    /// What it has changed, or would have.
    pub checked: Vec<Mark>,
    /// Tables in which it has changed versions that somebody else does not see, and comes to all the same.
    pub rewrote: TableSet,
    /// Whose edges it has asked about.
    pub asked: SessionBits,
    /// The edges that it has added, from whom to whom.
    pub linked: Vec<(usize, usize)>,
    /// Whose edges it has removed.
    pub unlinked: SessionBits,
    /// Whose transactions it has doomed.
    pub dooms: SessionBits,
    /// Begins: the tables that the transaction may come to read.
    pub tables: TableSet,
    /// Ends: the tables in which the transaction has left something.
    pub wrote: TableSet,
    /// Tables in which writes were taken back.
    pub unwrote: TableSet,
    /// Whom its transaction may have edges with.
    pub conflicts: Conflicts,
}

/// Something that can be read and changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Mark {
    /// A table, or one of its indexes.
    Relation(TableId, Option<usize>),
    Page(TableId, Option<usize>, u64),
    /// A row, in whichever version.
    Row(TableId, RowId),
}

/// Which edges that matter a serializable transaction may have, as far as that is known before it begins. An edge
/// matters only if another one may follow or precede it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conflicts(Option<Known>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Known {
    own: usize,
    out: ColumnSet,
    into: ColumnSet,
    catches: bool,
}

impl Conflicts {
    /// The transaction with this number may have edges to those in `out` and from those in `into`, which are numbered
    /// alike; `catches`: some transaction may go on after a failure.
    pub fn known(own: usize, out: ColumnSet, into: ColumnSet, catches: bool) -> Self {
        Conflicts(Some(Known { own, out, into, catches }))
    }

    /// It has none with anybody.
    pub fn is_none(&self) -> bool {
        self.0.is_some_and(|known| known.out.union(known.into).is_empty())
    }

    /// Whether there may be an edge between two.
    pub fn meets(&self, other: &Conflicts) -> bool {
        let (Some(a), Some(b)) = (self.0, other.0) else { return true };
        a.out.contains(b.own) || a.into.contains(b.own)
    }

    /// Whether they may be two of three in a row.
    pub fn is_near(&self, other: &Conflicts) -> bool {
        let (Some(a), Some(b)) = (self.0, other.0) else { return true };
        self.meets(other) || a.out.meets(b.into) || b.out.meets(a.into)
    }

    /// Whether it may matter which of two was the first to read something: a third that writes it gets its edges in
    /// that order. At its commit it asks for the first of those that have edges among each other; a failure in between
    /// leaves the others without.
    pub fn are_ordered(&self, other: &Conflicts) -> bool {
        let (Some(a), Some(b)) = (self.0, other.0) else { return true };
        a.out.meets(b.out) && (a.catches || self.meets(other))
    }
}

impl Watched {
    /// Both together.
    pub fn absorb(&mut self, other: &Watched) {
        self.session = other.session;
        self.begins |= other.begins;
        self.ends |= other.ends;
        self.wholly |= other.wholly;
        self.read = self.read.union(other.read);
        self.held.extend_from_slice(&other.held);
        self.checked.extend_from_slice(&other.checked);
        self.rewrote = self.rewrote.union(other.rewrote);
        self.asked = self.asked.union(other.asked);
        self.linked.extend_from_slice(&other.linked);
        self.unlinked = self.unlinked.union(other.unlinked);
        self.dooms = self.dooms.union(other.dooms);
        self.tables = self.tables.union(other.tables);
        self.wrote = self.wrote.union(other.wrote);
        self.unwrote = self.unwrote.union(other.unwrote);
        self.conflicts = other.conflicts;
    }

    /// A transaction ends.
    pub(super) fn end(&mut self, x: &Xact, wrote: TableSet) {
        (self.ends, self.wrote) = (true, wrote);
        self.belong(x.owner, x.conflicts);
        self.unlinked.insert(x.owner.0);
    }

    /// Whose edges it has changed.
    pub fn changed(&self) -> SessionBits {
        let linked: SessionBits = self.linked.iter().flat_map(|&(reader, writer)| [reader, writer]).collect();
        self.unlinked.union(linked)
    }

    /// Whose it is.
    pub(super) fn belong(&mut self, session: SessionId, conflicts: Conflicts) {
        (self.session, self.conflicts) = (session.0, conflicts);
    }

    pub(super) fn hold(&mut self, target: Target, held: &Held) {
        // Where versions lie on the pages of a larger table depends on the order of all writes.
        self.wholly |= target.relation().index.is_none() && held.page != 0;
        self.held.push(Mark::of(target, held.tuple.map(|(row, _)| row)));
    }
}

impl Mark {
    fn of(target: Target, row: Option<RowId>) -> Self {
        let Relation { table, index } = target.relation();
        match (target, row) {
            (Target::Tuple(..), Some(row)) => Mark::Row(table, row),
            (Target::Page(_, page), _) => Mark::Page(table, index, page),
            (Target::Tuple(..) | Target::Relation(_), _) => Mark::Relation(table, index),
        }
    }

    /// The table that it is in.
    pub fn table(&self) -> TableId {
        match self {
            Mark::Relation(table, _) | Mark::Page(table, ..) | Mark::Row(table, _) => *table,
        }
    }
}

impl Ssi {
    /// What the step that is being made has to do with all this.
    pub(super) fn trace(&mut self) -> &mut Watched {
        self.trace.get_or_insert_default()
    }

    /// Notes that the edges of these were asked about.
    pub(super) fn trace_asked(&mut self, xacts: impl IntoIterator<Item = XactId>) {
        let owners = self.owners(xacts);
        let trace = self.trace();
        trace.asked = trace.asked.union(owners);
    }

    /// Notes that edges of these are removed.
    pub(super) fn trace_unlinked(&mut self, xacts: impl IntoIterator<Item = XactId>) {
        let owners = self.owners(xacts);
        let trace = self.trace();
        trace.unlinked = trace.unlinked.union(owners);
    }

    /// Notes a new edge.
    pub(super) fn trace_linked(&mut self, reader: XactId, writer: XactId) {
        if let (Some(reader), Some(writer)) = (self.get(reader), self.get(writer)) {
            let edge = (reader.owner.0, writer.owner.0);
            self.trace().linked.push(edge);
        }
    }

    fn owners(&self, xacts: impl IntoIterator<Item = XactId>) -> SessionBits {
        xacts.into_iter().filter_map(|id| Some(self.get(id)?.owner.0)).collect()
    }

    /// Notes that a row is about to be written, or enters an index.
    pub(super) fn trace_check(&mut self, row: RowRef, target: Target) {
        self.trace().checked.push(Mark::of(target, Some(row.1)));
    }

    /// What the step of a session that is over had to do with the watch.
    pub(crate) fn take_trace(&mut self) -> Option<Box<Watched>> {
        self.trace.take()
    }

    pub(crate) fn has_trace(&self) -> bool {
        self.trace.is_some()
    }

    /// The same for a step of a transaction that is still active: it has asked at least whether it is doomed.
    pub(crate) fn look(&self, id: XactId, session: SessionId) -> Option<Watched> {
        let mine = self.get(id).filter(|x| x.owner == session)?;
        let wholly = mine.doomed || mine.read_only;
        Some(Watched { session: session.0, wholly, conflicts: mine.conflicts, ..Watched::default() })
    }
}
