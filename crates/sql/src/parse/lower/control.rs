//! Transactions and settings.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{Ident, Isolation, SessionCommand, Set, StatementKind, TransactionModes};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    /// `ISOLATION LEVEL ..., READ ONLY, DEFERRABLE`.
    pub(super) fn modes(&self, list: Option<cst::TransactionModeList>) -> Result<TransactionModes> {
        let mut modes = TransactionModes::default();
        for mode in list.iter().flat_map(|list| list.transaction_modes()) {
            use cst::TransactionMode as M;
            match mode {
                M::Serializable(_) => modes.isolation = Some(Isolation::Serializable),
                M::RepeatableRead(_) => modes.isolation = Some(Isolation::RepeatableRead),
                M::ReadCommitted(_) | M::ReadUncommitted(_) => modes.isolation = Some(Isolation::ReadCommitted),
                M::ReadOnly(_) => modes.read_only = Some(true),
                M::ReadWrite(_) => modes.read_only = Some(false),
                M::Deferrable(_) => modes.deferrable = Some(true),
                M::NotDeferrable(_) => modes.deferrable = Some(false),
            }
        }
        Ok(modes)
    }

    pub(super) fn commit(&self, commit: &cst::Commit) -> Result<StatementKind> {
        match commit {
            cst::Commit::CommitTransaction(commit) => Ok(StatementKind::Commit {
                chain: matches!(commit.chain_clause(), Some(cst::ChainClause::AndChain(_))),
            }),
            cst::Commit::CommitPrepared(prepared) => self.commit_prepared(prepared),
        }
    }

    pub(super) fn rollback(&self, rollback: &cst::Rollback) -> Result<StatementKind> {
        match rollback {
            cst::Rollback::RollbackTransaction(r) => {
                Ok(StatementKind::Rollback { chain: matches!(r.chain_clause(), Some(cst::ChainClause::AndChain(_))) })
            }
            cst::Rollback::RollbackToSavepoint(r) => {
                Ok(StatementKind::RollbackTo(self.ident(&self.need(r.savepoint_ref(), r)?)))
            }
            cst::Rollback::RollbackPrepared(prepared) => self.rollback_prepared(prepared),
        }
    }

    pub(super) fn set_transaction(&self, set: &cst::SetTransaction) -> Result<StatementKind> {
        self.refuse(set.transaction_snapshot(), Construct::SET_TRANSACTION_SNAPSHOT)?;
        if let Some(session) = set.session_characteristics() {
            return Ok(StatementKind::SetSessionCharacteristics(self.modes(session.transaction_mode_list())?));
        }
        let modes = self.need(set.transaction_modes(), set)?;
        Ok(StatementKind::SetTransaction(self.modes(modes.transaction_mode_list())?))
    }

    pub(super) fn set(&self, set: &cst::Set) -> Result<StatementKind> {
        let local = matches!(set.set_scope(), Some(cst::SetScope::LocalScope(_)));
        let (name, value) = match self.need(set.set_target(), set)? {
            cst::SetTarget::SetConfig(config) => {
                let name = self.setting(&self.need(config.config_parameter_ref(), &config)?);
                let value = match self.need(config.config_assignment(), &config)? {
                    cst::ConfigAssignment::FromCurrent(from) => {
                        return Err(self.unsupported(&from, Construct::SET_FROM_CURRENT));
                    }
                    cst::ConfigAssignment::ToConfigValue(to) if to.default_token().is_some() => None,
                    cst::ConfigAssignment::ToConfigValue(to) => Some(self.setting_value(&to)?),
                };
                (name, value)
            }
            cst::SetTarget::SetTimeZone(zone) => {
                self.refuse(super::child::<cst::CastExpr>(&zone), Construct::SET_TIME_ZONE_INTERVAL)?;
                let span = self.span(zone.syntax());
                let value = super::child::<cst::ConfigValue>(&zone).map(|v| self.one_value(&v)).transpose()?;
                (Ident { name: "timezone".into(), span }, value)
            }
            cst::SetTarget::SetSchemaValue(schema) => {
                let span = self.span(schema.syntax());
                let value = self.string(&self.need(schema.literal(), &schema)?)?;
                (Ident { name: "search_path".into(), span }, Some(value))
            }
            other => return Err(self.unsupported(&other, Construct::OTHER.of(super::words(other.syntax().kind())))),
        };
        Ok(StatementKind::Set(Set { local, name, value: value.map(Into::into) }))
    }

    pub(super) fn reset(&self, reset: &cst::Reset) -> Result<StatementKind> {
        Ok(StatementKind::Session(SessionCommand::Reset(match self.need(reset.reset_target(), reset)? {
            cst::ResetTarget::ConfigParameterRef(name) => Some(self.setting(&name)),
            cst::ResetTarget::All(_) => None,
            cst::ResetTarget::ResetTimeZone(zone) => Some(self.named_setting(&zone, "timezone")),
            cst::ResetTarget::ResetTransactionIsolation(level) => {
                Some(self.named_setting(&level, "transaction_isolation"))
            }
        })))
    }

    /// A setting that the statement names by other words.
    pub(super) fn named_setting(&self, place: &impl AstNode, name: &str) -> Ident {
        Ident { name: name.into(), span: self.span(place.syntax()) }
    }

    /// A setting's name, dots included.
    pub(super) fn setting(&self, name: &cst::ConfigParameterRef) -> Ident {
        let parts = self.path(name.syntax());
        let text = parts.iter().map(|p| &*p.name).collect::<Vec<_>>().join(".");
        Ident { name: text.into(), span: self.span(name.syntax()) }
    }

    fn setting_value(&self, to: &cst::ToConfigValue) -> Result<String> {
        let values = to.config_values().map(|v| self.one_value(&v)).collect::<Result<Vec<_>>>()?;
        if values.is_empty() {
            return Err(Diagnostic::syntax(self.span(to.syntax()), "syntax error: SET needs a value"));
        }
        Ok(values.join(", "))
    }

    fn one_value(&self, value: &cst::ConfigValue) -> Result<String> {
        Ok(match value {
            cst::ConfigValue::Literal(literal) => {
                let quoted =
                    literal.string_value().filter(|_| literal.syntax().text().to_string().contains(['\'', '$']));
                quoted.unwrap_or_else(|| literal.syntax().text().to_string())
            }
            cst::ConfigValue::ConfigValueName(name) => self.ident(name).name.to_string(),
            cst::ConfigValue::PrefixExpr(number) => number.syntax().text().to_string(),
        })
    }
}
