//! RETURN, RETURN NEXT and RETURN QUERY, held against what the routine declares.

use std::sync::Arc;

use super::Result;
use super::plpgsql::Code;
use super::routine::outputs;
use crate::ast;
use crate::catalog::ReturnsDef;
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expr, ExprKind, StmtKind};
use crate::types::Type;

impl<'a> Code<'a> {
    /// `RETURN [expr]`
    pub(super) fn return_value(&mut self, expr: Option<&ast::Expr>, span: Span) -> Result<StmtKind> {
        let refuse = |message: &str| Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        let Some(def) = self.def else {
            return match expr {
                Some(_) => refuse("RETURN cannot have a parameter in function returning void"),
                None => Ok(StmtKind::Return(None)),
            };
        };
        match (&def.returns, expr) {
            (ReturnsDef::Value(ty), Some(expr)) => Ok(StmtKind::Return(Some(self.assigned(expr, *ty)?))),
            (ReturnsDef::Trigger, Some(expr)) => Ok(StmtKind::Return(Some(self.assigned(expr, Type::Record)?))),
            (ReturnsDef::Trigger, None) => Err(Diagnostic::syntax(span, "missing expression at or near \";\"")),
            (ReturnsDef::Row(_), Some(expr)) => Ok(StmtKind::Return(Some(self.assigned(expr, Type::Record)?))),
            (ReturnsDef::Value(_) | ReturnsDef::Row(_), None) => Err(Diagnostic::syntax(span, "missing expression")),
            (_, None) => Ok(StmtKind::Return(None)),
            (_, Some(_)) if def.procedure => refuse("RETURN cannot have a parameter in a procedure"),
            (ReturnsDef::Void, Some(_)) => refuse("RETURN cannot have a parameter in function returning void"),
            (ReturnsDef::Outs, Some(_)) => refuse("RETURN cannot have a parameter in function with OUT parameters"),
            (ReturnsDef::Set(_), Some(_)) => {
                let message = "RETURN cannot have a parameter in function returning set";
                Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message)
                    .hint("Use RETURN NEXT or RETURN QUERY."))
            }
        }
    }

    /// The columns of the set that the function returns.
    fn set_columns(&self, statement: &str, span: Span) -> Result<&'a [(Arc<str>, Type)]> {
        match self.def.map(|d| &d.returns) {
            Some(ReturnsDef::Set(columns)) => Ok(columns),
            _ => {
                let message = format!("cannot use {statement} in a non-SETOF function");
                Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// `RETURN NEXT [expr]`
    pub(super) fn return_next(&mut self, expr: Option<&ast::Expr>, span: Span) -> Result<StmtKind> {
        let columns = self.set_columns("RETURN NEXT", span)?;
        let Some(expr) = expr else {
            if self.rows.is_empty() {
                return Err(Diagnostic::syntax(span, "missing expression"));
            }
            let value = |&slot: &usize| Expr { kind: ExprKind::Param(slot), ty: self.binder.frame.variables[slot].ty };
            return Ok(StmtKind::ReturnNext(self.rows.iter().map(value).collect()));
        };
        if !self.rows.is_empty() {
            let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
            return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        }
        let value = self.binder.expr(expr)?;
        if columns.is_empty() {
            return Ok(StmtKind::ReturnNext(vec![value]));
        }
        if let ([(_, ty)], true) = (columns, value.ty != Type::Record) {
            return Ok(StmtKind::ReturnNext(vec![self.binder.for_variable(value, *ty, expr.span)?]));
        }
        let fields = self.binder.fields_of(&value).filter(|f| f.len() == columns.len());
        let Some(fields) = fields else {
            let message = "wrong record type supplied in RETURN NEXT";
            return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
        };
        let mut row = Vec::new();
        for (at, ((name, from), (_, to))) in fields.iter().zip(columns).enumerate() {
            let kind = match value.kind {
                ExprKind::Param(slot) if self.binder.frame.variables[slot].fields.is_none() => {
                    ExprKind::NamedField(slot, name.clone())
                }
                _ => ExprKind::Field(Box::new(value.clone()), at),
            };
            row.push(self.binder.for_variable(Expr { kind, ty: *from }, *to, expr.span)?);
        }
        Ok(StmtKind::ReturnNext(row))
    }

    /// `RETURN QUERY`: PostgreSQL wants the very types that were declared.
    pub(super) fn return_query(&mut self, query: &ast::Statement, span: Span) -> Result<StmtKind> {
        let columns = self.set_columns("RETURN QUERY", span)?;
        let statement = self.row_statement_at(query, span)?;
        let given = outputs(&statement).unwrap_or_default();
        let error = Diagnostic::new(
            span,
            SqlState::DATATYPE_MISMATCH,
            "structure of query does not match function result type",
        );
        if columns.is_empty() {
            return Ok(StmtKind::ReturnQuery(statement));
        }
        if given.len() != columns.len() {
            return Err(error.hint("Number of returned columns does not match expected column count."));
        }
        let wrong = given.iter().zip(columns).enumerate().find(|(_, (g, (_, ty)))| g.ty.base() != ty.base());
        match wrong {
            Some((i, (given, (_, ty)))) => Err(error.hint(format!(
                "Returned type {} does not match expected type {ty} in column {}.",
                given.ty,
                i + 1
            ))),
            None => Ok(StmtKind::ReturnQuery(statement)),
        }
    }

    /// `RETURN QUERY EXECUTE`: its types are compared when they are known.
    pub(super) fn return_execute(&mut self, text: Expr, using: Vec<Expr>, span: Span) -> Result<StmtKind> {
        self.set_columns("RETURN QUERY", span)?;
        Ok(StmtKind::ReturnExecute { text, using })
    }
}
