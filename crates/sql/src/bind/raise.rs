//! RAISE and the conditions that handlers name.

use std::sync::Arc;

use super::Result;
use super::expr::text;
use super::hint::did_you_mean;
use super::plpgsql::Code;
use crate::ast;
use crate::ast::plpgsql::{self as pl, Condition, RaiseWhat};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{AboutField, Catch, Expr, Raise, RaiseMessage};
use crate::types::Type;

/// Conditions a program may name although the engine never raises them, and whole classes.
const FURTHER_CONDITIONS: &[(&str, &[u8; 5])] = &[
    ("array_subscript_error", b"2202E"),
    ("connection_exception", b"08000"),
    ("connection_failure", b"08006"),
    ("data_exception", b"22000"),
    ("dependent_objects_still_exist", b"2BP01"),
    ("disk_full", b"53100"),
    ("exclusion_violation", b"23P01"),
    ("external_routine_exception", b"38000"),
    ("insufficient_privilege", b"42501"),
    ("insufficient_resources", b"53000"),
    ("integrity_constraint_violation", b"23000"),
    ("invalid_authorization_specification", b"28000"),
    ("invalid_escape_sequence", b"22025"),
    ("invalid_parameter_type", b"42P18"),
    ("invalid_regular_expression", b"2201B"),
    ("invalid_schema_name", b"3F000"),
    ("invalid_transaction_state", b"25000"),
    ("io_error", b"58030"),
    ("name_too_long", b"42622"),
    ("no_data", b"02000"),
    ("operator_intervention", b"57000"),
    ("out_of_memory", b"53200"),
    ("plpgsql_error", b"P0000"),
    ("savepoint_exception", b"3B000"),
    ("sql_routine_exception", b"2F000"),
    ("string_data_length_mismatch", b"22026"),
    ("syntax_error_or_access_rule_violation", b"42000"),
    ("system_error", b"58000"),
    ("too_many_connections", b"53300"),
    ("transaction_rollback", b"40000"),
    ("triggered_action_exception", b"09000"),
    ("with_check_option_violation", b"44000"),
];

/// The state that a condition name stands for.
fn state_named(name: &str, span: Span) -> Result<SqlState> {
    let further = || FURTHER_CONDITIONS.iter().find(|(n, _)| *n == name).map(|(_, code)| SqlState(**code));
    SqlState::by_condition(name).or_else(further).ok_or_else(|| {
        let message = format!("unrecognized exception condition \"{name}\"");
        let mut error = Diagnostic::new(span, SqlState::UNDEFINED_OBJECT, message);
        let known = SqlState::ALL.iter().map(|(_, n)| *n).chain(FURTHER_CONDITIONS.iter().map(|(n, _)| *n));
        error.hint = did_you_mean(name, known);
        error
    })
}

fn state_coded(code: &str, span: Span) -> Result<SqlState> {
    SqlState::parse(code).ok_or_else(|| Diagnostic::syntax(span, "invalid SQLSTATE code"))
}

/// What a handler takes.
pub(super) fn catch(condition: &Condition) -> Result<Catch> {
    match condition {
        Condition::Others => Ok(Catch::Others),
        Condition::Named(name) => state_named(&name.name, name.span).map(Catch::State),
        Condition::State(code, span) => state_coded(code, *span).map(Catch::State),
    }
}

impl Code<'_> {
    /// `RAISE`
    pub(super) fn raise(&mut self, raise: &pl::Raise, span: Span) -> Result<Raise> {
        let mut state = SqlState::RAISE_EXCEPTION;
        let mut message = match &raise.what {
            RaiseWhat::Again => {
                if self.handlers == 0 {
                    let message = "RAISE without parameters cannot be used outside an exception handler";
                    return Err(Diagnostic::new(span, SqlState(*b"0Z002"), message));
                }
                Some(RaiseMessage::Again)
            }
            RaiseWhat::Format(format, args) => Some(self.format(format, args, span)?),
            RaiseWhat::Condition(condition) => {
                let name: Arc<str> = match condition {
                    Condition::Others => return Err(Diagnostic::syntax(span, "OTHERS cannot be raised")),
                    Condition::Named(name) => name.name.clone(),
                    Condition::State(code, _) => code.clone(),
                };
                if let Catch::State(named) = catch(condition)? {
                    state = named;
                }
                Some(RaiseMessage::Expr(text(name)))
            }
            RaiseWhat::Nothing => None,
        };
        let by_condition = matches!(raise.what, RaiseWhat::Condition(_));
        let (mut detail, mut hint, mut code) = (None, None, None);
        let mut about = Vec::new();
        for (option, expr) in &raise.using {
            match &**option {
                "MESSAGE" if message.is_some() && !by_condition => {
                    return Err(Diagnostic::syntax(span, "RAISE option already specified: MESSAGE"));
                }
                "MESSAGE" => message = Some(RaiseMessage::Expr(self.assigned(expr, Type::Text)?)),
                "DETAIL" => detail = Some(self.assigned(expr, Type::Text)?),
                "HINT" => hint = Some(self.assigned(expr, Type::Text)?),
                "ERRCODE" if by_condition => {
                    return Err(Diagnostic::syntax(span, "RAISE option already specified: ERRCODE"));
                }
                "ERRCODE" => match &expr.kind {
                    ast::ExprKind::String(given) => {
                        state = SqlState::parse(given).map_or_else(|| state_named(given, expr.span), Ok)?;
                    }
                    _ => code = Some(self.assigned(expr, Type::Text)?),
                },
                "COLUMN" => about.push((AboutField::Column, self.assigned(expr, Type::Text)?)),
                "CONSTRAINT" => about.push((AboutField::Constraint, self.assigned(expr, Type::Text)?)),
                "DATATYPE" => about.push((AboutField::Datatype, self.assigned(expr, Type::Text)?)),
                "TABLE" => about.push((AboutField::Table, self.assigned(expr, Type::Text)?)),
                "SCHEMA" => about.push((AboutField::Schema, self.assigned(expr, Type::Text)?)),
                other => {
                    return Err(Diagnostic::syntax(span, format!("unrecognized RAISE statement option: {other}")));
                }
            }
        }
        let message = message.unwrap_or_else(|| RaiseMessage::Expr(text(state.code())));
        Ok(Raise { level: raise.level, state, message, detail, hint, code, about })
    }

    fn format(&mut self, format: &Arc<str>, args: &[ast::Expr], span: Span) -> Result<RaiseMessage> {
        let places = format.replace("%%", "").matches('%').count();
        if places > args.len() {
            return Err(Diagnostic::syntax(span, "too few parameters specified for RAISE"));
        }
        if places < args.len() {
            return Err(Diagnostic::syntax(span, "too many parameters specified for RAISE"));
        }
        let args: Result<Vec<Expr>> = args.iter().map(|e| self.binder.value(e)).collect();
        Ok(RaiseMessage::Format(format.clone(), args?))
    }
}
