//! Writing, beginning and ending: where a session at work meets the watch.

use std::sync::Arc;

use isolde_sql::ast::Isolation;
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, SqlError, Value};

use super::read::{Planner, Reader};
use super::target::{Relation, Target};
use super::{Begin, NewVersion, Remains, Ssi, Written, XactId, page};
use crate::database::Database;
use crate::footprint::SnapshotTaken;
use crate::lock::{self, RowRef, SessionSet};
use crate::machine::Machine;
use crate::storage::{Tables, Tuple, same_entries};
use crate::transaction::Transaction;

impl Database {
    /// Lets the planner believe that it knows all tables (ANALYZE has run), or none: see [`super::read::Statistics`].
    pub fn set_analyzed(&mut self, analyzed: bool) {
        Arc::make_mut(&mut self.statistics).analyzed = analyzed;
    }

    /// The oldest transaction number that is running, or the next to be given out.
    fn xmin(&self, own: Option<u64>) -> u64 {
        let running = self.sessions.iter().filter_map(|s| s.transaction.as_ref()?.xid);
        running.chain(own).min().unwrap_or(self.next_xid)
    }

    /// The sessions that a READ ONLY transaction waits for until its snapshot is known to be safe or not.
    pub(crate) fn unsettled(&self, id: XactId) -> SessionSet {
        let Some(ssi) = &self.ssi else { return SessionSet::new() };
        let waits = ssi.get(id).filter(|x| x.safe.is_none());
        waits.iter().flat_map(|x| &x.unsettled).filter_map(|writer| ssi.get(*writer)?.session).collect()
    }

    /// Whether that is known.
    pub(crate) fn is_settled(&self, id: XactId) -> bool {
        self.ssi.as_ref().and_then(|ssi| ssi.get(id)).is_none_or(|x| x.safe.is_some())
    }

    /// Changes the watch, and forgets it if nothing is left to watch.
    fn with_ssi<R>(&mut self, act: impl FnOnce(&mut Ssi) -> R) -> R {
        let mut ssi = self.ssi.take().unwrap_or_default();
        let result = act(Arc::make_mut(&mut ssi));
        self.ssi = (!ssi.is_idle()).then_some(ssi);
        result
    }
}

impl Machine<'_> {
    /// A serializable transaction takes its snapshot. One that is READ ONLY and DEFERRABLE waits until it is known that nobody
    /// can hurt it, and takes another if somebody did.
    pub(crate) fn take_serial_snapshot(&mut self) -> Result<(), lock::Target> {
        if self.session.transaction.is_none() && self.session.options.isolation == Isolation::Serializable {
            self.begin_implicit();
        }
        loop {
            let Some(t) = self.session.transaction.as_ref() else { return Ok(()) };
            if t.isolation != Isolation::Serializable || t.failed {
                return Ok(());
            }
            let deferred = t.deferrable && t.read_only;
            self.footprint.serializable |= deferred || t.snapshot.is_none();
            if t.snapshot.is_none() {
                self.begin_serial();
            }
            let Some(me) = self.serial().filter(|_| deferred) else { return Ok(()) };
            let Some(safe) = self.db.ssi.as_ref().and_then(|ssi| ssi.get(me)).and_then(|x| x.safe) else {
                return Err(lock::Target::SafeSnapshot(me));
            };
            self.db.with_ssi(|ssi| ssi.forget(me));
            let t = self.transaction_mut();
            t.serial = None;
            if safe {
                return Ok(());
            }
            t.snapshot = None;
            t.invalidate_view();
        }
    }

    fn begin_serial(&mut self) {
        let id = XactId(self.db.next_ticket);
        self.db.next_ticket += 1;
        let t = self.transaction();
        let (read_only, known) = (t.read_only, t.xid.is_none());
        let begin = Begin { id, session: self.me, read_only, xmin: self.db.xmin(t.xid), known };
        if self.db.ssi.is_none() {
            self.note_open_versions();
        }
        let watched = self.db.with_ssi(|ssi| ssi.begin(begin));
        self.transaction_mut().serial = watched.then_some(id);
        self.footprint.snapshot = Some(SnapshotTaken::Transaction);
        let (db, schema, session) = (&*self.db, self.schema().clone(), &mut self.session);
        if let Some(t) = &mut session.transaction {
            t.begin_statement(&schema.catalog, &db.committed, &session.reach, db.epoch);
        }
    }

    /// The watch begins: versions that others have written and not committed are in the way of searches already.
    fn note_open_versions(&mut self) {
        let schema = self.schema().clone();
        let open = self.db.sessions.iter().filter_map(|s| s.transaction.as_ref()).flat_map(|t| &t.writes);
        let versions = open.filter_map(|(row, change)| Some((*row, change.after.as_ref()?)));
        let remains = |(row, tuple): (RowRef, &Tuple)| {
            let entered = schema.catalog.table(row.0).indexes.len();
            Remains { row, position: tuple.position, values: tuple.values.clone(), entered }
        };
        let remains: imbl::Vector<Remains> = versions.map(remains).collect();
        if !remains.is_empty() {
            self.db.ssi = Some(Arc::new(Ssi { remains, ..Ssi::default() }));
        }
    }

    /// The transaction as one that is watched.
    fn serial(&self) -> Option<XactId> {
        let id = self.session.transaction.as_ref()?.serial?;
        self.db.ssi.as_ref().filter(|ssi| ssi.watches(id)).map(|_| id)
    }

    fn ssi_mut(&mut self) -> Option<&mut Ssi> {
        self.footprint.serializable = true;
        self.db.ssi.as_mut().map(Arc::make_mut)
    }

    /// A version is about to be written over `old`: those who have read that one, its page or the whole table did so before.
    /// A new row concerns only those who have read the whole table.
    pub(crate) fn check_write(&mut self, row: RowRef, old: Option<&Tuple>) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let keeps = !self.transaction().savepoints.is_empty();
        let heap = Relation::heap(row.0);
        let mut targets: Vec<Target> = Vec::new();
        if let Some(old) = old {
            let table = self.catalog().table(row.0);
            let page = page::of_version(table, self.transaction().view().table(row.0), old.position);
            targets.push(Target::Tuple(heap, old.position));
            targets.push(Target::Page(heap, page));
            // It may have been read when the table was still small.
            targets.extend((page != 0).then_some(Target::Page(heap, 0)));
        }
        targets.push(Target::Relation(heap));
        self.check_targets(me, &targets, keeps)
    }

    fn check_targets(&mut self, me: XactId, targets: &[Target], keeps: bool) -> Result<(), SqlError> {
        let Some(ssi) = self.ssi_mut() else { return Ok(()) };
        ssi.begin_write(me)?;
        targets.iter().try_for_each(|target| ssi.check_target(me, *target, keeps))
    }

    /// A version was written, by whomever, while serializable transactions are watched; `old` is the one it replaces.
    pub(crate) fn note_version(&mut self, row: RowRef, old: Option<Tuple>, new: Option<(u64, Row)>) {
        if let (Some((position, values)), Some(ssi)) = (&new, self.ssi_mut()) {
            ssi.remains.push_back(Remains { row, position: *position, values: values.clone(), entered: 0 });
        }
        let Some(me) = self.serial() else { return };
        let shares_entries = old
            .as_ref()
            .zip(new.as_ref())
            .is_some_and(|(old, (_, new))| same_entries(self.catalog().table(row.0), &old.values, new));
        let Some(ssi) = self.ssi_mut() else { return };
        let root_of = |position| {
            let written = ssi.xacts.iter().flat_map(|x| &x.written).filter_map(|w| w.new.as_ref());
            written.clone().find(|new| new.position == position).map_or(position, |new| new.root)
        };
        let new = new.map(|(position, values)| {
            let root = old.as_ref().filter(|_| shares_entries).map_or(position, |old| root_of(old.position));
            NewVersion { position, root, values }
        });
        let old = old.map(|tuple| (tuple.position, tuple.values));
        if let Some(mine) = ssi.get_mut(me) {
            mine.written.push_back(Written { row, old, new });
        }
    }

    /// The row just written is in the first `count` indexes of its table.
    pub(crate) fn note_entries(&mut self, row: RowRef, count: usize) {
        if let Some(ssi) = self.ssi_mut()
            && let Some(place) = ssi.remains.iter().rposition(|r| r.row == row)
        {
            ssi.remains[place].entered = count;
        }
    }

    /// The row just written enters an index, or would if its key were free: those who have searched there did so before.
    pub(crate) fn check_entry(&mut self, row: RowRef, index: usize, key: Option<&Value>) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let enters = self.db.ssi.as_ref().and_then(|ssi| ssi.get(me)).is_some_and(|x| {
            let last = x.written.iter().rev().find(|w| w.row == row);
            last.and_then(|w| w.new.as_ref()).is_some_and(NewVersion::is_root)
        });
        if enters { self.check_duplicate(row, index, key) } else { Ok(()) }
    }

    /// The same for an entry that is found to be one too many.
    pub(crate) fn check_duplicate(&mut self, row: RowRef, index: usize, key: Option<&Value>) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let relation = Relation::index(row.0, index);
        let leaf = page::of_key(self.transaction().view().table(row.0), key);
        let mut targets: Vec<Target> = leaf.map(|leaf| Target::Page(relation, leaf)).into_iter().collect();
        targets.extend((leaf != Some(0)).then_some(Target::Page(relation, 0)));
        targets.push(Target::Relation(relation));
        self.check_targets(me, &targets, true)
    }

    /// A table is about to be emptied.
    pub(crate) fn check_truncate(&mut self, table: TableId) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let Some(ssi) = self.ssi_mut() else { return Ok(()) };
        ssi.begin_write(me)?;
        ssi.check_table(me, table)
    }

    /// A foreign key looks for rows, by an index if one serves.
    pub(crate) fn look_up(
        &mut self,
        view: &Tables,
        table: TableId,
        index: Option<usize>,
        key: &[(usize, Value)],
    ) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let schema = self.schema().clone();
        let statistics = self.db.statistics.clone();
        let planner = Planner::of(&self.session.kept.settings);
        let noted = &mut self.footprint.serializable;
        let Some(ssi) = self.db.ssi.as_mut().map(Arc::make_mut) else { return Ok(()) };
        let mut reader = Reader { ssi, me, catalog: &schema.catalog, statistics: &statistics, planner, noted };
        if reader.watches() { reader.look_up(view, table, index, key) } else { Ok(()) }
    }

    /// Writes since a savepoint are taken back; what was read stays read.
    pub(crate) fn unwrite(&mut self) {
        let Some(me) = self.serial() else { return };
        let count = self.transaction().written;
        if let Some(mine) = self.ssi_mut().and_then(|ssi| ssi.get_mut(me)) {
            mine.written.truncate(count.min(mine.written.len()));
        }
    }

    /// The transaction is about to commit, or (`for_later`) to be nobody's until it is. It may have to fail instead.
    pub(crate) fn prepare_serial(&mut self, for_later: bool) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        self.ssi_mut().map_or(Ok(()), |ssi| ssi.prepare(me, for_later))
    }

    /// The transaction has ended.
    pub(crate) fn end_serial(&mut self, t: &Transaction, committed: bool) {
        let Some(me) = t.serial else { return };
        if self.db.ssi.as_ref().is_none_or(|ssi| !ssi.watches(me)) {
            return;
        }
        self.footprint.serializable = true;
        let next_xid = self.db.next_xid;
        self.db.with_ssi(|ssi| if committed { ssi.commit(me, next_xid) } else { ssi.forget(me) });
    }
}
