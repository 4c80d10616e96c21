//! PL/pgSQL as written.
//!
//! Spans are relative to the file in which the routine stands, not to its body, so an error inside a procedure points
//! at the right line.

use std::sync::Arc;

use super::{Expr, Ident, Query, Statement, TypeName};
use crate::error::Span;

/// The body of a routine or a DO block.
#[derive(Clone, Debug)]
pub struct Body {
    /// The outermost block.
    pub block: Block,
    /// The text between the quotes.
    pub text: Arc<str>,
    /// Where that text stands.
    pub span: Span,
}

/// `[<<label>>] [DECLARE ...] BEGIN ... [EXCEPTION ...] END`
#[derive(Clone, Debug)]
pub struct Block {
    /// `<<label>>`
    pub label: Option<Ident>,
    /// The word `DECLARE`, if it is written; it may declare nothing.
    pub declare: Option<Span>,
    /// What is declared.
    pub declarations: Vec<Declaration>,
    /// The word `BEGIN`.
    pub begin: Span,
    /// The statements.
    pub body: Vec<Stmt>,
    /// `EXCEPTION WHEN ...`
    pub handlers: Vec<Handler>,
    /// Where.
    pub span: Span,
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The variable.
    pub name: Ident,
    /// What it is.
    pub kind: DeclarationKind,
}

/// What is declared.
#[derive(Clone, Debug)]
pub enum DeclarationKind {
    /// `name [CONSTANT] type [NOT NULL] [:= expr]`
    Variable {
        /// `CONSTANT`
        constant: bool,
        /// Its type; `record` is [`crate::Type::Record`].
        ty: TypeName,
        /// `NOT NULL`
        not_null: bool,
        /// Its first value.
        default: Option<Expr>,
    },
    /// `name ALIAS FOR $1`
    Alias(Ident),
    /// `name [SCROLL] CURSOR [(params)] FOR query`
    Cursor {
        /// `SCROLL` or `NO SCROLL`, if said.
        scroll: Option<bool>,
        /// Its parameters.
        params: Vec<(Ident, TypeName)>,
        /// What it runs over.
        query: Box<Query>,
    },
}

/// `WHEN condition OR condition THEN ...`
#[derive(Clone, Debug)]
pub struct Handler {
    /// Which errors it takes.
    pub conditions: Vec<Condition>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Where.
    pub span: Span,
}

/// An error condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `OTHERS`
    Others,
    /// `unique_violation`
    Named(Ident),
    /// `SQLSTATE '23505'`
    State(Arc<str>, Span),
}

/// A PL/pgSQL statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where, without the semicolon.
    pub span: Span,
}

/// Every PL/pgSQL statement we understand.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// A nested block.
    Block(Block),
    /// `target := expr`
    Assign(Target, Expr),
    /// Any SQL statement, with the `INTO [STRICT] targets` that was taken out of it.
    Sql(Box<Statement>, Option<Into>),
    /// `PERFORM ...`: the query, its result dropped.
    Perform(Box<Query>),
    /// `EXECUTE expr [INTO ...] [USING ...]`
    Execute {
        /// The text to run.
        text: Expr,
        /// `INTO`
        into: Option<Into>,
        /// `USING`
        using: Vec<Expr>,
    },
    /// `IF ... ELSIF ... ELSE`
    If(Vec<(Expr, Vec<Stmt>)>, Option<Vec<Stmt>>),
    /// `CASE`; whens hold one or more values, or conditions if there is no operand.
    Case {
        /// The operand.
        operand: Option<Expr>,
        /// `WHEN a, b THEN`
        whens: Vec<(Vec<Expr>, Vec<Stmt>)>,
        /// `ELSE`
        otherwise: Option<Vec<Stmt>>,
    },
    /// `LOOP`
    Loop(Option<Ident>, Vec<Stmt>),
    /// `WHILE`
    While(Option<Ident>, Expr, Vec<Stmt>),
    /// `FOR i IN [REVERSE] a..b [BY c] LOOP`
    ForRange {
        /// `<<label>>`
        label: Option<Ident>,
        /// The loop's own variable.
        variable: Ident,
        /// `REVERSE`
        reverse: bool,
        /// First bound.
        from: Expr,
        /// Second bound.
        to: Expr,
        /// `BY`
        by: Option<Expr>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `FOR targets IN query LOOP`
    ForQuery {
        /// `<<label>>`
        label: Option<Ident>,
        /// A record, or one or more variables.
        targets: Vec<Target>,
        /// The query (or a statement with RETURNING).
        query: Box<Statement>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `FOR targets IN cursor [(args)] LOOP`
    ForCursor {
        /// `<<label>>`
        label: Option<Ident>,
        /// A record, or one or more variables.
        targets: Vec<Target>,
        /// The cursor.
        cursor: Ident,
        /// Its arguments.
        args: Vec<CursorArg>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `FOR targets IN EXECUTE text [USING ...] LOOP`
    ForExecute {
        /// `<<label>>`
        label: Option<Ident>,
        /// A record, or one or more variables.
        targets: Vec<Target>,
        /// The text to run.
        text: Expr,
        /// `USING`
        using: Vec<Expr>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `FOREACH targets [SLICE n] IN ARRAY expr LOOP`
    Foreach {
        /// `<<label>>`
        label: Option<Ident>,
        /// One or more variables.
        targets: Vec<Target>,
        /// `SLICE`, 0 if absent.
        slice: i64,
        /// The array.
        array: Expr,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `OPEN cursor ...`
    Open {
        /// The cursor.
        cursor: Target,
        /// `SCROLL` or `NO SCROLL`, if said.
        scroll: Option<bool>,
        /// What it runs over.
        source: OpenSource,
    },
    /// `FETCH` or `MOVE`
    Fetch {
        /// The cursor.
        cursor: Target,
        /// Where to.
        direction: Direction,
        /// `INTO`; none for MOVE.
        into: Option<Vec<Target>>,
    },
    /// `CLOSE cursor`
    Close(Target),
    /// `EXIT [label] [WHEN expr]`
    Exit(Option<Ident>, Option<Expr>),
    /// `CONTINUE [label] [WHEN expr]`
    Continue(Option<Ident>, Option<Expr>),
    /// `RETURN [expr]`
    Return(Option<Expr>),
    /// `RETURN NEXT [expr]`
    ReturnNext(Option<Expr>),
    /// `RETURN QUERY query`, also of INSERT, UPDATE or DELETE with RETURNING
    ReturnQuery(Box<Statement>),
    /// `RETURN QUERY EXECUTE text [USING ...]`
    ReturnExecute {
        /// The text to run.
        text: Expr,
        /// `USING`
        using: Vec<Expr>,
    },
    /// `RAISE`
    Raise(Raise),
    /// `ASSERT condition [, message]`
    Assert(Expr, Option<Expr>),
    /// `GET [STACKED] DIAGNOSTICS target = item`
    GetDiagnostics {
        /// `STACKED`
        stacked: bool,
        /// Targets and the items' upper-case names (`ROW_COUNT`, `RETURNED_SQLSTATE`, `MESSAGE_TEXT`, ...).
        items: Vec<(Target, Arc<str>)>,
    },
    /// `NULL`
    Null,
}

impl Block {
    /// The lists of statements in it: its own, and those of its handlers.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        let handlers = self.handlers.iter().map(|handler| handler.body.as_slice());
        std::iter::once(self.body.as_slice()).chain(handlers).collect()
    }
}

impl StmtKind {
    /// The lists of statements directly inside of it.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        match self {
            StmtKind::Block(block) => block.bodies(),
            StmtKind::If(branches, otherwise) => {
                let branches = branches.iter().map(|(_, body)| body);
                branches.chain(otherwise).map(Vec::as_slice).collect()
            }
            StmtKind::Case { whens, otherwise, .. } => {
                let whens = whens.iter().map(|(_, body)| body);
                whens.chain(otherwise).map(Vec::as_slice).collect()
            }
            StmtKind::Loop(_, body)
            | StmtKind::While(_, _, body)
            | StmtKind::ForRange { body, .. }
            | StmtKind::ForQuery { body, .. }
            | StmtKind::ForCursor { body, .. }
            | StmtKind::ForExecute { body, .. }
            | StmtKind::Foreach { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The expressions that are evaluated when it is reached, and not by SQL of its own. Those that are asked again in
    /// each round of a loop are among them, conditions behind ELSIF are not.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            StmtKind::If(branches, _) => branches.first().map(|(condition, _)| condition).into_iter().collect(),
            StmtKind::Case { operand, whens, .. } => {
                operand.iter().chain(whens.iter().flat_map(|(values, _)| values)).collect()
            }
            StmtKind::ForRange { from, to, .. } => vec![from, to],
            StmtKind::Assign(_, expr)
            | StmtKind::While(_, expr, _)
            | StmtKind::Foreach { array: expr, .. }
            | StmtKind::Assert(expr, _)
            | StmtKind::Return(Some(expr))
            | StmtKind::ReturnNext(Some(expr))
            | StmtKind::Exit(_, Some(expr))
            | StmtKind::Continue(_, Some(expr)) => vec![expr],
            _ => Vec::new(),
        }
    }
}

/// An argument of a cursor, by name or by position.
pub type CursorArg = (Option<Ident>, Expr);

/// What OPEN runs.
#[derive(Clone, Debug)]
pub enum OpenSource {
    /// The query of its declaration.
    Bound(Vec<CursorArg>),
    /// `FOR query`
    Query(Box<Statement>),
    /// `FOR EXECUTE text USING`
    Execute(Expr, Vec<Expr>),
}

/// Where FETCH and MOVE go.
#[derive(Clone, Debug)]
pub enum Direction {
    /// So many rows on; `None` is all.
    Forward(Option<Expr>),
    /// So many rows back; `None` is all.
    Backward(Option<Expr>),
    /// The n-th row, from the end if negative.
    Absolute(Expr),
    /// The n-th row from here.
    Relative(Expr),
}

/// What is assigned to: `x` or `r.field`.
#[derive(Clone, Debug)]
pub struct Target {
    /// The dotted name.
    pub path: Vec<Ident>,
    /// `[i][j]` behind it.
    pub subscripts: Vec<Expr>,
    /// Where.
    pub span: Span,
}

/// `INTO [STRICT] a, b`
#[derive(Clone, Debug)]
pub struct Into {
    /// `STRICT`
    pub strict: bool,
    /// The targets.
    pub targets: Vec<Target>,
}

/// `RAISE [level] ...`
#[derive(Clone, Debug)]
pub struct Raise {
    /// `NOTICE`, `EXCEPTION`, ...
    pub level: RaiseLevel,
    /// The word for the level, if it is written.
    pub level_span: Option<Span>,
    /// What is raised.
    pub what: RaiseWhat,
    /// `USING option = expr`, names in upper case.
    pub using: Vec<(Arc<str>, Expr)>,
}

/// How loud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RaiseLevel {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

/// What RAISE raises.
#[derive(Clone, Debug)]
pub enum RaiseWhat {
    /// `RAISE;` inside a handler: the error again.
    Again,
    /// `'format %', args`
    Format(Arc<str>, Vec<Expr>),
    /// `unique_violation` or `SQLSTATE '23505'`
    Condition(Condition),
    /// Only USING.
    Nothing,
}
