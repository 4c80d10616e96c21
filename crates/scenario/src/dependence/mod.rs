//! Which steps commute: the relation that partial-order reduction stands on.
//!
//! Two steps of different threads are *independent* if swapping them, where they are neighbours, changes neither what each of
//! them does nor the state after both. What a step depends on and what it changes is in its footprints; a level looks at
//! them more or less closely.

use crate::system::Event;

/// How closely footprints are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// Everything that touches the database depends on everything else that does.
    #[default]
    Database,
}

impl Dependence {
    /// Every level.
    pub const ALL: [Dependence; 1] = [Dependence::Database];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Dependence::Database => "database",
        }
    }

    /// Whether the order of two neighbouring events of different threads may matter.
    pub fn dependent(self, first: &Event, second: &Event) -> bool {
        let _ = (first, second);
        true
    }
}
