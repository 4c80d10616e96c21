//! The one value type.
//!
//! All integer widths share one variant, because the width is a static property of the expression ([`crate::Type`])
//! and overflow is checked by the function that computes; so `1::int = 1::bigint` compares without a conversion and rows
//! are the same bytes whichever width wrote them.
//!
//! `Ord` is PostgreSQL's default B-tree order with NULL last; it is total, so a [`Value`] is a map key. It says nothing
//! about SQL's three-valued `=`: that is the builtin `=`, which is NULL when an argument is.

use std::sync::Arc;

use bigdecimal::BigDecimal;

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
    /// `date`: days since 2000-01-01
    Date(i32),
    /// `timestamp`: microseconds since 2000-01-01
    Timestamp(i64),
    /// `timestamptz`: microseconds since 2000-01-01 UTC
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

/// PostgreSQL's interval: three parts that do not convert into each other exactly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Months (years are twelve).
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}
