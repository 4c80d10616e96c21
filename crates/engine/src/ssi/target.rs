//! What a transaction has read, as PostgreSQL remembers it: SIREAD locks.
//!
//! They block nobody. The third tuple of a page becomes the page, the thirty-second thing of a relation the relation;
//! what a coarser one covers is not kept beside it. A tuple is a *version*: whoever changes a newer one does not meet
//! it.

use isolde_sql::SqlError;
use isolde_sql::catalog::TableId;

use super::{Ssi, Xact, XactId};
use crate::storage::RowId;

/// A table's heap, or one of its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Relation {
    pub(super) table: TableId,
    /// `None` is the heap.
    pub(super) index: Option<usize>,
}

/// Something that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Target {
    Relation(Relation),
    Page(Relation, u64),
    /// By the position of the version; only in heaps.
    Tuple(Relation, u64),
}

/// What there is to know about a target that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The page it lies on.
    pub(super) page: u64,
    /// A tuple's row, and the digest of its values.
    pub(super) tuple: Option<(RowId, u128)>,
    /// When it was first held, counted over all transactions: those who held it before come first.
    pub(super) since: u64,
}

impl Held {
    /// A page, or with page 0 a whole relation.
    pub(super) fn page(page: u64) -> Self {
        Held { page, tuple: None, since: 0 }
    }

    /// A version of a row, with the digest of its values.
    pub(super) fn tuple(page: u64, row: RowId, digest: u128) -> Self {
        Held { page, tuple: Some((row, digest)), since: 0 }
    }
}

/// More tuples than this on a page are the page.
const TUPLES_MAX: usize = 2;
/// More pages and tuples than this in a relation are the relation.
const TARGETS_MAX: usize = 31;

impl Relation {
    pub(super) fn heap(table: TableId) -> Self {
        Relation { table, index: None }
    }

    pub(super) fn index(table: TableId, index: usize) -> Self {
        Relation { table, index: Some(index) }
    }
}

impl Target {
    pub(super) fn relation(&self) -> Relation {
        match self {
            Target::Relation(r) | Target::Page(r, _) | Target::Tuple(r, _) => *r,
        }
    }

    /// Whether it is part of another target.
    fn is_below(&self, page: u64, other: &Target) -> bool {
        match other {
            Target::Relation(r) => self != other && self.relation() == *r,
            Target::Page(r, n) => matches!(self, Target::Tuple(own, _) if own == r && page == *n),
            Target::Tuple(..) => false,
        }
    }
}

impl Ssi {
    /// Remembers that `me` has read something.
    pub(super) fn hold(&mut self, me: XactId, target: Target, held: Held) {
        self.held += 1;
        let since = self.held;
        self.trace().read.insert(target.relation().table.0 as usize);
        if let Some(mine) = self.get_mut(me) {
            let mut new = Vec::new();
            mine.hold(target, Held { since, ..held }, &mut new);
            new.iter().for_each(|(target, held)| self.trace().hold(*target, held));
        }
    }

    /// `me` changes something: everybody who has read it gets an edge. Own tuples need not be remembered as read once
    /// they are written, unless (`keeps`) a rollback to a savepoint could take the write back.
    pub(super) fn check_target(&mut self, me: XactId, target: Target, keeps: bool) -> Result<(), SqlError> {
        let mut holders: Vec<(u64, XactId)> =
            self.xacts.iter().filter_map(|x| Some((x.targets.get(&target)?.since, x.id))).collect();
        holders.sort_unstable();
        for (_, holder) in holders.iter().filter(|(_, id)| *id != me) {
            self.overwrote(*holder, me)?;
        }
        if !keeps
            && matches!(target, Target::Tuple(..))
            && holders.iter().any(|(_, id)| *id == me)
            && let Some(mine) = self.get_mut(me)
        {
            mine.targets.remove(&target);
        }
        Ok(())
    }

    /// `me` empties a table: everybody who has read anything in it gets an edge.
    pub(super) fn check_table(&mut self, me: XactId, table: TableId) -> Result<(), SqlError> {
        self.trace().wholly = true;
        let heap = Relation::heap(table);
        let reads = |x: &Xact| x.id != me && x.targets.keys().any(|t| t.relation() == heap);
        let holders: Vec<XactId> = self.xacts.iter().filter(|x| reads(x)).map(|x| x.id).collect();
        for holder in holders {
            let known = self.get(holder).is_none_or(|x| x.out.contains(&me));
            if !known {
                self.link(holder, me, me)?;
            }
        }
        Ok(())
    }
}

impl Xact {
    /// Remembers that something was read; `new` gets what was not remembered before.
    fn hold(&mut self, target: Target, held: Held, new: &mut Vec<(Target, Held)>) {
        let relation = target.relation();
        let covered = |t: &Target| self.targets.contains_key(t);
        let page = Target::Page(relation, held.page);
        let is_tuple = matches!(target, Target::Tuple(..));
        if covered(&target) || covered(&Target::Relation(relation)) || (is_tuple && covered(&page)) {
            return;
        }
        self.targets.insert(target, held);
        new.push((target, held));
        let below = |t: &Target| self.targets.iter().filter(|(other, h)| other.is_below(h.page, t)).count();
        if !matches!(target, Target::Relation(_)) && below(&Target::Relation(relation)) > TARGETS_MAX {
            self.hold(Target::Relation(relation), Held { tuple: None, page: 0, ..held }, new);
        } else if is_tuple && below(&page) > TUPLES_MAX {
            self.hold(page, Held { tuple: None, ..held }, new);
        } else if !is_tuple {
            let finer: Vec<Target> =
                self.targets.iter().filter(|(t, h)| t.is_below(h.page, &target)).map(|(t, _)| *t).collect();
            for t in finer {
                self.targets.remove(&t);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::TableSet;
    use crate::session::SessionId;
    use crate::ssi::{Begin, Conflicts};

    fn read(tuples: impl IntoIterator<Item = (u64, u64)>) -> Vec<Target> {
        let mut ssi = Ssi::default();
        let me = XactId(1);
        assert!(ssi.begin(Begin {
            id: me,
            session: SessionId(0),
            read_only: false,
            conflicts: Conflicts::default(),
            tables: TableSet::ALL,
            known: true,
        }));
        for (page, position) in tuples {
            let target = Target::Tuple(Relation::heap(TableId(0)), position);
            ssi.hold(me, target, Held::page(page));
        }
        ssi.get(me).map(|x| x.targets.keys().copied().collect()).unwrap_or_default()
    }

    #[test]
    fn the_third_tuple_of_a_page_is_the_page() {
        let heap = Relation::heap(TableId(0));
        assert_eq!(read([(0, 1), (0, 2)]), [Target::Tuple(heap, 1), Target::Tuple(heap, 2)]);
        assert_eq!(read([(0, 1), (0, 2), (0, 3)]), [Target::Page(heap, 0)]);
        assert_eq!(read([(0, 1), (0, 2), (0, 3), (0, 4), (1, 5)]), [Target::Page(heap, 0), Target::Tuple(heap, 5)]);
    }

    #[test]
    fn the_thirty_second_thing_of_a_relation_is_the_relation() {
        let heap = Relation::heap(TableId(0));
        assert_eq!(read((1..=31).map(|n| (n, n))).len(), 31);
        assert_eq!(read((1..=32).map(|n| (n, n))), [Target::Relation(heap)]);
    }
}
