//! Whether a change helps: the whole question again, over all interleavings of the changed program.
//!
//! *Holds* is said only of a search that saw everything, in which no property is broken, none was skipped, and every
//! thread that does its work when it is alone still does it at some end. A change after which threads fail, wait or are
//! aborted for ever keeps every promise and helps nobody.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Completeness, Limit, Schedule, System, replay};
use isolde_report::{FixCost, FixVerdict, Verdict};

use crate::check::{self, OnProgress};
use crate::checker::Finding;
use crate::client::Status;
use crate::embedded_check::without_trouble;
use crate::file::FileOptions;
use crate::names;
use crate::property::{PropertyId, Violation};
use crate::scenario::Scenario;
use crate::system::{Choice, ScenarioSystem, State};
use crate::trace::Run;

/// Statements that a thread may run when it is alone.
const STEPS_MAX: usize = 10_000;

/// What a search said about a changed program.
pub(super) struct Judged {
    pub(super) verdict: FixVerdict,
    pub(super) cost: Option<FixCost>,
    /// Threads that are aborted and have no retry left: at some end, or where it goes wrong.
    pub(super) gave_up: BTreeSet<usize>,
    /// It holds by effects alone.
    pub(super) lenient: bool,
    /// What is broken, if something is.
    pub(super) found: Option<Found>,
    pub(super) states: u64,
    /// The caller wants no more.
    pub(super) stopped: bool,
}

/// A violation and a run that shows it.
pub(super) struct Found {
    pub(super) property: PropertyId,
    pub(super) violation: Violation,
    pub(super) schedule: Schedule<Choice>,
}

/// What a changed program is held to.
pub(super) struct Standard {
    /// Threads that succeed when they are alone.
    pub(super) must_succeed: BTreeSet<usize>,
    /// Properties that were skipped in the first place.
    pub(super) skipped: BTreeSet<String>,
}

impl Standard {
    /// What the program as it was lives up to.
    pub(super) fn of(system: ScenarioSystem<'_>, skipped: BTreeSet<String>) -> Standard {
        let succeeds = |thread: &usize| {
            let mut state = system.initial();
            system.run_alone(&mut state, *thread, usize::MAX, STEPS_MAX);
            state.clients[*thread].status == Status::Done
        };
        Standard { must_succeed: (0..system.scenario.threads.len()).filter(succeeds).collect(), skipped }
    }

    /// Searches a changed program.
    pub(super) fn judge(&self, scenario: &Scenario, settings: &FileOptions, progress: OnProgress<'_>) -> Judged {
        let scenario = scenario.clone().with_options(settings.clone());
        let system = ScenarioSystem::new(&scenario, settings);
        let searched = without_trouble(check::searched(system, settings, progress, None, None));
        let summary = &searched.summary;
        let effort = &searched.effort;
        let cost = FixCost {
            steps: summary.transitions,
            waits: effort.waits,
            aborts: effort.aborts,
            ends: summary.leaves,
            ends_aborted: effort.ends_aborted,
        };
        let mut gave_up = effort.aborted.clone();
        let verdict = match (searched.verdict(), &searched.found) {
            (_, Some(finding)) => {
                let run = without_trouble(check::follow(system, &finding.schedule));
                gave_up = aborted(&run.end);
                FixVerdict::Fails(named(finding, &run))
            }
            _ if summary.completeness == Completeness::Stopped(Limit::States) => {
                FixVerdict::Undecided(format!("not within {} states", summary.states_seen))
            }
            (Verdict::Inconclusive(reason), _) => FixVerdict::Undecided(reason),
            (Verdict::Holds | Verdict::Violated, _) => {
                self.without_violation(&scenario, &effort.succeed, &searched.skipped)
            }
        };
        Judged {
            cost: (verdict == FixVerdict::Holds).then_some(cost),
            verdict,
            gave_up,
            lenient: effort.lenient,
            states: summary.states_seen,
            stopped: matches!(
                summary.completeness,
                Completeness::Stopped(Limit::Time | Limit::Memory | Limit::Interrupt)
            ),
            found: searched.found.map(|Finding { property, violation, schedule, .. }| Found {
                property,
                violation,
                schedule,
            }),
        }
    }

    fn without_violation(
        &self,
        scenario: &Scenario,
        succeed: &BTreeSet<usize>,
        skipped: &BTreeSet<String>,
    ) -> FixVerdict {
        let never: Vec<&str> =
            self.must_succeed.difference(succeed).filter_map(|&t| Some(&*scenario.threads.get(t)?.name)).collect();
        let unknown: Vec<&String> = skipped.difference(&self.skipped).collect();
        match (never.as_slice(), unknown.as_slice()) {
            ([], []) => FixVerdict::Holds,
            ([], names) => FixVerdict::Undecided(format!("{} is not checked everywhere", names::listed(names))),
            (names, _) => FixVerdict::Fails(format!("{} never succeeds", names::listed(names))),
        }
    }
}

/// `invariant someone_on_call (write skew)`
fn named(finding: &Finding, run: &Run<'_>) -> String {
    match without_trouble(finding.property.on().explain(run)).anomaly {
        Some(anomaly) => format!("{} ({anomaly})", finding.violation.name),
        None => finding.violation.name.clone(),
    }
}

fn aborted(state: &State) -> BTreeSet<usize> {
    let clients = state.clients.iter().enumerate();
    clients.filter(|(_, client)| matches!(client.status, Status::Aborted(_))).map(|(thread, _)| thread).collect()
}

/// The run that a report tells of, if this program has it.
pub(super) fn reported(system: ScenarioSystem<'_>, schedule: &str) -> Option<Schedule<Choice>> {
    let schedule = Schedule::parse(&system, schedule).ok()?;
    let mut look =
        isolde_explore::on_leaf(|_: &isolde_explore::Visit<'_, ScenarioSystem<'_>>| ControlFlow::Continue(()));
    replay(&system, &schedule, &mut look).is_ok().then_some(schedule)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::file::no_includes;

    fn judged(text: &str, states_max: u64) -> FixVerdict {
        let scenario = Scenario::parse("t.sql", text, &mut no_includes).unwrap();
        let standard = Standard { must_succeed: BTreeSet::from([0, 1]), skipped: BTreeSet::new() };
        let settings = FileOptions { states_max: Some(states_max), ..FileOptions::default() };
        standard.judge(&scenario, &settings, &mut |_| ControlFlow::Continue(())).verdict
    }

    const FAILS: &str = "CREATE TABLE t (a int UNIQUE);\nINSERT INTO t VALUES (1);\n--@ thread a\nSELECT 1;\n--@ thread b\n\
                         --@ expect error 23505\nINSERT INTO t VALUES (1);\n";

    #[test]
    fn who_can_never_succeed_is_not_helped() {
        assert_eq!(judged(FAILS, 100), FixVerdict::Fails("b never succeeds".into()));
        assert_eq!(
            judged(&FAILS.replace("b\n", "b\nSELECT 2;\n").replace("(1);\n--@", "(2);\n--@"), 100),
            FixVerdict::Holds
        );
    }

    #[test]
    fn what_was_not_searched_is_not_decided() {
        assert_eq!(judged(FAILS, 1), FixVerdict::Undecided("not within 1 states".into()));
    }
}
