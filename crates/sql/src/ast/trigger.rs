//! Triggers as written.

use super::*;

/// `CREATE [OR REPLACE] [CONSTRAINT] TRIGGER`
#[derive(Clone, Debug)]
pub struct CreateTrigger {
    /// `OR REPLACE`
    pub or_replace: bool,
    /// `CONSTRAINT`
    pub constraint: bool,
    /// Its name.
    pub name: Ident,
    /// Before, after or instead of the event.
    pub timing: TriggerTiming,
    /// What it waits for.
    pub events: Vec<TriggerEvent>,
    /// The table.
    pub table: QualifiedName,
    /// `DEFERRABLE`
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`
    pub deferred: bool,
    /// `REFERENCING OLD TABLE AS name`
    pub old_table: Option<Ident>,
    /// `REFERENCING NEW TABLE AS name`
    pub new_table: Option<Ident>,
    /// `FOR EACH ROW` rather than STATEMENT.
    pub each_row: bool,
    /// `WHEN (condition)`
    pub when: Option<Expr>,
    /// The function.
    pub function: QualifiedName,
    /// Its arguments, all of them text.
    pub args: Vec<Arc<str>>,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
}

/// What a trigger waits for.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum TriggerEvent {
    Insert,
    /// `UPDATE OF columns`; none is any.
    Update(Vec<Ident>),
    Delete,
    Truncate,
}

/// `DROP TRIGGER name ON table`
#[derive(Clone, Debug)]
pub struct DropTrigger {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Its name.
    pub name: Ident,
    /// The table.
    pub table: QualifiedName,
}

/// `ALTER TABLE ... ENABLE | DISABLE TRIGGER`
#[derive(Clone, Debug)]
pub struct SwitchTriggers {
    /// The table.
    pub table: QualifiedName,
    /// One trigger; all of them if none is named.
    pub name: Option<Ident>,
    /// `ENABLE`
    pub enabled: bool,
}
