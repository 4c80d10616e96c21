//! The remaining simple statements: EXECUTE, ASSERT, GET DIAGNOSTICS.

use std::sync::Arc;

use super::sql::{COMMA_OR_SEMICOLON, Followers, SEMICOLON};
use super::{Parser, Result};
use crate::ast::plpgsql::{StmtKind, Target};
use crate::error::Diagnostic;

const EXECUTED: Followers = Followers::of_expression(&["INTO", "USING", ";"], "INTO or USING or ;");
const USED: Followers = Followers::of_expression(&[",", ";", "INTO"], ", or ; or INTO");

/// What GET DIAGNOSTICS tells, after any statement ...
const CURRENT_ITEMS: [&str; 3] = ["ROW_COUNT", "PG_ROUTINE_OID", "PG_CONTEXT"];
/// ... and, STACKED, in a handler.
const STACKED_ITEMS: [&str; 10] = [
    "RETURNED_SQLSTATE",
    "COLUMN_NAME",
    "CONSTRAINT_NAME",
    "PG_DATATYPE_NAME",
    "MESSAGE_TEXT",
    "TABLE_NAME",
    "SCHEMA_NAME",
    "PG_EXCEPTION_DETAIL",
    "PG_EXCEPTION_HINT",
    "PG_EXCEPTION_CONTEXT",
];

impl Parser<'_> {
    /// `EXECUTE expr [INTO ...] [USING ...]`, the two in either order.
    pub(super) fn execute(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("EXECUTE")?;
        let text = self.expression(EXECUTED)?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.tokens.eat_word("INTO") {
                into = Some(self.strict_targets()?);
            } else if using.is_empty() && self.tokens.eat_word("USING") {
                using = self.expressions(USED)?;
            } else {
                break;
            }
        }
        match self.tokens.at_symbol(";") {
            true => Ok(StmtKind::Execute { text, into, using }),
            false => Err(self.tokens.unexpected()),
        }
    }

    /// `ASSERT condition [, message]`
    pub(super) fn assert(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("ASSERT")?;
        let condition = self.expression(COMMA_OR_SEMICOLON)?;
        let message = match self.tokens.eat_symbol(",") {
            true => Some(self.expression(SEMICOLON)?),
            false => None,
        };
        Ok(StmtKind::Assert(condition, message))
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS target = item, ...`
    pub(super) fn get_diagnostics(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("GET")?;
        let stacked = self.tokens.eat_word("STACKED");
        if !stacked {
            self.tokens.eat_word("CURRENT");
        }
        self.tokens.expect_word("DIAGNOSTICS")?;
        let mut items = vec![self.diagnostics_item(stacked)?];
        while self.tokens.eat_symbol(",") {
            items.push(self.diagnostics_item(stacked)?);
        }
        Ok(StmtKind::GetDiagnostics { stacked, items })
    }

    fn diagnostics_item(&mut self, stacked: bool) -> Result<(Target, Arc<str>)> {
        let target = self.target()?;
        if !self.tokens.eat_assign() {
            return Err(self.tokens.unexpected());
        }
        let name = self.tokens.keyword();
        let is_stacked = STACKED_ITEMS.contains(&name.as_str());
        // PG_CONTEXT is the one item that both forms know.
        let allowed = if stacked { is_stacked || name == "PG_CONTEXT" } else { CURRENT_ITEMS.contains(&name.as_str()) };
        if allowed {
            self.tokens.advance();
            return Ok((target, name.into()));
        }
        if is_stacked || CURRENT_ITEMS.contains(&name.as_str()) {
            let form = if stacked { "STACKED" } else { "CURRENT" };
            let message = format!("diagnostics item {name} is not allowed in GET {form} DIAGNOSTICS");
            return Err(Diagnostic::syntax(self.tokens.here(), message));
        }
        Err(self.tokens.near("unrecognized GET DIAGNOSTICS item"))
    }
}
