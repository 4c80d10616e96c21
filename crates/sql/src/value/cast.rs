//! Conversions between types, with the errors PostgreSQL gives when a value does not fit.
//!
//! A cast converts, then applies the target's limit: `numeric(10,2)` rounds, `varchar(5)` refuses what is longer, or
//! cuts it where the cast was written out. Text becomes a value through the type's input function and a value becomes
//! text through [`super::display`].

use std::sync::Arc;

use super::calendar::{self, DAY};
use super::parse_time::{self, parse_interval};
use super::{TimeTz, Value, display::text_of, numeric};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::{Type, UserType};

type Result<T = Value> = std::result::Result<T, SqlError>;

/// The value as one of type `to`. An `explicit` cast cuts a text that is too long for a `varchar`; others fail.
pub fn cast(value: &Value, from: Type, to: Type, explicit: bool) -> Result {
    if value.is_null() {
        return Ok(Value::Null);
    }
    budget::spend(value.weight())?;
    if matches!(value, Value::Array(_) | Value::Record(_) | Value::Jsonb(_)) && to != from {
        budget::hold(value.bytes())?;
    }
    limit(convert(value, from, to)?, to, explicit)
}

fn convert(value: &Value, from: Type, to: Type) -> Result {
    use Value::*;
    Ok(match (value, to.underlying().base()) {
        (_, Type::Text | Type::Varchar(_)) => Text(text_of(value)),
        (Bpchar(_), Type::Bpchar(_)) => value.clone(),
        (_, Type::Bpchar(_)) => Bpchar(text_of(value)),
        (Text(text), _) => return parse(text, to.underlying()),
        (Bpchar(text), _) => return parse(text, to.underlying()),
        (Int(i), Type::Int2 | Type::Int4 | Type::Int8) => Int(to_width(Some(*i), to)?),
        (Int(i), Type::Numeric(_)) => Value::numeric(numeric::from_i64(*i)),
        (Int(i), Type::Float8) => Float(*i as f64),
        (Int(i), Type::Bool) => Bool(*i != 0),
        (Bool(b), Type::Int4) => Int(i64::from(*b)),
        (Numeric(n), Type::Int2 | Type::Int4 | Type::Int8) => Int(to_width(numeric::to_i64(n), to)?),
        (Numeric(n), Type::Float8) => Float(numeric_to_float(n)?),
        (Float(x), Type::Int2 | Type::Int4 | Type::Int8) => Int(to_width(float_to_int(*x), to)?),
        (Float(x), Type::Numeric(_)) => Value::numeric(numeric::from_f64(*x).ok_or_else(not_a_number)?),
        (Int(i), Type::Float4) => Real(*i as f32),
        (Numeric(n), Type::Float4) => Real(to_real(numeric_to_float(n)?, || numeric::to_text(n))?),
        (Float(x), Type::Float4) => Real(narrowed(*x)?),
        (Real(x), Type::Float8) => Float((*x).into()),
        (Real(x), Type::Int2 | Type::Int4 | Type::Int8) => Int(to_width(float_to_int((*x).into()), to)?),
        (Real(x), Type::Numeric(_)) => {
            // Six digits are what a real is good for.
            let rounded = format!("{x:.5e}").parse::<f64>().unwrap_or((*x).into());
            Value::numeric(numeric::from_f64(rounded).ok_or_else(not_a_number)?)
        }
        (Timestamp(t) | Timestamptz(t), Type::Time) => match *t {
            i64::MAX | i64::MIN => Null,
            t => Time(calendar::split(t).1),
        },
        (Timestamptz(t), Type::Timetz) => match *t {
            i64::MAX | i64::MIN => Null,
            t => Timetz(TimeTz { micros: calendar::split(t).1, east: 0 }),
        },
        (Time(t), Type::Interval) => Interval(super::Interval::new(0, 0, *t)),
        (Time(t), Type::Timetz) => Timetz(TimeTz { micros: *t, east: 0 }),
        (Timetz(t), Type::Time) => Time(t.micros),
        (Interval(i), Type::Time) => Time(i.micros.rem_euclid(DAY)),
        (Json(text), Type::Jsonb) => Value::jsonb(super::Json::parse(text)?),
        (Jsonb(json), Type::Json) => Json(json.to_string().into()),
        (Jsonb(json), other) if !matches!(other, Type::Jsonb) => return from_jsonb(json, other, to),
        (Array(array), Type::Array(_)) => {
            let element = |ty: Type| ty.underlying().element().unwrap_or(Type::Unknown);
            let convert = |value: &Value| cast(value, element(from), element(to), true);
            Value::Array(Arc::new(array.map(convert)?))
        }
        (Record(fields), Type::Composite(ty)) => return to_composite(fields, ty),
        (Enum(label), Type::Enum(ty)) => Value::Enum(enum_label(&label.label, ty)?),
        (Date(d), Type::Timestamp) => Timestamp(date_to_timestamp(*d)?),
        (Date(d), Type::Timestamptz) => Timestamptz(date_to_timestamp(*d)?),
        (Timestamp(t) | Timestamptz(t), Type::Date) => Date(timestamp_to_date(*t)),
        (Timestamp(t) | Timestamptz(t), Type::Timestamp) => Timestamp(*t),
        (Timestamp(t) | Timestamptz(t), Type::Timestamptz) => Timestamptz(*t),
        (Bool(_), Type::Bool)
        | (Float(_), Type::Float8)
        | (Numeric(_), Type::Numeric(_))
        | (Date(_), Type::Date)
        | (Interval(_), Type::Interval)
        | (Uuid(_), Type::Uuid)
        | (Real(_), Type::Float4)
        | (Bytea(_), Type::Bytea)
        | (Time(_), Type::Time)
        | (Timetz(_), Type::Timetz)
        | (Json(_), Type::Json)
        | (Jsonb(_), Type::Jsonb)
        | (Range(_), Type::Range(_))
        | (Record(_), Type::Record)
        | (_, Type::Unknown) => value.clone(),
        _ => return Err(SqlError::new(CANNOT_COERCE, format!("cannot cast type {from} to {to}"))),
    })
}

const CANNOT_COERCE: SqlState = SqlState(*b"42846");

/// A number, boolean or null inside a `jsonb`, as that type.
fn from_jsonb(json: &super::Json, kind: Type, to: Type) -> Result {
    use super::Json;
    let name = match kind {
        Type::Bool => "boolean".to_owned(),
        other => other.to_string(),
    };
    let wrong = |what: &str| {
        let message = format!("cannot cast jsonb {what} to type {name}");
        Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
    };
    match (json, kind) {
        (Json::Bool(b), Type::Bool) => Ok(Value::Bool(*b)),
        (Json::Number(n), kind) if kind.is_number() => {
            cast(&Value::numeric(n.clone()), Type::Numeric(None), to.underlying(), true)
        }
        (Json::Null, _) => wrong("null"),
        (Json::Bool(_), _) => wrong("boolean"),
        (Json::String(_), _) => wrong("string"),
        (Json::Number(_), _) => wrong("numeric"),
        (Json::Array(_), _) => wrong("array"),
        (Json::Object(_), _) => wrong("object"),
    }
}

/// The label of an enum.
fn enum_label(text: &str, ty: UserType) -> Result<Arc<super::EnumLabel>> {
    ty.labels().iter().find(|l| &*l.label == text).cloned().ok_or_else(|| {
        let message = format!("invalid input value for enum {}: \"{text}\"", ty.name());
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// A row of any type as one of a composite type, field by field.
fn to_composite(fields: &[Value], ty: UserType) -> Result {
    if fields.len() != ty.fields().len() {
        return Err(SqlError::new(CANNOT_COERCE, format!("cannot cast type record to {}", ty.name())));
    }
    let cast = |(value, (_, ty)): (&Value, &(_, Type))| cast(value, kind_of(value), *ty, false);
    fields.iter().zip(ty.fields()).map(cast).collect::<Result<Vec<_>>>().map(Value::record)
}

/// A type of which the value could be.
fn kind_of(value: &Value) -> Type {
    match value {
        Value::Text(_) => Type::Text,
        Value::Array(_) => Type::Text.array(),
        _ => Type::Unknown,
    }
}

/// A double as a real, if it has that range.
fn narrowed(x: f64) -> Result<f32> {
    let real = x as f32;
    let out_of_range =
        |what: &str| Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("value out of range: {what}")));
    if real.is_infinite() && x.is_finite() {
        return out_of_range("overflow");
    }
    if real == 0.0 && x != 0.0 { out_of_range("underflow") } else { Ok(real) }
}

fn to_real(x: f64, text: impl FnOnce() -> String) -> Result<f32> {
    let real = x as f32;
    if real.is_infinite() && x.is_finite() || real == 0.0 && x != 0.0 {
        let message = format!("\"{}\" is out of range for type real", text());
        return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
    }
    Ok(real)
}

/// Applies the length or precision of a type.
fn limit(value: Value, to: Type, explicit: bool) -> Result {
    match (&value, to.underlying()) {
        (Value::Bpchar(text), Type::Bpchar(Some(limit))) => {
            let (length, limit) = (text.chars().count(), limit as usize);
            if length < limit {
                return Ok(Value::Bpchar(format!("{text}{}", " ".repeat(limit - length)).into()));
            }
            match text.char_indices().nth(limit) {
                None => Ok(value),
                Some((end, _)) if explicit || text[end..].bytes().all(|b| b == b' ') => {
                    Ok(Value::Bpchar(text[..end].into()))
                }
                Some(_) => {
                    let message = format!("value too long for type character({limit})");
                    Err(SqlError::new(SqlState::STRING_TOO_LONG, message))
                }
            }
        }
        (Value::Numeric(n), Type::Numeric(Some((precision, scale)))) => {
            numeric::to_precision(n, precision, scale).map(Value::numeric)
        }
        (Value::Timestamp(t), Type::TimestampTo(digits)) => rounded(*t, digits).map(Value::Timestamp),
        (Value::Timestamptz(t), Type::TimestamptzTo(digits)) => rounded(*t, digits).map(Value::Timestamptz),
        (Value::Text(text), Type::Varchar(Some(limit))) => match text.char_indices().nth(limit as usize) {
            None => Ok(value),
            // Blanks beyond the limit are cut silently, as the standard wants.
            Some((end, _)) if explicit || text[end..].bytes().all(|b| b == b' ') => Ok(Value::text(&text[..end])),
            Some(_) => {
                let message = format!("value too long for type character varying({limit})");
                Err(SqlError::new(SqlState::STRING_TOO_LONG, message))
            }
        },
        _ => Ok(value),
    }
}

/// A moment to so many digits of a second, halves away from 2000.
fn rounded(moment: i64, digits: u8) -> Result<i64> {
    if matches!(moment, i64::MIN | i64::MAX) || digits >= 6 {
        return Ok(moment);
    }
    let unit = 10i64.pow(6 - u32::from(digits));
    let half = if moment < 0 { -unit / 2 } else { unit / 2 };
    calendar::check_timestamp(i128::from((moment.saturating_add(half)) / unit * unit))
}

/// What the input function of the type makes of a text.
fn parse(text: &Arc<str>, to: Type) -> Result {
    match to.base() {
        Type::TimestampTo(_) | Type::TimestamptzTo(_) => Ok(Value::Text(text.clone())),
        Type::Bool => parse_bool(text).map(Value::Bool).ok_or_else(|| invalid("boolean", text)),
        Type::Int2 | Type::Int4 | Type::Int8 => parse_int(text, to).map(Value::Int),
        Type::Numeric(_) => parse_numeric(text),
        Type::Float8 => parse_float(text).map(Value::Float),
        Type::Date => parse_time::parse_date(text).map(Value::Date),
        Type::Timestamp => parse_time::parse_timestamp(text, "timestamp", false).map(Value::Timestamp),
        Type::Timestamptz => {
            parse_time::parse_timestamp(text, "timestamp with time zone", true).map(Value::Timestamptz)
        }
        Type::Interval => parse_interval(text).map(Value::Interval),
        Type::Uuid => parse_uuid(text).map(Value::Uuid).ok_or_else(|| invalid("uuid", text)),
        Type::Record => {
            Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented"))
        }
        Type::Float4 => parse_real(text).map(Value::Real),
        Type::Bytea => super::bytea::parse(text).map(Value::bytea),
        Type::Time => parse_time::parse_time(text).map(Value::Time),
        Type::Timetz => parse_time::parse_timetz(text).map(Value::Timetz),
        Type::Json => super::json::check(text).map(|()| Value::Json(text.clone())),
        Type::Jsonb => super::Json::parse(text).map(Value::jsonb),
        Type::Array(_) => {
            let element = to.element().unwrap_or(Type::Text);
            let read = |text: &str| cast(&Value::text(text), Type::Text, element, false);
            Ok(Value::Array(Arc::new(super::Array::parse(text, &read)?)))
        }
        Type::Range(bounds) => super::Range::parse(text, *bounds).map(|r| Value::Range(Arc::new(r))),
        Type::Enum(ty) => enum_label(text, ty).map(Value::Enum),
        Type::Composite(ty) => super::parse_record::parse_record(text, ty),
        Type::Domain(_) => parse(text, to.underlying()),
        Type::Bpchar(_) => Ok(Value::Bpchar(text.clone())),
        Type::Text | Type::Varchar(_) | Type::Void | Type::Unknown => Ok(Value::Text(text.clone())),
    }
}

/// `invalid input syntax for type ...`
fn invalid(ty: &str, text: &str) -> SqlError {
    let message = format!("invalid input syntax for type {ty}: \"{text}\"");
    SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}

/// Any unambiguous beginning of `true`, `false`, `yes`, `no`, `on`, `off`; `1`, `0`.
fn parse_bool(text: &str) -> Option<bool> {
    let word = trim(text).to_ascii_lowercase();
    let begins = |of: &str, least: usize| word.len() >= least && of.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

fn parse_int(text: &str, ty: Type) -> Result<i64> {
    let word = trim(text);
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid(&ty.to_string(), text));
    }
    word.parse().ok().and_then(|i| to_width(Some(i), ty).ok()).ok_or_else(|| {
        let message = format!("value \"{text}\" is out of range for type {ty}");
        SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
    })
}

fn parse_numeric(text: &str) -> Result {
    match numeric::parse(text)? {
        Some(n) => Ok(Value::numeric(n)),
        None if special_float(trim(text)).is_some() => Err(not_a_number()),
        None => Err(invalid("numeric", text)),
    }
}

fn parse_float(text: &str) -> Result<f64> {
    let word = trim(text);
    if let Some(special) = special_float(word) {
        return Ok(special);
    }
    let is_decimal = word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    let parsed = is_decimal.then(|| word.parse::<f64>().ok()).flatten();
    let x = parsed.ok_or_else(|| invalid("double precision", text))?;
    let mantissa = word.split(['e', 'E']).next().unwrap_or("");
    if x.is_infinite() || x == 0.0 && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        return Err(out_of_float_range(word));
    }
    Ok(x)
}

fn parse_real(text: &str) -> Result<f32> {
    let word = trim(text);
    match parse_float(text) {
        Ok(x) => to_real(x, || word.to_owned()),
        Err(e) if e.state == SqlState::NUMERIC_OUT_OF_RANGE => {
            let message = format!("\"{word}\" is out of range for type real");
            Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message))
        }
        Err(_) => Err(invalid("real", text)),
    }
}

fn special_float(word: &str) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "inf" | "+inf" | "infinity" | "+infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// 32 hexadecimal digits, in braces or not, with a hyphen allowed after every fourth.
fn parse_uuid(text: &str) -> Option<u128> {
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let (mut uuid, mut count) = (0u128, 0);
    let mut after_hyphen = false;
    for c in inner.chars() {
        if c == '-' {
            if after_hyphen || count % 4 != 0 || count == 0 || count == 32 {
                return None;
            }
            after_hyphen = true;
            continue;
        }
        uuid = uuid << 4 | u128::from(c.to_digit(16)?);
        (count, after_hyphen) = (count + 1, false);
        if count > 32 {
            return None;
        }
    }
    (count == 32).then_some(uuid)
}

/// The integer, if the type holds it.
fn to_width(i: Option<i64>, ty: Type) -> Result<i64> {
    let fits = |i: &i64| match ty {
        Type::Int2 => i16::try_from(*i).is_ok(),
        Type::Int4 => i32::try_from(*i).is_ok(),
        _ => true,
    };
    i.filter(fits).ok_or_else(|| SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{ty} out of range")))
}

/// The nearest integer, halves to the even one.
fn float_to_int(x: f64) -> Option<i64> {
    let rounded = x.round_ties_even();
    (rounded >= i64::MIN as f64 && rounded < -(i64::MIN as f64)).then_some(rounded as i64)
}

fn numeric_to_float(n: &bigdecimal::BigDecimal) -> Result<f64> {
    let x = numeric::to_f64(n);
    let lost = x.is_infinite() || x == 0.0 && !numeric::is_zero(n);
    if lost { Err(out_of_float_range(&numeric::to_text(n))) } else { Ok(x) }
}

fn out_of_float_range(text: &str) -> SqlError {
    let message = format!("\"{text}\" is out of range for type double precision");
    SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
}

fn not_a_number() -> SqlError {
    SqlError::unsupported(Construct::NAN_OR_INFINITY_OF_TYPE_NUMERIC)
}

/// Midnight of a day.
pub(crate) fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        i32::MAX => Ok(i64::MAX),
        i32::MIN => Ok(i64::MIN),
        _ => calendar::check_timestamp(i128::from(days) * i128::from(DAY))
            .map_err(|_| SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")),
    }
}

/// The day of a moment.
fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        // A timestamp's range is within that of dates.
        _ => calendar::split(micros).0 as i32,
    }
}
