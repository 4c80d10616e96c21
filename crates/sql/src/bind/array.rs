//! Arrays: constructors, subscripts, and comparisons with any or all of their elements.

use super::expr::{Operand, boolean, constant, resolve_operator};
use super::{Binder, Result};
use crate::ast::{self, Ident, Subscript};
use crate::builtin::array as functions;
use crate::error::{Diagnostic, Span, SqlState};
use crate::parse::{bare_query, plain_call};
use crate::refused::Construct;
use crate::typed::{AnyOf, Expr, ExprKind};
use crate::types::{CastLevel, Type};
use crate::value::Value;

impl Binder<'_> {
    /// `ARRAY[a, b]`
    pub(super) fn array(&mut self, elements: &[ast::Expr], span: Span) -> Result<Expr> {
        if elements.is_empty() {
            let error = Diagnostic::new(span, SqlState(*b"42P18"), "cannot determine type of empty array");
            return Err(error.hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let operands = self.operands(elements)?;
        let (values, ty) = self.unify("ARRAY", operands)?;
        Ok(constructed(values, ty))
    }

    /// `ARRAY[a, b]::t[]`: every element is cast.
    pub(super) fn array_as(&mut self, elements: &[ast::Expr], ty: Type, span: Span) -> Result<Expr> {
        let element = ty.underlying().element().unwrap_or(Type::Text);
        let mut values = Vec::new();
        for e in elements {
            values.push(match &e.kind {
                ast::ExprKind::Array(inner) => self.array_as(inner, ty, e.span)?,
                _ => {
                    let bound = self.expr(e)?;
                    let to = if matches!(bound.ty, Type::Array(_)) { ty } else { element };
                    self.explicit(bound, to, e.span)?
                }
            });
        }
        let nested = values.first().is_some_and(|v| matches!(v.ty, Type::Array(_)));
        let array = constructed(values, if nested { element.array() } else { element });
        self.explicit(array, ty, span)
    }

    /// `ARRAY(SELECT x ...)` is `(SELECT coalesce(array_agg(x), '{}') FROM (SELECT x ...) AS array (x))`.
    pub(super) fn array_query(&mut self, query: &ast::Query) -> Result<Expr> {
        let span = query.span;
        let ident = |name: &str| Ident { name: name.into(), span };
        let at = |kind| ast::Expr { kind, span };
        let column = at(ast::ExprKind::Name(vec![ident("array"), ident("x")]));
        let collected = at(plain_call(ident("array_agg"), vec![column]));
        let empty = at(ast::ExprKind::String("{}".into()));
        let expr = at(plain_call(ident("coalesce"), vec![collected, empty]));
        let alias = ast::Alias { name: ident("array"), columns: vec![ident("x")] };
        let from = ast::TableRef::Subquery { lateral: false, query: Box::new(query.clone()), alias: Some(alias), span };
        let items = vec![ast::SelectItem::Expr { expr, alias: None }];
        let select = ast::Select { items, from: vec![from], span, ..ast::Select::default() };
        self.scalar(&bare_query(ast::QueryBody::Select(Box::new(select)), span))
    }

    /// `a[1]`, `a[1:2]`; of a `jsonb`, `j['key'][0]`.
    pub(super) fn subscript(&mut self, operand: &ast::Expr, subscripts: &[Subscript], span: Span) -> Result<Expr> {
        let container = self.value(operand)?;
        let container = self.plain(container);
        match container.ty {
            Type::Array(element) => {
                let is_slice = subscripts.iter().any(|s| matches!(s, Subscript::Slice(..)));
                let mut args = vec![container];
                self.subscripts(subscripts, is_slice, &mut args)?;
                Ok(match is_slice {
                    true => Expr { ty: element.array(), kind: ExprKind::Call(&functions::SLICE, args) },
                    false => Expr { ty: *element, kind: ExprKind::Call(&functions::SUBSCRIPT, args) },
                })
            }
            Type::Jsonb => {
                let mut found = container;
                for subscript in subscripts {
                    let Subscript::At(key) = subscript else {
                        let message = "jsonb subscript does not support slices";
                        return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
                    };
                    let key = (self.expr(key)?, key.span);
                    found = self.operator("->", vec![(found, span), key], span)?;
                }
                Ok(found)
            }
            other => {
                let message =
                    format!("cannot subscript type {} because it does not support subscripting", other.base());
                Err(Diagnostic::new(operand.span, SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// The new value of an array, some of whose elements are assigned: `SET a[1] = x`.
    pub(super) fn assigned_subscript(
        &mut self,
        array: Expr,
        subscripts: &[Subscript],
        value: Operand,
        span: Span,
    ) -> Result<Expr> {
        let ty = array.ty;
        if ty == Type::Jsonb {
            let mut path = Vec::new();
            for subscript in subscripts {
                let Subscript::At(key) = subscript else {
                    return Err(Diagnostic::unsupported(span, Construct::SLICE_OF_JSONB));
                };
                let key = self.value(key)?;
                path.push(self.explicit(key, Type::Text, span)?);
            }
            let value = self.implicit(value.0, Type::Jsonb, value.1)?;
            let args = vec![array, constructed(path, Type::Text), value];
            return Ok(Expr { kind: ExprKind::Call(&functions::ASSIGN_JSONB, args), ty });
        }
        let Type::Array(element) = ty.underlying() else {
            let message = format!("cannot subscript type {} because it does not support subscripting", ty.base());
            return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        };
        let is_slice = subscripts.iter().any(|s| matches!(s, Subscript::Slice(..)));
        let wanted = if is_slice { element.array() } else { *element };
        let from = value.0.ty;
        let Some(value) = self.convert(value.0, wanted, CastLevel::Assignment, value.1)? else {
            let message =
                format!("subscripted assignment requires type {} but expression is of type {from}", wanted.base());
            return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        };
        let mut args = vec![array, value];
        self.subscripts(subscripts, is_slice, &mut args)?;
        let function = if is_slice { &functions::ASSIGN_SLICE } else { &functions::ASSIGN };
        Ok(Expr { kind: ExprKind::Call(function, args), ty })
    }

    /// Appends the subscripts; in a slice, two per dimension, the extremes standing for what is missing.
    fn subscripts(&mut self, subscripts: &[Subscript], is_slice: bool, args: &mut Vec<Expr>) -> Result<()> {
        for subscript in subscripts {
            match subscript {
                Subscript::At(at) if is_slice => {
                    args.push(constant(Value::Int(1), Type::Int4));
                    args.push(self.position(at)?);
                }
                Subscript::At(at) => args.push(self.position(at)?),
                Subscript::Slice(from, to) => {
                    let open = |extreme| constant(Value::Int(extreme), Type::Int8);
                    args.push(from.as_ref().map_or(Ok(open(i64::MIN)), |e| self.position(e))?);
                    args.push(to.as_ref().map_or(Ok(open(i64::MAX)), |e| self.position(e))?);
                }
            }
        }
        Ok(())
    }

    fn position(&mut self, at: &ast::Expr) -> Result<Expr> {
        let bound = self.expr(at)?;
        self.convert(bound, Type::Int4, CastLevel::Assignment, at.span)?.ok_or_else(|| {
            Diagnostic::new(at.span, SqlState::DATATYPE_MISMATCH, "array subscript must have type integer")
        })
    }

    /// `x op ANY (array)`
    pub(super) fn any_of(
        &mut self,
        expr: &ast::Expr,
        op: &str,
        all: bool,
        array: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        let left = (self.expr(expr)?, expr.span);
        let mut right = self.expr(array)?;
        if right.ty == Type::Unknown {
            let element = if left.0.ty == Type::Unknown { Type::Text } else { left.0.ty.underlying().base() };
            right = self.implicit(right, element.array(), array.span)?;
        }
        right = self.plain(right);
        let Type::Array(element) = right.ty else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
        };
        let (operator, params) = resolve_operator(op, &[left.0.ty, *element], span)?;
        if operator.returns != Type::Bool {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
        }
        let left = self.implicit(left.0, params[0], left.1)?;
        if params[1] != element.base() {
            right = self.implicit(right, params[1].array(), array.span)?;
        }
        let membership = matches!((op, all), ("=", false) | ("<>", true));
        match members(&right) {
            Some(list) if membership && !left.ty.is_row() => {
                let list = list.into_iter().map(|e| Expr { ty: left.ty, ..e }).collect();
                Ok(boolean(ExprKind::InList(Box::new(left), list, all)))
            }
            _ => Ok(boolean(ExprKind::AnyOf(Box::new(AnyOf { left, op: operator, all, array: right })))),
        }
    }
}

/// The elements of an array that is written out, if there are any: membership in it is IN.
fn members(array: &Expr) -> Option<Vec<Expr>> {
    match &array.kind {
        ExprKind::Const(Value::Array(array)) if !array.elements.is_empty() => {
            Some(array.elements.iter().map(|v| constant(v.clone(), Type::Unknown)).collect())
        }
        ExprKind::Call(function, elements) if std::ptr::eq(*function, &functions::ARRAY) && !elements.is_empty() => {
            Some(elements.clone())
        }
        _ => None,
    }
}

/// An array of these values, which are of this type; arrays become rows of an array with a dimension more.
pub(super) fn constructed(values: Vec<Expr>, ty: Type) -> Expr {
    let function = if matches!(ty, Type::Array(_)) { &functions::ARRAY_OF_ARRAYS } else { &functions::ARRAY };
    Expr { kind: ExprKind::Call(function, values), ty: ty.array() }
}
