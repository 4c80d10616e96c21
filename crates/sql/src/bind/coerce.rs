//! Conversions: where PostgreSQL changes a value's type silently, a [`ExprKind::Cast`] is put here.
//!
//! A literal in quotes has no type of its own ([`Type::Unknown`]) and takes the one its context wants; so do NULL and a
//! parameter of unknown type. Two conversions do nothing at run time and only relabel the expression, so that a
//! column stays visibly a column: integers growing wider, and strings losing their length limit.

use super::{Binder, Result};
use crate::builtin::is_immutable_cast;
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expr, ExprKind, Query, QueryBody};
use crate::types::{CastLevel, Type, UserType, cast_level};
use crate::value::{self, Value};

/// PostgreSQL's type categories; overloads prefer to stay within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Category {
    Bool,
    Number,
    Text,
    Time,
    Span,
    Row,
    Array,
    Range,
    Enum,
    Other,
    Unknown,
}

/// The category of a type.
pub(super) fn category(ty: Type) -> Category {
    match ty {
        Type::Bool => Category::Bool,
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Float8 | Type::Float4 => Category::Number,
        Type::Text | Type::Varchar(_) | Type::Bpchar(_) => Category::Text,
        Type::Date | Type::Timestamp | Type::Timestamptz | Type::Time | Type::Timetz => Category::Time,
        Type::TimestampTo(_) | Type::TimestamptzTo(_) => Category::Time,
        Type::Interval => Category::Span,
        Type::Record | Type::Composite(_) => Category::Row,
        Type::Array(_) => Category::Array,
        Type::Range(_) => Category::Range,
        Type::Enum(_) => Category::Enum,
        Type::Domain(_) => category(ty.underlying()),
        Type::Uuid | Type::Void | Type::Bytea | Type::Json | Type::Jsonb => Category::Other,
        Type::Unknown => Category::Unknown,
    }
}

/// The type of its category that everything there converts to.
pub(super) fn is_preferred(ty: Type) -> bool {
    matches!(ty, Type::Bool | Type::Float8 | Type::Text | Type::Timestamptz | Type::Interval)
}

/// Whether `from` becomes `to` without being asked.
pub(super) fn is_implicit(from: Type, to: Type) -> bool {
    cast_level(from, to) == Some(CastLevel::Implicit)
}

/// The one type that CASE, COALESCE, UNION, VALUES or IN give to expressions of these types; the two that do not go
/// together if there is none.
pub(super) fn common_type(types: &[Type]) -> std::result::Result<Type, (Type, Type)> {
    let mut known = types.iter().map(|t| t.underlying()).filter(|t| *t != Type::Unknown);
    let Some(mut common) = known.next() else { return Ok(Type::Text) };
    // Only what is of one domain throughout stays in it.
    if types.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(types[0]);
    }
    for ty in known {
        if ty == common {
            continue;
        }
        let (a, b) = (common.base(), ty.base());
        if a == b {
            common = a;
        } else if category(a) != category(b) {
            return Err((a, b));
        } else {
            let grows = !is_preferred(a) && is_implicit(a, b) && !is_implicit(b, a);
            common = if grows { b } else { a };
        }
    }
    // A literal has no length, so what it is mixed with loses its own.
    Ok(if types.contains(&Type::Unknown) { common.base() } else { common })
}

impl Binder<'_> {
    /// `expr` as a value of type `to`, in a context that allows `how`; `Ok(None)` if there is no such conversion.
    pub(super) fn convert(&self, expr: Expr, to: Type, how: CastLevel, span: Span) -> Result<Option<Expr>> {
        if expr.ty == to {
            return Ok(Some(expr));
        }
        if let Type::Domain(_) = to {
            let inner = self.convert(expr, to.underlying(), how, span)?;
            return Ok(
                inner.map(|inner| Expr { kind: ExprKind::Cast { expr: Box::new(inner), explicit: true }, ty: to })
            );
        }
        if expr.ty == Type::Unknown {
            return self.literal(expr, to, how, span).map(Some);
        }
        let expr = self.plain(expr);
        if let (ExprKind::Row(_), Type::Composite(ty)) = (&expr.kind, to) {
            return self.row_of(expr, ty, how, span).map(Some);
        }
        if cast_level(expr.ty, to).is_none_or(|needed| needed > how) {
            return Ok(None);
        }
        Ok(Some(cast(expr, to, how == CastLevel::Explicit)))
    }

    /// `ROW(...)` as a row of a composite type.
    fn row_of(&self, row: Expr, ty: UserType, how: CastLevel, span: Span) -> Result<Expr> {
        let ExprKind::Row(items) = row.kind else { return Ok(row) };
        if items.len() != ty.fields().len() {
            return Err(no_cast(Type::Record, Type::Composite(ty), span));
        }
        let fields = items.into_iter().zip(ty.fields()).map(|(item, (_, to))| {
            let from = item.ty;
            self.convert(item, *to, how.max(CastLevel::Assignment), span)?.ok_or_else(|| no_cast(from, *to, span))
        });
        Ok(Expr { kind: ExprKind::Row(fields.collect::<Result<_>>()?), ty: Type::Composite(ty) })
    }

    /// A literal, NULL or untyped parameter takes the type its context wants.
    fn literal(&self, mut expr: Expr, to: Type, how: CastLevel, span: Span) -> Result<Expr> {
        let base = to.base();
        if let ExprKind::Param(slot) = expr.kind {
            self.frame.inferred.borrow_mut().entry(slot).or_insert(base);
        }
        if let ExprKind::Const(Value::Text(_)) = &expr.kind {
            expr.ty = Type::Text;
            if !base.is_text() {
                expr = Expr { ty: base, ..self.parsed(expr, base, span)? };
            }
        }
        if matches!(expr.kind, ExprKind::Cast { .. }) {
            return Ok(cast(expr, to, how == CastLevel::Explicit));
        }
        let is_null = matches!(expr.kind, ExprKind::Const(Value::Null));
        expr.ty = if is_null { to } else { base };
        Ok(if expr.ty == to { expr } else { cast(expr, to, how == CastLevel::Explicit) })
    }

    /// The value that a string literal denotes. In a routine, one that denotes none fails only when it is reached.
    fn parsed(&self, literal: Expr, to: Type, span: Span) -> Result<Expr> {
        let ExprKind::Const(text) = &literal.kind else { return Ok(literal) };
        match value::cast(text, Type::Text, to, true) {
            Ok(value) => Ok(Expr { kind: ExprKind::Const(value), ty: to }),
            Err(_) if self.frame.late => {
                Ok(Expr { kind: ExprKind::Cast { expr: Box::new(literal), explicit: true }, ty: to })
            }
            Err(error) => Err(Diagnostic::new(span, error.state, &*error.message)),
        }
    }

    /// An operand as the type its operator takes.
    pub(super) fn implicit(&self, expr: Expr, to: Type, span: Span) -> Result<Expr> {
        let from = expr.ty;
        self.convert(expr, to, CastLevel::Implicit, span)?.ok_or_else(|| no_cast(from, to, span))
    }

    /// `CAST(expr AS to)`
    pub(super) fn explicit(&self, expr: Expr, to: Type, span: Span) -> Result<Expr> {
        let from = expr.ty;
        self.convert(expr, to, CastLevel::Explicit, span)?.ok_or_else(|| no_cast(from, to, span))
    }

    /// A value for a variable. PL/pgSQL converts whatever has a text form.
    pub(super) fn for_variable(&self, expr: Expr, to: Type, span: Span) -> Result<Expr> {
        let from = expr.ty;
        if from.is_row() && !to.is_row() {
            return Err(no_cast(from, to, span));
        }
        match self.convert(expr.clone(), to, CastLevel::Assignment, span)? {
            Some(expr) => Ok(expr),
            None => match self.convert(expr.clone(), to, CastLevel::Explicit, span)? {
                // Not `explicit`: a string too long for its variable is an error.
                Some(_) => Ok(cast(expr, to, false)),
                None if from == Type::Void => Ok(Expr { kind: ExprKind::Const(Value::Null), ty: to }),
                None => Ok(cast(cast(expr, Type::Text, false), to, false)),
            },
        }
    }

    /// A value to be stored into a column.
    pub(super) fn for_column(&self, expr: Expr, name: &str, to: Type, span: Span) -> Result<Expr> {
        let from = expr.ty;
        self.convert(expr, to, CastLevel::Assignment, span)?.ok_or_else(|| {
            let message =
                format!("column \"{name}\" is of type {} but expression is of type {}", to.base(), from.base());
            Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// A literal that no context has typed is text.
    pub(super) fn settled(&self, expr: Expr) -> Expr {
        match expr.ty {
            Type::Unknown => Expr { ty: Type::Text, ..expr },
            _ => expr,
        }
    }

    /// Expressions that must share a type, converted to it. `construct` opens the message if they cannot.
    pub(super) fn unify(&self, construct: &str, exprs: Vec<(Expr, Span)>) -> Result<(Vec<Expr>, Type)> {
        // Each type once: there may be very many expressions, and a type that was seen changes nothing.
        let mut seen: Vec<Type> = Vec::new();
        for (expr, span) in &exprs {
            if seen.contains(&expr.ty) {
                continue;
            }
            seen.push(expr.ty);
            if let Err((a, b)) = common_type(&seen) {
                return Err(no_match(construct, a, b, *span));
            }
        }
        let ty = common_type(&seen).unwrap_or(Type::Text);
        let converted: Result<Vec<Expr>> = exprs
            .into_iter()
            .map(|(expr, span)| {
                let from = expr.ty;
                self.convert(expr, ty, CastLevel::Implicit, span)?.ok_or_else(|| {
                    let message = format!("{construct} could not convert type {from} to {ty}");
                    Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message)
                })
            })
            .collect();
        Ok((converted?, ty))
    }

    /// Changes the type of a query's output column.
    pub(super) fn convert_column(&self, query: &mut Query, column: usize, to: Type, span: Span) -> Result<()> {
        if query.columns[column].ty == to {
            return Ok(());
        }
        query.columns[column].ty = to;
        match &mut query.body {
            QueryBody::Select(select) => self.convert_in_place(&mut select.projection[column], to, span),
            QueryBody::Values(rows) => {
                rows.iter_mut().try_for_each(|row| self.convert_in_place(&mut row[column], to, span))
            }
            QueryBody::SetOperation { left, right, .. } => {
                self.convert_column(left, column, to, span)?;
                self.convert_column(right, column, to, span)
            }
        }
    }

    fn convert_in_place(&self, expr: &mut Expr, to: Type, span: Span) -> Result<()> {
        let null = Expr { kind: ExprKind::Const(Value::Null), ty: Type::Unknown };
        *expr = self.implicit(std::mem::replace(expr, null), to, span)?;
        Ok(())
    }
}

/// A conversion that is known to exist: relabelled, computed now, or left to run time.
pub(super) fn cast(mut expr: Expr, to: Type, explicit: bool) -> Expr {
    let relabels = match (expr.ty, to) {
        (a, b) if a == b => return expr,
        (Type::Int2, Type::Int4 | Type::Int8) | (Type::Int4, Type::Int8) => true,
        (a, Type::Text | Type::Varchar(None)) if a.is_text() => true,
        (Type::Numeric(_), Type::Numeric(None)) => true,
        (Type::Composite(_), Type::Record) => true,
        _ => false,
    };
    if relabels && !matches!(expr.kind, ExprKind::Cast { .. }) {
        expr.ty = to;
        return expr;
    }
    if let ExprKind::Const(constant) = &expr.kind
        && (constant.is_null() || expr.ty == Type::Unknown || is_immutable_cast(expr.ty, to))
        && let Ok(converted) = value::cast(constant, expr.ty, to, explicit)
    {
        return Expr { kind: ExprKind::Const(converted), ty: to };
    }
    Expr { kind: ExprKind::Cast { expr: Box::new(expr), explicit }, ty: to }
}

fn no_cast(from: Type, to: Type, span: Span) -> Diagnostic {
    let message = format!("cannot cast type {} to {}", from.base(), to.base());
    Diagnostic::new(span, SqlState(*b"42846"), message)
}

/// `CASE types integer and text cannot be matched`
pub(super) fn no_match(construct: &str, a: Type, b: Type, span: Span) -> Diagnostic {
    let message = format!("{construct} types {a} and {b} cannot be matched");
    Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message)
}
