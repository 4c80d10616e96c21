//! What it means: statements with every name resolved and every type inferred.
//!
//! A column is `(depth, rel, column)`: `depth` queries outward, the `rel`-th relation of that query's FROM. Every
//! [`Query`] is one level, whatever its body: a subquery of FROM (lateral or not), each operand of a set operation and
//! the set operation itself, VALUES; so are UPDATE, DELETE and the parts of INSERT that see a row. A variable is a
//! slot. Nothing here needs a catalog to be evaluated, except that a table is named by its
//! [`TableId`] and a routine by its [`RoutineId`].
//!
//! Casts are explicit: where PostgreSQL converts silently, the binder has put a [`ExprKind::Cast`], so operators always
//! meet the types their [`Builtin`] declares. Two conversions change no value and are not shown: an integer that grows
//! wider and a string that loses its limit are the same expression under another type, so a column stays visibly a
//! column.

mod define;
mod order;
mod query;
mod routine;
mod session;
mod shared;
mod walk;

use std::sync::Arc;

pub use define::*;
pub use order::*;
pub use query::*;
pub use routine::*;
pub use session::*;
pub use shared::SharedQuery;

use crate::ast::{FetchDirection, JoinKind, LockStrength, LockWait, SetOperator, TableLockMode, TransactionModes};
use crate::builtin::{Aggregate, Builtin, SetFunction};
use crate::catalog::{RoutineId, TableId};
use crate::error::Span;
use crate::facts::Verb;
use crate::types::Type;
use crate::value::Value;

/// A bound statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Its text, on one line, for traces.
    pub text: Arc<str>,
    /// Its place in the source.
    pub span: Span,
}

/// Every statement the engine runs.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A query.
    Query(Query),
    /// `INSERT`
    Insert(Insert),
    /// `UPDATE`
    Update(Update),
    /// `DELETE`
    Delete(Delete),
    /// `MERGE`
    Merge(Box<Merge>),
    /// DDL.
    Define(Define),
    /// `TRUNCATE`
    Truncate(Truncate),
    /// `SET CONSTRAINTS`
    SetConstraints(SetConstraints),
    /// `LOCK TABLE`
    LockTable {
        /// In the order in which they are locked.
        tables: Vec<TableId>,
        /// How.
        mode: TableLockMode,
        /// Fails instead of waiting.
        nowait: bool,
    },
    /// Transaction control.
    Transaction(Transaction),
    /// `SET`; settings that matter are interpreted by the engine, others are ignored.
    Set {
        /// Until the transaction ends.
        local: bool,
        /// Lower-case name.
        name: Arc<str>,
        /// `None` for DEFAULT.
        value: Option<Arc<str>>,
    },
    /// Settings shown, prepared statements, channels, maintenance.
    Session(SessionCommand),
    /// `CALL`: one argument per parameter (IN and INOUT given or defaulted; OUT are NULL).
    Call(RoutineId, Vec<Expr>),
    /// `DO`
    Do(Arc<Routine>),
    /// `DECLARE`, `FETCH`, `MOVE`, `CLOSE`
    Cursor(CursorCommand),
    /// A statement of this kind that is bound when it runs: until then its tables need not exist.
    Late(Verb),
}

/// What is done to a cursor.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum CursorCommand {
    Declare {
        name: Arc<str>,
        query: Arc<Statement>,
        scroll: Option<bool>,
        hold: bool,
    },
    Fetch {
        cursor: Arc<str>,
        direction: FetchDirection,
        moves: bool,
    },
    /// `None` is all.
    Close(Option<Arc<str>>),
}

/// Transaction control.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Transaction {
    Begin(TransactionModes),
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(Arc<str>),
    RollbackTo(Arc<str>),
    Release(Arc<str>),
    Set(TransactionModes),
    SetSession(TransactionModes),
    /// `PREPARE TRANSACTION`
    Prepare(Arc<str>),
    CommitPrepared(Arc<str>),
    RollbackPrepared(Arc<str>),
}

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Its WITH queries. They stand one level inside of it, but see nothing of its FROM.
    pub with: Vec<With>,
    /// Its output.
    pub columns: Vec<OutputColumn>,
    /// Where rows come from.
    pub body: QueryBody,
    /// Sort keys, evaluated in the scope of the select (or over [`ExprKind::Output`] only, for VALUES and set
    /// operations).
    pub order_by: Vec<OrderKey>,
    /// Number of rows at most.
    pub limit: Option<Expr>,
    /// Rows that the sort keys do not tell from the last one come too.
    pub with_ties: bool,
    /// Rows to skip.
    pub offset: Option<Expr>,
    /// Row locks to take, per relation of the select.
    pub locking: Vec<RowLocking>,
}

/// A column of a result.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Its name, `?column?` if it has none.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The table column it shows unchanged, if it does: what the oracle needs to rename generated keys.
    pub origin: Option<(TableId, usize)>,
}

/// Where rows come from.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum QueryBody {
    Select(Box<Select>),
    Values(Vec<Vec<Expr>>),
    /// Both sides have the columns of the whole, casts included.
    SetOperation {
        op: SetOperator,
        all: bool,
        left: Box<Query>,
        right: Box<Query>,
    },
}

/// `SELECT`
#[derive(Clone, Debug)]
pub struct Select {
    /// The relations of FROM, left to right; `rel` in [`ExprKind::Column`] counts them.
    pub rels: Vec<Rel>,
    /// How they are joined; `None` without FROM. Comma is an inner join without condition.
    pub from: Option<From>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// Grouping, if there is GROUP BY, HAVING or an aggregate.
    pub grouping: Option<Grouping>,
    /// Windows, each with the functions computed over it; after grouping.
    pub windows: Vec<Window>,
    /// Functions of the select list that yield rows; after windows. Side by side, the shorter ones filled up with NULL.
    pub expansions: Vec<Expansion>,
    /// The select list, one per output column.
    pub projection: Vec<Expr>,
    /// `DISTINCT`
    pub distinct: bool,
    /// `DISTINCT ON`: of rows that agree in so many of the first sort keys, only the first counts.
    pub distinct_on: usize,
}

/// A relation of FROM.
#[derive(Clone, Debug)]
pub struct Rel {
    /// What it is called.
    pub alias: Arc<str>,
    /// What it is.
    pub source: RelSource,
    /// Its columns: name and type.
    pub columns: Vec<(Arc<str>, Type)>,
}

/// What a relation is.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum RelSource {
    Table(TableId),
    /// A subquery or a WITH query. Lateral ones see the relations before them at depth 1.
    Query {
        query: SharedQuery,
        lateral: bool,
    },
    /// Arguments see the relations before it, at depth 0.
    Function(SetFunction, Vec<Expr>),
    /// The `index`-th WITH query of the query `depth` levels outward.
    With {
        depth: u16,
        index: usize,
    },
    /// Inside a recursive WITH query: the rows that the last round of it found.
    Working {
        depth: u16,
        index: usize,
    },
    /// Functions side by side, the shorter ones filled up with NULL, and a column that counts if `ordinality`.
    RowsFrom {
        parts: Vec<RowsPart>,
        ordinality: bool,
    },
    /// A routine: its rows if it returns a set, otherwise one row (the fields of a record, or its value).
    Routine(RoutineId, Vec<Expr>),
}

/// The join tree over `Select::rels`.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum From {
    Rel(usize),
    Join { kind: JoinKind, left: Box<From>, right: Box<From>, on: Option<Expr> },
}

/// `GROUP BY` and aggregates. In `having`, the projection and the sort keys, columns occur only as [`ExprKind::Group`],
/// aggregates as [`ExprKind::Aggregated`].
#[derive(Clone, Debug)]
pub struct Grouping {
    /// What rows are grouped by; none is one group, also of no rows.
    pub keys: Vec<Expr>,
    /// GROUPING SETS: for each, which keys count, the others being NULL. None is one set of all keys.
    pub sets: Vec<Vec<usize>>,
    /// `GROUPING(...)`: for each, the keys it asks about. Its value is the [`ExprKind::Group`] behind the keys.
    pub masks: Vec<Vec<usize>>,
    /// The aggregates computed per group.
    pub calls: Vec<AggregateCall>,
    /// `HAVING`
    pub having: Option<Expr>,
}

/// `sum(DISTINCT x) FILTER (WHERE ...)`
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub aggregate: &'static Aggregate,
    /// Its arguments; none for `count(*)`.
    pub args: Vec<Expr>,
    /// `DISTINCT`
    pub distinct: bool,
    /// `ORDER BY`
    pub order_by: Vec<OrderKey>,
    /// `FILTER`
    pub filter: Option<Expr>,
    /// The type of its result.
    pub ty: Type,
}

/// A sort key.
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// What is compared.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

/// Row locks that a query takes on some of its relations.
#[derive(Clone, Debug)]
pub struct RowLocking {
    /// Which relations, all of them tables.
    pub rels: Vec<usize>,
    /// How strong.
    pub strength: LockStrength,
    /// What to do about a row that is taken.
    pub wait: LockWait,
}

/// `INSERT`
#[derive(Clone, Debug)]
pub struct Insert {
    /// `WITH`; the source stands one level inside of the statement.
    pub with: Vec<With>,
    /// Into.
    pub table: TableId,
    /// The source's rows, and for each table column what is stored there.
    pub source: Query,
    /// One expression per table column over the source row (rel 0), defaults and casts filled in.
    pub values: Vec<Expr>,
    /// `ON CONFLICT`
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`, over the new row as rel 0.
    pub returning: Option<Returning>,
    /// What the command tag says: INSERT, or COPY, or SELECT for CREATE TABLE AS.
    pub verb: &'static str,
    /// `WITH CHECK OPTION` of the views it goes through.
    pub view_checks: Vec<ViewCheck>,
}

/// A condition that a row written through a view must fulfil.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// The view.
    pub view: Arc<str>,
    /// Must be true; the new row is rel 0.
    pub condition: Expr,
}

/// `ON CONFLICT`
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Positions, in the table's list, of the unique indexes that arbitrate.
    pub arbiters: Vec<usize>,
    /// `DO UPDATE`: the existing row is rel 0, EXCLUDED rel 1.
    pub update: Option<ConflictUpdate>,
}

/// `DO UPDATE SET ... WHERE`
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// Column and new value.
    pub set: Vec<(usize, Expr)>,
    /// `WHERE`
    pub filter: Option<Expr>,
}

/// `UPDATE`: the target is rel 0, FROM follows.
#[derive(Clone, Debug)]
pub struct Update {
    /// `WITH`
    pub with: Vec<With>,
    /// The table.
    pub table: TableId,
    /// All relations, the target first; `select.projection` is empty.
    pub select: Select,
    /// Column and new value.
    pub set: Vec<(usize, Expr)>,
    /// `RETURNING`, over the new row as rel 0 and the others.
    pub returning: Option<Returning>,
    /// `WITH CHECK OPTION` of the views it goes through.
    pub view_checks: Vec<ViewCheck>,
}

/// `DELETE`: the target is rel 0, USING follows.
#[derive(Clone, Debug)]
pub struct Delete {
    /// `WITH`
    pub with: Vec<With>,
    /// The table.
    pub table: TableId,
    /// All relations, the target first; `select.projection` is empty.
    pub select: Select,
    /// `RETURNING`, over the old row as rel 0 and the others.
    pub returning: Option<Returning>,
}

/// `RETURNING`
#[derive(Clone, Debug)]
pub struct Returning {
    /// Its output.
    pub columns: Vec<OutputColumn>,
    /// One per column.
    pub exprs: Vec<Expr>,
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
}

/// Every expression the engine evaluates.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Const(Value),
    /// Column `col` of relation `rel`, `depth` queries outward.
    #[allow(missing_docs)]
    Column { depth: u16, rel: u16, col: u16 },
    /// A whole row as a record; NULL when an outer join made the relation NULL.
    #[allow(missing_docs)]
    WholeRow { depth: u16, rel: u16 },
    /// A variable or parameter.
    Param(usize),
    /// Field of a record.
    Field(Box<Expr>, usize),
    /// Field, by name, of a PL/pgSQL `record` variable whose shape is known only at run time.
    NamedField(usize, Arc<str>),
    /// The n-th grouping key of the select `depth` queries outward.
    #[allow(missing_docs)]
    Group { depth: u16, key: usize },
    /// The n-th aggregate of the select `depth` queries outward.
    #[allow(missing_docs)]
    Aggregated { depth: u16, call: usize },
    /// The n-th window function of the select, counted over all its windows.
    Windowed(usize),
    /// The value that the n-th [expansion](Select::expansions) has at present.
    Expanded(usize),
    /// The n-th output column, in a sort key.
    Output(usize),
    /// A builtin function or operator.
    Call(&'static Builtin, Vec<Expr>),
    /// A user's function; one argument per input parameter.
    Routine(RoutineId, Vec<Expr>),
    /// Kleene's and.
    And(Vec<Expr>),
    /// Kleene's or.
    Or(Vec<Expr>),
    /// Kleene's not.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`; of a record: all fields are (not) null.
    IsNull(Box<Expr>, bool),
    /// `IS [NOT] TRUE | FALSE | UNKNOWN`: operand, the truth value it is compared with, negated.
    IsTruth(Box<Expr>, Option<bool>, bool),
    /// `IS [NOT] DISTINCT FROM`
    IsDistinct(Box<Expr>, Box<Expr>, bool),
    /// `[NOT] IN (list)`; operand and list have one type.
    InList(Box<Expr>, Vec<Expr>, bool),
    /// `CASE`: conditions (the operand form is rewritten to `=`), results, ELSE.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// `COALESCE`
    Coalesce(Vec<Expr>),
    /// `GREATEST` (true) or `LEAST`; NULLs ignored.
    Extreme(Vec<Expr>, bool),
    /// A conversion to `Expr::ty`; `explicit` truncates varchar where an assignment would fail.
    #[allow(missing_docs)]
    Cast { expr: Box<Expr>, explicit: bool },
    /// `ROW(...)`
    Row(Vec<Expr>),
    /// `(SELECT ...)`: NULL for no row, 21000 for more than one.
    Scalar(Box<Query>),
    /// The same as a record of all its columns.
    ScalarRow(Box<Query>),
    /// `EXISTS`
    Exists(Box<Query>),
    /// `a op ANY/ALL (SELECT ...)`; `IN` is `= ANY`, `NOT IN` its negation.
    Quantified(Box<Quantified>),
    /// `a op ANY/ALL (array)`
    AnyOf(Box<AnyOf>),
}

/// `left op ANY (array)`
#[derive(Clone, Debug)]
pub struct AnyOf {
    /// The operand.
    pub left: Expr,
    /// The boolean operator between it and an element.
    pub op: &'static Builtin,
    /// `ALL` rather than `ANY`.
    pub all: bool,
    /// The array.
    pub array: Expr,
}

/// `left op ANY (query)`
#[derive(Clone, Debug)]
pub struct Quantified {
    /// The operands, one per column of the query.
    pub left: Vec<Expr>,
    /// The boolean operator per column; several are ANDed.
    pub ops: Vec<&'static Builtin>,
    /// `ALL` rather than `ANY`.
    pub all: bool,
    /// The query.
    pub query: Query,
}
