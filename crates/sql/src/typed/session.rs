//! Statements about the session itself.

use std::sync::Arc;

use super::Statement;
use crate::ast::{self, Discard, Maintenance};
use crate::catalog::TableId;
use crate::types::Type;

/// A statement that concerns the session rather than rows.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum SessionCommand {
    Show(Arc<str>),
    /// `None` is ALL.
    Reset(Option<Arc<str>>),
    Prepare {
        name: Arc<str>,
        prepared: Arc<PreparedStatement>,
    },
    /// The statement is known only when this runs, so the arguments are bound then.
    Execute {
        name: Arc<str>,
        args: Arc<[ast::Expr]>,
        /// The types of the parameters that the arguments may name.
        params: Arc<[Type]>,
    },
    /// `None` is ALL.
    Deallocate(Option<Arc<str>>),
    Discard(Discard),
    Maintain {
        work: Maintenance,
        tables: Vec<TableId>,
    },
    Listen(Arc<str>),
    /// `None` is `*`.
    Unlisten(Option<Arc<str>>),
    Notify {
        channel: Arc<str>,
        payload: Arc<str>,
    },
}

/// What PREPARE keeps.
#[derive(Clone, Debug)]
pub struct PreparedStatement {
    /// The types of its parameters, given or taken from their places.
    pub params: Vec<Type>,
    /// What it means, as long as the catalog is the same.
    pub statement: Arc<Statement>,
    /// What was written, to be bound again when the catalog has changed.
    pub written: ast::Statement,
}
