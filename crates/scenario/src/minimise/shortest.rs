//! The shortest counterexample, by search.

use isolde_explore::{Limits, Matching, Search, Strategy};

use crate::backend::Backend;
use crate::checker::{Checker, Finding};
use crate::findings::Likeness;

/// What to look for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The name of the property to be broken; `None` is any.
    pub(super) property: Option<&'a str>,
    /// What the finding must be like, if not just any one of the property will do.
    pub(super) like: Option<&'a Likeness>,
    /// How long the schedule may be.
    pub(super) steps_max: usize,
}

/// How many states may still be looked at.
pub(super) struct Budget {
    states_left: u64,
}

impl Budget {
    /// As many as the back-end grants.
    pub(super) fn new<B: Backend>(system: B) -> Budget {
        Budget { states_left: system.capabilities().states_max }
    }

    /// Whether no more states may be looked at.
    pub(super) fn is_spent(&self) -> bool {
        self.states_left == 0
    }

    /// A shortest schedule that breaks what is wanted, with the fewest switches among these; `None` if there is none,
    /// or if the budget did not suffice to know.
    pub(super) fn shortest<B: Backend>(&mut self, system: B, wanted: Wanted<'_>) -> Option<Finding> {
        let system = system.comparing_states();
        let limits =
            Limits { states_max: Some(self.states_left), depth_max: Some(wanted.steps_max), ..Limits::default() };
        let search = Search { strategy: Strategy::Shortest, matching: Matching::Digest, limits, ..Search::default() };
        let mut checker = Checker::new(system);
        checker.wanted = wanted.property.map(String::from);
        checker.like = wanted.like.cloned();
        let summary = search.run(&system, &mut checker);
        self.states_left = self.states_left.saturating_sub(summary.states_seen);
        checker.found
    }
}
