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
    /// The query.
    pub query: Box<Query>,
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
    /// The select list.
    pub items: Vec<SelectItem>,
    /// `FROM`, comma separated.
    pub from: Vec<TableRef>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group_by: Vec<Expr>,
    /// `HAVING`
    pub having: Option<Expr>,
    /// Where.
    pub span: Span,
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
