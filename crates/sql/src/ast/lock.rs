//! `LOCK TABLE` and the eight modes of table locks.

use std::fmt;

use super::QualifiedName;

/// A mode of table locks, weakest first; see the engine's lock manager for which exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum TableLockMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

impl TableLockMode {
    /// Every mode, weakest first.
    pub const ALL: [TableLockMode; 8] = [
        TableLockMode::AccessShare,
        TableLockMode::RowShare,
        TableLockMode::RowExclusive,
        TableLockMode::ShareUpdateExclusive,
        TableLockMode::Share,
        TableLockMode::ShareRowExclusive,
        TableLockMode::Exclusive,
        TableLockMode::AccessExclusive,
    ];
}

impl fmt::Display for TableLockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableLockMode::AccessShare => "ACCESS SHARE",
            TableLockMode::RowShare => "ROW SHARE",
            TableLockMode::RowExclusive => "ROW EXCLUSIVE",
            TableLockMode::ShareUpdateExclusive => "SHARE UPDATE EXCLUSIVE",
            TableLockMode::Share => "SHARE",
            TableLockMode::ShareRowExclusive => "SHARE ROW EXCLUSIVE",
            TableLockMode::Exclusive => "EXCLUSIVE",
            TableLockMode::AccessExclusive => "ACCESS EXCLUSIVE",
        })
    }
}

/// `LOCK TABLE t, u IN SHARE MODE NOWAIT`
#[derive(Clone, Debug)]
pub struct LockTable {
    /// The tables, locked in this order.
    pub tables: Vec<QualifiedName>,
    /// How; ACCESS EXCLUSIVE if nothing was said.
    pub mode: TableLockMode,
    /// `NOWAIT`
    pub nowait: bool,
}
