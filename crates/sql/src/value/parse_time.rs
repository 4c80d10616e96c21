//! Reading dates, timestamps and intervals.
//!
//! PostgreSQL reads almost anything that looks like a date. We read the forms people write: ISO 8601
//! (`2024-01-02T03:04:05Z`), dashes or slashes (`1/2/2024`, month first), names of months (`2 Jan 2024`), `20240102`,
//! with a time of day, AM or PM, an offset from UTC, BC, `epoch` and `infinity`. What depends on the clock (`'today'`)
//! or on a time zone other than UTC is refused, as this crate has neither.

use super::TimeTz;
use super::calendar::{self, Civil, DAY, HOUR, MINUTE, SECOND, UNIX_EPOCH_DAYS};
use super::zone::Zone;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;

pub(super) use super::parse_interval::parse_interval;

/// Why a text is not what it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It cannot be read.
    Syntax,
    /// A field is too large (`25:00`).
    Range,
    /// It is the 13th month: perhaps days come first here.
    DateStyle,
    /// Its offset from UTC is too large.
    Zone,
    /// There is no time zone of that name.
    ZoneName,
    /// PostgreSQL can, we cannot.
    Unsupported,
}

impl Problem {
    /// As PostgreSQL words it.
    pub(super) fn error(self, ty: &str, text: &str) -> SqlError {
        let overflow = SqlState::DATETIME_FIELD_OVERFLOW;
        match self {
            Problem::Syntax => {
                let message = format!("invalid input syntax for type {ty}: \"{text}\"");
                SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
            }
            Problem::Range if ty == "interval" => {
                SqlError::new(SqlState(*b"22015"), format!("interval field value out of range: \"{text}\""))
            }
            Problem::Range => SqlError::new(overflow, format!("date/time field value out of range: \"{text}\"")),
            Problem::DateStyle => {
                Problem::Range.error(ty, text).hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Problem::Zone => {
                SqlError::new(SqlState(*b"22009"), format!("time zone displacement out of range: \"{text}\""))
            }
            Problem::ZoneName => {
                let lower = text.to_ascii_lowercase();
                let name = lower.split_ascii_whitespace().find(|w| w.contains('/')).unwrap_or("");
                SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
            }
            Problem::Unsupported => SqlError::unsupported(Construct::MOMENT.of(format_args!("{ty} \"{text}\""))),
        }
    }
}

/// A `date`.
pub(super) fn parse_date(text: &str) -> Result<i32, SqlError> {
    match read(text).map_err(|p| p.error("date", text))? {
        Moment::Infinity => Ok(i32::MAX),
        Moment::NegativeInfinity => Ok(i32::MIN),
        Moment::At { days, .. } => calendar::check_date(days)
            .map_err(|_| SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""))),
    }
}

/// A `timestamp`, whose zone is ignored, or a `timestamptz`, whose zone is UTC if it does not say.
pub(super) fn parse_timestamp(text: &str, ty: &str, with_zone: bool) -> Result<i64, SqlError> {
    match read(text).map_err(|p| p.error(ty, text))? {
        Moment::Infinity => Ok(i64::MAX),
        Moment::NegativeInfinity => Ok(i64::MIN),
        Moment::At { days, time, zone } => {
            let shift = if with_zone { zone } else { 0 };
            let micros = i128::from(days) * i128::from(DAY) + i128::from(time - shift);
            calendar::check_timestamp(micros).map_err(|_| {
                SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{text}\""))
            })
        }
    }
}

/// A `time`; a date before it and a zone behind it are read and forgotten.
pub(super) fn parse_time(text: &str) -> Result<i64, SqlError> {
    read_clock(text).map(|(time, _)| time).map_err(|p| p.error("time", text))
}

/// A `timetz`, whose zone is UTC if it does not say.
pub(super) fn parse_timetz(text: &str) -> Result<TimeTz, SqlError> {
    let (micros, zone) = read_clock(text).map_err(|p| p.error("time with time zone", text))?;
    Ok(TimeTz { micros, east: (zone / SECOND) as i32 })
}

/// The time of day and the offset in a text.
fn read_clock(text: &str) -> Result<(i64, i64), Problem> {
    let lower = text.trim().to_ascii_lowercase();
    if matches!(lower.as_str(), "now" | "allballs") {
        return Err(Problem::Unsupported);
    }
    let mut reader = Reader::default();
    for word in lower.split_ascii_whitespace() {
        match word.len() {
            // Bare digits are a time here, not a date.
            4 | 6 if word.bytes().all(|b| b.is_ascii_digit()) && reader.time.is_none() => {
                let seconds = if word.len() == 6 { number(&word[4..])? } else { 0 };
                reader.set_time(number(&word[..2])?, number(&word[2..4])?, seconds, 0)?;
            }
            _ => reader.word(word)?,
        }
    }
    let time = reader.time.ok_or(Problem::Syntax)?;
    Ok((time, reader.zone.unwrap_or(0)))
}

/// What was read; `zone` is east of UTC, in microseconds.
enum Moment {
    Infinity,
    NegativeInfinity,
    At { days: i64, time: i64, zone: i64 },
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// A month was given by name, so loose numbers are a day and a year.
    month_named: bool,
    time: Option<i64>,
    zone: Option<i64>,
    before_christ: bool,
    /// A zone by its name; its offset depends on the date.
    named_zone: Option<Zone>,
}

fn read(text: &str) -> Result<Moment, Problem> {
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "infinity" | "+infinity" => return Ok(Moment::Infinity),
        "-infinity" => return Ok(Moment::NegativeInfinity),
        "epoch" => return Ok(Moment::At { days: -UNIX_EPOCH_DAYS, time: 0, zone: 0 }),
        "now" | "today" | "tomorrow" | "yesterday" => return Err(Problem::Unsupported),
        _ => {}
    }
    let mut reader = Reader::default();
    for word in lower.split_ascii_whitespace().flat_map(|w| w.split(',')).filter(|w| !w.is_empty()) {
        reader.word(word)?;
    }
    reader.finish()
}

impl Reader {
    fn word(&mut self, word: &str) -> Result<(), Problem> {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let next = word.as_bytes().get(digits);
        match (digits, next) {
            (1.., Some(b't')) if digits == 8 => self.joined(word, 8),
            (1.., Some(b':')) => self.clock(word),
            (1.., Some(b'-' | b'/' | b'.')) => match word.find('t') {
                Some(at) if word[..at].bytes().all(|b| !b.is_ascii_alphabetic()) => self.joined(word, at),
                _ => self.date(word),
            },
            (1.., None) => self.number(word),
            (0, Some(b'+' | b'-')) if self.time.is_some() => self.offset(word),
            (0, Some(b'a'..=b'z')) => self.name(word),
            _ => Err(Problem::Syntax),
        }
    }

    /// A date and a time with a `T` between them.
    fn joined(&mut self, word: &str, at: usize) -> Result<(), Problem> {
        self.word(&word[..at])?;
        match &word[at + 1..] {
            "" => Err(Problem::Syntax),
            time => self.word(time),
        }
    }

    /// `2024-01-02`, `1/2/2024`, `02-jan-2024`
    fn date(&mut self, word: &str) -> Result<(), Problem> {
        let fields: Vec<&str> = word.split(['-', '/', '.']).collect();
        let [a, b, c] = fields[..] else { return Err(Problem::Syntax) };
        if self.year.is_some() || self.day.is_some() {
            return Err(Problem::Syntax);
        }
        if let Some(month) = month_by_name(b) {
            let (year, day) = if a.len() > 2 { (a, c) } else { (c, a) };
            return self.set_date(year, month, day);
        }
        let (year, month, day) = if a.len() > 2 { (a, b, c) } else { (c, a, b) };
        let month = number(month)?;
        if month > 12 && a.len() <= 2 {
            return Err(Problem::DateStyle);
        }
        self.set_date(year, month, day)
    }

    fn set_date(&mut self, year: &str, month: i64, day: &str) -> Result<(), Problem> {
        (self.year, self.month, self.day) = (Some(full_year(year)?), Some(month), Some(number(day)?));
        Ok(())
    }

    /// Digits alone: `20240102`, a day or year beside a month's name, or a time of day `030405`.
    fn number(&mut self, word: &str) -> Result<(), Problem> {
        let has_date = self.year.is_some() && self.day.is_some();
        match word.len() {
            _ if self.month_named && self.day.is_none() && word.len() <= 2 => self.day = Some(number(word)?),
            _ if self.month_named && self.year.is_none() => self.year = Some(full_year(word)?),
            8 if !has_date => {
                let month = number(&word[4..6])?;
                self.set_date(&word[..4], month, &word[6..])?;
            }
            6 if !has_date => {
                let month = number(&word[2..4])?;
                self.set_date(&word[..2], month, &word[4..])?;
            }
            4 | 6 if has_date && self.time.is_none() => {
                let seconds = if word.len() == 6 { number(&word[4..])? } else { 0 };
                self.set_time(number(&word[..2])?, number(&word[2..4])?, seconds, 0)?;
            }
            1..=2 if !has_date && !self.month_named && self.day.is_none() => self.day = Some(number(word)?),
            _ => return Err(Problem::Syntax),
        }
        Ok(())
    }

    /// `03:04:05.5`, with an offset, AM or PM behind it.
    fn clock(&mut self, word: &str) -> Result<(), Problem> {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(word.len());
        let (clock, rest) = word.split_at(end);
        if self.time.is_some() {
            return Err(Problem::Syntax);
        }
        let (clock, fraction) = clock.split_once('.').map_or((clock, ""), |(c, f)| (c, f));
        let fields = clock.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
        let (hour, minute, second) = match fields[..] {
            [hour, minute] if fraction.is_empty() => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(Problem::Syntax),
        };
        self.set_time(hour, minute, second, fraction_micros(fraction)?)?;
        match rest.as_bytes().first() {
            None => Ok(()),
            Some(b'+' | b'-') => self.offset(rest),
            Some(_) => self.name(rest),
        }
    }

    fn set_time(&mut self, hour: i64, minute: i64, second: i64, micros: i64) -> Result<(), Problem> {
        let time = hour * HOUR + minute * MINUTE + second * SECOND + micros;
        if hour > 24 || minute > 59 || second > 60 || time > DAY {
            return Err(Problem::Range);
        }
        self.time = Some(time);
        Ok(())
    }

    /// `+02`, `-07:30`, `+0530`
    fn offset(&mut self, word: &str) -> Result<(), Problem> {
        let sign = if word.starts_with('-') { -1 } else { 1 };
        let body = &word[1..];
        let fields: Vec<&str> = match body.len() {
            _ if body.contains(':') => body.split(':').collect(),
            3 | 4 if body.is_ascii() => vec![&body[..body.len() - 2], &body[body.len() - 2..]],
            _ => vec![body],
        };
        let fields = fields.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let part = |i: usize| fields.get(i).copied().unwrap_or(0);
        if fields.len() > 3 || self.zone.is_some() {
            return Err(Problem::Syntax);
        }
        if part(0) > 15 || part(1) > 59 || part(2) > 59 {
            return Err(Problem::Zone);
        }
        self.zone = Some(sign * (part(0) * HOUR + part(1) * MINUTE + part(2) * SECOND));
        Ok(())
    }

    fn name(&mut self, word: &str) -> Result<(), Problem> {
        if let Some(month) = month_by_name(word.trim_end_matches('.')) {
            // A number before the name was the day.
            (self.month, self.month_named) = (Some(month), true);
            return Ok(());
        }
        match (word, self.time) {
            ("z" | "utc" | "gmt" | "zulu", _) => self.zone = Some(0),
            ("bc", _) => self.before_christ = true,
            ("ad", _) => {}
            ("am", Some(time)) if time < 13 * HOUR => self.time = Some(time % (12 * HOUR)),
            ("pm", Some(time)) if time < 13 * HOUR => self.time = Some(time % (12 * HOUR) + 12 * HOUR),
            ("am" | "pm", Some(_)) => return Err(Problem::Range),
            _ if WEEKDAYS.iter().any(|day| word == *day || word == &day[..3]) => {}
            _ if self.time.is_some()
                && self.zone.is_none()
                && self.named_zone.is_none()
                && Zone::named(word).is_some() =>
            {
                self.named_zone = Zone::named(word);
            }
            _ if word.contains('/') => return Err(Problem::ZoneName),
            _ if word.starts_with("jan") || word.starts_with("feb") || word.contains('-') => {
                return self.named_date(word);
            }
            _ => return Err(Problem::Syntax),
        }
        Ok(())
    }

    /// `jan-02-2024`
    fn named_date(&mut self, word: &str) -> Result<(), Problem> {
        let fields: Vec<&str> = word.split('-').collect();
        let [name, day, year] = fields[..] else { return Err(Problem::Syntax) };
        let month = month_by_name(name).ok_or(Problem::Syntax)?;
        self.set_date(year, month, day)
    }

    fn finish(self) -> Result<Moment, Problem> {
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(Problem::Syntax);
        };
        if year == 0 {
            return Err(Problem::Range);
        }
        let date = Civil { year: if self.before_christ { 1 - year } else { year }, month, day };
        if !date.is_valid() || year > 10_000_000 {
            return Err(Problem::Range);
        }
        let (days, time) = (date.days(), self.time.unwrap_or(0));
        let by_name =
            || self.named_zone.as_ref().map_or(0, |z| z.east_when(days.saturating_mul(DAY).saturating_add(time)));
        Ok(Moment::At { days, time, zone: self.zone.unwrap_or_else(by_name) })
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

fn month_by_name(word: &str) -> Option<i64> {
    let is = |month: &str| word == month || word == &month[..3] || word == "sept" && month == "september";
    MONTHS.iter().position(|month| is(month)).map(|i| i as i64 + 1)
}

/// Two digits are within 1970 and 2069.
fn full_year(digits: &str) -> Result<i64, Problem> {
    let year = number(digits)?;
    Ok(match digits.len() {
        1 | 2 if year < 70 => year + 2000,
        1 | 2 => year + 1900,
        _ => year,
    })
}

fn number(digits: &str) -> Result<i64, Problem> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Problem::Syntax);
    }
    digits.parse::<i32>().map(i64::from).map_err(|_| Problem::Range)
}

/// Microseconds of the digits behind a decimal point, rounded.
pub(super) fn fraction_micros(digits: &str) -> Result<i64, Problem> {
    if digits.is_empty() {
        return Ok(0);
    }
    let fraction: f64 = format!("0.{digits}").parse().map_err(|_| Problem::Syntax)?;
    Ok((fraction * SECOND as f64).round_ties_even() as i64)
}
