//! Operators on numbers.
//!
//! Integers overflow per width, and every width words its error itself; division cuts towards zero. Floats report
//! overflow and underflow, never an infinity out of finite operands. Exact decimals are computed in
//! [`crate::value::numeric`].

use super::args::{Args, Result, error};
use crate::error::{SqlError, SqlState};
use crate::value::{Value, numeric};

/// A width of integers, and its name in errors.
struct Width {
    name: &'static str,
    min: i64,
    max: i64,
}

const INT2: Width = Width { name: "smallint", min: i16::MIN as i64, max: i16::MAX as i64 };
const INT4: Width = Width { name: "integer", min: i32::MIN as i64, max: i32::MAX as i64 };
const INT8: Width = Width { name: "bigint", min: i64::MIN, max: i64::MAX };

impl Width {
    fn check(&self, result: Option<i64>) -> Result {
        match result {
            Some(i) if (self.min..=self.max).contains(&i) => Ok(Value::Int(i)),
            _ => error(SqlState::NUMERIC_OUT_OF_RANGE, format!("{} out of range", self.name)),
        }
    }
}

/// One function per operator and width: `int! { add_int2, add_int4, add_int8 = |a, b| ... }`.
macro_rules! int {
    ($($two:ident, $four:ident, $eight:ident = $compute:expr;)*) => {
        $(
            pub(super) fn $two(args: &[Value]) -> Result {
                binary(args, &INT2, $compute)
            }
            pub(super) fn $four(args: &[Value]) -> Result {
                binary(args, &INT4, $compute)
            }
            pub(super) fn $eight(args: &[Value]) -> Result {
                binary(args, &INT8, $compute)
            }
        )*
    };
}

int! {
    add_int2, add_int4, add_int8 = |a, b| Ok(a.checked_add(b));
    sub_int2, sub_int4, sub_int8 = |a, b| Ok(a.checked_sub(b));
    mul_int2, mul_int4, mul_int8 = |a, b| Ok(a.checked_mul(b));
    div_int2, div_int4, div_int8 = |a, b| nonzero(b).map(|b| a.checked_div(b));
    // The smallest integer modulo -1 is 0 although its quotient overflows.
    rem_int2, rem_int4, rem_int8 = |a, b| nonzero(b).map(|b| Some(a.wrapping_rem(b)));
}

fn binary(args: &[Value], width: &Width, compute: fn(i64, i64) -> Result<Option<i64>>) -> Result {
    width.check(compute(args.int(0)?, args.int(1)?)?)
}

fn nonzero(divisor: i64) -> Result<i64> {
    if divisor == 0 { Err(division_by_zero()) } else { Ok(divisor) }
}

/// One function per sign and width.
macro_rules! int_unary {
    ($($name:ident = $width:ident, $compute:expr;)*) => {
        $(pub(super) fn $name(args: &[Value]) -> Result {
            let compute: fn(i64) -> Option<i64> = $compute;
            $width.check(compute(args.int(0)?))
        })*
    };
}

int_unary! {
    neg_int2 = INT2, i64::checked_neg;
    neg_int4 = INT4, i64::checked_neg;
    neg_int8 = INT8, i64::checked_neg;
    abs_int2 = INT2, i64::checked_abs;
    abs_int4 = INT4, i64::checked_abs;
    abs_int8 = INT8, i64::checked_abs;
    plus_int = INT8, Some;
}

macro_rules! decimal {
    ($($name:ident = $compute:path;)*) => {
        $(pub(super) fn $name(args: &[Value]) -> Result {
            $compute(args.numeric(0)?, args.numeric(1)?).map(Value::numeric)
        })*
    };
}

decimal! {
    add_numeric = numeric::add;
    sub_numeric = numeric::sub;
    mul_numeric = numeric::mul;
    div_numeric = numeric::div;
    rem_numeric = numeric::rem;
}

pub(super) fn neg_numeric(args: &[Value]) -> Result {
    Ok(Value::numeric(numeric::neg(args.numeric(0)?)))
}

pub(super) fn plus_numeric(args: &[Value]) -> Result {
    args.numeric(0)?;
    Ok(args.any(0)?.clone())
}

pub(super) fn add_float(args: &[Value]) -> Result {
    let (a, b) = (args.float(0)?, args.float(1)?);
    finite(a + b, &[a, b])
}

pub(super) fn sub_float(args: &[Value]) -> Result {
    let (a, b) = (args.float(0)?, args.float(1)?);
    finite(a - b, &[a, b])
}

pub(super) fn mul_float(args: &[Value]) -> Result {
    let (a, b) = (args.float(0)?, args.float(1)?);
    not_underflown(a * b, a != 0.0 && b != 0.0)?;
    finite(a * b, &[a, b])
}

pub(super) fn div_float(args: &[Value]) -> Result {
    let (a, b) = (args.float(0)?, args.float(1)?);
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    not_underflown(a / b, a != 0.0 && !b.is_infinite())?;
    finite(a / b, &[a, b])
}

pub(super) fn neg_float(args: &[Value]) -> Result {
    Ok(Value::Float(-args.float(0)?))
}

pub(super) fn plus_float(args: &[Value]) -> Result {
    Ok(Value::Float(args.float(0)?))
}

/// The result, unless it is infinite though no operand was.
pub(super) fn finite(result: f64, operands: &[f64]) -> Result {
    if result.is_infinite() && !operands.iter().any(|x| x.is_infinite()) {
        return error(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow");
    }
    Ok(Value::Float(result))
}

/// Refuses a zero that exact arithmetic would not have given.
pub(super) fn not_underflown(result: f64, expect_nonzero: bool) -> Result<()> {
    if result == 0.0 && expect_nonzero {
        return error(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: underflow");
    }
    Ok(())
}

pub(super) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}
