//! Writing, beginning and ending: where a session at work meets the watch.

use std::sync::Arc;

use isolde_sql::ast::Isolation;
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, SqlError, Value};

use super::read::{Planner, Reader};
use super::target::{Relation, Target};
use super::{Begin, Conflicts, NewVersion, OpenVersion, Ssi, Watched, Written, XactId, page};
use crate::database::Database;
use crate::exec::Executor;
use crate::footprint::{SnapshotTaken, TableSet};
use crate::lock::{self, RowRef, SessionSet};
use crate::session::SessionId;
use crate::storage::{Tables, Tuple, same_entries};
use crate::transaction::Transaction;

impl Database {
    /// Lets the planner believe that it knows all tables (ANALYZE has run), or none: see [`super::read::Statistics`].
    pub fn set_analyzed(&mut self, analyzed: bool) {
        Arc::make_mut(&mut self.ambient).statistics.analyzed = analyzed;
    }

    /// Whether the planner knows how large a table is: then it may read all of it although an index would serve.
    pub fn is_analyzed(&self, table: TableId) -> bool {
        self.ambient.statistics.analyzed || self.ambient.statistics.known.contains(&table)
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

    /// What a step that is over had to do with the watch.
    pub(crate) fn take_watched(&mut self, session: SessionId) -> Option<Box<Watched>> {
        let ssi = self.ssi.as_mut()?;
        let serial = self.sessions[session.0].transaction.as_ref().and_then(|t| t.serial);
        let look = serial.and_then(|id| ssi.look(id, session));
        let trace = if ssi.has_trace() { Arc::make_mut(ssi).take_trace() } else { None };
        match (look, trace) {
            (Some(look), Some(mut trace)) => {
                trace.absorb(&look);
                Some(trace)
            }
            (Some(look), None) => Some(Box::new(look)),
            (None, trace) => trace,
        }
    }
}

impl Executor<'_> {
    /// Changes the watch.
    fn with_ssi<R>(&mut self, act: impl FnOnce(&mut Ssi) -> R) -> R {
        let mut ssi = self.db.ssi.take().unwrap_or_default();
        let result = act(Arc::make_mut(&mut ssi));
        self.return_ssi(Some(ssi));
        result
    }

    /// Puts the watch back, unless nothing is left to watch.
    pub(crate) fn return_ssi(&mut self, ssi: Option<Arc<Ssi>>) {
        let Some(mut ssi) = ssi else { return };
        match ssi.is_idle() {
            true => self.footprint.note_watched(Arc::make_mut(&mut ssi).take_trace()),
            false => self.db.ssi = Some(ssi),
        }
    }

    /// A serializable transaction takes its snapshot. One that is READ ONLY and DEFERRABLE waits until it is known that
    /// nobody can hurt it, and takes another if somebody did.
    pub(crate) fn take_serial_snapshot(&mut self) -> Result<(), lock::Target> {
        if self.session.transaction.is_none() && self.session.options.isolation == Isolation::Serializable {
            self.session.begin_implicit(self.db.clock);
        }
        loop {
            let Some(t) = self.session.transaction.as_ref() else { return Ok(()) };
            if t.isolation != Isolation::Serializable || t.failed {
                return Ok(());
            }
            let deferred = t.deferrable && t.read_only;
            if t.snapshot.is_none() {
                self.begin_serial();
            }
            let Some(me) = self.serial().filter(|_| deferred) else { return Ok(()) };
            let Some(safe) = self.db.ssi.as_ref().and_then(|ssi| ssi.get(me)).and_then(|x| x.safe) else {
                return Err(lock::Target::SafeSnapshot(me));
            };
            self.with_ssi(|ssi| ssi.forget(me));
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
        let conflicts = self.session.reach.as_ref().map_or_else(Conflicts::default, |reach| reach.conflicts());
        let tables = self.session.reach.as_ref().map_or(TableSet::ALL, |reach| reach.tables());
        let known = t.xid.is_none();
        let begin = Begin { id, session: self.me, read_only: t.read_only, conflicts, tables, known };
        let (me, open) = (self.me, self.open_versions());
        let watched = self.with_ssi(|ssi| {
            let watched = ssi.begin(begin);
            if watched {
                ssi.meet_open(me, tables, open);
            }
            watched
        });
        self.transaction_mut().serial = watched.then_some(id);
        self.footprint.snapshot = Some(SnapshotTaken::Transaction);
        let (db, schema, session) = (&*self.db, self.schema().clone(), &mut self.session);
        if let Some(t) = &mut session.transaction {
            t.begin_statement(&schema.catalog, &db.committed, &session.reach, db.epoch);
        }
    }

    /// What others have written and not committed.
    fn open_versions(&self) -> Vec<OpenVersion> {
        let open = self.others().filter_map(|(id, session)| Some((id, session.transaction.as_ref()?)));
        let versions = open.flat_map(|(writer, transaction)| {
            // The table may be the writer's own so far, and then only its definitions name it.
            let schema = transaction.definitions.schema.as_ref().unwrap_or(&self.db.schema);
            transaction.writes.iter().filter_map(move |(row, change)| {
                let (row, version) = (*row, change.after.clone()?);
                let table = schema.catalog.has_table(row.0).then(|| schema.catalog.table(row.0))?;
                Some(OpenVersion { writer, row, version, indexes: table.indexes.len() })
            })
        });
        versions.collect()
    }

    /// The transaction as one that is watched.
    fn serial(&self) -> Option<XactId> {
        let id = self.session.transaction.as_ref()?.serial?;
        self.db.ssi.as_ref().filter(|ssi| ssi.watches(id)).map(|_| id)
    }

    fn ssi_mut(&mut self) -> Option<&mut Ssi> {
        self.db.ssi.as_mut().map(Arc::make_mut)
    }

    /// A version is about to be written over `old`: those who have read that one, its page or the whole table did so
    /// before. A new row concerns only those who have read the whole table.
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
        if old.is_some_and(|old| self.is_unseen(row, old.position))
            && let Some(ssi) = self.ssi_mut()
        {
            ssi.trace().rewrote.insert(row.0.0 as usize);
        }
        self.check_targets(me, row, &targets, keeps)
    }

    /// Whether some other serializable transaction does not see this version of a row: it does not remember to have
    /// read it, and yet an index may lead it to what becomes of it.
    fn is_unseen(&self, row: RowRef, position: u64) -> bool {
        let mut snapshots = self.others().filter_map(|(_, session)| {
            session.transaction.as_ref().filter(|t| t.serial.is_some()).and_then(|t| t.snapshot.as_ref())
        });
        snapshots.any(|snapshot| snapshot.tables.version(row).map(|tuple| tuple.position) != Some(position))
    }

    fn check_targets(&mut self, me: XactId, row: RowRef, targets: &[Target], keeps: bool) -> Result<(), SqlError> {
        let Some(ssi) = self.ssi_mut() else { return Ok(()) };
        ssi.begin_write(me)?;
        targets.iter().for_each(|target| ssi.trace_check(row, *target));
        targets.iter().try_for_each(|target| ssi.check_target(me, *target, keeps))
    }

    /// A version was written, by whomever, while serializable transactions are watched; `old` is the one it replaces.
    pub(crate) fn note_version(&mut self, row: RowRef, old: Option<Tuple>, new: Option<(u64, Row)>) {
        let writer = self.me;
        if let (Some((position, values)), Some(ssi)) = (&new, self.ssi_mut()) {
            ssi.leave(writer, row, *position, values);
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
            NewVersion { position, root, values, entered: if root == position { 0 } else { usize::MAX } }
        });
        let old = old.map(|tuple| (tuple.position, tuple.values));
        if let Some(mine) = ssi.get_mut(me) {
            mine.written.push_back(Written { row, old, new });
        }
    }

    /// The row just written is in the first `count` indexes of its table.
    pub(crate) fn note_entries(&mut self, row: RowRef, count: usize) {
        let me = self.serial();
        let Some(ssi) = self.ssi_mut() else { return };
        ssi.enter(row, count);
        if let Some(mine) = me.and_then(|me| ssi.get_mut(me))
            && let Some(place) = mine.written.iter().rposition(|w| w.row == row)
            && let Some(new) = mine.written[place].new.as_mut().filter(|new| new.is_root())
        {
            new.entered = count;
        }
    }

    /// The row just written enters an index, or would if its key were free: those who have searched there did so
    /// before.
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
        self.check_targets(me, row, &targets, true)
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
        self.with_reader(|reader| reader.look_up(view, table, index, key))
    }

    /// ON CONFLICT has come to the newest version of a row.
    pub(crate) fn come_to(&mut self, row: RowRef) -> Result<(), SqlError> {
        if self.serial().is_none() {
            return Ok(());
        }
        let (Some(newest), view) = (self.newest(row), self.transaction().view().clone()) else { return Ok(()) };
        self.with_reader(|reader| reader.come_to(&view, row, &newest))
    }

    /// Lets a serializable transaction that is watched read.
    fn with_reader(&mut self, act: impl FnOnce(&mut Reader<'_>) -> Result<(), SqlError>) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        let schema = self.schema().clone();
        let ambient = self.db.ambient.clone();
        let planner = Planner::of(&self.session.kept.settings);
        let Some(ssi) = self.db.ssi.as_mut().map(Arc::make_mut) else { return Ok(()) };
        let mut reader = Reader { ssi, me, catalog: &schema.catalog, statistics: &ambient.statistics, planner };
        if reader.watches() { act(&mut reader) } else { Ok(()) }
    }

    /// Writes since a savepoint are taken back; what was read stays read.
    pub(crate) fn unwrite(&mut self) {
        let Some(me) = self.serial() else { return };
        let count = self.transaction().written;
        if let Some(ssi) = self.ssi_mut() {
            ssi.unwrite(me, count);
        }
    }

    /// The transaction is about to commit, or (`for_later`) to be nobody's until it is. It may have to fail instead.
    pub(crate) fn prepare_serial(&mut self, for_later: bool) -> Result<(), SqlError> {
        let Some(me) = self.serial() else { return Ok(()) };
        self.ssi_mut().map_or(Ok(()), |ssi| ssi.prepare(me, for_later))
    }

    /// The transaction has ended.
    pub(crate) fn end_serial(&mut self, t: &Transaction, committed: bool) {
        if self.db.ssi.is_none() {
            return;
        }
        let session = self.me;
        self.with_ssi(|ssi| {
            match t.serial.filter(|id| ssi.watches(*id)) {
                Some(me) if committed => ssi.commit(me),
                Some(me) => ssi.forget(me),
                None => {}
            }
            ssi.end_writer(session);
        });
    }
}

impl Ssi {
    /// All but the first `count` writes are taken back.
    fn unwrite(&mut self, me: XactId, count: usize) {
        let Some(mine) = self.get_mut(me).filter(|x| x.written.len() > count) else { return };
        let lost = mine.written.split_off(count);
        let tables: TableSet = lost.iter().map(|w| w.row.0.0 as usize).collect();
        let trace = self.trace();
        trace.unwrote = trace.unwrote.union(tables);
    }
}
