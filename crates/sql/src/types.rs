//! Types, as the binder infers them.

use std::fmt;

/// A SQL type. Length and precision limits are part of a type: a column of `numeric(10,2)` rounds what it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `numeric`, or `numeric(precision, scale)`
    Numeric(Option<(u16, i16)>),
    /// `double precision`
    Float8,
    /// `text`
    Text,
    /// `character varying`, or with its limit in characters
    Varchar(Option<u32>),
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `interval`
    Interval,
    /// `uuid`
    Uuid,
    /// A row: a whole-row reference, `ROW(...)`, a PL/pgSQL `record`.
    Record,
    /// What a procedure or `RETURNS void` returns.
    Void,
    /// A literal whose type the context has not fixed yet (`'x'`, `NULL`). Only inside the binder.
    Unknown,
}

impl Type {
    /// The type without its length or precision: what overloads are chosen by.
    pub fn base(self) -> Type {
        match self {
            Type::Numeric(_) => Type::Numeric(None),
            Type::Varchar(_) => Type::Varchar(None),
            other => other,
        }
    }

    /// `smallint`, `integer` or `bigint`.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8)
    }

    /// Any number.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Type::Numeric(_) | Type::Float8)
    }

    /// `text` or `character varying`.
    pub fn is_text(self) -> bool {
        matches!(self, Type::Text | Type::Varchar(_))
    }
}

impl fmt::Display for Type {
    /// PostgreSQL's own name for it, as error messages spell it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("boolean"),
            Type::Int2 => f.write_str("smallint"),
            Type::Int4 => f.write_str("integer"),
            Type::Int8 => f.write_str("bigint"),
            Type::Numeric(None) => f.write_str("numeric"),
            Type::Numeric(Some((p, s))) => write!(f, "numeric({p},{s})"),
            Type::Float8 => f.write_str("double precision"),
            Type::Text => f.write_str("text"),
            Type::Varchar(None) => f.write_str("character varying"),
            Type::Varchar(Some(n)) => write!(f, "character varying({n})"),
            Type::Date => f.write_str("date"),
            Type::Timestamp => f.write_str("timestamp without time zone"),
            Type::Timestamptz => f.write_str("timestamp with time zone"),
            Type::Interval => f.write_str("interval"),
            Type::Uuid => f.write_str("uuid"),
            Type::Record => f.write_str("record"),
            Type::Void => f.write_str("void"),
            Type::Unknown => f.write_str("unknown"),
        }
    }
}
