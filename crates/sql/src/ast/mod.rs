//! What was written: statements and expressions with names unresolved and a span on everything an error may point at.
//!
//! The tree is ours, small and closed: where PostgreSQL has five spellings the parser picks one node (`BETWEEN`,
//! `x::t`, `!=`), so that the binder and the printer have one case each. Names are already folded as PostgreSQL folds
//! them: unquoted to lower case.

pub mod plpgsql;

use std::sync::Arc;

use crate::error::Span;
use crate::types::Type;

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The folded name.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A possibly schema-qualified name. We know one schema, `public`; the parser drops that qualifier and keeps others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QualifiedName {
    /// `pg_catalog` in `pg_catalog.now()`.
    pub schema: Option<Ident>,
    /// The last part.
    pub name: Ident,
}

/// A statement and the text it came from.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Its place in the source, without the semicolon.
    pub span: Span,
}

/// Every statement we understand.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `SELECT`, `VALUES`, `WITH ... SELECT`
    Query(Box<Query>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
    /// `CREATE TABLE`
    CreateTable(Box<CreateTable>),
    /// `CREATE [UNIQUE] INDEX`
    CreateIndex(Box<CreateIndex>),
    /// `CREATE SEQUENCE`
    CreateSequence(CreateSequence),
    /// `CREATE FUNCTION` or `CREATE PROCEDURE`
    CreateRoutine(Box<CreateRoutine>),
    /// `ALTER TABLE ... ADD CONSTRAINT`
    AlterTableAdd {
        /// The table.
        table: QualifiedName,
        /// What is added.
        constraint: TableConstraint,
    },
    /// `DROP TABLE | INDEX | SEQUENCE | FUNCTION | PROCEDURE`
    Drop(Drop),
    /// `TRUNCATE`
    Truncate(Vec<QualifiedName>),
    /// `BEGIN`, `START TRANSACTION`
    Begin(TransactionModes),
    /// `COMMIT`, `END`
    Commit {
        /// `AND CHAIN`
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`
    Rollback {
        /// `AND CHAIN`
        chain: bool,
    },
    /// `SAVEPOINT name`
    Savepoint(Ident),
    /// `ROLLBACK TO [SAVEPOINT] name`
    RollbackTo(Ident),
    /// `RELEASE [SAVEPOINT] name`
    Release(Ident),
    /// `SET TRANSACTION ...`
    SetTransaction(TransactionModes),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION ...`
    SetSessionCharacteristics(TransactionModes),
    /// `SET [LOCAL] name = value`
    Set(Set),
    /// `CALL name(args)`
    Call {
        /// The procedure.
        name: QualifiedName,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// `DO $$ ... $$`
    Do(Arc<plpgsql::Body>),
}

/// `ISOLATION LEVEL`, `READ ONLY`, `DEFERRABLE`; what is absent stays as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// The level, if named.
    pub isolation: Option<Isolation>,
    /// `READ ONLY` / `READ WRITE`, if named.
    pub read_only: Option<bool>,
    /// `DEFERRABLE`, if named.
    pub deferrable: Option<bool>,
}

/// An isolation level; READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    #[default]
    ReadCommitted,
    /// Each transaction sees what was committed before its first statement.
    RepeatableRead,
    /// As if transactions ran one after another.
    Serializable,
}

/// `SET name = value`.
#[derive(Clone, Debug)]
pub struct Set {
    /// `SET LOCAL`
    pub local: bool,
    /// The setting.
    pub name: Ident,
    /// Its new value as text; `None` for DEFAULT.
    pub value: Option<Arc<str>>,
}

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
#[derive(Clone, Debug)]
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

/// `INSERT`
#[derive(Clone, Debug)]
pub struct Insert {
    /// `WITH`
    pub with: Vec<Cte>,
    /// The table.
    pub table: QualifiedName,
    /// `AS alias`
    pub alias: Option<Ident>,
    /// Target columns; all if empty.
    pub columns: Vec<Ident>,
    /// The rows. A bare `DEFAULT` among VALUES is [`ExprKind::Default`].
    pub source: InsertSource,
    /// `ON CONFLICT`
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`
    pub returning: Vec<SelectItem>,
}

/// What is inserted.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// `DEFAULT VALUES`
    DefaultValues,
    /// `VALUES` or `SELECT`
    Query(Box<Query>),
}

/// `ON CONFLICT ...`
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Which unique constraint; any if `None`.
    pub target: Option<ConflictTarget>,
    /// `DO UPDATE SET`, or DO NOTHING if `None`.
    pub update: Option<ConflictUpdate>,
    /// Where.
    pub span: Span,
}

/// Which unique index decides what conflicts.
#[derive(Clone, Debug)]
pub enum ConflictTarget {
    /// `(a, b)`
    Columns(Vec<Ident>),
    /// `ON CONSTRAINT name`
    Constraint(Ident),
}

/// `DO UPDATE SET ... WHERE ...`
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// The assignments.
    pub set: Vec<Assignment>,
    /// `WHERE`
    pub filter: Option<Expr>,
}

/// `UPDATE`
#[derive(Clone, Debug)]
pub struct Update {
    /// `WITH`
    pub with: Vec<Cte>,
    /// The table.
    pub table: QualifiedName,
    /// `AS alias`
    pub alias: Option<Ident>,
    /// `SET`
    pub set: Vec<Assignment>,
    /// `FROM`
    pub from: Vec<TableRef>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<SelectItem>,
}

/// `column = expr`; `(a, b) = (x, y)` becomes two.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The column.
    pub column: Ident,
    /// Its new value, possibly [`ExprKind::Default`].
    pub value: Expr,
}

/// `DELETE`
#[derive(Clone, Debug)]
pub struct Delete {
    /// `WITH`
    pub with: Vec<Cte>,
    /// The table.
    pub table: QualifiedName,
    /// `AS alias`
    pub alias: Option<Ident>,
    /// `USING`
    pub using: Vec<TableRef>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`
    pub returning: Vec<SelectItem>,
}

/// `CREATE TABLE`
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its name.
    pub name: QualifiedName,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Its constraints that stand on their own.
    pub constraints: Vec<TableConstraint>,
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeName,
    /// What follows.
    pub constraints: Vec<ColumnConstraint>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub enum TypeName {
    /// A type we know.
    Known(Type, Span),
    /// `smallserial` (2), `serial` (4), `bigserial` (8): an integer of that many bytes with a sequence.
    Serial(u8, Span),
    /// `table.column%TYPE`, `table%ROWTYPE`, `variable%TYPE`: resolved by the binder (PL/pgSQL only).
    Reference {
        /// The dotted name before `%`.
        path: Vec<Ident>,
        /// `%ROWTYPE` rather than `%TYPE`.
        row: bool,
        /// Where.
        span: Span,
    },
    /// A name nobody knows (yet): a table used as a row type, an enum, a domain.
    Named(QualifiedName),
}

/// A constraint behind a column.
#[derive(Clone, Debug)]
pub struct ColumnConstraint {
    /// `CONSTRAINT name`
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ColumnConstraintKind,
    /// Where.
    pub span: Span,
}

/// What a column may demand.
#[derive(Clone, Debug)]
pub enum ColumnConstraintKind {
    /// `NULL`
    Null,
    /// `NOT NULL`
    NotNull,
    /// `DEFAULT expr`
    Default(Expr),
    /// `GENERATED ... AS IDENTITY`; `true` for ALWAYS
    Identity(bool),
    /// `CHECK (expr)`
    Check(Expr),
    /// `PRIMARY KEY`
    PrimaryKey,
    /// `UNIQUE`
    Unique,
    /// `REFERENCES table (column)`
    References(References),
}

/// `REFERENCES parent (columns) ON DELETE ...`
#[derive(Clone, Debug)]
pub struct References {
    /// The parent table.
    pub table: QualifiedName,
    /// Its columns; its primary key if empty.
    pub columns: Vec<Ident>,
    /// `ON DELETE`
    pub on_delete: ReferentialAction,
    /// `ON UPDATE`
    pub on_update: ReferentialAction,
}

/// What happens to children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReferentialAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// A constraint of a table.
#[derive(Clone, Debug)]
pub struct TableConstraint {
    /// `CONSTRAINT name`
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: TableConstraintKind,
    /// Where.
    pub span: Span,
}

/// What a table may demand.
#[derive(Clone, Debug)]
pub enum TableConstraintKind {
    /// `CHECK (expr)`
    Check(Expr),
    /// `PRIMARY KEY (columns)`
    PrimaryKey(Vec<Ident>),
    /// `UNIQUE (columns)`
    Unique(Vec<Ident>),
    /// `FOREIGN KEY (columns) REFERENCES ...`
    ForeignKey(Vec<Ident>, References),
}

/// `CREATE [UNIQUE] INDEX`
#[derive(Clone, Debug)]
pub struct CreateIndex {
    /// `UNIQUE`
    pub unique: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its name; made up if absent.
    pub name: Option<Ident>,
    /// The table.
    pub table: QualifiedName,
    /// Its columns, or expressions.
    pub keys: Vec<Expr>,
    /// `WHERE`: a partial index.
    pub filter: Option<Expr>,
}

/// `CREATE SEQUENCE`
#[derive(Clone, Debug)]
pub struct CreateSequence {
    /// Its name.
    pub name: QualifiedName,
    /// `START WITH`
    pub start: Option<i64>,
    /// `INCREMENT BY`
    pub increment: Option<i64>,
}

/// `DROP ...`
#[derive(Clone, Debug)]
pub struct Drop {
    /// What kind of thing.
    pub object: DropObject,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Their names.
    pub names: Vec<QualifiedName>,
    /// `CASCADE`
    pub cascade: bool,
}

/// What DROP drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DropObject {
    Table,
    Index,
    Sequence,
    Routine,
}

/// `CREATE FUNCTION` / `CREATE PROCEDURE`
#[derive(Clone, Debug)]
pub struct CreateRoutine {
    /// `OR REPLACE`
    pub or_replace: bool,
    /// PROCEDURE rather than FUNCTION.
    pub procedure: bool,
    /// Its name.
    pub name: QualifiedName,
    /// Its parameters.
    pub params: Vec<Param>,
    /// `RETURNS`
    pub returns: Returns,
    /// What it does.
    pub body: RoutineBody,
}

/// A parameter of a routine.
#[derive(Clone, Debug)]
pub struct Param {
    /// `IN`, `OUT`, `INOUT`
    pub mode: ParamMode,
    /// Its name; `$1` and so on if absent.
    pub name: Option<Ident>,
    /// Its type.
    pub ty: TypeName,
    /// `DEFAULT`
    pub default: Option<Expr>,
}

/// The direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

/// What a routine returns.
#[derive(Clone, Debug)]
pub enum Returns {
    /// A procedure, or a function whose result is its OUT parameters.
    Nothing,
    /// `RETURNS type`
    Value(TypeName),
    /// `RETURNS SETOF type`
    SetOf(TypeName),
    /// `RETURNS TABLE (name type, ...)`
    Table(Vec<(Ident, TypeName)>),
}

/// What a routine does.
#[derive(Clone, Debug)]
pub enum RoutineBody {
    /// `LANGUAGE plpgsql`
    PlPgSql(Arc<plpgsql::Body>),
    /// `LANGUAGE sql`: statements, the last of which is the result.
    Sql(Arc<[Statement]>),
}

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
    /// `EXISTS (SELECT ...)`
    Exists(Box<Query>),
    /// `(SELECT ...)` as a value
    Subquery(Box<Query>),
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
}
