//! What a step touched.
//!
//! A footprint contains everything the step's result depends on and everything it changed. If two adjacent steps of
//! different sessions have footprints that do not conflict, swapping them changes neither's result nor the state after
//! both: that is what partial-order reduction, the serial oracle's explanation and the history graph are built on. So
//! an entry may say too much, never too little; and where saying it exactly is not worth the trouble,
//! [`Footprint::everything`] says it all.

use std::sync::Arc;

use isolde_sql::ast::{LockStrength, TableLockMode};
use isolde_sql::catalog::TableId;
use isolde_sql::typed::{Expr, ExprKind};
use isolde_sql::{Row, Value};

use crate::lock::LockKey;
use crate::reach::Reach;
pub use crate::ssi::{Conflicts, Mark, SessionBits, Watched};
use crate::storage::RowId;
use crate::{eval, plan};

/// Everything one step touched, in order.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// The snapshot this step took, if it took one.
    pub snapshot: Option<SnapshotTaken>,
    /// The tables that later steps may read from that snapshot, because the transaction keeps it or the statement is
    /// not through.
    pub later: TableSet,
    /// The same by rows, where the transaction has promised to keep to these.
    pub kept: Option<Arc<Reach>>,
    /// What it looked for.
    pub reads: Vec<Read>,
    /// Rows it changed; not visible to others until published.
    pub writes: Vec<Write>,
    /// Uncommitted versions that are no more: rolled back, or replaced within the transaction that has now ended. Who
    /// was kept waiting by one of their keys is so no longer.
    pub undone: Vec<Write>,
    /// Rows it changed by adding something to these columns, and did not ask for them otherwise.
    pub added: Vec<((TableId, RowId), ColumnSet)>,
    /// Rows whose newest version it looked at, where no lock event of this step says so.
    pub looked: Vec<(TableId, RowId)>,
    /// Row locks taken, waited for and given up.
    pub locks: Vec<LockEvent>,
    /// Table and advisory locks taken, waited for and given up.
    pub heavy: Vec<HeavyEvent>,
    /// Unique keys it checked against everybody's rows, committed or not.
    pub probes: Vec<Probe>,
    /// Sequences it drew from: the sequence and the value.
    pub sequences: Vec<(Arc<str>, i64)>,
    /// Tables whose definition its commit changed for all.
    pub defined: Vec<TableId>,
    /// Rows its commit made visible to all.
    pub published: Vec<Write>,
    /// What it had to do with what serializable transactions share.
    pub watched: Option<Box<Watched>>,
    /// It ended its transaction: committed (true) or rolled back.
    pub ended: Option<bool>,
    /// It read or changed what has no entry of its own here (definitions, prepared transactions, channels): no step of
    /// another session commutes with it.
    pub everything: bool,
    /// Nobody could tell that the session had a transaction, or waited: before this step, and after it. Locks that came
    /// and went in between were met by nobody.
    pub quiet: (bool, bool),
}

/// Whose snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotTaken {
    /// READ COMMITTED: for this statement.
    Statement,
    /// REPEATABLE READ: for the whole transaction; later steps read the same.
    Transaction,
}

/// A set of columns; those past 127 share a bit, which errs on the safe side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet(u128);

/// A set of tables, with the same margin.
pub type TableSet = ColumnSet;

/// A predicate read: which rows of a table were looked for, which columns mattered, and which rows were found.
#[derive(Clone, Debug)]
pub struct Read {
    /// The table.
    pub table: TableId,
    /// Equalities that the access path used: column and value. All must hold.
    pub key: Vec<(usize, Value)>,
    /// Further conditions over the row (rel 0 at depth 0) alone, with variables in `params`; `None` is "every row".
    pub filter: Option<Arc<Predicate>>,
    /// The variables of `filter`.
    pub params: Arc<[Value]>,
    /// Columns whose value mattered: in conditions, results, ordering.
    pub columns: ColumnSet,
    /// Rows that matched, with the position of the version seen.
    pub matched: Vec<(RowId, u64)>,
    /// The read came from a locking or modifying statement, which goes on to the newest version of what it found.
    pub current: bool,
}

/// A condition on one row (rel 0) and variables, ready to be asked about other rows than it was asked about first.
#[derive(Debug)]
pub struct Predicate {
    expr: Expr,
    compiled: plan::Expr,
    /// How many columns a row must have to be asked about.
    width: usize,
    /// The columns it asks about.
    columns: ColumnSet,
}

/// A row changed.
#[derive(Clone, Debug)]
pub struct Write {
    /// The table.
    pub table: TableId,
    /// The row.
    pub row: RowId,
    /// Its values before; `None` for an insert.
    pub before: Option<Row>,
    /// Its values after; `None` for a delete.
    pub after: Option<Row>,
    /// The columns that were given a value, be it the one they had; all of them for an insert or a delete.
    pub set: ColumnSet,
}

/// What happened to a row lock.
#[derive(Clone, Debug)]
pub struct LockEvent {
    /// The table.
    pub table: TableId,
    /// The row.
    pub row: RowId,
    /// How strong.
    pub strength: LockStrength,
    /// What happened.
    pub kind: LockEventKind,
}

/// What happened to a lock on a table or an advisory key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeavyEvent {
    /// What it is on.
    pub key: LockKey,
    /// Its mode.
    pub mode: TableLockMode,
    /// What happened.
    pub kind: LockEventKind,
}

/// What happened to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockEventKind {
    /// Granted.
    Taken,
    /// Somebody else has it: the session waits.
    Queued,
    /// Somebody else has it: skipped or refused (SKIP LOCKED, NOWAIT).
    Refused,
    /// Given up, by the end of the transaction or a rollback to a savepoint.
    Released,
    /// No longer waited for: it goes on, or has given up.
    Left,
    /// Waited for, by whomever, at another place in the queue: the order was the only reason for a deadlock.
    Moved,
}

/// A unique or foreign key that was checked.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The table.
    pub table: TableId,
    /// The key's columns.
    pub columns: Vec<usize>,
    /// Its values.
    pub key: Vec<Value>,
    /// On whose behalf.
    pub kind: ProbeKind,
}

/// Why a key was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeKind {
    /// For a foreign key: among committed rows and one's own.
    Reference,
    /// For ON CONFLICT: among everybody's rows.
    Arbiter,
    /// For a row that enters the index: among everybody's rows, and from now on it is there for others to meet.
    Entry,
}

impl Footprint {
    /// Adds to what the step had to do with what serializable transactions share.
    pub(crate) fn note_watched(&mut self, watched: Option<Box<Watched>>) {
        match (&mut self.watched, watched) {
            (Some(all), Some(new)) => all.absorb(&new),
            (all @ None, new) => *all = new,
            (Some(_), None) => {}
        }
    }
}

impl LockEvent {
    /// Whether two sessions cannot have both locks on one row.
    pub fn excludes(one: LockStrength, other: LockStrength) -> bool {
        crate::lock::row::conflict(one, other)
    }
}

impl HeavyEvent {
    /// Whether two sessions cannot have both locks on one key.
    pub fn excludes(one: TableLockMode, other: TableLockMode) -> bool {
        crate::lock::heavy::conflicts(one).contains(other)
    }
}

impl ColumnSet {
    /// No column.
    pub const NONE: ColumnSet = ColumnSet(0);
    /// Every column.
    pub const ALL: ColumnSet = ColumnSet(u128::MAX);

    /// With one column more.
    pub fn insert(&mut self, column: usize) {
        self.0 |= 1 << column.min(127);
    }

    /// Whether a column is in it.
    pub fn contains(self, column: usize) -> bool {
        self.0 & (1 << column.min(127)) != 0
    }

    /// Both together.
    pub fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    /// All the other columns.
    pub fn complement(self) -> ColumnSet {
        ColumnSet(!self.0)
    }

    /// Whether they share a column.
    pub fn meets(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Its columns, as far as they are told apart.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..128).filter(move |&column| self.contains(column))
    }

    /// No column.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Without those of another set.
    pub fn without(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & !other.0)
    }

    /// Those that are also in another set.
    pub fn common(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & other.0)
    }

    /// Whether all of another set's are in it.
    pub fn covers(self, other: ColumnSet) -> bool {
        other.0 & !self.0 == 0
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut set = ColumnSet::NONE;
        columns.into_iter().for_each(|c| set.insert(c));
        set
    }
}

impl Predicate {
    /// The condition `expr`, which must need neither tables nor a session.
    pub fn new(expr: Expr) -> Predicate {
        let (mut width, mut columns) = (0, ColumnSet::NONE);
        expr.walk(0, &mut |e, _| match e.kind {
            ExprKind::Column { col, .. } => {
                width = width.max(usize::from(col) + 1);
                columns.insert(usize::from(col));
            }
            ExprKind::WholeRow { .. } => columns = ColumnSet::ALL,
            _ => {}
        });
        Predicate { compiled: eval::compile_local(&expr), expr, width, columns }
    }

    /// The condition itself.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }
}

/// Whether a row is among those a read looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Membership {
    No,
    Yes,
    /// Asking fails, and so would the read.
    Fails,
}

impl Read {
    /// Whether the read could have a different result if `write` were there or not: the row belongs to what was looked
    /// for before or after, and either that changes or a column that mattered does.
    pub fn hit(&self, write: &Write) -> bool {
        if self.table != write.table {
            return false;
        }
        let before = self.membership(write.before.as_deref());
        let after = self.membership(write.after.as_deref());
        before != after || (before != Membership::No && self.shows(write, ColumnSet::NONE))
    }

    /// Whether what was done to a row that it looks for shows: a column that mattered has another value, and is not
    /// among those to be `ignored`. Where all columns matter, so does the row's place in the heap, which every update
    /// changes.
    pub fn shows(&self, write: &Write, ignored: ColumnSet) -> bool {
        self.columns == ColumnSet::ALL || write.changed().without(ignored).meets(self.columns)
    }

    /// Whether a row of the table is among those looked for, or asking about it fails.
    pub fn wants(&self, row: &[Value]) -> bool {
        self.membership(Some(row)) != Membership::No
    }

    /// The same if of the written row only the columns in `stable` are known to be as they are now whenever the write
    /// happens: somebody else may change the others before it or after it. Changes of the columns in `ignored` do not
    /// count.
    pub fn may_hit(&self, write: &Write, stable: ColumnSet, ignored: ColumnSet) -> bool {
        if stable == ColumnSet::ALL && ignored.is_empty() {
            return self.hit(write);
        }
        self.shows(write, ignored) && self.may_concern(write, stable)
    }

    /// Whether a written row may be among those looked for, before or after, if only the columns in `stable` are
    /// certain.
    pub fn may_concern(&self, write: &Write, stable: ColumnSet) -> bool {
        let excluded = |row: Option<&[Value]>| {
            let Some(row) = row else { return true };
            let differs = |(c, v): &(usize, Value)| stable.contains(*c) && row.get(*c) != Some(v);
            self.key.iter().any(differs) || (self.filter_covered(stable) && self.passes(row) == Membership::No)
        };
        self.table == write.table && !(excluded(write.before.as_deref()) && excluded(write.after.as_deref()))
    }

    /// Whether a written row is among those looked for, before or after, whatever has changed of it.
    pub fn concerns(&self, write: &Write) -> bool {
        let found = |row: &Option<Row>| row.as_ref().is_some_and(|row| self.wants(row));
        self.table == write.table && (found(&write.before) || found(&write.after))
    }

    fn filter_covered(&self, stable: ColumnSet) -> bool {
        self.filter.as_ref().is_some_and(|filter| stable.covers(filter.columns))
    }

    fn membership(&self, row: Option<&[Value]>) -> Membership {
        let Some(row) = row else { return Membership::No };
        if !self.key.iter().all(|(column, value)| !value.is_null() && row.get(*column) == Some(value)) {
            return Membership::No;
        }
        self.passes(row)
    }

    fn passes(&self, row: &[Value]) -> Membership {
        let Some(filter) = &self.filter else { return Membership::Yes };
        if row.len() < filter.width {
            return Membership::Fails; // The table has been redefined in between.
        }
        match eval::local_truth(&filter.compiled, row, &self.params) {
            Ok(Some(true)) => Membership::Yes,
            Ok(_) => Membership::No,
            Err(_) => Membership::Fails,
        }
    }
}

impl Probe {
    /// Whether a row has the key.
    pub fn matches(&self, row: Option<&[Value]>) -> bool {
        row.is_some_and(|row| self.columns.iter().zip(&self.key).all(|(&c, v)| row.get(c) == Some(v)))
    }

    /// Whether a written row has the key before or after.
    pub fn concerns(&self, write: &Write) -> bool {
        self.table == write.table && (self.matches(write.before.as_deref()) || self.matches(write.after.as_deref()))
    }

    /// Whether a write may take the key from a row, or give it to one, if only the columns in `stable` are certain. A
    /// probe without columns looks at every row.
    pub fn may_hit(&self, write: &Write, stable: ColumnSet) -> bool {
        let columns: ColumnSet = self.columns.iter().copied().collect();
        if self.table != write.table || !(self.columns.is_empty() || write.changed().meets(columns)) {
            return false;
        }
        let excluded = |row: Option<&[Value]>| {
            let Some(row) = row else { return true };
            self.columns.iter().zip(&self.key).any(|(&c, v)| stable.contains(c) && row.get(c) != Some(v))
        };
        !(excluded(write.before.as_deref()) && excluded(write.after.as_deref()))
    }
}

impl Write {
    /// The columns whose value differs; all of them for an insert or a delete.
    pub fn changed(&self) -> ColumnSet {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                (0..before.len().max(after.len())).filter(|&c| before.get(c) != after.get(c)).collect()
            }
            _ => ColumnSet::ALL,
        }
    }
}
