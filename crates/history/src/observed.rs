//! What was observed of a run: who did what, and where two of them touched the same thing.

/// A run of concurrent units: what each did, and the conflicts between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Who took part.
    pub units: Vec<Unit>,
    /// What they did.
    pub ops: Vec<Op>,
    /// Where they met. Conflicts within one unit, or of operations that do not exist, are passed over.
    pub conflicts: Vec<Conflict>,
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

    /// Whether the transaction that wrote was still open when the other operation touched what it wrote.
    pub(crate) fn is_dirty(&self, conflict: &Conflict) -> bool {
        conflict.kind != ConflictKind::ReadWrite
            && self.ends(conflict).is_some_and(|(from, to)| {
                self.ops.iter().any(|op| op.transaction == from.transaction && op.step > to.step)
            })
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
    /// What it does.
    pub kind: OpKind,
    /// Its text.
    pub statement: String,
    /// Its line in the file it came from.
    pub line: Option<u32>,
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
    /// The read met the write through its condition (a row that appeared, disappeared or came to match otherwise) rather
    /// than by reading the row itself.
    pub predicate: bool,
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
    /// The row, told by its key: `id = 1`.
    pub row: String,
    /// The columns in question; none if it is the row as a whole.
    pub columns: Vec<String>,
}

impl Item {
    /// Whether both are in the same row.
    pub fn same_row(&self, other: &Item) -> bool {
        (&self.table, &self.row) == (&other.table, &other.row)
    }

    /// Whether both are in the same row and share a column.
    pub fn overlaps(&self, other: &Item) -> bool {
        let whole = self.columns.is_empty() || other.columns.is_empty();
        self.same_row(other) && (whole || self.columns.iter().any(|column| other.columns.contains(column)))
    }
}
