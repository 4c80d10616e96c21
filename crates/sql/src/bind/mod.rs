//! [`crate::ast`] to [`crate::typed`]: names resolved against the catalog, types inferred, casts made explicit.

use std::sync::Arc;

use crate::ast;
use crate::catalog::{Catalog, RoutineDef};
use crate::error::{Diagnostic, Span};
use crate::typed;
use crate::types::Type;

/// Binds a statement of a client. `source` is the file that `statement` was parsed from, for its text.
/// `params` are the types of `$1`, `$2`, ... in it.
pub fn statement(
    catalog: &Catalog,
    statement: &ast::Statement,
    source: &str,
    params: &[Type],
) -> Result<typed::Statement, Diagnostic> {
    let _ = (catalog, source, params);
    Err(Diagnostic::unsupported(statement.span, "this statement"))
}

/// Binds a routine's body; done when it is first called, so that it may name tables created after it.
pub fn routine(catalog: &Catalog, def: &RoutineDef) -> Result<Arc<typed::Routine>, Diagnostic> {
    let _ = (catalog, def);
    Err(Diagnostic::unsupported(Span::default(), "this routine"))
}
