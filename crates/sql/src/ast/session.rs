//! Statements about the session itself: its settings, prepared statements, channels and prepared transactions.

use std::sync::Arc;

use super::{Expr, Ident, QualifiedName, Statement, TypeName};

/// A statement that concerns the session rather than rows.
#[derive(Clone, Debug)]
pub enum SessionCommand {
    /// `SHOW name`
    Show(Ident),
    /// `RESET name`, or `ALL`
    Reset(Option<Ident>),
    /// `PREPARE name (types) AS statement`
    Prepare {
        /// What it is called from now on.
        name: Ident,
        /// The types of `$1`, `$2`, ...; those left out are taken from where the parameter stands.
        types: Vec<TypeName>,
        /// What EXECUTE runs.
        statement: Box<Statement>,
    },
    /// `EXECUTE name (args)`
    Execute {
        /// The prepared statement.
        name: Ident,
        /// Its parameters.
        args: Vec<Expr>,
    },
    /// `DEALLOCATE name`, or `ALL`
    Deallocate(Option<Ident>),
    /// `DISCARD ALL | PLANS | SEQUENCES | TEMP`
    Discard(Discard),
    /// `VACUUM`, `ANALYZE`, ...: work that no query can observe.
    Maintain {
        /// Which.
        work: Maintenance,
        /// The tables it names.
        tables: Vec<QualifiedName>,
    },
    /// `LISTEN channel`
    Listen(Ident),
    /// `UNLISTEN channel`, or `*`
    Unlisten(Option<Ident>),
    /// `NOTIFY channel, 'payload'`
    Notify {
        /// To whom it may concern.
        channel: Ident,
        /// What it says.
        payload: Option<Arc<str>>,
    },
    /// `PREPARE TRANSACTION 'id'`
    PrepareTransaction(Arc<str>),
    /// `COMMIT PREPARED 'id'`
    CommitPrepared(Arc<str>),
    /// `ROLLBACK PREPARED 'id'`
    RollbackPrepared(Arc<str>),
}

/// What DISCARD discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Discard {
    All,
    Plans,
    Sequences,
    Temp,
}

/// Work on tables that changes nothing a query can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Maintenance {
    Vacuum,
    Analyze,
    Reindex,
    Checkpoint,
    Cluster,
}

impl Maintenance {
    /// The command's name, which is also its tag.
    pub fn name(self) -> &'static str {
        match self {
            Maintenance::Vacuum => "VACUUM",
            Maintenance::Analyze => "ANALYZE",
            Maintenance::Reindex => "REINDEX",
            Maintenance::Checkpoint => "CHECKPOINT",
            Maintenance::Cluster => "CLUSTER",
        }
    }
}

impl Discard {
    /// The command's tag.
    pub fn name(self) -> &'static str {
        match self {
            Discard::All => "DISCARD ALL",
            Discard::Plans => "DISCARD PLANS",
            Discard::Sequences => "DISCARD SEQUENCES",
            Discard::Temp => "DISCARD TEMP",
        }
    }
}
