//! Statements that are accepted without effect.
//!
//! All sessions belong to one user who may do everything, storage is not modelled and nothing outside the database
//! exists: so privileges, owners, comments, extensions and maintenance change nothing that a session could observe.

use squawk_syntax::ast::{self as cst, AstNode};

use super::Lower;
use crate::ast::{Ignored, StatementKind};

impl Lower {
    /// The statement as one without effect, if it is.
    pub(super) fn ignored(&self, statement: &cst::Stmt) -> Option<StatementKind> {
        let tag = ignored_tag(statement)?;
        let text = statement.syntax().text().to_string();
        Some(StatementKind::Ignored(Ignored { tag, text: text.trim().trim_end_matches(';').into() }))
    }
}

/// The command tag of a statement without effect.
fn ignored_tag(statement: &cst::Stmt) -> Option<&'static str> {
    use cst::Stmt as S;
    Some(match statement {
        S::CommentOn(_) => "COMMENT",
        S::Grant(_) => "GRANT",
        S::Revoke(_) => "REVOKE",
        S::SecurityLabel(_) => "SECURITY LABEL",
        S::AlterDefaultPrivileges(_) => "ALTER DEFAULT PRIVILEGES",
        S::CreateExtension(_) => "CREATE EXTENSION",
        S::AlterExtension(_) => "ALTER EXTENSION",
        S::DropExtension(_) => "DROP EXTENSION",
        S::CreateRole(_) | S::CreateUser(_) | S::CreateGroup(_) => "CREATE ROLE",
        S::AlterRole(_) | S::AlterUser(_) | S::AlterGroup(_) => "ALTER ROLE",
        S::DropRole(_) | S::DropUser(_) | S::DropGroup(_) => "DROP ROLE",
        S::Reassign(_) => "REASSIGN OWNED",
        S::DropOwned(_) => "DROP OWNED",
        S::SetRole(_) | S::SetSessionAuth(_) => "SET",
        S::ResetRole(_) | S::ResetSessionAuth(_) => "RESET",
        S::AlterDatabase(_) => "ALTER DATABASE",
        S::AlterSystem(_) => "ALTER SYSTEM",
        S::AlterLargeObject(_) => "ALTER LARGE OBJECT",
        S::CreateTablespace(_) => "CREATE TABLESPACE",
        S::AlterTablespace(_) => "ALTER TABLESPACE",
        S::DropTablespace(_) => "DROP TABLESPACE",
        S::CreateLanguage(_) => "CREATE LANGUAGE",
        S::AlterLanguage(_) => "ALTER LANGUAGE",
        S::CreatePublication(_) => "CREATE PUBLICATION",
        S::AlterPublication(_) => "ALTER PUBLICATION",
        S::DropPublication(_) => "DROP PUBLICATION",
        S::CreateStatistics(_) => "CREATE STATISTICS",
        S::AlterStatistics(_) => "ALTER STATISTICS",
        S::DropStatistics(_) => "DROP STATISTICS",
        S::CreatePolicy(_) => "CREATE POLICY",
        S::AlterPolicy(_) => "ALTER POLICY",
        S::DropPolicy(_) => "DROP POLICY",
        S::Analyze(_) => "ANALYZE",
        S::Vacuum(_) => "VACUUM",
        S::Reindex(_) => "REINDEX",
        S::Cluster(_) => "CLUSTER",
        S::Checkpoint(_) => "CHECKPOINT",
        S::Load(_) => "LOAD",
        S::AlterFunction(f) if is_quiet(f.action().map(|a| a.syntax().kind())) => "ALTER FUNCTION",
        S::AlterProcedure(f) if is_quiet(f.action().map(|a| a.syntax().kind())) => "ALTER PROCEDURE",
        S::AlterRoutine(f) if is_quiet(f.action().map(|a| a.syntax().kind())) => "ALTER ROUTINE",
        S::AlterType(t) if is_quiet(t.action().map(|a| a.syntax().kind())) => "ALTER TYPE",
        S::AlterDomain(t) if is_quiet(t.action().map(|a| a.syntax().kind())) => "ALTER DOMAIN",
        _ => return None,
    })
}

/// Owners, and options that only planners and privileges heed.
fn is_quiet(action: Option<squawk_syntax::SyntaxKind>) -> bool {
    use squawk_syntax::SyntaxKind as K;
    matches!(action, Some(K::OWNER_TO | K::FUNC_OPTION_LIST | K::DEPENDS_ON_EXTENSION | K::NO_DEPENDS_ON_EXTENSION))
}
