//! INSERT, UPDATE, DELETE, MERGE.

use super::*;

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
    /// `OVERRIDING`
    pub overriding: Option<Overriding>,
    /// The rows. A bare `DEFAULT` among VALUES is [`ExprKind::Default`].
    pub source: InsertSource,
    /// `ON CONFLICT`
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`
    pub returning: Vec<SelectItem>,
}

/// What happens to values for identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overriding {
    /// `OVERRIDING SYSTEM VALUE`: they are stored.
    System,
    /// `OVERRIDING USER VALUE`: they are ignored.
    User,
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
    /// `(lower(a), b) WHERE c`
    Index {
        /// Columns and expressions.
        keys: Vec<Expr>,
        /// What a partial index is about.
        filter: Option<Expr>,
    },
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
    /// `column[1] = value`: which part of it; none for the whole.
    pub subscripts: Vec<Subscript>,
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

/// `MERGE`
#[derive(Clone, Debug)]
pub struct Merge {
    /// `WITH`
    pub with: Vec<Cte>,
    /// The table.
    pub table: QualifiedName,
    /// `AS alias`
    pub alias: Option<Ident>,
    /// `USING`
    pub source: TableRef,
    /// `ON`
    pub on: Expr,
    /// What to do, the first that fits.
    pub whens: Vec<MergeWhen>,
}

/// `WHEN [NOT] MATCHED [AND condition] THEN action`
#[derive(Clone, Debug)]
pub struct MergeWhen {
    /// `WHEN MATCHED` rather than `WHEN NOT MATCHED`.
    pub matched: bool,
    /// `AND`
    pub condition: Option<Expr>,
    /// `THEN`
    pub action: MergeAction,
    /// Where.
    pub span: Span,
}

/// What MERGE does with a row.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// `UPDATE SET`
    Update(Vec<Assignment>),
    /// `DELETE`
    Delete,
    /// `INSERT`
    Insert {
        /// Target columns; all if empty.
        columns: Vec<Ident>,
        /// `OVERRIDING`
        overriding: Option<Overriding>,
        /// `VALUES`; `None` is DEFAULT VALUES.
        values: Option<Vec<Expr>>,
    },
    /// `DO NOTHING`
    Nothing,
}
