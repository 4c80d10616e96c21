//! Equality, order and hash: one order, PostgreSQL's.
//!
//! Equal is what a unique index calls equal: `1.50 = 1.5`, `-0 = 0`, `NaN = NaN`, `1 mon = 30 days`; the hash agrees.
//! Text compares by its bytes (collation "C"). Values of different kinds never meet in one column; their order is that
//! of [`rank`], so that it is total.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::numeric::Canonical;
use super::{Value, numeric};

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        use Value::*;
        match (self, other) {
            (Int(a), Int(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.cmp(b),
            (Bool(a), Bool(b)) => a.cmp(b),
            (Numeric(a), Numeric(b)) => numeric::compare(a, b),
            (Float(a), Float(b)) => compare_floats(*a, *b),
            (Date(a), Date(b)) => a.cmp(b),
            (Timestamp(a), Timestamp(b)) | (Timestamptz(a), Timestamptz(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Record(a), Record(b)) => a.cmp(b),
            (Real(a), Real(b)) => compare_floats((*a).into(), (*b).into()),
            (Bpchar(a), Bpchar(b)) => unpadded(a).cmp(unpadded(b)),
            (Bytea(a), Bytea(b)) => a.cmp(b),
            (Time(a), Time(b)) => a.cmp(b),
            (Timetz(a), Timetz(b)) => a.cmp(b),
            (Json(a), Json(b)) => a.cmp(b),
            (Jsonb(a), Jsonb(b)) => a.cmp(b),
            (Array(a), Array(b)) => a.cmp(b),
            (Range(a), Range(b)) => a.cmp(b),
            (Enum(a), Enum(b)) => a.position.total_cmp(&b.position),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(rank(self));
        match self {
            Value::Null => {}
            Value::Bool(b) => b.hash(state),
            Value::Int(i) => i.hash(state),
            Value::Float(f) => float_bits(*f).hash(state),
            Value::Numeric(n) => match numeric::canonical(n) {
                Canonical::Small(digits, scale) => (digits, scale).hash(state),
                Canonical::Large(digits, scale) => (digits, scale).hash(state),
            },
            Value::Text(t) => t.hash(state),
            Value::Date(d) => d.hash(state),
            Value::Timestamp(t) | Value::Timestamptz(t) => t.hash(state),
            Value::Interval(i) => i.hash(state),
            Value::Uuid(u) => u.hash(state),
            Value::Record(fields) => fields.hash(state),
            Value::Real(f) => float_bits((*f).into()).hash(state),
            Value::Bpchar(t) => unpadded(t).hash(state),
            Value::Bytea(b) => b.hash(state),
            Value::Time(t) => t.hash(state),
            Value::Timetz(t) => t.hash(state),
            Value::Json(t) => t.hash(state),
            Value::Jsonb(json) => json.hash(state),
            Value::Array(array) => array.hash(state),
            Value::Range(range) => range.hash(state),
            Value::Enum(label) => label.position.to_bits().hash(state),
        }
    }
}

/// Where the kinds stand among each other; NULL is last.
pub(super) fn rank(value: &Value) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Int(_) => 1,
        Value::Float(_) => 2,
        Value::Numeric(_) => 3,
        Value::Text(_) => 4,
        Value::Date(_) => 5,
        Value::Timestamp(_) => 6,
        Value::Timestamptz(_) => 7,
        Value::Interval(_) => 8,
        Value::Uuid(_) => 9,
        Value::Record(_) => 10,
        Value::Real(_) => 11,
        Value::Bpchar(_) => 12,
        Value::Bytea(_) => 13,
        Value::Time(_) => 14,
        Value::Timetz(_) => 15,
        Value::Json(_) => 16,
        Value::Jsonb(_) => 17,
        Value::Array(_) => 18,
        Value::Range(_) => 19,
        Value::Enum(_) => 20,
        Value::Null => 21,
    }
}

/// A `character(n)` without the blanks at its end.
pub(super) fn unpadded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// NaN equals itself and is above everything.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The bits of a float, the same for equal floats.
pub(super) fn float_bits(f: f64) -> u64 {
    if f.is_nan() {
        f64::NAN.to_bits()
    } else if f == 0.0 {
        0
    } else {
        f.to_bits()
    }
}
