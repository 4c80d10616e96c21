//! squawk's tree to our [`crate::ast`].
//!
//! squawk parses all of PostgreSQL and recovers from errors; we want the part the engine understands, and a clear "no"
//! for the rest. So lowering has three duties besides building nodes:
//!
//! 1. **Nothing is dropped silently.** A construct that our tree cannot express is [`Diagnostic::unsupported`] with the
//!    construct's name. Only what cannot be observed (storage parameters, `VOLATILE`, `ASC` in an index) is skipped.
//! 2. **Operators are ours.** squawk's precedences differ from PostgreSQL's in places (`a + b BETWEEN 1 AND 2`), so an
//!    expression is flattened and put together again in [`operators`]; set operations likewise in [`query`].
//! 3. **Spans belong to the file.** A [`Lower`] knows where its fragment stands, and every span goes through it.
//!
//! A tree without syntax errors has all its required children; where the grammar is laxer than PostgreSQL's, a missing
//! child is a syntax error at its parent ([`Lower::need`]).

mod alter;
mod call;
mod control;
mod copy;
mod cursor;
mod ddl;
mod define_type;
mod depth;
mod dml;
mod errors;
mod expr;
mod from;
mod ignored;
mod literal;
mod merge;
mod operators;
mod query;
mod routine;
mod sequence;
mod session;
mod split;
mod statement;
mod trigger;
mod types;
mod view;
mod window;

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SourceFile, SyntaxKind, SyntaxNode, SyntaxToken};

use super::Fragment;
use crate::ast::{Expr, ExprKind, Ident, QualifiedName, Query, QueryBody, SelectItem, Statement, StatementKind};
use crate::error::{Diagnostic, Span};
use crate::refused::{Construct, Refused};

pub(crate) use call::plain as plain_call;
pub(crate) use copy::rows as copy_rows;
pub(crate) use query::bare as bare_query;
pub(crate) use split::split;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Parses and lowers exactly one statement.
pub(crate) fn statement(fragment: Fragment<'_>) -> Result<Statement> {
    let lower = Lower { before: 0, offset: fragment.offset };
    depth::guarded(fragment, || lower.statement(&lower.only_statement(fragment.text)?))
}

/// Parses and lowers one query.
pub(crate) fn query(fragment: Fragment<'_>) -> Result<Query> {
    let statement = statement(fragment)?;
    match statement.kind {
        StatementKind::Query(query) => Ok(*query),
        _ => Err(Diagnostic::syntax(statement.span, "a query is expected here")),
    }
}

/// Parses and lowers one expression, the way PL/pgSQL does: as what follows SELECT. So `count(*) FROM t` is one too,
/// and means the subquery.
pub(crate) fn expr(fragment: Fragment<'_>) -> Result<Expr> {
    const SELECT: &str = "SELECT ";
    let lower = Lower { before: SELECT.len() as u32, offset: fragment.offset };
    errors::no_semicolon(fragment)?;
    let text = format!("{SELECT}{}", fragment.text);
    let statement = depth::guarded(fragment, || lower.statement(&lower.only_statement(&text)?))?;
    let StatementKind::Query(query) = statement.kind else {
        return Err(Diagnostic::syntax(statement.span, "an expression is expected here"));
    };
    Ok(sole_expression(*query))
}

/// `SELECT e` as `e`; any other query as a subquery.
fn sole_expression(mut query: Query) -> Expr {
    let plain = query.with.is_empty()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty();
    if let QueryBody::Select(select) = &mut query.body {
        let bare = !select.distinct
            && select.distinct_on.is_empty()
            && select.from.is_empty()
            && select.filter.is_none()
            && select.group_by.is_empty()
            && select.having.is_none()
            && select.windows.is_empty();
        if plain && bare && select.items.len() == 1 {
            match select.items.pop() {
                Some(SelectItem::Expr { expr, alias: None }) => return expr,
                Some(item) => select.items.push(item),
                None => {}
            }
        }
    }
    let span = query.span;
    Expr { kind: ExprKind::Subquery(Box::new(query)), span }
}

/// The translation of one fragment: it only knows where the fragment stands.
#[derive(Clone, Copy, Debug)]
struct Lower {
    /// Bytes that we put before the fragment's text to make it parse.
    before: u32,
    /// Where the fragment starts in the file.
    offset: u32,
}

impl Lower {
    /// The one statement in `text`; anything else is a syntax error.
    fn only_statement(&self, text: &str) -> Result<cst::Stmt> {
        let mut parse = SourceFile::parse(text);
        if let Some(diagnostic) = errors::first(self, text, &parse) {
            let disguises = [operators::disguise_not(text), operators::disguise_any(text)];
            let again = disguises.into_iter().flatten().map(|disguised| SourceFile::parse(&disguised));
            parse = again.into_iter().find(|again| again.errors().is_empty()).ok_or(diagnostic)?;
        }
        let mut statements = parse.tree().stmts().filter(|s| !matches!(s, cst::Stmt::EmptyStmt(_)));
        let first = statements.next().ok_or_else(|| errors::at(self, text, text.len()))?;
        match statements.next() {
            None => Ok(first),
            Some(second) => {
                let start = u32::from(second.syntax().text_range().start());
                Err(errors::at(self, text, start as usize))
            }
        }
    }

    /// A range of the parsed text as a span of the file. What stands in our own prefix counts as the fragment's start.
    fn place(&self, start: u32, end: u32) -> Span {
        let shift = |at: u32| at.saturating_sub(self.before) + self.offset;
        Span { start: shift(start), end: shift(end) }
    }

    /// Where a node stands, without the spaces, comments and semicolon at its edges.
    fn span(&self, node: &SyntaxNode) -> Span {
        let idle = |t: &SyntaxToken| t.kind().is_trivia() || t.kind() == SyntaxKind::SEMICOLON;
        let range = node.text_range();
        let (mut start, mut end) = (u32::from(range.start()), u32::from(range.end()));
        let mut token = node.first_token();
        while let Some(t) = token.filter(|t| idle(t) && u32::from(t.text_range().end()) <= end) {
            start = u32::from(t.text_range().end());
            token = t.next_token();
        }
        let mut token = node.last_token();
        while let Some(t) = token.filter(|t| idle(t) && u32::from(t.text_range().start()) >= start) {
            end = u32::from(t.text_range().start());
            token = t.prev_token();
        }
        self.place(start, end.max(start))
    }

    /// Where a token stands.
    fn token_span(&self, token: &SyntaxToken) -> Span {
        self.place(u32::from(token.text_range().start()), u32::from(token.text_range().end()))
    }

    /// A child that the grammar promises.
    fn need<T>(&self, child: Option<T>, parent: &impl AstNode) -> Result<T> {
        child.ok_or_else(|| Diagnostic::syntax(self.span(parent.syntax()), "syntax error: this is incomplete"))
    }

    /// "`construct` is not supported", pointing at the node.
    fn unsupported(&self, node: &impl AstNode, construct: impl Into<Refused>) -> Diagnostic {
        Diagnostic::unsupported(self.span(node.syntax()), construct)
    }

    /// Refuses an optional clause by name.
    fn refuse(&self, clause: Option<impl AstNode>, construct: Construct) -> Result<()> {
        clause.map_or(Ok(()), |c| Err(self.unsupported(&c, construct)))
    }

    /// Refuses an optional keyword by name.
    fn refuse_token(&self, token: Option<SyntaxToken>, construct: Construct) -> Result<()> {
        token.map_or(Ok(()), |t| Err(Diagnostic::unsupported(self.token_span(&t), construct)))
    }

    /// The name that a node consists of, folded.
    fn ident(&self, node: &impl AstNode) -> Ident {
        Ident { name: cst::normalize_name_node(node.syntax()).into(), span: self.span(node.syntax()) }
    }

    /// The dotted name below a node (`TABLE_NAME`, `FUNCTION_NAME_REF`, ...).
    fn name(&self, node: &impl AstNode) -> Result<QualifiedName> {
        let mut parts = self.path(node.syntax());
        let name = self.need(parts.pop(), node)?;
        let schema = parts.pop();
        if let Some(catalog) = parts.pop() {
            return Err(Diagnostic::unsupported(catalog.span, Construct::OTHER_DATABASE));
        }
        Ok(QualifiedName::new(schema, name))
    }

    /// A name that need not be a path.
    fn name_or_ident(&self, node: &impl AstNode) -> Result<QualifiedName> {
        match self.path(node.syntax()).is_empty() {
            true => Ok(QualifiedName::bare(self.ident(node))),
            false => self.name(node),
        }
    }

    /// The parts of a dotted name, outermost first.
    fn path(&self, node: &SyntaxNode) -> Vec<Ident> {
        node.descendants()
            .filter(|n| matches!(n.kind(), SyntaxKind::PATH_SEGMENT | SyntaxKind::PATH_SEGMENT_REF))
            .map(|n| Ident { name: cst::normalize_name_node(&n).into(), span: self.span(&n) })
            .collect()
    }
}

/// The first child that is a `T`.
fn child<T: AstNode>(node: &impl AstNode) -> Option<T> {
    node.syntax().children().find_map(T::cast)
}

/// All children that are a `T`.
fn children<T: AstNode>(node: &impl AstNode) -> impl Iterator<Item = T> {
    node.syntax().children().filter_map(T::cast)
}

/// Whether a token of this kind stands directly below the node.
fn has(node: &impl AstNode, kind: SyntaxKind) -> bool {
    node.syntax().children_with_tokens().any(|c| c.kind() == kind)
}

/// A construct's name in the user's words: `CREATE_VIEW` is `CREATE VIEW`.
fn words(kind: SyntaxKind) -> String {
    format!("{kind:?}").replace('_', " ")
}
