//! Types, as the binder infers them.
//!
//! A type is a small copyable value. What a user has defined is part of it through a handle, [`UserType`], so a cast
//! needs no catalog; two handles of one name are the same type, although the one may know a label more than the other.

mod user;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

pub use user::{DomainCheck, TypeDef, TypeKind, UserType};

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
    /// `real`
    Float4,
    /// `text`
    Text,
    /// `character varying`, or with its limit in characters
    Varchar(Option<u32>),
    /// `character(n)`, padded with blanks; without a limit `bpchar`
    Bpchar(Option<u32>),
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `timestamp(p)`: rounded to so many digits of a second
    TimestampTo(u8),
    /// `timestamptz(p)`
    TimestamptzTo(u8),
    /// `time without time zone`
    Time,
    /// `time with time zone`
    Timetz,
    /// `interval`
    Interval,
    /// `uuid`
    Uuid,
    /// `json`: a text that is kept as written
    Json,
    /// `jsonb`
    Jsonb,
    /// An array of any number of dimensions; of [`Type::Unknown`], in a signature, of any element type.
    Array(&'static Type),
    /// A range, by the type of its bounds: `int4range`, `tsrange`
    Range(&'static Type),
    /// `CREATE TYPE ... AS ENUM`
    Enum(UserType),
    /// `CREATE DOMAIN`
    Domain(UserType),
    /// `CREATE TYPE ... AS (...)`
    Composite(UserType),
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
            Type::Bpchar(_) => Type::Bpchar(None),
            Type::TimestampTo(_) => Type::Timestamp,
            Type::TimestamptzTo(_) => Type::Timestamptz,
            Type::Array(element) if element.base() != *element => element.base().array(),
            other => other,
        }
    }

    /// What a domain, or a domain over a domain, restricts; any other type itself.
    pub fn underlying(self) -> Type {
        match self {
            Type::Domain(domain) => domain.domain_base().underlying(),
            other => other,
        }
    }

    /// The type of arrays of this one.
    pub fn array(self) -> Type {
        static OTHERS: Mutex<BTreeMap<(Type, usize), &'static Type>> = Mutex::new(BTreeMap::new());
        Type::Array(match self {
            Type::Int4 => &Type::Int4,
            Type::Int8 => &Type::Int8,
            Type::Text => &Type::Text,
            // An array of arrays is an array with more dimensions.
            Type::Array(element) => element,
            other => {
                let definition = match other {
                    Type::Enum(user) | Type::Domain(user) | Type::Composite(user) => user.address(),
                    _ => 0,
                };
                let mut known = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
                known.entry((other, definition)).or_insert_with(|| Box::leak(Box::new(other)))
            }
        })
    }

    /// What an array consists of.
    pub fn element(self) -> Option<Type> {
        match self {
            Type::Array(element) => Some(*element),
            _ => None,
        }
    }

    /// The user's type that it is, or is an array of.
    pub fn underlying_user(self) -> Option<UserType> {
        match self {
            Type::Enum(user) | Type::Domain(user) | Type::Composite(user) => Some(user),
            Type::Array(element) => element.underlying_user(),
            _ => None,
        }
    }

    /// The same with a new definition in place of an old one.
    pub(crate) fn renewed(self, old: UserType, new: UserType) -> Type {
        match self {
            Type::Enum(user) | Type::Domain(user) | Type::Composite(user) if user == old => new.ty(),
            Type::Array(element) if element.underlying_user() == Some(old) => element.renewed(old, new).array(),
            other => other,
        }
    }

    /// A row: an anonymous one or of a type.
    pub fn is_row(self) -> bool {
        matches!(self, Type::Record | Type::Composite(_))
    }

    /// `smallint`, `integer` or `bigint`.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8)
    }

    /// Any number.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Type::Numeric(_) | Type::Float8 | Type::Float4)
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
            Type::Float4 => f.write_str("real"),
            Type::Text => f.write_str("text"),
            Type::Varchar(None) => f.write_str("character varying"),
            Type::Varchar(Some(n)) => write!(f, "character varying({n})"),
            Type::Bpchar(None) => f.write_str("character"),
            Type::Bpchar(Some(n)) => write!(f, "character({n})"),
            Type::Bytea => f.write_str("bytea"),
            Type::Date => f.write_str("date"),
            Type::Timestamp => f.write_str("timestamp without time zone"),
            Type::Timestamptz => f.write_str("timestamp with time zone"),
            Type::TimestampTo(p) => write!(f, "timestamp({p}) without time zone"),
            Type::TimestamptzTo(p) => write!(f, "timestamp({p}) with time zone"),
            Type::Time => f.write_str("time without time zone"),
            Type::Timetz => f.write_str("time with time zone"),
            Type::Interval => f.write_str("interval"),
            Type::Uuid => f.write_str("uuid"),
            Type::Json => f.write_str("json"),
            Type::Jsonb => f.write_str("jsonb"),
            Type::Array(Type::Unknown) => f.write_str("anyarray"),
            Type::Array(element) => write!(f, "{element}[]"),
            Type::Range(bounds) => f.write_str(range_name(**bounds)),
            Type::Enum(user) | Type::Domain(user) | Type::Composite(user) => f.write_str(user.name()),
            Type::Record => f.write_str("record"),
            Type::Void => f.write_str("void"),
            Type::Unknown => f.write_str("unknown"),
        }
    }
}

/// The name of the range over a type.
fn range_name(bounds: Type) -> &'static str {
    match bounds {
        Type::Int4 => "int4range",
        Type::Int8 => "int8range",
        Type::Numeric(_) => "numrange",
        Type::Timestamp => "tsrange",
        Type::Timestamptz => "tstzrange",
        Type::Date => "daterange",
        _ => "anyrange",
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
        (Domain(_), b) => cast_level(from.underlying(), b),
        (a, Domain(_)) => cast_level(a, to.underlying()),
        (Array(a), Array(b)) => cast_level(*a, *b),
        (a, b) if a.is_text() && b.is_text() => Some(Implicit),
        (Bpchar(_), b) if b.is_text() => Some(Implicit),
        (a, Bpchar(_)) if a.is_text() => Some(Implicit),
        (Int2, Int4 | Int8) | (Int4, Int8) => Some(Implicit),
        (Int2 | Int4 | Int8, Numeric(_) | Float8 | Float4) | (Numeric(_), Float8 | Float4) => Some(Implicit),
        (Float4, Float8) => Some(Implicit),
        (Int8, Int4 | Int2) | (Int4, Int2) | (Float8 | Float4 | Numeric(_), Int2 | Int4 | Int8) => Some(Assignment),
        (Float8, Numeric(_) | Float4) | (Float4, Numeric(_)) => Some(Assignment),
        (Bool, Int4) | (Int4, Bool) => Some(Explicit),
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) => Some(Implicit),
        (Timestamp | Timestamptz, Date | Time) | (Timestamptz, Timestamp | Timetz) => Some(Assignment),
        (Time, Interval | Timetz) => Some(Implicit),
        (Interval | Timetz, Time) => Some(Assignment),
        (Json, Jsonb) | (Jsonb, Json) => Some(Assignment),
        (Jsonb, Bool | Int2 | Int4 | Int8 | Numeric(_) | Float4 | Float8) => Some(Explicit),
        (Composite(_), Record) => Some(Implicit),
        (Record, Composite(_)) => Some(Implicit),
        (_, b) if b.is_text() || matches!(b, Bpchar(_)) => Some(Assignment),
        (a, _) if a.is_text() || matches!(a, Bpchar(_)) => Some(Explicit),
        _ => None,
    }
}
