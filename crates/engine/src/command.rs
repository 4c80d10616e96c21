//! Statements about the session itself: settings, prepared statements, channels, maintenance.

use std::sync::Arc;

use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::ast::{Discard, Maintenance, TransactionModes};
use isolde_sql::catalog::TableId;
use isolde_sql::refused::Construct;
use isolde_sql::typed::{OutputColumn, PreparedStatement, SessionCommand};
use isolde_sql::{SqlError, SqlState, Type, Value, bind};

use crate::eval::{self, Calls, Env, Interrupt};
use crate::exec::Produced;
use crate::host::SessionHost;
use crate::kept::{Message, Named};
use crate::machine::{Machine, Ran};
use crate::plan;
use crate::prepare::Prepared;
use crate::session::{Notice, Part, SessionState};
use crate::settings::{self, Settings};

impl Machine<'_> {
    /// Runs a statement about the session.
    pub(crate) fn session_command(&mut self, command: &SessionCommand, params: &[Value]) -> Ran {
        match command {
            SessionCommand::Execute { name, args, params: types } => {
                match self.execute_named(name, args, types, params) {
                    Ok(()) => Ran::On,
                    Err(error) => self.fail(error),
                }
            }
            SessionCommand::Show(name) => match self.show(name) {
                Ok(produced) => {
                    self.stack.frames.pop();
                    self.deliver(produced)
                }
                Err(error) => self.fail(error),
            },
            other => self.statement_done(|machine| machine.quiet_command(other)),
        }
    }

    fn quiet_command(&mut self, command: &SessionCommand) -> Result<&'static str, SqlError> {
        match command {
            SessionCommand::Reset(Some(name)) => self.set(false, name, None).map(|_| "RESET"),
            SessionCommand::Reset(None) => {
                self.change_settings(|settings| settings.reset_all());
                Ok("RESET")
            }
            SessionCommand::Prepare { name, prepared } => self.prepare_named(name, prepared),
            SessionCommand::Deallocate(Some(name)) => {
                let kept = Arc::make_mut(&mut self.session.kept);
                kept.statements.remove(name).map(|_| "DEALLOCATE").ok_or_else(|| no_statement(name))
            }
            SessionCommand::Deallocate(None) => {
                self.deallocate_all();
                Ok("DEALLOCATE ALL")
            }
            SessionCommand::Discard(what) => self.discard(*what),
            SessionCommand::Maintain { work, tables } => self.maintain(*work, tables),
            SessionCommand::Listen(channel) => self.say(Message::Listen(channel.clone()), "LISTEN"),
            SessionCommand::Unlisten(Some(channel)) => self.say(Message::Unlisten(channel.clone()), "UNLISTEN"),
            SessionCommand::Unlisten(None) => self.say(Message::UnlistenAll, "UNLISTEN"),
            SessionCommand::Notify { channel, payload } => {
                let message = notification(channel, payload)?;
                self.say(message, "NOTIFY")
            }
            SessionCommand::Execute { .. } | SessionCommand::Show(_) => {
                unreachable!("these do more than answer with their name")
            }
        }
    }

    /// PREPARE.
    fn prepare_named(&mut self, name: &Arc<str>, prepared: &Arc<PreparedStatement>) -> Result<&'static str, SqlError> {
        if self.session.kept.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        let schema = self.schema().clone();
        let plan = Arc::new(Prepared::plan(&schema.catalog, prepared.statement.clone()));
        let named = Named { definition: prepared.clone(), prepared: plan, schema };
        Arc::make_mut(&mut self.session.kept).statements.insert(name.clone(), Arc::new(named));
        Ok("PREPARE")
    }

    /// EXECUTE: the prepared statement takes the place of this one.
    fn execute_named(
        &mut self,
        name: &Arc<str>,
        args: &[isolde_sql::ast::Expr],
        types: &[Type],
        params: &[Value],
    ) -> Result<(), SqlError> {
        let named = self.session.kept.statements.get(name).cloned().ok_or_else(|| no_statement(name))?;
        let schema = self.schema().clone();
        let named = match Arc::ptr_eq(&named.schema, &schema) {
            true => named,
            false => self.prepare_again(name, &named)?,
        };
        let args = bind::execute_args(&schema.catalog, name, args, &named.definition.params, types)?;
        let compiled: Vec<_> = args.iter().map(|arg| plan::expr(&schema.catalog, arg)).collect();
        let mut calls = Calls::default();
        let values = self.exec().with_context(crate::storage::Tables::none(), params, &mut calls, |ctx| {
            compiled.iter().map(|arg| eval::eval(ctx, &Env::new(&[]), arg)).collect::<Result<Vec<Value>, _>>()
        });
        let values = values.map_err(|stop| match stop {
            Interrupt::Error(error) => error,
            _ => SqlError::unsupported(Construct::ROUTINE_IN_AN_ARGUMENT_OF_EXECUTE),
        })?;
        self.stack.frames.pop();
        self.push_statement(named.prepared.clone(), values.into());
        Ok(())
    }

    /// Definitions have changed since: the statement is bound and planned anew.
    fn prepare_again(&mut self, name: &Arc<str>, old: &Named) -> Result<Arc<Named>, SqlError> {
        let schema = self.schema().clone();
        let definition = &old.definition;
        let bound = bind::prepared_statement(&schema.catalog, &definition.written, &definition.params)?;
        let prepared = Arc::new(Prepared::plan(&schema.catalog, bound.statement.clone()));
        let named = Arc::new(Named { definition: Arc::new(bound), prepared, schema });
        Arc::make_mut(&mut self.session.kept).statements.insert(name.clone(), named.clone());
        Ok(named)
    }

    fn deallocate_all(&mut self) {
        if !self.session.kept.statements.is_empty() {
            Arc::make_mut(&mut self.session.kept).statements.clear();
        }
    }

    fn discard(&mut self, what: Discard) -> Result<&'static str, SqlError> {
        match what {
            Discard::Plans | Discard::Temp => {}
            Discard::Sequences => self.session.drawn = Arc::default(),
            Discard::All => {
                self.not_in_block("DISCARD ALL")?;
                self.session.drawn = Arc::default();
                self.deallocate_all();
                self.change_settings(|settings| settings.reset_all());
                self.say(Message::UnlistenAll, "UNLISTEN")?;
            }
        }
        Ok(what.name())
    }

    /// Work that no query can observe: only where it may stand is checked.
    fn maintain(&mut self, work: Maintenance, tables: &[TableId]) -> Result<&'static str, SqlError> {
        if work == Maintenance::Vacuum {
            self.not_in_block(work.name())?;
        }
        if matches!(work, Maintenance::Vacuum | Maintenance::Analyze) {
            // The planner knows now how large they are.
            let all = (0..self.db.committed.len()).filter(|_| tables.is_empty()).map(|n| TableId(n as u32));
            let known = tables.iter().copied().chain(all);
            Arc::make_mut(&mut self.db.ambient).statistics.known.extend(known);
        }
        for &table in tables.iter().filter(|_| work == Maintenance::Reindex) {
            let table = self.catalog().table(table);
            if table.indexes.is_empty() {
                let message = format!("table \"{}\" has no indexes to reindex", table.name).into();
                self.notices.push(Notice { level: RaiseLevel::Notice, message });
            }
        }
        Ok(work.name())
    }

    /// Some commands cannot be part of a larger transaction.
    pub(crate) fn not_in_block(&self, command: &str) -> Result<(), SqlError> {
        let explicit = self.session.transaction.as_ref().is_some_and(|t| t.explicit);
        let message = if explicit || self.stack.part != Part::Whole {
            format!("{command} cannot run inside a transaction block")
        } else if self.stack.frames.len() > 1 {
            format!("{command} cannot be executed from a function")
        } else {
            return Ok(());
        };
        Err(SqlError::new(SqlState::ACTIVE_TRANSACTION, message))
    }

    fn say(&mut self, message: Message, verb: &'static str) -> Result<&'static str, SqlError> {
        let depth = self.session.depth();
        Arc::make_mut(&mut self.session.kept).say(depth, message);
        Ok(verb)
    }

    /// SET. What changes behaviour is interpreted; the rest is remembered.
    pub(crate) fn set(&mut self, local: bool, name: &str, value: Option<&str>) -> Result<&'static str, SqlError> {
        let explicit = self.session.transaction.as_ref().is_some_and(|t| t.explicit) || self.stack.part != Part::Whole;
        if local && !explicit {
            self.warn("SET LOCAL can only be used in transaction blocks");
        }
        let local = local && self.session.transaction.is_some();
        set(self.session, name, value, local)?;
        Ok("SET")
    }

    fn change_settings(&mut self, act: impl FnOnce(&mut Settings)) {
        let depth = self.session.depth();
        let kept = Arc::make_mut(&mut self.session.kept);
        kept.remember(depth, self.session.options);
        act(&mut kept.settings);
        Settings::INTERPRETED.iter().for_each(|name| kept.settings.interpret(name, &mut self.session.options));
    }

    fn show(&mut self, name: &str) -> Result<Produced, SqlError> {
        let value = shown(self.session, name)?;
        let column = OutputColumn { name: settings::spelling(name).into(), ty: Type::Text, origin: None };
        let row = [Value::text(value)].into_iter().collect();
        Ok(Produced { columns: [column].into(), rows: vec![row], count: 1, ..Produced::nothing("SHOW") })
    }
}

impl SessionHost<'_> {
    /// `current_setting(name [, missing_ok])`
    pub(crate) fn current_setting(&self, args: &[Value]) -> Result<Value, SqlError> {
        let name = args.first().map(Value::to_string).unwrap_or_default();
        match shown(self.session, &name) {
            Ok(value) => Ok(Value::text(value)),
            Err(_) if matches!(args.get(1), Some(Value::Bool(true))) => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }

    /// `set_config(name, value, is_local)`
    pub(crate) fn set_config(&mut self, args: &[Value]) -> Result<Value, SqlError> {
        let [name, value, local] = args else { return Ok(Value::Null) };
        if name.is_null() {
            let message = "SET requires parameter name";
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        let value = (!value.is_null()).then(|| value.to_string());
        let local = matches!(local, Value::Bool(true));
        set(self.session, &name.to_string(), value.as_deref(), local).map(Value::text)
    }

    /// `pg_notify(channel, payload)`
    pub(crate) fn notify(&mut self, args: &[Value]) -> Result<Value, SqlError> {
        let text = |i: usize| args.get(i).filter(|v| !v.is_null()).map(Value::to_string).unwrap_or_default();
        let message = notification(&text(0), &text(1))?;
        let depth = self.session.transaction.as_ref().map_or(0, |t| t.savepoints.len());
        Arc::make_mut(&mut self.session.kept).say(depth, message);
        Ok(Value::text(""))
    }
}

/// Sets; says what is shown from now on.
fn set(session: &mut SessionState, name: &str, value: Option<&str>, local: bool) -> Result<String, SqlError> {
    let lower = name.to_lowercase();
    let wanted = || value.map(str::to_lowercase).and_then(|v| settings::level(&v));
    let depth = session.transaction.as_ref().map_or(0, |t| t.savepoints.len());
    let options = session.options;
    let kept = Arc::make_mut(&mut session.kept);
    let mut changed = kept.settings.clone();
    let shown = changed.set(name, value, local)?;
    if let Some(t) = &mut session.transaction {
        match lower.as_str() {
            "transaction_isolation" => {
                let isolation = Some(wanted().unwrap_or(options.isolation));
                t.set_modes(TransactionModes { isolation, ..TransactionModes::default() })?;
                return Ok(settings::level_name(t.isolation).into());
            }
            "transaction_read_only" => {
                t.read_only = shown == "on";
                return Ok(shown);
            }
            "transaction_deferrable" => {
                t.set_modes(TransactionModes { deferrable: Some(shown == "on"), ..TransactionModes::default() })?;
                return Ok(shown);
            }
            _ => {}
        }
    }
    kept.remember(depth, options);
    kept.settings = changed;
    kept.settings.interpret(&lower, &mut session.options);
    Ok(shown)
}

/// A setting as SHOW shows it; those of the transaction are its own.
pub(crate) fn shown(session: &SessionState, name: &str) -> Result<String, SqlError> {
    let options = &session.options;
    let t = session.transaction.as_ref();
    let on_off = |on: bool| Ok(if on { "on" } else { "off" }.to_string());
    match name.to_lowercase().as_str() {
        "transaction_isolation" => Ok(settings::level_name(t.map_or(options.isolation, |t| t.isolation)).into()),
        "transaction_read_only" => on_off(t.map_or(options.read_only, |t| t.read_only)),
        "default_transaction_isolation" if session.kept.settings.is_empty() => {
            Ok(settings::level_name(options.isolation).into())
        }
        "default_transaction_read_only" => on_off(options.read_only),
        _ => session.kept.settings.show(name),
    }
}

fn notification(channel: &str, payload: &str) -> Result<Message, SqlError> {
    const PAYLOAD_MAX: usize = 7999;
    const CHANNEL_MAX: usize = 63;
    let refuse = |message: &str| Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    match () {
        () if channel.is_empty() => refuse("channel name cannot be empty"),
        () if channel.len() > CHANNEL_MAX => refuse("channel name too long"),
        () if payload.len() > PAYLOAD_MAX => refuse("payload string too long"),
        () => Ok(Message::Notify(channel.into(), payload.into())),
    }
}

fn no_statement(name: &str) -> SqlError {
    let message = format!("prepared statement \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_STATEMENT_NAME, message)
}
