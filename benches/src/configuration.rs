//! The ways to search that the papers compare, and ours.
//!
//! Both papers search depth first, recognise states they have seen, and differ in what they take to commute. So *naive*
//! is a depth-first search that matches states; a relation of a paper is the same search, reduced by that relation. The
//! papers count states. A search by runs matches no states and counts executions; there one relation is better than
//! another by what it is, not by what is stored.

use std::time::Duration;

use isolde_explore::{Matching, Reduction, Restore, Search, Strategy};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{FileOptions, Granularity, Hashing};
use isolde_scenario::{Scenario, ScenarioSystem};

use crate::measure::{Measured, measure, measure_jobs};

/// One way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Which runs or states are explored.
    pub way: Way,
    /// What is taken to commute.
    pub dependence: Dependence,
    /// How states are recognised.
    pub hash: Hashing,
    /// How the search comes back to a state; searches by runs keep clones.
    pub restore: Restore,
}

/// Which runs or states are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Every interleaving, one by one.
    EveryRun,
    /// Every state once.
    EveryState,
    /// States are matched, and from each only what is needed is tried.
    States,
    /// One run of each class, by Source-DPOR: may begin some in vain.
    Runs,
    /// Exactly one run of each class.
    OptimalRuns,
}

impl Configuration {
    /// Every state.
    pub const NAIVE: Configuration = Configuration::new(Way::EveryState, Dependence::Database);

    /// Every interleaving: what there is without matching states and without reduction.
    pub const EVERY_RUN: Configuration = Configuration::new(Way::EveryRun, Dependence::Database);

    /// What `isolde explore` does: one run of each class, by our relation.
    pub fn ours() -> Configuration {
        Configuration::new(Way::OptimalRuns, ours())
    }

    /// A way and a relation; states are recognised by the digest that is kept up to date, and kept as clones.
    pub const fn new(way: Way, dependence: Dependence) -> Configuration {
        Configuration { way, dependence, hash: Hashing::Incremental, restore: Restore::Snapshot }
    }

    /// Searches a scenario until it is done or the time is up.
    pub fn measure(self, scenario: &Scenario, time_max: Duration) -> Measured {
        measure(&self.system(scenario), &self.search(), time_max)
    }

    /// The same with several workers, by the clock on the wall. Only a search by [optimal runs](Way::OptimalRuns) has
    /// them.
    pub fn measure_jobs(self, scenario: &Scenario, jobs: usize, time_max: Duration) -> Measured {
        measure_jobs(&self.system(scenario), &self.search(), jobs, time_max)
    }

    fn system(self, scenario: &Scenario) -> ScenarioSystem<'_> {
        let (dependence, hash) = (Some(self.dependence), Some(self.hash));
        // The papers count a lone statement and its commit as one step.
        let granularity = scenario.options().granularity.or(Some(Granularity::Whole));
        let settings = FileOptions { dependence, hash, granularity, ..scenario.options().clone() };
        ScenarioSystem::new(scenario, &settings)
    }

    fn search(self) -> Search {
        let (strategy, matching) = match self.way {
            Way::EveryRun => (Strategy::Depth, Matching::Off),
            Way::EveryState => (Strategy::Depth, Matching::Digest),
            Way::States => (Strategy::Reduced, Matching::Digest),
            Way::Runs => (Strategy::Dpor(Reduction::Source), Matching::Off),
            Way::OptimalRuns => (Strategy::Dpor(Reduction::Optimal), Matching::Off),
        };
        Search { strategy, matching, restore: self.restore, progress_every: 64, ..Search::default() }
    }
}

/// Our relation: the one that `isolde explore` uses unless told otherwise.
pub fn ours() -> Dependence {
    Dependence::default()
}
