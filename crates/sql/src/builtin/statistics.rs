//! Variances and standard deviations.
//!
//! Over floats by Youngs and Cramer, value by value, as PostgreSQL does; over exact numbers from the sums of values and
//! of squares, which are exact, so that only the division rounds.

use bigdecimal::BigDecimal;

use super::args::Result;
use crate::value::{Value, numeric};

/// The variance of values, or its root; `sample` divides by one less than their number.
pub(super) fn spread(values: &[Value], sample: bool, root: bool) -> Result {
    if values.is_empty() || sample && values.len() < 2 {
        return Ok(Value::Null);
    }
    let floats: Option<Vec<f64>> =
        values.iter().map(|v| if let Value::Float(x) = v { Some(*x) } else { None }).collect();
    match floats {
        Some(floats) => Ok(of_floats(&floats, sample, root)),
        None => of_numbers(values, sample, root),
    }
}

fn of_floats(values: &[f64], sample: bool, root: bool) -> Value {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for x in values {
        n += 1.0;
        sum += x;
        if n > 1.0 {
            let difference = x * n - sum;
            squares += difference * difference / (n * (n - 1.0));
        } else if !x.is_finite() {
            squares = f64::NAN;
        }
    }
    let variance = squares / if sample { n - 1.0 } else { n };
    Value::Float(if root { variance.sqrt() } else { variance })
}

fn of_numbers(values: &[Value], sample: bool, root: bool) -> Result {
    let zero = || numeric::from_i64(0);
    let (mut sum, mut squares) = (zero(), zero());
    for value in values {
        let x: BigDecimal = match value {
            Value::Int(i) => numeric::from_i64(*i),
            Value::Numeric(n) => (**n).clone(),
            _ => return Ok(Value::Null),
        };
        sum = numeric::add(&sum, &x)?;
        squares = numeric::add(&squares, &numeric::mul(&x, &x)?)?;
    }
    let n = numeric::from_i64(values.len() as i64);
    let rest = numeric::sub(&numeric::mul(&n, &squares)?, &numeric::mul(&sum, &sum)?)?;
    if !numeric::compare(&rest, &zero()).is_gt() {
        return Ok(Value::numeric(zero()));
    }
    let divisor = if sample { numeric::sub(&n, &numeric::from_i64(1))? } else { n.clone() };
    let variance = numeric::div(&rest, &numeric::mul(&n, &divisor)?)?;
    Ok(Value::numeric(if root { numeric::sqrt(&variance) } else { variance }))
}
