//! `generate_series` over numbers with a fraction and over moments. Over integers, the engine counts itself.

use super::args::{Result, error};
use super::time::shifted;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::value::{Interval, Value, numeric};

/// More rows than anybody waits for.
const ROWS_MAX: usize = 10_000_000;

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

fn too_many() -> SqlError {
    SqlError::unsupported(Construct::LONG_SERIES.of(ROWS_MAX))
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
        if list.len() >= ROWS_MAX {
            return Err(too_many());
        }
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
        if list.len() >= ROWS_MAX || matches!(next, i64::MIN | i64::MAX) {
            return Err(too_many());
        }
        list.push(next);
        next = shifted(next, step)?;
    }
    Ok(list)
}
