//! What PostgreSQL calls an output column that has no alias.

use std::sync::Arc;

use crate::ast::{Expr, ExprKind, Query, QueryBody, SelectItem, TypeName};
use crate::types::Type;

/// The name of an output column.
pub(super) fn output_name(expr: &Expr) -> Arc<str> {
    strong(expr).or_else(|| weak(expr)).unwrap_or_else(|| "?column?".into())
}

/// A name that holds even under a cast or in CASE's ELSE.
fn strong(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Name(path) => path.last().map(|i| i.name.clone()),
        ExprKind::WholeRow(alias) => Some(alias.name.clone()),
        ExprKind::Field(_, field) => Some(field.name.clone()),
        ExprKind::Call(call) => Some(call.name.name.name.clone()),
        // The only operator that PostgreSQL reads as a call.
        ExprKind::Binary(operator, ..) if &**operator == "overlaps" => Some(operator.clone()),
        ExprKind::Exists(_) => Some("exists".into()),
        ExprKind::Row(_) => Some("row".into()),
        ExprKind::Array(_) | ExprKind::ArrayQuery(_) => Some("array".into()),
        ExprKind::Subscript(operand, _) => strong(operand),
        ExprKind::Subquery(query) => first_column(query),
        ExprKind::Grouping(_) => Some("grouping".into()),
        ExprKind::Cast(operand, _) => strong(operand),
        ExprKind::Case { otherwise: Some(otherwise), .. } => strong(otherwise),
        _ => None,
    }
}

/// A name for want of a better one.
fn weak(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Cast(_, ty) => Some(type_name(ty)),
        ExprKind::Case { .. } => Some("case".into()),
        _ => None,
    }
}

fn first_column(query: &Query) -> Option<Arc<str>> {
    match &query.body {
        QueryBody::Select(select) => match select.items.first()? {
            SelectItem::Expr { alias: Some(alias), .. } => Some(alias.name.clone()),
            SelectItem::Expr { expr, .. } => strong(expr).or_else(|| weak(expr)),
            _ => None,
        },
        QueryBody::Values(_) => Some("column1".into()),
        QueryBody::SetOperation { left, .. } => first_column(left),
    }
}

fn type_name(ty: &TypeName) -> Arc<str> {
    match ty {
        TypeName::Known(ty, _) => internal_name(*ty).into(),
        TypeName::Array(element, _) => type_name(element),
        TypeName::Serial(..) => "serial".into(),
        TypeName::Reference { path, .. } => path.last().map_or_else(|| "?column?".into(), |i| i.name.clone()),
        TypeName::Named(name) => name.name.name.clone(),
    }
}

/// The name in `pg_type`.
fn internal_name(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int2 => "int2",
        Type::Int4 => "int4",
        Type::Int8 => "int8",
        Type::Numeric(_) => "numeric",
        Type::Float8 => "float8",
        Type::Text => "text",
        Type::Varchar(_) => "varchar",
        Type::Date => "date",
        Type::Timestamp | Type::TimestampTo(_) => "timestamp",
        Type::Timestamptz | Type::TimestamptzTo(_) => "timestamptz",
        Type::Interval => "interval",
        Type::Uuid => "uuid",
        Type::Float4 => "float4",
        Type::Bpchar(_) => "bpchar",
        Type::Bytea => "bytea",
        Type::Time => "time",
        Type::Timetz => "timetz",
        Type::Json => "json",
        Type::Jsonb => "jsonb",
        // A cast to an array is named after its elements.
        Type::Array(element) => internal_name(*element),
        Type::Range(Type::Int4) => "int4range",
        Type::Range(Type::Int8) => "int8range",
        Type::Range(Type::Timestamp) => "tsrange",
        Type::Range(Type::Timestamptz) => "tstzrange",
        Type::Range(Type::Date) => "daterange",
        Type::Range(_) => "numrange",
        Type::Enum(user) | Type::Domain(user) | Type::Composite(user) => user.name(),
        Type::Record => "record",
        Type::Void => "void",
        Type::Unknown => "unknown",
    }
}
