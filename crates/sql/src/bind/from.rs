//! FROM: relations, joins, and which names each part of it sees.

use std::sync::Arc;

use super::coerce::{cast, common_type};
use super::expr::{Operand, filled};
use super::hint::did_you_mean;
use super::overload::{Choice, choose};
use super::scope::ScopeColumn;
use super::{Binder, Result};
use crate::ast::{self, Alias, FromFunction, Ident, JoinCondition, JoinKind, LockStrength, TableRef};
use crate::builtin::{self, SetFunction};
use crate::catalog::{ReturnsDef, RoutineDef, Table, names};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expr, ExprKind, From, OutputColumn, Query, QueryBody, Rel, RelSource, RowLocking, Select};
use crate::types::Type;
use crate::value::Value;

/// A bound element of FROM: its tree, and what it adds to the names in sight.
pub(super) struct Part {
    tree: From,
    rels: Vec<usize>,
    columns: Vec<ScopeColumn>,
}

impl Binder<'_> {
    /// The whole FROM of the innermost level; its relations are then in sight.
    pub(super) fn from(&mut self, items: &[TableRef]) -> Result<Option<From>> {
        let mut tree = None;
        for item in items {
            let part = self.table_ref(item)?;
            tree = Some(cross(tree, part.tree.clone()));
            self.show(part);
        }
        Ok(tree)
    }

    /// Puts the target of UPDATE or DELETE in front of FROM.
    pub(super) fn target(&mut self, table: &Table, alias: Option<&Ident>) -> Result<From> {
        let name = alias.map_or_else(|| table.name.clone(), |a| a.name.clone());
        let part = self.add_rel(name, table_rel(table), Span::default())?;
        let tree = part.tree.clone();
        self.show(part);
        Ok(tree)
    }

    /// Makes a relation's names visible.
    pub(super) fn show(&mut self, part: Part) {
        let level = self.level();
        level.visible.extend(part.rels);
        level.columns.extend(part.columns);
    }

    /// Makes a relation's names visible, to be qualified by its alias.
    pub(super) fn show_qualified(&mut self, part: Part) {
        self.level().visible.extend(part.rels);
    }

    /// Adds a relation under an alias that must be new.
    pub(super) fn add_rel(&mut self, alias: Arc<str>, rel: Rel, span: Span) -> Result<Part> {
        let level = self.level();
        if level.rels.iter().any(|r| r.alias == alias) && !alias.is_empty() {
            let message = format!("table name \"{alias}\" specified more than once");
            return Err(Diagnostic::new(span, SqlState::DUPLICATE_ALIAS, message));
        }
        let index = level.rels.len();
        let columns = rel.columns.iter().enumerate().map(|(col, (name, ty))| ScopeColumn {
            name: name.clone(),
            expr: Expr { kind: ExprKind::Column { depth: 0, rel: index as u16, col: col as u16 }, ty: *ty },
        });
        let columns = columns.collect();
        level.rels.push(Rel { alias, ..rel });
        Ok(Part { tree: From::Rel(index), rels: vec![index], columns })
    }

    fn table_ref(&mut self, item: &TableRef) -> Result<Part> {
        match item {
            TableRef::Table { name, alias } => self.table_or_with(name, alias.as_ref()),
            TableRef::Subquery { lateral, query, alias, span } => {
                let bound = match lateral {
                    true => self.query(query)?,
                    false => {
                        let first = self.levels.len() - 1;
                        self.closing(first, |b| b.query(query))?
                    }
                };
                let rel = query_rel(bound, *lateral);
                self.add_aliased(rel, None, alias.as_ref(), *span)
            }
            TableRef::Function { name, args, alias, span } => {
                self.in_clause("functions in FROM", |b| b.function(name, args, alias.as_ref(), *span))
            }
            TableRef::RowsFrom { functions, ordinality, alias, span } => {
                self.in_clause("functions in FROM", |b| b.rows_from(functions, *ordinality, alias.as_ref(), *span))
            }
            TableRef::Join { kind, left, right, on, span } => self.join(*kind, left, right, on, *span),
        }
    }

    pub(super) fn add_aliased(
        &mut self,
        mut rel: Rel,
        name: Option<Arc<str>>,
        alias: Option<&Alias>,
        span: Span,
    ) -> Result<Part> {
        let shown = alias.map(|a| a.name.name.clone()).or(name).unwrap_or_else(|| "".into());
        if let Some(alias) = alias {
            rename(&mut rel.columns, &alias.columns, &shown, span)?;
        }
        let span = alias.map_or(span, |a| a.name.span);
        self.add_rel(shown, rel, span)
    }

    fn table_or_with(&mut self, name: &ast::QualifiedName, alias: Option<&Alias>) -> Result<Part> {
        let span = name.name.span;
        let with = self.with.iter().rposition(|w| name.qualifier().is_none() && w.name == name.name.name);
        if let Some(index) = with {
            let rel = self.with_rel(index, span)?;
            let at = self.level().rels.len();
            self.level().with_rels.push(at);
            return self.add_aliased(rel, Some(name.name.name.clone()), alias, span);
        }
        if let Some(rel) = self.transition_rel(name) {
            return self.add_aliased(rel, Some(name.name.name.clone()), alias, span);
        }
        if let Some(view) = self.view(name) {
            let rel = self.view_rel(view, span)?;
            return self.add_aliased(rel, Some(view.name.clone()), alias, span);
        }
        match self.table(name) {
            Ok(table) => {
                let rel = table_rel(table);
                self.add_aliased(rel, Some(table.name.clone()), alias, span)
            }
            Err(_) if self.sequence_rel(name).is_some() => {
                let rel = self.sequence_rel(name).unwrap_or_else(|| unreachable!("it was just there"));
                self.add_aliased(rel, Some(name.name.name.clone()), alias, span)
            }
            Err(mut error) => {
                let with = self.with.iter().map(|w| &*w.name);
                error.hint = error.hint.or_else(|| did_you_mean(&name.name.name, with));
                Err(error)
            }
        }
    }

    /// A sequence as a relation of one row.
    fn sequence_rel(&self, name: &ast::QualifiedName) -> Option<Rel> {
        let schema = name.qualifier_name();
        let sequence = self.catalog.find_sequence(schema, &name.name.name)?;
        let key = Expr { kind: ExprKind::Const(Value::text(names::text_of_key(&sequence.name))), ty: Type::Text };
        let field = |name: &'static str| {
            let function = builtin::find(name, &[Type::Text])?;
            Some(Expr { kind: ExprKind::Call(function, vec![key.clone()]), ty: function.returns })
        };
        let row = ["sequence last_value", "sequence log_cnt", "sequence is_called"].map(field);
        let row: Vec<Expr> = row.into_iter().collect::<Option<_>>()?;
        let names = ["last_value", "log_cnt", "is_called"].map(Arc::from);
        let columns: Vec<(Arc<str>, Type)> = names.into_iter().zip(row.iter().map(|e| e.ty)).collect();
        let outputs = columns.iter().map(|(name, ty)| OutputColumn { name: name.clone(), ty: *ty, origin: None });
        let query = Query::of(outputs.collect(), QueryBody::Values(vec![row]));
        let source = RelSource::Query { query: query.into(), lateral: false };
        Some(Rel { alias: name.name.name.clone(), source, columns })
    }

    /// A transition table of the trigger whose function this is.
    fn transition_rel(&self, name: &ast::QualifiedName) -> Option<Rel> {
        let mut tables = self.frame.transitions.iter().filter(|_| name.qualifier().is_none());
        let table = tables.find(|t| t.name == name.name.name)?;
        let rows = Expr { kind: ExprKind::Param(table.slot), ty: Type::Record };
        let source = RelSource::Function(SetFunction::Rows, vec![rows]);
        Some(Rel { alias: table.name.clone(), source, columns: table.fields.to_vec() })
    }

    fn function(
        &mut self,
        name: &ast::QualifiedName,
        args: &[ast::Expr],
        alias: Option<&Alias>,
        span: Span,
    ) -> Result<Part> {
        let called = name.name.name.clone();
        let shown = alias.map_or_else(|| called.clone(), |a| a.name.name.clone());
        let is_routine = self.catalog.routines_by_name(&called).next().is_some();
        if &*called == "unnest" && !is_routine && args.len() > 1 {
            return self.unnest_several(name, args, alias, span);
        }
        let function = FromFunction { name: name.clone(), args: args.to_vec(), columns: Vec::new(), span };
        let (source, columns) = self.rows_source(&function, &shown)?;
        self.add_aliased(Rel { alias: shown, source, columns }, Some(called), alias, span)
    }

    /// A function that returns one value is a query of one row: `LATERAL (SELECT f(args))`.
    pub(super) fn scalar_function(
        &mut self,
        name: &ast::QualifiedName,
        args: &[ast::Expr],
        shown: &Arc<str>,
        span: Span,
    ) -> Result<Rel> {
        let call = ast::Call {
            name: name.clone(),
            args: args.to_vec(),
            named: Vec::new(),
            star: false,
            distinct: false,
            order_by: Vec::new(),
            filter: None,
            within_group: Vec::new(),
            over: None,
        };
        let (value, _) = self.in_level(|b| b.call(&call, span))?;
        let ty = value.ty;
        let column = OutputColumn { name: shown.clone(), ty, origin: None };
        let body = QueryBody::Select(Box::new(Select::bare(vec![value])));
        Ok(query_rel(Query::of(vec![column], body), true))
    }

    /// A builtin that yields rows.
    pub(super) fn set_function(
        &mut self,
        called: &Arc<str>,
        args: &[ast::Expr],
        shown: &Arc<str>,
        span: Span,
    ) -> Result<Rel> {
        let operands = self.operands(args)?;
        let given: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        let functions: Vec<_> = builtin::set_functions(called).filter(|f| f.args.len() == given.len()).collect();
        let candidates: Vec<Vec<Type>> = functions.iter().map(|f| f.args.to_vec()).collect();
        let Choice::One(position, params) = choose(&candidates, &given, false) else {
            let shown = given.iter().map(|t| t.base().to_string()).collect::<Vec<_>>().join(", ");
            let message = format!("function {called}({shown}) does not exist");
            return Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message).hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            ));
        };
        let function = functions[position];
        let args = self.arguments(operands, &params)?;
        let column = |(name, ty): &(&'static str, Type)| {
            let name = if name.is_empty() { shown.clone() } else { Arc::from(*name) };
            (name, filled(*ty, function.args, &params))
        };
        let mut columns: Vec<_> = function.columns.iter().map(column).collect();
        // The rows of an array of rows have its fields for columns.
        if let [(_, Type::Composite(ty))] = columns[..] {
            columns = ty.fields().to_vec();
        }
        let source = RelSource::Function(SetFunction::Builtin(function), args);
        Ok(Rel { alias: shown.clone(), source, columns })
    }

    /// The arguments of `generate_series` and the type of what it yields.
    pub(super) fn series(&mut self, operands: Vec<Operand>, span: Span) -> Result<(Vec<Expr>, Type)> {
        let types: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        let shown = types.iter().map(|t| t.base().to_string()).collect::<Vec<_>>().join(", ");
        let missing = || {
            let message = format!("function generate_series({shown}) does not exist");
            Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message)
        };
        if !(2..=3).contains(&operands.len()) {
            return Err(missing());
        }
        if types.iter().all(|t| *t == Type::Unknown) {
            let message = format!("function generate_series({shown}) is not unique");
            return Err(Diagnostic::new(span, SqlState::AMBIGUOUS_FUNCTION, message));
        }
        let bounds = common_type(&types[..2]).map_err(|_| missing())?;
        if matches!(bounds, Type::Date | Type::Timestamp | Type::Timestamptz) && operands.len() == 3 {
            let ty = if bounds == Type::Date { Type::Timestamptz } else { bounds };
            return Ok((self.arguments(operands, &[ty, ty, Type::Interval])?, ty));
        }
        let ty = match common_type(&types).map_err(|_| missing())? {
            Type::Int2 | Type::Int4 | Type::Text => Type::Int4,
            Type::Int8 => Type::Int8,
            Type::Numeric(_) => Type::Numeric(None),
            _ => return Err(missing()),
        };
        let params = vec![ty; operands.len()];
        Ok((self.arguments(operands, &params)?, ty))
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &TableRef,
        right: &TableRef,
        on: &JoinCondition,
        span: Span,
    ) -> Result<Part> {
        let left = self.table_ref(left)?;
        let level = self.level();
        let mark = (level.visible.len(), level.columns.len());
        // The side that is kept cannot depend on the other.
        let sees = !matches!(kind, JoinKind::Right | JoinKind::Full);
        if sees {
            level.visible.extend(&left.rels);
            level.columns.extend(left.columns.iter().cloned());
        }
        let right = self.table_ref(right).map_err(|e| match e.state {
            SqlState::UNDEFINED_TABLE if !sees && e.message.starts_with("invalid reference") => {
                Diagnostic { state: SqlState::INVALID_COLUMN_REFERENCE, ..e }
            }
            _ => e,
        });
        let level = self.level();
        level.visible.truncate(mark.0);
        level.columns.truncate(mark.1);
        let right = right?;
        let rels: Vec<usize> = left.rels.iter().chain(&right.rels).copied().collect();
        let (columns, on) = match on {
            JoinCondition::None => (both(&left, &right), None),
            JoinCondition::On(condition) => {
                let columns = both(&left, &right);
                let level = self.level();
                let outside = std::mem::replace(&mut level.visible, rels.clone());
                let hidden = std::mem::replace(&mut level.columns, columns.clone());
                let bound = self.in_clause("JOIN conditions", |b| b.condition(condition, "JOIN/ON"));
                let level = self.level();
                level.visible = outside;
                level.columns = hidden;
                (columns, Some(bound?))
            }
            JoinCondition::Using(names) => self.using(kind, &left, &right, names)?,
            JoinCondition::Natural => {
                let shared = left.columns.iter().filter(|l| right.columns.iter().any(|r| r.name == l.name));
                let names: Vec<Ident> = shared.map(|c| Ident { name: c.name.clone(), span }).collect();
                self.using(kind, &left, &right, &names)?
            }
        };
        let tree = From::Join { kind, left: Box::new(left.tree), right: Box::new(right.tree), on };
        Ok(Part { tree, rels, columns })
    }

    /// `USING`: the shared columns first, once, then the others.
    fn using(
        &mut self,
        kind: JoinKind,
        left: &Part,
        right: &Part,
        names: &[Ident],
    ) -> Result<(Vec<ScopeColumn>, Option<Expr>)> {
        let (mut merged, mut conditions) = (Vec::new(), Vec::new());
        for name in names {
            let a = shared_column(&left.columns, name, "left")?;
            let b = shared_column(&right.columns, name, "right")?;
            conditions.push(self.equal((a.clone(), name.span), (b.clone(), name.span), name.span)?);
            let ty = common_type(&[a.ty, b.ty]).unwrap_or(a.ty);
            let expr = match kind {
                JoinKind::Full => {
                    let (list, ty) = self.unify("JOIN/USING", vec![(a, name.span), (b, name.span)])?;
                    Expr { kind: ExprKind::Coalesce(list), ty }
                }
                JoinKind::Right => cast(b, ty, false),
                _ => cast(a, ty, false),
            };
            merged.push(ScopeColumn { name: name.name.clone(), expr });
        }
        let is_shared = |c: &&ScopeColumn| !names.iter().any(|n| n.name == c.name);
        merged.extend(left.columns.iter().chain(&right.columns).filter(is_shared).cloned());
        let on = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expr { kind: ExprKind::And(conditions), ty: Type::Bool }),
        };
        Ok((merged, on))
    }

    /// `FOR UPDATE` and its kin: which relations' rows they lock.
    pub(super) fn locking(
        &mut self,
        query: &ast::Query,
        select: &ast::Select,
        is_grouped: bool,
        from: Option<&From>,
    ) -> Result<Vec<RowLocking>> {
        let obstacle = if select.distinct || !select.distinct_on.is_empty() {
            Some("DISTINCT clause")
        } else if !select.group_by.is_empty() {
            Some("GROUP BY clause")
        } else if select.having.is_some() {
            Some("HAVING clause")
        } else if is_grouped {
            Some("aggregate functions")
        } else if self.level().windowed > 0 {
            Some("window functions")
        } else if !self.level().expansions.is_empty() {
            Some("set-returning functions in the target list")
        } else {
            None
        };
        if let Some(obstacle) = obstacle {
            self.no_locking(query, &format!("FOR_ is not allowed with {obstacle}"))?;
        }
        let mut nullable = Vec::new();
        if let Some(from) = from {
            nullable_rels(from, false, &mut nullable);
        }
        query.locking.iter().map(|locking| self.lock_rels(locking, &nullable)).collect()
    }

    fn lock_rels(&mut self, locking: &ast::Locking, nullable: &[usize]) -> Result<RowLocking> {
        let shown = lock_name(locking.strength);
        let mut wanted = Vec::new();
        for name in &locking.of {
            let level = self.level();
            let Some(rel) = level.rels.iter().position(|r| r.alias == name.name) else {
                let message = format!("relation \"{}\" in {shown} clause not found in FROM clause", name.name);
                return Err(Diagnostic::new(name.span, SqlState::UNDEFINED_TABLE, message));
            };
            let obstacle = match &level.rels[rel].source {
                _ if level.with_rels.contains(&rel) => Some("a WITH query"),
                RelSource::Function(..) | RelSource::Routine(..) | RelSource::RowsFrom { .. } => Some("a function"),
                _ => None,
            };
            if let Some(obstacle) = obstacle {
                let message = format!("{shown} cannot be applied to {obstacle}");
                return Err(Diagnostic::new(name.span, SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            wanted.push(rel);
        }
        let level = self.level();
        if locking.of.is_empty() {
            wanted = (0..level.rels.len()).filter(|rel| !level.with_rels.contains(rel)).collect();
        }
        let mut rels = Vec::new();
        for rel in wanted {
            let locks = match &mut level.rels[rel].source {
                RelSource::Table(_) => {
                    rels.push(rel);
                    true
                }
                RelSource::Query { query, .. } => lock_all(query, locking)?,
                _ => false,
            };
            if locks && nullable.contains(&rel) {
                let message = format!("{shown} cannot be applied to the nullable side of an outer join");
                return Err(Diagnostic::new(locking.span, SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        Ok(RowLocking { rels, strength: locking.strength, wait: locking.wait })
    }

    /// Refuses FOR UPDATE where it cannot be; `FOR_` in the message stands for the clause.
    pub(super) fn no_locking(&self, query: &ast::Query, message: &str) -> Result<()> {
        match query.locking.first() {
            Some(locking) => {
                let message = message.replace("FOR_", lock_name(locking.strength));
                Err(Diagnostic::new(locking.span, SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            None => Ok(()),
        }
    }
}

/// Locks every row a subquery reads, as FOR UPDATE around it does.
fn lock_all(query: &mut Query, locking: &ast::Locking) -> Result<bool> {
    let shown = lock_name(locking.strength);
    let refuse = |obstacle: &str| {
        let message = format!("{shown} is not allowed with {obstacle}");
        Err(Diagnostic::new(locking.span, SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    let select = match &mut query.body {
        QueryBody::Select(select) => select,
        QueryBody::Values(_) => return Ok(false),
        QueryBody::SetOperation { .. } => return refuse("UNION/INTERSECT/EXCEPT"),
    };
    if select.distinct || select.distinct_on > 0 {
        return refuse("DISTINCT clause");
    }
    if !select.windows.is_empty() {
        return refuse("window functions");
    }
    if !select.expansions.is_empty() {
        return refuse("set-returning functions in the target list");
    }
    if let Some(grouping) = &select.grouping {
        return refuse(if grouping.keys.is_empty() { "aggregate functions" } else { "GROUP BY clause" });
    }
    let mut rels = Vec::new();
    for (i, rel) in select.rels.iter_mut().enumerate() {
        match &mut rel.source {
            RelSource::Table(_) => rels.push(i),
            RelSource::Query { query, .. } => drop(lock_all(query, locking)?),
            _ => {}
        }
    }
    let locks = !rels.is_empty();
    if locks {
        query.locking.push(RowLocking { rels, strength: locking.strength, wait: locking.wait });
    }
    Ok(locks)
}

fn lock_name(strength: LockStrength) -> &'static str {
    match strength {
        LockStrength::KeyShare => "FOR KEY SHARE",
        LockStrength::Share => "FOR SHARE",
        LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        LockStrength::Update => "FOR UPDATE",
    }
}

/// Relations that an outer join may fill with NULLs.
fn nullable_rels(from: &From, nullable: bool, rels: &mut Vec<usize>) {
    match from {
        From::Rel(rel) if nullable => rels.push(*rel),
        From::Rel(_) => {}
        From::Join { kind, left, right, .. } => {
            nullable_rels(left, nullable || matches!(kind, JoinKind::Right | JoinKind::Full), rels);
            nullable_rels(right, nullable || matches!(kind, JoinKind::Left | JoinKind::Full), rels);
        }
    }
}

/// A comma: an inner join without condition.
pub(super) fn cross(left: Option<From>, right: From) -> From {
    match left {
        Some(left) => From::Join { kind: JoinKind::Cross, left: Box::new(left), right: Box::new(right), on: None },
        None => right,
    }
}

fn both(left: &Part, right: &Part) -> Vec<ScopeColumn> {
    left.columns.iter().chain(&right.columns).cloned().collect()
}

fn shared_column(columns: &[ScopeColumn], name: &Ident, side: &str) -> Result<Expr> {
    let mut matches = columns.iter().filter(|c| c.name == name.name);
    let Some(found) = matches.next() else {
        let message = format!("column \"{}\" specified in USING clause does not exist in {side} table", name.name);
        let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message);
        error.hint = did_you_mean(&name.name, columns.iter().map(|c| &*c.name));
        return Err(error);
    };
    if matches.next().is_some() {
        let message = format!("common column name \"{}\" appears more than once in {side} table", name.name);
        return Err(Diagnostic::new(name.span, SqlState::AMBIGUOUS_COLUMN, message));
    }
    Ok(found.expr.clone())
}

/// A table as a relation.
pub(super) fn table_rel(table: &Table) -> Rel {
    let columns = table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
    Rel { alias: table.name.clone(), source: RelSource::Table(table.id), columns }
}

pub(super) fn query_rel(query: Query, lateral: bool) -> Rel {
    let columns = query.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
    Rel { alias: "".into(), source: RelSource::Query { query: query.into(), lateral }, columns }
}

/// The columns of a routine in FROM.
pub(super) fn routine_columns(def: &RoutineDef, shown: &Arc<str>) -> Vec<(Arc<str>, Type)> {
    match &def.returns {
        ReturnsDef::Void | ReturnsDef::Trigger => vec![(shown.clone(), Type::Void)],
        ReturnsDef::Value(ty) => vec![(shown.clone(), *ty)],
        ReturnsDef::Row(fields) => fields.clone(),
        // A single column that is named like the function has no name of its own: the alias names it.
        ReturnsDef::Set(columns) => match &columns[..] {
            [(name, ty)] if *name == def.name => vec![(shown.clone(), *ty)],
            _ => columns.clone(),
        },
        ReturnsDef::Outs => {
            let outs: Vec<_> = def.outs().map(|p| (p.name.clone(), p.ty)).collect();
            match &outs[..] {
                [(name, ty)] => vec![(if *shown == def.name { name.clone() } else { shown.clone() }, *ty)],
                _ => outs,
            }
        }
    }
}

pub(super) fn rename(columns: &mut [(Arc<str>, Type)], names: &[Ident], table: &str, span: Span) -> Result<()> {
    if names.len() > columns.len() {
        let (has, given) = (columns.len(), names.len());
        let message = format!("table \"{table}\" has {has} columns available but {given} columns specified");
        return Err(Diagnostic::new(span, SqlState::INVALID_COLUMN_REFERENCE, message));
    }
    columns.iter_mut().zip(names).for_each(|((name, _), new)| *name = new.name.clone());
    Ok(())
}
