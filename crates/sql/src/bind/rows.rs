//! Functions that yield rows: in the select list, and side by side in FROM.

use std::sync::Arc;

use super::call::{Callee, Wanted, routine_args};
use super::from::{Part, routine_columns};
use super::{Binder, Result};
use crate::ast::{self, Alias, FromFunction};
use crate::builtin::{self, SetFunction};
use crate::catalog::{ReturnsDef, RoutineDef};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Expansion, Expr, ExprKind, Rel, RelSource, RowsPart};
use crate::types::Type;

/// Names and types.
type Columns = Vec<(Arc<str>, Type)>;

impl Binder<'_> {
    /// `generate_series` in a select list.
    pub(super) fn expanded_series(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        let operands = self.call_operands(call)?;
        let (args, ty) = self.series(operands, span)?;
        self.expanded(Expansion::Function(SetFunction::GenerateSeries, args), ty, span)
    }

    /// A builtin that yields rows, outside FROM.
    pub(super) fn expanded_builtin(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        let name = &call.name.name.name;
        let rel = self.set_function(name, &call.args, name, span)?;
        let ty = match &rel.columns[..] {
            [(_, ty)] => *ty,
            _ => Type::Record,
        };
        match rel.source {
            RelSource::Function(function, args) => self.expanded(Expansion::Function(function, args), ty, span),
            _ => Err(Diagnostic::unsupported(span, Construct::FUNCTION_OUTSIDE_FROM)),
        }
    }

    /// A function that yields rows, outside FROM.
    pub(super) fn expanded(&mut self, expansion: Expansion, ty: Type, span: Span) -> Result<Expr> {
        let Some(level) = self.levels.last_mut() else {
            return Err(Diagnostic::unsupported(span, Construct::SET_FUNCTION_IN_PLPGSQL));
        };
        if let Some(clause) = level.clause.or(level.windowless) {
            let message = match clause {
                "aggregates" => "aggregate function calls cannot contain set-returning function calls".to_owned(),
                "window functions" => "window function calls cannot contain set-returning function calls".to_owned(),
                _ => format!("set-returning functions are not allowed in {clause}"),
            };
            return Err(Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let (Expansion::Function(_, args) | Expansion::Routine(_, args)) = &expansion;
        let mut nested = false;
        args.iter().for_each(|arg| arg.walk(0, &mut |e, _| nested |= matches!(e.kind, ExprKind::Expanded(_))));
        if nested {
            return Err(Diagnostic::unsupported(span, Construct::SET_FUNCTION_INSIDE_ANOTHER));
        }
        level.expansions.push(expansion);
        Ok(Expr { kind: ExprKind::Expanded(level.expansions.len() - 1), ty })
    }

    /// `ROWS FROM (...)`, WITH ORDINALITY.
    pub(super) fn rows_from(
        &mut self,
        functions: &[FromFunction],
        ordinality: bool,
        alias: Option<&Alias>,
        span: Span,
    ) -> Result<Part> {
        let mut parts = Vec::new();
        let mut columns: Vec<(Arc<str>, Type)> = Vec::new();
        let functions: Vec<FromFunction> = functions.iter().flat_map(unnested).collect();
        for function in &functions {
            let shown = match (functions.len(), alias) {
                (1, Some(alias)) => alias.name.name.clone(),
                _ => function.name.name.name.clone(),
            };
            let (source, own) = self.rows_source(function, &shown)?;
            parts.push(RowsPart { source, width: own.len() });
            columns.extend(own);
        }
        if ordinality {
            columns.push(("ordinality".into(), Type::Int8));
        }
        let name = functions.first().map(|f| f.name.name.name.clone());
        let rel = Rel { alias: "".into(), source: RelSource::RowsFrom { parts, ordinality }, columns };
        self.add_aliased(rel, name, alias, span)
    }

    /// `unnest(a, b)` is `ROWS FROM (unnest(a), unnest(b))`.
    pub(super) fn unnest_several(
        &mut self,
        name: &ast::QualifiedName,
        args: &[ast::Expr],
        alias: Option<&Alias>,
        span: Span,
    ) -> Result<Part> {
        let function = FromFunction { name: name.clone(), args: args.to_vec(), columns: Vec::new(), span };
        self.rows_from(&[function], false, alias, span)
    }

    /// One function in FROM: what it is, and its columns.
    pub(super) fn rows_source(&mut self, function: &FromFunction, shown: &Arc<str>) -> Result<(RelSource, Columns)> {
        let called = &function.name.name.name;
        let is_routine = self.catalog.routines_by_name(called).next().is_some();
        if &**called == "generate_series" && !is_routine {
            let operands = self.operands(&function.args)?;
            let (args, ty) = self.series(operands, function.span)?;
            let columns = vec![(shown.clone(), ty)];
            return Ok((RelSource::Function(SetFunction::GenerateSeries, args), columns));
        }
        if !is_routine && builtin::set_functions(called).next().is_some() {
            let rel = self.set_function(called, &function.args, shown, function.span)?;
            return Ok((rel.source, rel.columns));
        }
        if is_routine {
            let operands = self.operands(&function.args)?;
            if let Some((Callee::Routine(id, def, sources), params)) =
                self.resolve(&function.name, &operands, &[], Wanted::Function, function.span)?
            {
                let args = self.arguments(operands, &params)?;
                let source = RelSource::Routine(id, routine_args(def, &sources, &args));
                return Ok((source, self.rows_columns(function, def, shown)?));
            }
        }
        let rel = self.scalar_function(&function.name, &function.args, shown, function.span)?;
        Ok((rel.source, rel.columns))
    }

    /// The columns of a routine in FROM: those that it declares, or where it declares none those that the caller says.
    fn rows_columns(
        &mut self,
        function: &FromFunction,
        def: &RoutineDef,
        shown: &Arc<str>,
    ) -> Result<Vec<(Arc<str>, Type)>> {
        let open = match &def.returns {
            ReturnsDef::Set(columns) => columns.is_empty(),
            ReturnsDef::Value(ty) => *ty == Type::Record,
            _ => false,
        };
        let span = function.span;
        match (open, function.columns.is_empty()) {
            (true, false) => {
                let column = |(name, ty): &(ast::Ident, ast::TypeName)| Ok((name.name.clone(), self.type_name(ty)?.0));
                function.columns.iter().map(column).collect()
            }
            (true, true) => {
                let message = "a column definition list is required for functions returning \"record\"";
                Err(Diagnostic::syntax(span, message))
            }
            (false, false) => {
                let message = "a column definition list is only allowed for functions returning \"record\"";
                Err(Diagnostic::syntax(span, message))
            }
            (false, true) => Ok(routine_columns(def, shown)),
        }
    }
}

/// `unnest(a, b)` as `unnest(a), unnest(b)`.
fn unnested(function: &FromFunction) -> Vec<FromFunction> {
    let part = |arg: &ast::Expr| FromFunction { args: vec![arg.clone()], span: arg.span, ..function.clone() };
    match &*function.name.name.name {
        "unnest" if function.args.len() > 1 => function.args.iter().map(part).collect(),
        _ => vec![function.clone()],
    }
}
