//! The file's `final` queries hold when all threads have ended.

use super::{At, Property, Unclear, Violation, refuted};
use crate::backend::{Backend, When};
use crate::oracle::{Oracle, Watch};

pub(super) struct Finals;

impl<B: Backend> Property<B> for Finals {
    fn names(&self, system: B) -> Vec<String> {
        let checks = 0..system.checks(When::AtEnd);
        checks.map(|check| format!("final {}", system.check_name(When::AtEnd, check))).collect()
    }

    fn needs_all_threads(&self) -> bool {
        true
    }

    fn at_end(&self, at: &At<'_, B>, _: &mut Oracle<B>, _: Watch<'_>) -> Result<Vec<Violation>, Unclear> {
        if !at.system.absent().is_empty() {
            return Ok(Vec::new());
        }
        let violation =
            |(name, how)| Violation::new(format!("final {name}"), format!("{name} {how} when all threads have ended."));
        Ok(refuted(at, When::AtEnd)?.into_iter().map(violation).collect())
    }
}
