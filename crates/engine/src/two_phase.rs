//! Two-phase commit.
//!
//! PREPARE TRANSACTION takes the transaction away from its session and gives it to nobody: an entry among the sessions
//! that has a name instead of a client. Its locks and its uncommitted rows stay in the way of others exactly as they
//! were, because locks are facts about whoever has the transaction. COMMIT PREPARED, from any session, takes it over
//! and ends it.

use std::sync::Arc;

use isolde_sql::{SqlError, SqlState};

use crate::database::Database;
use crate::machine::Machine;
use crate::session::{Outcome, Session, SessionState};

/// The longest name of a prepared transaction, in bytes, and one more.
const ID_BYTES: usize = 200;

impl Machine<'_> {
    /// PREPARE TRANSACTION; of one that has failed it is a ROLLBACK.
    pub(crate) fn prepare_transaction(&mut self, id: &Arc<str>) -> Result<&'static str, SqlError> {
        self.footprint.everything = true;
        let Some(t) = self.session.transaction.as_ref().filter(|t| t.explicit) else {
            self.warn("there is no transaction in progress");
            return Ok("ROLLBACK");
        };
        if t.failed {
            self.abort();
            return Ok("ROLLBACK");
        }
        if let Err(error) = self.exec().prepare_serial(true).and_then(|()| self.may_prepare(id)) {
            // As with a COMMIT that fails, nothing is left of the transaction.
            self.abort();
            return Err(error);
        }
        let Some(mut transaction) = self.session.transaction.take() else { return Ok("ROLLBACK") };
        transaction.savepoints.clear();
        let state =
            SessionState { transaction: Some(transaction), prepared_as: Some(id.clone()), ..SessionState::default() };
        let nobody = Session { state, ..Session::default() };
        match self.db.sessions.iter().position(|s| s.is_vacant()) {
            Some(vacant) => self.db.sessions[vacant] = Arc::new(nobody),
            None => self.db.sessions.push(Arc::new(nobody)),
        }
        self.outcome.get_or_insert(Outcome::Done);
        self.end_kept(true);
        Ok("PREPARE TRANSACTION")
    }

    fn may_prepare(&self, id: &str) -> Result<(), SqlError> {
        if id.len() >= ID_BYTES {
            let message = format!("transaction identifier \"{id}\" is too long");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        if self.db.find_prepared(id).is_some() {
            let message = format!("transaction identifier \"{id}\" is already in use");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if !self.session.kept.pending.is_empty() {
            let message = "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if self.session.advisory.keys().any(|key| self.session.transaction().heavy.contains_key(key)) {
            let message =
                "cannot PREPARE while holding both session-level and transaction-level locks on the same object";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }

    /// COMMIT PREPARED or ROLLBACK PREPARED.
    pub(crate) fn end_prepared(&mut self, id: &str, commits: bool) -> Result<&'static str, SqlError> {
        self.footprint.everything = true;
        let verb = if commits { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        self.not_in_block(verb)?;
        let Some(place) = self.db.find_prepared(id) else {
            let message = format!("prepared transaction with identifier \"{id}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        };
        let state = SessionState { prepared_as: Some("".into()), ..SessionState::default() };
        let vacant = Session { state, ..Session::default() };
        let prepared = std::mem::replace(&mut self.db.sessions[place], Arc::new(vacant));
        self.session.transaction = Arc::unwrap_or_clone(prepared).state.transaction;
        if commits {
            self.commit()?;
            self.outcome.get_or_insert(Outcome::Committed);
        } else {
            self.outcome.get_or_insert(Outcome::RolledBack);
            self.abort();
        }
        while self.db.sessions.last().is_some_and(|s| s.is_vacant()) {
            self.db.sessions.pop();
        }
        Ok(verb)
    }
}

impl Database {
    /// Where the prepared transaction of this name is.
    fn find_prepared(&self, id: &str) -> Option<usize> {
        self.sessions.iter().position(|s| s.transaction.is_some() && s.prepared_as.as_deref() == Some(id))
    }
}

impl SessionState {
    /// A place that a prepared transaction has left.
    fn is_vacant(&self) -> bool {
        self.prepared_as.is_some() && self.transaction.is_none()
    }
}
