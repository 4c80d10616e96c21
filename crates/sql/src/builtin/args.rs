//! Reading arguments.
//!
//! The binder has inserted casts, so every argument has the type its parameter declares; that it has not is our
//! mistake, and is reported as an internal error rather than by a panic in the middle of a search.

use std::sync::Arc;

use bigdecimal::BigDecimal;

use crate::error::{SqlError, SqlState};
use crate::value::{Array, Interval, Json, Value};

/// The result of a builtin.
pub(super) type Result<T = Value> = std::result::Result<T, SqlError>;

/// Typed access to the arguments of a builtin.
pub(super) trait Args {
    /// The argument, whatever it is.
    fn any(&self, i: usize) -> Result<&Value>;

    fn int(&self, i: usize) -> Result<i64> {
        match self.any(i)? {
            Value::Int(i) => Ok(*i),
            other => mismatch("integer", other),
        }
    }

    fn float(&self, i: usize) -> Result<f64> {
        match self.any(i)? {
            Value::Float(x) => Ok(*x),
            other => mismatch("double precision", other),
        }
    }

    fn numeric(&self, i: usize) -> Result<&BigDecimal> {
        match self.any(i)? {
            Value::Numeric(n) => Ok(n),
            other => mismatch("numeric", other),
        }
    }

    fn text(&self, i: usize) -> Result<&str> {
        match self.any(i)? {
            Value::Text(t) | Value::Bpchar(t) => Ok(t),
            other => mismatch("text", other),
        }
    }

    fn date(&self, i: usize) -> Result<i32> {
        match self.any(i)? {
            Value::Date(d) => Ok(*d),
            other => mismatch("date", other),
        }
    }

    /// Microseconds of a timestamp of either kind.
    fn timestamp(&self, i: usize) -> Result<i64> {
        match self.any(i)? {
            Value::Timestamp(t) | Value::Timestamptz(t) => Ok(*t),
            other => mismatch("timestamp", other),
        }
    }

    fn array(&self, i: usize) -> Result<&Array> {
        match self.any(i)? {
            Value::Array(a) => Ok(a),
            other => mismatch("array", other),
        }
    }

    fn bytes(&self, i: usize) -> Result<&[u8]> {
        match self.any(i)? {
            Value::Bytea(b) => Ok(b),
            other => mismatch("bytea", other),
        }
    }

    fn boolean(&self, i: usize) -> Result<bool> {
        match self.any(i)? {
            Value::Bool(b) => Ok(*b),
            other => mismatch("boolean", other),
        }
    }

    fn jsonb(&self, i: usize) -> Result<&Json> {
        match self.any(i)? {
            Value::Jsonb(j) => Ok(j),
            other => mismatch("jsonb", other),
        }
    }

    fn json(&self, i: usize) -> Result<&str> {
        match self.any(i)? {
            Value::Json(t) => Ok(t),
            other => mismatch("json", other),
        }
    }

    /// The elements of an array of text, NULLs left out.
    fn texts(&self, i: usize) -> Result<Vec<Arc<str>>> {
        let text = |v: &Value| match v {
            Value::Text(t) => Some(t.clone()),
            _ => None,
        };
        Ok(self.array(i)?.elements.iter().filter_map(text).collect())
    }

    fn interval(&self, i: usize) -> Result<Interval> {
        match self.any(i)? {
            Value::Interval(i) => Ok(*i),
            other => mismatch("interval", other),
        }
    }
}

impl Args for [Value] {
    fn any(&self, i: usize) -> Result<&Value> {
        self.get(i).ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, format!("argument {} is missing", i + 1)))
    }
}

fn mismatch<T>(expected: &str, found: &Value) -> Result<T> {
    Err(SqlError::new(SqlState::INTERNAL_ERROR, format!("expected a value of type {expected}, found {found:?}")))
}

/// An error of these words.
pub(super) fn error<T>(state: SqlState, message: impl Into<std::sync::Arc<str>>) -> Result<T> {
    Err(SqlError::new(state, message))
}
