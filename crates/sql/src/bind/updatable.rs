//! Writing through views.
//!
//! A view that shows rows of one table, each by itself, can be written to: INSERT, UPDATE and DELETE mean the table
//! below. What the statement says is bound in terms of the view's columns and then rewritten in terms of the table's;
//! the view's condition joins that of the statement.
//!
//! A view with an INSTEAD OF trigger for what is done is not written through: the table that stands for the view is the
//! target, and its triggers are all that happens.

use std::sync::Arc;

use super::scope::outward;
use super::{Binder, Result};
use crate::ast::{self, CheckOption, Ident, TriggerTiming};
use crate::catalog::{Catalog, Table, TableId, Trigger, View};
use crate::error::{Diagnostic, SqlState};
use crate::refused::Construct;
use crate::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select, ViewCheck};
use crate::types::Type;

/// What is below a view that can be written to.
#[derive(Clone)]
pub(super) struct Base {
    /// The table.
    pub table: TableId,
    /// The view's columns, over a row of the table as rel 0.
    pub columns: Vec<Expr>,
    /// The view's condition, and those of the views below it.
    pub filter: Option<Expr>,
    /// The view's own condition.
    own: Option<Expr>,
}

/// The table that a statement writes to, and the view it says so through.
pub(super) struct Target<'a> {
    pub table: &'a Arc<Table>,
    pub view: Option<Through<'a>>,
}

/// A view that is written through.
pub(super) struct Through<'a> {
    pub view: &'a Arc<View>,
    pub base: Base,
}

impl<'a> Binder<'a> {
    /// Where triggers say what is done to a view, its rows are those that it shows.
    pub(super) fn show_rows(&self, name: &ast::QualifiedName, table: &Table, select: &mut Select) {
        if let (true, Some(view), Some(rel)) = (table.of_view, self.view(name), select.rels.first_mut()) {
            rel.source = RelSource::Query { query: view.query.clone(), lateral: false };
        }
    }

    /// What an INSERT, UPDATE or DELETE writes to.
    pub(super) fn write_target(&self, name: &ast::QualifiedName, verb: Verb) -> Result<Target<'a>> {
        let Some(view) = self.view(name) else {
            let table = self.table(name)?;
            if table.materialized.is_some() {
                let message = format!("cannot change materialized view \"{}\"", table.name);
                return Err(Diagnostic::new(name.name.span, SqlState::WRONG_OBJECT_TYPE, message));
            }
            return Ok(Target { table, view: None });
        };
        if let Some(table) = instead_of(self.catalog, view, verb) {
            return Ok(Target { table, view: None });
        }
        if has_instead_below(self.catalog, view, verb) {
            let span = name.name.span;
            return Err(Diagnostic::unsupported(span, Construct::WRITING_THROUGH_TO_INSTEAD_OF));
        }
        let base = base(self.catalog, view).map_err(|reason| {
            let (what, hint) = match verb {
                Verb::Insert => ("insert into", "inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule"),
                Verb::Update => ("update", "updating the view, provide an INSTEAD OF UPDATE trigger or an unconditional ON UPDATE DO INSTEAD rule"),
                Verb::Delete => ("delete from", "deleting from the view, provide an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule"),
            };
            let message = format!("cannot {what} view \"{}\"", view.name);
            Diagnostic::new(name.name.span, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail(reason)
                .hint(format!("To enable {hint}."))
        })?;
        Ok(Target { table: self.catalog.table(base.table), view: Some(Through { view, base }) })
    }
}

/// The table that stands for a view, if a trigger says what is done to the view.
fn instead_of<'a>(catalog: &'a Catalog, view: &View, verb: Verb) -> Option<&'a Arc<Table>> {
    let says = |trigger: &Trigger| {
        trigger.timing == TriggerTiming::InsteadOf
            && match verb {
                Verb::Insert => trigger.insert,
                Verb::Update => trigger.update,
                Verb::Delete => trigger.delete,
            }
    };
    let table = catalog.table(view.stand_in?);
    table.triggers.iter().any(says).then_some(table)
}

fn has_instead_below(catalog: &Catalog, view: &View, verb: Verb) -> bool {
    let below = view.uses.iter().filter_map(|key| catalog.view(key));
    below.into_iter().any(|v| instead_of(catalog, v, verb).is_some() || has_instead_below(catalog, v, verb))
}

/// What is done to a view.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
}

impl Through<'_> {
    /// The table's column behind a column of the view.
    pub(super) fn column(&self, table: &Table, name: &Ident, verb: Verb) -> Result<Ident> {
        let view = &self.view;
        let Some(at) = view.columns.iter().position(|(n, _)| *n == name.name) else {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.name, view.name);
            return Err(Diagnostic::new(name.span, SqlState::UNDEFINED_COLUMN, message));
        };
        match self.base.columns[at].kind {
            ExprKind::Column { col, .. } => {
                Ok(Ident { name: table.columns[col as usize].name.clone(), span: name.span })
            }
            _ => {
                let what = match verb {
                    Verb::Insert => "insert into",
                    _ => "update",
                };
                let message = format!("cannot {what} column \"{}\" of view \"{}\"", name.name, view.name);
                Err(Diagnostic::new(name.span, SqlState::FEATURE_NOT_SUPPORTED, message)
                    .detail("View columns that are not columns of their base relation are not updatable."))
            }
        }
    }

    /// The conditions that written rows must fulfil.
    pub(super) fn checks(&self, catalog: &Catalog) -> Vec<ViewCheck> {
        let mut checks = Vec::new();
        let mut view = Some((self.view.clone(), self.base.clone()));
        let mut inherited = false;
        while let Some((at, base)) = view {
            let below = match &at.uses[..] {
                [key] => catalog.view(key).cloned(),
                _ => None,
            };
            inherited |= at.check == Some(CheckOption::Cascaded);
            let own = if below.is_some() { base.own.clone() } else { base.filter.clone() };
            if (inherited || at.check.is_some())
                && let Some(condition) = own
            {
                checks.insert(0, ViewCheck { view: at.name.clone(), condition });
            }
            view = below.and_then(|below| {
                let base = super::updatable::base(catalog, &below).ok()?;
                Some((below, base))
            });
        }
        checks
    }

    /// An expression over the view, written over the table; `rels` of the level `depth` queries out are the view.
    pub(super) fn rewrite(&self, expr: &mut Expr, depth: u16, rels: u16) {
        expr.walk_mut(depth, &mut |e, inside| rewrite_one(e, inside, &self.base.columns, rels));
    }

    /// The same for everything in a select whose rel 0 is the view.
    pub(super) fn rewrite_select(&self, select: &mut Select, table: &Table) {
        select.exprs_mut(&mut |e| self.rewrite(e, 0, 1));
        select.queries_mut(&mut |q| {
            q.walk_mut(1, &mut |e, inside| rewrite_one(e, inside, &self.base.columns, 1));
        });
        if let Some(rel) = select.rels.first_mut() {
            rel.columns = table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        }
        if let Some(filter) = &self.base.filter {
            select.filter = Some(both(filter.clone(), select.filter.take()));
        }
    }
}

fn rewrite_one(e: &mut Expr, inside: u16, columns: &[Expr], rels: u16) -> bool {
    match e.kind {
        ExprKind::Column { depth, rel, col } if depth == inside && rel < rels => {
            let mut value = columns[col as usize].clone();
            value.walk_mut(0, &mut |v, _| {
                if let ExprKind::Column { rel: from, .. } = &mut v.kind {
                    *from = rel;
                }
                true
            });
            *e = outward(value, depth);
            false
        }
        ExprKind::WholeRow { depth, rel } if depth == inside && rel < rels => {
            let mut values = columns.to_vec();
            for value in &mut values {
                value.walk_mut(0, &mut |v, _| {
                    if let ExprKind::Column { rel: from, .. } = &mut v.kind {
                        *from = rel;
                    }
                    true
                });
            }
            let row = values.into_iter().map(|v| outward(v, depth)).collect();
            *e = Expr { kind: ExprKind::Row(row), ty: Type::Record };
            false
        }
        _ => true,
    }
}

fn both(a: Expr, b: Option<Expr>) -> Expr {
    match b {
        None => a,
        Some(b) => Expr { kind: ExprKind::And(vec![a, b]), ty: Type::Bool },
    }
}

/// The table below a view, or why the view cannot be written to.
pub(super) fn base(catalog: &Catalog, view: &View) -> std::result::Result<Base, String> {
    let base = base_of(&view.query)?;
    debug_assert!(catalog.table_count() > base.table.0 as usize);
    Ok(base)
}

fn base_of(query: &Query) -> std::result::Result<Base, String> {
    let not = |what: &str| Err(format!("Views {what} are not automatically updatable."));
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::SetOperation { .. } => return not("containing UNION, INTERSECT, or EXCEPT"),
        QueryBody::Values(_) => return not("that do not select from a single table or view"),
    };
    if select.distinct {
        return not("containing DISTINCT");
    }
    if let Some(grouping) = &select.grouping {
        return match (grouping.keys.is_empty(), &grouping.having) {
            (false, _) => not("containing GROUP BY"),
            (true, Some(_)) => not("containing HAVING"),
            (true, None) => Err("Views that return aggregate functions are not automatically updatable.".into()),
        };
    }
    if query.limit.is_some() || query.offset.is_some() {
        return not("containing LIMIT or OFFSET");
    }
    let [rel] = &select.rels[..] else { return not("that do not select from a single table or view") };
    let below = match &rel.source {
        RelSource::Table(table) => {
            let kind = |col| ExprKind::Column { depth: 0, rel: 0, col };
            let columns = rel.columns.iter().enumerate().map(|(i, (_, ty))| Expr { kind: kind(i as u16), ty: *ty });
            Base { table: *table, columns: columns.collect(), filter: None, own: None }
        }
        RelSource::Query { query, .. } => base_of(query)?,
        _ => return not("that do not select from a single table or view"),
    };
    let over = |expr: &Expr| {
        let mut expr = expr.clone();
        expr.walk_mut(0, &mut |e, inside| rewrite_one(e, inside, &below.columns, 1));
        expr
    };
    let own = select.filter.as_ref().map(over);
    let filter = match (&below.filter, &own) {
        (Some(a), b) => Some(both(a.clone(), b.clone())),
        (None, b) => b.clone(),
    };
    Ok(Base { table: below.table, columns: select.projection.iter().map(over).collect(), filter, own })
}
