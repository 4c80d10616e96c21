//! Text to [`ast`](crate::ast).
//!
//! `squawk` gives a lossless, error-tolerant tree of PostgreSQL's own grammar; `lower` turns it at once into our
//! `ast`, so that no other module knows it. PL/pgSQL has its own small parser in `plpgsql`, over squawk's lexer; the
//! SQL fragments inside it come back here. All spans are relative to the whole file: a fragment carries its offset.

mod lexeme;
pub(crate) mod lower;
pub(crate) mod plpgsql;

pub use lexeme::{Lexeme, LexemeKind, headline, lexemes, names};
pub(crate) use lower::{bare_query, plain_call};

use crate::ast::{Expr, Query, Statement};
use crate::error::{Diagnostic, Span};

/// A piece of a larger text, with where it stands there.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// The piece.
    pub text: &'a str,
    /// The offset of its first byte in the file.
    pub offset: u32,
}

/// Parses a script: statements separated by semicolons.
pub fn script(source: &str) -> Result<Vec<Statement>, Diagnostic> {
    split(source).into_iter().map(|span| statement(Fragment { text: span.of(source), offset: span.start })).collect()
}

/// Parses one statement, without its semicolon.
pub fn statement(fragment: Fragment<'_>) -> Result<Statement, Diagnostic> {
    lower::statement(fragment)
}

/// Parses one expression: what stands behind IF or `:=`.
pub fn expr(fragment: Fragment<'_>) -> Result<Expr, Diagnostic> {
    lower::expr(fragment)
}

/// Parses one query.
pub fn query(fragment: Fragment<'_>) -> Result<Query, Diagnostic> {
    lower::query(fragment)
}

/// Cuts a script into statements at its semicolons: trimmed, comments around them dropped, empty ones left out.
/// Semicolons inside strings, dollar quotes, comments, parentheses and `BEGIN ATOMIC ... END` do not count.
pub fn split(source: &str) -> Vec<Span> {
    lower::split(source)
}

/// Reads the lines behind `COPY ... FROM stdin;` up to `\\.`; `span` is where they stand.
pub fn copy_rows(copy: &mut crate::ast::Copy, data: &str, span: Span) -> Result<(), Diagnostic> {
    copy.rows = lower::copy_rows(&copy.format, data, span)?;
    Ok(())
}
