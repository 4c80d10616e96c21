//! SERIALIZABLE, as PostgreSQL does it: snapshots, and a watch for what could not have happened one after another.
//!
//! A serializable transaction reads from its snapshot as at REPEATABLE READ, and nobody waits for a reader. Instead it
//! is noted who *read* what somebody else *wrote* afterwards, which says who must have come first. Where the reader
//! does not see the write there is an edge from reader to writer. Snapshot isolation can only go wrong where two edges
//! follow each other and the last transaction of the three was the first to commit:
//!
//! ```text
//!      T1 ──rw──▶ T2 ──rw──▶ T3        T2 is the pivot; T3 committed first
//!       ▲                     │
//!       └─────  perhaps ──────┘        nobody looks whether the cycle closes: one of the three fails
//! ```
//!
//! - A transaction is an [`Xact`]: its edges, what it has read ([`target`]: SIREAD locks on tuples, pages, relations),
//!   the versions it has written, and when it took its snapshot and committed, counted in commits.
//! - [`edge`]: an edge is found, and may cost somebody's transaction: at once, or *doomed*, when it next does
//!   something.
//! - [`read`] and [`write`]: who looks for edges, and where. [`page`]: what lies on one page. [`remains`]: what nobody
//!   sees.
//! - [`digest`]: two of these states are equal if their futures are. [`trace`]: what a step had to do with all this.
//!
//! A transaction that has committed is kept as long as one that overlapped it, and may have an edge with it, is active.
//! The rules are those of `predicate.c`, including where they see a conflict too many: which transaction fails is what
//! a client can tell. There is no summarizing of old transactions: nothing is ever forgotten for lack of memory.
//! PostgreSQL takes transactions to have overlapped if their *numbers* say so, and thus finds edges from one that had
//! committed when the other began. But then whatever committed before the first is in the snapshot of the second, so
//! that no third transaction can make such an edge dangerous; unless it is prepared for two-phase commit, for then it
//! counts as committed, and is in nobody's snapshot ([`Ssi::overlap`]).

mod digest;
mod edge;
mod page;
mod read;
mod remains;
mod target;
mod trace;
mod write;

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use isolde_sql::Row;
use smallvec::SmallVec;

use crate::footprint::TableSet;
use crate::lock::RowRef;
use crate::session::SessionId;

pub(crate) use read::{Met, Planner, Reader, Statistics};
use remains::{OpenVersion, Remains};
use target::{Held, Target};
pub use trace::{Conflicts, Mark, SessionBits, Watched};

/// A serializable transaction, in order of snapshots. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct XactId(pub(crate) u64);

/// What all serializable transactions share. There is none in a database without them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ssi {
    /// Those that are active, and those that have committed but overlap one that is; by id.
    xacts: Vec<Arc<Xact>>,
    /// Counts commits: each takes a number for being about to, and one for having done so.
    seq: u64,
    /// Counts what was remembered as read.
    held: u64,
    /// Versions that somebody may come to although nobody sees them.
    remains: Vector<Remains>,
    /// What the step that is being made has to do with it; nothing between steps.
    trace: Option<Box<Watched>>,
}

/// A serializable transaction.
#[derive(Clone, Debug)]
pub(crate) struct Xact {
    id: XactId,
    /// Whose it is; nobody's once it is prepared for two-phase commit.
    session: Option<SessionId>,
    /// Whose it was when it began.
    owner: SessionId,
    /// Whom it may have edges with.
    conflicts: Conflicts,
    /// The tables that it may come to read.
    tables: TableSet,
    status: Status,
    /// It must fail, and does so when it next visits a tuple, writes or commits.
    doomed: bool,
    /// Others know it by its number. They do not if it had one before its snapshot: then nobody finds out whose
    /// versions he has not seen.
    known: bool,
    /// Said to be READ ONLY, or committed without having written.
    read_only: bool,
    wrote: bool,
    /// READ ONLY: nothing that those who were active when it began did can hurt it, or: it can.
    safe: Option<bool>,
    /// READ ONLY: the writers that were active when it took its snapshot, and still are.
    unsettled: SmallVec<[XactId; 2]>,
    /// Committed with an edge to one that had committed before; the earliest of those.
    earliest_out: Option<u64>,
    /// `seq` when it took its snapshot.
    snapshot_seq: u64,
    /// Those who wrote what it read, unseen.
    out: Edges,
    /// Those who read what it wrote, unseen.
    into: Edges,
    /// What it has read.
    targets: OrdMap<Target, Held>,
    /// What it has written, in order.
    written: Vector<Written>,
}

type Edges = SmallVec<[XactId; 4]>;

/// How far a transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Active,
    /// About to commit, for two-phase commit possibly for long: it can no longer fail.
    Prepared {
        at: u64,
    },
    Committed {
        prepared: u64,
        at: u64,
    },
}

/// A version that was written, over another or as a new row; or only the end of one.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    row: RowRef,
    old: Option<(u64, Row)>,
    new: Option<NewVersion>,
}

/// A version that was written.
#[derive(Clone, Debug)]
struct NewVersion {
    position: u64,
    /// Where the chain of versions begins that share one entry in each index.
    root: u64,
    values: Row,
    /// It has got as far as this many of the table's indexes, or needs no entries of its own.
    entered: usize,
}

impl Written {
    /// Where in the heap it was done.
    fn position(&self) -> u64 {
        let old = self.old.as_ref().map_or(0, |(position, _)| *position);
        self.new.as_ref().map_or(old, |new| new.position)
    }
}

impl NewVersion {
    /// Whether it has index entries of its own.
    fn is_root(&self) -> bool {
        self.root == self.position
    }
}

/// What a new transaction is.
pub(crate) struct Begin {
    pub(crate) id: XactId,
    pub(crate) session: SessionId,
    pub(crate) read_only: bool,
    /// Whom it may have edges with.
    pub(crate) conflicts: Conflicts,
    /// The tables that it may come to read.
    pub(crate) tables: TableSet,
    /// It has no number yet.
    pub(crate) known: bool,
}

impl Xact {
    fn is_committed(&self) -> bool {
        matches!(self.status, Status::Committed { .. })
    }

    /// Whether an edge between the two may ever matter.
    fn may_link(&self, other: &Xact) -> bool {
        self.conflicts.meets(&other.conflicts)
    }

    /// When it was prepared, which every committed one was.
    fn prepared_at(&self) -> Option<u64> {
        match self.status {
            Status::Active => None,
            Status::Prepared { at } | Status::Committed { prepared: at, .. } => Some(at),
        }
    }

    fn committed_at(&self) -> Option<u64> {
        if let Status::Committed { at, .. } = self.status { Some(at) } else { None }
    }
}

impl Ssi {
    fn get(&self, id: XactId) -> Option<&Xact> {
        self.xacts.iter().find(|x| x.id == id).map(|x| &**x)
    }

    fn get_mut(&mut self, id: XactId) -> Option<&mut Xact> {
        self.xacts.iter_mut().find(|x| x.id == id).map(Arc::make_mut)
    }

    /// Whether a transaction is watched at all: one that is READ ONLY and safe is not.
    pub(crate) fn watches(&self, id: XactId) -> bool {
        self.get(id).is_some()
    }

    fn active(&self) -> impl Iterator<Item = &Xact> {
        self.xacts.iter().map(|x| &**x).filter(|x| !x.is_committed())
    }

    /// A transaction takes its snapshot. False: nobody can hurt it, so it need not be watched.
    pub(crate) fn begin(&mut self, begin: Begin) -> bool {
        let Begin { id, session, read_only, conflicts, tables, known } = begin;
        if conflicts.is_none() {
            return false;
        }
        let trace = self.trace();
        trace.belong(session, conflicts);
        (trace.begins, trace.tables) = (true, tables);
        trace.wholly |= read_only;
        let writers = self.active().filter(|x| read_only && !x.doomed && !x.read_only);
        let unsettled: SmallVec<[XactId; 2]> = writers.map(|x| x.id).collect();
        if read_only && unsettled.is_empty() {
            return false;
        }
        self.xacts.push(Arc::new(Xact {
            id,
            session: Some(session),
            owner: session,
            conflicts,
            tables,
            status: Status::Active,
            doomed: false,
            known,
            read_only,
            wrote: false,
            safe: None,
            unsettled,
            earliest_out: None,
            snapshot_seq: self.seq,
            out: Edges::new(),
            into: Edges::new(),
            targets: OrdMap::new(),
            written: Vector::new(),
        }));
        true
    }

    /// A transaction has committed: its edges to others that have are done with, it stays for those that overlap it.
    pub(crate) fn commit(&mut self, me: XactId) {
        self.seq += 1;
        let at = self.seq;
        let Some(mine) = self.get_mut(me) else { return };
        let declared = mine.read_only;
        let prepared = mine.prepared_at().expect("nobody commits unprepared");
        mine.status = Status::Committed { prepared, at };
        mine.session = None;
        mine.read_only |= !mine.wrote;
        mine.unsettled.clear();
        // Nobody asks any more.
        mine.safe = None;
        let (read_only, outs, ins) = (mine.read_only, mine.out.clone(), mine.into.clone());
        self.trace_end(me);
        for writer in outs {
            let Some(other) = self.get(writer) else { continue };
            let (before, seen) = (other.is_committed(), other.snapshot_seq >= at);
            let earliest = other.prepared_at().filter(|_| before && !read_only);
            if let (Some(earliest), Some(mine)) = (earliest, self.get_mut(me)) {
                mine.earliest_out = Some(mine.earliest_out.map_or(earliest, |e| e.min(earliest)));
            }
            if before || seen {
                self.unlink(me, writer);
            }
        }
        for reader in ins {
            if self.get(reader).is_none_or(|x| x.is_committed() || x.read_only) {
                self.unlink(reader, me);
            }
        }
        if !declared {
            self.settle(me);
        }
        self.clear_old();
    }

    /// A transaction is rolled back, or need not be watched any more: it is forgotten with all it did.
    pub(crate) fn forget(&mut self, me: XactId) {
        self.trace_end(me);
        let Some(mine) = self.get(me) else { return };
        let (declared, doomed, tables) = (mine.read_only, mine.doomed, mine.written.iter().map(|w| w.row.0.0 as usize));
        let (unwrote, targets): (TableSet, _) = (tables.collect(), mine.targets.clone());
        let trace = self.trace();
        trace.wholly |= declared || doomed;
        trace.unwrote = trace.unwrote.union(unwrote);
        targets.iter().for_each(|(target, held)| trace.hold(*target, held));
        if let Some(mine) = self.get_mut(me) {
            mine.doomed = true;
            mine.earliest_out = None;
        }
        self.release(me);
        if !declared {
            self.settle(me);
        }
        self.xacts.retain(|x| x.id != me);
        self.clear_old();
    }

    /// Notes that a transaction ends, and so its edges do.
    fn trace_end(&mut self, me: XactId) {
        let Some(mine) = self.xacts.iter().find(|x| x.id == me).cloned() else { return };
        let wrote = self.tables_of(mine.owner);
        self.trace().end(&mine, wrote);
        self.trace_unlinked(mine.out.iter().chain(&mine.into).copied());
    }

    /// Whether nothing is left to watch.
    pub(crate) fn is_idle(&self) -> bool {
        self.xacts.is_empty()
    }

    /// A writer has ended: those READ ONLY transactions that waited to see whether it would hurt them now know.
    fn settle(&mut self, writer: XactId) {
        let earliest = self.get(writer).filter(|w| w.is_committed() && w.wrote).and_then(|w| w.earliest_out);
        for slot in &mut self.xacts {
            if !slot.unsettled.contains(&writer) {
                continue;
            }
            self.trace.get_or_insert_default().wholly = true;
            let reader = Arc::make_mut(slot);
            if earliest.is_some_and(|earliest| earliest <= reader.snapshot_seq) {
                reader.safe = Some(false);
                reader.unsettled.clear();
                continue;
            }
            reader.unsettled.retain(|id| *id != writer);
            if reader.unsettled.is_empty() {
                reader.safe = Some(true);
            }
        }
    }

    /// A transaction has ended. Those that only it overlapped, of all that may have edges with them, are forgotten.
    fn clear_old(&mut self) {
        let active: SmallVec<[(u64, Conflicts); 4]> = self.active().map(|x| (x.snapshot_seq, x.conflicts)).collect();
        let overlapped = |x: &Xact, at| active.iter().any(|(since, other)| *since < at && x.conflicts.meets(other));
        let old = |x: &Xact| x.committed_at().is_some_and(|at| !overlapped(x, at));
        let gone: SmallVec<[XactId; 4]> = self.xacts.iter().filter(|x| old(x)).map(|x| x.id).collect();
        gone.iter().for_each(|id| self.release(*id));
        self.xacts.retain(|x| !gone.contains(&x.id));
    }

    /// Drops what a transaction has read and its edges.
    fn release(&mut self, id: XactId) {
        let Some(x) = self.get_mut(id) else { return };
        x.targets = OrdMap::new();
        let (outs, ins) = (x.out.clone(), x.into.clone());
        ins.into_iter().for_each(|reader| self.unlink(reader, id));
        outs.into_iter().for_each(|writer| self.unlink(id, writer));
    }
}
