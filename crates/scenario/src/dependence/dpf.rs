//! Database PathFinder's dependence, as its authors printed it (M. Gligoric, R. Majumdar: Model Checking Database
//! Applications, TACAS 2013, Figure 1).
//!
//! ```text
//!            relation   attribute    record
//!   S  S     never      never        never
//!   S  I     always     always       the new row satisfies ψS
//!   S  D     always     always       a deleted row satisfies ψS
//!   S  U     always     A ∈ shown    σψS(R) ≠ σψS(R after U)
//!   I  I     always     always       same key
//!   I  D     always     always       the new row satisfies ψD
//!   I  U     always     always       the new row satisfies ψU, or U makes its key
//!   D  D     never      never        never
//!   D  U     always     always       σψD(R) ≠ σψD(R after U), or σψU(R) ≠ σψU(R after D)
//!   U  U     always     A1 = A2      σψ1(R) ≠ σψ1(R after U2), or the reverse, or both make the same key
//! ```
//!
//! Operations on different tables never depend on each other, and *cell* is attribute and record together. It is here
//! to be compared with, not to be trusted: the number of rows that DELETE reports depends on the DELETEs before it, a
//! condition depends on columns that are not shown, a foreign key makes operations on two tables depend on each other.
//! Where the figure is silent we are careful: a statement that failed is compared by its table.

use super::Dependence;
use super::operation::{Kind, Operation};

/// How closely operations are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    Relation,
    Attribute,
    Record,
    Cell,
}

impl Granularity {
    pub(super) fn of(dependence: Dependence) -> Option<Granularity> {
        match dependence {
            Dependence::DpfRelation => Some(Granularity::Relation),
            Dependence::DpfAttribute => Some(Granularity::Attribute),
            Dependence::DpfRecord => Some(Granularity::Record),
            Dependence::DpfCell => Some(Granularity::Cell),
            _ => None,
        }
    }

    /// What a search misses that trusts it.
    pub(super) fn overlooks(self) -> &'static str {
        match self {
            Granularity::Relation | Granularity::Record => {
                "it takes any two DELETEs to commute, though each reports how many rows it has deleted, and ignores foreign keys"
            }
            Granularity::Attribute | Granularity::Cell => {
                "it ignores the columns of conditions, takes any two DELETEs to commute, though each reports how many rows it \
                 has deleted, and ignores foreign keys"
            }
        }
    }

    /// Whether two operations on one table depend on each other; the first is of no later kind.
    pub(super) fn dependent(self, a: &Operation<'_>, b: &Operation<'_>) -> bool {
        match self {
            Granularity::Relation => relation(a, b),
            Granularity::Attribute => attribute(a, b),
            Granularity::Record => record(a, b),
            Granularity::Cell => attribute(a, b) && record(a, b),
        }
    }
}

fn relation(a: &Operation<'_>, b: &Operation<'_>) -> bool {
    !matches!((a.kind, b.kind), (Kind::Select, Kind::Select) | (Kind::Delete, Kind::Delete))
}

fn attribute(a: &Operation<'_>, b: &Operation<'_>) -> bool {
    match (a.kind, b.kind) {
        (Kind::Select, Kind::Update) => a.shown().meets(b.set()),
        (Kind::Update, Kind::Update) => a.set().meets(b.set()),
        _ => relation(a, b),
    }
}

fn record(a: &Operation<'_>, b: &Operation<'_>) -> bool {
    if a.failed() || b.failed() {
        return relation(a, b);
    }
    match (a.kind, b.kind) {
        (Kind::Select, Kind::Select) | (Kind::Delete, Kind::Delete) => false,
        (Kind::Select, _) => a.is_changed_by(b),
        (Kind::Insert, Kind::Insert) => a.shares_key(b),
        (Kind::Insert, Kind::Delete) => b.is_changed_by(a),
        (Kind::Insert, _) => b.is_changed_by(a) || a.shares_key(b),
        (Kind::Delete, _) => a.is_changed_by(b) || b.is_changed_by(a),
        (Kind::Update, _) => a.is_changed_by(b) || b.is_changed_by(a) || a.shares_key(b),
    }
}
