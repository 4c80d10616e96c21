//! Queries: SELECT, VALUES, set operations, FROM and row locks.

use super::*;

/// A query: a body, and what applies to its result.
#[derive(Clone, Debug)]
pub struct Query {
    /// `WITH` queries, in order.
    pub with: Vec<Cte>,
    /// `SELECT`, `VALUES`, or a set operation.
    pub body: QueryBody,
    /// `ORDER BY`
    pub order_by: Vec<OrderKey>,
    /// `LIMIT`
    pub limit: Option<Expr>,
    /// `FETCH FIRST n ROWS WITH TIES`
    pub with_ties: bool,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// `FOR UPDATE` and its family.
    pub locking: Vec<Locking>,
    /// Where.
    pub span: Span,
}

/// A query that is named for the one below it.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Names for its columns.
    pub columns: Vec<Ident>,
    /// What it is.
    pub body: CteBody,
    /// `WITH RECURSIVE`: said once, for all queries of the clause.
    pub recursive: bool,
    /// `[NOT] MATERIALIZED`
    pub materialized: Option<bool>,
}

/// What stands in the parentheses of a WITH query.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum CteBody {
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
}

/// Where the rows come from.
#[derive(Clone, Debug)]
pub enum QueryBody {
    /// `SELECT ...`
    Select(Box<Select>),
    /// `VALUES (...), (...)`
    Values(Vec<Vec<Expr>>),
    /// `a UNION b` and its kin.
    SetOperation {
        /// Which.
        op: SetOperator,
        /// `ALL`: keep duplicates.
        all: bool,
        /// Left operand.
        left: Box<Query>,
        /// Right operand.
        right: Box<Query>,
    },
}

/// `UNION`, `INTERSECT`, `EXCEPT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// `SELECT` up to `HAVING`.
#[derive(Clone, Debug, Default)]
pub struct Select {
    /// `DISTINCT`
    pub distinct: bool,
    /// `DISTINCT ON (...)`
    pub distinct_on: Vec<Expr>,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// `FROM`, comma separated.
    pub from: Vec<TableRef>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group_by: Vec<GroupItem>,
    /// `GROUP BY DISTINCT`
    pub group_distinct: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// `WINDOW name AS (...)`
    pub windows: Vec<(Ident, WindowSpec)>,
    /// Where.
    pub span: Span,
}

/// An element of GROUP BY.
#[derive(Clone, Debug)]
pub enum GroupItem {
    /// An expression; a row stands for its fields.
    Expr(Expr),
    /// `()`
    Empty(Span),
    /// `ROLLUP (a, (b, c))`
    Rollup(Vec<Expr>),
    /// `CUBE (a, (b, c))`
    Cube(Vec<Expr>),
    /// `GROUPING SETS (...)`
    Sets(Vec<GroupItem>),
}

/// `name PARTITION BY ... ORDER BY ... ROWS ...`
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// The window it refines.
    pub base: Option<Ident>,
    /// `PARTITION BY`
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`
    pub order_by: Vec<OrderKey>,
    /// Which rows around the row at hand count.
    pub frame: Option<Frame>,
    /// Where.
    pub span: Span,
}

/// `ROWS BETWEEN start AND end EXCLUDE ...`
#[derive(Clone, Debug)]
pub struct Frame {
    /// What bounds are measured in.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// Rows that do not count all the same.
    pub exclude: FrameExclude,
    /// Where.
    pub span: Span,
}

/// `ROWS`, `RANGE`, `GROUPS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameUnits {
    Rows,
    Range,
    Groups,
}

/// Where a frame begins or ends.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// `EXCLUDE ...`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameExclude {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

/// What follows OVER.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Over {
    Name(Ident),
    Spec(Box<WindowSpec>),
}

/// An element of a select list or RETURNING.
#[derive(Clone, Debug)]
pub enum SelectItem {
    /// `*`
    Wildcard(Span),
    /// `t.*`
    QualifiedWildcard(Ident),
    /// `expr [AS alias]`
    Expr {
        /// The expression.
        expr: Expr,
        /// Its name.
        alias: Option<Ident>,
    },
}

/// An element of FROM.
#[derive(Clone, Debug)]
pub enum TableRef {
    /// `table [AS alias [(columns)]]`
    Table {
        /// The table or WITH query.
        name: QualifiedName,
        /// Its alias.
        alias: Option<Alias>,
    },
    /// `(query) AS alias`
    Subquery {
        /// `LATERAL`
        lateral: bool,
        /// The query.
        query: Box<Query>,
        /// Its alias.
        alias: Option<Alias>,
        /// Where.
        span: Span,
    },
    /// `generate_series(1, 3) AS g`
    Function {
        /// The function.
        name: QualifiedName,
        /// Its arguments.
        args: Vec<Expr>,
        /// Its alias.
        alias: Option<Alias>,
        /// Where.
        span: Span,
    },
    /// `ROWS FROM (f(), g()) WITH ORDINALITY AS t`, and a single function WITH ORDINALITY or with a list of column
    /// definitions.
    RowsFrom {
        /// The functions, side by side.
        functions: Vec<FromFunction>,
        /// `WITH ORDINALITY`: a last column that counts.
        ordinality: bool,
        /// Its alias.
        alias: Option<Alias>,
        /// Where.
        span: Span,
    },
    /// `left JOIN right ON ...`
    Join {
        /// Which.
        kind: JoinKind,
        /// Left operand.
        left: Box<TableRef>,
        /// Right operand.
        right: Box<TableRef>,
        /// What pairs rows.
        on: JoinCondition,
        /// Where.
        span: Span,
    },
}

/// One function of ROWS FROM.
#[derive(Clone, Debug)]
pub struct FromFunction {
    /// The function.
    pub name: QualifiedName,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// `AS (a int, b text)`, for functions that return records.
    pub columns: Vec<(Ident, TypeName)>,
    /// Where.
    pub span: Span,
}

/// `AS name (column, ...)`
#[derive(Clone, Debug)]
pub struct Alias {
    /// The new name.
    pub name: Ident,
    /// New names of its columns.
    pub columns: Vec<Ident>,
}

/// The kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
}

/// What pairs the rows of a join.
#[derive(Clone, Debug)]
pub enum JoinCondition {
    /// `CROSS JOIN`
    None,
    /// `ON expr`
    On(Expr),
    /// `USING (a, b)`
    Using(Vec<Ident>),
    /// `NATURAL`
    Natural,
}

/// `expr [DESC] [NULLS FIRST]`
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// An expression, an output column's name, or its position.
    pub expr: Expr,
    /// `DESC`
    pub descending: bool,
    /// `NULLS FIRST`; PostgreSQL's default is: first exactly when descending.
    pub nulls_first: Option<bool>,
}

/// `FOR UPDATE OF t NOWAIT`
#[derive(Clone, Debug)]
pub struct Locking {
    /// How strong.
    pub strength: LockStrength,
    /// `OF t, u`; all tables if empty.
    pub of: Vec<Ident>,
    /// What to do about a row that another session has locked.
    pub wait: LockWait,
    /// Where.
    pub span: Span,
}

/// The four strengths of a row lock, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockStrength {
    /// `FOR KEY SHARE`: what a foreign key takes on its parent.
    KeyShare,
    /// `FOR SHARE`
    Share,
    /// `FOR NO KEY UPDATE`: what an UPDATE takes that leaves the keys alone.
    NoKeyUpdate,
    /// `FOR UPDATE`: what a DELETE takes.
    Update,
}

/// What a locking clause does about a row that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LockWait {
    Block,
    NoWait,
    SkipLocked,
}
