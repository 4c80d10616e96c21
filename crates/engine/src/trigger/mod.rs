//! Triggers: which fire, in which order, and what becomes of their answers.

use isolde_sql::{SqlError, SqlState, Value};

use crate::machine::Machine;

pub(crate) const FIRES: bool = false;

impl Machine<'_> {
    /// What a trigger function returned: a row of its table, or NULL.
    pub(crate) fn trigger_result(&self, value: Option<Value>, width: usize) -> Result<Value, SqlError> {
        let Some(value) = value else {
            let message = "control reached end of trigger procedure without RETURN";
            return Err(SqlError::new(SqlState::parse("2F005").unwrap_or(SqlState::INTERNAL_ERROR), message));
        };
        match &value {
            Value::Null => Ok(value),
            Value::Record(row) if row.len() == width => Ok(value),
            Value::Record(_) => {
                let message = "returned row structure does not match the structure of the triggering table";
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
            }
            _ => {
                let message = "cannot return non-composite value from function returning composite type";
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }
}
