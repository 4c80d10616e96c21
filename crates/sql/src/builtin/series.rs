//! `generate_series` over numbers with a fraction and over moments. Over integers, the engine counts itself.

use super::args::{Result, error};
use super::time::shifted;
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::value::{Interval, Value, numeric};

/// What a value of a series costs, which is kept in memory until all are there.
pub const SERIES_ROW_COST: u64 = 10;

/// The values from the first argument to the second, in steps of the third; none if one is NULL.
pub fn series(args: &[Value]) -> Result<Vec<Value>> {
    match args {
        _ if args.iter().any(Value::is_null) => Ok(Vec::new()),
        [Value::Numeric(from), Value::Numeric(to)] => numbers(from, to, &numeric::from_i64(1)),
        [Value::Numeric(from), Value::Numeric(to), Value::Numeric(step)] => numbers(from, to, step),
        [Value::Timestamp(from), Value::Timestamp(to), Value::Interval(step)] => {
            Ok(moments(*from, *to, *step)?.into_iter().map(Value::Timestamp).collect())
        }
        [Value::Timestamptz(from), Value::Timestamptz(to), Value::Interval(step)] => {
            Ok(moments(*from, *to, *step)?.into_iter().map(Value::Timestamptz).collect())
        }
        _ => Err(SqlError::unsupported(Construct::GENERATE_SERIES_OVER_THESE_TYPES)),
    }
}

fn zero_step<T>() -> Result<T> {
    error(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

fn numbers(
    from: &bigdecimal::BigDecimal,
    to: &bigdecimal::BigDecimal,
    step: &bigdecimal::BigDecimal,
) -> Result<Vec<Value>> {
    if numeric::is_zero(step) {
        return zero_step();
    }
    let up = numeric::compare(step, &numeric::from_i64(0)).is_gt();
    let (mut list, mut next) = (Vec::new(), from.clone());
    while if up { numeric::compare(&next, to).is_le() } else { numeric::compare(&next, to).is_ge() } {
        budget::spend(SERIES_ROW_COST)?;
        let after = numeric::add(&next, step)?;
        list.push(Value::numeric(std::mem::replace(&mut next, after)));
    }
    Ok(list)
}

fn moments(from: i64, to: i64, step: Interval) -> Result<Vec<i64>> {
    let up = match step.cmp(&Interval::new(0, 0, 0)) {
        std::cmp::Ordering::Equal => return zero_step(),
        order => order.is_gt(),
    };
    let (mut list, mut next) = (Vec::new(), from);
    while if up { next <= to } else { next >= to } {
        // What is infinite has no end.
        let infinite = matches!(next, i64::MIN | i64::MAX);
        budget::spend(if infinite { u64::MAX } else { SERIES_ROW_COST })?;
        list.push(next);
        next = shifted(next, step)?;
    }
    Ok(list)
}
