//! Transactions: a view, a write set, and the locks held.
//!
//! The *view* is what the transaction's statements read: a snapshot of the committed tables with the transaction's own
//! writes on top. The *write set* is what COMMIT will put into the committed tables; the writer holds an exclusive lock
//! on each of these rows, so nobody can have changed them in between. A savepoint is a copy of all three, O(1) like
//! everything else; rolling back to it is putting the copy back.

use imbl::{OrdMap, OrdSet, Vector};
use isolde_sql::ast::{Isolation, LockStrength, TableLockMode, TransactionModes};
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::{Row, SqlError, SqlState};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::define::frame::{Definitions, Rebuilt, older};
use crate::exec::Deferred;
use crate::footprint::{self, TableSet};
use crate::lock::{Held, LockKey, Modes, RowRef};
use crate::machine::in_failed_transaction;
use crate::reach::Reach;
use crate::ssi::XactId;
use crate::storage::{RowId, Tables, Tuple};

/// An open transaction.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) isolation: Isolation,
    pub(crate) read_only: bool,
    /// READ ONLY and SERIALIZABLE: it waits for a snapshot that nobody can hurt.
    pub(crate) deferrable: bool,
    /// Opened by BEGIN, so that only COMMIT or ROLLBACK ends it.
    pub(crate) explicit: bool,
    /// A statement failed: nothing but ROLLBACK is heard any more.
    pub(crate) failed: bool,
    /// REPEATABLE READ: what was committed when the first statement began.
    pub(crate) snapshot: Option<Snapshot>,
    /// What it has done and holds.
    effects: Effects,
    pub(crate) savepoints: Vec<Savepoint>,
    /// Whether a query has run, so that the level can no longer change.
    pub(crate) queried: bool,
    /// When it began.
    pub(crate) began: i64,
    /// SQL statements run so far: an implicit transaction of one statement commits with it.
    pub(crate) statements: u32,
    /// Its number, once it has written or locked something.
    pub(crate) xid: Option<u64>,
    /// SERIALIZABLE: under what name it is watched, from its snapshot on.
    pub(crate) serial: Option<XactId>,
}

/// What a transaction has done and holds so far: what a savepoint keeps a copy of, and ROLLBACK TO puts back. Fields of
/// a transaction that are not here survive that.
#[derive(Clone, Debug)]
pub(crate) struct Effects {
    /// What statements read. Valid at READ COMMITTED only while `view_epoch` is the database's epoch.
    view: Tables,
    view_epoch: Option<u64>,
    /// Rows changed, with what COMMIT makes of them.
    pub(crate) writes: OrdMap<RowRef, Change>,
    /// Row locks held, the strongest per row.
    pub(crate) locks: OrdMap<RowRef, Held>,
    /// Locks on tables and advisory keys.
    pub(crate) heavy: OrdMap<LockKey, Modes>,
    /// What it has defined.
    pub(crate) definitions: Definitions,
    /// Checks put off until COMMIT.
    pub(crate) deferred: Deferred,
    /// How many versions it has written.
    pub(crate) written: usize,
    /// Versions of its own that it has replaced by others with other keys: those keys are not free before it ends.
    pub(crate) replaced: OrdMap<RowRef, Vector<Row>>,
}

impl Effects {
    /// Nothing was done.
    fn none() -> Effects {
        Effects {
            view: Tables::none().clone(),
            view_epoch: None,
            writes: OrdMap::new(),
            locks: OrdMap::new(),
            heavy: OrdMap::new(),
            definitions: Definitions::default(),
            deferred: Deferred::default(),
            written: 0,
            replaced: OrdMap::new(),
        }
    }
}

impl Deref for Transaction {
    type Target = Effects;

    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}

/// What a transaction did to a row.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The committed values it started from; `None` if the row is new.
    pub(crate) before: Option<Row>,
    /// The version to be; `None` if the row is to go.
    pub(crate) after: Option<Tuple>,
    /// What it did to the committed version, before whatever it did to its own.
    pub(crate) first: First,
}

/// The first thing that a transaction did to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum First {
    Insert,
    /// An update under a lock that leaves FOR KEY SHARE alone.
    KeepsKey,
    ChangesKey,
    Delete,
}

impl Change {
    /// Deleted in the end, but updated before: those who saw the committed version see an update.
    pub(crate) fn is_updated_first(&self) -> bool {
        self.after.is_none() && self.first != First::Delete
    }
}

/// A row that a commit has changed for all: the version that was committed before, and the one that is now.
pub(crate) struct Published {
    pub(crate) row: RowRef,
    pub(crate) before: Option<Tuple>,
    pub(crate) after: Option<Tuple>,
}

/// Tells hashes of published rows from others.
const PUBLISHED: u64 = 0x50;

/// A snapshot that is held open, with what canonical comparison needs to know about it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) tables: Tables,
    /// The database's epoch when it was taken.
    epoch: u64,
    /// The tables that may be read from it.
    pub(crate) reads: TableSet,
    /// Which of their rows, if that is known.
    rows: Option<Arc<Reach>>,
    /// Sum over those of these rows that are not committed as it shows them: which are out of date is part of the
    /// state. With what is committed now, it also tells what the snapshot shows.
    pub(crate) published_since: u128,
    /// Rows deleted since, but not in the version that it shows: that one was updated first.
    pub(crate) updated_first: OrdSet<RowRef>,
}

impl Savepoint {
    pub(crate) fn modes(&self) -> (bool, bool) {
        self.modes
    }

    /// How many versions had been written.
    pub(crate) fn written(&self) -> usize {
        self.effects.written
    }

    pub(crate) fn definitions(&self) -> &Definitions {
        &self.effects.definitions
    }

    pub(crate) fn heavy(&self) -> &OrdMap<LockKey, Modes> {
        &self.effects.heavy
    }

    pub(crate) fn writes(&self) -> &OrdMap<RowRef, Change> {
        &self.effects.writes
    }

    pub(crate) fn locks(&self) -> &OrdMap<RowRef, Held> {
        &self.effects.locks
    }
}

impl Snapshot {
    pub(crate) fn new(tables: Tables, reads: TableSet, epoch: u64) -> Self {
        Snapshot { tables, epoch, reads, rows: None, published_since: 0, updated_first: OrdSet::new() }
    }

    /// A snapshot that a transaction keeps, to read these rows from.
    fn kept(tables: Tables, reach: Option<Arc<Reach>>, epoch: u64) -> Self {
        let reads = reach.as_ref().map_or(TableSet::ALL, |reach| reach.tables());
        Snapshot { rows: reach, ..Snapshot::new(tables, reads, epoch) }
    }

    /// Whether it was taken later than this.
    pub(crate) fn is_after(&self, epoch: u64) -> bool {
        self.epoch > epoch
    }

    /// Whether a row of this table with these values may be read from it.
    pub(crate) fn may_show(&self, table: TableId, values: &Row) -> bool {
        let wanted = |reach: &Arc<Reach>| reach.wants(table, values);
        self.reads.contains(table.0 as usize) && self.rows.as_ref().is_none_or(wanted)
    }

    /// Whether it was taken in this epoch.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }

    /// A row that it may show has been published.
    pub(crate) fn outdate(&mut self, published: &Published) {
        let Published { row, before, after } = published;
        if !self.reads.contains(row.0.0 as usize) {
            return;
        }
        // Nothing more happens to a row that is deleted.
        let old = self.difference(*row, before.as_ref(), false);
        let new = self.difference(*row, after.as_ref(), self.updated_first.contains(row));
        self.published_since = self.published_since.wrapping_sub(old).wrapping_add(new);
    }

    /// A table has been redefined.
    pub(crate) fn redefine(&mut self, table: TableId, digest: u128) {
        if self.reads.contains(table.0 as usize) {
            self.published_since = self.published_since.wrapping_add(digest);
        }
    }

    /// What there is to say about a row that it shows, or not, and that is now this: nothing if it is the same version,
    /// or nobody will ask.
    fn difference(&self, row: RowRef, now: Option<&Tuple>, updated_first: bool) -> u128 {
        let shown = self.tables.version(row);
        if shown.map(|tuple| tuple.position) == now.map(|tuple| tuple.position) {
            return 0;
        }
        let wanted = |tuple: &&Tuple| self.rows.as_ref().is_none_or(|reach| reach.wants(row.0, &tuple.values));
        let shown = shown.filter(wanted);
        if shown.is_none() && !now.as_ref().is_some_and(wanted) {
            return 0;
        }
        let same_key = shown.zip(now).is_some_and(|(shown, now)| now.key_position <= shown.position);
        let (shown, now) = (shown.map(|tuple| &tuple.values), now.map(|tuple| &tuple.values));
        isolde_digest::tagged(PUBLISHED, (row.0, shown, now, same_key, updated_first))
    }

    /// Of a database without tables, for what reads none.
    pub(crate) fn empty() -> Self {
        Snapshot::new(Tables::none().clone(), TableSet::NONE, 0)
    }
}

/// A point to roll back to.
#[derive(Clone, Debug)]
pub(crate) struct Savepoint {
    /// Its name; `None` for the subtransaction of a PL/pgSQL block.
    pub(crate) name: Option<Arc<str>>,
    /// The number of what has happened since, if that has one.
    xid: Option<u64>,
    /// Whether the transaction was READ ONLY and DEFERRABLE when it was set.
    modes: (bool, bool),
    effects: Effects,
}

impl Transaction {
    pub(crate) fn new(isolation: Isolation, read_only: bool, explicit: bool) -> Self {
        Transaction {
            isolation,
            read_only,
            deferrable: false,
            explicit,
            failed: false,
            snapshot: None,
            effects: Effects::none(),
            savepoints: Vec::new(),
            queried: false,
            began: 0,
            statements: 0,
            xid: None,
            serial: None,
        }
    }

    /// The same, begun at this time.
    pub(crate) fn begun_at(self, began: i64) -> Self {
        Transaction { began, ..self }
    }

    /// The same, DEFERRABLE or not.
    pub(crate) fn deferred(self, deferrable: bool) -> Self {
        Transaction { deferrable, ..self }
    }

    /// SET TRANSACTION: what is not given stays. Once a query has run, the level cannot change.
    pub(crate) fn set_modes(&mut self, modes: TransactionModes) -> Result<(), SqlError> {
        if self.failed {
            return Err(in_failed_transaction());
        }
        if modes.isolation.is_some_and(|level| level != self.isolation) && self.queried {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        if modes.isolation.is_some_and(|level| level != self.isolation) && !self.savepoints.is_empty() {
            let message = "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        if modes.deferrable.is_some() && self.queried {
            let message = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query";
            return Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message));
        }
        self.isolation = modes.isolation.unwrap_or(self.isolation);
        self.read_only = modes.read_only.unwrap_or(self.read_only);
        self.deferrable = modes.deferrable.unwrap_or(self.deferrable);
        Ok(())
    }

    /// Whether nobody else could tell if it ended now.
    pub(crate) fn is_quiet(&self) -> bool {
        self.writes.is_empty()
            && self.locks.is_empty()
            && self.heavy.is_empty()
            && self.serial.is_none()
            && self.definitions.is_empty()
    }

    /// Whether this level keeps one snapshot for the whole transaction.
    pub(crate) fn keeps_snapshot(&self) -> bool {
        self.isolation != Isolation::ReadCommitted
    }

    /// What a statement that begins now reads. At REPEATABLE READ the first call decides for all; of what it keeps,
    /// nothing but what is in `reach` will ever be read.
    pub(crate) fn begin_statement(
        &mut self,
        catalog: &Catalog,
        committed: &Tables,
        reach: &Option<Arc<Reach>>,
        epoch: u64,
    ) -> &Tables {
        debug_assert!(!self.failed, "a transaction that has failed runs no statement");
        debug_assert!(!self.view_is_after(epoch), "no view is of the future");
        if self.keeps_snapshot() {
            let snapshot = self.snapshot.get_or_insert_with(|| Snapshot::kept(committed.clone(), reach.clone(), epoch));
            let (base, made) = (snapshot.tables.clone(), snapshot.epoch);
            if self.view_epoch.is_none() {
                self.rebase(catalog, &base);
                self.view_epoch = Some(made);
            }
        } else if self.view_epoch != Some(epoch) {
            self.rebase(catalog, committed);
            self.view_epoch = Some(epoch);
        }
        &self.view
    }

    /// Whether its view was made later than this.
    pub(crate) fn view_is_after(&self, epoch: u64) -> bool {
        self.view_epoch.is_some_and(|made| made > epoch)
    }

    fn rebase(&mut self, catalog: &Catalog, base: &Tables) {
        self.view = self.on_top_of(catalog, base);
    }

    /// Some tables, with its own definitions and writes.
    pub(crate) fn on_top_of(&self, catalog: &Catalog, base: &Tables) -> Tables {
        let mut view = base.clone();
        if !self.definitions.is_empty() {
            self.definitions.apply(catalog, &mut view, self.isolation != Isolation::ReadCommitted);
        }
        self.apply_writes(catalog, &mut view);
        view
    }

    /// Puts its writes into tables.
    pub(crate) fn apply_writes(&self, catalog: &Catalog, tables: &mut Tables) {
        for ((table, row), change) in &self.writes {
            let data = tables.table_mut(*table);
            match &change.after {
                Some(tuple) if self.keeps_snapshot() => data.put_beside(catalog.table(*table), *row, tuple.clone()),
                Some(tuple) => data.put(catalog.table(*table), *row, tuple.clone()),
                None => data.remove(catalog.table(*table), *row),
            }
        }
    }

    /// What its statements read, own writes of this very moment included.
    pub(crate) fn view(&self) -> &Tables {
        &self.view
    }

    /// What the committed tables will be once it has committed, if nobody has committed since its view was made.
    pub(crate) fn successor(&self, epoch: u64) -> Option<&Tables> {
        (self.view_epoch == Some(epoch) && self.definitions.is_empty()).then_some(&self.view)
    }

    /// The view must be made anew before it is read again: tables were added or dropped, or writes taken back.
    pub(crate) fn invalidate_view(&mut self) {
        self.view_epoch = None;
    }

    /// A table is its own from now on; `folded` says that what it has written there is in it.
    pub(crate) fn rebuild(&mut self, table: TableId, rebuilt: Rebuilt, folded: bool) {
        if folded {
            self.writes = self.writes.iter().filter(|(row, _)| row.0 != table).map(|(r, c)| (*r, c.clone())).collect();
        }
        self.definitions.rebuilt.insert(table, rebuilt);
        self.invalidate_view();
    }

    /// Somebody else has committed definitions.
    pub(crate) fn see_definitions(&mut self, theirs: &Definitions, new: &Catalog) {
        if let Some(snapshot) = &mut self.snapshot {
            older(&mut snapshot.tables, theirs, new);
        }
        self.invalidate_view();
        self.savepoints.iter_mut().for_each(|savepoint| savepoint.effects.view_epoch = None);
    }

    /// Its own definitions, and those of its savepoints.
    pub(crate) fn each_definitions(&mut self, mut change: impl FnMut(&mut Definitions)) {
        change(&mut self.definitions);
        self.savepoints.iter_mut().for_each(|savepoint| change(&mut savepoint.effects.definitions));
    }

    /// A broken engine, for tests: takes an old view for a new one.
    pub(crate) fn pretend_fresh(&mut self, epoch: u64) {
        self.view_epoch = self.view_epoch.map(|_| epoch);
    }

    /// Changes a row: `after` is its new version, `None` deletes it.
    pub(crate) fn write(&mut self, catalog: &Catalog, row: RowRef, before: Option<&Row>, after: Option<Tuple>) {
        let table = catalog.table(row.0);
        let keeps = self.keeps_snapshot();
        debug_assert!(!self.failed, "a transaction that has failed writes nothing");
        debug_assert!(
            self.locks.get(&row).is_some_and(|held| held.strength >= LockStrength::NoKeyUpdate),
            "a row is locked before it is written"
        );
        debug_assert!(
            after.as_ref().is_none_or(|tuple| tuple.values.len() == table.columns.len()),
            "a version has a value for each column of its table"
        );
        let data = self.view.table_mut(row.0);
        match &after {
            Some(tuple) if keeps => data.put_beside(table, row.1, tuple.clone()),
            Some(tuple) => data.put(table, row.1, tuple.clone()),
            None => data.remove(table, row.1),
        }
        let effects = &mut self.effects;
        let (before, first) = match effects.writes.get(&row) {
            Some(change) => {
                if let Some(own) = change.after.as_ref().filter(|own| !same_keys(table, own, after.as_ref())) {
                    effects.replaced.entry(row).or_default().push_back(own.values.clone());
                }
                (change.before.clone(), change.first)
            }
            None => (before.cloned(), self.first_change(row, before.is_some(), after.is_some())),
        };
        if before.is_none() && after.is_none() {
            // Inserted and deleted again: nobody will ever see it.
            self.writes.remove(&row);
        } else {
            self.writes.insert(row, Change { before, after, first });
        }
    }

    fn first_change(&self, row: RowRef, was: bool, will_be: bool) -> First {
        match (was, will_be) {
            (false, _) => First::Insert,
            (true, false) => First::Delete,
            (true, true) if self.holds_fully(row) => First::ChangesKey,
            (true, true) => First::KeepsKey,
        }
    }

    /// Whether it has changed rows of a table.
    pub(crate) fn has_written_in(&self, table: TableId) -> bool {
        let first = self.writes.range((table, RowId(0))..).next();
        first.is_some_and(|((written, _), _)| *written == table)
    }

    /// Whether it holds the strongest lock on a row, so that it may change its key.
    pub(crate) fn holds_fully(&self, row: RowRef) -> bool {
        self.locks.get(&row).is_some_and(|held| held.strength == LockStrength::Update)
    }

    /// Remembers a lock on a version of a row; a weaker one than is held changes nothing.
    pub(crate) fn lock(&mut self, row: RowRef, strength: LockStrength, version: u64) {
        let held = self.locks.get(&row).copied();
        if held.is_none_or(|held| held.strength < strength) {
            let oldest = held.map_or(version, |held| held.oldest.min(version));
            let by = held.map_or_else(|| self.number(), |held| held.by);
            self.locks.insert(row, Held { strength, oldest, by });
        }
    }

    /// The number under which it does things now.
    fn number(&self) -> u64 {
        let inner = self.savepoints.last().and_then(|savepoint| savepoint.xid);
        inner.or(self.xid).unwrap_or_default()
    }

    /// Gives numbers to what has happened since each savepoint; `next` is the next to be given out.
    pub(crate) fn number_savepoints(&mut self, next: &mut u64) {
        for savepoint in self.savepoints.iter_mut().filter(|savepoint| savepoint.xid.is_none()) {
            savepoint.xid = Some(*next);
            *next += 1;
        }
    }

    /// Sets a savepoint.
    pub(crate) fn save(&mut self, name: Option<Arc<str>>) {
        let (modes, effects) = ((self.read_only, self.deferrable), self.effects.clone());
        self.savepoints.push(Savepoint { name, xid: None, modes, effects });
    }

    /// The depth of the youngest savepoint with this name.
    pub(crate) fn find_savepoint(&self, name: &str) -> Option<usize> {
        self.savepoints.iter().rposition(|s| s.name.as_deref() == Some(name))
    }

    /// Puts everything back to where it was at a savepoint, which stays. Says which locks that gave up.
    pub(crate) fn rollback_to(&mut self, depth: usize) -> Lost {
        debug_assert!(depth < self.savepoints.len(), "one rolls back to a savepoint that is there");
        self.savepoints.truncate(depth + 1);
        self.savepoints.iter_mut().skip(depth).for_each(|savepoint| savepoint.xid = None);
        let Some(savepoint) = self.savepoints.last().cloned() else { return (Vec::new(), Vec::new()) };
        (self.read_only, self.deferrable) = savepoint.modes;
        // A commit since then is not in the saved view; at REPEATABLE READ that is as it should be.
        let undone = std::mem::replace(&mut self.effects, savepoint.effects);
        self.keep_sequences(&undone.heavy);
        let kept = std::mem::replace(&mut self.definitions.sequences, undone.definitions.sequences).len();
        self.definitions.sequences.truncate(kept);
        self.failed = false;
        let lost = undone.locks.iter().filter(|&(row, held)| self.locks.get(row) != Some(held));
        let rows = lost.map(|(row, held)| released(*row, held.strength)).collect();
        (rows, heavy_released(&undone.heavy, &self.heavy))
    }

    /// Who has drawn from a sequence keeps it locked until the end, whatever is rolled back before.
    fn keep_sequences(&mut self, held: &OrdMap<LockKey, Modes>) {
        let drawn = TableLockMode::RowExclusive;
        for (key, modes) in held.iter().filter(|(key, _)| matches!(key, LockKey::Sequence(_))) {
            if modes.contains(drawn) {
                let kept = self.heavy.get(key).copied().unwrap_or_default();
                self.heavy.insert(*key, kept.with(drawn));
            }
        }
    }

    /// A transaction that has failed keeps what it has drawn from sequences.
    pub(crate) fn keep_drawn(&mut self, old: &Transaction) {
        self.keep_sequences(&old.heavy);
        self.definitions.sequences = old.definitions.sequences.clone();
    }

    /// Holds the locks and writes of a savepoint, and no more.
    pub(crate) fn keep(&mut self, savepoint: &Savepoint) {
        self.effects = savepoint.effects.clone();
    }

    /// Forgets a savepoint and all set since; what was done stays done, but the transaction is READ ONLY if it was
    /// before.
    pub(crate) fn release(&mut self, depth: usize) {
        debug_assert!(depth < self.savepoints.len(), "a savepoint that is released is there");
        self.read_only = self.savepoints.get(depth).map_or(self.read_only, |savepoint| savepoint.modes.0);
        self.savepoints.truncate(depth);
    }
}

/// Whether a version is replaced by one with the same unique keys.
fn same_keys(table: &Table, old: &Tuple, new: Option<&Tuple>) -> bool {
    let mut columns = table.indexes.iter().filter(|index| index.unique).flat_map(|index| index.mentions());
    columns.all(|&c| new.is_some_and(|new| old.values[c] == new.values[c]))
}

/// Locks that were given up, on rows and others.
type Lost = (Vec<footprint::LockEvent>, Vec<footprint::HeavyEvent>);

/// The footprint's entries for locks on tables and advisory keys that were held, and now these are.
pub(crate) fn heavy_released(
    held: &OrdMap<LockKey, Modes>,
    now: &OrdMap<LockKey, Modes>,
) -> Vec<footprint::HeavyEvent> {
    let kind = footprint::LockEventKind::Released;
    let lost = |key: &LockKey, modes: &Modes| {
        let (key, kept) = (*key, now.get(key).copied().unwrap_or_default());
        modes.iter().filter(move |mode| !kept.contains(*mode)).map(move |mode| footprint::HeavyEvent {
            key,
            mode,
            kind,
        })
    };
    held.iter().flat_map(|(key, modes)| lost(key, modes)).collect()
}

/// The footprint's entry for a lock that is given up.
pub(crate) fn released(row: RowRef, strength: LockStrength) -> footprint::LockEvent {
    footprint::LockEvent { table: row.0, row: row.1, strength, kind: footprint::LockEventKind::Released }
}
