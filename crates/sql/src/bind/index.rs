//! CREATE INDEX.

use std::sync::Arc;

use super::constraint::Names;
use super::ddl::is_mutable;
use super::hint::did_you_mean;
use super::{Binder, Result};
use crate::ast::{self, Deferral};
use crate::catalog::{Index, SpecialIndex, Table};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Change, Define, Edit, Expr, ExprKind, TableEdit};

impl Binder<'_> {
    /// `CREATE INDEX`
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<Define> {
        let mut table = (**self.table(&create.table)?).clone();
        let mut index = self.index(create, &table)?;
        let mut names = Names::of(self.catalog, table.schema.as_deref());
        index.name = match &create.name {
            Some(name) if names.is_relation(&name.name) && create.if_not_exists => {
                let notice = format!("relation \"{}\" already exists, skipping", name.name);
                return Ok(Define::Change(Arc::new(Change::nothing("CREATE INDEX", vec![notice.into()]))));
            }
            Some(name) if names.is_relation(&name.name) => {
                let message = format!("relation \"{}\" already exists", name.name);
                return Err(Diagnostic::new(name.span, SqlState::DUPLICATE_TABLE, message));
            }
            Some(name) => name.name.clone(),
            None => {
                let shown: Vec<String> = create.keys.iter().map(|key| shown_key(key, &table)).collect();
                let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
                names.choose(&table.name, &shown, "idx")
            }
        };
        table.indexes.push(index);
        let edit = TableEdit { table, rows: None, validate: Vec::new() };
        Ok(Define::Change(Arc::new(Change::new("CREATE INDEX", vec![Edit::Table(Box::new(edit))]))))
    }

    /// An index over a table, not yet named.
    pub(super) fn index(&mut self, create: &ast::CreateIndex, table: &Table) -> Result<Index> {
        let (mut columns, mut exprs) = (Vec::new(), Vec::new());
        for key in &create.keys {
            match &key.kind {
                ast::ExprKind::Name(path) if path.len() == 1 => {
                    let column = table.column(&path[0].name).ok_or_else(|| {
                        let message = format!("column \"{}\" does not exist", path[0].name);
                        let mut error = Diagnostic::new(key.span, SqlState::UNDEFINED_COLUMN, message);
                        error.hint = did_you_mean(&path[0].name, table.columns.iter().map(|c| &*c.name));
                        error
                    })?;
                    columns.push(column);
                    let kind = ExprKind::Column { depth: 0, rel: 0, col: column as u16 };
                    exprs.push(Expr { kind, ty: table.columns[column].ty });
                }
                _ => exprs.push(self.index_expr(table, key, "index expressions")?),
            }
        }
        let filter = create.filter.as_ref().map(|filter| self.index_filter(table, filter)).transpose()?;
        let over_expressions = columns.len() < exprs.len();
        let special = (over_expressions || filter.is_some()).then(|| {
            let mut mentioned = Vec::new();
            for expr in exprs.iter().chain(&filter) {
                expr.walk(0, &mut |e, _| match e.kind {
                    ExprKind::Column { col, .. } if !mentioned.contains(&(col as usize)) => {
                        mentioned.push(col as usize);
                    }
                    _ => {}
                });
            }
            let shown = create.keys.iter().map(|key| key_text(key).into()).collect();
            let source = Arc::new(create.clone());
            Arc::new(SpecialIndex {
                keys: exprs,
                shown,
                filter,
                columns: mentioned,
                source,
                compiled: Default::default(),
            })
        });
        Ok(Index {
            name: "".into(),
            columns: if over_expressions { Vec::new() } else { columns },
            unique: create.unique,
            primary: false,
            constraint: false,
            deferral: Deferral::NotDeferrable,
            nulls_not_distinct: create.nulls_not_distinct,
            special,
        })
    }

    /// The unique indexes that `ON CONFLICT (keys) WHERE filter` means: with these keys, over all rows or over those
    /// that the filter speaks of.
    pub(super) fn infer_special(
        &mut self,
        table: &Table,
        keys: &[ast::Expr],
        filter: Option<&ast::Expr>,
        span: Span,
    ) -> Result<Vec<usize>> {
        let wanted = keys.iter().map(|key| self.over_row(table, key.span, |b| b.expr(key)));
        let wanted = wanted.collect::<Result<Vec<Expr>>>()?;
        let filter = filter.map(|f| self.over_row(table, f.span, |b| b.condition(f, "WHERE"))).transpose()?;
        let column =
            |&c: &usize| Expr { kind: ExprKind::Column { depth: 0, rel: 0, col: c as u16 }, ty: table.columns[c].ty };
        let fits = |index: &Index| {
            let own: Vec<Expr> = match &index.special {
                Some(special) => special.keys.clone(),
                None => index.columns.iter().map(column).collect(),
            };
            let both = own.iter().all(|k| wanted.iter().any(|w| w.same_as(k)))
                && wanted.iter().all(|w| own.iter().any(|k| k.same_as(w)));
            let partial = index.special.as_ref().and_then(|s| s.filter.as_ref());
            both && partial.is_none_or(|own| filter.as_ref().is_some_and(|given| implies(given, own)))
        };
        let all = table.indexes.iter().enumerate().filter(|(_, i)| i.unique && fits(i));
        let found: Vec<usize> = all.map(|(at, _)| at).collect();
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(Diagnostic::new(span, SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }

    fn index_filter(&mut self, table: &Table, filter: &ast::Expr) -> Result<Expr> {
        let bound =
            self.over_row(table, filter.span, |b| b.in_clause("index predicates", |b| b.condition(filter, "WHERE")))?;
        self.fit_for_index(bound, filter, "index predicate", "index predicates")
    }

    fn index_expr(&mut self, table: &Table, expr: &ast::Expr, clause: &'static str) -> Result<Expr> {
        let bound = self.over_row(table, expr.span, |b| b.in_clause(clause, |b| b.expr(expr)))?;
        let bound = self.settled(bound);
        self.fit_for_index(bound, expr, "index expression", "index expression")
    }

    /// An index must find tomorrow what it stored today.
    fn fit_for_index(&self, bound: Expr, source: &ast::Expr, one: &str, kind: &str) -> Result<Expr> {
        let (mut subquery, mut mutable, mut routine) = (false, false, false);
        bound.walk(0, &mut |e, _| {
            subquery |= e.subquery().is_some();
            mutable |= is_mutable(e);
            routine |= matches!(e.kind, ExprKind::Routine(..));
        });
        if subquery {
            let message = format!("cannot use subquery in {one}");
            return Err(Diagnostic::new(source.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if mutable {
            let message = match kind {
                "index predicates" => "functions in index predicate must be marked IMMUTABLE",
                _ => "functions in index expression must be marked IMMUTABLE",
            };
            return Err(Diagnostic::new(source.span, SqlState(*b"42P17"), message));
        }
        if routine {
            return Err(Diagnostic::unsupported(source.span, Construct::INDEX_OVER_ROUTINE));
        }
        Ok(bound)
    }
}

/// Whether one condition says another: it is that, or has it among the conditions it joins.
fn implies(given: &Expr, wanted: &Expr) -> bool {
    let parts = |e: &Expr| match &e.kind {
        ExprKind::And(list) => list.clone(),
        _ => vec![e.clone()],
    };
    parts(wanted).iter().all(|w| parts(given).iter().any(|g| g.same_as(w)))
}

/// What a key contributes to the name of an index.
fn shown_key(key: &ast::Expr, table: &Table) -> String {
    match &key.kind {
        ast::ExprKind::Name(path) if path.len() == 1 && table.column(&path[0].name).is_some() => {
            path[0].name.to_string()
        }
        ast::ExprKind::Call(call) => call.name.name.name.to_string(),
        _ => "expr".into(),
    }
}

/// A key as messages show it.
fn key_text(key: &ast::Expr) -> String {
    match &key.kind {
        ast::ExprKind::Name(_) | ast::ExprKind::Call(_) => key.to_string(),
        _ => format!("({key})"),
    }
}
