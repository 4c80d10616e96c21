//! Calls: builtin functions, aggregates, routines, and the forms that only look like functions.

use std::sync::Arc;

use super::absent::is_known_elsewhere;
use super::expr::{Operand, constant, filled, result_type, text};
use super::hint::did_you_mean;
use super::overload::{Choice, choose};
use super::scope::shown_name;
use super::{Binder, Result};
use crate::ast::{self, ParamMode};
use crate::builtin::{self, Aggregate, Builtin};
use crate::catalog::{ReturnsDef, RoutineDef, RoutineId, names};
use crate::error::{Diagnostic, Span, SqlState};
use crate::parse::plain_call;
use crate::refused::Construct;
use crate::typed::{AggregateCall, Expansion, Expr, ExprKind};
use crate::types::{Type, UserType};
use crate::value::{EnumLabel, Value};

/// Something a call may mean.
pub(super) enum Callee<'a> {
    Builtin(&'static Builtin),
    Routine(RoutineId, &'a Arc<RoutineDef>, Vec<Source>),
}

/// Where a routine's parameter comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The n-th argument of the call, named ones behind the others.
    Argument(usize),
    /// Its default.
    Default,
}

impl<'a> Binder<'a> {
    /// A call inside an expression.
    pub(super) fn call(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        let name = &*call.name.name.name;
        match name {
            "coalesce" => return self.coalesce(call),
            "greatest" | "least" => return self.extreme(call, name == "greatest"),
            "nullif" => return self.nullif(call, span),
            "pg_typeof" => return self.pg_typeof(call, span),
            _ => {}
        }
        let is_routine = self.catalog.routines_by_name(name).next().is_some();
        let computes = builtin::window_functions(name).next().is_some() || builtin::aggregates(name).next().is_some();
        if let Some(over) = call.over.as_ref().filter(|_| !is_routine && computes) {
            return self.windowed(call, over, span);
        }
        if !is_routine && builtin::aggregates(name).next().is_some() {
            return self.aggregate(call, span);
        }
        if !is_routine && builtin::window_functions(name).next().is_some() {
            let message = format!("window function {name} requires an OVER clause");
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
        }
        if call.over.is_some() || !call.within_group.is_empty() {
            let mut operands = self.call_operands(call)?;
            for key in &call.within_group {
                operands.push((self.expr(&key.expr)?, key.expr.span));
            }
            self.resolve(&call.name, &operands, &[], Wanted::Function, span)?;
            return Err(self.not_an_aggregate(call, span));
        }
        if call.distinct || !call.order_by.is_empty() || call.filter.is_some() || call.star {
            return Err(self.not_an_aggregate(call, span));
        }
        if name == "generate_series" && builtin::overloads(name).next().is_none() {
            return self.expanded_series(call, span);
        }
        if !is_routine && builtin::set_functions(name).next().is_some() {
            return self.expanded_builtin(call, span);
        }
        if name == "age" && call.args.len() == 1 && !is_routine {
            // From midnight of the current day.
            let today =
                ast::Expr { kind: plain_call(ast::Ident { name: "current_date".into(), span }, Vec::new()), span };
            let both = std::iter::once(today).chain(call.args.iter().cloned()).collect();
            return self.call(&ast::Call { args: both, ..call.clone() }, span);
        }
        let operands = self.call_operands(call)?;
        if let ("enum_first" | "enum_last" | "enum_range", [(Expr { ty: Type::Enum(ty), .. }, _)]) =
            (name, &operands[..])
        {
            return Ok(enum_labels(name, *ty));
        }
        let names: Vec<&ast::Ident> = call.named.iter().map(|(n, _)| n).collect();
        match self.resolve(&call.name, &operands, &names, Wanted::Function, span)? {
            Some((Callee::Builtin(builtin), params)) => {
                if is_undetermined(builtin, &operands) {
                    let message = "could not determine polymorphic type because input has type unknown";
                    return Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message));
                }
                let ty = result_type(builtin, &params);
                let mut args = self.arguments(operands, &params)?;
                self.find_sequence(builtin, &mut args, span)?;
                Ok(in_declared_type(Expr { kind: ExprKind::Call(builtin, args), ty }, builtin))
            }
            Some((Callee::Routine(id, def, sources), params)) => {
                let args = self.arguments(operands, &params)?;
                let args = routine_args(def, &sources, &args);
                if let ReturnsDef::Set(columns) = &def.returns {
                    let ty = if let [(_, ty)] = &columns[..] { *ty } else { Type::Record };
                    return self.expanded(Expansion::Routine(id, args), ty, span);
                }
                let ty = routine_type(def, span)?;
                Ok(Expr { kind: ExprKind::Routine(id, args), ty })
            }
            None => self.cast_by_name(name, operands, span),
        }
    }

    /// The arguments of a call, the named ones behind the others.
    pub(super) fn call_operands(&mut self, call: &ast::Call) -> Result<Vec<Operand>> {
        let mut operands = self.operands(&call.args)?;
        for (_, value) in &call.named {
            operands.push((self.expr(value)?, value.span));
        }
        self.rows_as_json(&call.name.name.name, operands)
    }

    fn not_an_aggregate(&self, call: &ast::Call, span: Span) -> Diagnostic {
        let name = &call.name.name.name;
        let known = builtin::overloads(name).next().is_some() || self.catalog.routines_by_name(name).next().is_some();
        if self.is_absent(&call.name) {
            return Diagnostic::unsupported(span, Construct::FUNCTION.of(name));
        }
        if !known {
            let message = format!("function {name}({}) does not exist", if call.star { "*" } else { "" });
            return Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message);
        }
        let what = match call {
            ast::Call { within_group, .. } if !within_group.is_empty() => {
                format!("WITHIN GROUP specified, but {name} is not an aggregate function")
            }
            ast::Call { over: Some(_), .. } => {
                format!("OVER specified, but {name} is not a window function nor an aggregate function")
            }
            ast::Call { star: true, .. } => format!("{name}(*) specified, but {name} is not an aggregate function"),
            ast::Call { distinct: true, .. } => {
                format!("DISTINCT specified, but {name} is not an aggregate function")
            }
            ast::Call { filter: Some(_), .. } => format!("FILTER specified, but {name} is not an aggregate function"),
            _ => format!("ORDER BY specified, but {name} is not an aggregate function"),
        };
        Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, what)
    }

    /// What a call means among builtins and routines, with the types of the arguments it wants. `None` if nothing
    /// fits but the name may be that of a type.
    pub(super) fn resolve(
        &self,
        name: &ast::QualifiedName,
        operands: &[Operand],
        names: &[&ast::Ident],
        wanted: Wanted,
        span: Span,
    ) -> Result<Option<(Callee<'a>, Vec<Type>)>> {
        let given: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        let (mut callees, mut candidates) = (Vec::new(), Vec::new());
        let catalog = self.catalog;
        let inside = |def: &RoutineDef| match name.qualifier() {
            None => catalog.is_on_path(def.schema.as_deref()),
            Some(schema) => def.schema.as_deref().unwrap_or("public") == &*schema.name,
        };
        for (id, def) in catalog.routines().filter(|(_, def)| def.name == name.name.name && inside(def)) {
            if def.procedure != (wanted == Wanted::Procedure) {
                continue;
            }
            if let Some((sources, params)) = match_params(def, given.len(), names, wanted) {
                callees.push(Callee::Routine(id, def, sources));
                candidates.push(params);
            }
        }
        let builtin_schema = name.schema.as_ref().is_none_or(|s| &*s.name == "pg_catalog");
        if wanted == Wanted::Function && names.is_empty() && builtin_schema {
            for builtin in builtin::overloads(&name.name.name) {
                if let Some(params) = builtin_params(builtin, &given) {
                    callees.push(Callee::Builtin(builtin));
                    candidates.push(params);
                }
            }
        }
        match choose(&candidates, &given, false) {
            Choice::One(position, params) => Ok(Some((callees.swap_remove(position), params))),
            Choice::Ambiguous => Err(self.not_unique(name, &given, wanted, span)),
            Choice::Nothing if wanted == Wanted::Function && type_by_name(&name.name.name).is_some() => Ok(None),
            Choice::Nothing => Err(self.no_function(name, &given, names, wanted, span)),
        }
    }

    fn not_unique(&self, name: &ast::QualifiedName, given: &[Type], wanted: Wanted, span: Span) -> Diagnostic {
        let message = format!("{wanted} {} is not unique", signature(name, given, &[]));
        Diagnostic::new(span, SqlState::AMBIGUOUS_FUNCTION, message)
            .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
    }

    fn no_function(
        &self,
        name: &ast::QualifiedName,
        given: &[Type],
        names: &[&ast::Ident],
        wanted: Wanted,
        span: Span,
    ) -> Diagnostic {
        let signature = signature(name, given, names);
        let other_kind = self.catalog.routines_by_name(&name.name.name).find(|(_, def)| {
            def.procedure != (wanted == Wanted::Procedure)
                && match_params(
                    def,
                    given.len(),
                    names,
                    if def.procedure { Wanted::Procedure } else { Wanted::Function },
                )
                .is_some()
        });
        if let Some((_, def)) = other_kind {
            let (what, hint) = match def.procedure {
                true => ("a procedure", "To call a procedure, use CALL."),
                false => ("not a procedure", "To call a function, use SELECT."),
            };
            let message = format!("{signature} is {what}");
            return Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message).hint(hint);
        }
        if self.is_absent(name) && wanted == Wanted::Function {
            return Diagnostic::unsupported(span, Construct::FUNCTION.of(&name.name.name));
        }
        let message = format!("{wanted} {signature} does not exist");
        let error = Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message);
        let name = &*name.name.name;
        let known = self.catalog.routines().any(|(_, def)| &*def.name == name)
            || (wanted == Wanted::Function && builtin::overloads(name).next().is_some());
        let routines = self.catalog.routines().filter(|(_, def)| def.procedure == (wanted == Wanted::Procedure));
        let builtins = builtin::functions().map(|b| b.name).filter(|n| n.starts_with(char::is_alphabetic));
        let builtins = builtins.filter(|_| wanted == Wanted::Function);
        match did_you_mean(name, routines.map(|(_, def)| &*def.name).chain(builtins)) {
            Some(hint) if !known => error.hint(hint),
            _ => error.hint(format!(
                "No {wanted} matches the given name and argument types. You might need to add explicit type casts."
            )),
        }
    }

    /// Whether only a real server has a function of this name.
    fn is_absent(&self, name: &ast::QualifiedName) -> bool {
        let bare = &*name.name.name;
        let ours = builtin::overloads(bare).next().is_some()
            || builtin::aggregates(bare).next().is_some()
            || builtin::window_functions(bare).next().is_some()
            || self.catalog.routines_by_name(bare).next().is_some();
        !ours && is_known_elsewhere(bare)
    }

    /// `int4(x)`, `text(x)`: a cast that looks like a call.
    fn cast_by_name(&self, name: &str, operands: Vec<Operand>, span: Span) -> Result<Expr> {
        let mut operands = operands.into_iter();
        match (type_by_name(name), operands.next(), operands.next()) {
            (Some(ty), Some((operand, _)), None) => self.explicit(operand, ty, span),
            _ => {
                let message = format!("function {name}() does not exist");
                Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message))
            }
        }
    }

    /// `nextval('s')` is about the sequence that the search path leads to now, whatever it is when the expression is
    /// evaluated. Of a sequence that is not there it is known to fail.
    fn find_sequence(&self, builtin: &Builtin, args: &mut [Expr], span: Span) -> Result<()> {
        if !matches!(builtin.name, "nextval" | "currval" | "setval") || self.frame.late {
            return Ok(());
        }
        let Some(Expr { kind: ExprKind::Const(Value::Text(name)), .. }) = args.first_mut() else { return Ok(()) };
        if let Some(found) = self.catalog.sequence_by_text(name).or_else(|| self.catalog.sequence(name)) {
            *name = names::text_of_key(&found.name).into();
            return Ok(());
        }
        let bare = name.strip_prefix("public.").unwrap_or(name).trim_matches('"');
        let message = format!("relation \"{bare}\" does not exist");
        let mut error = Diagnostic::new(span, SqlState::UNDEFINED_TABLE, message);
        error.hint = did_you_mean(bare, self.catalog.sequences().map(|s| &*s.name));
        Err(error)
    }

    fn coalesce(&mut self, call: &ast::Call) -> Result<Expr> {
        let operands = self.operands(&call.args)?;
        let (list, ty) = self.unify("COALESCE", operands)?;
        Ok(Expr { kind: ExprKind::Coalesce(list), ty })
    }

    fn extreme(&mut self, call: &ast::Call, greatest: bool) -> Result<Expr> {
        let operands = self.operands(&call.args)?;
        let (list, ty) = self.unify(if greatest { "GREATEST" } else { "LEAST" }, operands)?;
        Ok(Expr { kind: ExprKind::Extreme(list, greatest), ty })
    }

    /// `NULLIF(a, b)` is `CASE WHEN a = b THEN NULL ELSE a END`, of a's type.
    fn nullif(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        let [a, b] = &call.args[..] else {
            return Err(Diagnostic::syntax(span, "NULLIF takes two arguments"));
        };
        let (left, right) = ((self.expr(a)?, a.span), (self.expr(b)?, b.span));
        let value = self.settled(left.0.clone());
        let ty = value.ty;
        let same = self.equal(left, right, span)?;
        let whens = vec![(same, constant(Value::Null, ty))];
        Ok(Expr { kind: ExprKind::Case(whens, Some(Box::new(value))), ty })
    }

    fn pg_typeof(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        let [arg] = &call.args[..] else {
            let message = "function pg_typeof() does not exist";
            return Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message));
        };
        Ok(text(self.expr(arg)?.ty.base().to_string()))
    }

    /// An aggregate: computed at the level its arguments' columns come from.
    fn aggregate(&mut self, call: &ast::Call, span: Span) -> Result<Expr> {
        if self.levels.is_empty() {
            let message = "aggregate functions are not allowed in PL/pgSQL expressions";
            return Err(Diagnostic::new(span, SqlState::GROUPING_ERROR, message));
        }
        let marks: Vec<usize> = self.levels.iter().map(|l| l.uses.len()).collect();
        let allowed = self.level().clause.take();
        let parts = self.windowless("aggregates", |b| b.aggregate_call(call, span));
        self.level().clause = allowed;
        let mut parts = AggregateParts(parts?);
        let outer = parts.level();
        self.levels.iter_mut().zip(marks).for_each(|(l, mark)| l.uses.truncate(mark));
        let index = self.levels.len() - 1 - outer as usize;
        if let Some(clause) = self.levels[index].clause {
            let message = format!("aggregate functions are not allowed in {clause}");
            return Err(Diagnostic::new(span, SqlState::GROUPING_ERROR, message));
        }
        if parts.nests(outer) {
            let message = "aggregate function calls cannot be nested";
            return Err(Diagnostic::new(span, SqlState::GROUPING_ERROR, message));
        }
        parts.inward(outer);
        let ty = parts.0.ty;
        let calls = &mut self.levels[index].calls;
        let call = calls.iter().position(|call| parts.is(call)).unwrap_or(calls.len());
        if call == calls.len() {
            calls.push(parts.0);
        }
        Ok(Expr { kind: ExprKind::Aggregated { depth: outer, call }, ty })
    }

    /// The parts of an aggregate, seen from where it stands.
    pub(super) fn aggregate_call(&mut self, call: &ast::Call, span: Span) -> Result<AggregateCall> {
        let name = &*call.name.name.name;
        let mut operands = self.operands(&call.args)?;
        for key in &call.within_group {
            operands.push((self.expr(&key.expr)?, key.expr.span));
        }
        let operands = self.rows_as_json(name, operands)?;
        let given: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        if call.args.is_empty() && !call.star && name == "count" {
            let message = "count(*) must be used to call a parameterless aggregate function";
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
        }
        let candidates: Vec<&'static Aggregate> =
            builtin::aggregates(name).filter(|a| a.args.len() == given.len() && can_aggregate(a, &given)).collect();
        let params: Vec<Vec<Type>> = candidates.iter().map(|a| a.args.to_vec()).collect();
        let (aggregate, params) = match choose(&params, &given, false) {
            Choice::One(position, params) => (candidates[position], params),
            Choice::Nothing => return Err(self.no_function(&call.name, &given, &[], Wanted::Function, span)),
            Choice::Ambiguous => return Err(self.not_unique(&call.name, &given, Wanted::Function, span)),
        };
        if aggregate.kind.is_ordered_set() == call.within_group.is_empty() {
            let message = match call.within_group.is_empty() {
                true => format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
                false => format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"),
            };
            return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
        }
        let args = self.arguments(operands, &params)?;
        let aggregate = if is_json_of_rows(name, &args) { &builtin::JSON_ROWS_AGG } else { aggregate };
        let ty = filled(aggregate.returns, aggregate.args, &params);
        let filter = call.filter.as_ref().map(|f| self.condition(f, "FILTER")).transpose()?;
        let mut order_by = Vec::new();
        for key in &call.order_by {
            let expr = self.value(&key.expr)?;
            order_by.push(super::query::order_key(key, expr));
        }
        for (key, sorted) in call.within_group.iter().zip(args.iter().skip(call.args.len())) {
            order_by.push(super::query::order_key(key, sorted.clone()));
        }
        Ok(AggregateCall { aggregate, args, distinct: call.distinct, order_by, filter, ty })
    }

    /// `function f(integer) does not exist`
    pub(super) fn no_such_function(&self, name: &ast::QualifiedName, given: &[Type], span: Span) -> Diagnostic {
        self.no_function(name, given, &[], Wanted::Function, span)
    }
}

/// The labels of an enum: all in an array, or one of the ends. The value given matters for its type only.
fn enum_labels(function: &str, ty: UserType) -> Expr {
    let value = |label: &Arc<EnumLabel>| Value::Enum(label.clone());
    let labels = ty.labels();
    match function {
        "enum_range" => constant(Value::array(labels.iter().map(value).collect()), Type::Enum(ty).array()),
        "enum_first" => constant(labels.first().map_or(Value::Null, value), Type::Enum(ty)),
        _ => constant(labels.last().map_or(Value::Null, value), Type::Enum(ty)),
    }
}

/// Whether a function takes any type and was given only literals without one. Those that make their arguments
/// compatible take them for text.
fn is_undetermined(builtin: &Builtin, operands: &[Operand]) -> bool {
    const ANY_ARRAY: Type = Type::Array(&Type::Unknown);
    let strict = match builtin.name {
        "array_append" | "array_prepend" | "array_cat" | "array_remove" | "array_replace" => false,
        "array_position" | "array_positions" => false,
        name => matches!(name, "to_json" | "to_jsonb" | "array_fill") || builtin.args.contains(&ANY_ARRAY),
    };
    let mut any =
        builtin.args.iter().zip(operands).filter(|(p, _)| matches!(**p, Type::Unknown | ANY_ARRAY)).peekable();
    strict && !builtin.variadic && any.peek().is_some() && any.all(|(_, (e, _))| e.ty == Type::Unknown)
}

/// The least and the greatest of any type are known only where PostgreSQL knows them.
fn can_aggregate(aggregate: &Aggregate, given: &[Type]) -> bool {
    let extreme = matches!(aggregate.name, "min" | "max") && aggregate.args == [Type::Unknown];
    !extreme || matches!(given[..], [ty] if matches!(ty.underlying(), Type::Enum(_) | Type::Array(_)))
}

/// `json_agg` of rows, which the binder has turned into JSON.
fn is_json_of_rows(name: &str, args: &[Expr]) -> bool {
    let made =
        |e: &Expr| matches!(&e.kind, ExprKind::Call(f, _) if std::ptr::eq(*f, &builtin::json_build::ROW_AS_JSON));
    name == "json_agg" && args.first().is_some_and(made)
}

/// An aggregate call, still seen from where it was written.
struct AggregateParts(AggregateCall);

impl AggregateParts {
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let call = &self.0;
        call.args.iter().chain(&call.filter).chain(call.order_by.iter().map(|k| &k.expr))
    }

    /// Whether it computes what another one already does.
    fn is(&self, other: &AggregateCall) -> bool {
        let (a, b) = (&self.0, other);
        let plain = [a, b].iter().all(|c| c.filter.is_none() && c.order_by.is_empty());
        let same = std::ptr::eq(a.aggregate, b.aggregate) && a.distinct == b.distinct && a.args.len() == b.args.len();
        plain && same && a.args.iter().zip(&b.args).all(|(x, y)| x.same_as(y))
    }

    /// How many queries outward it belongs: to the nearest whose columns it names, or else where it stands.
    fn level(&self) -> u16 {
        let mut nearest: Option<u16> = None;
        for expr in self.exprs() {
            expr.walk(0, &mut |e, inside| {
                if let ExprKind::Column { depth, .. }
                | ExprKind::WholeRow { depth, .. }
                | ExprKind::Aggregated { depth, .. } = e.kind
                    && depth >= inside
                {
                    nearest = Some(nearest.map_or(depth - inside, |n| n.min(depth - inside)));
                }
            });
        }
        nearest.unwrap_or(0)
    }

    /// Whether it contains another aggregate of that level.
    fn nests(&self, outer: u16) -> bool {
        let mut found = false;
        for expr in self.exprs() {
            expr.walk(0, &mut |e, inside| {
                found |= matches!(e.kind, ExprKind::Aggregated { depth, .. } if depth == inside + outer);
            });
        }
        found
    }

    /// Seen from `by` queries further out.
    fn inward(&mut self, by: u16) {
        let call = &mut self.0;
        let keys = call.order_by.iter_mut().map(|k| &mut k.expr);
        for expr in call.args.iter_mut().chain(&mut call.filter).chain(keys).filter(|_| by > 0) {
            expr.walk_mut(0, &mut |e, inside| {
                if let ExprKind::Column { depth, .. }
                | ExprKind::WholeRow { depth, .. }
                | ExprKind::Aggregated { depth, .. } = &mut e.kind
                    && *depth >= inside
                {
                    *depth -= by;
                }
                true
            });
        }
    }
}

/// Function or procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Wanted {
    Function,
    Procedure,
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Wanted::Function => "function",
            Wanted::Procedure => "procedure",
        })
    }
}

/// `f(integer, name => text)`, as messages show it.
fn signature(name: &ast::QualifiedName, given: &[Type], names: &[&ast::Ident]) -> String {
    let positional = given.len() - names.len();
    let shown = given.iter().enumerate().map(|(i, ty)| match i.checked_sub(positional) {
        Some(named) => format!("{} => {}", names[named].name, ty.base()),
        None => ty.base().to_string(),
    });
    format!("{}({})", shown_name(name).0, shown.collect::<Vec<_>>().join(", "))
}

/// The session tells a moment as a `timestamptz`; `current_date` and `localtimestamp` are that moment, cast.
fn in_declared_type(call: Expr, builtin: &Builtin) -> Expr {
    let is_moment = matches!(builtin.eval, builtin::Eval::Session(builtin::SessionFunction::TransactionTimestamp));
    if !is_moment || call.ty == Type::Timestamptz {
        return call;
    }
    let (ty, moment) = (call.ty, Expr { ty: Type::Timestamptz, ..call });
    Expr { kind: ExprKind::Cast { expr: Box::new(moment), explicit: true }, ty }
}

/// The parameters of a builtin, the repeated last one as often as needed; where that takes any type, each argument
/// keeps its own.
fn builtin_params(builtin: &Builtin, given: &[Type]) -> Option<Vec<Type>> {
    let mut params = builtin.args.to_vec();
    if builtin.variadic {
        let last = params.pop()?;
        let repeated = given.get(params.len()..)?.iter().map(|ty| match (last, *ty) {
            (Type::Unknown, Type::Unknown) => Type::Text,
            (Type::Unknown, own) => own.base(),
            _ => last,
        });
        params.extend(repeated);
    }
    (params.len() == given.len() && given.len() >= builtin.args.len()).then_some(params)
}

/// How the arguments of a call fill a routine's parameters, and the types they must have; `None` if they do not.
/// A procedure's OUT parameters are arguments too, whose value is ignored.
pub(super) fn match_params(
    def: &RoutineDef,
    given: usize,
    names: &[&ast::Ident],
    wanted: Wanted,
) -> Option<(Vec<Source>, Vec<Type>)> {
    let inputs: Vec<_> =
        def.params.iter().filter(|p| p.mode != ParamMode::Out || wanted == Wanted::Procedure).collect();
    let positional = given - names.len();
    if given > inputs.len() {
        return None;
    }
    let mut types = vec![Type::Unknown; given];
    let mut sources = Vec::new();
    for (i, param) in inputs.iter().enumerate() {
        let named = names.iter().position(|n| n.name == param.name);
        let argument = match named {
            Some(_) if i < positional => return None,
            Some(n) => Some(positional + n),
            None => (i < positional).then_some(i),
        };
        match argument {
            Some(argument) => {
                types[argument] = param.ty.base();
                sources.push(Source::Argument(argument));
            }
            None if param.default.is_some() => sources.push(Source::Default),
            None => return None,
        }
    }
    let used = sources.iter().filter(|s| matches!(s, Source::Argument(_))).count();
    (used == given).then_some((sources, types))
}

/// One argument per parameter that `sources` speaks of, defaults filled in.
pub(super) fn routine_args(def: &RoutineDef, sources: &[Source], args: &[Expr]) -> Vec<Expr> {
    let all = def.params.len() == sources.len();
    let params = def.params.iter().filter(|p| all || p.mode != ParamMode::Out);
    params
        .zip(sources)
        .map(|(param, source)| match (source, &param.default) {
            _ if param.mode == ParamMode::Out => constant(Value::Null, param.ty),
            (Source::Argument(i), _) => args[*i].clone(),
            (Source::Default, Some(default)) => default.clone(),
            (Source::Default, None) => constant(Value::Null, param.ty),
        })
        .collect()
}

/// The type of a routine's result as a value.
fn routine_type(def: &RoutineDef, span: Span) -> Result<Type> {
    match &def.returns {
        ReturnsDef::Void => Ok(Type::Void),
        ReturnsDef::Value(ty) => Ok(*ty),
        ReturnsDef::Trigger => {
            let message = "trigger functions can only be called as triggers";
            Err(Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        ReturnsDef::Row(_) => Ok(Type::Record),
        ReturnsDef::Set(_) => Err(Diagnostic::unsupported(span, Construct::SET_FUNCTION_OUTSIDE_FROM)),
        ReturnsDef::Outs => {
            let mut outs = def.outs();
            match (outs.next(), outs.next()) {
                (Some(only), None) => Ok(only.ty),
                _ => Ok(Type::Record),
            }
        }
    }
}

/// The type that a function-like cast names.
fn type_by_name(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int2" => Type::Int2,
        "int4" => Type::Int4,
        "int8" => Type::Int8,
        "numeric" => Type::Numeric(None),
        "float8" => Type::Float8,
        "text" => Type::Text,
        "varchar" => Type::Varchar(None),
        "date" => Type::Date,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::Timestamptz,
        "interval" => Type::Interval,
        "uuid" => Type::Uuid,
        _ => return None,
    })
}
