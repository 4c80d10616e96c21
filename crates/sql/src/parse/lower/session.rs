//! Prepared statements, settings to be shown, channels, prepared transactions, maintenance.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, child};
use crate::ast::{Discard, Maintenance, QualifiedName, SessionCommand, Statement, StatementKind, TypeName};
use crate::refused::Construct;

impl Lower {
    /// The statement as a command for the session; `None` if it is no such thing.
    pub(super) fn session_command(&self, statement: &cst::Stmt) -> Result<Option<SessionCommand>> {
        use cst::Stmt as S;
        Ok(Some(match statement {
            S::Show(show) => self.show(show)?,
            S::Prepare(prepare) => self.prepare(prepare)?,
            S::Execute(execute) => self.execute(execute)?,
            S::Deallocate(deallocate) => {
                SessionCommand::Deallocate(deallocate.prepared_statement_ref().map(|name| self.ident(&name)))
            }
            S::Discard(discard) => SessionCommand::Discard(match self.need(discard.discard_target(), discard)? {
                cst::DiscardTarget::DiscardAll(_) => Discard::All,
                cst::DiscardTarget::DiscardPlans(_) => Discard::Plans,
                cst::DiscardTarget::DiscardSequences(_) => Discard::Sequences,
                cst::DiscardTarget::DiscardTemp(_) => Discard::Temp,
            }),
            S::Vacuum(vacuum) => self.maintain(vacuum, Maintenance::Vacuum)?,
            S::Analyze(analyze) => self.maintain(analyze, Maintenance::Analyze)?,
            S::Reindex(reindex) => self.maintain(reindex, Maintenance::Reindex)?,
            S::Checkpoint(checkpoint) => self.maintain(checkpoint, Maintenance::Checkpoint)?,
            S::Cluster(cluster) => self.maintain(cluster, Maintenance::Cluster)?,
            S::Listen(listen) => SessionCommand::Listen(self.ident(&self.need(listen.channel(), listen)?)),
            S::Unlisten(unlisten) => SessionCommand::Unlisten(unlisten.channel_ref().map(|name| self.ident(&name))),
            S::Notify(notify) => {
                let channel = self.ident(&self.need(notify.channel_ref(), notify)?);
                let payload = notify.literal().map(|text| self.string(&text)).transpose()?;
                SessionCommand::Notify { channel, payload: payload.map(Into::into) }
            }
            S::PrepareTransaction(prepare) => {
                SessionCommand::PrepareTransaction(self.string(&self.need(prepare.literal(), prepare)?)?.into())
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn commit_prepared(&self, commit: &cst::CommitPrepared) -> Result<StatementKind> {
        let id = self.string(&self.need(commit.literal(), commit)?)?;
        Ok(StatementKind::Session(SessionCommand::CommitPrepared(id.into())))
    }

    pub(super) fn rollback_prepared(&self, rollback: &cst::RollbackPrepared) -> Result<StatementKind> {
        let id = self.string(&self.need(rollback.literal(), rollback)?)?;
        Ok(StatementKind::Session(SessionCommand::RollbackPrepared(id.into())))
    }

    fn show(&self, show: &cst::Show) -> Result<SessionCommand> {
        Ok(SessionCommand::Show(match self.need(show.show_action(), show)? {
            cst::ShowAction::ConfigParameterRef(name) => self.setting(&name),
            cst::ShowAction::TimeZone(zone) => self.named_setting(&zone, "timezone"),
            cst::ShowAction::TransactionIsolationLevel(level) => self.named_setting(&level, "transaction_isolation"),
            cst::ShowAction::SessionAuthorization(user) => self.named_setting(&user, "session_authorization"),
            cst::ShowAction::All(all) => return Err(self.unsupported(&all, Construct::SHOW_ALL)),
        }))
    }

    fn prepare(&self, prepare: &cst::Prepare) -> Result<SessionCommand> {
        let name = self.ident(&self.need(prepare.name(), prepare)?);
        let mut types: Vec<TypeName> = Vec::new();
        for param in prepare.param_list().iter().flat_map(cst::ParamList::params) {
            types.push(self.func_type(&self.need(param.func_type(), &param)?)?);
        }
        let inner = self.need(prepare.stmt(), prepare)?;
        let inner = self.need(cst::Stmt::cast(inner.syntax().clone()), prepare)?;
        let statement: Box<Statement> = Box::new(self.statement(&inner)?);
        Ok(SessionCommand::Prepare { name, types, statement })
    }

    fn execute(&self, execute: &cst::Execute) -> Result<SessionCommand> {
        let name = self.ident(&self.need(execute.prepared_statement_ref(), execute)?);
        let mut args = Vec::new();
        for arg in execute.arg_list().iter().flat_map(cst::ArgList::args) {
            self.refuse_token(arg.variadic_token(), Construct::VARIADIC)?;
            self.refuse(child::<cst::NamedArg>(&arg), Construct::EXECUTE_WITH_NAMED_ARGUMENTS)?;
            args.push(self.sole(&arg)?);
        }
        Ok(SessionCommand::Execute { name, args })
    }

    fn maintain(&self, command: &impl AstNode, work: Maintenance) -> Result<SessionCommand> {
        let named = command.syntax().descendants().filter_map(cst::TableNameRef::cast);
        let tables = named.map(|name| self.name(&name)).collect::<Result<Vec<QualifiedName>>>()?;
        Ok(SessionCommand::Maintain { work, tables })
    }
}
