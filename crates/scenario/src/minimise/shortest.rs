//! The shortest counterexample, by search.

use std::ops::ControlFlow;

use isolde_explore::{Limits, Matching, Search, Strategy};
use isolde_sql::catalog::TableId;

use crate::check::{Checker, Finding};
use crate::file::Hashing;
use crate::system::ScenarioSystem;

/// States that all searches for one counterexample look at before we give up.
const STATES_MAX: u64 = 20_000;

/// Rows of set-up at which half of these are enough: properties may read them all in every state.
const ROWS_MANY: u64 = 20_000;

/// What to look for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The name of the property to be broken; `None` is any.
    pub(super) property: Option<&'a str>,
    /// How long the schedule may be.
    pub(super) steps_max: usize,
}

/// How many states may still be looked at.
pub(super) struct Budget {
    states_left: u64,
}

impl Budget {
    /// Depends on the scenario alone, so that what is found does too.
    pub(super) fn new(system: ScenarioSystem<'_>) -> Budget {
        let tables = system.scenario.database.committed();
        let rows: u64 = (0..tables.len()).map(|id| tables.table(TableId(id as u32)).len() as u64).sum();
        Budget { states_left: STATES_MAX * ROWS_MANY / (ROWS_MANY + rows) }
    }

    /// Whether no more states may be looked at.
    pub(super) fn is_spent(&self) -> bool {
        self.states_left == 0
    }

    /// A shortest schedule that breaks what is wanted, with the fewest switches among these; `None` if there is none, or if
    /// the budget did not suffice to know.
    pub(super) fn shortest(&mut self, system: ScenarioSystem<'_>, wanted: Wanted<'_>) -> Option<Finding> {
        // However states were recognised so far.
        let system = ScenarioSystem { hash: Hashing::default(), ..system };
        let limits =
            Limits { states_max: Some(self.states_left), depth_max: Some(wanted.steps_max), ..Limits::default() };
        let search = Search { strategy: Strategy::Shortest, matching: Matching::Digest, limits, ..Search::default() };
        let mut checker = Checker::new(system, |_: &_| ControlFlow::Continue(()));
        checker.wanted = wanted.property.map(String::from);
        let summary = search.run(&system, &mut checker);
        self.states_left = self.states_left.saturating_sub(summary.states_seen);
        checker.found
    }
}
