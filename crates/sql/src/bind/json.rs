//! Rows on their way to JSON take the names of their fields along.

use super::expr::{Operand, constant};
use super::{Binder, Result};
use crate::builtin::json_build::{ROW_AS_JSON, shape, takes_rows};
use crate::error::Diagnostic;
use crate::refused::Construct;
use crate::typed::{Expr, ExprKind};
use crate::types::Type;
use crate::value::Value;

impl Binder<'_> {
    /// The operands of a function; if it makes JSON, rows among them have become `json` already, and keys text.
    pub(super) fn rows_as_json(&self, function: &str, operands: Vec<Operand>) -> Result<Vec<Operand>> {
        if !takes_rows(function) {
            return Ok(operands);
        }
        let is_key = |i: usize| i == 0 && function.ends_with("_object_agg");
        let made = operands.into_iter().enumerate().map(|(i, (expr, span))| match is_key(i) {
            true => Ok((self.explicit(expr, Type::Text, span)?, span)),
            false => Ok((self.row_as_json(expr, span)?, span)),
        });
        made.collect()
    }

    fn row_as_json(&self, expr: Expr, span: crate::Span) -> Result<Expr> {
        let names = match expr.ty.underlying() {
            Type::Composite(_) | Type::Array(Type::Composite(_)) => shape_of(expr.ty),
            Type::Record => match self.fields_of(&expr) {
                Some(fields) => Some(shape(fields.iter().map(|(name, ty)| (name.clone(), shape_of(*ty))))),
                None => return Err(Diagnostic::unsupported(span, Construct::JSON_OF_UNKNOWN_FIELDS)),
            },
            _ => return Ok(expr),
        };
        let names = constant(names.unwrap_or(Value::Null), Type::Record);
        Ok(Expr { kind: ExprKind::Call(&ROW_AS_JSON, vec![expr, names]), ty: Type::Json })
    }
}

/// The names of the fields of a row type, and of rows inside it.
fn shape_of(ty: Type) -> Option<Value> {
    match ty.underlying() {
        Type::Composite(ty) => Some(shape(ty.fields().iter().map(|(name, ty)| (name.clone(), shape_of(*ty))))),
        Type::Array(element) => shape_of(*element),
        _ => None,
    }
}
