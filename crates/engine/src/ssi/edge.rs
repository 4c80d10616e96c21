//! Edges, and whom they cost the transaction.
//!
//! An edge runs from a reader to the writer of what it did not see. A new edge is dangerous if it is one of two that
//! follow each other and the last of the three is the first to commit. Whoever can still be stopped is: the one that
//! acts, if it is the writer; the writer, doomed, if the reader acts; the reader, if the writer has committed. At
//! commit it is the pivot among those who read what is being committed.

use isolde_sql::{SqlError, SqlState};

use super::{Edges, Ssi, Status, Xact, XactId};

/// What every failure says; `reason` is where it was noticed.
pub(super) fn failure(reason: &str) -> SqlError {
    let message = "could not serialize access due to read/write dependencies among transactions";
    SqlError::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(format!("Reason code: Canceled on {reason}."))
        .hint("The transaction might succeed if retried.")
}

impl Ssi {
    /// `me` has read what `writer` replaced, or would have read what it wrote.
    pub(super) fn missed(&mut self, me: XactId, writer: XactId) -> Result<(), SqlError> {
        let (Some(reader), Some(w)) = (self.get(me), self.get(writer)) else { return Ok(()) };
        if me == writer || self.sees(me, writer) || reader.out.contains(&writer) || !reader.may_link(w) {
            return Ok(());
        }
        let appears_first = reader.read_only
            && w.is_committed()
            && w.earliest_out.is_none_or(|earliest| reader.snapshot_seq < earliest);
        let harmless = w.doomed || !w.known || appears_first;
        self.trace_asked([me, writer]);
        if harmless { Ok(()) } else { self.link(me, writer, me) }
    }

    /// Whether the writer had committed before the reader's snapshot.
    pub(super) fn sees(&self, reader: XactId, writer: XactId) -> bool {
        let snapshot = self.get(reader).map_or(0, |x| x.snapshot_seq);
        self.get(writer).and_then(Xact::committed_at).is_some_and(|at| at <= snapshot)
    }

    /// `me` writes what `reader` has read.
    pub(super) fn overwrote(&mut self, reader: XactId, me: XactId) -> Result<(), SqlError> {
        let (Some(r), Some(mine)) = (self.get(reader), self.get(me)) else { return Ok(()) };
        if !self.overlap(r, mine) || r.out.contains(&me) || !r.may_link(mine) {
            return Ok(());
        }
        let doomed = r.doomed;
        self.trace_asked([reader, me]);
        if doomed { Ok(()) } else { self.link(reader, me, me) }
    }

    /// Whether a reader is taken to have overlapped a transaction that began later: it was active then, or had
    /// committed while another was already prepared that the later one does not see either.
    pub(super) fn overlap(&self, reader: &Xact, later: &Xact) -> bool {
        let Some(at) = reader.committed_at() else { return true };
        let unseen = |x: &Xact| x.committed_at().is_none_or(|committed| committed > later.snapshot_seq);
        let between = |x: &Xact| x.prepared_at().is_some_and(|prepared| prepared < at) && unseen(x);
        later.snapshot_seq < at || self.xacts.iter().any(|x| between(x))
    }

    /// Adds an edge that `me`, one of the two, has found.
    pub(super) fn link(&mut self, reader: XactId, writer: XactId, me: XactId) -> Result<(), SqlError> {
        let asked = self.get(reader).into_iter().flat_map(|r| &r.into);
        let asked = asked.chain(self.get(writer).into_iter().flat_map(|w| &w.out));
        let asked: Edges = asked.copied().chain([reader, writer]).collect();
        self.trace_asked(asked);
        if self.is_dangerous(reader, writer) {
            if me == writer {
                return Err(failure("identification as a pivot, during write"));
            }
            if self.get(writer).is_some_and(|w| w.prepared_at().is_some()) {
                return Err(failure("conflict out to pivot, during read"));
            }
            self.doom(writer);
        }
        self.trace_linked(reader, writer);
        if let Some(r) = self.get_mut(reader) {
            r.out.push(writer);
        }
        if let Some(w) = self.get_mut(writer) {
            w.into.push(reader);
        }
        Ok(())
    }

    /// Removes an edge.
    pub(super) fn unlink(&mut self, reader: XactId, writer: XactId) {
        if let Some(r) = self.get_mut(reader) {
            r.out.retain(|id| *id != writer);
        }
        if let Some(w) = self.get_mut(writer) {
            w.into.retain(|id| *id != reader);
        }
    }

    fn doom(&mut self, id: XactId) {
        if let Some(x) = self.get_mut(id) {
            x.doomed = true;
            let owner = x.owner.0;
            self.trace().dooms.insert(owner);
        }
    }

    fn is_dangerous(&self, reader: XactId, writer: XactId) -> bool {
        let (Some(r), Some(w)) = (self.get(reader), self.get(writer)) else { return false };
        let committed_behind = w.is_committed() && w.earliest_out.is_some();
        committed_behind || self.makes_pivot_of_writer(r, w) || self.makes_pivot_of_reader(r, w)
    }

    /// `R ──▶ W ──▶ T`, and T committed first: not if R or W had committed before, nor if R only reads and has not seen
    /// T.
    fn makes_pivot_of_writer(&self, r: &Xact, w: &Xact) -> bool {
        w.out.iter().filter_map(|id| self.get(*id)?.prepared_at()).any(|prepared| {
            r.committed_at().is_none_or(|at| prepared <= at)
                && w.committed_at().is_none_or(|at| prepared <= at)
                && (!r.read_only || prepared <= r.snapshot_seq)
        })
    }

    /// `T ──▶ R ──▶ W`, and W committed first: not if T had committed before, nor if T only reads and has not seen W.
    fn makes_pivot_of_reader(&self, r: &Xact, w: &Xact) -> bool {
        let Some(prepared) = w.prepared_at().filter(|_| !r.read_only) else { return false };
        r.into.iter().filter_map(|id| self.get(*id)).any(|t| {
            !t.doomed
                && t.committed_at().is_none_or(|at| at >= prepared)
                && (!t.read_only || t.snapshot_seq >= prepared)
        })
    }

    /// A transaction is about to commit, now or (`for_later`) in a second phase. From here on it cannot fail.
    pub(crate) fn prepare(&mut self, me: XactId, for_later: bool) -> Result<(), SqlError> {
        let Some(mine) = self.get(me) else { return Ok(()) };
        if mine.prepared_at().is_some() {
            return Ok(());
        }
        if mine.doomed {
            return Err(failure("identification as a pivot, during commit attempt"));
        }
        let near = mine.into.clone();
        let far: Edges = near.iter().filter_map(|id| self.get(*id)).flat_map(|x| &x.into).copied().collect();
        self.trace_asked(near.iter().copied().chain(far).chain([me]));
        for near in near {
            let Some(pivot) = self.get(near).filter(|x| !x.is_committed() && !x.doomed) else { continue };
            let open = |x: &Xact| !x.is_committed() && !x.read_only && !x.doomed;
            let dangerous = pivot.into.iter().any(|far| *far == me || self.get(*far).is_some_and(open));
            if dangerous && pivot.prepared_at().is_some() {
                return Err(failure("commit attempt with conflict in from prepared pivot"));
            }
            if dangerous {
                self.doom(near);
            }
        }
        self.seq += 1;
        let at = self.seq;
        if let Some(mine) = self.get_mut(me) {
            mine.status = Status::Prepared { at };
            if for_later {
                // It is no session's now, and whether it wrote is not remembered.
                (mine.session, mine.wrote) = (None, true);
            }
        }
        Ok(())
    }

    /// A doomed transaction fails at the first tuple it visits.
    pub(super) fn visit(&self, me: XactId) -> Result<(), SqlError> {
        match self.get(me) {
            Some(x) if x.doomed => Err(failure("identification as a pivot, during conflict out checking")),
            _ => Ok(()),
        }
    }

    /// A doomed transaction fails when it writes; any other is known to write from now on.
    pub(super) fn begin_write(&mut self, me: XactId) -> Result<(), SqlError> {
        let Some(x) = self.get_mut(me) else { return Ok(()) };
        if x.doomed {
            return Err(failure("identification as a pivot, during conflict in checking"));
        }
        x.wrote = true;
        Ok(())
    }
}
