//! What was written: statements and expressions with names unresolved and a span on everything an error may point at.
//!
//! The tree is ours, small and closed: where PostgreSQL has five spellings the parser picks one node (`BETWEEN`,
//! `x::t`, `!=`), so that the binder and the printer have one case each. Names are already folded as PostgreSQL folds
//! them: unquoted to lower case.

mod alter;
mod cursor;
mod ddl;
mod dml;
mod expr;
mod lock;
pub mod plpgsql;
mod query;
mod session;
mod trigger;
mod types;
mod walk;

use std::sync::Arc;

use crate::error::Span;
use crate::types::Type;

pub use alter::*;
pub use cursor::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use lock::*;
pub use query::*;
pub use session::*;
pub use trigger::*;
pub use types::*;
pub use walk::Part;

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The folded name.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// A possibly schema-qualified name. A relation in `public` has no schema here, as in the catalog; that `public` was
/// written is kept apart, because such a name is not looked for along the search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QualifiedName {
    /// `pg_catalog` in `pg_catalog.now()`.
    pub schema: Option<Ident>,
    /// `public` in `public.t`.
    pub public: Option<Ident>,
    /// The last part.
    pub name: Ident,
}

impl QualifiedName {
    /// A name without a schema.
    pub fn bare(name: Ident) -> Self {
        QualifiedName { schema: None, public: None, name }
    }

    /// A name in the schema that was written, if one was.
    pub fn new(schema: Option<Ident>, name: Ident) -> Self {
        match schema {
            Some(public) if &*public.name == "public" => QualifiedName { schema: None, public: Some(public), name },
            schema => QualifiedName { schema, public: None, name },
        }
    }

    /// What was written before the dot.
    pub fn qualifier(&self) -> Option<&Ident> {
        self.schema.as_ref().or(self.public.as_ref())
    }

    /// The same, as text.
    pub fn qualifier_name(&self) -> Option<&str> {
        self.qualifier().map(|schema| &*schema.name)
    }
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
    /// `MERGE`
    Merge(Box<Merge>),
    /// `CREATE TABLE`
    CreateTable(Box<CreateTable>),
    /// `CREATE [UNIQUE] INDEX`
    CreateIndex(Box<CreateIndex>),
    /// `CREATE SEQUENCE`
    CreateSequence(CreateSequence),
    /// `CREATE FUNCTION` or `CREATE PROCEDURE`
    CreateRoutine(Box<CreateRoutine>),
    /// `CREATE TRIGGER`
    CreateTrigger(Box<CreateTrigger>),
    /// `DROP TRIGGER`
    DropTrigger(DropTrigger),
    /// `ALTER TABLE ... ENABLE | DISABLE TRIGGER`
    SwitchTriggers(SwitchTriggers),
    /// `DECLARE ... CURSOR`
    DeclareCursor(Box<DeclareCursor>),
    /// `FETCH`, `MOVE`
    Fetch(Fetch),
    /// `CLOSE name`, `CLOSE ALL`
    CloseCursor(Option<Ident>),
    /// `CREATE TYPE`
    CreateType(Box<CreateType>),
    /// `CREATE DOMAIN`
    CreateDomain(Box<CreateDomain>),
    /// `ALTER TYPE`
    AlterType(Box<AlterType>),
    /// `ALTER TABLE`
    AlterTable(Box<AlterTable>),
    /// `ALTER SEQUENCE` with options
    AlterSequence(Box<AlterSequence>),
    /// `ALTER ... RENAME TO`, `ALTER ... SET SCHEMA`
    AlterObject(Box<AlterObject>),
    /// `CREATE [MATERIALIZED] VIEW`
    CreateView(Box<CreateView>),
    /// `REFRESH MATERIALIZED VIEW`
    Refresh(Refresh),
    /// `CREATE TABLE ... AS`
    CreateTableAs(Box<CreateTableAs>),
    /// `CREATE SCHEMA`
    CreateSchema(Box<CreateSchema>),
    /// `DROP TABLE | INDEX | SEQUENCE | FUNCTION | PROCEDURE | VIEW | SCHEMA`
    Drop(Drop),
    /// `TRUNCATE`
    Truncate(Truncate),
    /// `SET CONSTRAINTS`
    SetConstraints(SetConstraints),
    /// `COPY ... FROM stdin` with its rows
    Copy(Box<Copy>),
    /// What is accepted without effect.
    Ignored(Ignored),
    /// `LOCK TABLE`
    LockTable(LockTable),
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
    /// Settings, prepared statements, channels, prepared transactions.
    Session(SessionCommand),
    /// `CALL name(args)`
    Call {
        /// The procedure.
        name: QualifiedName,
        /// Its arguments.
        args: Vec<Expr>,
        /// `name => value`, behind the others.
        named: Vec<(Ident, Expr)>,
    },
    /// `DO $$ ... $$`
    Do(Arc<plpgsql::Body>),
}

impl StatementKind {
    /// Whether its names are looked up under a snapshot, which its transaction then keeps even if one is not found: not
    /// if it is about transactions, settings, locks or cursors.
    pub fn is_bound_under_snapshot(&self) -> bool {
        use StatementKind::*;
        let about_transactions =
            matches!(self, Begin(_) | Commit { .. } | Rollback { .. } | Savepoint(_) | RollbackTo(_) | Release(_));
        let about_settings =
            matches!(self, SetTransaction(_) | SetSessionCharacteristics(_) | Set(_) | SetConstraints(_) | Session(_));
        !about_transactions && !about_settings && !matches!(self, LockTable(_) | Fetch(_) | CloseCursor(_) | Ignored(_))
    }
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
