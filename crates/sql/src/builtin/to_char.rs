//! `to_char` of moments and intervals, and back: `to_date`, `to_timestamp`.
//!
//! A template is cut into [`Token`]s: patterns with their modifiers, and text that stands for itself. Writing goes
//! token by token; so does reading, which is lenient about blanks as PostgreSQL is.

use super::Builtin;
use super::args::{Args, Result, error};
use super::list::f;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::Type::*;
use crate::value::calendar::{Civil, DAY, HOUR, MINUTE, SECOND, check_date, check_timestamp, split};
use crate::value::{Interval as Span, Value};

/// Functions.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("to_char", &[Timestamp, Text], Text, of_timestamp),
    f("to_char", &[Timestamptz, Text], Text, of_timestamp),
    f("to_char", &[Interval, Text], Text, of_interval),
    f("to_date", &[Text, Text], Date, to_date),
    f("to_timestamp", &[Text, Text], Timestamptz, to_timestamp),
];

/// Patterns, the longer before those they begin with.
const PATTERNS: &[&str] = &[
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MI", "MM", "MONTH",
    "MON", "MS", "Month", "Mon", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ", "US", "WW",
    "W", "Y,YYY", "YYYY", "YYY", "YY", "Y", "a.d.", "a.m.", "ad", "am", "b.c.", "bc", "cc", "day", "ddd", "dd", "dy",
    "d", "ff1", "ff2", "ff3", "ff4", "ff5", "ff6", "hh24", "hh12", "hh", "iddd", "id", "iw", "iyyy", "iyy", "iy", "i",
    "j", "mi", "mm", "month", "mon", "ms", "of", "p.m.", "pm", "q", "rm", "sssss", "ssss", "ss", "tzh", "tzm", "tz",
    "us", "ww", "w", "y,yyy", "yyyy", "yyy", "yy", "y",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A piece of a template.
enum Token<'a> {
    /// A pattern, whether `FM` stands before it, and the `TH` or `th` behind it.
    Pattern(&'static str, bool, Option<bool>),
    /// Text that stands for itself.
    Text(&'a str),
}

fn tokens(template: &str) -> Vec<Token<'_>> {
    let (mut list, mut rest) = (Vec::new(), template);
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let inside = &rest[1..];
            let end = inside.find('"').unwrap_or(inside.len());
            list.push(Token::Text(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or("");
            continue;
        }
        let (mut after, mut fill) = (rest, true);
        while let Some(stripped) = ["FM", "fm", "TM", "tm", "FX", "fx"].iter().find_map(|m| after.strip_prefix(m)) {
            fill &= !after.starts_with("FM") && !after.starts_with("fm");
            after = stripped;
        }
        match PATTERNS.iter().find(|p| after.starts_with(**p)) {
            Some(pattern) => {
                after = &after[pattern.len()..];
                let suffix = if after.starts_with("TH") {
                    Some(true)
                } else if after.starts_with("th") {
                    Some(false)
                } else {
                    None
                };
                list.push(Token::Pattern(pattern, fill, suffix));
                rest = if suffix.is_some() { &after[2..] } else { after };
            }
            None if after.len() < rest.len() => rest = after,
            None => {
                list.push(Token::Text(&rest[..c.len_utf8()]));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    list
}

/// What a template can show.
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    /// Microseconds of the day, or of an interval.
    time: i64,
    /// Days since 2000; `None` for an interval.
    days: Option<i64>,
    zoned: bool,
}

fn of_timestamp(args: &[Value]) -> Result {
    let t = args.timestamp(0)?;
    if matches!(t, i64::MAX | i64::MIN) {
        return Ok(Value::Null);
    }
    let (days, time) = split(t);
    let date = Civil::from_days(days);
    let zoned = matches!(args.any(0)?, Value::Timestamptz(_));
    let fields = Fields { year: date.year, month: date.month, day: date.day, time, days: Some(days), zoned };
    fields.write(args.text(1)?)
}

fn of_interval(args: &[Value]) -> Result {
    let i: Span = args.interval(0)?;
    let (year, month) = (i64::from(i.months / 12), i64::from(i.months % 12));
    Fields { year, month, day: i.days.into(), time: i.micros, days: None, zoned: false }.write(args.text(1)?)
}

impl Fields {
    fn write(&self, template: &str) -> Result {
        let mut out = String::new();
        for token in tokens(template) {
            match token {
                Token::Text(text) => out.push_str(text),
                Token::Pattern(pattern, fill, suffix) => {
                    let text = self.pattern(pattern, fill)?;
                    out.push_str(&text);
                    if let Some(upper) = suffix {
                        out.push_str(&ordinal(&text, upper));
                    }
                }
            }
        }
        Ok(Value::text(out))
    }

    fn pattern(&self, pattern: &str, fill: bool) -> Result<String> {
        let number = |n: i64, width: usize| match fill {
            true if n < 0 => format!("-{:0width$}", -n),
            true => format!("{n:0width$}"),
            false => n.to_string(),
        };
        let seconds = self.time / SECOND;
        let (hour, micros) = (self.time / HOUR, (self.time % SECOND).abs());
        let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
        let shown_year = if self.days.is_some() && self.year <= 0 { 1 - self.year } else { self.year };
        let upper = pattern.to_ascii_uppercase();
        Ok(match upper.as_str() {
            "HH24" => number(hour, 2),
            "HH12" | "HH" => number(twelve, 2),
            "MI" => number(self.time / MINUTE % 60, 2),
            "SS" => number(seconds % 60, 2),
            "MS" | "FF3" => format!("{:03}", micros / 1000),
            "US" | "FF6" => format!("{micros:06}"),
            "FF1" => (micros / 100_000).to_string(),
            "FF2" => format!("{:02}", micros / 10_000),
            "FF4" => format!("{:04}", micros / 100),
            "FF5" => format!("{:05}", micros / 10),
            "SSSS" | "SSSSS" => seconds.to_string(),
            "AM" | "PM" => cased(pattern, if hour % 24 < 12 { "AM" } else { "PM" }),
            "A.M." | "P.M." => cased(pattern, if hour % 24 < 12 { "A.M." } else { "P.M." }),
            "Y,YYY" => format!("{},{:03}", shown_year / 1000, shown_year % 1000),
            "YYYY" => number(shown_year, 4),
            "YYY" => number(shown_year % 1000, 3),
            "YY" => number(shown_year % 100, 2),
            "Y" => (shown_year % 10).to_string(),
            "MM" => number(self.month, 2),
            "DD" => number(self.day, 2),
            "CC" if self.days.is_none() => number(self.year / 100, 2),
            "Q" if self.days.is_none() => ((self.month - 1) / 3 + 1).to_string(),
            _ => return self.calendar(pattern, &upper, fill),
        })
    }

    /// Patterns that need a date.
    fn calendar(&self, pattern: &str, upper: &str, fill: bool) -> Result<String> {
        let Some(days) = self.days else {
            let error =
                SqlError::new(SqlState::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value");
            return Err(error.hint("Intervals are not tied to specific calendar dates."));
        };
        let width = |width: usize| if fill { width } else { 0 };
        let weekday = (days + 6).rem_euclid(7);
        let month = MONTHS[(self.month - 1).clamp(0, 11) as usize];
        let day = DAYS[weekday as usize];
        let first = Civil { year: self.year, month: 1, day: 1 }.days();
        let thursday = days - (days + 5).rem_euclid(7) + 3;
        let iso_year = Civil::from_days(thursday).year;
        let iso_week = (thursday - Civil { year: iso_year, month: 1, day: 1 }.days()) / 7 + 1;
        let iso_day = (days + 5).rem_euclid(7) + 1;
        let padded = |text: &str, to: usize| if fill { format!("{text:to$}") } else { text.to_owned() };
        let number = |n: i64, digits: usize| format!("{n:0w$}", w = width(digits));
        let year_of_day = days - first + 1;
        Ok(match upper {
            "MONTH" => padded(&cased(pattern, month), 9),
            "MON" => cased(pattern, &month[..3]),
            "DAY" => padded(&cased(pattern, day), 9),
            "DY" => cased(pattern, &day[..3]),
            "DDD" => number(year_of_day, 3),
            "IDDD" => number((iso_week - 1) * 7 + iso_day, 3),
            "D" => (weekday + 1).to_string(),
            "ID" => iso_day.to_string(),
            "W" => ((self.day - 1) / 7 + 1).to_string(),
            "WW" => number((year_of_day - 1) / 7 + 1, 2),
            "IW" => number(iso_week, 2),
            "IYYY" => number(iso_year, 4),
            "IYY" => number(iso_year % 1000, 3),
            "IY" => number(iso_year % 100, 2),
            "I" => (iso_year % 10).to_string(),
            "CC" => number(if self.year > 0 { (self.year + 99) / 100 } else { self.year / 100 - 1 }, 2),
            "J" => (days + 2_451_545).to_string(),
            "Q" => ((self.month - 1) / 3 + 1).to_string(),
            "RM" => padded(&cased(pattern, ROMAN[(self.month - 1).clamp(0, 11) as usize]), 4),
            "BC" | "AD" => cased(pattern, if self.year > 0 { "AD" } else { "BC" }),
            "B.C." | "A.D." => cased(pattern, if self.year > 0 { "A.D." } else { "B.C." }),
            "TZ" if self.zoned => cased(pattern, "UTC"),
            "TZH" => "+00".to_owned(),
            "TZM" => "00".to_owned(),
            "OF" => "+00".to_owned(),
            _ => String::new(),
        })
    }
}

/// A word in the case of its pattern: `MONTH`, `Month`, `month`.
fn cased(pattern: &str, word: &str) -> String {
    let mut letters = pattern.chars().filter(char::is_ascii_alphabetic);
    match (letters.next(), letters.next()) {
        (Some(first), _) if first.is_ascii_lowercase() => word.to_ascii_lowercase(),
        (_, Some(second)) if second.is_ascii_lowercase() => word.to_owned(),
        _ => word.to_ascii_uppercase(),
    }
}

/// `st`, `nd`, `rd`, `th`
pub(super) fn ordinal(number: &str, upper: bool) -> String {
    let digits = number.as_bytes();
    let last = |n: usize| digits.len().checked_sub(n).and_then(|i| digits.get(i)).copied();
    let suffix = match (last(2), last(1)) {
        (Some(b'1'), _) => "th",
        (_, Some(b'1')) => "st",
        (_, Some(b'2')) => "nd",
        (_, Some(b'3')) => "rd",
        _ => "th",
    };
    if upper { suffix.to_ascii_uppercase() } else { suffix.to_owned() }
}

/// What has been read.
#[derive(Default)]
struct Read {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    afternoon: Option<bool>,
    twelve: bool,
    before_christ: bool,
    zone: i64,
}

fn to_date(args: &[Value]) -> Result {
    let read = Read::of(args.text(0)?, args.text(1)?)?;
    check_date(read.days(args.text(0)?)?).map(Value::Date)
}

fn to_timestamp(args: &[Value]) -> Result {
    let text = args.text(0)?;
    let read = Read::of(text, args.text(1)?)?;
    let time = read.time(text)?;
    let micros = i128::from(read.days(text)?) * i128::from(DAY) + i128::from(time - read.zone);
    check_timestamp(micros).map(Value::Timestamptz)
}

fn out_of_range<T>(text: &str) -> Result<T> {
    error(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

/// More digits than any number has that is in range.
const DIGITS_MAX: usize = 100;

impl Read {
    fn of(text: &str, template: &str) -> Result<Read> {
        let (mut read, mut rest) = (Read::default(), text);
        let list = tokens(template);
        for (i, token) in list.iter().enumerate() {
            rest = rest.trim_start_matches(' ');
            match token {
                Token::Text(t) if t.trim().is_empty() => {}
                Token::Text(t) => {
                    let separator = |c: char| c.is_ascii_punctuation();
                    rest = match rest.strip_prefix(t) {
                        Some(after) => after,
                        None if t.chars().all(separator) && rest.starts_with(separator) => &rest[1..],
                        None if t.chars().all(separator) => rest,
                        None => rest.get(t.len()..).unwrap_or(""),
                    };
                }
                Token::Pattern(pattern, ..) => {
                    // Digits run on unless another number follows at once.
                    let open = !matches!(list.get(i + 1), Some(Token::Pattern(..)));
                    rest = read.pattern(pattern, rest, open, text)?;
                }
            }
        }
        Ok(read)
    }

    fn pattern<'a>(&mut self, pattern: &str, rest: &'a str, open: bool, text: &str) -> Result<&'a str> {
        let upper = pattern.to_ascii_uppercase();
        if let Some(after) = self.word(&upper, rest)? {
            return Ok(after);
        }
        let width = match upper.as_str() {
            "YYYY" | "IYYY" => 4,
            "YYY" | "MS" | "DDD" => 3,
            "US" => 6,
            "SSSS" | "SSSSS" => 5,
            "J" => 7,
            "Y" | "D" | "Q" | "W" => 1,
            _ => 2,
        };
        let sign = rest.starts_with('-') || rest.starts_with('+');
        let digits = rest[usize::from(sign)..].bytes().take(DIGITS_MAX).take_while(u8::is_ascii_digit).count();
        let fraction = matches!(upper.as_str(), "MS" | "US");
        let taken = if open && !fraction { digits } else { digits.min(width) };
        if taken == 0 {
            let message = format!("invalid value \"{}\" for \"{pattern}\"", rest.get(..width).unwrap_or(rest));
            let error = SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message);
            return Err(error.detail("Value must be an integer."));
        }
        let digits = &rest[usize::from(sign)..usize::from(sign) + taken];
        let Ok(n) = digits.parse::<i32>().map(i64::from) else { return out_of_range(text) };
        let n = if rest.starts_with('-') { -n } else { n };
        match upper.as_str() {
            "YYYY" | "IYYY" => self.year = Some(n),
            "YYY" | "YY" | "Y" => self.year = Some(full_year(n)),
            "MM" => self.month = Some(n),
            "DD" => self.day = Some(n),
            "DDD" => self.day_of_year = Some(n),
            "HH24" => self.hour = n,
            "HH12" | "HH" => (self.hour, self.twelve) = (n, true),
            "MI" => self.minute = n,
            "SS" => self.second = n,
            "MS" => self.micros += n * 10i64.pow(3 - taken.min(3) as u32) * 1000,
            "US" => self.micros += n * 10i64.pow(6 - taken.min(6) as u32),
            "SSSS" | "SSSSS" => (self.hour, self.minute, self.second) = (n / 3600, n / 60 % 60, n % 60),
            "TZH" => self.zone += n * HOUR,
            "TZM" => self.zone += if self.zone < 0 { -n } else { n } * MINUTE,
            "D" | "W" | "WW" | "Q" => {}
            _ => {
                return Err(SqlError::unsupported(Construct::TO_DATE_PATTERN.of(pattern)));
            }
        }
        Ok(&rest[usize::from(sign) + taken..])
    }

    /// Patterns that are words: names of months and days, AM, BC.
    fn word<'a>(&mut self, pattern: &str, rest: &'a str) -> Result<Option<&'a str>> {
        let begins = |word: &str| rest.get(..word.len()).is_some_and(|r| r.eq_ignore_ascii_case(word));
        let invalid = || {
            let message = format!("invalid value \"{}\" for \"{pattern}\"", rest.split(' ').next().unwrap_or(rest));
            let error = SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message);
            error.detail("The given value did not match any of the allowed values for this field.")
        };
        let taken = match pattern {
            "MONTH" | "MON" => {
                let length = |m: &str| if pattern == "MON" { 3 } else { m.len() };
                let found = MONTHS.iter().position(|m| begins(&m[..length(m)])).ok_or_else(invalid)?;
                self.month = Some(found as i64 + 1);
                length(MONTHS[found])
            }
            "DAY" | "DY" => {
                let length = |d: &str| if pattern == "DY" { 3 } else { d.len() };
                DAYS.iter().find(|d| begins(&d[..length(d)])).map(|d| length(d)).ok_or_else(invalid)?
            }
            "AM" | "PM" => {
                self.afternoon = Some(if begins("PM") {
                    true
                } else if begins("AM") {
                    false
                } else {
                    return Err(invalid());
                });
                2
            }
            "A.M." | "P.M." => {
                self.afternoon = Some(if begins("P.M.") {
                    true
                } else if begins("A.M.") {
                    false
                } else {
                    return Err(invalid());
                });
                4
            }
            "BC" | "AD" if rest.is_empty() => 0,
            "BC" | "AD" => {
                self.before_christ = begins("BC");
                if !self.before_christ && !begins("AD") {
                    return Err(invalid());
                }
                2
            }
            _ => return Ok(None),
        };
        Ok(Some(&rest[taken..]))
    }

    fn days(&self, text: &str) -> Result<i64> {
        // Without a year, 1 BC; with a negative one, that many before Christ.
        let year = match self.year {
            Some(year) if self.before_christ => 1 - year,
            Some(year) if year < 0 => year + 1,
            Some(year) => year,
            None => 0,
        };
        if let Some(day) = self.day_of_year {
            return Ok(Civil { year, month: 1, day: 1 }.days() + day - 1);
        }
        let date = Civil { year, month: self.month.unwrap_or(1), day: self.day.unwrap_or(1) };
        if date.is_valid() { Ok(date.days()) } else { out_of_range(text) }
    }

    fn time(&self, text: &str) -> Result<i64> {
        let mut hour = self.hour;
        if self.twelve || self.afternoon.is_some() {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                let error = SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message);
                return Err(error.hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            if self.afternoon.is_some() || hour == 12 {
                hour = hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
            }
        }
        if !(0..24).contains(&hour) || !(0..60).contains(&self.minute) || !(0..60).contains(&self.second) {
            return out_of_range(text);
        }
        Ok(hour * HOUR + self.minute * MINUTE + self.second * SECOND + self.micros)
    }
}

/// Two digits are a year nearest to 2020.
fn full_year(n: i64) -> i64 {
    match n {
        0..=69 => n + 2000,
        70..=99 => n + 1900,
        100..=519 => n + 2000,
        520..=999 => n + 1000,
        _ => n,
    }
}
