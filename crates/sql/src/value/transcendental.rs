//! Powers and logarithms of `numeric`, to the scale PostgreSQL gives them.
//!
//! Computed in fixed point, integers that count units of `10^-scale`, with guard digits beyond what is kept. The
//! logarithm halves its argument's distance to 1 by square roots and sums the series of atanh; the exponential divides
//! its argument by a power of two, sums Taylor's series and squares back.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{One, Signed, ToPrimitive, Zero};

use super::numeric::{
    INTEGRAL_MAX, SCALE_MAX, checked, compare, digit_count, from_i64, leading, new, overflow, parts, power_of_ten,
    quotient, round, to_f64, trunc,
};
use crate::error::{SqlError, SqlState};

/// Digits computed beyond those that are kept.
const GUARD: i64 = 12;

/// `base ^ exponent`
pub fn power(base: &BigDecimal, exponent: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let (negative, zero) = (parts(base).0.is_negative(), parts(base).0.is_zero());
    if zero && parts(exponent).0.is_negative() {
        return Err(power_error("zero raised to a negative power is undefined"));
    }
    let whole = trunc(exponent, 0);
    if compare(&whole, exponent).is_eq() {
        if let Some(n) = parts(&whole).0.to_i32() {
            return power_int(base, n.into());
        }
    } else if negative {
        return Err(power_error("a negative number raised to a non-integer power yields a complex result"));
    }
    if zero {
        return Ok(new(BigInt::zero(), 16));
    }
    let odd = negative && (&*parts(&whole).0 % BigInt::from(2)) != BigInt::zero();
    let magnitude = new(parts(base).0.abs(), parts(base).1);
    let ln_result = ln_f64(&magnitude) * to_f64(exponent);
    if let Some(zero) = underflow(ln_result)? {
        return Ok(zero);
    }
    let digits = ln_result * std::f64::consts::LOG10_E;
    let scale = scale_for(digits as i64, &[base, exponent]);
    let work = scale + GUARD + digits.max(0.0) as i64 + digit_count(&parts(&whole).0);
    let log = ln_fixed(&magnitude, work + 20);
    let product = new(log * &*parts(exponent).0, work + 20 + parts(exponent).1);
    let result = round(&new(exp_fixed(&product, work), work), scale);
    Ok(if odd { super::numeric::neg(&result) } else { result })
}

/// An integral power: exact, then rounded to 16 digits after the point or as many as the base shows.
fn power_int(base: &BigDecimal, exponent: i64) -> Result<BigDecimal, SqlError> {
    let zero = parts(base).0.is_zero();
    let digits = if zero { 0.0 } else { exponent as f64 * log10_f64(base) };
    if digits > INTEGRAL_MAX as f64 + 1.0 {
        return Err(overflow());
    }
    let scale = parts(base).1.clamp(16, SCALE_MAX);
    if digits + 2.0 < -(scale as f64) {
        return Ok(new(BigInt::zero(), scale));
    }
    // Each product keeps as many significant digits as the result shows, and some more.
    let significant = scale + digits.abs() as i64 + GUARD + 20;
    let mut result = from_i64(1);
    let mut square = base.clone();
    let mut rest = exponent.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            result = significant_digits(&result * &square, significant);
        }
        rest >>= 1;
        if rest > 0 {
            square = significant_digits(&square * &square, significant);
        }
    }
    checked(if exponent < 0 { quotient(&from_i64(1), &result, scale) } else { round(&result, scale) })
}

fn significant_digits(n: BigDecimal, count: i64) -> BigDecimal {
    let excess = digit_count(&parts(&n).0) - count;
    let scale = parts(&n).1;
    // A negative scale stands for zeros before the point: `round` would write them out.
    if excess <= 0 { n } else { new(&*parts(&n).0 / power_of_ten(excess), scale - excess) }
}

/// The natural logarithm.
pub fn ln(n: &BigDecimal) -> Result<BigDecimal, SqlError> {
    check_logarithm(n)?;
    let scale = scale_for(ln_weight(n), &[n]);
    Ok(round(&new(ln_fixed(n, scale + GUARD), scale + GUARD), scale))
}

/// The logarithm to any base.
pub fn log(base: &BigDecimal, n: &BigDecimal) -> Result<BigDecimal, SqlError> {
    check_logarithm(base)?;
    check_logarithm(n)?;
    let scale = scale_for(ln_weight(n) - ln_weight(base), &[base, n]);
    let work = scale + 2 * GUARD;
    let (above, below) = (new(ln_fixed(n, work), work), new(ln_fixed(base, work), work));
    if parts(&below).0.is_zero() {
        return Err(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    Ok(quotient(&above, &below, scale))
}

/// e to the power of a number.
pub fn exp(n: &BigDecimal) -> Result<BigDecimal, SqlError> {
    if let Some(zero) = underflow(to_f64(n))? {
        return Ok(zero);
    }
    let digits = to_f64(n) * std::f64::consts::LOG10_E;
    let scale = scale_for(digits as i64, &[n]);
    let work = scale + GUARD + digits.max(0.0) as i64;
    Ok(round(&new(exp_fixed(n, work), work), scale))
}

/// Sixteen significant digits for a result of so many decimal digits, no fewer than any operand shows.
fn scale_for(weight: i64, operands: &[&BigDecimal]) -> i64 {
    let shown = operands.iter().map(|n| parts(n).1).max().unwrap_or(0);
    (16 - weight).max(shown).clamp(0, SCALE_MAX)
}

/// The decimal weight of a logarithm, as PostgreSQL estimates it.
fn ln_weight(n: &BigDecimal) -> i64 {
    let x = to_f64(n);
    if (0.9..=1.1).contains(&x) {
        let (weight, word) = leading(&(n - from_i64(1)));
        return if word == 0 { 0 } else { weight * 4 + f64::from(word).log10() as i64 };
    }
    ln_f64(n).abs().log10() as i64
}

fn ln_f64(n: &BigDecimal) -> f64 {
    log10_f64(n) / std::f64::consts::LOG10_E
}

fn log10_f64(n: &BigDecimal) -> f64 {
    let (digits, scale) = parts(n);
    let count = digit_count(&digits);
    let mantissa = to_f64(&new(digits.abs(), count - 1));
    mantissa.log10() + (count - 1 - scale) as f64
}

/// `ln(n) · 10^scale`
fn ln_fixed(n: &BigDecimal, scale: i64) -> BigInt {
    let (digits, digits_scale) = parts(n);
    // n = m · 10^shift with m within [0.1, 1), so that huge and tiny numbers need no more terms.
    let shift = digit_count(&digits) - digits_scale;
    let work = scale + 20;
    let unit = power_of_ten(work);
    let mantissa = fixed(&new(digits.into_owned(), digits_scale + shift), work);
    let ln_mantissa = ln_of_fixed(mantissa, &unit);
    let ln_ten = -ln_of_fixed(&unit / 10, &unit);
    (ln_mantissa + ln_ten * shift) / power_of_ten(20)
}

/// Logarithm of `x / unit`, which is within [0.1, 1], by roots and `ln x = 2 atanh((x-1)/(x+1))`.
fn ln_of_fixed(mut x: BigInt, unit: &BigInt) -> BigInt {
    let mut doublings = 1u32;
    for _ in 0..6 {
        x = (x * unit).sqrt();
        doublings += 1;
    }
    let z: BigInt = (&x - unit) * unit / (&x + unit);
    let square: BigInt = &z * &z / unit;
    let (mut term, mut sum, mut k) = (z.clone(), z, 3u32);
    while !term.is_zero() {
        term = term * &square / unit;
        sum += &term / k;
        k += 2;
    }
    sum << doublings
}

/// `e^n · 10^scale`
fn exp_fixed(n: &BigDecimal, scale: i64) -> BigInt {
    // Halved until it is below 2^-8; squaring back doubles the error each time, which the extra digits take.
    let halvings = (to_f64(n).abs().max(1.0).log2() as u32) + 9;
    let work = scale + 20 + i64::from(halvings);
    let unit = power_of_ten(work);
    let x = fixed(n, work) >> halvings;
    let (mut term, mut sum, mut k) = (unit.clone(), unit.clone(), BigInt::one());
    while !term.is_zero() {
        term = term * &x / (&unit * &k);
        sum += &term;
        k += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &unit;
    }
    sum / power_of_ten(work - scale)
}

/// `n · 10^scale`, the rest cut off.
fn fixed(n: &BigDecimal, scale: i64) -> BigInt {
    let (digits, digits_scale) = parts(n);
    let shift = scale - digits_scale;
    if shift >= 0 { &*digits * power_of_ten(shift) } else { &*digits / power_of_ten(-shift) }
}

/// Beyond e^±6000 PostgreSQL does not compute: it overflows, or is zero.
fn underflow(ln_result: f64) -> Result<Option<BigDecimal>, SqlError> {
    if ln_result >= 6000.0 {
        return Err(overflow());
    }
    Ok((ln_result <= -6000.0).then(|| new(BigInt::zero(), SCALE_MAX)))
}

fn check_logarithm(n: &BigDecimal) -> Result<(), SqlError> {
    let digits = parts(n).0;
    if digits.is_zero() {
        return Err(SqlError::new(LOGARITHM, "cannot take logarithm of zero"));
    }
    if digits.is_negative() {
        return Err(SqlError::new(LOGARITHM, "cannot take logarithm of a negative number"));
    }
    Ok(())
}

/// `invalid_argument_for_logarithm`
pub const LOGARITHM: SqlState = SqlState(*b"2201E");
/// `invalid_argument_for_power_function`
pub const POWER: SqlState = SqlState(*b"2201F");

fn power_error(message: &'static str) -> SqlError {
    SqlError::new(POWER, message)
}
