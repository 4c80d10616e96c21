//! `numeric`: exact decimals, with PostgreSQL's rules for the number of digits after the point.
//!
//! A number is `digits · 10^-scale` with `scale >= 0`; the scale is what is printed. Sums keep the larger scale,
//! products add them. A quotient gets at least 16 significant digits, counted as PostgreSQL does in groups of four
//! decimal digits (its base-10000 words), which is why `1/3` has 20 digits after the point and `10/4` sixteen.
//!
//! `NaN` and the infinities, which PostgreSQL's numeric has, are not represented.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};

use crate::error::{SqlError, SqlState};

/// Significant digits that an inexact result has at least.
const SIGNIFICANT_MIN: i64 = 16;
/// Digits after the point that an inexact result has at most.
pub(super) const SCALE_MAX: i64 = 1000;
/// Digits before the point that any number has at most.
pub(super) const INTEGRAL_MAX: i64 = 131_072;
/// Digits after the point that any number has at most.
const FRACTION_MAX: i64 = 16_383;

/// Reads what `numeric_in` reads, blanks around it allowed; `Ok(None)` is not a number.
pub fn parse(text: &str) -> Result<Option<BigDecimal>, SqlError> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], &unsigned[at + 1..]),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !is_number(&digits) || !is_number(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) {
        return Ok(None);
    }
    let exponent: i64 =
        exponent.parse().ok().filter(|e: &i64| e.abs() < i64::from(i32::MAX) / 2).ok_or_else(overflow)?;
    let magnitude: BigInt = digits.parse().map_err(|_| overflow())?;
    let scale = fraction.len() as i64 - exponent;
    if digits.trim_start_matches('0').len() as i64 - scale > INTEGRAL_MAX || scale > FRACTION_MAX {
        return Err(overflow());
    }
    let digits = if negative { -magnitude } else { magnitude };
    Ok(Some(if scale < 0 { new(digits * power_of_ten(-scale), 0) } else { new(digits, scale) }))
}

/// All digits, with `scale` of them after the point.
pub fn to_text(n: &BigDecimal) -> String {
    let (digits, scale) = parts(n);
    let magnitude = digits.magnitude().to_string();
    let scale = scale.max(0) as usize;
    let padded = format!("{magnitude:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let sign = if digits.sign() == Sign::Minus { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// The order of the numbers; scales do not matter.
pub fn compare(a: &BigDecimal, b: &BigDecimal) -> Ordering {
    let (x, sx) = parts(a);
    let (y, sy) = parts(b);
    match sx.cmp(&sy) {
        Ordering::Equal => x.cmp(&y),
        Ordering::Less => (&*x * power_of_ten(sy - sx)).cmp(&y),
        Ordering::Greater => (*x).cmp(&(&*y * power_of_ten(sx - sy))),
    }
}

/// A number without zeros at its end: equal for equal numbers.
pub(super) enum Canonical {
    /// Digits that fit a machine word, and their scale.
    Small(i128, i64),
    /// The others.
    Large(BigInt, i64),
}

/// See [`Canonical`].
pub(super) fn canonical(n: &BigDecimal) -> Canonical {
    let (digits, mut scale) = parts(n);
    let Some(mut small) = digits.to_i128() else {
        let (digits, scale) = strip_zeros(digits.into_owned(), scale);
        return match digits.to_i128() {
            Some(small) => Canonical::Small(small, scale),
            None => Canonical::Large(digits, scale),
        };
    };
    if small == 0 {
        return Canonical::Small(0, 0);
    }
    while small % 10 == 0 {
        small /= 10;
        scale -= 1;
    }
    Canonical::Small(small, scale)
}

fn strip_zeros(mut digits: BigInt, mut scale: i64) -> (BigInt, i64) {
    let ten = BigInt::from(10);
    while (&digits % &ten).is_zero() {
        digits /= &ten;
        scale -= 1;
    }
    (digits, scale)
}

/// An integer.
pub fn from_i64(i: i64) -> BigDecimal {
    new(BigInt::from(i), 0)
}

/// A float's first 15 digits, as the cast to numeric takes them. `None` for NaN and infinities.
pub fn from_f64(x: f64) -> Option<BigDecimal> {
    if !x.is_finite() {
        return None;
    }
    let scientific = format!("{x:.14e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let digits: BigInt = mantissa.replace('.', "").parse().ok()?;
    if digits.is_zero() {
        return Some(from_i64(0));
    }
    let (digits, scale) = strip_zeros(digits, 14 - exponent.parse::<i64>().ok()?);
    Some(if scale < 0 { new(digits * power_of_ten(-scale), 0) } else { new(digits, scale) })
}

/// The nearest float; infinite if there is none.
pub fn to_f64(n: &BigDecimal) -> f64 {
    let (digits, scale) = parts(n);
    format!("{digits}e{}", -scale).parse().unwrap_or(f64::NAN)
}

/// The nearest integer, halves away from zero; `None` beyond 64 bits.
pub fn to_i64(n: &BigDecimal) -> Option<i64> {
    parts(&round(n, 0)).0.to_i64()
}

/// Sum; the larger scale.
pub fn add(a: &BigDecimal, b: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let (x, y, scale) = aligned(a, b);
    checked(new(x + y, scale))
}

/// Difference; the larger scale.
pub fn sub(a: &BigDecimal, b: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let (x, y, scale) = aligned(a, b);
    checked(new(x - y, scale))
}

/// Product; the sum of the scales.
pub fn mul(a: &BigDecimal, b: &BigDecimal) -> Result<BigDecimal, SqlError> {
    let (x, sx) = parts(a);
    let (y, sy) = parts(b);
    let product = new(&*x * &*y, sx + sy);
    checked(if sx + sy > FRACTION_MAX { round(&product, FRACTION_MAX) } else { product })
}

/// Quotient, to the scale that PostgreSQL selects.
pub fn div(a: &BigDecimal, b: &BigDecimal) -> Result<BigDecimal, SqlError> {
    if is_zero(b) {
        return Err(division_by_zero());
    }
    checked(quotient(a, b, division_scale(a, b)))
}

/// Remainder, with the sign of the dividend; the larger scale.
pub fn rem(a: &BigDecimal, b: &BigDecimal) -> Result<BigDecimal, SqlError> {
    if is_zero(b) {
        return Err(division_by_zero());
    }
    let (x, y, scale) = aligned(a, b);
    Ok(new(x % y, scale))
}

/// The other sign.
pub fn neg(n: &BigDecimal) -> BigDecimal {
    let (digits, scale) = parts(n);
    new(-digits.into_owned(), scale)
}

/// To `scale` digits after the point (before it, if negative), halves away from zero.
pub fn round(n: &BigDecimal, scale: i64) -> BigDecimal {
    rescaled(n, scale, |digits, unit| {
        let half: BigInt = unit / 2;
        let shifted = if digits.is_negative() { digits - half } else { digits + half };
        shifted / unit
    })
}

/// To `scale` digits after the point, the rest cut off.
pub fn trunc(n: &BigDecimal, scale: i64) -> BigDecimal {
    rescaled(n, scale, |digits, unit| digits / unit)
}

/// The largest integer below.
pub fn floor(n: &BigDecimal) -> BigDecimal {
    let whole = trunc(n, 0);
    if compare(n, &whole).is_lt() { whole - from_i64(1) } else { whole }
}

/// The smallest integer above.
pub fn ceil(n: &BigDecimal) -> BigDecimal {
    let whole = trunc(n, 0);
    if compare(n, &whole).is_gt() { whole + from_i64(1) } else { whole }
}

/// -1, 0 or 1.
pub fn signum(n: &BigDecimal) -> BigDecimal {
    new(parts(n).0.signum(), 0)
}

/// Square root; the argument is not negative.
pub fn sqrt(n: &BigDecimal) -> BigDecimal {
    let root_weight = (leading(n).0 + 1) * 4 / 2 - 1;
    let scale = (SIGNIFICANT_MIN - root_weight).max(parts(n).1).clamp(0, SCALE_MAX);
    // One digit more than is kept, so that rounding sees the half; a root is never exactly half way unless exact.
    let (digits, digits_scale) = parts(n);
    let shift = 2 * (scale + 1) - digits_scale;
    let radicand = if shift >= 0 { &*digits * power_of_ten(shift) } else { &*digits / power_of_ten(-shift) };
    round(&new(radicand.sqrt(), scale + 1), scale)
}

/// Rounded to `scale`, and checked against the digits that `numeric(precision, scale)` leaves before the point.
pub fn to_precision(n: &BigDecimal, precision: u16, scale: i16) -> Result<BigDecimal, SqlError> {
    let rounded = round(n, scale.into());
    let integral_max = i64::from(precision) - i64::from(scale);
    let (digits, digits_scale) = parts(&rounded);
    if digits.is_zero() || digit_count(&digits) - digits_scale <= integral_max {
        return Ok(rounded);
    }
    let bound = if integral_max == 0 { "1".into() } else { format!("10^{integral_max}") };
    Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow").detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    )))
}

/// Digits and scale.
pub fn parts(n: &BigDecimal) -> (std::borrow::Cow<'_, BigInt>, i64) {
    n.as_bigint_and_scale()
}

/// What arithmetic with it costs, as work on a budget: for what fits on a line, nothing.
pub fn weight(n: &BigDecimal) -> u64 {
    let words = parts(n).0.bits() / 64;
    words.saturating_mul(words) / 16
}

/// `digits · 10^-scale`
pub fn new(digits: BigInt, scale: i64) -> BigDecimal {
    BigDecimal::new(digits, scale)
}

/// Zero, of any scale.
pub fn is_zero(n: &BigDecimal) -> bool {
    n.sign() == Sign::NoSign
}

/// `a / b` rounded to `scale`, halves away from zero; `b` is not zero.
pub(super) fn quotient(a: &BigDecimal, b: &BigDecimal, scale: i64) -> BigDecimal {
    let (x, sx) = parts(a);
    let (y, sy) = parts(b);
    let shift = scale + sy - sx;
    let (x, y) = if shift >= 0 {
        (&*x * power_of_ten(shift), y.into_owned())
    } else {
        (x.into_owned(), &*y * power_of_ten(-shift))
    };
    let negative = x.is_negative() != y.is_negative();
    let (x, y) = (x.abs(), y.abs());
    let rounded: BigInt = (x * 2 + &y) / (y * 2);
    new(if negative { -rounded } else { rounded }, scale)
}

/// `select_div_scale`: enough digits for 16 significant ones, no fewer than either operand shows.
fn division_scale(a: &BigDecimal, b: &BigDecimal) -> i64 {
    let (weight_a, first_a) = leading(a);
    let (weight_b, first_b) = leading(b);
    let weight = weight_a - weight_b - i64::from(first_a <= first_b);
    (SIGNIFICANT_MIN - weight * 4).max(parts(a).1).max(parts(b).1).clamp(0, SCALE_MAX)
}

/// The weight of the leading base-10000 word and its value.
pub(super) fn leading(n: &BigDecimal) -> (i64, u16) {
    let (digits, scale) = parts(n);
    if digits.is_zero() {
        return (0, 0);
    }
    let exponent = digit_count(&digits) - 1 - scale;
    let weight = exponent.div_euclid(4);
    let word = trunc(&new(digits.abs(), scale + 4 * weight), 0);
    (weight, parts(&word).0.to_u16().unwrap_or(0))
}

pub(super) fn digit_count(digits: &BigInt) -> i64 {
    match digits.magnitude().to_u64() {
        Some(0) => 1,
        Some(small) => i64::from(small.ilog10()) + 1,
        None => digits.magnitude().to_string().len() as i64,
    }
}

fn rescaled(n: &BigDecimal, scale: i64, cut: impl Fn(&BigInt, &BigInt) -> BigInt) -> BigDecimal {
    let (digits, old) = parts(n);
    match old.cmp(&scale) {
        Ordering::Equal => n.clone(),
        Ordering::Less => new(&*digits * power_of_ten(scale - old), scale),
        Ordering::Greater => {
            let cut = cut(&digits, &power_of_ten(old - scale));
            if scale < 0 { new(cut * power_of_ten(-scale), 0) } else { new(cut, scale) }
        }
    }
}

fn aligned(a: &BigDecimal, b: &BigDecimal) -> (BigInt, BigInt, i64) {
    let (x, sx) = parts(a);
    let (y, sy) = parts(b);
    match sx.cmp(&sy) {
        Ordering::Equal => (x.into_owned(), y.into_owned(), sx),
        Ordering::Less => (&*x * power_of_ten(sy - sx), y.into_owned(), sy),
        Ordering::Greater => (x.into_owned(), &*y * power_of_ten(sx - sy), sx),
    }
}

pub(super) fn power_of_ten(exponent: i64) -> BigInt {
    match u32::try_from(exponent) {
        Ok(small @ 0..=18) => BigInt::from(10u64.pow(small)),
        Ok(large) => BigInt::from(10).pow(large),
        Err(_) => BigInt::from(1),
    }
}

/// Within PostgreSQL's 131072 digits before the point.
pub(super) fn checked(n: BigDecimal) -> Result<BigDecimal, SqlError> {
    let (digits, scale) = parts(&n);
    // Bits tell enough unless the number is huge.
    let huge = digits.bits() as i64 / 3 > INTEGRAL_MAX && digit_count(&digits) - scale > INTEGRAL_MAX;
    if huge { Err(overflow()) } else { Ok(n) }
}

pub(super) fn overflow() -> SqlError {
    SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}
