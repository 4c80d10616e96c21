//! Literals: numbers, strings, parameters.

use squawk_syntax::ast::{self as cst, AstNode, LitKind};

use super::{Lower, Result};
use crate::ast::{Expr, ExprKind};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    /// A literal as an expression.
    pub(super) fn literal(&self, literal: &cst::Literal) -> Result<Expr> {
        let span = self.span(literal.syntax());
        let kind = match self.need(literal.kind(), literal)? {
            LitKind::Null(_) => ExprKind::Null,
            LitKind::True(_) | LitKind::On(_) => ExprKind::Bool(true),
            LitKind::False(_) | LitKind::Off(_) => ExprKind::Bool(false),
            LitKind::Default(_) => ExprKind::Default,
            LitKind::IntNumber(_) => self.integer(literal)?,
            LitKind::NumericNumber(token) => decimal(&token.text().replace('_', "")),
            LitKind::PositionalParam(token) => match token.text().trim_start_matches('$').parse() {
                Ok(n) if n > 0 => ExprKind::Param(n),
                _ => {
                    let message = format!("there is no parameter {}", token.text());
                    return Err(Diagnostic::new(span, crate::SqlState::UNDEFINED_PARAMETER, message));
                }
            },
            LitKind::BitString(_) | LitKind::ByteString(_) => {
                return Err(Diagnostic::unsupported(span, Construct::BIT_STRING_LITERAL));
            }
            LitKind::String(_)
            | LitKind::EscString(_)
            | LitKind::UnicodeEscString(_)
            | LitKind::NationalString(_)
            | LitKind::DollarQuotedString(_) => ExprKind::String(self.string(literal)?.into()),
        };
        Ok(Expr { kind, span })
    }

    /// The text that a string literal means.
    pub(super) fn string(&self, literal: &cst::Literal) -> Result<String> {
        self.need(literal.string_value(), literal)
    }

    fn integer(&self, literal: &cst::Literal) -> Result<ExprKind> {
        let digits = self.need(literal.integer_value(), literal)?.to_string();
        Ok(digits.parse().map_or_else(|_| ExprKind::Decimal(digits.into()), ExprKind::Integer))
    }
}

fn decimal(text: &str) -> ExprKind {
    ExprKind::Decimal(text.into())
}
