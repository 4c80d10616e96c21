//! Statements about the session itself; prepared statements and their arguments.

use std::sync::Arc;

use super::{Binder, Result};
use crate::ast::{self, SessionCommand as A};
use crate::catalog::Catalog;
use crate::error::{Diagnostic, SqlState};
use crate::typed::{Expr, PreparedStatement, SessionCommand, StatementKind, Transaction};
use crate::types::Type;

/// More parameters than anybody writes.
const PARAMS_MAX: usize = 1000;

/// Binds what PREPARE keeps. Parameters beyond those with a type take the type that their place wants.
pub fn prepared_statement(catalog: &Catalog, written: &ast::Statement, types: &[Type]) -> Result<PreparedStatement> {
    let mut types = types.to_vec();
    loop {
        let mut binder = Binder::of_client(catalog, &types);
        match binder.statement(written, written.to_string().into()) {
            Ok(statement) => {
                let inferred = binder.frame.inferred.take();
                let params = types.iter().zip(&binder.frame.dollars).map(|(ty, slot)| match ty {
                    Type::Unknown => inferred.get(slot).copied().unwrap_or(Type::Text),
                    known => *known,
                });
                let params: Vec<Type> = params.collect();
                // Bound once more with what was found out, so that every use of a parameter agrees.
                if params != types {
                    types = params;
                    continue;
                }
                return Ok(PreparedStatement { params, statement: Arc::new(statement), written: written.clone() });
            }
            Err(error) if error.state == SqlState::UNDEFINED_PARAMETER && types.len() < PARAMS_MAX => {
                types.push(Type::Unknown);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Binds the arguments of EXECUTE for parameters of these types. The arguments may name parameters of their own,
/// `params`.
pub fn execute_args(
    catalog: &Catalog,
    name: &str,
    args: &[ast::Expr],
    types: &[Type],
    params: &[Type],
) -> Result<Vec<Expr>> {
    if args.len() != types.len() {
        let span = args.first().map_or_else(Default::default, |arg| arg.span);
        let message = format!("wrong number of parameters for prepared statement \"{name}\"");
        return Err(Diagnostic::syntax(span, message));
    }
    let mut binder = Binder::of_client(catalog, params);
    args.iter().zip(types).enumerate().map(|(i, (arg, ty))| binder.execute_arg(arg, *ty, i + 1)).collect()
}

impl Binder<'_> {
    fn execute_arg(&mut self, arg: &ast::Expr, ty: Type, number: usize) -> Result<Expr> {
        let bound = self.expr(arg)?;
        let mut subquery = false;
        bound.walk(0, &mut |e, _| subquery |= e.subquery().is_some());
        if subquery {
            let message = "cannot use subquery in EXECUTE parameter";
            return Err(Diagnostic::new(arg.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let given = bound.ty;
        self.convert(bound, ty, crate::types::CastLevel::Assignment, arg.span)?.ok_or_else(|| {
            let message = format!("parameter ${number} of type {given} cannot be coerced to the expected type {ty}");
            Diagnostic::new(arg.span, SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// A statement about the session.
    pub(super) fn session_command(&mut self, command: &A) -> Result<StatementKind> {
        Ok(StatementKind::Session(match command {
            A::Show(name) => SessionCommand::Show(name.name.clone()),
            A::Reset(name) => SessionCommand::Reset(name.as_ref().map(|n| n.name.clone())),
            A::Prepare { name, types, statement } => {
                let types: Result<Vec<Type>> = types.iter().map(|ty| Ok(self.type_name(ty)?.0)).collect();
                let prepared = prepared_statement(self.catalog, statement, &types?)?;
                SessionCommand::Prepare { name: name.name.clone(), prepared: Arc::new(prepared) }
            }
            A::Execute { name, args } => SessionCommand::Execute {
                name: name.name.clone(),
                args: args.clone().into(),
                params: self.frame.dollars.iter().map(|&slot| self.frame.variables[slot].ty).collect(),
            },
            A::Deallocate(name) => SessionCommand::Deallocate(name.as_ref().map(|n| n.name.clone())),
            A::Discard(what) => SessionCommand::Discard(*what),
            A::Maintain { work, tables } => {
                let tables: Result<_> = tables.iter().map(|n| Ok(self.table(n)?.id)).collect();
                SessionCommand::Maintain { work: *work, tables: tables? }
            }
            A::Listen(channel) => SessionCommand::Listen(channel.name.clone()),
            A::Unlisten(channel) => SessionCommand::Unlisten(channel.as_ref().map(|c| c.name.clone())),
            A::Notify { channel, payload } => {
                SessionCommand::Notify { channel: channel.name.clone(), payload: payload.clone().unwrap_or_default() }
            }
            A::PrepareTransaction(id) => return Ok(StatementKind::Transaction(Transaction::Prepare(id.clone()))),
            A::CommitPrepared(id) => return Ok(StatementKind::Transaction(Transaction::CommitPrepared(id.clone()))),
            A::RollbackPrepared(id) => {
                return Ok(StatementKind::Transaction(Transaction::RollbackPrepared(id.clone())));
            }
        }))
    }
}
