//! Days, dates and times of day: the proleptic Gregorian calendar, counted from 2000-01-01 as PostgreSQL does.
//!
//! A year before 1 is written `BC`; year 0 is 1 BC. To find a date from a day number, years are taken to begin in
//! March, so that the leap day is the last of its year, and counted in cycles of 400 years, which all have 146 097
//! days.

use std::fmt;

use crate::error::{SqlError, SqlState};

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub const DAY: i64 = 24 * HOUR;

/// Days from 1970-01-01, where Unix begins to count, to 2000-01-01, where we do.
pub const UNIX_EPOCH_DAYS: i64 = 10_957;

const CYCLE_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 2000-01-01.
const EPOCH_FROM_MARCH_0: i64 = 730_425;

/// A date by its parts. Year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
}

impl Civil {
    /// The date of a day number.
    pub fn from_days(days: i64) -> Civil {
        let days = days + EPOCH_FROM_MARCH_0;
        let (cycle, of_cycle) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
        // The leap days that 4-, 100- and 400-year rules put before this day of the cycle, taken out.
        let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
        let of_year = of_cycle - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let (month, carry) = if from_march < 10 { (from_march + 3, 0) } else { (from_march - 9, 1) };
        Civil { year: cycle * 400 + year + carry, month, day }
    }

    /// The day number of a date.
    pub fn days(self) -> i64 {
        let (year, from_march) =
            if self.month > 2 { (self.year, self.month - 3) } else { (self.year - 1, self.month + 9) };
        let (cycle, of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * from_march + 2) / 5 + self.day - 1;
        cycle * CYCLE_DAYS + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - EPOCH_FROM_MARCH_0
    }

    /// The parts name a date that exists.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month) && (1..=month_length(self.year, self.month)).contains(&self.day)
    }
}

impl fmt::Display for Civil {
    /// Without the `BC`, which follows the time of day.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let year = if self.year > 0 { self.year } else { 1 - self.year };
        write!(f, "{year:04}-{:02}-{:02}", self.month, self.day)
    }
}

/// Number of days of a month.
pub fn month_length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A timestamp's day number and its microseconds of that day.
pub fn split(timestamp: i64) -> (i64, i64) {
    (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY))
}

/// The first timestamp: 4714-11-24 BC.
const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// The first that is too late: 294277-01-01.
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;
/// The first date, as a day number.
const DATE_MIN: i64 = -2_451_545;
/// The first that is too late: 5874898-01-01.
const DATE_END: i64 = 2_145_031_949;

/// A timestamp within PostgreSQL's range.
pub fn check_timestamp(micros: i128) -> Result<i64, SqlError> {
    match i64::try_from(micros) {
        Ok(t) if (TIMESTAMP_MIN..TIMESTAMP_END).contains(&t) => Ok(t),
        _ => Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")),
    }
}

/// A date within PostgreSQL's range.
pub fn check_date(days: i64) -> Result<i32, SqlError> {
    match i32::try_from(days) {
        Ok(d) if (DATE_MIN..DATE_END).contains(&days) => Ok(d),
        _ => Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range")),
    }
}

/// `04:05:06.5`: hours may be many, zeros at the end of the fraction are not written.
pub(super) fn write_clock(f: &mut impl fmt::Write, micros: u64) -> fmt::Result {
    let seconds = micros / SECOND as u64;
    write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    match micros % SECOND as u64 {
        0 => Ok(()),
        fraction => f.write_str(format!(".{fraction:06}").trim_end_matches('0')),
    }
}

/// `2024-01-02`
pub(super) fn write_date(f: &mut impl fmt::Write, days: i32) -> fmt::Result {
    match days {
        i32::MAX => f.write_str("infinity"),
        i32::MIN => f.write_str("-infinity"),
        _ => {
            let date = Civil::from_days(days.into());
            write!(f, "{date}{}", era(date))
        }
    }
}

/// `2024-01-02 03:04:05.5`, then `zone`.
pub(super) fn write_timestamp(f: &mut impl fmt::Write, micros: i64, zone: &str) -> fmt::Result {
    match micros {
        i64::MAX => f.write_str("infinity"),
        i64::MIN => f.write_str("-infinity"),
        _ => {
            let (days, time) = split(micros);
            let date = Civil::from_days(days);
            write!(f, "{date} ")?;
            write_clock(f, time.unsigned_abs())?;
            write!(f, "{zone}{}", era(date))
        }
    }
}

fn era(date: Civil) -> &'static str {
    if date.year > 0 { "" } else { " BC" }
}
