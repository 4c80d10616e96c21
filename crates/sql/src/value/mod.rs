//! The one value type.
//!
//! All integer widths share one variant, because the width is a static property of the expression ([`crate::Type`])
//! and overflow is checked by the function that computes; so `1::int = 1::bigint` compares without a conversion and rows
//! are the same bytes whichever width wrote them.
//!
//! `Ord` is PostgreSQL's default B-tree order with NULL last; it is total, so a [`Value`] is a map key. It says nothing
//! about SQL's three-valued `=`: that is the builtin `=`, which is NULL when an argument is.
//!
//! `Display` is PostgreSQL's text output. The clock zone is UTC, the date style ISO, the interval style `postgres`.

pub mod calendar;
mod cast;
mod display;
mod interval;
pub mod numeric;
mod order;
mod parse_interval;
mod parse_time;
pub mod transcendental;

use std::sync::Arc;

use bigdecimal::BigDecimal;

pub use cast::cast;
pub(crate) use cast::date_to_timestamp;
pub(crate) use display::text_of;
pub use interval::Interval;

/// A SQL value.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`, `integer`, `bigint`
    Int(i64),
    /// `double precision`
    Float(f64),
    /// `numeric`; the scale is significant for printing (`1.50`), not for comparing.
    Numeric(Arc<BigDecimal>),
    /// `text`, `varchar`
    Text(Arc<str>),
    /// `date`: days since 2000-01-01; the extremes are `-infinity` and `infinity`
    Date(i32),
    /// `timestamp`: microseconds since 2000-01-01; the extremes are `-infinity` and `infinity`
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC; the extremes are `-infinity` and `infinity`
    Timestamptz(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid(u128),
    /// A row value.
    Record(Row),
}

/// The values of a row; shared, because rows travel between table, result and footprint unchanged.
pub type Row = Arc<[Value]>;

impl Value {
    /// A `text`.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A `numeric`.
    pub fn numeric(number: BigDecimal) -> Value {
        Value::Numeric(Arc::new(number))
    }

    /// A row value.
    pub fn record(fields: impl Into<Row>) -> Value {
        Value::Record(fields.into())
    }

    /// NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// True, and neither false nor NULL: what WHERE asks.
    pub fn is_true(&self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// The boolean it is; `None` for NULL.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The integer it is.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The text it is.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($from:ty => |$x:ident| $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($x: $from) -> Value {
                $value
            }
        })*
    };
}

from! {
    bool => |x| Value::Bool(x);
    i16 => |x| Value::Int(x.into());
    i32 => |x| Value::Int(x.into());
    i64 => |x| Value::Int(x);
    f64 => |x| Value::Float(x);
    &str => |x| Value::text(x);
    String => |x| Value::text(x);
    Arc<str> => |x| Value::Text(x);
    BigDecimal => |x| Value::numeric(x);
    Interval => |x| Value::Interval(x);
    Row => |x| Value::Record(x);
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(option: Option<T>) -> Value {
        option.map_or(Value::Null, Into::into)
    }
}
