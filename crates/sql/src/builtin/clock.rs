//! Times of day, time zones, and what else `timestamp`s are made of and cut into.

use super::Builtin;
use super::args::{Args, Result, error};
use super::list::{f, nullable};
use super::time::shifted;
use crate::error::SqlState;
use crate::types::Type::*;
use crate::value::calendar::{Civil, DAY, HOUR, MINUTE, SECOND, check_timestamp};
use crate::value::zone::Zone;
use crate::value::{Interval as Span, TimeTz, Value};

const OVERFLOW: SqlState = SqlState::DATETIME_FIELD_OVERFLOW;

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("+", &[Time, Interval], Time, time_plus),
    f("+", &[Interval, Time], Time, plus_time),
    f("-", &[Time, Interval], Time, time_minus),
    f("-", &[Time, Time], Interval, time_difference),
    f("+", &[Timetz, Interval], Timetz, timetz_plus),
    f("-", &[Timetz, Interval], Timetz, timetz_minus),
    f("+", &[Date, Time], Timestamp, date_plus_time),
    f("+", &[Time, Date], Timestamp, time_plus_date),
    f("+", &[Date, Timetz], Timestamptz, date_plus_timetz),
    f("timezone", &[Text, Timestamp], Timestamptz, local_in_zone),
    f("timezone", &[Text, Timestamptz], Timestamp, moment_in_zone),
    f("timezone", &[Interval, Timestamp], Timestamptz, local_in_offset),
    f("timezone", &[Interval, Timestamptz], Timestamp, moment_in_offset),
    f("timezone", &[Text, Timetz], Timetz, timetz_in_zone),
    f("make_time", &[Int4, Int4, Float8], Time, make_time),
    f("make_timestamp", &[Int4, Int4, Int4, Int4, Int4, Float8], Timestamp, make_timestamp),
    f("make_timestamptz", &[Int4, Int4, Int4, Int4, Int4, Float8], Timestamptz, make_timestamptz),
    f("make_timestamptz", &[Int4, Int4, Int4, Int4, Int4, Float8, Text], Timestamptz, make_timestamptz),
    f("date_trunc", &[Text, Timestamptz, Text], Timestamptz, trunc_in_zone),
    f("date_bin", &[Interval, Timestamp, Timestamp], Timestamp, bin),
    f("date_bin", &[Interval, Timestamptz, Timestamptz], Timestamptz, bin),
    f("justify_interval", &[Interval], Interval, justify_interval),
    f("isfinite", &[Interval], Bool, always),
    nullable("overlaps", &[Timestamp, Timestamp, Timestamp, Timestamp], Bool, overlaps),
    nullable("overlaps", &[Timestamptz, Timestamptz, Timestamptz, Timestamptz], Bool, overlaps),
    nullable("overlaps", &[Time, Time, Time, Time], Bool, overlaps),
    nullable("overlaps", &[Timestamp, Interval, Timestamp, Interval], Bool, overlaps),
    nullable("overlaps", &[Timestamptz, Interval, Timestamptz, Interval], Bool, overlaps),
    nullable("overlaps", &[Timestamp, Timestamp, Timestamp, Interval], Bool, overlaps),
    nullable("overlaps", &[Timestamp, Interval, Timestamp, Timestamp], Bool, overlaps),
];

fn time_of(args: &[Value], i: usize) -> Result<i64> {
    match args.any(i)? {
        Value::Time(t) => Ok(*t),
        other => error(SqlState::INTERNAL_ERROR, format!("expected a time, found {other:?}")),
    }
}

fn timetz_of(args: &[Value], i: usize) -> Result<TimeTz> {
    match args.any(i)? {
        Value::Timetz(t) => Ok(*t),
        other => error(SqlState::INTERNAL_ERROR, format!("expected a timetz, found {other:?}")),
    }
}

/// A time of day moved by an interval's time; it runs round the clock.
fn moved(time: i64, by: i64) -> i64 {
    (i128::from(time) + i128::from(by)).rem_euclid(i128::from(DAY)) as i64
}

fn time_plus(args: &[Value]) -> Result {
    Ok(Value::Time(moved(time_of(args, 0)?, args.interval(1)?.micros)))
}

fn plus_time(args: &[Value]) -> Result {
    Ok(Value::Time(moved(time_of(args, 1)?, args.interval(0)?.micros)))
}

fn time_minus(args: &[Value]) -> Result {
    Ok(Value::Time(moved(time_of(args, 0)?, args.interval(1)?.micros.saturating_neg())))
}

fn time_difference(args: &[Value]) -> Result {
    Ok(Value::Interval(Span::new(0, 0, time_of(args, 0)? - time_of(args, 1)?)))
}

fn timetz_plus(args: &[Value]) -> Result {
    let t = timetz_of(args, 0)?;
    Ok(Value::Timetz(TimeTz { micros: moved(t.micros, args.interval(1)?.micros), ..t }))
}

fn timetz_minus(args: &[Value]) -> Result {
    let t = timetz_of(args, 0)?;
    Ok(Value::Timetz(TimeTz { micros: moved(t.micros, args.interval(1)?.micros.saturating_neg()), ..t }))
}

fn at_time(date: i32, time: i64, east: i64) -> Result<i64> {
    match date {
        i32::MAX => Ok(i64::MAX),
        i32::MIN => Ok(i64::MIN),
        _ => check_timestamp(i128::from(date) * i128::from(DAY) + i128::from(time - east)),
    }
}

fn date_plus_time(args: &[Value]) -> Result {
    at_time(args.date(0)?, time_of(args, 1)?, 0).map(Value::Timestamp)
}

fn time_plus_date(args: &[Value]) -> Result {
    at_time(args.date(1)?, time_of(args, 0)?, 0).map(Value::Timestamp)
}

fn date_plus_timetz(args: &[Value]) -> Result {
    let t = timetz_of(args, 1)?;
    at_time(args.date(0)?, t.micros, i64::from(t.east) * SECOND).map(Value::Timestamptz)
}

/// Moves a moment by microseconds; the infinite ones stay.
fn by(moment: i64, micros: i64) -> Result<i64> {
    shifted(moment, Span::new(0, 0, micros))
}

/// `timestamp AT TIME ZONE zone`: the moment at which clocks there show this.
fn local_in_zone(args: &[Value]) -> Result {
    let (zone, local) = (Zone::parse(args.text(0)?)?, args.timestamp(1)?);
    by(local, -zone.east_when(local)).map(Value::Timestamptz)
}

/// `timestamptz AT TIME ZONE zone`: what clocks there show at that moment.
fn moment_in_zone(args: &[Value]) -> Result {
    let (zone, moment) = (Zone::parse(args.text(0)?)?, args.timestamp(1)?);
    by(moment, zone.east_at(moment)).map(Value::Timestamp)
}

fn offset_of(args: &[Value]) -> Result<i64> {
    let span = args.interval(0)?;
    if span.months != 0 || span.days != 0 {
        let message = format!("interval time zone \"{span}\" must not include months or days");
        return error(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    Ok(span.micros)
}

fn local_in_offset(args: &[Value]) -> Result {
    by(args.timestamp(1)?, -offset_of(args)?).map(Value::Timestamptz)
}

fn moment_in_offset(args: &[Value]) -> Result {
    by(args.timestamp(1)?, offset_of(args)?).map(Value::Timestamp)
}

fn timetz_in_zone(args: &[Value]) -> Result {
    let (zone, t) = (Zone::parse(args.text(0)?)?, timetz_of(args, 1)?);
    let east = zone.east_at(0);
    let micros = moved(t.micros, east - i64::from(t.east) * SECOND);
    Ok(Value::Timetz(TimeTz { micros, east: (east / SECOND) as i32 }))
}

/// Microseconds of a time given by its fields.
fn clock(args: &[Value], from: usize) -> Result<i64> {
    let (hour, minute, second) = (args.int(from)?, args.int(from + 1)?, args.float(from + 2)?);
    let micros = (second * 1e6).round_ties_even();
    let fits = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0 * 1e6).contains(&micros);
    let time = if fits { hour * HOUR + minute * MINUTE + micros as i64 } else { DAY + 1 };
    if time > DAY {
        let shown = if second == second.trunc() { format!("{second:02}") } else { format!("{second}") };
        return error(OVERFLOW, format!("time field value out of range: {hour}:{minute:02}:{shown}"));
    }
    Ok(time)
}

fn make_time(args: &[Value]) -> Result {
    clock(args, 0).map(Value::Time)
}

fn civil_moment(args: &[Value]) -> Result<i64> {
    let (year, month, day) = (args.int(0)?, args.int(1)?, args.int(2)?);
    let date = Civil { year: if year < 0 { year + 1 } else { year }, month, day };
    if year == 0 || !date.is_valid() {
        return error(OVERFLOW, format!("date field value out of range: {year}-{month:02}-{day:02}"));
    }
    check_timestamp(i128::from(date.days()) * i128::from(DAY) + i128::from(clock(args, 3)?))
}

fn make_timestamp(args: &[Value]) -> Result {
    civil_moment(args).map(Value::Timestamp)
}

fn make_timestamptz(args: &[Value]) -> Result {
    let local = civil_moment(args)?;
    if args.len() < 7 {
        return Ok(Value::Timestamptz(local));
    }
    let zone = Zone::parse(args.text(6)?)?;
    by(local, -zone.east_when(local)).map(Value::Timestamptz)
}

/// `date_trunc` by the clocks of a zone.
fn trunc_in_zone(args: &[Value]) -> Result {
    let (zone, moment) = (Zone::parse(args.text(2)?)?, args.timestamp(1)?);
    let local = by(moment, zone.east_at(moment))?;
    let cut = super::field::date_trunc(&[args.any(0)?.clone(), Value::Timestamp(local)])?;
    let local = [cut].timestamp(0)?;
    by(local, -zone.east_when(local)).map(Value::Timestamptz)
}

/// The beginning of the bin of that width, counted from an origin.
fn bin(args: &[Value]) -> Result {
    let (stride, source, origin) = (args.interval(0)?, args.timestamp(1)?, args.timestamp(2)?);
    if stride.months != 0 {
        return error(
            SqlState::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        );
    }
    let width = i128::from(stride.days) * i128::from(DAY) + i128::from(stride.micros);
    if width <= 0 {
        return error(OVERFLOW, "stride must be greater than zero");
    }
    let rewrap = |t: i64| match args.first() {
        _ if matches!(args.get(1), Some(Value::Timestamptz(_))) => Value::Timestamptz(t),
        _ => Value::Timestamp(t),
    };
    if matches!(source, i64::MAX | i64::MIN) {
        return Ok(rewrap(source));
    }
    let distance = (i128::from(source) - i128::from(origin)).div_euclid(width) * width;
    check_timestamp(i128::from(origin) + distance).map(rewrap)
}

/// Days of 24 hours, months of 30 days, signs alike.
fn justify_interval(args: &[Value]) -> Result {
    let span = args.interval(0)?;
    let (mut months, mut days, mut micros) = (i64::from(span.months), i64::from(span.days), span.micros);
    if days > 0 && micros > 0 || days < 0 && micros < 0 {
        (months, days) = (months + days / 30, days % 30);
    }
    (days, micros) = (days + micros / DAY, micros % DAY);
    (months, days) = (months + days / 30, days % 30);
    if months > 0 && (days < 0 || days == 0 && micros < 0) {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
        (months, days) = (months + 1, days - 30);
    }
    if days > 0 && micros < 0 {
        (days, micros) = (days - 1, micros + DAY);
    } else if days < 0 && micros > 0 {
        (days, micros) = (days + 1, micros - DAY);
    }
    let (Ok(months), Ok(days)) = (i32::try_from(months), i32::try_from(days)) else {
        return error(OVERFLOW, "interval out of range");
    };
    Ok(Value::Interval(Span::new(months, days, micros)))
}

fn always(args: &[Value]) -> Result {
    args.interval(0).map(|_| Value::Bool(true))
}

/// Two spans of time, each from a beginning to an end or for a length.
fn overlaps(args: &[Value]) -> Result {
    let end = |start: &Value, end: &Value| -> Result {
        match (start, end) {
            (Value::Null, Value::Interval(_)) => Ok(Value::Null),
            (Value::Timestamp(t), Value::Interval(i)) => shifted(*t, *i).map(Value::Timestamp),
            (Value::Timestamptz(t), Value::Interval(i)) => shifted(*t, *i).map(Value::Timestamptz),
            (_, end) => Ok(end.clone()),
        }
    };
    let (mut a, mut c) = (args.any(0)?.clone(), args.any(2)?.clone());
    let (mut b, mut d) = (end(&a, args.any(1)?)?, end(&c, args.any(3)?)?);
    // NULL is last in the order, so an open end is a late one.
    if a > b {
        (a, b) = (b, a);
    }
    if c > d {
        (c, d) = (d, c);
    }
    if a.is_null() || c.is_null() {
        return Ok(Value::Null);
    }
    // The end of the one that begins first decides, unless it is open.
    let (early, late, late_end) = match a.cmp(&c) {
        std::cmp::Ordering::Equal if b.is_null() || d.is_null() => return Ok(Value::Null),
        std::cmp::Ordering::Equal => return Ok(Value::Bool(true)),
        std::cmp::Ordering::Less => (b, c, d),
        std::cmp::Ordering::Greater => (d, a, b),
    };
    Ok(match () {
        () if early.is_null() => Value::Null,
        () if late < early => Value::Bool(true),
        () if late_end.is_null() => Value::Null,
        () => Value::Bool(false),
    })
}
