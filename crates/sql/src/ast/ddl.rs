//! Definitions: tables, constraints, indexes, sequences, routines, and their end.

use super::*;

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
    /// `LIKE` clauses, each with the number of columns written before it.
    pub likes: Vec<(usize, LikeClause)>,
    /// `TEMPORARY`
    pub temporary: bool,
}

/// `LIKE table INCLUDING ...`
#[derive(Clone, Debug)]
pub struct LikeClause {
    /// The table whose columns are copied.
    pub table: QualifiedName,
    /// `INCLUDING DEFAULTS`
    pub defaults: bool,
    /// `INCLUDING CONSTRAINTS`
    pub constraints: bool,
    /// `INCLUDING INDEXES`
    pub indexes: bool,
    /// `INCLUDING IDENTITY`
    pub identity: bool,
    /// `INCLUDING GENERATED`
    pub generated: bool,
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
    /// `name[]`, of a name nobody knows (yet).
    Array(Box<TypeName>, Span),
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
    /// When, and of whom.
    pub options: ConstraintOptions,
    /// Where.
    pub span: Span,
}

/// What may follow any constraint.
#[derive(Clone, Debug, Default)]
pub struct ConstraintOptions {
    /// `DEFERRABLE INITIALLY ...`
    pub deferral: Deferral,
    /// `NOT VALID`: rows that are there already are not checked.
    pub not_valid: bool,
    /// `UNIQUE NULLS NOT DISTINCT`
    pub nulls_not_distinct: bool,
    /// `USING INDEX name`
    pub using_index: Option<Ident>,
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Deferral {
    /// At once.
    #[default]
    NotDeferrable,
    /// `DEFERRABLE INITIALLY IMMEDIATE`: behind each statement, unless SET CONSTRAINTS says otherwise.
    Immediate,
    /// `DEFERRABLE INITIALLY DEFERRED`: at COMMIT, unless SET CONSTRAINTS says otherwise.
    Deferred,
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
    /// `GENERATED ... AS IDENTITY`
    Identity(Box<IdentityDef>),
    /// `GENERATED ALWAYS AS (expr) STORED`
    Generated(Expr),
    /// `CHECK (expr)`
    Check(Expr),
    /// `PRIMARY KEY`
    PrimaryKey,
    /// `UNIQUE`
    Unique,
    /// `REFERENCES table (column)`
    References(References),
}

/// `GENERATED { ALWAYS | BY DEFAULT } AS IDENTITY (options)`
#[derive(Clone, Debug)]
pub struct IdentityDef {
    /// ALWAYS rather than BY DEFAULT.
    pub always: bool,
    /// Its sequence's options.
    pub options: SequenceOptions,
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
    /// `ON DELETE SET NULL (columns)`: only these; all if empty.
    pub on_delete_columns: Vec<Ident>,
    /// `MATCH FULL`
    pub match_full: bool,
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
    /// When, and of whom.
    pub options: ConstraintOptions,
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
    /// `NULLS NOT DISTINCT`
    pub nulls_not_distinct: bool,
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
    /// For routines: the types of their parameters, where given.
    pub signatures: Vec<Option<Vec<TypeName>>>,
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
    Function,
    Procedure,
    Routine,
    Type,
    Domain,
    View,
    MaterializedView,
    Schema,
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
    /// `IMMUTABLE`, `STABLE`, `VOLATILE`
    pub volatility: Volatility,
    /// `STRICT`: NULL if an argument is.
    pub strict: bool,
    /// What it does.
    pub body: RoutineBody,
}

/// What a routine promises about its effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// It may do anything; its queries see what was committed meanwhile.
    #[default]
    Volatile,
    /// It changes nothing, and its queries see what the caller's do.
    Stable,
    /// The same, and it depends on its arguments alone.
    Immutable,
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
