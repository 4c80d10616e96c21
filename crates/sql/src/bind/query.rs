//! Queries: SELECT, VALUES and set operations, with what follows them.

use std::sync::Arc;

use super::coerce::{common_type, no_match};
use super::names::output_name;
use super::scope::ScopeColumn;
use super::window::window_exprs;
use super::{Binder, Result};
use crate::ast::{self, Ident, SelectItem, SetOperator};
use crate::catalog::TableId;
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expansion, Expr, ExprKind, OrderKey, OutputColumn, Query, QueryBody, RelSource, Select};
use crate::types::{CastLevel, Type};

/// An element of a select list, with its name.
pub(super) struct Item {
    pub expr: Expr,
    pub column: OutputColumn,
}

/// What stands behind a query's body.
struct Tail {
    order_by: Vec<OrderKey>,
    limit: Option<Expr>,
    with_ties: bool,
    offset: Option<Expr>,
}

impl Tail {
    fn finish(self, query: &mut Query) {
        query.order_by = self.order_by;
        query.limit = self.limit;
        query.with_ties = self.with_ties;
        query.offset = self.offset;
    }
}

impl Binder<'_> {
    /// A query; literals in its output that nothing typed are text.
    pub(super) fn query(&mut self, query: &ast::Query) -> Result<Query> {
        self.query_with(query, true)
    }

    /// A query whose untyped literals may still take the type of where they go to.
    pub(super) fn query_open(&mut self, query: &ast::Query) -> Result<Query> {
        self.query_with(query, false)
    }

    fn query_with(&mut self, query: &ast::Query, settle: bool) -> Result<Query> {
        let (before, with) = self.push_with(&query.with)?;
        let (mut bound, _) = self.in_level(|b| match &query.body {
            ast::QueryBody::Select(select) => b.select(query, select, settle),
            ast::QueryBody::Values(rows) => b.values(query, rows, settle),
            ast::QueryBody::SetOperation { op, all, left, right } => {
                b.set_operation(query, *op, *all, left, right, settle)
            }
        })?;
        self.with.truncate(before);
        bound.with = with;
        Ok(bound)
    }

    fn select(&mut self, query: &ast::Query, select: &ast::Select, settle: bool) -> Result<Query> {
        let from = self.from(&select.from)?;
        self.level().uses.clear();
        self.define_windows(&select.windows)?;
        let mut items = self.items(&select.items)?;
        let mark = self.level().uses.len();
        let filter = select.filter.as_ref();
        let filter = filter.map(|f| self.in_clause("WHERE", |b| b.condition(f, "WHERE"))).transpose()?;
        self.level().uses.truncate(mark);
        if settle {
            items.iter_mut().for_each(|item| self.settle(item));
        }
        let sets = self.grouping_sets(select, &items)?;
        let having = select.having.as_ref();
        let mut having = having.map(|h| self.windowless("HAVING", |b| b.condition(h, "HAVING"))).transpose()?;
        let mut tail = self.tail(query, &items)?;
        if select.distinct {
            check_distinct(query, &tail.order_by)?;
        }
        let distinct_on = self.distinct_on(query, select, &items, &mut tail.order_by)?;
        let level = self.level();
        let is_grouped =
            !select.group_by.is_empty() || having.is_some() || !level.calls.is_empty() || !level.masks.is_empty();
        let mut locking = self.locking(query, select, is_grouped, from.as_ref())?;
        let windows = std::mem::take(&mut self.level().windows);
        let mut windows = self.arrange_windows(windows, &tail.order_by);
        let mut expansions = std::mem::take(&mut self.level().expansions);
        let grouping = match is_grouped {
            true => {
                let mut exprs: Vec<&mut Expr> = items.iter_mut().map(|i| &mut i.expr).chain(&mut having).collect();
                exprs.extend(tail.order_by.iter_mut().map(|k| &mut k.expr));
                exprs.extend(window_exprs(&mut windows));
                for expansion in &mut expansions {
                    let (Expansion::Function(_, args) | Expansion::Routine(_, args)) = expansion;
                    exprs.extend(args.iter_mut());
                }
                let mut grouping = self.group(sets, exprs)?;
                grouping.having = having;
                Some(grouping)
            }
            false => None,
        };
        let level = self.level();
        let rels = std::mem::take(&mut level.rels);
        locking.retain(|l| !l.rels.is_empty());
        let (columns, projection) = items.into_iter().map(|i| (i.column, i.expr)).unzip();
        let distinct = select.distinct;
        let select = Select { rels, from, filter, grouping, windows, expansions, projection, distinct, distinct_on };
        let body = QueryBody::Select(Box::new(select));
        let mut bound = Query::of(columns, body);
        bound.locking = locking;
        tail.finish(&mut bound);
        Ok(bound)
    }

    /// `DISTINCT ON`: its expressions are the first sort keys, or become some.
    fn distinct_on(
        &mut self,
        query: &ast::Query,
        select: &ast::Select,
        items: &[Item],
        order_by: &mut Vec<OrderKey>,
    ) -> Result<usize> {
        let mut keys: Vec<Expr> = Vec::new();
        for on in &select.distinct_on {
            let expr = self.sort_expr_of(on, items, "DISTINCT ON")?;
            if !keys.iter().any(|k| k.same_as(&expr)) {
                keys.push(expr);
            }
        }
        for (i, key) in order_by.iter().enumerate().take(keys.len()) {
            if !keys.iter().any(|k| k.same_as(&key.expr)) {
                let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                let span = query.order_by.get(i).map_or(query.span, |k| k.expr.span);
                return Err(Diagnostic::new(span, SqlState::INVALID_COLUMN_REFERENCE, message));
            }
        }
        for key in &keys {
            if !order_by.iter().any(|k| k.expr.same_as(key)) {
                order_by.push(OrderKey { expr: key.clone(), descending: false, nulls_first: false });
            }
        }
        Ok(keys.len())
    }

    fn settle(&self, item: &mut Item) {
        if item.expr.ty == Type::Unknown {
            item.expr.ty = Type::Text;
            item.column.ty = Type::Text;
        }
    }

    /// A select list or RETURNING, `*` expanded.
    pub(super) fn items(&mut self, items: &[SelectItem]) -> Result<Vec<Item>> {
        let mut all = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(span) => {
                    if self.level().columns.is_empty() && self.level().rels.is_empty() {
                        return Err(Diagnostic::syntax(*span, "SELECT * with no tables specified is not valid"));
                    }
                    for column in self.level().columns.clone() {
                        all.push(self.item(column.expr, column.name));
                    }
                }
                SelectItem::QualifiedWildcard(alias) => all.extend(self.all_of(alias)?),
                SelectItem::Expr { expr, alias } => {
                    if let (ast::ExprKind::WholeRow(row), None) = (&expr.kind, alias) {
                        all.extend(self.all_of(row)?);
                        continue;
                    }
                    let bound = self.expr(expr)?;
                    let name = alias.as_ref().map_or_else(|| output_name(expr), |a| a.name.clone());
                    all.push(self.item(bound, name));
                }
            }
        }
        Ok(all)
    }

    /// Expressions; `r.*` among them stands for the fields of a row.
    pub(super) fn spread_operands(&mut self, exprs: &[ast::Expr]) -> Result<Vec<(Expr, Span)>> {
        let mut operands = Vec::new();
        for expr in exprs {
            match &expr.kind {
                ast::ExprKind::WholeRow(row) => {
                    let items = self.all_of(row)?;
                    operands.extend(items.into_iter().map(|item| (item.expr, expr.span)));
                }
                _ => operands.push((self.expr(expr)?, expr.span)),
            }
        }
        Ok(operands)
    }

    /// `t.*`, or the fields of a row variable.
    fn all_of(&mut self, alias: &Ident) -> Result<Vec<Item>> {
        let rel = match self.visible_rel(alias) {
            Ok(rel) => rel,
            Err(error) => return self.all_fields_of(alias).ok_or(error),
        };
        let columns = self.level().rels[rel].columns.clone();
        let numbered = columns.into_iter().enumerate();
        Ok(numbered
            .map(|(col, (name, ty))| {
                let kind = ExprKind::Column { depth: 0, rel: rel as u16, col: col as u16 };
                self.level().uses.push((rel as u16, col as u16, alias.span));
                self.item(Expr { kind, ty }, name)
            })
            .collect())
    }

    fn all_fields_of(&mut self, alias: &Ident) -> Option<Vec<Item>> {
        let row = self.name(std::slice::from_ref(alias), alias.span).ok().filter(|e| e.ty == Type::Record)?;
        let fields = self.fields_of(&row)?;
        let numbered = fields.iter().enumerate();
        let items = numbered.map(|(i, (name, ty))| {
            let field = Expr { kind: ExprKind::Field(Box::new(row.clone()), i), ty: *ty };
            self.item(field, name.clone())
        });
        Some(items.collect())
    }

    fn item(&self, expr: Expr, name: Arc<str>) -> Item {
        let column = OutputColumn { name, ty: expr.ty, origin: self.origin(&expr) };
        Item { expr, column }
    }

    /// The table column that an expression shows unchanged.
    fn origin(&self, expr: &Expr) -> Option<(TableId, usize)> {
        let ExprKind::Column { depth: 0, rel, col } = expr.kind else { return None };
        match &self.levels.last()?.rels.get(rel as usize)?.source {
            RelSource::Table(id) => Some((*id, col as usize)),
            RelSource::Query { query, .. } => query.columns.get(col as usize)?.origin,
            RelSource::With { depth, index } => self.with_origin(*depth, *index, col as usize),
            _ => None,
        }
    }

    /// One key of GROUP BY.
    pub(super) fn group_key(&mut self, key: &ast::Expr, items: &[Item]) -> Result<Expr> {
        let mark = self.level().uses.len();
        let expr = match self.group_item(key, items)? {
            Some(item) => {
                let (mut aggregated, mut windowed) = (false, false);
                item.walk(0, &mut |e, d| {
                    aggregated |= matches!(e.kind, ExprKind::Aggregated { depth, .. } if depth == d);
                    windowed |= matches!(e.kind, ExprKind::Windowed(_)) && d == 0;
                });
                if aggregated {
                    let message = "aggregate functions are not allowed in GROUP BY";
                    return Err(Diagnostic::new(key.span, SqlState::GROUPING_ERROR, message));
                }
                if windowed {
                    let message = "window functions are not allowed in GROUP BY";
                    return Err(Diagnostic::new(key.span, SqlState(*b"42P20"), message));
                }
                item
            }
            None => self.in_clause("GROUP BY", |b| b.value(key))?,
        };
        self.level().uses.truncate(mark);
        Ok(expr)
    }

    /// `GROUP BY 1`, or the name of an output column that is not also that of an input column.
    fn group_item(&mut self, key: &ast::Expr, items: &[Item]) -> Result<Option<Expr>> {
        match &key.kind {
            ast::ExprKind::Integer(n) => Ok(Some(items[position(*n, items.len(), "GROUP BY", key.span)?].expr.clone())),
            ast::ExprKind::Name(path) if path.len() == 1 => {
                let is_input = self.level().columns.iter().any(|c| c.name == path[0].name);
                match is_input {
                    true => Ok(None),
                    false => Ok(named(&path[0], items, "GROUP BY")?.map(|i| items[i].expr.clone())),
                }
            }
            _ => Ok(None),
        }
    }

    fn tail(&mut self, query: &ast::Query, items: &[Item]) -> Result<Tail> {
        let mut order_by = Vec::new();
        for key in &query.order_by {
            let expr = self.sort_expr(&key.expr, items)?;
            order_by.push(order_key(key, expr));
        }
        let limit = query.limit.as_ref().map(|e| self.row_count(e, "LIMIT")).transpose()?;
        let offset = query.offset.as_ref().map(|e| self.row_count(e, "OFFSET")).transpose()?;
        if query.with_ties && order_by.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(Diagnostic::syntax(query.span, message));
        }
        if query.with_ties && query.locking.iter().any(|l| l.wait == ast::LockWait::SkipLocked) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(Diagnostic::syntax(query.span, message));
        }
        Ok(Tail { order_by, limit, with_ties: query.with_ties, offset })
    }

    fn sort_expr(&mut self, key: &ast::Expr, items: &[Item]) -> Result<Expr> {
        self.sort_expr_of(key, items, "ORDER BY")
    }

    fn sort_expr_of(&mut self, key: &ast::Expr, items: &[Item], clause: &str) -> Result<Expr> {
        let output = match &key.kind {
            ast::ExprKind::Integer(n) => Some(position(*n, items.len(), clause, key.span)?),
            ast::ExprKind::Decimal(_) | ast::ExprKind::String(_) | ast::ExprKind::Null | ast::ExprKind::Bool(_) => {
                return Err(Diagnostic::syntax(key.span, format!("non-integer constant in {clause}")));
            }
            ast::ExprKind::Name(path) if path.len() == 1 => named(&path[0], items, clause)?,
            _ => None,
        };
        if let Some(i) = output {
            return Ok(Expr { kind: ExprKind::Output(i), ty: items[i].expr.ty });
        }
        let expr = self.value(key)?;
        match items.iter().position(|item| item.expr.same_as(&expr)) {
            Some(i) => Ok(Expr { kind: ExprKind::Output(i), ty: expr.ty }),
            None => Ok(expr),
        }
    }

    /// `LIMIT` and `OFFSET`: a bigint that depends on no row.
    fn row_count(&mut self, expr: &ast::Expr, clause: &'static str) -> Result<Expr> {
        let bound = self.in_clause(clause, |b| b.expr(expr))?;
        let mut has_columns = false;
        bound.walk(0, &mut |e, d| {
            has_columns |=
                matches!(e.kind, ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } if depth == d);
        });
        let from = bound.ty;
        let Some(count) = self.convert(bound, Type::Int8, CastLevel::Assignment, expr.span)? else {
            let message = format!("argument of {clause} must be type bigint, not type {}", from.base());
            return Err(Diagnostic::new(expr.span, SqlState::DATATYPE_MISMATCH, message));
        };
        if has_columns {
            let message = format!("argument of {clause} must not contain variables");
            return Err(Diagnostic::new(expr.span, SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(count)
    }

    fn values(&mut self, query: &ast::Query, rows: &[Vec<ast::Expr>], settle: bool) -> Result<Query> {
        self.no_locking(query, "FOR_ cannot be applied to VALUES")?;
        let mut bound: Vec<Vec<(Expr, Span)>> = Vec::new();
        for row in rows {
            let operands = self.in_clause("VALUES", |b| b.spread_operands(row))?;
            if bound.first().is_some_and(|first| first.len() != operands.len()) {
                let span = row.first().map_or(query.span, |e| e.span);
                return Err(Diagnostic::syntax(span, "VALUES lists must all be the same length"));
            }
            bound.push(operands);
        }
        let width = bound.first().map_or(0, Vec::len);
        let mut rows: Vec<Vec<Expr>> = vec![Vec::new(); bound.len()];
        let mut columns = Vec::new();
        for i in 0..width {
            let operands: Vec<(Expr, Span)> = bound.iter().map(|row| row[i].clone()).collect();
            let open = !settle && operands.iter().all(|(e, _)| e.ty == Type::Unknown);
            let (exprs, ty) = match open {
                true => (operands.into_iter().map(|(e, _)| e).collect(), Type::Unknown),
                false => self.unify("VALUES", operands)?,
            };
            rows.iter_mut().zip(exprs).for_each(|(row, e)| row.push(e));
            columns.push(OutputColumn { name: format!("column{}", i + 1).into(), ty, origin: None });
        }
        self.over_output(query, columns, QueryBody::Values(rows), "VALUES")
    }

    /// Finishes a query whose ORDER BY sees only its output.
    fn over_output(
        &mut self,
        query: &ast::Query,
        columns: Vec<OutputColumn>,
        body: QueryBody,
        what: &str,
    ) -> Result<Query> {
        let items: Vec<Item> = columns
            .iter()
            .enumerate()
            .map(|(i, c)| Item { expr: Expr { kind: ExprKind::Output(i), ty: c.ty }, column: c.clone() })
            .collect();
        // VALUES may be sorted by expressions over its columns; a set operation only by the columns themselves.
        let scope = items.iter().map(|i| ScopeColumn { name: i.column.name.clone(), expr: i.expr.clone() }).collect();
        self.level().columns = if what == "VALUES" { scope } else { Vec::new() };
        let tail = self.tail(query, &items);
        self.level().columns.clear();
        let tail = tail.map_err(|e| match e.state {
            SqlState::UNDEFINED_COLUMN if what != "VALUES" => {
                let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                Diagnostic::new(e.span, SqlState::FEATURE_NOT_SUPPORTED, message)
                    .hint("Only result column names can be used, not expressions or functions.")
            }
            _ => e,
        })?;
        let mut bound = Query::of(columns, body);
        tail.finish(&mut bound);
        Ok(bound)
    }

    fn set_operation(
        &mut self,
        query: &ast::Query,
        op: SetOperator,
        all: bool,
        left: &ast::Query,
        right: &ast::Query,
        settle: bool,
    ) -> Result<Query> {
        for locked in [query, left, right] {
            self.no_locking(locked, "FOR_ is not allowed with UNION/INTERSECT/EXCEPT")?;
        }
        let name = match op {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        };
        let (mut a, mut b) = (self.query_open(left)?, self.query_open(right)?);
        if a.columns.len() != b.columns.len() {
            let message = format!("each {name} query must have the same number of columns");
            return Err(Diagnostic::syntax(right.span, message));
        }
        let mut columns = Vec::new();
        for i in 0..a.columns.len() {
            let (left_ty, right_ty) = (a.columns[i].ty, b.columns[i].ty);
            let open = !settle && left_ty == Type::Unknown && right_ty == Type::Unknown;
            let ty = common_type(&[left_ty, right_ty]).map_err(|(x, y)| no_match(name, x, y, right.span))?;
            let ty = if open { Type::Unknown } else { ty };
            self.convert_column(&mut a, i, ty, left.span)?;
            self.convert_column(&mut b, i, ty, right.span)?;
            let origin = a.columns[i].origin.filter(|o| b.columns[i].origin == Some(*o));
            columns.push(OutputColumn { name: a.columns[i].name.clone(), ty, origin });
        }
        let body = QueryBody::SetOperation { op, all, left: Box::new(a), right: Box::new(b) };
        self.over_output(query, columns, body, name)
    }
}

/// A sort key with PostgreSQL's default for NULLs: they count as the largest.
pub(super) fn order_key(key: &ast::OrderKey, expr: Expr) -> OrderKey {
    OrderKey { expr, descending: key.descending, nulls_first: key.nulls_first.unwrap_or(key.descending) }
}

fn position(n: i64, width: usize, clause: &str, span: Span) -> Result<usize> {
    match usize::try_from(n).ok().and_then(|n| n.checked_sub(1)).filter(|i| *i < width) {
        Some(i) => Ok(i),
        None => {
            let message = format!("{clause} position {n} is not in select list");
            Err(Diagnostic::new(span, SqlState::INVALID_COLUMN_REFERENCE, message))
        }
    }
}

/// The output column with this name.
fn named(name: &Ident, items: &[Item], clause: &str) -> Result<Option<usize>> {
    let mut matches = items.iter().enumerate().filter(|(_, item)| item.column.name == name.name);
    let Some((found, item)) = matches.next() else { return Ok(None) };
    if matches.any(|(_, other)| !other.expr.same_as(&item.expr)) {
        let message = format!("{clause} \"{}\" is ambiguous", name.name);
        return Err(Diagnostic::new(name.span, SqlState::AMBIGUOUS_COLUMN, message));
    }
    Ok(Some(found))
}

fn check_distinct(query: &ast::Query, order_by: &[OrderKey]) -> Result<()> {
    match order_by.iter().position(|k| !matches!(k.expr.kind, ExprKind::Output(_))) {
        Some(i) => {
            let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
            Err(Diagnostic::new(query.order_by[i].expr.span, SqlState::INVALID_COLUMN_REFERENCE, message))
        }
        None => Ok(()),
    }
}
