//! Which steps commute: the relation that partial-order reduction stands on.
//!
//! Two steps of different threads are *independent* if swapping them, where they are neighbours, changes neither what each of
//! them does nor the state after both. What a step depends on and what it changes is in its footprints; a level looks at
//! them more or less closely.

mod dpf;
mod epor;
mod operation;

use crate::system::Event;

/// How closely footprints are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// Everything that touches the database depends on everything else that does.
    #[default]
    Database,
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
    pub const ALL: [Dependence; 6] = [
        Dependence::Database,
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
            Dependence::DpfRelation => "dpf-relation",
            Dependence::DpfAttribute => "dpf-attribute",
            Dependence::DpfRecord => "dpf-record",
            Dependence::DpfCell => "dpf-cell",
            Dependence::Epor => "epor",
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
        match (self, dpf::Granularity::of(self)) {
            (_, Some(granularity)) => operation::any_pair(first, second, |a, b| granularity.dependent(a, b)),
            (Dependence::Epor, _) => operation::any_pair(first, second, epor::dependent),
            _ => true,
        }
    }
}
