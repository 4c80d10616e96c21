//! Types that users define.

use super::*;

/// `CREATE TYPE`
#[derive(Clone, Debug)]
pub struct CreateType {
    /// Its name.
    pub name: QualifiedName,
    /// What it is.
    pub kind: CreateTypeKind,
}

/// What CREATE TYPE defines.
#[derive(Clone, Debug)]
pub enum CreateTypeKind {
    /// `AS ENUM ('a', 'b')`
    Enum(Vec<Arc<str>>),
    /// `AS (name type, ...)`
    Composite(Vec<(Ident, TypeName)>),
}

/// `CREATE DOMAIN name AS type`
#[derive(Clone, Debug)]
pub struct CreateDomain {
    /// Its name.
    pub name: QualifiedName,
    /// What it restricts.
    pub base: TypeName,
    /// `DEFAULT`, `NOT NULL`, `CHECK (... VALUE ...)`
    pub constraints: Vec<ColumnConstraint>,
}

/// `ALTER TYPE`
#[derive(Clone, Debug)]
pub struct AlterType {
    /// Its name.
    pub name: QualifiedName,
    /// What changes.
    pub action: AlterTypeAction,
}

/// What ALTER TYPE changes.
#[derive(Clone, Debug)]
pub enum AlterTypeAction {
    /// `ADD VALUE 'label' [BEFORE | AFTER 'label']`
    AddValue {
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The new label.
        label: Arc<str>,
        /// Where it goes; at the end if it does not say.
        place: Option<LabelPlace>,
    },
    /// `RENAME VALUE 'from' TO 'to'`
    RenameValue(Arc<str>, Arc<str>),
    /// `RENAME TO name`
    Rename(Ident),
}

/// Beside which label a new one stands.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum LabelPlace {
    Before(Arc<str>),
    After(Arc<str>),
}
