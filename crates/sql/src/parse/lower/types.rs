//! Type names, in all their spellings.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, has};
use crate::Type;
use crate::ast::{Expr, ExprKind, QualifiedName, TypeName};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use squawk_syntax::SyntaxKind as K;

/// The types we know by a single word. `numeric`, `varchar` and `float` are looked at on their own: they take
/// arguments.
const KNOWN: &[(&str, Type)] = &[
    ("bool", Type::Bool),
    ("boolean", Type::Bool),
    ("smallint", Type::Int2),
    ("int2", Type::Int2),
    ("int", Type::Int4),
    ("integer", Type::Int4),
    ("int4", Type::Int4),
    ("bigint", Type::Int8),
    ("int8", Type::Int8),
    ("float8", Type::Float8),
    ("float4", Type::Float4),
    ("real", Type::Float4),
    ("bytea", Type::Bytea),
    ("json", Type::Json),
    ("jsonb", Type::Jsonb),
    ("time", Type::Time),
    ("timetz", Type::Timetz),
    ("int4range", Type::Range(&Type::Int4)),
    ("int8range", Type::Range(&Type::Int8)),
    ("numrange", Type::Range(&Type::Numeric(None))),
    ("tsrange", Type::Range(&Type::Timestamp)),
    ("tstzrange", Type::Range(&Type::Timestamptz)),
    ("daterange", Type::Range(&Type::Date)),
    ("text", Type::Text),
    // A cursor's name is text to everybody but PL/pgSQL.
    ("refcursor", Type::Text),
    ("date", Type::Date),
    ("timestamp", Type::Timestamp),
    ("timestamptz", Type::Timestamptz),
    ("interval", Type::Interval),
    ("uuid", Type::Uuid),
    ("record", Type::Record),
    ("void", Type::Void),
];

/// Serial types by the bytes of their integer.
const SERIALS: &[(&str, u8)] =
    &[("smallserial", 2), ("serial2", 2), ("serial", 4), ("serial4", 4), ("bigserial", 8), ("serial8", 8)];

/// Types of PostgreSQL's that we do not have; any other name may still be a table's row type.
const FOREIGN: &[&str] = &[
    "money",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "xml",
    "oid",
    "regclass",
    "regproc",
    "regtype",
    "tsvector",
    "tsquery",
    "point",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "char",
    "name",
    "event_trigger",
    "citext",
    "hstore",
    "anyelement",
    "anyarray",
    "pg_lsn",
    "xid",
    "cid",
    "tid",
    "jsonpath",
    "bit",
    "varbit",
];

impl Lower {
    /// The type of a parameter or result: a type, or `name%TYPE`.
    pub(super) fn func_type(&self, ty: &cst::FuncType) -> Result<TypeName> {
        match ty {
            cst::FuncType::Type(ty) => self.element_type(ty),
            cst::FuncType::PercentType(percent) => {
                let (path, span) = (self.path(percent.syntax()), self.span(percent.syntax()));
                let element = TypeName::Reference { path, row: false, span };
                let is_array = percent.array_token().is_some() || percent.array_bounds().next().is_some();
                Ok(if is_array { TypeName::Array(Box::new(element), span) } else { element })
            }
        }
    }

    /// Any type of a value.
    pub(super) fn ty(&self, ty: &cst::Type) -> Result<TypeName> {
        if has(ty, K::SETOF_KW) {
            return Err(Diagnostic::syntax(self.span(ty.syntax()), "SETOF is allowed behind RETURNS only"));
        }
        self.element_type(ty)
    }

    fn element_type(&self, ty: &cst::Type) -> Result<TypeName> {
        let span = self.span(ty.syntax());
        let known = match ty {
            cst::Type::PathType(path) => return self.path_type(path),
            cst::Type::VarcharType(varchar) => self.varchar(varchar.arg_list(), span)?,
            cst::Type::DoubleType(_) => Type::Float8,
            cst::Type::TimestampType(stamp) => {
                let digits = stamp.literal().and_then(|l| l.syntax().text().to_string().parse().ok());
                timestamp(digits, matches!(stamp.timezone(), Some(cst::Timezone::WithTimezone(_))))
            }
            cst::Type::IntervalType(interval) => {
                self.refuse(interval.interval_qualifier(), Construct::INTERVAL_QUALIFIER)?;
                self.precision(interval.literal(), "interval")?;
                Type::Interval
            }
            cst::Type::ArrayType(array) => {
                let element = self.element_type(&self.need(array.ty(), array)?)?;
                return Ok(match element {
                    TypeName::Known(ty, _) => TypeName::Known(ty.array(), span),
                    array @ TypeName::Array(..) => array,
                    named => TypeName::Array(Box::new(named), span),
                });
            }
            cst::Type::CharacterType(character) => self.character(character.arg_list(), span)?,
            cst::Type::BitType(_) | cst::Type::BitVaryingType(_) => {
                return Err(Diagnostic::unsupported(span, Construct::TYPE_BIT));
            }
            cst::Type::TimeType(time) => {
                self.precision(time.literal(), "time")?;
                match time.timezone() {
                    Some(cst::Timezone::WithTimezone(_)) => Type::Timetz,
                    Some(cst::Timezone::WithoutTimezone(_)) | None => Type::Time,
                }
            }
        };
        Ok(TypeName::Known(known, span))
    }

    /// Whether SETOF stands before the type.
    pub(super) fn is_setof(&self, ty: &cst::FuncType) -> bool {
        has(ty, K::SETOF_KW)
    }

    fn path_type(&self, ty: &cst::PathType) -> Result<TypeName> {
        let span = self.span(ty.syntax());
        let QualifiedName { schema, public, name } = self.name(&self.need(ty.path_ref(), ty)?)?;
        let builtin = schema.as_ref().is_none_or(|s| &*s.name == "pg_catalog");
        let args = ty.arg_list();
        if !builtin {
            return Ok(TypeName::Named(QualifiedName { schema, public, name }));
        }
        match &*name.name {
            "numeric" | "decimal" | "dec" => return Ok(TypeName::Known(self.numeric(args, span)?, span)),
            "varchar" => return Ok(TypeName::Known(self.varchar(args, span)?, span)),
            "bpchar" if args.is_none() => return Ok(TypeName::Known(Type::Bpchar(None), span)),
            "bpchar" => return Ok(TypeName::Known(self.character(args, span)?, span)),
            "float" => return self.float(args, span),
            "timestamp" | "timestamptz" => match self.modifiers(args, span)?.as_slice() {
                [] => {}
                [digits, ..] => {
                    let ty = timestamp(Some(*digits), &*name.name == "timestamptz");
                    return Ok(TypeName::Known(ty, span));
                }
            },
            known if args.is_some() && KNOWN.iter().any(|(word, _)| *word == known) => {
                let message = format!("type modifier is not allowed for type \"{known}\"");
                return Err(Diagnostic::syntax(span, message));
            }
            other if args.is_some() => {
                return Err(Diagnostic::unsupported(span, Construct::TYPE_WITH_MODIFIER.of(other)));
            }
            _ => {}
        }
        if let Some((_, known)) = KNOWN.iter().find(|(word, _)| *word == &*name.name) {
            return Ok(TypeName::Known(*known, span));
        }
        if let Some((_, bytes)) = SERIALS.iter().find(|(word, _)| *word == &*name.name) {
            return Ok(TypeName::Serial(*bytes, span));
        }
        if FOREIGN.contains(&&*name.name) {
            return Err(Diagnostic::unsupported(span, Construct::TYPE.of(&name.name)));
        }
        Ok(TypeName::Named(QualifiedName::bare(name)))
    }

    fn varchar(&self, args: Option<cst::ArgList>, span: Span) -> Result<Type> {
        match self.modifiers(args, span)?.as_slice() {
            [] => Ok(Type::Varchar(None)),
            [n @ 1..=10_485_760] => Ok(Type::Varchar(Some(*n as u32))),
            [..=0] => Err(invalid(span, "length for type varchar must be at least 1")),
            [_] => Err(invalid(span, "length for type varchar cannot exceed 10485760")),
            _ => Err(invalid(span, "invalid type modifier")),
        }
    }

    /// `char` is `char(1)`.
    fn character(&self, args: Option<cst::ArgList>, span: Span) -> Result<Type> {
        match self.modifiers(args, span)?.as_slice() {
            [] => Ok(Type::Bpchar(Some(1))),
            [n @ 1..=10_485_760] => Ok(Type::Bpchar(Some(*n as u32))),
            [..=0] => Err(invalid(span, "length for type char must be at least 1")),
            [_] => Err(invalid(span, "length for type char cannot exceed 10485760")),
            _ => Err(invalid(span, "invalid type modifier")),
        }
    }

    fn numeric(&self, args: Option<cst::ArgList>, span: Span) -> Result<Type> {
        match self.modifiers(args, span)?.as_slice() {
            [] => Ok(Type::Numeric(None)),
            [precision @ 1..=1000] => Ok(Type::Numeric(Some((*precision as u16, 0)))),
            [precision @ 1..=1000, scale @ -1000..=1000] => Ok(Type::Numeric(Some((*precision as u16, *scale as i16)))),
            [precision, ..] if !(1..=1000).contains(precision) => {
                Err(invalid(span, &format!("NUMERIC precision {precision} must be between 1 and 1000")))
            }
            [_, scale] => Err(invalid(span, &format!("NUMERIC scale {scale} must be between -1000 and 1000"))),
            _ => Err(invalid(span, "invalid NUMERIC type modifier")),
        }
    }

    /// `float` and `float(25..53)` are double precision, `float(1..24)` is real.
    fn float(&self, args: Option<cst::ArgList>, span: Span) -> Result<TypeName> {
        match self.modifiers(args, span)?.as_slice() {
            [] | [25..=53] => Ok(TypeName::Known(Type::Float8, span)),
            [1..=24] => Ok(TypeName::Known(Type::Float4, span)),
            [..=0] => Err(invalid(span, "precision for type float must be at least 1 bit")),
            _ => Err(invalid(span, "precision for type float must be less than 54 bits")),
        }
    }

    /// The numbers in `(10, 2)`.
    fn modifiers(&self, args: Option<cst::ArgList>, span: Span) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        for arg in args.iter().flat_map(|list| list.args()) {
            match self.sole(&arg)? {
                Expr { kind: ExprKind::Integer(n), .. } => numbers.push(n),
                _ => return Err(Diagnostic::syntax(span, "type modifiers must be simple constants")),
            }
        }
        Ok(numbers)
    }

    /// `timestamp(6)` says nothing; fewer digits would round.
    fn precision(&self, literal: Option<cst::Literal>, name: &str) -> Result<()> {
        match literal {
            Some(literal) if literal.syntax().text() != "6" => {
                Err(self.unsupported(&literal, Construct::PRECISION.of(name)))
            }
            _ => Ok(()),
        }
    }
}

/// A timestamp with so many digits of a second; six are all there are.
fn timestamp(digits: Option<i64>, zoned: bool) -> Type {
    match (digits.and_then(|d| u8::try_from(d).ok()).filter(|d| *d < 6), zoned) {
        (None, false) => Type::Timestamp,
        (None, true) => Type::Timestamptz,
        (Some(digits), false) => Type::TimestampTo(digits),
        (Some(digits), true) => Type::TimestamptzTo(digits),
    }
}

/// A type modifier out of its range.
fn invalid(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(span, SqlState::INVALID_PARAMETER_VALUE, message)
}
