//! The file's `invariant` queries hold in every committed state, the first one included.

use super::{At, Property, Violation, refuted};
use crate::scenario::Scenario;

pub(super) struct Invariants;

impl Property for Invariants {
    fn names(&self, scenario: &Scenario) -> Vec<String> {
        scenario.invariants.iter().map(|check| format!("invariant {}", check.name)).collect()
    }

    fn at_state(&self, at: &At<'_>) -> Option<Violation> {
        // Where nothing was committed, the state before has been asked already.
        if at.event.is_some_and(|event| !event.published()) {
            return None;
        }
        let invariants = at.system.scenario.invariants.iter();
        invariants.filter_map(|check| Some((check, refuted(check, at.state)?))).next().map(|(check, how)| {
            let when = match at.event {
                None => "already after set-up".to_string(),
                Some(event) => format!("after {}'s commit", at.system.scenario.threads[event.thread].name),
            };
            Violation::new(format!("invariant {}", check.name), format!("{} {how} {when}.", check.name))
        })
    }
}
