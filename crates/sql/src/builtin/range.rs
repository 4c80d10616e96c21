//! Ranges: constructors, operators, bounds.

use std::sync::Arc;

use super::Builtin;
use super::args::{Args, Result, error};
use super::list::{f, nullable};
use crate::error::{SqlError, SqlState};
use crate::types::Type::{self, *};
use crate::value::range::Bound;
use crate::value::{Range as Span, Value};

/// Constructors, and whether a value lies in a range.
pub(super) static FUNCTIONS: &[Builtin] = &[
    range("int4range", &[Int4, Int4], Range(&Int4)),
    range("int8range", &[Int8, Int8], Range(&Int8)),
    range("numrange", &[DECIMAL, DECIMAL], Range(&DECIMAL)),
    range("tsrange", &[Timestamp, Timestamp], Range(&Timestamp)),
    range("tstzrange", &[Timestamptz, Timestamptz], Range(&Timestamptz)),
    range("daterange", &[Date, Date], Range(&Date)),
    range("int4range", &[Int4, Int4, Text], Range(&Int4)),
    range("int8range", &[Int8, Int8, Text], Range(&Int8)),
    range("numrange", &[DECIMAL, DECIMAL, Text], Range(&DECIMAL)),
    range("tsrange", &[Timestamp, Timestamp, Text], Range(&Timestamp)),
    range("tstzrange", &[Timestamptz, Timestamptz, Text], Range(&Timestamptz)),
    range("daterange", &[Date, Date, Text], Range(&Date)),
    contains(&[Range(&Int4), Int4]),
    contains(&[Range(&Int8), Int8]),
    contains(&[Range(&DECIMAL), DECIMAL]),
    contains(&[Range(&Timestamp), Timestamp]),
    contains(&[Range(&Timestamptz), Timestamptz]),
    contains(&[Range(&Date), Date]),
    contained(&[Int4, Range(&Int4)]),
    contained(&[Int8, Range(&Int8)]),
    contained(&[DECIMAL, Range(&DECIMAL)]),
    contained(&[Timestamp, Range(&Timestamp)]),
    contained(&[Timestamptz, Range(&Timestamptz)]),
    contained(&[Date, Range(&Date)]),
];

const DECIMAL: Type = Numeric(None);

const fn range(name: &'static str, args: &'static [Type], returns: Type) -> Builtin {
    nullable(name, args, returns, make_range)
}

const fn contains(args: &'static [Type]) -> Builtin {
    f("@>", args, Bool, range_contains)
}

const fn contained(args: &'static [Type]) -> Builtin {
    f("<@", args, Bool, range_contained)
}

/// Operators and functions of every kind of range, one list per kind.
macro_rules! of_ranges {
    ($($name:ident: $bounds:expr;)*) => {
        $(pub(super) static $name: &[Builtin] = &[
            f("@>", &[Range(&$bounds), Range(&$bounds)], Bool, contains_range),
            f("<@", &[Range(&$bounds), Range(&$bounds)], Bool, contained_by_range),
            f("&&", &[Range(&$bounds), Range(&$bounds)], Bool, overlaps),
            f("<<", &[Range(&$bounds), Range(&$bounds)], Bool, before),
            f(">>", &[Range(&$bounds), Range(&$bounds)], Bool, after),
            f("-|-", &[Range(&$bounds), Range(&$bounds)], Bool, adjacent),
            f("*", &[Range(&$bounds), Range(&$bounds)], Range(&$bounds), intersection),
            f("lower", &[Range(&$bounds)], $bounds, lower),
            f("upper", &[Range(&$bounds)], $bounds, upper),
            f("isempty", &[Range(&$bounds)], Bool, isempty),
            f("lower_inc", &[Range(&$bounds)], Bool, lower_inc),
            f("upper_inc", &[Range(&$bounds)], Bool, upper_inc),
            f("lower_inf", &[Range(&$bounds)], Bool, lower_inf),
            f("upper_inf", &[Range(&$bounds)], Bool, upper_inf),
        ];)*
    };
}

of_ranges! {
    INT4_RANGES: Int4;
    INT8_RANGES: Int8;
    NUM_RANGES: DECIMAL;
    TS_RANGES: Timestamp;
    TSTZ_RANGES: Timestamptz;
    DATE_RANGES: Date;
}

fn span(args: &[Value], i: usize) -> Result<&Span> {
    match args.any(i)? {
        Value::Range(r) => Ok(r),
        other => error(SqlState::INTERNAL_ERROR, format!("expected a range, found {other:?}")),
    }
}

fn make_range(args: &[Value]) -> Result {
    let flags = match args.get(2) {
        None => "[)",
        Some(Value::Null) => return error(SqlState(*b"22000"), "range constructor flags argument must not be null"),
        Some(_) => args.text(2)?,
    };
    let (lower, upper) = match flags {
        "[)" => (true, false),
        "[]" => (true, true),
        "()" => (false, false),
        "(]" => (false, true),
        _ => {
            let error = SqlError::new(SqlState::SYNTAX_ERROR, "invalid range bound flags");
            return Err(error.hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
        }
    };
    let bound = |value: &Value, inclusive: bool| {
        let value = (!value.is_null()).then(|| value.clone());
        Bound { inclusive: inclusive && value.is_some(), value }
    };
    let range = Span::new(bound(args.any(0)?, lower), bound(args.any(1)?, upper))?;
    Ok(Value::Range(Arc::new(range)))
}

fn range_contains(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 0)?.contains(args.any(1)?)))
}

fn range_contained(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 1)?.contains(args.any(0)?)))
}

fn contains_range(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 0)?.contains_range(span(args, 1)?)))
}

fn contained_by_range(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 1)?.contains_range(span(args, 0)?)))
}

fn overlaps(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 0)?.overlaps(span(args, 1)?)))
}

fn before(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 0)?.is_before(span(args, 1)?)))
}

fn after(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 1)?.is_before(span(args, 0)?)))
}

fn adjacent(args: &[Value]) -> Result {
    Ok(Value::Bool(span(args, 0)?.adjacent(span(args, 1)?)))
}

fn intersection(args: &[Value]) -> Result {
    Ok(Value::Range(Arc::new(span(args, 0)?.intersection(span(args, 1)?))))
}

fn bound(args: &[Value], upper: bool) -> Result<Option<Bound>> {
    Ok(match span(args, 0)? {
        Span::Empty => None,
        Span::Between(_, bound) if upper => Some(bound.clone()),
        Span::Between(bound, _) => Some(bound.clone()),
    })
}

fn lower(args: &[Value]) -> Result {
    Ok(bound(args, false)?.and_then(|b| b.value).unwrap_or(Value::Null))
}

fn upper(args: &[Value]) -> Result {
    Ok(bound(args, true)?.and_then(|b| b.value).unwrap_or(Value::Null))
}

fn isempty(args: &[Value]) -> Result {
    Ok(Value::Bool(matches!(span(args, 0)?, Span::Empty)))
}

fn lower_inc(args: &[Value]) -> Result {
    Ok(Value::Bool(bound(args, false)?.is_some_and(|b| b.inclusive)))
}

fn upper_inc(args: &[Value]) -> Result {
    Ok(Value::Bool(bound(args, true)?.is_some_and(|b| b.inclusive)))
}

fn lower_inf(args: &[Value]) -> Result {
    Ok(Value::Bool(bound(args, false)?.is_some_and(|b| b.value.is_none())))
}

fn upper_inf(args: &[Value]) -> Result {
    Ok(Value::Bool(bound(args, true)?.is_some_and(|b| b.value.is_none())))
}
