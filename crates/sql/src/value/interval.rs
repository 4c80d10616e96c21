//! Intervals: months, days and microseconds, which do not convert into each other exactly.
//!
//! To compare them PostgreSQL takes a month for 30 days and a day for 24 hours. Multiplying moves fractions downwards
//! by the same measure: half a month is 15 days.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::calendar::{DAY, write_clock};
use crate::error::{SqlError, SqlState};

/// PostgreSQL's interval: three parts that do not convert into each other exactly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Months (years are twelve).
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// An interval of its three parts.
    pub fn new(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    /// Its length in microseconds, months taken for 30 days: what is compared.
    pub fn span(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY) + i128::from(self.micros)
    }

    /// The same parts with the other sign.
    pub fn checked_neg(self) -> Result<Interval, SqlError> {
        let parts = (self.months.checked_neg(), self.days.checked_neg(), self.micros.checked_neg());
        Self::from_parts(parts)
    }

    /// Part by part.
    pub fn checked_add(self, other: Interval) -> Result<Interval, SqlError> {
        let months = self.months.checked_add(other.months);
        Self::from_parts((months, self.days.checked_add(other.days), self.micros.checked_add(other.micros)))
    }

    /// Part by part.
    pub fn checked_sub(self, other: Interval) -> Result<Interval, SqlError> {
        let months = self.months.checked_sub(other.months);
        Self::from_parts((months, self.days.checked_sub(other.days), self.micros.checked_sub(other.micros)))
    }

    /// `interval * double precision`; what is left of a month becomes days, what is left of a day becomes time.
    pub fn checked_mul(self, factor: f64) -> Result<Interval, SqlError> {
        self.scaled(|part| part * factor)
    }

    /// `interval / double precision`
    pub fn checked_div(self, divisor: f64) -> Result<Interval, SqlError> {
        if divisor == 0.0 {
            return Err(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        self.scaled(|part| part / divisor)
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval, SqlError> {
        let months = scale(f64::from(self.months));
        let days = scale(f64::from(self.days));
        let (whole_months, whole_days) = (to_i32(months)?, to_i32(days)?);
        // Fractions below a microsecond per day are noise of the floating-point arithmetic.
        let month_days = tidy((months - f64::from(whole_months)) * 30.0);
        let mut rest_days = month_days.trunc();
        let mut seconds = tidy((days - f64::from(whole_days) + (month_days - rest_days)) * 86_400.0);
        if seconds.abs() >= 86_400.0 {
            rest_days += (seconds / 86_400.0).trunc();
            seconds -= (seconds / 86_400.0).trunc() * 86_400.0;
        }
        let days = whole_days.checked_add(rest_days as i32).ok_or_else(out_of_range)?;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        if micros.is_nan() || micros < i64::MIN as f64 || micros >= i64::MAX as f64 {
            return Err(out_of_range());
        }
        Ok(Interval::new(whole_months, days, micros as i64))
    }

    fn from_parts(parts: (Option<i32>, Option<i32>, Option<i64>)) -> Result<Interval, SqlError> {
        match parts {
            (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
            _ => Err(out_of_range()),
        }
    }
}

fn tidy(x: f64) -> f64 {
    (x * 1e6).round_ties_even() / 1e6
}

fn to_i32(x: f64) -> Result<i32, SqlError> {
    let whole = x.trunc();
    let fits = whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX);
    fits.then_some(whole as i32).ok_or_else(out_of_range)
}

fn out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

impl Ord for Interval {
    fn cmp(&self, other: &Interval) -> Ordering {
        self.span().cmp(&other.span())
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Interval) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Interval) -> bool {
        self.span() == other.span()
    }
}

impl Eq for Interval {}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span().hash(state);
    }
}

impl fmt::Display for Interval {
    /// `1 year 2 mons -3 days +04:05:06.5`: a sign after a negative part is always written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")];
        let mut first = true;
        let mut after_negative = false;
        for (count, unit) in parts.into_iter().filter(|(count, _)| *count != 0) {
            let space = if first { "" } else { " " };
            let plus = if after_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{space}{plus}{count} {unit}{plural}")?;
            (first, after_negative) = (false, count < 0);
        }
        if !first && self.micros == 0 {
            return Ok(());
        }
        let sign = match (self.micros < 0, after_negative) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        write!(f, "{}{sign}", if first { "" } else { " " })?;
        write_clock(f, self.micros.unsigned_abs())
    }
}
