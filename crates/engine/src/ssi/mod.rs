//! SERIALIZABLE, as PostgreSQL does it: snapshots, and a watch for what could not have happened one after another.
//!
//! A serializable transaction reads from its snapshot as at REPEATABLE READ, and nobody waits for a reader. Instead it is
//! noted who *read* what somebody else *wrote* afterwards, which says who must have come first. Where the reader does not see
//! the write there is an edge from reader to writer. Snapshot isolation can only go wrong where two edges follow each other
//! and the last transaction of the three was the first to commit:
//!
//! ```text
//!      T1 ──rw──▶ T2 ──rw──▶ T3        T2 is the pivot; T3 committed first
//!       ▲                     │
//!       └─────  perhaps ──────┘        nobody looks whether the circle closes: one of the three fails
//! ```
//!
//! - A transaction is an [`Xact`]: its edges, what it has read ([`target`]: SIREAD locks on tuples, pages, relations), the
//!   versions it has written, and when it took its snapshot and committed, counted in commits.
//! - [`edge`]: an edge is found, and may cost somebody's transaction: at once, or *doomed*, when it next does something.
//! - [`read`] and [`write`]: who looks for edges, and where. [`page`]: what lies on one page.
//! - [`digest`]: two of these states are equal if their futures are.
//!
//! A transaction that has committed is kept as long as one that overlapped it is active. The rules are those of
//! `predicate.c`, including where they see a conflict too many: which transaction fails is what a client can tell. There is no
//! summarizing of old transactions: nothing is ever forgotten for lack of memory.

mod digest;
mod edge;
mod page;
mod read;
mod target;
mod write;

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use isolde_sql::Row;
use smallvec::SmallVec;

use crate::lock::RowRef;
use crate::session::SessionId;

pub(crate) use read::{Met, Planner, Reader, Statistics};
use target::{Held, Target};

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
    /// Everything committed up to here has overlapped only such that could not write.
    cleared_through: u64,
    /// Every version that anybody has written meanwhile, also those that were taken back: they are all still there.
    remains: Vector<Remains>,
}

/// A serializable transaction.
#[derive(Clone, Debug)]
pub(crate) struct Xact {
    id: XactId,
    /// Whose it is; nobody's once it is prepared for two-phase commit.
    session: Option<SessionId>,
    status: Status,
    /// It must fail, and does so when it next visits a tuple, writes or commits.
    doomed: bool,
    /// Others know it by its number. They do not if it had one before its snapshot: then nobody finds out whose versions he has
    /// not seen.
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
    /// The oldest transaction number that was running then.
    xmin: u64,
    /// The first transaction number not given out when it ended.
    finished_before: u64,
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

/// A version that was written, whatever became of it.
#[derive(Clone, Debug)]
struct Remains {
    row: RowRef,
    position: u64,
    values: Row,
    /// It has got as far as this many of the table's indexes.
    entered: usize,
}

/// A version that was written.
#[derive(Clone, Debug)]
struct NewVersion {
    position: u64,
    /// Where the chain of versions begins that share one entry in each index.
    root: u64,
    values: Row,
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
    /// The oldest transaction number that is running.
    pub(crate) xmin: u64,
    /// It has no number yet.
    pub(crate) known: bool,
}

impl Xact {
    fn is_committed(&self) -> bool {
        matches!(self.status, Status::Committed { .. })
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

    /// A transaction takes its snapshot. False: it is READ ONLY and nobody can hurt it, so it need not be watched.
    pub(crate) fn begin(&mut self, begin: Begin) -> bool {
        let Begin { id, session, read_only, xmin, known } = begin;
        let writers = self.active().filter(|x| read_only && !x.doomed && !x.read_only);
        let unsettled: SmallVec<[XactId; 2]> = writers.map(|x| x.id).collect();
        if read_only && unsettled.is_empty() {
            return false;
        }
        self.xacts.push(Arc::new(Xact {
            id,
            session: Some(session),
            status: Status::Active,
            doomed: false,
            known,
            read_only,
            wrote: false,
            safe: None,
            unsettled,
            earliest_out: None,
            snapshot_seq: self.seq,
            xmin,
            finished_before: 0,
            out: Edges::new(),
            into: Edges::new(),
            targets: OrdMap::new(),
            written: Vector::new(),
        }));
        true
    }

    /// A transaction has committed: its edges to others that have are done with, it stays for those that overlap it.
    pub(crate) fn commit(&mut self, me: XactId, next_xid: u64) {
        self.seq += 1;
        let at = self.seq;
        let Some(mine) = self.get_mut(me) else { return };
        let declared = mine.read_only;
        let prepared = mine.prepared_at().expect("nobody commits unprepared");
        mine.status = Status::Committed { prepared, at };
        mine.session = None;
        mine.finished_before = next_xid;
        mine.read_only |= !mine.wrote;
        mine.unsettled.clear();
        let (read_only, outs, ins) = (mine.read_only, mine.out.clone(), mine.into.clone());
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
        self.clear_old(me, declared);
    }

    /// A transaction is rolled back, or need not be watched any more: it is forgotten with all it did.
    pub(crate) fn forget(&mut self, me: XactId) {
        let Some(mine) = self.get_mut(me) else { return };
        let declared = mine.read_only;
        mine.doomed = true;
        mine.earliest_out = None;
        self.release(me, false);
        if !declared {
            self.settle(me);
        }
        self.clear_old(me, declared);
        self.xacts.retain(|x| x.id != me);
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

    /// A transaction has ended. If it was the last with the oldest snapshot, those that only it overlapped are forgotten.
    fn clear_old(&mut self, ended: XactId, declared_read_only: bool) {
        let others = self.active().filter(|x| x.id != ended);
        let (oldest, writers) = others.fold((None, false), |(oldest, writers), x| {
            (Some(oldest.map_or(x.xmin, |o: u64| o.min(x.xmin))), writers || !x.read_only)
        });
        if !declared_read_only && !writers {
            self.cleared_through = self.seq;
        }
        let Some(xmin) = self.get(ended).map(|x| x.xmin) else { return };
        if oldest.is_some_and(|oldest| oldest <= xmin) {
            return;
        }
        let mut finished: Vec<(u64, XactId)> =
            self.xacts.iter().filter_map(|x| Some((x.committed_at()?, x.id))).collect();
        finished.sort();
        for (at, id) in finished {
            let Some(x) = self.get(id) else { continue };
            let gone = oldest.is_none_or(|oldest| x.finished_before <= oldest);
            if gone || (at <= self.cleared_through && x.read_only) {
                self.release(id, false);
                self.xacts.retain(|x| x.id != id);
            } else if at <= self.cleared_through {
                self.release(id, true);
            } else {
                break;
            }
        }
    }

    /// Drops what a transaction has read and its edges; `partly`: the edges to those who wrote what it read stay.
    fn release(&mut self, id: XactId, partly: bool) {
        let Some(x) = self.get_mut(id) else { return };
        x.targets = OrdMap::new();
        let (outs, ins) = (x.out.clone(), x.into.clone());
        ins.into_iter().for_each(|reader| self.unlink(reader, id));
        if !partly {
            outs.into_iter().for_each(|writer| self.unlink(id, writer));
        }
    }
}
