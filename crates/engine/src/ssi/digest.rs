//! The watch in the database's digest.
//!
//! Counters grow for ever, but only their order matters, and only among transactions that may be two of three in a row.
//! Transactions count by whose they were, and in which order; tuples by the content of their rows, and by whether they
//! are still the newest versions.

use std::hash::Hash;

use isolde_digest::Digester;
use isolde_sql::catalog::TableId;

use super::target::Target;
use super::{Ssi, Xact, XactId};
use crate::database::{Database, row_digest};

impl Database {
    /// Hashes what serializable transactions share.
    pub(crate) fn hash_ssi(&self, ssi: &Ssi, h: &mut Digester) {
        let mut xacts: Vec<&Xact> = ssi.xacts.iter().map(|x| &**x).collect();
        xacts.sort_by_key(|x| (x.owner, x.id));
        let place = |id: &XactId| xacts.iter().position(|x| x.id == *id);
        for x in &xacts {
            let status = (x.prepared_at().is_some(), x.is_committed());
            (x.owner, x.session, x.doomed, x.known, x.read_only, x.wrote, x.safe, status, x.earliest_out.is_some())
                .hash(h);
            // Ordered: of several pivots among those who read, the first is chosen, if it has not committed.
            let open = |id: &&XactId| ssi.get(**id).is_some_and(|x| !x.is_committed());
            x.into.iter().filter(open).for_each(|id| place(id).hash(h));
            for edges in [&x.out[..], &x.into, &x.unsettled] {
                let mut places: Vec<_> = edges.iter().map(place).collect();
                places.sort_unstable();
                places.hash(h);
            }
            self.hash_targets(ssi, x, h);
            self.hash_written(x, h);
        }
        for (i, x) in xacts.iter().enumerate() {
            xacts.iter().enumerate().filter(|(j, _)| *j != i).for_each(|(j, y)| (i, j, order(x, y)).hash(h));
        }
        ssi.remains_digest(|table, position| self.is_in_heap(table, position)).hash(h);
    }

    fn hash_targets(&self, ssi: &Ssi, x: &Xact, h: &mut Digester) {
        let mut sum: u128 = 0;
        for (target, held) in &x.targets {
            let others = ssi.active().filter(|y| !x.is_committed() && x.conflicts.are_ordered(&y.conflicts));
            let others = others.filter_map(|y| y.targets.get(target));
            let earlier = others.filter(|other| other.since < held.since).count();
            let digest = match (target, held.tuple) {
                (Target::Tuple(relation, position), Some((row, content))) => {
                    let newest = self.committed.version((relation.table, row));
                    let current = newest.is_some_and(|tuple| tuple.position == *position);
                    isolde_digest::tagged(0x74, (relation.table, content, held.page, current, earlier))
                }
                (target, _) => isolde_digest::tagged(0x75, (target, earlier)),
            };
            sum = sum.wrapping_add(digest);
        }
        sum.hash(h);
    }

    fn hash_written(&self, x: &Xact, h: &mut Digester) {
        let mut sum: u128 = 0;
        for w in x.written.iter().filter(|w| self.is_in_heap(w.row.0, w.position())) {
            let old = w.old.as_ref().map(|(_, values)| row_digest(w.row.0, values));
            let new = w.new.as_ref().map(|new| (row_digest(w.row.0, &new.values), new.is_root(), new.entered));
            sum = sum.wrapping_add(isolde_digest::tagged(0x76, (w.row.0, old, new)));
        }
        sum.hash(h);
    }

    /// Whether a version has not been thrown away with all of its table.
    fn is_in_heap(&self, table: TableId, position: u64) -> bool {
        (table.0 as usize) >= self.committed.len() || self.committed.table(table).may_hold(position)
    }
}

/// What came first, as far as anybody may ask: the end of the one, or the snapshot or the end of the other; what the
/// one did not see, or the snapshot of the other. Of two ends nobody asks which came first unless the one has written:
/// it is the last of three that must have committed first, and edges lead to writers.
fn order(x: &Xact, y: &Xact) -> Option<[Option<bool>; 5]> {
    let before = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a <= b);
    let (prepared, snapshot) = (x.prepared_at(), Some(y.snapshot_seq));
    let ended = prepared.filter(|_| x.wrote);
    x.conflicts.is_near(&y.conflicts).then(|| {
        [
            before(ended, y.prepared_at()),
            before(ended, y.committed_at()),
            before(prepared, snapshot),
            before(x.committed_at(), snapshot),
            before(x.earliest_out, snapshot).filter(|_| x.conflicts.meets(&y.conflicts)),
        ]
    })
}
