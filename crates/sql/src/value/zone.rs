//! Time zones: how far a clock is ahead of UTC, by name, abbreviation or offset.
//!
//! The rules of named zones come with the program, so an answer does not depend on the machine. Where clocks are set
//! back a local time names two moments, of which the later, in standard time, is meant; where they are set forward, it
//! is read as if they had not been yet.

use jiff::tz::{self, TimeZone};

use super::calendar::{Civil, HOUR, MINUTE, SECOND, UNIX_EPOCH_DAYS, split};
use crate::error::{SqlError, SqlState};

/// A time zone.
#[derive(Clone, Debug)]
pub enum Zone {
    /// So many microseconds east of UTC, always.
    Fixed(i64),
    /// By rules.
    Named(TimeZone),
}

/// Abbreviations that PostgreSQL knows, in hours east of UTC.
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("zulu", 0),
    ("ut", 0),
    ("wet", 0),
    ("bst", 1),
    ("cet", 1),
    ("met", 1),
    ("west", 1),
    ("cest", 2),
    ("mest", 2),
    ("eet", 2),
    ("ist", 2),
    ("eest", 3),
    ("msk", 3),
    ("jst", 9),
    ("kst", 9),
    ("aest", 10),
    ("aedt", 11),
    ("nzst", 12),
    ("nzdt", 13),
    ("ast", -4),
    ("edt", -4),
    ("adt", -3),
    ("est", -5),
    ("cdt", -5),
    ("cst", -6),
    ("mdt", -6),
    ("mst", -7),
    ("pdt", -7),
    ("pst", -8),
    ("akdt", -8),
    ("akst", -9),
    ("hst", -10),
];

impl Zone {
    /// The zone of this name or abbreviation, if there is one.
    pub fn named(name: &str) -> Option<Zone> {
        let lower = name.to_ascii_lowercase();
        if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(abbreviation, _)| *abbreviation == lower) {
            return Some(Zone::Fixed(hours * HOUR));
        }
        tz::db().get(name).ok().map(Zone::Named)
    }

    /// The zone that AT TIME ZONE names; a bare offset counts westwards there.
    pub fn parse(name: &str) -> Result<Zone, SqlError> {
        let posix = || offset(name).map(|east| Zone::Fixed(-east));
        Zone::named(name).or_else(posix).ok_or_else(|| {
            let message = format!("time zone \"{name}\" not recognized");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// Microseconds east of UTC at a moment, which counts from 2000.
    pub fn east_at(&self, moment: i64) -> i64 {
        match self {
            Zone::Fixed(east) => *east,
            Zone::Named(zone) => {
                let seconds = moment.div_euclid(SECOND).saturating_add(UNIX_EPOCH_DAYS * 86_400);
                let clamped = seconds.clamp(jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
                match jiff::Timestamp::from_second(clamped) {
                    Ok(at) => i64::from(zone.to_offset(at).seconds()) * SECOND,
                    Err(_) => 0,
                }
            }
        }
    }

    /// Microseconds east of UTC when clocks there show a local time.
    pub fn east_when(&self, local: i64) -> i64 {
        let Zone::Named(zone) = self else { return self.east_at(local) };
        let (days, time) = split(local);
        let date = Civil::from_days(days);
        let second = time / SECOND;
        let civil = jiff::civil::DateTime::new(
            date.year.clamp(-9999, 9999) as i16,
            date.month as i8,
            date.day as i8,
            (second / 3600) as i8,
            (second / 60 % 60) as i8,
            (second % 60) as i8,
            0,
        );
        let Ok(civil) = civil else { return 0 };
        let ambiguous = zone.to_ambiguous_timestamp(civil);
        let Ok(at) = ambiguous.later() else { return 0 };
        let utc = (at.as_second() - UNIX_EPOCH_DAYS * 86_400) * SECOND;
        local - local.rem_euclid(SECOND) - utc
    }
}

/// `+02`, `-03:30`, `+0530`: microseconds.
fn offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (number(hours)?, number(minutes)?),
        None if digits.len() > 2 => (number(&digits[..digits.len() - 2])?, number(&digits[digits.len() - 2..])?),
        None => (number(digits)?, 0),
    };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * HOUR + minutes * MINUTE))
}
