//! INSERT, UPDATE and DELETE.

use super::expr::constant;
use super::from::{cross, table_rel};
use super::hint::did_you_mean;
use super::scope::{ScopeColumn, ambiguous};
use super::updatable::{Target, Through, Verb};
use super::{Binder, Result};
use crate::ast::{self, Ident, InsertSource, Overriding, SelectItem};
use crate::catalog::{Column, Identity, Table};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{
    ConflictUpdate, Delete, Expr, ExprKind, From, Insert, OnConflict, OutputColumn, Query, QueryBody, Returning,
    Select, Update,
};
use crate::types::Type;
use crate::value::Value;

/// `GENERATED ALWAYS` columns take nothing but DEFAULT.
const GENERATED_ALWAYS: SqlState = SqlState(*b"428C9");

impl Binder<'_> {
    /// `INSERT`
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let (before, with) = self.push_with(&insert.with)?;
        let Target { table, view } = self.write_target(&insert.table, Verb::Insert)?;
        let columns = match &view {
            None => insert.columns.clone(),
            Some(through) => self.through_columns(through, table, insert)?,
        };
        let mut targets = self.targets(table, &columns)?;
        let listed = !columns.is_empty();
        let bound = match &insert.source {
            InsertSource::DefaultValues => Ok((rows(Vec::new(), vec![Vec::new()]), Vec::new())),
            InsertSource::Query(query) => self.inside(|b| match plain_values(query) {
                Some(rows) => b.insert_rows(table, &mut targets, listed, rows, insert.overriding),
                None => b.insert_query(table, &mut targets, listed, query, insert.overriding),
            }),
        };
        let (source, mut values) = bound?;
        if matches!(insert.source, InsertSource::DefaultValues) {
            targets.clear();
        }
        let all = table.columns.iter().enumerate().map(|(i, column)| match targets.iter().position(|t| *t == i) {
            Some(k) => std::mem::replace(&mut values[k], default_of(column)),
            None => default_of(column),
        });
        let values = all.collect();
        let alias = insert.alias.as_ref();
        let on_conflict = insert.on_conflict.as_ref().map(|c| self.on_conflict(table, &view, alias, c)).transpose()?;
        let returning = match insert.returning.is_empty() {
            true => None,
            false => {
                let bind = |b: &mut Self| {
                    b.target_through(table, &view, alias)?;
                    b.returning(&insert.returning)
                };
                let mut returning = self.in_level(bind)?.0;
                if let (Some(through), Some(returning)) = (&view, &mut returning) {
                    returning.exprs.iter_mut().for_each(|e| through.rewrite(e, 0, 1));
                }
                returning
            }
        };
        self.with.truncate(before);
        let view_checks = view.map_or_else(Vec::new, |through| through.checks(self.catalog));
        Ok(Insert { with, table: table.id, source, values, on_conflict, returning, verb: "INSERT", view_checks })
    }

    /// The table's columns that an INSERT into a view is about.
    fn through_columns(&self, through: &Through<'_>, table: &Table, insert: &ast::Insert) -> Result<Vec<Ident>> {
        if !insert.columns.is_empty() {
            return insert.columns.iter().map(|name| through.column(table, name, Verb::Insert)).collect();
        }
        let width = match &insert.source {
            InsertSource::DefaultValues => 0,
            InsertSource::Query(query) => {
                plain_values(query).and_then(|rows| rows.first()).map_or(usize::MAX, Vec::len)
            }
        };
        let span = insert.table.name.span;
        let names = through.view.columns.iter().take(width).map(|(name, _)| Ident { name: name.clone(), span });
        names.map(|name| through.column(table, &name, Verb::Insert)).collect()
    }

    /// Puts the target in front of FROM, under the view's names if it is written through one.
    fn target_through(&mut self, table: &Table, view: &Option<Through<'_>>, alias: Option<&Ident>) -> Result<From> {
        let Some(through) = view else { return self.target(table, alias) };
        let from = self
            .target(table, Some(alias.unwrap_or(&Ident { name: through.view.name.clone(), span: Span::default() })))?;
        let level = self.level();
        if let Some(rel) = level.rels.last_mut() {
            rel.columns = through.view.columns.clone();
        }
        let rel = (level.rels.len() - 1) as u16;
        level.columns.truncate(level.columns.len() - table.columns.len());
        level.columns.extend(through.view.columns.iter().enumerate().map(|(col, (name, ty))| ScopeColumn {
            name: name.clone(),
            expr: Expr { kind: ExprKind::Column { depth: 0, rel, col: col as u16 }, ty: *ty },
        }));
        Ok(from)
    }

    pub(super) fn targets(&self, table: &Table, columns: &[Ident]) -> Result<Vec<usize>> {
        if columns.is_empty() {
            return Ok((0..table.columns.len()).collect());
        }
        let mut targets = Vec::new();
        for name in columns {
            let column = self.column_of(table, name)?;
            if targets.contains(&column) {
                let message = format!("column \"{}\" specified more than once", name.name);
                return Err(Diagnostic::new(name.span, SqlState::DUPLICATE_COLUMN, message));
            }
            targets.push(column);
        }
        Ok(targets)
    }

    /// A column by its name.
    pub(super) fn column_of(&self, table: &Table, name: &Ident) -> Result<usize> {
        table.column(&name.name).ok_or_else(|| {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.name, table.name);
            let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message);
            error.hint = did_you_mean(&name.name, table.columns.iter().map(|c| &*c.name));
            error
        })
    }

    /// `VALUES`: each expression is converted to its column's type by itself, and may be DEFAULT.
    fn insert_rows(
        &mut self,
        table: &Table,
        targets: &mut Vec<usize>,
        listed: bool,
        lists: &[Vec<ast::Expr>],
        overriding: Option<Overriding>,
    ) -> Result<(Query, Vec<Expr>)> {
        let width = lists.first().map_or(0, Vec::len);
        let span = lists.first().and_then(|row| row.last()).map_or(Span::default(), |e| e.span);
        fit_targets(targets, width, listed, span)?;
        let (bound, _) = self.in_level(|b| {
            lists.iter().map(|row| b.insert_row(table, targets, row, overriding)).collect::<Result<Vec<Vec<Expr>>>>()
        })?;
        let columns = (0..width).map(|i| OutputColumn {
            name: format!("column{}", i + 1).into(),
            ty: table.columns[targets[i]].ty,
            origin: None,
        });
        let source = rows(columns.collect(), bound);
        let values = source.columns.iter().enumerate().map(|(i, c)| source_column(i, c.ty)).collect();
        Ok((source, values))
    }

    pub(super) fn insert_row(
        &mut self,
        table: &Table,
        targets: &[usize],
        row: &[ast::Expr],
        overriding: Option<Overriding>,
    ) -> Result<Vec<Expr>> {
        if row.len() != targets.len() {
            let span = row.first().map_or(Span::default(), |e| e.span);
            return Err(Diagnostic::syntax(span, "VALUES lists must all be the same length"));
        }
        row.iter().zip(targets).map(|(expr, &t)| self.stored(expr, &table.columns[t], "VALUES", overriding)).collect()
    }

    /// A value for a column, or its default.
    fn stored(
        &mut self,
        expr: &ast::Expr,
        column: &Column,
        clause: &'static str,
        overriding: Option<Overriding>,
    ) -> Result<Expr> {
        if matches!(expr.kind, ast::ExprKind::Default) {
            return Ok(default_of(column));
        }
        if overriding == Some(Overriding::User) && is_identity(column) {
            return Ok(default_of(column));
        }
        if column.generated.is_some() || column.identity == Some(Identity::Always) && overriding.is_none() {
            return Err(match clause {
                "VALUES" => not_default(column, expr.span),
                _ => {
                    let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
                    Diagnostic::new(expr.span, GENERATED_ALWAYS, message).detail(why_generated(column))
                }
            });
        }
        let bound = self.in_clause(clause, |b| b.expr(expr))?;
        self.for_column(bound, &column.name, column.ty, expr.span)
    }

    fn insert_query(
        &mut self,
        table: &Table,
        targets: &mut Vec<usize>,
        listed: bool,
        query: &ast::Query,
        overriding: Option<Overriding>,
    ) -> Result<(Query, Vec<Expr>)> {
        let mut source = self.query_open(query)?;
        fit_targets(targets, source.columns.len(), listed, query.span)?;
        let mut values = Vec::new();
        for (i, &target) in targets.iter().enumerate() {
            let column = &table.columns[target];
            if overriding == Some(Overriding::User) && is_identity(column) {
                values.push(default_of(column));
                continue;
            }
            let always = column.identity == Some(Identity::Always);
            if column.generated.is_some() || always && overriding.is_none() {
                return Err(not_default(column, query.span));
            }
            if source.columns[i].ty == Type::Unknown {
                self.convert_column(&mut source, i, column.ty, query.span)?;
            }
            let value = source_column(i, source.columns[i].ty);
            values.push(self.for_column(value, &column.name, column.ty, query.span)?);
        }
        Ok((source, values))
    }

    fn on_conflict(
        &mut self,
        table: &Table,
        view: &Option<Through<'_>>,
        alias: Option<&Ident>,
        conflict: &ast::OnConflict,
    ) -> Result<OnConflict> {
        let arbiters = match &conflict.target {
            None if conflict.update.is_some() => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(Diagnostic::syntax(conflict.span, message).hint("For example, ON CONFLICT (column_name)."));
            }
            None => unique_indexes(table).collect(),
            Some(ast::ConflictTarget::Columns(names)) => match view {
                None => self.infer_arbiters(table, names, conflict.span)?,
                Some(through) => {
                    let named = names.iter().map(|n| through.column(table, n, Verb::Insert));
                    self.infer_arbiters(table, &named.collect::<Result<Vec<_>>>()?, conflict.span)?
                }
            },
            Some(ast::ConflictTarget::Index { keys, filter }) => {
                self.infer_special(table, keys, filter.as_ref(), conflict.span)?
            }
            Some(ast::ConflictTarget::Constraint(name)) => {
                let found = unique_indexes(table).find(|i| table.indexes[*i].name == name.name);
                vec![found.ok_or_else(|| {
                    let message = format!("constraint \"{}\" for table \"{}\" does not exist", name.name, table.name);
                    let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_OBJECT, message);
                    error.hint = did_you_mean(&name.name, table.indexes.iter().map(|i| &*i.name));
                    error
                })?]
            }
        };
        let Some(update) = &conflict.update else { return Ok(OnConflict { arbiters, update: None }) };
        let (mut update, _) = self.in_level(|b| {
            b.target_through(table, view, alias)?;
            let mut excluded = table_rel(table);
            if let Some(through) = view {
                excluded.columns = through.view.columns.clone();
            }
            let excluded = b.add_rel("excluded".into(), excluded, conflict.span)?;
            b.show(excluded);
            let set = b.assignments(table, view, &update.set)?;
            let filter = update.filter.as_ref();
            let filter = filter.map(|f| b.in_clause("WHERE", |b| b.condition(f, "WHERE"))).transpose()?;
            Ok(ConflictUpdate { set, filter })
        })?;
        if let Some(through) = view {
            update.set.iter_mut().for_each(|(_, e)| through.rewrite(e, 0, 2));
            update.filter.iter_mut().for_each(|e| through.rewrite(e, 0, 2));
        }
        Ok(OnConflict { arbiters, update: Some(update) })
    }

    fn infer_arbiters(&self, table: &Table, names: &[Ident], span: Span) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        for name in names {
            // PostgreSQL parses these as expressions, so PL/pgSQL variables get in their way.
            if !self.frame.columns_win && self.frame.lookup(std::slice::from_ref(name)).is_some() {
                return Err(ambiguous(&name.name, name.span)
                    .hint("It could refer to either a PL/pgSQL variable or a table column."));
            }
            let column = table.column(&name.name).ok_or_else(|| {
                let message = format!("column \"{}\" does not exist", name.name);
                let mut error = Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message);
                error.hint = did_you_mean(&name.name, table.columns.iter().map(|c| &*c.name));
                error
            })?;
            columns.push(column);
        }
        let same =
            |index: &[usize]| index.iter().all(|c| columns.contains(c)) && columns.iter().all(|c| index.contains(c));
        let found: Vec<usize> = unique_indexes(table)
            .filter(|i| table.indexes[*i].is_plain() && same(&table.indexes[*i].columns))
            .collect();
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(Diagnostic::new(span, SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }

    /// `SET column = value, ...`
    pub(super) fn assignments(
        &mut self,
        table: &Table,
        view: &Option<Through<'_>>,
        set: &[ast::Assignment],
    ) -> Result<Vec<(usize, Expr)>> {
        let mut bound: Vec<(usize, Expr)> = Vec::new();
        for (at, assignment) in set.iter().enumerate() {
            if let ast::ExprKind::SubqueryColumn(query, 0) = &assignment.value.kind {
                self.fit_row(query, &set[at..])?;
            }
            let name = &match view {
                None => assignment.column.clone(),
                Some(through) => through.column(table, &assignment.column, Verb::Update)?,
            };
            let column = self.column_of(table, name)?;
            if !assignment.subscripts.is_empty() {
                self.assign_part(table, column, assignment, &mut bound)?;
                continue;
            }
            if bound.iter().any(|(c, _)| *c == column) {
                let message = format!("multiple assignments to same column \"{}\"", name.name);
                return Err(Diagnostic::syntax(name.span, message));
            }
            bound.push((column, self.stored(&assignment.value, &table.columns[column], "UPDATE", None)?));
        }
        Ok(bound)
    }

    /// `(a, b) = (SELECT ...)`: the query has a column for each.
    fn fit_row(&mut self, query: &ast::Query, set: &[ast::Assignment]) -> Result<()> {
        let belongs =
            |(i, a): &(usize, &ast::Assignment)| matches!(a.value.kind, ast::ExprKind::SubqueryColumn(_, n) if n == *i);
        let wanted = set.iter().enumerate().take_while(belongs).count();
        if self.query(query)?.columns.len() != wanted {
            return Err(Diagnostic::syntax(query.span, "number of columns does not match number of values"));
        }
        Ok(())
    }

    /// `SET column[1] = value`; another part of the same column may already have been assigned.
    fn assign_part(
        &mut self,
        table: &Table,
        column: usize,
        assignment: &ast::Assignment,
        bound: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        let span = assignment.column.span;
        let earlier = bound.iter().position(|(c, _)| *c == column).map(|at| bound.remove(at).1);
        let ty = table.columns[column].ty;
        let whole = earlier.unwrap_or(Expr { kind: ExprKind::Column { depth: 0, rel: 0, col: column as u16 }, ty });
        let value = (self.expr(&assignment.value)?, assignment.value.span);
        let plain = self.plain(whole);
        let changed = self.assigned_subscript(plain, &assignment.subscripts, value, span)?;
        bound.push((column, self.for_column(changed, &table.columns[column].name, ty, span)?));
        Ok(())
    }

    /// `UPDATE`
    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Update> {
        let (before, with) = self.push_with(&update.with)?;
        let Target { table, view } = self.write_target(&update.table, Verb::Update)?;
        let bind = |b: &mut Self| {
            let target = b.target_through(table, &view, update.alias.as_ref())?;
            let from = b.from(&update.from)?;
            let set = b.assignments(table, &view, &update.set)?;
            let filter = update.filter.as_ref();
            let filter = filter.map(|f| b.in_clause("WHERE", |b| b.condition(f, "WHERE"))).transpose()?;
            let returning = b.returning(&update.returning)?;
            Ok((target, from, set, filter, returning))
        };
        let ((target, from, mut set, filter, mut returning), level) = self.in_level(bind)?;
        self.with.truncate(before);
        let mut select = bare_select(level.rels, target, from, filter);
        self.show_rows(&update.table, table, &mut select);
        let mut view_checks = Vec::new();
        if let Some(through) = &view {
            through.rewrite_select(&mut select, table);
            set.iter_mut().for_each(|(_, e)| through.rewrite(e, 0, 1));
            returning.iter_mut().flat_map(|r| &mut r.exprs).for_each(|e| through.rewrite(e, 0, 1));
            view_checks = through.checks(self.catalog);
        }
        Ok(Update { with, table: table.id, select, set, returning, view_checks })
    }

    /// `DELETE`
    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let (before, with) = self.push_with(&delete.with)?;
        let Target { table, view } = self.write_target(&delete.table, Verb::Delete)?;
        let bind = |b: &mut Self| {
            let target = b.target_through(table, &view, delete.alias.as_ref())?;
            let from = b.from(&delete.using)?;
            let filter = delete.filter.as_ref();
            let filter = filter.map(|f| b.in_clause("WHERE", |b| b.condition(f, "WHERE"))).transpose()?;
            let returning = b.returning(&delete.returning)?;
            Ok((target, from, filter, returning))
        };
        let ((target, from, filter, mut returning), level) = self.in_level(bind)?;
        self.with.truncate(before);
        let mut select = bare_select(level.rels, target, from, filter);
        self.show_rows(&delete.table, table, &mut select);
        if let Some(through) = &view {
            through.rewrite_select(&mut select, table);
            returning.iter_mut().flat_map(|r| &mut r.exprs).for_each(|e| through.rewrite(e, 0, 1));
        }
        Ok(Delete { with, table: table.id, select, returning })
    }

    fn returning(&mut self, items: &[SelectItem]) -> Result<Option<Returning>> {
        if items.is_empty() {
            return Ok(None);
        }
        let items = self.in_clause("RETURNING", |b| b.items(items))?;
        let (columns, exprs) = items
            .into_iter()
            .map(|item| {
                let expr = self.settled(item.expr);
                (OutputColumn { ty: expr.ty, ..item.column }, expr)
            })
            .unzip();
        Ok(Some(Returning { columns, exprs }))
    }
}

fn bare_select(rels: Vec<crate::typed::Rel>, target: From, from: Option<From>, filter: Option<Expr>) -> Select {
    let from = match from {
        Some(others) => cross(Some(target), others),
        None => target,
    };
    Select { rels, from: Some(from), filter, ..Select::bare(Vec::new()) }
}

/// The lists of an INSERT's VALUES, when nothing but them is there.
fn plain_values(query: &ast::Query) -> Option<&[Vec<ast::Expr>]> {
    let bare = query.with.is_empty() && query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none();
    match &query.body {
        // `r.*` is as many values as the row has fields.
        ast::QueryBody::Values(rows) if rows.iter().flatten().any(|e| matches!(e.kind, ast::ExprKind::WholeRow(_))) => {
            None
        }
        ast::QueryBody::Values(rows) if bare && query.locking.is_empty() => Some(rows),
        _ => None,
    }
}

/// Without a column list, fewer values than columns leave the last ones to their defaults.
pub(super) fn fit_targets(targets: &mut Vec<usize>, width: usize, listed: bool, span: Span) -> Result<()> {
    if width > targets.len() {
        return Err(Diagnostic::syntax(span, "INSERT has more expressions than target columns"));
    }
    if width < targets.len() && listed {
        return Err(Diagnostic::syntax(span, "INSERT has more target columns than expressions"));
    }
    targets.truncate(width);
    Ok(())
}

fn rows(columns: Vec<OutputColumn>, rows: Vec<Vec<Expr>>) -> Query {
    Query::of(columns, QueryBody::Values(rows))
}

fn source_column(col: usize, ty: Type) -> Expr {
    Expr { kind: ExprKind::Column { depth: 0, rel: 0, col: col as u16 }, ty }
}

pub(super) fn default_of(column: &Column) -> Expr {
    column.default.clone().unwrap_or_else(|| constant(Value::Null, column.ty))
}

fn not_default(column: &Column, span: Span) -> Diagnostic {
    let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
    let error = Diagnostic::new(span, GENERATED_ALWAYS, message).detail(why_generated(column));
    match column.generated {
        Some(_) => error,
        None => error.hint("Use OVERRIDING SYSTEM VALUE to override."),
    }
}

fn why_generated(column: &Column) -> String {
    match column.generated {
        Some(_) => format!("Column \"{}\" is a generated column.", column.name),
        None => format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name),
    }
}

fn unique_indexes(table: &Table) -> impl Iterator<Item = usize> + '_ {
    table.indexes.iter().enumerate().filter(|(_, index)| index.unique).map(|(i, _)| i)
}

/// A column whose values come from a sequence of its own.
fn is_identity(column: &Column) -> bool {
    column.identity.is_some()
}
