//! Columns that matter to a change although its statement does not name them.
//!
//! `UPDATE t SET a = 1` reads no other column by itself. But a CHECK over `a` and `b` looks at `b`, and so do a
//! generated column, a unique key or a foreign key of both; a trigger is shown the whole row; and whoever refers to a
//! row is found by what its key was before. These columns belong to what the statement has read: if somebody else
//! changes one of them, the order matters.

use isolde_sql::Type;
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::typed::{Expr, ExprKind, Update};

use crate::footprint::ColumnSet;

/// Those of an UPDATE, as expressions over its target (rel 0).
pub(crate) fn by_update(catalog: &Catalog, update: &Update) -> Vec<Expr> {
    let table = catalog.table(update.table);
    if !table.triggers.is_empty() {
        return columns(table, ColumnSet::ALL);
    }
    let set: ColumnSet = update.set.iter().map(|(column, _)| *column).collect();
    let generated = table.columns.iter().filter_map(|c| c.generated.as_ref()).map(|g| used(&g.expr));
    let checks = table.checks.iter().map(|check| used(&check.expr));
    let views = update.view_checks.iter().map(|view| used(&view.condition));
    let keys = table.indexes.iter().map(|index| index.mentions().iter().copied().collect());
    let references = table.foreign_keys.iter().map(|fk| fk.columns.iter().copied().collect());
    let together = generated.chain(checks).chain(views).chain(keys).chain(references);
    let beside = together.filter(|group: &ColumnSet| group.meets(set)).fold(ColumnSet::NONE, ColumnSet::union);
    let beside: ColumnSet = (0..table.columns.len()).filter(|&c| beside.contains(c) && !set.contains(c)).collect();
    let referred = referred(catalog, update.table, |parents| parents.meets(set));
    columns(table, beside.union(referred))
}

/// Those of a DELETE.
pub(crate) fn by_delete(catalog: &Catalog, table: TableId) -> Vec<Expr> {
    let referred = referred(catalog, table, |_| true);
    let table = catalog.table(table);
    columns(table, if table.triggers.is_empty() { referred } else { ColumnSet::ALL })
}

/// The columns that an UPDATE only adds something to, and neither it nor its table asks for otherwise: two such updates
/// come to the same in either order.
pub(crate) fn added_by(catalog: &Catalog, update: &Update) -> ColumnSet {
    let table = catalog.table(update.table);
    let subqueries = || {
        let mut found = false;
        let mut look = |e: &Expr| e.walk(0, &mut |e, _| found |= e.subquery().is_some());
        update.select.exprs(&mut look);
        update.set.iter().for_each(|(_, e)| look(e));
        found
    };
    let plain = table.triggers.is_empty() && update.with.is_empty() && update.view_checks.is_empty();
    if !plain || update.returning.is_some() || update.select.rels.len() != 1 || subqueries() {
        return ColumnSet::NONE;
    }
    let mut asked = ColumnSet::NONE;
    update.select.exprs(&mut |e| asked = asked.union(used(e)));
    let sums = update.set.iter().filter_map(|(column, e)| Some((*column, addend(*column, e)?)));
    let sums: Vec<(usize, &Expr)> = sums.collect();
    for (column, e) in &update.set {
        asked = match sums.iter().find(|(c, _)| c == column) {
            Some((_, addend)) => asked.union(used(addend)),
            None => asked.union(used(e)),
        };
    }
    for check in &table.checks {
        asked = asked.union(used(&check.expr));
    }
    for generated in table.columns.iter().filter_map(|c| c.generated.as_ref()) {
        asked = asked.union(used(&generated.expr));
    }
    let keys = table.indexes.iter().flat_map(|index| index.mentions()).copied();
    let references = table.foreign_keys.iter().flat_map(|fk| fk.columns.iter().copied());
    let referred = referred(catalog, update.table, |_| true);
    asked = keys.chain(references).fold(asked.union(referred), |asked, c| asked.union([c].into_iter().collect()));
    let whole = |c: &usize| matches!(table.columns[*c].ty, Type::Int4 | Type::Int8);
    sums.into_iter().map(|(column, _)| column).filter(|c| whole(c) && !asked.contains(*c)).collect()
}

/// What is added to a column: of `c + x`, `x + c` and `c - x` the `x`.
fn addend(column: usize, e: &Expr) -> Option<&Expr> {
    let own = |e: &Expr| matches!(e.kind, ExprKind::Column { depth: 0, rel: 0, col } if usize::from(col) == column);
    let ExprKind::Call(function, args) = &e.kind else { return None };
    match (function.name, args.as_slice()) {
        ("+" | "-", [left, right]) if own(left) => Some(right),
        ("+", [left, right]) if own(right) => Some(left),
        _ => None,
    }
}

/// The columns that foreign keys of other tables refer to.
fn referred(catalog: &Catalog, table: TableId, matters: impl Fn(ColumnSet) -> bool) -> ColumnSet {
    let keys = catalog.references_to(table).map(|(child, key)| &child.foreign_keys[key].parent_columns);
    let keys = keys.map(|parents| parents.iter().copied().collect()).filter(|parents| matters(*parents));
    keys.fold(ColumnSet::NONE, ColumnSet::union)
}

fn used(e: &Expr) -> ColumnSet {
    let mut used = ColumnSet::NONE;
    e.walk(0, &mut |e, _| match e.kind {
        ExprKind::Column { col, .. } => used.insert(usize::from(col)),
        ExprKind::WholeRow { .. } => used = ColumnSet::ALL,
        _ => {}
    });
    used
}

fn columns(table: &Table, set: ColumnSet) -> Vec<Expr> {
    let columns = table.columns.iter().zip(0u16..).filter(|(_, col)| set.contains(usize::from(*col)));
    columns.map(|(c, col)| Expr { kind: ExprKind::Column { depth: 0, rel: 0, col }, ty: c.ty }).collect()
}
