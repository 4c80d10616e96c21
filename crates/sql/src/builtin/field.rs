//! Fields of dates, timestamps and intervals: `extract`, `date_part`, `date_trunc`.
//!
//! A field is computed exactly, as an integer of `10^-scale`; `extract` gives it as numeric, `date_part` as float.

use bigdecimal::BigDecimal;

use super::args::{Args, Result};
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::Type;
use crate::value::calendar::{Civil, DAY, HOUR, MINUTE, SECOND, UNIX_EPOCH_DAYS, check_timestamp, split};
use crate::value::{Interval, Value, date_to_timestamp, numeric};

/// A unit of time, or a field that is no unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    Dow,
    IsoDow,
    Doy,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

use Field::*;

impl Field {
    fn parse(name: &str) -> Option<Field> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microseconds" | "microsecond" | "us" | "usec" | "usecs" | "usecond" | "useconds" => Microseconds,
            "milliseconds" | "millisecond" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" => Milliseconds,
            "second" | "seconds" | "s" | "sec" | "secs" => Second,
            "minute" | "minutes" | "m" | "min" | "mins" => Minute,
            "hour" | "hours" | "h" | "hr" | "hrs" => Hour,
            "day" | "days" | "d" => Day,
            "week" | "weeks" | "w" => Week,
            "month" | "months" | "mon" | "mons" => Month,
            "quarter" | "qtr" => Quarter,
            "year" | "years" | "y" | "yr" | "yrs" => Year,
            "decade" | "decades" | "dec" | "decs" => Decade,
            "century" | "centuries" | "c" | "cent" => Century,
            "millennium" | "millennia" | "mil" | "mils" => Millennium,
            "isoyear" => IsoYear,
            "dow" => Dow,
            "isodow" => IsoDow,
            "doy" => Doy,
            "julian" => Julian,
            "epoch" => Epoch,
            "timezone" => Timezone,
            "timezone_hour" => TimezoneHour,
            "timezone_minute" => TimezoneMinute,
            _ => return None,
        })
    }
}

impl Field {
    /// A field that is a unit, or at least not a mere reading of the calendar.
    fn parse_unit(name: &str) -> Option<Field> {
        Field::parse(name).filter(|f| !matches!(f, IsoYear | Dow | IsoDow | Doy | Julian | Epoch))
    }
}

/// `extract(field, source)`
pub(super) fn extract(args: &[Value]) -> Result {
    let (field, ty) = (args.text(0)?, type_of(args.any(1)?));
    exact(args, field, ty).map(Value::numeric)
}

/// `date_part(field, source)`; a date is taken for its midnight.
pub(super) fn date_part(args: &[Value]) -> Result {
    let field = args.text(0)?;
    let midnight = match args.any(1)? {
        Value::Date(d) => Value::Timestamp(date_to_timestamp(*d)?),
        other => other.clone(),
    };
    let args = [args.any(0)?.clone(), midnight];
    let number = exact(&args, field, type_of(&args[1]))?;
    let unit = match Field::parse(field) {
        Some(Second) => 1,
        Some(Milliseconds) => 1000,
        Some(Epoch) => return Ok(Value::Float(float_epoch(&args[1]))),
        _ => return Ok(Value::Float(numeric::to_f64(&number))),
    };
    // PostgreSQL adds the fraction of a second as a float, which shows in the last digit.
    let rest = numeric::rem(&number, &numeric::from_i64(unit))?;
    let whole = numeric::sub(&number, &rest)?;
    Ok(Value::Float(numeric::to_f64(&whole) + numeric::to_f64(&rest)))
}

/// Seconds since 1970, or of an interval, in the order in which PostgreSQL rounds.
fn float_epoch(value: &Value) -> f64 {
    match value {
        Value::Interval(i) => {
            let (years, months) = (f64::from(i.months / 12), f64::from(i.months % 12));
            let seconds = i.micros as f64 / 1e6 + 365.25 * 86_400.0 * years + 30.0 * 86_400.0 * months;
            seconds + 86_400.0 * f64::from(i.days)
        }
        Value::Time(t) => *t as f64 / 1e6,
        Value::Timetz(t) => t.micros as f64 / 1e6 - f64::from(t.east),
        Value::Timestamp(t) | Value::Timestamptz(t) => {
            (i128::from(*t) + i128::from(UNIX_EPOCH_DAYS * DAY)) as f64 / 1e6
        }
        _ => 0.0,
    }
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Date(_) => Type::Date,
        Value::Interval(_) => Type::Interval,
        Value::Timestamptz(_) => Type::Timestamptz,
        Value::Time(_) => Type::Time,
        Value::Timetz(_) => Type::Timetz,
        _ => Type::Timestamp,
    }
}

fn exact(args: &[Value], name: &str, ty: Type) -> Result<BigDecimal> {
    let field = Field::parse(name).ok_or_else(|| unrecognized(name, ty))?;
    let found = match args.any(1)? {
        Value::Interval(i) => of_interval(*i, field),
        Value::Date(i32::MIN | i32::MAX) | Value::Timestamp(i64::MIN | i64::MAX) => return Err(infinite(ty)),
        Value::Timestamptz(i64::MIN | i64::MAX) => return Err(infinite(ty)),
        Value::Time(t) if field == Epoch => Some((i128::from(*t), 6)),
        Value::Time(t) => of_clock(*t, field),
        Value::Timetz(t) => match field {
            Timezone => Some((t.east.into(), 0)),
            TimezoneHour => Some(((t.east / 3600).into(), 0)),
            TimezoneMinute => Some(((t.east / 60 % 60).into(), 0)),
            Epoch => Some((i128::from(t.micros) - i128::from(t.east) * i128::from(SECOND), 6)),
            _ => of_clock(t.micros, field),
        },
        Value::Date(d) => of_date(i64::from(*d), field),
        Value::Timestamptz(_) if matches!(field, Timezone | TimezoneHour | TimezoneMinute) => Some((0, 0)),
        _ => of_timestamp(args.timestamp(1)?, field),
    };
    match found {
        Some(_) if field == Julian && ty != Type::Date => julian(args.timestamp(1)?),
        Some((units, scale)) => Ok(numeric::new(units.into(), scale)),
        None => Err(unsupported(name, ty)),
    }
}

/// Days since 4713 BC with the fraction of the day, as a division gives it.
fn julian(t: i64) -> Result<BigDecimal> {
    let (days, time) = split(t);
    let fraction = numeric::div(&numeric::from_i64(time), &numeric::from_i64(DAY))?;
    numeric::add(&numeric::from_i64(days + JULIAN_EPOCH), &fraction)
}

const JULIAN_EPOCH: i64 = 2_451_545;

/// The field in units of `10^-scale`, and the scale.
type Exact = Option<(i128, i64)>;

fn of_timestamp(t: i64, field: Field) -> Exact {
    let (days, time) = split(t);
    match field {
        Epoch => Some((i128::from(t) + i128::from(UNIX_EPOCH_DAYS) * i128::from(DAY), 6)),
        _ => of_clock(time, field).or_else(|| of_date(days, field)),
    }
}

fn of_clock(time: i64, field: Field) -> Exact {
    let whole = |n: i64| Some((i128::from(n), 0));
    let minute = time % MINUTE;
    match field {
        Microseconds => whole(minute),
        Milliseconds => Some((minute.into(), 3)),
        Second => Some((minute.into(), 6)),
        Minute => whole(time / MINUTE % 60),
        Hour => whole(time / HOUR),
        _ => None,
    }
}

fn of_date(days: i64, field: Field) -> Exact {
    let date = Civil::from_days(days);
    let first = |year| Civil { year, month: 1, day: 1 }.days();
    // Year 0 is 1 BC, and there is no century 0: 1 BC belongs to the first before Christ.
    let shown = if date.year > 0 { date.year } else { date.year - 1 };
    let era =
        |length: i64| if date.year > 0 { (date.year + length - 1) / length } else { -((length - date.year) / length) };
    let number = match field {
        Day => date.day,
        Month => date.month,
        Quarter => (date.month - 1) / 3 + 1,
        Week => iso_week(days).1,
        IsoYear => Some(iso_week(days).0).map(|y| if y > 0 { y } else { y - 1 })?,
        Year => shown,
        Decade => date.year.div_euclid(10),
        Century => era(100),
        Millennium => era(1000),
        Dow => (days + 6).rem_euclid(7),
        IsoDow => (days + 5).rem_euclid(7) + 1,
        Doy => days - first(date.year) + 1,
        Julian => days + JULIAN_EPOCH,
        Epoch => (days + UNIX_EPOCH_DAYS) * 86_400,
        _ => return None,
    };
    Some((number.into(), 0))
}

/// The ISO year and week: weeks begin on Monday, and week 1 has the year's first Thursday.
fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (days + 5).rem_euclid(7) + 3;
    let year = Civil::from_days(thursday).year;
    let first = Civil { year, month: 1, day: 1 }.days();
    (year, (thursday - first) / 7 + 1)
}

fn of_interval(i: Interval, field: Field) -> Exact {
    let whole = |n: i32| Some((i128::from(n), 0));
    let (years, months) = (i.months / 12, i.months % 12);
    match field {
        Day => whole(i.days),
        Month => whole(months),
        Quarter => whole(months / 3 + 1),
        Year => whole(years),
        Decade => whole(years / 10),
        Century => whole(years / 100),
        Millennium => whole(years / 1000),
        Hour => Some(((i.micros / HOUR).into(), 0)),
        Epoch => {
            // A year is 365.25 days here, a month 30.
            let quarters = i128::from(years) * 1461 + (i128::from(months) * 30 + i128::from(i.days)) * 4;
            Some((quarters * i128::from(DAY / 4) + i128::from(i.micros), 6))
        }
        _ => of_clock(i.micros, field),
    }
}

/// `date_trunc(unit, timestamp)`
pub(super) fn date_trunc(args: &[Value]) -> Result {
    let (name, t) = (args.text(0)?, args.timestamp(1)?);
    let ty = type_of(args.any(1)?);
    let field = Field::parse_unit(name).ok_or_else(|| unrecognized(name, ty))?;
    if matches!(t, i64::MIN | i64::MAX) {
        return Ok(args.any(1)?.clone());
    }
    let truncated = check_timestamp(truncate(t, field).ok_or_else(|| unsupported(name, ty))?.into())?;
    Ok(if ty == Type::Timestamptz { Value::Timestamptz(truncated) } else { Value::Timestamp(truncated) })
}

fn truncate(t: i64, field: Field) -> Option<i64> {
    let (days, _) = split(t);
    let date = Civil::from_days(days);
    let month = |year, month| Some(Civil { year, month, day: 1 }.days() * DAY);
    // Centuries begin with the year 1 of theirs; year 0 is 1 BC.
    let era = |length: i64| month((date.year - 1).div_euclid(length) * length + 1, 1);
    match field {
        Microseconds => Some(t),
        Milliseconds => Some(t - t.rem_euclid(1000)),
        Second => Some(t - t.rem_euclid(SECOND)),
        Minute => Some(t - t.rem_euclid(MINUTE)),
        Hour => Some(t - t.rem_euclid(HOUR)),
        Day => Some(days * DAY),
        Week => Some((days - (days + 5).rem_euclid(7)) * DAY),
        Month => month(date.year, date.month),
        Quarter => month(date.year, (date.month - 1) / 3 * 3 + 1),
        Year => month(date.year, 1),
        Decade => month(date.year.div_euclid(10) * 10, 1),
        Century => era(100),
        Millennium => era(1000),
        _ => None,
    }
}

/// `date_trunc(unit, interval)`
pub(super) fn trunc_interval(args: &[Value]) -> Result {
    let (name, i) = (args.text(0)?, args.interval(1)?);
    let field = Field::parse_unit(name).ok_or_else(|| unrecognized(name, Type::Interval))?;
    let clock = |unit: i64| Interval { micros: i.micros / unit * unit, ..i };
    let months = |unit: i32| Interval::new(i.months / unit * unit, 0, 0);
    Ok(Value::Interval(match field {
        Microseconds => i,
        Milliseconds => clock(1000),
        Second => clock(SECOND),
        Minute => clock(MINUTE),
        Hour => clock(HOUR),
        Day => Interval { micros: 0, ..i },
        Month => months(1),
        Quarter => months(3),
        Year => months(12),
        Decade => months(120),
        Century => months(1200),
        Millennium => months(12_000),
        Week => {
            return Err(unsupported(name, Type::Interval).detail("Months usually have fractional weeks."));
        }
        _ => return Err(unsupported(name, Type::Interval)),
    }))
}

fn unrecognized(name: &str, ty: Type) -> SqlError {
    let message = format!("unit \"{}\" not recognized for type {ty}", name.to_ascii_lowercase());
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn unsupported(name: &str, ty: Type) -> SqlError {
    let message = format!("unit \"{}\" not supported for type {ty}", name.to_ascii_lowercase());
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn infinite(ty: Type) -> SqlError {
    SqlError::unsupported(Construct::FIELD_OF_INFINITY.of(ty))
}
