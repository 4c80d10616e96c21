//! Text output, byte for byte PostgreSQL's.

use std::fmt::{self, Write};
use std::sync::Arc;

use bigdecimal::BigDecimal;

use super::calendar::{write_clock, write_date, write_timestamp};
use super::{Value, numeric};

impl fmt::Display for Value {
    /// What the type's output function writes; NULL, which has none, is written `NULL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(b) => f.write_str(if *b { "t" } else { "f" }),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => f.write_str(&float_text(*x)),
            Value::Numeric(n) => f.write_str(&numeric::to_text(n)),
            Value::Text(t) => f.write_str(t),
            Value::Date(days) => write_date(f, *days),
            Value::Timestamp(t) => write_timestamp(f, *t, ""),
            Value::Timestamptz(t) => write_timestamp(f, *t, "+00"),
            Value::Interval(i) => write!(f, "{i}"),
            Value::Uuid(u) => write!(f, "{}", uuid::Uuid::from_u128(*u)),
            Value::Record(fields) => write_record(f, fields),
            Value::Real(x) => f.write_str(&real_text(*x)),
            Value::Bpchar(t) | Value::Json(t) => f.write_str(t),
            Value::Bytea(bytes) => super::bytea::write_hex(f, bytes),
            Value::Time(t) => write_clock(f, t.unsigned_abs()),
            Value::Timetz(t) => write!(f, "{t}"),
            Value::Jsonb(json) => write!(f, "{json}"),
            Value::Array(array) => write!(f, "{array}"),
            Value::Range(range) => write!(f, "{range}"),
            Value::Enum(label) => f.write_str(&label.label),
        }
    }
}

/// The value as a `text`: `::text`, which spells booleans out.
pub(crate) fn text_of(value: &Value) -> Arc<str> {
    match value {
        Value::Text(t) => t.clone(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        // The blanks mean nothing, so they are not taken along.
        Value::Bpchar(t) => super::order::unpadded(t).into(),
        other => other.to_string().into(),
    }
}

/// The fewest digits that read back the same; with an exponent below 1e-4 and from 1e15.
fn float_text(x: f64) -> String {
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let scientific = shortest(x);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        let decimals = (digit_count(digits) as i32 - 1 - exponent).max(0) as usize;
        return format!("{x:.decimals$}");
    }
    format!("{digits}e{exponent:+03}")
}

/// The fewest digits that read back the same; with an exponent below 1e-4 and from 1e6.
fn real_text(x: f32) -> String {
    if !x.is_finite() {
        return float_text(x.into());
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = (digit_count(digits) as i32 - 1 - exponent).max(0) as usize;
        return format!("{x:.decimals$}");
    }
    format!("{digits}e{exponent:+03}")
}

/// The fewest digits that read back the same, in scientific notation. Rust writes them too, but PostgreSQL does not
/// take digits that are exactly half way to the next float, though they would read back by rounding to even, and of two
/// equally near takes the even ones. Both happen only where floats are sparse or digits many.
fn shortest(x: f64) -> String {
    let text = format!("{x:e}");
    let count = digit_count(text.split('e').next().unwrap_or(""));
    if count < 15 && x.abs() < 2f64.powi(53) {
        return text;
    }
    let fits = |text: &String| text.parse() == Ok(x) && !is_half_way(text, x);
    (count..=17).map(|n| format!("{x:.*e}", n - 1)).find(fits).unwrap_or(text)
}

fn digit_count(mantissa: &str) -> usize {
    mantissa.bytes().filter(u8::is_ascii_digit).count()
}

/// The decimal is the middle of a float and a neighbour.
fn is_half_way(decimal: &str, x: f64) -> bool {
    let exact = |x: f64| BigDecimal::try_from(x).ok();
    let is_middle = |other: f64| Some(decimal.parse::<BigDecimal>().ok()? * 2 == exact(x)? + exact(other)?);
    [x.next_up(), x.next_down()].into_iter().any(|other| is_middle(other) == Some(true))
}

/// `(1,,"two words","say ""hi""")`
pub(super) fn write_record(f: &mut fmt::Formatter<'_>, fields: &[Value]) -> fmt::Result {
    f.write_char('(')?;
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            f.write_char(',')?;
        }
        if !field.is_null() {
            write_field(f, &field.to_string())?;
        }
    }
    f.write_char(')')
}

fn write_field(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_ascii_whitespace() || c == '\x0b';
    if !text.is_empty() && !text.contains(special) {
        return f.write_str(text);
    }
    f.write_char('"')?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_char(c)?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}
