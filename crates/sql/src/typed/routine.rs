//! Procedures and functions, bound: structured code over numbered variables.
//!
//! Kept structured rather than flattened, because two readers want it so: `engine` compiles it to jumps, `prove` to a
//! control-flow graph.

use std::sync::Arc;

use super::{Expr, OutputColumn, Statement};
use crate::ast::plpgsql::RaiseLevel;
use crate::catalog::Fields;
use crate::error::{Span, SqlError, SqlState};
use crate::types::Type;

/// A routine, ready to run.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name; `inline_code_block` for DO.
    pub name: Arc<str>,
    /// Its variables; parameters first, in order, then `FOUND`, then the rest, each declaration its own slot.
    pub variables: Vec<Variable>,
    /// How many of them are parameters (of any mode).
    pub params: usize,
    /// The slot of `FOUND`.
    pub found: usize,
    /// What it returns.
    pub returns: RoutineReturns,
    /// The code.
    pub body: Vec<Stmt>,
    /// Its text, as written.
    pub text: Arc<str>,
    /// Where that text stands in its file: spans minus this are places in `text`.
    pub offset: u32,
}

/// A variable of a routine.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name, for messages and reports.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Field names and types, for `%ROWTYPE` variables; `record` variables take the shape of what they are given.
    pub fields: Option<Fields>,
    /// `NOT NULL`
    pub not_null: bool,
}

/// What a routine returns.
#[derive(Clone, Debug)]
pub enum RoutineReturns {
    /// Nothing: a procedure without OUT parameters, `void`.
    Void,
    /// One value.
    Value(Type),
    /// The OUT and INOUT parameters in these slots, as a record (a single one: as its value).
    Outs(Vec<usize>),
    /// Rows of these columns, gathered by RETURN NEXT and RETURN QUERY.
    Set(Vec<OutputColumn>),
    /// The function of a trigger on a table with so many columns: a row of it, or NULL.
    Trigger(usize),
}

/// A statement of a routine, with its place.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where, in the file.
    pub span: Span,
}

/// Every statement of a routine. Variables inside expressions and statements are [`super::ExprKind::Param`].
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum StmtKind {
    /// Statements with handlers: a subtransaction. `state` and `message` are the slots of SQLSTATE and SQLERRM.
    Try {
        body: Vec<Stmt>,
        handlers: Vec<Handler>,
        state: usize,
        message: usize,
    },
    Assign(Place, Expr),
    /// A `record` variable has been given a row with these fields.
    Shape(usize, Fields),
    /// A `record` variable has been given what another one holds.
    ShapeOf(usize, usize),
    /// A SQL statement; sets FOUND as PL/pgSQL defines. For CALL, `into` takes its OUT and INOUT parameters, in order.
    Sql {
        statement: Arc<Statement>,
        into: Option<Into>,
    },
    /// A query whose result is dropped; sets FOUND.
    Perform(Arc<Statement>),
    /// Dynamic SQL; bound when it runs. Does not set FOUND.
    Execute {
        text: Expr,
        into: Option<Into>,
        using: Vec<Expr>,
    },
    If {
        branches: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Vec<Stmt>,
    },
    /// `CASE` without ELSE that matches nothing raises 20000; the binder adds that as `otherwise`.
    Loop {
        label: usize,
        body: Vec<Stmt>,
    },
    While {
        label: usize,
        condition: Expr,
        body: Vec<Stmt>,
    },
    ForRange {
        label: usize,
        variable: usize,
        from: Expr,
        to: Expr,
        by: Option<Expr>,
        reverse: bool,
        body: Vec<Stmt>,
    },
    ForQuery {
        label: usize,
        into: Vec<Place>,
        query: Arc<Statement>,
        body: Vec<Stmt>,
    },
    /// `FOR ... IN EXECUTE`
    ForExecute {
        label: usize,
        into: Vec<Place>,
        text: Expr,
        using: Vec<Expr>,
        body: Vec<Stmt>,
    },
    /// `FOR ... IN cursor`: it is opened, fetched from row by row, and closed.
    ForCursor {
        label: usize,
        into: Vec<Place>,
        cursor: usize,
        open: Box<Open>,
        body: Vec<Stmt>,
    },
    /// `FOREACH ... IN ARRAY`
    Foreach {
        label: usize,
        into: Vec<Place>,
        array: Expr,
        slice: usize,
        body: Vec<Stmt>,
    },
    /// `OPEN`; the variable in this slot holds the cursor's name.
    Open(usize, Box<Open>),
    /// `FETCH`, or MOVE if there is nothing to store into.
    Fetch {
        cursor: usize,
        direction: Direction,
        into: Option<Vec<Place>>,
    },
    Close(usize),
    /// A statement that PostgreSQL finds wrong when it comes to it.
    Fail(SqlError),
    /// Leaves the loop or block with this label.
    Exit {
        label: usize,
        when: Option<Expr>,
    },
    /// Next round of the loop with this label.
    Continue {
        label: usize,
        when: Option<Expr>,
    },
    /// A labelled block that EXIT can leave.
    Labelled {
        label: usize,
        body: Vec<Stmt>,
    },
    Return(Option<Expr>),
    ReturnNext(Vec<Expr>),
    ReturnQuery(Arc<Statement>),
    /// `RETURN QUERY EXECUTE`
    ReturnExecute {
        text: Expr,
        using: Vec<Expr>,
    },
    Raise(Raise),
    Assert(Expr, Option<Expr>),
    RowCount(Place),
    /// `GET STACKED DIAGNOSTICS`: upper-case item names.
    StackedDiagnostics(Vec<(Place, Arc<str>)>),
    /// `CASE` fell through.
    CaseNotFound,
}

/// How a cursor is opened.
#[derive(Clone, Debug)]
pub struct Open {
    /// The arguments of a bound cursor and the slots they go to.
    pub args: Vec<(usize, Expr)>,
    /// What it runs over.
    pub source: OpenSource,
    /// `SCROLL` or `NO SCROLL`, if said.
    pub scroll: Option<bool>,
}

/// What a cursor runs over.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum OpenSource {
    Query(Arc<Statement>),
    Execute { text: Expr, using: Vec<Expr> },
}

/// Where FETCH and MOVE go; a count of `None` is all.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Direction {
    Forward(Option<Expr>),
    Backward(Option<Expr>),
    Absolute(Expr),
    Relative(Expr),
}

/// What an assignment stores into; the value is cast to `ty` first.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub slot: usize,
    /// A field of it.
    pub field: Option<FieldRef>,
    /// The type stored there ([`Type::Record`] takes any shape).
    pub ty: Type,
}

/// A field of a row variable, by position where the shape is declared and by name where it is not.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum FieldRef {
    At(usize),
    Named(Arc<str>),
}

/// `INTO [STRICT] places`; one record or row place takes the whole row.
#[derive(Clone, Debug)]
pub struct Into {
    /// Exactly one row, or P0002 / P0003.
    pub strict: bool,
    /// Where the columns go.
    pub places: Vec<Place>,
}

/// `WHEN ... THEN`
#[derive(Clone, Debug)]
pub struct Handler {
    /// Which errors.
    pub catches: Vec<Catch>,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// Which errors a handler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catch {
    /// All but query_canceled and assert_failure.
    Others,
    /// One state; a state ending in `000` stands for its class.
    State(SqlState),
}

/// `RAISE`
#[derive(Clone, Debug)]
pub struct Raise {
    /// How loud; only EXCEPTION is an error.
    pub level: RaiseLevel,
    /// The state, P0001 unless said.
    pub state: SqlState,
    /// The message with `%` places, or an expression from USING MESSAGE.
    pub message: RaiseMessage,
    /// USING DETAIL.
    pub detail: Option<Expr>,
    /// USING HINT.
    pub hint: Option<Expr>,
    /// USING ERRCODE, when it is not a constant.
    pub code: Option<Expr>,
    /// USING TABLE, COLUMN and their kin.
    pub about: Vec<(AboutField, Expr)>,
}

impl Raise {
    /// The expressions that it evaluates.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let message: &[Expr] = match &self.message {
            RaiseMessage::Format(_, values) => values,
            RaiseMessage::Expr(message) => std::slice::from_ref(message),
            RaiseMessage::Again => &[],
        };
        let about = self.about.iter().map(|(_, expr)| expr);
        message.iter().chain(&self.detail).chain(&self.hint).chain(&self.code).chain(about)
    }
}

/// What else a RAISE says it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AboutField {
    Table,
    Column,
    Schema,
    Datatype,
    Constraint,
}

/// The text of a RAISE.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum RaiseMessage {
    Format(Arc<str>, Vec<Expr>),
    Expr(Expr),
    /// `RAISE;`: the caught error again.
    Again,
}
