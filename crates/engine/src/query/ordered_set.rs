//! Aggregates of ordered sets: percentiles and the most frequent value.
//!
//! Their rows come sorted, each with the direct arguments before the value; NULLs do not count.

use isolde_sql::builtin::AggregateKind;
use isolde_sql::{SqlError, SqlState, Value};

use super::group::Keys;
use crate::plan::AggregatePlan;

/// The result over sorted rows.
pub(super) fn finish(call: &AggregatePlan, rows: impl Iterator<Item = Keys>) -> Result<Value, SqlError> {
    let rows: Vec<Keys> = rows.filter(|args| args.last().is_some_and(|v| !v.is_null())).collect();
    let Some(first) = rows.first() else { return Ok(Value::Null) };
    if call.aggregate.kind == AggregateKind::Mode {
        return Ok(mode(&rows));
    }
    let fraction = match first.first() {
        Some(Value::Float(fraction)) => *fraction,
        _ => return Ok(Value::Null),
    };
    if !(0.0..=1.0).contains(&fraction) {
        let message = format!("percentile value {fraction} is not between 0 and 1");
        return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
    }
    let value = |n: usize| rows.get(n).and_then(|args| args.last()).cloned().unwrap_or(Value::Null);
    if call.aggregate.kind == AggregateKind::PercentileDisc {
        let position = (fraction * rows.len() as f64).ceil() as usize;
        return Ok(value(position.saturating_sub(1)));
    }
    let place = fraction * (rows.len() - 1) as f64;
    let (low, high) = (place.floor(), place.ceil());
    Ok(match (value(low as usize), value(high as usize)) {
        (Value::Float(a), Value::Float(b)) => Value::Float(a + (b - a) * (place - low)),
        (Value::Interval(a), Value::Interval(b)) => {
            let distance = b.checked_sub(a)?.checked_mul(place - low)?;
            Value::Interval(a.checked_add(distance)?)
        }
        (other, _) => other,
    })
}

/// The most frequent value, the first of several.
fn mode(rows: &[Keys]) -> Value {
    let (mut best, mut best_count) = (Value::Null, 0);
    for run in rows.chunk_by(|a, b| a.last() == b.last()) {
        if run.len() > best_count {
            best_count = run.len();
            best = run[0].last().cloned().unwrap_or(Value::Null);
        }
    }
    best
}
