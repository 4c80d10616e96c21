//! Bits of integers, trigonometry, and what else numbers can do that is seldom asked.

use bigdecimal::BigDecimal;

use super::Builtin;
use super::args::{Args, Result, error};
use super::arithmetic::{finite, not_underflown};
use super::list::{f, variadic};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::types::Type::{self, *};
use crate::value::{Value, numeric};

const DECIMAL: Type = Numeric(None);

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("&", &[Int2, Int2], Int2, and),
    f("&", &[Int4, Int4], Int4, and),
    f("&", &[Int8, Int8], Int8, and),
    f("|", &[Int2, Int2], Int2, or),
    f("|", &[Int4, Int4], Int4, or),
    f("|", &[Int8, Int8], Int8, or),
    f("#", &[Int2, Int2], Int2, xor),
    f("#", &[Int4, Int4], Int4, xor),
    f("#", &[Int8, Int8], Int8, xor),
    f("~", &[Int2], Int2, not),
    f("~", &[Int4], Int4, not),
    f("~", &[Int8], Int8, not),
    f("<<", &[Int2, Int4], Int2, left_int2),
    f("<<", &[Int4, Int4], Int4, left_int4),
    f("<<", &[Int8, Int4], Int8, left_int8),
    f(">>", &[Int2, Int4], Int2, right_int2),
    f(">>", &[Int4, Int4], Int4, right_int4),
    f(">>", &[Int8, Int4], Int8, right_int8),
    f("@", &[Int4], Int4, super::arithmetic::abs_int4),
    f("@", &[Int8], Int8, super::arithmetic::abs_int8),
    f("@", &[DECIMAL], DECIMAL, super::math::abs_numeric),
    f("@", &[Float8], Float8, super::math::abs_float),
    f("+", &[Float4, Float4], Float4, add_real),
    f("-", &[Float4, Float4], Float4, sub_real),
    f("*", &[Float4, Float4], Float4, mul_real),
    f("/", &[Float4, Float4], Float4, div_real),
    f("+", &[Float4, Float8], Float8, add_mixed),
    f("+", &[Float8, Float4], Float8, add_mixed),
    f("-", &[Float4, Float8], Float8, sub_mixed),
    f("-", &[Float8, Float4], Float8, sub_mixed),
    f("*", &[Float4, Float8], Float8, mul_mixed),
    f("*", &[Float8, Float4], Float8, mul_mixed),
    f("/", &[Float4, Float8], Float8, div_mixed),
    f("/", &[Float8, Float4], Float8, div_mixed),
    f("-", &[Float4], Float4, neg_real),
    f("+", &[Float4], Float4, plus_real),
    f("abs", &[Float4], Float4, abs_real),
    f("sin", &[Float8], Float8, sin),
    f("cos", &[Float8], Float8, cos),
    f("tan", &[Float8], Float8, tan),
    f("cot", &[Float8], Float8, cot),
    f("asin", &[Float8], Float8, asin),
    f("acos", &[Float8], Float8, acos),
    f("atan", &[Float8], Float8, atan),
    f("atan2", &[Float8, Float8], Float8, atan2),
    f("degrees", &[Float8], Float8, degrees),
    f("radians", &[Float8], Float8, radians),
    f("cbrt", &[Float8], Float8, cbrt),
    f("log10", &[Float8], Float8, super::math::log10_float),
    f("log10", &[DECIMAL], DECIMAL, super::math::log10_numeric),
    f("lcm", &[Int4, Int4], Int4, lcm_int4),
    f("lcm", &[Int8, Int8], Int8, lcm_int8),
    f("factorial", &[Int8], DECIMAL, factorial),
    f("scale", &[DECIMAL], Int4, scale),
    f("min_scale", &[DECIMAL], Int4, min_scale),
    f("trim_scale", &[DECIMAL], DECIMAL, trim_scale),
    f("width_bucket", &[Float8, Float8, Float8, Int4], Int4, width_bucket),
    variadic("num_nulls", &[Unknown], Int4, num_nulls),
    variadic("num_nonnulls", &[Unknown], Int4, num_nonnulls),
    f("bit_length", &[Text], Int4, bit_length),
];

fn and(args: &[Value]) -> Result {
    Ok(Value::Int(args.int(0)? & args.int(1)?))
}

fn or(args: &[Value]) -> Result {
    Ok(Value::Int(args.int(0)? | args.int(1)?))
}

fn xor(args: &[Value]) -> Result {
    Ok(Value::Int(args.int(0)? ^ args.int(1)?))
}

fn not(args: &[Value]) -> Result {
    Ok(Value::Int(!args.int(0)?))
}

/// One function per direction and width: what leaves the width is lost, and the distance counts modulo it.
macro_rules! shifts {
    ($($left:ident, $right:ident: $wide:ty, $mask:expr;)*) => {
        $(
            fn $left(args: &[Value]) -> Result {
                let (n, by) = (args.int(0)? as $wide, (args.int(1)? & $mask) as u32);
                Ok(Value::Int(i64::from((i64::from(n) << by) as $wide)))
            }
            fn $right(args: &[Value]) -> Result {
                let (n, by) = (args.int(0)? as $wide, (args.int(1)? & $mask) as u32);
                Ok(Value::Int(i64::from(n) >> by))
            }
        )*
    };
}

shifts! {
    left_int2, right_int2: i16, 31;
    left_int4, right_int4: i32, 31;
    left_int8, right_int8: i64, 63;
}

fn real(args: &[Value], i: usize) -> Result<f32> {
    match args.any(i)? {
        Value::Real(x) => Ok(*x),
        other => error(SqlState::INTERNAL_ERROR, format!("expected a real, found {other:?}")),
    }
}

/// The result, unless it left the range.
fn checked(result: f32, operands: [f32; 2], expect_nonzero: bool) -> Result {
    if result.is_infinite() && !operands.iter().any(|x| x.is_infinite()) {
        return error(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow");
    }
    not_underflown(result.into(), expect_nonzero)?;
    Ok(Value::Real(result))
}

fn add_real(args: &[Value]) -> Result {
    let (a, b) = (real(args, 0)?, real(args, 1)?);
    checked(a + b, [a, b], false)
}

fn sub_real(args: &[Value]) -> Result {
    let (a, b) = (real(args, 0)?, real(args, 1)?);
    checked(a - b, [a, b], false)
}

fn mul_real(args: &[Value]) -> Result {
    let (a, b) = (real(args, 0)?, real(args, 1)?);
    checked(a * b, [a, b], a != 0.0 && b != 0.0)
}

fn div_real(args: &[Value]) -> Result {
    let (a, b) = (real(args, 0)?, real(args, 1)?);
    if b == 0.0 && !a.is_nan() {
        return Err(super::arithmetic::division_by_zero());
    }
    checked(a / b, [a, b], a != 0.0 && !b.is_infinite())
}

/// A real and a double, as two doubles.
fn widened(args: &[Value]) -> Result<[Value; 2]> {
    let double = |i: usize| -> Result {
        Ok(match args.any(i)? {
            Value::Real(x) => Value::Float((*x).into()),
            other => other.clone(),
        })
    };
    Ok([double(0)?, double(1)?])
}

fn add_mixed(args: &[Value]) -> Result {
    super::arithmetic::add_float(&widened(args)?)
}

fn sub_mixed(args: &[Value]) -> Result {
    super::arithmetic::sub_float(&widened(args)?)
}

fn mul_mixed(args: &[Value]) -> Result {
    super::arithmetic::mul_float(&widened(args)?)
}

fn div_mixed(args: &[Value]) -> Result {
    super::arithmetic::div_float(&widened(args)?)
}

fn neg_real(args: &[Value]) -> Result {
    Ok(Value::Real(-real(args, 0)?))
}

fn plus_real(args: &[Value]) -> Result {
    Ok(Value::Real(real(args, 0)?))
}

fn abs_real(args: &[Value]) -> Result {
    Ok(Value::Real(real(args, 0)?.abs()))
}

/// A function of a finite angle.
fn angle(args: &[Value], compute: fn(f64) -> f64) -> Result {
    let x = args.float(0)?;
    match x.is_infinite() {
        true => out_of_range(),
        false => finite(compute(x), &[x]),
    }
}

fn out_of_range<T>() -> Result<T> {
    error(SqlState::NUMERIC_OUT_OF_RANGE, "input is out of range")
}

fn sin(args: &[Value]) -> Result {
    angle(args, f64::sin)
}

fn cos(args: &[Value]) -> Result {
    angle(args, f64::cos)
}

fn tan(args: &[Value]) -> Result {
    angle(args, f64::tan)
}

fn cot(args: &[Value]) -> Result {
    let x = args.float(0)?;
    if x.is_infinite() { out_of_range() } else { Ok(Value::Float(1.0 / x.tan())) }
}

fn asin(args: &[Value]) -> Result {
    let x = args.float(0)?;
    if x.abs() > 1.0 { out_of_range() } else { Ok(Value::Float(x.asin())) }
}

fn acos(args: &[Value]) -> Result {
    let x = args.float(0)?;
    if x.abs() > 1.0 { out_of_range() } else { Ok(Value::Float(x.acos())) }
}

fn atan(args: &[Value]) -> Result {
    Ok(Value::Float(args.float(0)?.atan()))
}

fn atan2(args: &[Value]) -> Result {
    Ok(Value::Float(args.float(0)?.atan2(args.float(1)?)))
}

fn degrees(args: &[Value]) -> Result {
    let x = args.float(0)?;
    finite(x / (std::f64::consts::PI / 180.0), &[x])
}

fn radians(args: &[Value]) -> Result {
    Ok(Value::Float(args.float(0)? * (std::f64::consts::PI / 180.0)))
}

fn cbrt(args: &[Value]) -> Result {
    Ok(Value::Float(args.float(0)?.cbrt()))
}

fn lcm(args: &[Value], max: i64, name: &str) -> Result {
    let (a, b) = (args.int(0)?.unsigned_abs(), args.int(1)?.unsigned_abs());
    if a == 0 || b == 0 {
        return Ok(Value::Int(0));
    }
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    let product = (a / x).checked_mul(b).and_then(|n| i64::try_from(n).ok()).filter(|n| *n <= max);
    product.map(Value::Int).ok_or_else(|| SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{name} out of range")))
}

fn lcm_int4(args: &[Value]) -> Result {
    lcm(args, i32::MAX.into(), "integer")
}

fn lcm_int8(args: &[Value]) -> Result {
    lcm(args, i64::MAX, "bigint")
}

fn factorial(args: &[Value]) -> Result {
    let n = args.int(0)?;
    if n < 0 {
        return error(SqlState::NUMERIC_OUT_OF_RANGE, "factorial of a negative number is undefined");
    }
    if n > 32_177 {
        return error(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    }
    product(1, n.max(1)).map(Value::numeric)
}

/// `from * (from + 1) * ... * to`, halved again and again: factors of like size are multiplied, and few of them.
fn product(from: i64, to: i64) -> Result<BigDecimal> {
    if from >= to {
        return Ok(numeric::from_i64(from));
    }
    let middle = from + (to - from) / 2;
    let (low, high) = (product(from, middle)?, product(middle + 1, to)?);
    budget::spend(numeric::weight(&low) + numeric::weight(&high))?;
    numeric::mul(&low, &high)
}

fn scale(args: &[Value]) -> Result {
    Ok(Value::Int(numeric::parts(args.numeric(0)?).1.max(0)))
}

fn min_scale(args: &[Value]) -> Result {
    Ok(Value::Int(trimmed(args)?.1))
}

fn trim_scale(args: &[Value]) -> Result {
    Ok(Value::numeric(trimmed(args)?.0))
}

/// The number without zeros at the end of its fraction, and the scale that leaves it.
fn trimmed(args: &[Value]) -> Result<(bigdecimal::BigDecimal, i64)> {
    let text = numeric::to_text(args.numeric(0)?);
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let scale = short.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    let number = numeric::parse(short)?.unwrap_or_else(|| numeric::from_i64(0));
    Ok((number, scale))
}

fn width_bucket(args: &[Value]) -> Result {
    const INVALID: SqlState = SqlState(*b"2201G");
    let (x, low, high, count) = (args.float(0)?, args.float(1)?, args.float(2)?, args.int(3)?);
    if count <= 0 {
        return error(INVALID, "count must be greater than zero");
    }
    if x.is_nan() || low.is_nan() || high.is_nan() {
        return error(INVALID, "operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return error(INVALID, "lower and upper bounds must be finite");
    }
    let at = |x: f64, low: f64, high: f64| match () {
        () if x < low => 0,
        () if x >= high => count + 1,
        () => ((x - low) / (high - low) * count as f64) as i64 + 1,
    };
    match low.total_cmp(&high) {
        std::cmp::Ordering::Less => Ok(Value::Int(at(x, low, high))),
        std::cmp::Ordering::Greater => Ok(Value::Int(match () {
            () if x > low => 0,
            () if x <= high => count + 1,
            () => ((low - x) / (low - high) * count as f64) as i64 + 1,
        })),
        std::cmp::Ordering::Equal => error(INVALID, "lower bound cannot equal upper bound"),
    }
}

fn num_nulls(args: &[Value]) -> Result {
    Ok(Value::Int(args.iter().filter(|v| v.is_null()).count() as i64))
}

fn num_nonnulls(args: &[Value]) -> Result {
    Ok(Value::Int(args.iter().filter(|v| !v.is_null()).count() as i64))
}

fn bit_length(args: &[Value]) -> Result {
    Ok(Value::Int(args.text(0)?.len() as i64 * 8))
}
