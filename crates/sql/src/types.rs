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

/// How freely PostgreSQL converts one type into another; a weaker context permits all stronger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CastLevel {
    /// Anywhere: an operand that does not fit is converted silently.
    Implicit,
    /// When a value is stored into a column or a variable.
    Assignment,
    /// Only where a cast is written.
    Explicit,
}

/// The loosest context in which PostgreSQL converts `from` into `to`; `None` where there is no such cast.
///
/// As in `pg_cast`, and beyond it: every type becomes text by assignment and text becomes every type when asked to,
/// through the types' text forms. A literal of [`Type::Unknown`] becomes anything. Lengths and precisions do not
/// matter here: they are always applied, never chosen by.
pub fn cast_level(from: Type, to: Type) -> Option<CastLevel> {
    use CastLevel::*;
    use Type::*;
    match (from.base(), to.base()) {
        (Void, _) | (_, Void) | (_, Unknown) => None,
        (Unknown, _) => Some(Implicit),
        (a, b) if a == b => Some(Implicit),
        (a, b) if a.is_text() && b.is_text() => Some(Implicit),
        (Int2, Int4 | Int8) | (Int4, Int8) => Some(Implicit),
        (Int2 | Int4 | Int8, Numeric(_) | Float8) | (Numeric(_), Float8) => Some(Implicit),
        (Int8, Int4 | Int2) | (Int4, Int2) | (Float8 | Numeric(_), Int2 | Int4 | Int8) => Some(Assignment),
        (Float8, Numeric(_)) => Some(Assignment),
        (Bool, Int4) | (Int4, Bool) => Some(Explicit),
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) => Some(Implicit),
        (Timestamp | Timestamptz, Date) | (Timestamptz, Timestamp) => Some(Assignment),
        (_, b) if b.is_text() => Some(Assignment),
        (a, _) if a.is_text() => Some(Explicit),
        _ => None,
    }
}
