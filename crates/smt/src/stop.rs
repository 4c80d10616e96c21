//! How somebody else ends the questions to a solver.

use std::sync::{Arc, OnceLock};

/// Ends all questions that listen to it, once there is a reason. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<OnceLock<String>>);

impl Stop {
    /// Nothing is asked any more, for this reason; the first one counts.
    pub fn because(&self, reason: &str) {
        self.0.get_or_init(|| reason.to_string());
    }

    /// Why nothing is asked any more.
    pub fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}
