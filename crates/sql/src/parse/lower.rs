//! squawk's tree to our [`crate::ast`].

use super::Fragment;
use crate::ast::{Expr, Query, Statement};
use crate::error::{Diagnostic, Span};

pub(crate) fn statement(fragment: Fragment<'_>) -> Result<Statement, Diagnostic> {
    Err(Diagnostic::syntax(Span::new(0, fragment.text.len()), "not yet"))
}

pub(crate) fn expr(fragment: Fragment<'_>) -> Result<Expr, Diagnostic> {
    Err(Diagnostic::syntax(Span::new(0, fragment.text.len()), "not yet"))
}

pub(crate) fn query(fragment: Fragment<'_>) -> Result<Query, Diagnostic> {
    Err(Diagnostic::syntax(Span::new(0, fragment.text.len()), "not yet"))
}

pub(crate) fn split(_source: &str) -> Vec<Span> {
    Vec::new()
}
