//! Routines: their definition, and their body bound to numbered variables.
//!
//! A definition resolves only its signature; the body is bound when the routine is first called. A SQL function becomes
//! the same structured code as a PL/pgSQL one: its statements, the last of which is stored into a hidden variable and
//! returned.

use std::sync::Arc;

use super::plpgsql::Code;
use super::scope::{Fields, Frame, Namespace};
use super::{Binder, Result, text};
use crate::ast::{self, ParamMode, Returns, RoutineBody};
use crate::catalog::{Catalog, ParamDef, ReturnsDef, RoutineDef};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{
    Define, Expr, ExprKind, Into, OutputColumn, Place, QueryBody, Routine, RoutineReturns, Statement, StatementKind,
    Stmt, StmtKind,
};
use crate::types::{CastLevel, Type};

/// Binds the body of a routine.
pub(super) fn bind(catalog: &Catalog, def: &RoutineDef) -> Result<Routine> {
    bind_body(catalog, def, false)
}

/// The same; what is wrong with a statement is found when it is reached.
pub(super) fn bind_late(catalog: &Catalog, def: &RoutineDef) -> Result<Routine> {
    bind_body(catalog, def, true)
}

fn bind_body(catalog: &Catalog, def: &RoutineDef, late: bool) -> Result<Routine> {
    let mut frame = Frame::default();
    let mut names = Namespace { label: Some(def.name.clone()), ..Namespace::default() };
    let is_sql = matches!(def.body, RoutineBody::Sql(_));
    for param in &def.params {
        let slot = frame.add(&param.name, param.ty, param.fields.clone());
        if param.mode != ParamMode::Out || !is_sql {
            frame.dollars.push(slot);
            names.names.insert(param.name.clone(), slot);
        }
    }
    let params = frame.variables.len();
    let found = frame.add("found", Type::Bool, None);
    if !is_sql {
        names.names.insert("found".into(), found);
    }
    let outs: Vec<usize> = (0..params).filter(|i| def.params[*i].mode != ParamMode::In).collect();
    frame.blocks.push(names);
    frame.columns_win = is_sql;
    frame.late = true;
    let in_sight = def.names(catalog);
    let binder = Binder::new(&in_sight, frame);
    let (body, variables) = match &def.body {
        RoutineBody::Sql(statements) => sql_body(binder, def, statements, &outs)?,
        RoutineBody::PlPgSql(body) => {
            let code = Code::new(binder, Some(def), rows_of(def, &outs), body);
            if late { code.late() } else { code }.bind(&body.block)?
        }
    };
    let returns = match &def.returns {
        ReturnsDef::Void => RoutineReturns::Void,
        ReturnsDef::Value(ty) => RoutineReturns::Value(*ty),
        ReturnsDef::Row(_) => RoutineReturns::Value(Type::Record),
        ReturnsDef::Outs => RoutineReturns::Outs(outs),
        ReturnsDef::Set(columns) => RoutineReturns::Set(output_columns(columns)),
        ReturnsDef::Trigger => {
            let message = "trigger functions can only be called as triggers";
            return Err(Diagnostic::new(def.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    };
    let (text, offset) = match &def.body {
        RoutineBody::PlPgSql(body) => (body.text.clone(), body.span.start),
        RoutineBody::Sql(_) => ("".into(), def.span.start),
    };
    Ok(Routine { name: def.name.clone(), variables, params, found, returns, body, text, offset })
}

/// Binds a DO block.
pub(super) fn bind_block(catalog: &Catalog, body: &ast::plpgsql::Body, strict: bool) -> Result<Routine> {
    let mut frame = Frame { late: true, ..Frame::default() };
    let found = frame.add("found", Type::Bool, None);
    let mut names = Namespace::default();
    names.names.insert("found".into(), found);
    frame.blocks.push(names);
    let binder = Binder::new(catalog, frame);
    let code = Code::new(binder, None, Vec::new(), body);
    let (code, variables) = if strict { code } else { code.late() }.bind(&body.block)?;
    let name = "inline_code_block".into();
    let (text, offset) = (body.text.clone(), body.span.start);
    Ok(Routine { name, variables, params: 0, found, returns: RoutineReturns::Void, body: code, text, offset })
}

/// The slots that RETURN NEXT without an expression returns.
fn rows_of(def: &RoutineDef, outs: &[usize]) -> Vec<usize> {
    match def.returns {
        ReturnsDef::Set(_) => outs.to_vec(),
        _ => Vec::new(),
    }
}

fn output_columns(columns: &[(Arc<str>, Type)]) -> Vec<OutputColumn> {
    columns.iter().map(|(name, ty)| OutputColumn { name: name.clone(), ty: *ty, origin: None }).collect()
}

/// A SQL function: its statements in order, the last one its result.
fn sql_body(
    mut binder: Binder<'_>,
    def: &RoutineDef,
    statements: &[ast::Statement],
    outs: &[usize],
) -> Result<(Vec<Stmt>, Vec<crate::typed::Variable>)> {
    let mut body = Vec::new();
    for (i, statement) in statements.iter().enumerate() {
        let bound = binder.statement(statement, text::printed(statement))?;
        let span = statement.span;
        if i + 1 < statements.len() || matches!(def.returns, ReturnsDef::Void) {
            body.push(Stmt { kind: StmtKind::Sql { statement: Arc::new(bound), into: None }, span });
        } else {
            binder.sql_result(def, bound, outs, &mut body)?;
        }
    }
    Ok((body, binder.frame.variables))
}

impl Binder<'_> {
    /// The last statement of a SQL function: returned.
    fn sql_result(
        &mut self,
        def: &RoutineDef,
        mut last: Statement,
        outs: &[usize],
        body: &mut Vec<Stmt>,
    ) -> Result<()> {
        let span = last.span;
        let columns = outputs(&last).map(<[OutputColumn]>::to_vec);
        let Some(columns) = columns else { return Err(mismatch(def, span)) };
        let (wanted, places): (Vec<Type>, Vec<Place>) = match &def.returns {
            ReturnsDef::Set(wanted) => {
                let types: Vec<Type> = wanted.iter().map(|(_, ty)| *ty).collect();
                if !types.is_empty() {
                    self.fit(def, &mut last, &types)?;
                }
                body.push(Stmt { kind: StmtKind::ReturnQuery(Arc::new(last)), span });
                return Ok(());
            }
            ReturnsDef::Value(ty) => {
                let slot = self.frame.add("result", *ty, None);
                (vec![*ty], vec![Place { slot, field: None, ty: *ty }])
            }
            ReturnsDef::Row(fields) => {
                let fields: Fields = fields.clone().into();
                let slot = self.frame.add("result", Type::Record, Some(fields.clone()));
                let place = Place { slot, field: None, ty: Type::Record };
                (fields.iter().map(|(_, ty)| *ty).collect(), vec![place])
            }
            ReturnsDef::Outs => {
                let place = |&slot: &usize| Place { slot, field: None, ty: self.frame.variables[slot].ty };
                let places: Vec<Place> = outs.iter().map(place).collect();
                (places.iter().map(|p| p.ty).collect(), places)
            }
            ReturnsDef::Void | ReturnsDef::Trigger => (Vec::new(), Vec::new()),
        };
        if wanted.len() != columns.len() && wanted[..] != [Type::Record] {
            return Err(mismatch(def, span));
        }
        if wanted.len() == columns.len() {
            self.fit(def, &mut last, &wanted)?;
        }
        let value = match (&def.returns, &places[..]) {
            (ReturnsDef::Value(ty), [_]) if bare_value(&last).is_some() => bare_value(&last).map(|e| (e, *ty)),
            (ReturnsDef::Value(_) | ReturnsDef::Row(_), [place]) => {
                let kind = ExprKind::Param(place.slot);
                Some((Expr { kind, ty: place.ty }, place.ty))
            }
            _ => None,
        };
        if !matches!(&value, Some((e, _)) if !matches!(e.kind, ExprKind::Param(slot) if places[0].slot == slot)) {
            let into = Some(Into { strict: false, places });
            body.push(Stmt { kind: StmtKind::Sql { statement: Arc::new(last), into }, span });
        }
        body.push(Stmt { kind: StmtKind::Return(value.map(|(e, _)| e)), span });
        Ok(())
    }

    /// Converts what a statement returns to the types its function declares.
    fn fit(&self, def: &RoutineDef, statement: &mut Statement, wanted: &[Type]) -> Result<()> {
        let span = statement.span;
        let given: Vec<Type> = outputs(statement).unwrap_or_default().iter().map(|c| c.ty).collect();
        if given.len() != wanted.len() {
            return Err(mismatch(def, span));
        }
        for (column, (from, to)) in given.into_iter().zip(wanted).enumerate() {
            let probe = Expr { kind: ExprKind::Param(0), ty: from };
            if self.convert(probe, *to, CastLevel::Assignment, span)?.is_none() {
                return Err(mismatch(def, span));
            }
            if let StatementKind::Query(query) = &mut statement.kind {
                // Where only an assignment converts, the variable it is stored into does.
                let _ = self.convert_column_if_implicit(query, column, *to, span);
            }
        }
        Ok(())
    }

    fn convert_column_if_implicit(
        &self,
        query: &mut crate::typed::Query,
        column: usize,
        to: Type,
        span: Span,
    ) -> Result<()> {
        match super::coerce::is_implicit(query.columns[column].ty, to) {
            true => self.convert_column(query, column, to, span),
            false => Ok(()),
        }
    }

    /// `CREATE FUNCTION`, `CREATE PROCEDURE`
    pub(super) fn create_routine(&mut self, create: &ast::CreateRoutine, span: Span) -> Result<Define> {
        let mut params = self.params(&create.params)?;
        let returns = self.returns(create, &params, span)?;
        if let (Returns::Table(_), ReturnsDef::Set(columns)) = (&create.returns, &returns) {
            // Its columns are variables inside: OUT parameters by another name.
            let out = |(name, ty): &(Arc<str>, Type)| ParamDef {
                name: name.clone(),
                mode: ParamMode::Out,
                ty: *ty,
                default: None,
                fields: None,
            };
            params.extend(columns.iter().map(out));
        }
        let def = RoutineDef {
            schema: self.target_schema(&create.name)?,
            name: create.name.name.name.clone(),
            procedure: create.procedure,
            params,
            returns,
            volatility: create.volatility,
            strict: create.strict,
            body: create.body.clone(),
            or_replace: create.or_replace,
            search_path: self.catalog.search_path().to_vec(),
            span,
        };
        let same = self
            .catalog
            .routines_by_name(&def.name)
            .find(|(_, r)| r.schema == def.schema && r.input_types().eq(def.input_types()));
        if same.is_some() && !def.or_replace {
            let what = if def.procedure { "procedure" } else { "function" };
            let message = format!("{what} \"{}\" already exists with same argument types", def.name);
            return Err(Diagnostic::new(create.name.name.span, SqlState::DUPLICATE_FUNCTION, message));
        }
        if let Some((_, old)) = same {
            refuse_replacing(old, &def, create.name.name.span)?;
        }
        if matches!(def.body, RoutineBody::Sql(_)) && self.catalog.checks_bodies() {
            bind(self.catalog, &def)?;
        }
        Ok(Define::Routine(Box::new(def)))
    }

    fn params(&mut self, params: &[ast::Param]) -> Result<Vec<ParamDef>> {
        let mut bound: Vec<ParamDef> = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let (ty, fields) = self.type_name(&param.ty).map_err(|e| Diagnostic {
                // The one place where PostgreSQL names a type without quotes.
                message: if e.state == SqlState::UNDEFINED_OBJECT { e.message.replace('"', "") } else { e.message },
                ..e
            })?;
            let span = param.name.as_ref().map_or(Span::default(), |n| n.span);
            let name = param.name.as_ref().map_or_else(|| format!("${}", i + 1).into(), |n| n.name.clone());
            if bound.iter().any(|p| p.name == name) {
                let message = format!("parameter name \"{name}\" used more than once");
                return Err(Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message));
            }
            let default = match &param.default {
                Some(expr) => {
                    let value = self.expr(expr)?;
                    Some(self.convert(value.clone(), ty, CastLevel::Assignment, expr.span)?.unwrap_or(value))
                }
                None => None,
            };
            let is_input = param.mode != ParamMode::Out;
            if is_input && default.is_none() && bound.iter().any(|p| p.default.is_some()) {
                let message = "input parameters after one with a default value must also have defaults";
                return Err(Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message));
            }
            bound.push(ParamDef { name, mode: param.mode, ty, default, fields });
        }
        Ok(bound)
    }

    fn returns(&self, create: &ast::CreateRoutine, params: &[ParamDef], span: Span) -> Result<ReturnsDef> {
        let outs: Vec<(Arc<str>, Type)> =
            params.iter().filter(|p| p.mode != ParamMode::In).map(|p| (p.name.clone(), p.ty)).collect();
        match &create.returns {
            Returns::Nothing if !outs.is_empty() => Ok(ReturnsDef::Outs),
            Returns::Nothing if create.procedure => Ok(ReturnsDef::Void),
            Returns::Nothing => {
                let message = "function result type must be specified";
                Err(Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message))
            }
            Returns::Value(ty) => {
                if let ast::TypeName::Named(name) = ty {
                    match &*name.name.name {
                        "trigger" if !params.is_empty() => {
                            let message = "trigger functions cannot have declared arguments";
                            return Err(Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message).hint(
                                "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.",
                            ));
                        }
                        "trigger" => return Ok(ReturnsDef::Trigger),
                        "event_trigger" => {
                            return Err(Diagnostic::unsupported(name.name.span, Construct::EVENT_TRIGGER_FUNCTION));
                        }
                        _ => {}
                    }
                }
                match self.type_name(ty)? {
                    _ if !outs.is_empty() => Ok(ReturnsDef::Outs),
                    (Type::Void, _) => Ok(ReturnsDef::Void),
                    (_, Some(fields)) => Ok(ReturnsDef::Row(fields.to_vec())),
                    (ty, None) => Ok(ReturnsDef::Value(ty)),
                }
            }
            Returns::SetOf(ty) => match self.type_name(ty)? {
                _ if outs.len() > 1 => Ok(ReturnsDef::Set(outs)),
                (_, Some(fields)) => Ok(ReturnsDef::Set(fields.to_vec())),
                // Rows of no declared shape: the caller says which.
                (Type::Record, None) => Ok(ReturnsDef::Set(Vec::new())),
                (ty, None) => Ok(ReturnsDef::Set(vec![(create.name.name.name.clone(), ty)])),
            },
            Returns::Table(columns) => {
                let column = |(name, ty): &(ast::Ident, ast::TypeName)| Ok((name.name.clone(), self.type_name(ty)?.0));
                Ok(ReturnsDef::Set(columns.iter().map(column).collect::<Result<_>>()?))
            }
        }
    }
}

/// The value of `SELECT expr`, which needs no query to compute.
fn bare_value(statement: &Statement) -> Option<Expr> {
    let StatementKind::Query(query) = &statement.kind else { return None };
    let QueryBody::Select(select) = &query.body else { return None };
    let bare = select.is_bare() && query.limit.is_none() && query.offset.is_none();
    match &select.projection[..] {
        [only] if bare => Some(only.clone()),
        _ => None,
    }
}

/// The columns a statement returns, if it returns rows.
pub(super) fn outputs(statement: &Statement) -> Option<&[OutputColumn]> {
    let returning = match &statement.kind {
        StatementKind::Query(query) => return Some(&query.columns),
        StatementKind::Insert(insert) => &insert.returning,
        StatementKind::Update(update) => &update.returning,
        StatementKind::Delete(delete) => &delete.returning,
        _ => return None,
    };
    returning.as_ref().map(|r| &r.columns[..])
}

fn mismatch(def: &RoutineDef, span: Span) -> Diagnostic {
    let declared = match &def.returns {
        ReturnsDef::Value(ty) => ty.base().to_string(),
        _ => "record".into(),
    };
    let message = format!("return type mismatch in function declared to return {declared}");
    Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message)
}

/// What CREATE OR REPLACE may not change, because others count on it.
fn refuse_replacing(old: &RoutineDef, new: &RoutineDef, span: Span) -> Result<()> {
    let refuse = |state, message: String| Err(Diagnostic::new(span, state, message));
    if old.procedure != new.procedure {
        return refuse(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind".into());
    }
    if format!("{:?}", old.returns) != format!("{:?}", new.returns) {
        let message = "cannot change return type of existing function";
        return refuse(SqlState::INVALID_FUNCTION_DEFINITION, message.into());
    }
    let renamed =
        old.params.iter().zip(&new.params).find(|(old, new)| !old.name.starts_with('$') && old.name != new.name);
    match renamed {
        Some((old, _)) => {
            let message = format!("cannot change name of input parameter \"{}\"", old.name);
            refuse(SqlState::INVALID_FUNCTION_DEFINITION, message)
        }
        None => Ok(()),
    }
}
