//! Expressions.

use super::*;

/// An expression with its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Every expression we understand.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Bool(bool),
    /// `42`; too large for bigint becomes [`ExprKind::Decimal`]
    Integer(i64),
    /// `1.50`, as written
    Decimal(Arc<str>),
    /// `'text'`, unescaped
    String(Arc<str>),
    /// `DEFAULT`, in VALUES and SET only
    Default,
    /// `a`, `t.a`, `s.t.a`: column, variable, record field or parameter name
    Name(Vec<Ident>),
    /// `t.*` inside an expression (`count(t.*)`), or a row by its alias
    WholeRow(Ident),
    /// `$1`
    Param(u32),
    /// An operator with one operand: `-`, `NOT` is [`ExprKind::Not`]
    Unary(Arc<str>, Box<Expr>),
    /// An operator with two operands: `+`, `<>`, `||`, `LIKE` (`~~`), `ILIKE` (`~~*`); `!=` is `<>`.
    Binary(Arc<str>, Box<Expr>, Box<Expr>),
    /// `a AND b AND c`
    And(Vec<Expr>),
    /// `a OR b OR c`
    Or(Vec<Expr>),
    /// `NOT a`
    Not(Box<Expr>),
    /// `a IS NULL`, `a IS NOT TRUE`, ...
    Is {
        /// The operand.
        expr: Box<Expr>,
        /// What it is tested for.
        test: IsTest,
        /// `IS NOT`
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinct {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
        /// `NOT`
        negated: bool,
    },
    /// `a [NOT] BETWEEN [SYMMETRIC] b AND c`
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// The lower bound.
        low: Box<Expr>,
        /// The upper bound.
        high: Box<Expr>,
        /// `SYMMETRIC`
        symmetric: bool,
        /// `NOT`
        negated: bool,
    },
    /// `a [NOT] IN (b, c)`
    InList {
        /// The operand.
        expr: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// `NOT`
        negated: bool,
    },
    /// `a [NOT] IN (SELECT ...)`
    InQuery {
        /// The operand; a [`ExprKind::Row`] for several columns.
        expr: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// `NOT`
        negated: bool,
    },
    /// `a op ANY (SELECT ...)`, `a op ALL (SELECT ...)`
    Quantified {
        /// The operand.
        expr: Box<Expr>,
        /// The operator.
        op: Arc<str>,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// The query.
        query: Box<Query>,
    },
    /// `a op ANY (array)`, `a op ALL (array)`
    AnyOf {
        /// The operand.
        expr: Box<Expr>,
        /// The operator.
        op: Arc<str>,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// The array.
        array: Box<Expr>,
    },
    /// `EXISTS (SELECT ...)`
    Exists(Box<Query>),
    /// `(SELECT ...)` as a value
    Subquery(Box<Query>),
    /// The n-th column of the one row of a query: what `(a, b) = (SELECT ...)` assigns to each.
    SubqueryColumn(Box<Query>, usize),
    /// `GROUPING(a, b)`: which of these the grouping set at hand leaves out
    Grouping(Vec<Expr>),
    /// `f(args)`, `count(*)`, `sum(DISTINCT x) FILTER (WHERE ...)`; also COALESCE, NULLIF, GREATEST, EXTRACT ...
    Call(Box<Call>),
    /// `CASE`
    Case {
        /// `CASE operand`
        operand: Option<Box<Expr>>,
        /// `WHEN a THEN b`
        whens: Vec<(Expr, Expr)>,
        /// `ELSE`
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(a AS t)`, `a::t`, `t 'literal'`
    Cast(Box<Expr>, TypeName),
    /// `ROW(a, b)`, `(a, b)`
    Row(Vec<Expr>),
    /// `(expr).field`
    Field(Box<Expr>, Ident),
    /// `ARRAY[a, b]`
    Array(Vec<Expr>),
    /// `ARRAY(SELECT ...)`
    ArrayQuery(Box<Query>),
    /// `a[1]`, `a[1][2]`, `a[1:2]`
    Subscript(Box<Expr>, Vec<Subscript>),
}

/// What stands in brackets behind an array or a `jsonb`.
#[derive(Clone, Debug)]
pub enum Subscript {
    /// `[i]`
    At(Expr),
    /// `[from:to]`, either of which may be missing
    Slice(Option<Expr>, Option<Expr>),
}

/// What `IS` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

/// A function call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function; special syntax uses its function's name: `coalesce`, `nullif`, `greatest`, `least`, `extract`,
    /// `substring`, `position`, `trim` (`btrim`, `ltrim`, `rtrim`), `current_timestamp`, ...
    pub name: QualifiedName,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// `name => value` arguments.
    pub named: Vec<(Ident, Expr)>,
    /// `count(*)`
    pub star: bool,
    /// `DISTINCT`
    pub distinct: bool,
    /// `ORDER BY` inside an aggregate
    pub order_by: Vec<OrderKey>,
    /// `FILTER (WHERE ...)`
    pub filter: Option<Expr>,
    /// `WITHIN GROUP (ORDER BY ...)`
    pub within_group: Vec<OrderKey>,
    /// `OVER`
    pub over: Option<Over>,
}
