//! What was observed of a run: who did what, and where two of them touched the same thing.

use std::collections::BTreeSet;
use std::fmt;

/// A run of concurrent units: what each did, and the conflicts between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Who took part.
    pub units: Vec<Unit>,
    /// What they did.
    pub ops: Vec<Op>,
    /// Where they met. Conflicts within one unit, or of operations that do not exist, are passed over.
    pub conflicts: Vec<Conflict>,
    /// Transactions that were rolled back. What they wrote never was; a conflict with them is passed over, unless
    /// another unit has read it.
    pub aborted: BTreeSet<usize>,
    /// Transactions that read from one snapshot, taken at their first statement (REPEATABLE READ and above).
    pub snapshots: BTreeSet<usize>,
    /// Columns of rows that end with the effect of every update: each was computed from the one before, or the value is
    /// also that at the end of a serial order with the same writers. No update of such a column is lost.
    pub kept: BTreeSet<(String, u64, String)>,
}

impl History {
    /// Adds a unit.
    pub fn unit(&mut self, name: impl Into<String>) -> UnitId {
        self.units.push(Unit { name: name.into() });
        UnitId(self.units.len() - 1)
    }

    /// Adds an operation.
    pub fn op(&mut self, op: Op) -> OpId {
        self.ops.push(op);
        OpId(self.ops.len() - 1)
    }

    /// The two operations of a conflict between different units; `None` if it is not one.
    pub(crate) fn ends(&self, conflict: &Conflict) -> Option<(&Op, &Op)> {
        let (from, to) = (self.ops.get(conflict.from.0)?, self.ops.get(conflict.to.0)?);
        let known = from.unit.0 < self.units.len() && to.unit.0 < self.units.len();
        (known && from.unit != to.unit).then_some((from, to))
    }

    /// Whether a unit changes nothing.
    pub(crate) fn is_read_only(&self, unit: UnitId) -> bool {
        let writes = |op: &Op| matches!(op.kind, OpKind::Insert | OpKind::Update | OpKind::Delete);
        !self.ops.iter().any(|op| op.unit == unit && writes(op))
    }

    /// Whether a unit read what a transaction wrote that was rolled back.
    pub(crate) fn is_aborted_read(&self, conflict: &Conflict) -> bool {
        conflict.kind == ConflictKind::WriteRead
            && self.ends(conflict).is_some_and(|(from, to)| {
                self.aborted.contains(&from.transaction) && !self.aborted.contains(&to.transaction)
            })
    }

    /// Whether one of the transactions of a conflict was rolled back.
    pub(crate) fn is_of_aborted(&self, conflict: &Conflict) -> bool {
        self.ends(conflict).is_some_and(|ends| [ends.0, ends.1].iter().any(|op| self.aborted.contains(&op.transaction)))
    }

    /// Which of its unit's transactions an operation belongs to, counted from 1.
    pub fn transaction_of_unit(&self, op: &Op) -> usize {
        let before = self.ops.iter().filter(|other| other.unit == op.unit && other.step <= op.step);
        before.map(|other| other.transaction).collect::<BTreeSet<_>>().len()
    }

    /// Whether the transaction that wrote was still open when the other operation, having waited, touched what it
    /// wrote.
    pub(crate) fn is_dirty(&self, conflict: &Conflict) -> bool {
        conflict.kind != ConflictKind::ReadWrite
            && self.ends(conflict).is_some_and(|(from, to)| {
                self.ops.iter().any(|op| op.transaction == from.transaction && op.step > to.through)
            })
    }

    /// Whether the overwritten values are lost: the column does not end with their effect. Unknown counts as lost.
    pub(crate) fn is_lost(&self, item: &Item) -> bool {
        let kept = |column: &String| self.kept.contains(&(item.table.clone(), item.id, column.clone()));
        item.columns.is_empty() || !item.columns.iter().all(kept)
    }
}

/// What must be atomic: a transaction, or a thread that runs several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As shown in the explanation.
    pub name: String,
}

/// The index of a unit in [`History::units`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub usize);

/// The index of an operation in [`History::ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub usize);

/// A statement that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Who executed it.
    pub unit: UnitId,
    /// The transaction it belongs to, by a number that no other transaction of the history has. A transaction counts as
    /// open until the last of its operations, so include its COMMIT.
    pub transaction: usize,
    /// Its position in the trace.
    pub step: usize,
    /// The position in the trace at which it was complete: later than `step` if it waited.
    pub through: usize,
    /// What it does.
    pub kind: OpKind,
    /// Its text.
    pub statement: String,
    /// The file it came from, if that is not the one that the history is about.
    pub file: Option<String>,
    /// Its line in that file.
    pub line: Option<u32>,
    /// It searched, and found nothing.
    pub found_none: bool,
}

impl Op {
    /// Where it stands: `line 6`, `schema.sql line 6`.
    pub fn place(&self) -> Option<String> {
        let line = self.line?;
        Some(match &self.file {
            None => format!("line {line}"),
            Some(file) => format!("{file} line {line}"),
        })
    }
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// Only reads.
    Select,
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
    /// Ends a transaction successfully.
    Commit,
    /// Anything else.
    Other,
}

impl OpKind {
    /// Its word in SQL.
    pub fn verb(self) -> &'static str {
        match self {
            OpKind::Select => "SELECT",
            OpKind::Insert => "INSERT",
            OpKind::Update => "UPDATE",
            OpKind::Delete => "DELETE",
            OpKind::Commit => "COMMIT",
            OpKind::Other => "statement",
        }
    }
}

/// Two operations of different units that touch the same item, at least one of them writing. The unit of `from` must
/// come before the unit of `to` in any serial order that explains the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The operation that must come first.
    pub from: OpId,
    /// The operation that must come second.
    pub to: OpId,
    /// Which of them reads and which writes.
    pub kind: ConflictKind,
    /// What both touch.
    pub item: Item,
    /// The read met the write through its condition (a row that appeared, disappeared or came to match otherwise)
    /// rather than by reading the row itself.
    pub predicate: bool,
    /// What the write, or the later of two, did to the row.
    pub change: Change,
    /// The read is a check of a unique or foreign key, which looks at the newest committed rows and not at a snapshot.
    pub key: bool,
    /// No other version of the row came between the two writes, or between the write and the read that saw it.
    pub direct: bool,
}

/// What a write did to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is new.
    Added,
    /// It has other values.
    Changed,
    /// It is gone.
    Removed,
}

/// Which operation of a conflict reads and which writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictKind {
    /// `to` replaced what `from` had written.
    WriteWrite,
    /// `to` read what `from` had written.
    WriteRead,
    /// `from` read what was there before `to` wrote: an anti-dependency.
    ReadWrite,
}

/// A row, or some columns of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    /// The table's name.
    pub table: String,
    /// Tells it from the other rows of its table, whatever its values are.
    pub id: u64,
    /// The row, told by its key: `id = 1`.
    pub row: String,
    /// The columns in question; none if it is the row as a whole.
    pub columns: Vec<String>,
}

impl Item {
    /// Whether both are in the same row.
    pub fn same_row(&self, other: &Item) -> bool {
        (&self.table, self.id) == (&other.table, other.id)
    }

    /// Whether both are in the same row and share a column.
    pub fn overlaps(&self, other: &Item) -> bool {
        let whole = self.columns.is_empty() || other.columns.is_empty();
        self.same_row(other) && (whole || self.columns.iter().any(|column| other.columns.contains(column)))
    }
}

/// `balance of account id = 1`; many columns are not listed.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COLUMNS_MAX: usize = 3;
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        if (1..=COLUMNS_MAX).contains(&columns.len()) {
            write!(f, "{} of ", crate::words::list(&columns))?;
        }
        write!(f, "{} {}", self.table, self.row)
    }
}
