//! The watch in the database's digest.
//!
//! Counters grow for ever, but only their order matters: commits count by rank, transaction numbers by the ends of
//! serializable transactions that came before them, which is all that is ever asked of them. Transactions count by
//! whose they are, and once committed by the order in which they did; tuples by the content of their rows, and by whether they are still
//! the newest versions.

use std::hash::Hash;

use isolde_digest::Digester;
use isolde_sql::catalog::TableId;

use super::target::Target;
use super::{Ssi, Status, Xact, XactId};
use crate::database::{Database, row_digest};

/// The ranks of numbers among each other.
struct Ranks(Vec<u64>);

impl Ranks {
    fn new(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        Ranks(numbers)
    }

    fn of(&self, number: u64) -> usize {
        self.0.partition_point(|n| *n < number)
    }
}

impl Database {
    /// Hashes what serializable transactions share.
    pub(crate) fn hash_ssi(&self, ssi: &Ssi, h: &mut Digester) {
        let mut xacts: Vec<&Xact> = ssi.xacts.iter().map(|x| &**x).collect();
        xacts.sort_by_key(|x| (x.committed_at(), x.session, x.id));
        let seqs = xacts.iter().flat_map(|x| [x.prepared_at(), x.committed_at(), x.earliest_out, Some(x.snapshot_seq)]);
        let seqs = Ranks::new(seqs.flatten().chain([ssi.seq, ssi.cleared_through]).collect());
        let ends = Ranks::new(xacts.iter().filter(|x| x.is_committed()).map(|x| x.finished_before).collect());
        (seqs.of(ssi.seq), seqs.of(ssi.cleared_through)).hash(h);
        for session in &self.sessions {
            session.transaction.as_ref().and_then(|t| t.xid).map(|xid| ends.of(xid + 1)).hash(h);
        }
        let place = |id: &XactId| xacts.iter().position(|x| x.id == *id);
        for x in &xacts {
            (x.session, x.doomed, x.known, x.read_only, x.wrote, x.safe).hash(h);
            let status = match x.status {
                Status::Active => (0, 0, 0),
                Status::Prepared { at } => (1, seqs.of(at), 0),
                Status::Committed { prepared, at } => (2, seqs.of(prepared), seqs.of(at)),
            };
            status.hash(h);
            (x.earliest_out.map(|s| seqs.of(s)), seqs.of(x.snapshot_seq)).hash(h);
            (ends.of(x.xmin + 1), ends.of(x.finished_before)).hash(h);
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
        let remains = ssi.remains.iter().filter(|r| self.is_in_heap(r.row.0, r.position));
        let remains = remains.map(|r| isolde_digest::tagged(0x77, (r.row.0, &r.values, r.entered)));
        remains.fold(0u128, u128::wrapping_add).hash(h);
    }

    fn hash_targets(&self, ssi: &Ssi, x: &Xact, h: &mut Digester) {
        let mut sum: u128 = 0;
        for (target, held) in &x.targets {
            let others = ssi.active().filter(|_| !x.is_committed()).filter_map(|x| x.targets.get(target));
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
            let new = w.new.as_ref().map(|new| (row_digest(w.row.0, &new.values), new.is_root()));
            sum = sum.wrapping_add(isolde_digest::tagged(0x76, (w.row.0, old, new)));
        }
        sum.hash(h);
    }

    /// Whether a version has not been thrown away with all of its table.
    fn is_in_heap(&self, table: TableId, position: u64) -> bool {
        (table.0 as usize) >= self.committed.len() || self.committed.table(table).may_hold(position)
    }
}
