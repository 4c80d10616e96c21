//! Functions of numbers.

use super::args::{Args, Result, error};
use super::arithmetic::{finite, not_underflown};
use crate::error::SqlState;
use crate::value::transcendental::{self, LOGARITHM, POWER};
use crate::value::{Value, numeric};

macro_rules! float {
    ($($name:ident = $compute:expr;)*) => {
        $(pub(super) fn $name(args: &[Value]) -> Result {
            let compute: fn(f64) -> f64 = $compute;
            Ok(Value::Float(compute(args.float(0)?)))
        })*
    };
}

float! {
    abs_float = f64::abs;
    ceil_float = f64::ceil;
    floor_float = f64::floor;
    round_float = f64::round_ties_even;
    trunc_float = f64::trunc;
    sign_float = |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0));
}

macro_rules! decimal {
    ($($name:ident = $compute:expr;)*) => {
        $(pub(super) fn $name(args: &[Value]) -> Result {
            let compute: fn(&bigdecimal::BigDecimal) -> bigdecimal::BigDecimal = $compute;
            Ok(Value::numeric(compute(args.numeric(0)?)))
        })*
    };
}

decimal! {
    abs_numeric = |n| n.abs();
    ceil_numeric = numeric::ceil;
    floor_numeric = numeric::floor;
    round_numeric = |n| numeric::round(n, 0);
    trunc_numeric = |n| numeric::trunc(n, 0);
    sign_numeric = numeric::signum;
}

/// Digits that `round(n, digits)` may be asked for.
fn digits(args: &[Value]) -> Result<i64> {
    Ok(args.int(1)?.clamp(-2000, 2000))
}

pub(super) fn round_numeric_to(args: &[Value]) -> Result {
    Ok(Value::numeric(numeric::round(args.numeric(0)?, digits(args)?)))
}

pub(super) fn trunc_numeric_to(args: &[Value]) -> Result {
    Ok(Value::numeric(numeric::trunc(args.numeric(0)?, digits(args)?)))
}

/// The quotient, cut to an integer.
pub(super) fn div_whole(args: &[Value]) -> Result {
    let (a, b) = (args.numeric(0)?, args.numeric(1)?);
    let rest = numeric::rem(a, b)?;
    let whole = numeric::div(&numeric::sub(a, &rest)?, b)?;
    Ok(Value::numeric(numeric::round(&whole, 0)))
}

pub(super) fn sqrt_numeric(args: &[Value]) -> Result {
    let n = args.numeric(0)?;
    if n.sign() == bigdecimal::num_bigint::Sign::Minus {
        return error(POWER, "cannot take square root of a negative number");
    }
    Ok(Value::numeric(numeric::sqrt(n)))
}

pub(super) fn sqrt_float(args: &[Value]) -> Result {
    let x = args.float(0)?;
    if x < 0.0 {
        return error(POWER, "cannot take square root of a negative number");
    }
    Ok(Value::Float(x.sqrt()))
}

pub(super) fn power_numeric(args: &[Value]) -> Result {
    transcendental::power(args.numeric(0)?, args.numeric(1)?).map(Value::numeric)
}

pub(super) fn power_float(args: &[Value]) -> Result {
    let (base, exponent) = (args.float(0)?, args.float(1)?);
    if base == 0.0 && exponent < 0.0 {
        return error(POWER, "zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return error(POWER, "a negative number raised to a non-integer power yields a complex result");
    }
    let power = base.powf(exponent);
    not_underflown(power, base != 0.0 && base.is_finite() && exponent.is_finite())?;
    finite(power, &[base, exponent])
}

pub(super) fn ln_numeric(args: &[Value]) -> Result {
    transcendental::ln(args.numeric(0)?).map(Value::numeric)
}

pub(super) fn log10_numeric(args: &[Value]) -> Result {
    transcendental::log(&numeric::from_i64(10), args.numeric(0)?).map(Value::numeric)
}

pub(super) fn log_numeric(args: &[Value]) -> Result {
    transcendental::log(args.numeric(0)?, args.numeric(1)?).map(Value::numeric)
}

pub(super) fn exp_numeric(args: &[Value]) -> Result {
    transcendental::exp(args.numeric(0)?).map(Value::numeric)
}

pub(super) fn exp_float(args: &[Value]) -> Result {
    let x = args.float(0)?;
    not_underflown(x.exp(), x.is_finite())?;
    finite(x.exp(), &[x])
}

pub(super) fn ln_float(args: &[Value]) -> Result {
    Ok(Value::Float(loggable(args.float(0)?)?.ln()))
}

pub(super) fn log10_float(args: &[Value]) -> Result {
    Ok(Value::Float(loggable(args.float(0)?)?.log10()))
}

fn loggable(x: f64) -> Result<f64> {
    if x == 0.0 {
        return error(LOGARITHM, "cannot take logarithm of zero");
    }
    if x < 0.0 {
        return error(LOGARITHM, "cannot take logarithm of a negative number");
    }
    Ok(x)
}

pub(super) fn pi(_: &[Value]) -> Result {
    Ok(Value::Float(std::f64::consts::PI))
}

/// The greatest common divisor.
pub(super) fn gcd(args: &[Value]) -> Result {
    let (mut a, mut b) = (args.int(0)?.unsigned_abs(), args.int(1)?.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    match i64::try_from(a) {
        Ok(gcd) => Ok(Value::Int(gcd)),
        Err(_) => error(SqlState::NUMERIC_OUT_OF_RANGE, "bigint out of range"),
    }
}
