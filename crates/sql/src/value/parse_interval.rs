//! Reading intervals: `1 year 2 mons 3 days 04:05:06`, `1-2` (years and months), `P1Y2M3DT4H5M6S`, `1.5 hours ago`.
//!
//! A fraction of a unit flows into the smaller ones: half a month is 15 days, half a day twelve hours. A unit may occur
//! once only.

use super::Interval;
use super::calendar::{DAY, HOUR, MINUTE, SECOND};
use super::parse_time::{Problem, fraction_micros};
use crate::error::SqlError;

/// An `interval`.
pub(super) fn parse_interval(text: &str) -> Result<Interval, SqlError> {
    read(text).map_err(|p| p.error("interval", text))
}

fn read(text: &str) -> Result<Interval, Problem> {
    let lower = text.trim().to_ascii_lowercase();
    let mut sum = Sum::default();
    if let Some(iso) = lower.strip_prefix('p') {
        sum.iso(iso)?;
        return Ok(sum.interval);
    }
    let mut words: Vec<&str> = lower.split_ascii_whitespace().flat_map(split_unit).collect();
    let ago = words.last() == Some(&"ago");
    if ago {
        words.pop();
    }
    if words.first() == Some(&"@") {
        words.remove(0);
    }
    sum.words(&words)?;
    if ago { sum.interval.checked_neg().map_err(|_| Problem::Range) } else { Ok(sum.interval) }
}

/// `3days` is two words.
fn split_unit(word: &str) -> Vec<&str> {
    match word.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) if at > 0 && word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
            let (number, rest) = word.split_at(at);
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (unit, more) = rest.split_at(end);
            [vec![number, unit], if more.is_empty() { vec![] } else { split_unit(more) }].concat()
        }
        _ => vec![word],
    }
}

/// A unit, as the interval's part it counts and how many of that part it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

fn unit_by_name(name: &str) -> Option<Unit> {
    Some(match name {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" | "microsecon" => {
            Unit::Micros(1)
        }
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" | "millisecon" => {
            Unit::Micros(1000)
        }
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Micros(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Micros(MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Micros(HOUR),
        "d" | "day" | "days" => Unit::Days(1),
        "w" | "week" | "weeks" => Unit::Days(7),
        "mon" | "mons" | "month" | "months" => Unit::Months(1),
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Months(12),
        "dec" | "decs" | "decade" | "decades" => Unit::Months(120),
        "c" | "cent" | "century" | "centuries" => Unit::Months(1200),
        "mil" | "mils" | "millennia" | "millennium" => Unit::Months(12_000),
        _ => return None,
    })
}

#[derive(Default)]
struct Sum {
    interval: Interval,
    seen: Vec<Unit>,
}

impl Sum {
    fn words(&mut self, words: &[&str]) -> Result<(), Problem> {
        if words.is_empty() {
            return Err(Problem::Syntax);
        }
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = after;
            if word.contains(':') {
                self.clock(word)?;
            } else if let Some((years, months)) = split_year_month(word) {
                let sign = if word.starts_with('-') { "-" } else { "" };
                self.add(years, Unit::Months(12))?;
                self.add(&format!("{sign}{months}"), Unit::Months(1))?;
            } else {
                match after {
                    [unit, after @ ..] if unit_by_name(unit).is_some() => {
                        self.add(word, unit_by_name(unit).ok_or(Problem::Syntax)?)?;
                        rest = after;
                    }
                    [next, ..] if next.contains(':') => self.add(word, Unit::Days(1))?,
                    [] => self.add(word, Unit::Micros(SECOND))?,
                    _ => return Err(Problem::Syntax),
                }
            }
        }
        Ok(())
    }

    /// `[-]04:05[:06.5]`; of two fields, the first is hours, unless the second has a fraction.
    fn clock(&mut self, word: &str) -> Result<(), Problem> {
        let negative = word.starts_with('-');
        let body = word.strip_prefix(['+', '-']).unwrap_or(word);
        let (clock, fraction) = body.split_once('.').unwrap_or((body, ""));
        let fields = clock.split(':').map(digits).collect::<Result<Vec<_>, _>>()?;
        let (hour, minute, second) = match fields[..] {
            [minute, second] if !fraction.is_empty() => (0, minute, second),
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(Problem::Syntax),
        };
        for unit in [HOUR, MINUTE, SECOND] {
            self.once(Unit::Micros(unit))?;
        }
        if minute > 59 || second > 60 {
            return Err(Problem::Range);
        }
        let time = i128::from(hour) * i128::from(HOUR)
            + i128::from(minute * MINUTE + second * SECOND + fraction_micros(fraction)?);
        self.micros(if negative { -time } else { time })
    }

    /// What follows the `P`.
    fn iso(&mut self, text: &str) -> Result<(), Problem> {
        let (date, time) = text.split_once('t').map_or((text, None), |(d, t)| (d, Some(t)));
        let date_units = [('y', Unit::Months(12)), ('m', Unit::Months(1)), ('w', Unit::Days(7)), ('d', Unit::Days(1))];
        let time_units = [('h', Unit::Micros(HOUR)), ('m', Unit::Micros(MINUTE)), ('s', Unit::Micros(SECOND))];
        if date.is_empty() && time.is_none() {
            return Err(Problem::Syntax);
        }
        self.designated(date, &date_units)?;
        self.designated(time.unwrap_or(""), &time_units)
    }

    fn designated(&mut self, mut text: &str, units: &[(char, Unit)]) -> Result<(), Problem> {
        while let Some(at) = text.find(|c: char| c.is_ascii_alphabetic()) {
            let (_, unit) = units.iter().find(|(c, _)| text[at..].starts_with(*c)).ok_or(Problem::Syntax)?;
            self.add(&text[..at], *unit)?;
            text = &text[at + 1..];
        }
        if text.is_empty() { Ok(()) } else { Err(Problem::Syntax) }
    }

    /// `number` of a unit; its fraction goes to smaller ones.
    fn add(&mut self, number: &str, unit: Unit) -> Result<(), Problem> {
        self.once(unit)?;
        let negative = number.starts_with('-');
        let body = number.strip_prefix(['+', '-']).unwrap_or(number);
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(Problem::Syntax);
        }
        let sign = if negative { -1 } else { 1 };
        let whole = sign * if whole.is_empty() { 0 } else { digits(whole)? };
        if !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Problem::Syntax);
        }
        let fraction = sign as f64 * format!("0.{fraction}0").parse::<f64>().map_err(|_| Problem::Syntax)?;
        match unit {
            Unit::Months(1) => {
                self.months(whole)?;
                self.fraction_of_days(fraction * 30.0)
            }
            Unit::Months(n) => {
                self.months(whole.checked_mul(n).ok_or(Problem::Range)?)?;
                self.months((fraction * n as f64).round_ties_even() as i64)
            }
            Unit::Days(n) => {
                self.days(whole.checked_mul(n).ok_or(Problem::Range)?)?;
                self.fraction_of_days(fraction * n as f64)
            }
            Unit::Micros(n) => {
                self.micros(i128::from(whole) * i128::from(n))?;
                self.fraction_of_micros(fraction * n as f64)
            }
        }
    }

    fn fraction_of_days(&mut self, days: f64) -> Result<(), Problem> {
        self.days(days as i64)?;
        self.fraction_of_micros(days.fract() * DAY as f64)
    }

    fn fraction_of_micros(&mut self, micros: f64) -> Result<(), Problem> {
        let rest = micros.fract();
        let carry = i128::from(rest > 0.5) - i128::from(rest < -0.5);
        self.micros(micros as i128 + carry)
    }

    fn months(&mut self, months: i64) -> Result<(), Problem> {
        let sum = i64::from(self.interval.months).checked_add(months).ok_or(Problem::Range)?;
        self.interval.months = sum.try_into().map_err(|_| Problem::Range)?;
        Ok(())
    }

    fn days(&mut self, days: i64) -> Result<(), Problem> {
        let sum = i64::from(self.interval.days).checked_add(days).ok_or(Problem::Range)?;
        self.interval.days = sum.try_into().map_err(|_| Problem::Range)?;
        Ok(())
    }

    fn micros(&mut self, micros: i128) -> Result<(), Problem> {
        let sum = i128::from(self.interval.micros) + micros;
        self.interval.micros = sum.try_into().map_err(|_| Problem::Range)?;
        Ok(())
    }

    fn once(&mut self, unit: Unit) -> Result<(), Problem> {
        if self.seen.contains(&unit) {
            return Err(Problem::Syntax);
        }
        self.seen.push(unit);
        Ok(())
    }
}

/// `1-2`, `-1-2`: years, with the sign, and months.
fn split_year_month(word: &str) -> Option<(&str, &str)> {
    let at = word.rfind('-').filter(|at| *at > 0)?;
    let (years, months) = (&word[..at], &word[at + 1..]);
    let plain = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (plain(years.strip_prefix(['+', '-']).unwrap_or(years)) && plain(months)).then_some((years, months))
}

fn digits(text: &str) -> Result<i64, Problem> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Problem::Syntax);
    }
    text.parse().map_err(|_| Problem::Range)
}
