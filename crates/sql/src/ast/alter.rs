//! Definitions that change, and those that stand on queries: ALTER, sequences, views, schemas, COPY.

use super::*;

/// `ALTER TABLE`
#[derive(Clone, Debug)]
pub struct AlterTable {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The table.
    pub table: QualifiedName,
    /// What is done to it, in order.
    pub actions: Vec<AlterAction>,
}

/// One action of ALTER TABLE.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum AlterAction {
    AddColumn {
        if_not_exists: bool,
        def: ColumnDef,
    },
    DropColumn {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    AlterColumn(Ident, ColumnAction),
    RenameColumn(Ident, Ident),
    AddConstraint(TableConstraint),
    DropConstraint {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    ValidateConstraint(Ident),
    AlterConstraint(Ident, Deferral),
    RenameConstraint(Ident, Ident),
    RenameTo(Ident),
    SetSchema(Ident),
    /// What nobody can observe: owners, storage, replication.
    Ignored,
}

/// What ALTER COLUMN does.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ColumnAction {
    /// `TYPE ty [USING expr]`
    Type(TypeName, Option<Expr>),
    SetDefault(Expr),
    DropDefault,
    SetNotNull,
    DropNotNull,
    AddIdentity(IdentityDef),
    /// `SET GENERATED ...`, `SET <sequence option>`, `RESTART`
    SetIdentity {
        always: Option<bool>,
        options: SequenceOptions,
    },
    DropIdentity {
        if_exists: bool,
    },
    /// `DROP EXPRESSION`
    DropExpression {
        if_exists: bool,
    },
    /// Storage, statistics.
    Ignored,
}

/// What CREATE SEQUENCE, ALTER SEQUENCE and identity columns say about a sequence; what is absent stays as it was.
#[derive(Clone, Debug, Default)]
pub struct SequenceOptions {
    /// `AS type`
    pub ty: Option<Type>,
    /// `START WITH`
    pub start: Option<i64>,
    /// `INCREMENT BY`
    pub increment: Option<i64>,
    /// `MINVALUE n`, or `NO MINVALUE` (`None` inside)
    pub min: Option<Option<i64>>,
    /// `MAXVALUE n`, or `NO MAXVALUE`
    pub max: Option<Option<i64>>,
    /// `CACHE n`
    pub cache: Option<i64>,
    /// `CYCLE` or `NO CYCLE`
    pub cycle: Option<bool>,
    /// `RESTART [WITH n]`
    pub restart: Option<Option<i64>>,
    /// `OWNED BY table.column`, or `OWNED BY NONE`
    pub owned_by: Option<Option<Vec<Ident>>>,
    /// `SEQUENCE NAME name`, of identity columns
    pub name: Option<QualifiedName>,
    /// Where.
    pub span: Span,
}

/// `CREATE SEQUENCE`
#[derive(Clone, Debug)]
pub struct CreateSequence {
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its name.
    pub name: QualifiedName,
    /// What follows.
    pub options: SequenceOptions,
}

/// `ALTER SEQUENCE name options`
#[derive(Clone, Debug)]
pub struct AlterSequence {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Its name.
    pub name: QualifiedName,
    /// What changes.
    pub options: SequenceOptions,
}

/// `ALTER { SEQUENCE | VIEW | INDEX | SCHEMA | ... } name { RENAME TO | SET SCHEMA | ... }`
#[derive(Clone, Debug)]
pub struct AlterObject {
    /// What kind of thing.
    pub object: DropObject,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Its name.
    pub name: QualifiedName,
    /// What is done.
    pub action: ObjectAction,
}

/// What can be done to anything that has a name.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ObjectAction {
    RenameTo(Ident),
    SetSchema(Ident),
    RenameColumn(Ident, Ident),
    Ignored,
}

/// `CREATE [MATERIALIZED] VIEW`
#[derive(Clone, Debug)]
pub struct CreateView {
    /// `OR REPLACE`
    pub or_replace: bool,
    /// `IF NOT EXISTS`, of materialized views
    pub if_not_exists: bool,
    /// `MATERIALIZED`, and if so whether it has rows from the start.
    pub materialized: Option<bool>,
    /// Its name.
    pub name: QualifiedName,
    /// Names for its columns; the query's if fewer.
    pub columns: Vec<Ident>,
    /// What it shows.
    pub query: Query,
    /// `WITH CHECK OPTION`
    pub check: Option<CheckOption>,
}

/// Whose conditions rows written through a view must fulfil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckOption {
    /// The view's own.
    Local,
    /// Also those of the views below it.
    Cascaded,
}

/// `REFRESH MATERIALIZED VIEW`
#[derive(Clone, Debug)]
pub struct Refresh {
    /// The view.
    pub name: QualifiedName,
    /// Without `WITH NO DATA`.
    pub with_data: bool,
}

/// `CREATE TABLE name AS query`, `SELECT ... INTO name`
#[derive(Clone, Debug)]
pub struct CreateTableAs {
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its name.
    pub name: QualifiedName,
    /// Names for its columns; the query's if fewer.
    pub columns: Vec<Ident>,
    /// Its rows.
    pub query: Query,
    /// Without `WITH NO DATA`.
    pub with_data: bool,
    /// `TEMPORARY`
    pub temporary: bool,
}

/// `CREATE SCHEMA`
#[derive(Clone, Debug)]
pub struct CreateSchema {
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its name.
    pub name: Ident,
    /// Definitions inside it.
    pub elements: Vec<Statement>,
}

/// `TRUNCATE`
#[derive(Clone, Debug)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<QualifiedName>,
    /// `CASCADE`
    pub cascade: bool,
    /// `RESTART IDENTITY`
    pub restart: bool,
}

/// `SET CONSTRAINTS`
#[derive(Clone, Debug)]
pub struct SetConstraints {
    /// Which; `None` for ALL.
    pub names: Option<Vec<QualifiedName>>,
    /// `DEFERRED` rather than `IMMEDIATE`.
    pub deferred: bool,
}

/// `COPY table (columns) FROM stdin` and the rows that follow it.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Into.
    pub table: QualifiedName,
    /// Its columns; all if empty.
    pub columns: Vec<Ident>,
    /// How rows are written.
    pub format: CopyFormat,
    /// The fields of each row; `None` is NULL.
    pub rows: Vec<Vec<Option<Arc<str>>>>,
}

/// How COPY's rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFormat {
    /// CSV rather than text.
    pub csv: bool,
    /// Between two fields.
    pub delimiter: char,
    /// What NULL looks like.
    pub null: Arc<str>,
    /// The first line names the columns.
    pub header: bool,
    /// Around fields, in CSV.
    pub quote: char,
    /// Before a quote inside of quotes, in CSV.
    pub escape: char,
}

/// A statement that is accepted because nothing we look at depends on it: comments, privileges, owners, extensions.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// Its command tag.
    pub tag: &'static str,
    /// As written.
    pub text: Arc<str>,
}
