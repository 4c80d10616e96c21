//! The one value type.
//!
//! All integer widths share one variant, because the width is a static property of the expression ([`crate::Type`])
//! and overflow is checked by the function that computes; so `1::int = 1::bigint` compares without a conversion and
//! rows are the same bytes whichever width wrote them.
//!
//! `Ord` is PostgreSQL's default B-tree order with NULL last; it is total, so a [`Value`] is a map key. It says nothing
//! about SQL's three-valued `=`: that is the builtin `=`, which is NULL when an argument is.
//!
//! `Display` is PostgreSQL's text output. The clock zone is UTC, the date style ISO, the interval style `postgres`.

pub mod array;
pub(crate) mod bytea;
pub mod calendar;
mod cast;
mod clock;
mod display;
mod interval;
pub mod json;
pub mod numeric;
mod order;
mod parse_interval;
mod parse_record;
mod parse_time;
pub mod range;
pub mod transcendental;
pub mod zone;

use std::sync::Arc;

use bigdecimal::BigDecimal;

pub use array::Array;
pub use cast::cast;
pub(crate) use cast::date_to_timestamp;
pub use clock::{TimeTz, write_offset};
pub(crate) use display::text_of;
pub use interval::Interval;
pub use json::Json;
pub use range::Range;

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
    /// `real`
    Real(f32),
    /// `numeric`; the scale is significant for printing (`1.50`), not for comparing.
    Numeric(Arc<BigDecimal>),
    /// `text`, `varchar`
    Text(Arc<str>),
    /// `character(n)`, with its blanks; they do not count in comparisons
    Bpchar(Arc<str>),
    /// `bytea`
    Bytea(Arc<[u8]>),
    /// `date`: days since 2000-01-01; the extremes are `-infinity` and `infinity`
    Date(i32),
    /// `timestamp`: microseconds since 2000-01-01; the extremes are `-infinity` and `infinity`
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC; the extremes are `-infinity` and `infinity`
    Timestamptz(i64),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `timetz`
    Timetz(TimeTz),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid(u128),
    /// `json`, as written
    Json(Arc<str>),
    /// `jsonb`
    Jsonb(Arc<Json>),
    /// An array.
    Array(Arc<Array>),
    /// A range.
    Range(Arc<Range>),
    /// A label of an enum.
    Enum(Arc<EnumLabel>),
    /// A row value.
    Record(Row),
}

/// The values of a row; shared, because rows travel between table, result and footprint unchanged.
pub type Row = Arc<[Value]>;

/// A label of an enum. Labels are ordered by position, which leaves room for one more between any two.
#[derive(Clone, Debug)]
pub struct EnumLabel {
    /// Where it stands among the others.
    pub position: f64,
    /// What it is called.
    pub label: Arc<str>,
}

impl Value {
    /// An array of one dimension, counted from 1.
    pub fn array(elements: Vec<Value>) -> Value {
        Value::Array(Arc::new(Array::of(elements)))
    }

    /// What looking at all of it once costs, as work on a budget: for most values, nothing.
    #[inline]
    pub fn weight(&self) -> u64 {
        match self {
            Value::Text(text) | Value::Bpchar(text) | Value::Json(text) => text.len() as u64 / 64,
            Value::Bytea(bytes) => bytes.len() as u64 / 64,
            Value::Numeric(number) => numeric::weight(number),
            _ => 0,
        }
    }

    /// About how many bytes its text has.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Text(text) | Value::Bpchar(text) | Value::Json(text) => text.len(),
            Value::Bytea(bytes) => bytes.len().saturating_mul(2),
            Value::Array(array) => array.elements.iter().map(|element| element.bytes() + 1).sum(),
            Value::Record(fields) => fields.iter().map(|field| field.bytes() + 1).sum(),
            Value::Jsonb(json) => json.bytes(),
            _ => 8,
        }
    }

    /// A `jsonb`.
    pub fn jsonb(json: Json) -> Value {
        Value::Jsonb(Arc::new(json))
    }

    /// A `bytea`.
    pub fn bytea(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value::Bytea(bytes.into())
    }

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
            Value::Text(t) | Value::Bpchar(t) => Some(t),
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
