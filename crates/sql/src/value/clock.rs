//! Times of day: `time`, which is microseconds since midnight, and `timetz`, which adds an offset from UTC.

use std::cmp::Ordering;
use std::fmt;

use super::calendar::{SECOND, write_clock};

/// A `timetz`. Ordered by the moment it names in UTC, then by its zone; 24:00 is a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Microseconds since midnight, by the local clock.
    pub micros: i64,
    /// Seconds east of UTC.
    pub east: i32,
}

impl TimeTz {
    /// Microseconds since midnight in UTC; may lie outside a day.
    fn utc(self) -> i64 {
        self.micros - i64::from(self.east) * SECOND
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> Ordering {
        // Further west is larger, as PostgreSQL counts zones.
        self.utc().cmp(&other.utc()).then(other.east.cmp(&self.east))
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TimeTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_clock(f, self.micros.unsigned_abs())?;
        write_offset(f, self.east)
    }
}

/// `+02`, `-03:30`, `+01:23:45`
pub fn write_offset(f: &mut impl fmt::Write, east: i32) -> fmt::Result {
    let (sign, seconds) = (if east < 0 { '-' } else { '+' }, east.unsigned_abs());
    write!(f, "{sign}{:02}", seconds / 3600)?;
    if seconds % 3600 != 0 {
        write!(f, ":{:02}", seconds / 60 % 60)?;
    }
    if seconds % 60 != 0 {
        write!(f, ":{:02}", seconds % 60)?;
    }
    Ok(())
}
