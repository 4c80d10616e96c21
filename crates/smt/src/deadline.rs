//! How long questions may take together. Only this crate looks at a clock, so that its callers need not.

use std::time::{Duration, Instant};

/// A moment after which nothing more is asked.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// The moment so long from now.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now() + time)
    }

    /// Whether it is over.
    pub fn is_over(self) -> bool {
        Instant::now() > self.0
    }
}
