//! Which steps commute: the relation that partial-order reduction stands on.
//!
//! Two steps of different threads are *independent* if swapping them, where they are neighbours, changes neither what
//! each of them does nor the state after both. What a step depends on and what it changes is in its footprints; a level
//! looks at them more or less closely.

mod conflict;
pub(crate) mod constant;
mod dpf;
mod epor;
mod operation;
pub(crate) mod order;
pub(crate) mod reach;
mod serial;
mod sound;
mod touch;

pub(crate) use touch::Touch;

use sound::Precision;

use crate::system::Event;

/// How closely footprints are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// Everything that changes or locks something in the database depends on everything else that touches it.
    Database,
    /// The same, in one table.
    Relation,
    /// The same, if columns meet: those that are changed and those that matter.
    Attribute,
    /// The same, if rows meet: those that are changed and those that are looked for.
    Record,
    /// If rows and columns meet.
    #[default]
    Cell,
    /// The same, but two statements that only add something to a number commute. In exchange, a condition on that
    /// number depends on both, whatever they have made of it.
    Effect,
    /// Figure 1 of the DPF paper, as printed: tables. Unsound.
    DpfRelation,
    /// Figure 1 of the DPF paper, as printed: columns selected and set. Unsound.
    DpfAttribute,
    /// Figure 1 of the DPF paper, as printed: rows. Unsound.
    DpfRecord,
    /// Figure 1 of the DPF paper, as printed: rows and columns. Unsound.
    DpfCell,
    /// Table II of the EPOR paper, as printed: row identifiers before and after. Unsound.
    Epor,
}

impl Dependence {
    /// Every level.
    pub const ALL: [Dependence; 11] = [
        Dependence::Database,
        Dependence::Relation,
        Dependence::Attribute,
        Dependence::Record,
        Dependence::Cell,
        Dependence::Effect,
        Dependence::DpfRelation,
        Dependence::DpfAttribute,
        Dependence::DpfRecord,
        Dependence::DpfCell,
        Dependence::Epor,
    ];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Dependence::Database => "database",
            Dependence::Relation => "relation",
            Dependence::Attribute => "attribute",
            Dependence::Record => "record",
            Dependence::Cell => "cell",
            Dependence::Effect => "effect",
            Dependence::DpfRelation => "dpf-relation",
            Dependence::DpfAttribute => "dpf-attribute",
            Dependence::DpfRecord => "dpf-record",
            Dependence::DpfCell => "dpf-cell",
            Dependence::Epor => "epor",
        }
    }

    /// When two steps depend on each other, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Dependence::Database => "One changes or locks something, and the other touches anything",
            Dependence::Relation => "The same in one table",
            Dependence::Attribute => "The same, if columns meet: those changed and those that matter",
            Dependence::Record => "The same, if rows meet: those changed and those looked for",
            Dependence::Cell => "If rows and columns meet (default)",
            Dependence::Effect => "The same, but two sums (SET n = n + 1) commute",
            Dependence::DpfRelation => "Database PathFinder, Figure 1: tables; never says \"holds\"",
            Dependence::DpfAttribute => "Database PathFinder, Figure 1: columns; never says \"holds\"",
            Dependence::DpfRecord => "Database PathFinder, Figure 1: rows; never says \"holds\"",
            Dependence::DpfCell => "Database PathFinder, Figure 1: rows and columns; never says \"holds\"",
            Dependence::Epor => "Effective POR, Table II: row identifiers; never says \"holds\"",
        }
    }

    /// What a relation from a paper overlooks, if it overlooks something: a search that trusts it can miss outcomes.
    pub fn unsound(self) -> Option<&'static str> {
        dpf::Granularity::of(self)
            .map(dpf::Granularity::overlooks)
            .or((self == Dependence::Epor).then_some(epor::OVERLOOKS))
    }

    /// Whether the order of two neighbouring events of different threads may matter.
    pub fn dependent(self, first: &Event, second: &Event) -> bool {
        let precision = |rows, columns| sound::dependent(first, second, Precision { rows, columns, sums: false });
        match self {
            Dependence::Database => sound::touching(first, second),
            Dependence::Relation => precision(false, false),
            Dependence::Attribute => precision(false, true),
            Dependence::Record => precision(true, false),
            Dependence::Cell => precision(true, true),
            Dependence::Effect => sound::dependent(first, second, Precision { rows: true, columns: true, sums: true }),
            Dependence::Epor => operation::any_pair(first, second, epor::dependent),
            Dependence::DpfRelation | Dependence::DpfAttribute | Dependence::DpfRecord | Dependence::DpfCell => {
                let granularity = dpf::Granularity::of(self);
                operation::any_pair(first, second, |a, b| granularity.is_none_or(|g| g.dependent(a, b)))
            }
        }
    }
}
