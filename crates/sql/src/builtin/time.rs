//! Arithmetic with dates, timestamps and intervals.
//!
//! An interval's months are added first, by the calendar: a day that the month does not have becomes its last. Then its
//! days, then its time. `timestamptz` is the same arithmetic, as the zone is UTC.

use super::args::{Args, Result, error};
use crate::error::SqlState;
use crate::value::calendar::{
    Civil, DAY, HOUR, MINUTE, UNIX_EPOCH_DAYS, check_date, check_timestamp, month_length, split,
};
use crate::value::{Interval, Value, date_to_timestamp};

const OVERFLOW: SqlState = SqlState::DATETIME_FIELD_OVERFLOW;

/// Rewraps microseconds in the kind of timestamp the argument was.
fn like(kind: &Value, micros: i64) -> Value {
    if matches!(kind, Value::Timestamptz(_)) { Value::Timestamptz(micros) } else { Value::Timestamp(micros) }
}

/// A moment moved by an interval; the infinite ones do not move.
pub(super) fn shifted(moment: i64, by: Interval) -> Result<i64> {
    if matches!(moment, i64::MIN | i64::MAX) {
        return Ok(moment);
    }
    let (days, time) = split(moment);
    let days = if by.months == 0 { days } else { shift_months(days, by.months.into()) };
    let days = i128::from(days) + i128::from(by.days);
    check_timestamp(days * i128::from(DAY) + i128::from(time) + i128::from(by.micros))
}

fn shift_months(days: i64, months: i64) -> i64 {
    let date = Civil::from_days(days);
    let total = date.year * 12 + (date.month - 1) + months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    Civil { year, month, day: date.day.min(month_length(year, month)) }.days()
}

pub(super) fn timestamp_plus_interval(args: &[Value]) -> Result {
    Ok(like(args.any(0)?, shifted(args.timestamp(0)?, args.interval(1)?)?))
}

pub(super) fn interval_plus_timestamp(args: &[Value]) -> Result {
    Ok(like(args.any(1)?, shifted(args.timestamp(1)?, args.interval(0)?)?))
}

pub(super) fn timestamp_minus_interval(args: &[Value]) -> Result {
    Ok(like(args.any(0)?, shifted(args.timestamp(0)?, args.interval(1)?.checked_neg()?)?))
}

pub(super) fn date_plus_interval(args: &[Value]) -> Result {
    shifted(date_to_timestamp(args.date(0)?)?, args.interval(1)?).map(Value::Timestamp)
}

pub(super) fn interval_plus_date(args: &[Value]) -> Result {
    shifted(date_to_timestamp(args.date(1)?)?, args.interval(0)?).map(Value::Timestamp)
}

pub(super) fn date_minus_interval(args: &[Value]) -> Result {
    shifted(date_to_timestamp(args.date(0)?)?, args.interval(1)?.checked_neg()?).map(Value::Timestamp)
}

pub(super) fn date_plus_int(args: &[Value]) -> Result {
    move_date(args.date(0)?, args.int(1)?)
}

pub(super) fn int_plus_date(args: &[Value]) -> Result {
    move_date(args.date(1)?, args.int(0)?)
}

pub(super) fn date_minus_int(args: &[Value]) -> Result {
    move_date(args.date(0)?, -args.int(1)?)
}

fn move_date(date: i32, days: i64) -> Result {
    if matches!(date, i32::MIN | i32::MAX) {
        return Ok(Value::Date(date));
    }
    check_date(i64::from(date) + days).map(Value::Date)
}

pub(super) fn date_minus_date(args: &[Value]) -> Result {
    let (a, b) = (args.date(0)?, args.date(1)?);
    if [a, b].iter().any(|d| matches!(*d, i32::MIN | i32::MAX)) {
        return error(OVERFLOW, "cannot subtract infinite dates");
    }
    Ok(Value::Int(i64::from(a) - i64::from(b)))
}

/// Days and time; never months.
pub(super) fn timestamp_minus_timestamp(args: &[Value]) -> Result {
    let (a, b) = (args.timestamp(0)?, args.timestamp(1)?);
    if [a, b].iter().any(|t| matches!(*t, i64::MIN | i64::MAX)) {
        return error(OVERFLOW, "cannot subtract infinite timestamps");
    }
    match a.checked_sub(b) {
        Some(micros) => Ok(Value::Interval(Interval::new(0, (micros / DAY) as i32, micros % DAY))),
        None => error(OVERFLOW, "interval out of range"),
    }
}

pub(super) fn add_interval(args: &[Value]) -> Result {
    args.interval(0)?.checked_add(args.interval(1)?).map(Value::Interval)
}

pub(super) fn sub_interval(args: &[Value]) -> Result {
    args.interval(0)?.checked_sub(args.interval(1)?).map(Value::Interval)
}

pub(super) fn neg_interval(args: &[Value]) -> Result {
    args.interval(0)?.checked_neg().map(Value::Interval)
}

pub(super) fn mul_interval(args: &[Value]) -> Result {
    args.interval(0)?.checked_mul(args.float(1)?).map(Value::Interval)
}

pub(super) fn interval_times(args: &[Value]) -> Result {
    args.interval(1)?.checked_mul(args.float(0)?).map(Value::Interval)
}

pub(super) fn div_interval(args: &[Value]) -> Result {
    args.interval(0)?.checked_div(args.float(1)?).map(Value::Interval)
}

/// `age(a, b)`: the difference in years, months and days, as people count it.
pub(super) fn age(args: &[Value]) -> Result {
    let (a, b) = (args.timestamp(0)?, args.timestamp(1)?);
    if [a, b].iter().any(|t| matches!(*t, i64::MIN | i64::MAX)) {
        return error(OVERFLOW, "timestamp out of range");
    }
    let (later, earlier) = (a.max(b), a.min(b));
    let ((later_days, later_time), (earlier_days, earlier_time)) = (split(later), split(earlier));
    let (to, from) = (Civil::from_days(later_days), Civil::from_days(earlier_days));
    let mut months = (to.year - from.year) * 12 + to.month - from.month;
    let mut days = to.day - from.day;
    let mut time = later_time - earlier_time;
    if time < 0 {
        time += DAY;
        days -= 1;
    }
    if days < 0 {
        // The month that was begun is as long as the one of the earlier moment.
        days += month_length(from.year, from.month);
        months -= 1;
    }
    let age = Interval::new(months as i32, days as i32, time);
    Ok(Value::Interval(if a < b { age.checked_neg()? } else { age }))
}

/// 24 hours are a day, within the sign of the whole.
pub(super) fn justify_hours(args: &[Value]) -> Result {
    let i = args.interval(0)?;
    let days = i128::from(i.days) + i128::from(i.micros / DAY);
    let (days, micros) = same_sign(days, (i.micros % DAY).into(), DAY.into());
    justified(i.months.into(), days, micros)
}

/// 30 days are a month.
pub(super) fn justify_days(args: &[Value]) -> Result {
    let i = args.interval(0)?;
    let (months, days) = same_sign(i128::from(i.months) + i128::from(i.days / 30), (i.days % 30).into(), 30);
    justified(months, days, i.micros.into())
}

/// Borrows one of the larger unit when the parts differ in sign.
fn same_sign(large: i128, small: i128, ratio: i128) -> (i128, i128) {
    if large > 0 && small < 0 {
        (large - 1, small + ratio)
    } else if large < 0 && small > 0 {
        (large + 1, small - ratio)
    } else {
        (large, small)
    }
}

fn justified(months: i128, days: i128, micros: i128) -> Result {
    match (months.try_into(), days.try_into(), micros.try_into()) {
        (Ok(months), Ok(days), Ok(micros)) => Ok(Value::Interval(Interval { months, days, micros })),
        _ => error(OVERFLOW, "interval out of range"),
    }
}

pub(super) fn isfinite_date(args: &[Value]) -> Result {
    Ok(Value::Bool(!matches!(args.date(0)?, i32::MIN | i32::MAX)))
}

pub(super) fn isfinite_timestamp(args: &[Value]) -> Result {
    Ok(Value::Bool(!matches!(args.timestamp(0)?, i64::MIN | i64::MAX)))
}

pub(super) fn make_date(args: &[Value]) -> Result {
    let (year, month, day) = (args.int(0)?, args.int(1)?, args.int(2)?);
    let date = Civil { year: if year < 0 { year + 1 } else { year }, month, day };
    if year == 0 || !date.is_valid() {
        return error(OVERFLOW, format!("date field value out of range: {year}-{month:02}-{day:02}"));
    }
    check_date(date.days())
        .map(Value::Date)
        .or_else(|_| error(OVERFLOW, format!("date out of range: {year}-{month:02}-{day:02}")))
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`, all of them.
pub(super) fn make_interval(args: &[Value]) -> Result {
    let months = i128::from(args.int(0)?) * 12 + i128::from(args.int(1)?);
    let days = i128::from(args.int(2)?) * 7 + i128::from(args.int(3)?);
    let seconds = (args.float(6)? * 1e6).round_ties_even();
    if !seconds.is_finite() {
        return error(OVERFLOW, "interval out of range");
    }
    let clock = i128::from(args.int(4)?) * i128::from(HOUR) + i128::from(args.int(5)?) * i128::from(MINUTE);
    justified(months, days, clock + seconds as i128)
}

/// Seconds since 1970.
pub(super) fn to_timestamp(args: &[Value]) -> Result {
    let seconds = args.float(0)?;
    match seconds {
        f64::INFINITY => return Ok(Value::Timestamptz(i64::MAX)),
        f64::NEG_INFINITY => return Ok(Value::Timestamptz(i64::MIN)),
        _ if seconds.is_nan() => return error(OVERFLOW, "timestamp cannot be NaN"),
        _ => {}
    }
    let micros = ((seconds - UNIX_EPOCH_DAYS as f64 * 86_400.0) * 1e6).round_ties_even();
    let out_of_range = || error(OVERFLOW, format!("timestamp out of range: \"{}\"", Value::Float(seconds)));
    check_timestamp(micros as i128).map(Value::Timestamptz).or_else(|_| out_of_range())
}
