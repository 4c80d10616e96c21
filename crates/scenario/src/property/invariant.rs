//! The file's `invariant` queries hold in every committed state, the first one included.

use super::{At, Property, Violation, refuted};
use crate::backend::{Backend, When};
use crate::trouble::Trouble;

pub(super) struct Invariants;

impl<B: Backend> Property<B> for Invariants {
    fn names(&self, system: B) -> Vec<String> {
        let checks = 0..system.checks(When::Always);
        checks.map(|check| format!("invariant {}", system.check_name(When::Always, check))).collect()
    }

    fn at_state(&self, at: &At<'_, B>) -> Result<Vec<Violation>, Trouble> {
        // Where nothing was committed, the state before has been asked already.
        if at.event.is_some_and(|event| !at.system.published(event)) {
            return Ok(Vec::new());
        }
        let when = match at.event {
            None => "already after set-up".to_string(),
            Some(event) if at.system.is_passing(event) => "because time has passed".to_string(),
            Some(event) => format!("after {}'s commit", at.system.member(at.system.actor(event)).name),
        };
        let violation = |(name, how)| Violation::new(format!("invariant {name}"), format!("{name} {how} {when}."));
        Ok(refuted(at, When::Always)?.into_iter().map(violation).collect())
    }
}
