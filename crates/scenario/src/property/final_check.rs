//! The file's `final` queries hold when all threads have ended.

use super::{At, Doubt, Property, Violation, refuted};
use crate::oracle::Oracle;
use crate::scenario::Scenario;

pub(super) struct Finals;

impl Property for Finals {
    fn names(&self, scenario: &Scenario) -> Vec<String> {
        scenario.finals.iter().map(|check| format!("final {}", check.name)).collect()
    }

    fn needs_all_threads(&self) -> bool {
        true
    }

    fn at_end(&self, at: &At<'_>, _: &mut Oracle<'_>) -> Result<Option<Violation>, Doubt> {
        if !at.system.absent.is_empty() {
            return Ok(None);
        }
        let finals = at.system.scenario.finals.iter();
        Ok(finals.filter_map(|check| Some((check, refuted(check, at.state)?))).next().map(|(check, how)| {
            let headline = format!("{} {how} when all threads have ended.", check.name);
            Violation::new(format!("final {}", check.name), headline)
        }))
    }
}
