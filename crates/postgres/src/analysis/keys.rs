//! Keys that writing a row looks for.
//!
//! Who writes a row looks for others with its unique keys, among everybody's rows; holds the rows that it refers to;
//! and looks for those that refer to it when it goes. Which keys these are is told by the [rows written](implied); of
//! an INSERT that ends in ON CONFLICT and may write nothing, by the [rows it proposes](proposed), where its text has
//! them.

use isolde_engine::footprint::{ColumnSet, Read, Write};
use isolde_sql::catalog::{Index, Table, TableId};
use isolde_sql::typed::{Expr, ExprKind, Insert, QueryBody};
use isolde_sql::value::cast;
use isolde_sql::{Row, Value};

use super::Analyst;
use super::walk::{add, whole};
use crate::live::{By, Look, Touched};

/// The keys of more proposed rows are not looked at one by one.
const PROPOSED_MAX: usize = 100;

/// What writing rows implies.
pub(super) fn implied(analyst: &Analyst, writes: &[Write], touched: &mut Touched) {
    let catalog = &analyst.catalog;
    let mut more = Touched::default();
    for write in writes.iter().filter(|write| catalog.has_table(write.table)) {
        let table = catalog.table(write.table);
        let changed = write.changed();
        for index in table.indexes.iter().filter(|index| index.unique) {
            let concerned = index.mentions().iter().any(|&c| changed.contains(c));
            if concerned && write.after.is_some() {
                let key = part(&write.after, &index.columns).filter(|_| index.is_plain());
                let look = analyst.rows_with(table.id, &index.columns, key);
                more.locks.push(Look { by: By::Probe, ..look });
            }
        }
        for key in &table.foreign_keys {
            let concerned = key.columns.iter().any(|&c| changed.contains(c));
            if let Some(values) = part(&write.after, &key.columns).filter(|_| concerned)
                && values.iter().all(|v| !v.is_null())
            {
                more.locks.push(analyst.rows_with(key.parent, &key.parent_columns, Some(values)));
            }
        }
        for (child, position) in catalog.references_to(table.id) {
            let Some(key) = child.foreign_keys.get(position) else { continue };
            let concerned = key.parent_columns.iter().any(|&c| changed.contains(c));
            if let Some(values) = part(&write.before, &key.parent_columns).filter(|_| concerned) {
                more.reads.push(analyst.rows_with(child.id, &key.columns, Some(values)));
            }
        }
    }
    add(touched, more);
}

/// The rows that an INSERT with ON CONFLICT may meet: those with a unique key of a row that it proposes. `None` if that
/// may be any.
pub(super) fn proposed(analyst: &Analyst, insert: &Insert) -> Option<Vec<Look>> {
    let QueryBody::Values(rows) = &insert.source.body else { return None };
    let table = analyst.catalog.table(insert.table);
    let conflict = insert.on_conflict.as_ref()?;
    // Only by its arbiters it comes to a row that it then locks.
    let by = |index: &usize| match conflict.update.is_some() && conflict.arbiters.contains(index) {
        true => By::Key,
        false => By::Probe,
    };
    let mut looks = Vec::new();
    for row in rows.iter().take(PROPOSED_MAX + 1) {
        for (at, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique) {
            let key = proposed_key(analyst, table, index, insert, row)?;
            // NULLs are not equal to each other, nor to anything else.
            if index.nulls_not_distinct || key.iter().all(|value| !value.is_null()) {
                let Look { read, .. } = analyst.rows_with(table.id, &index.columns, Some(key));
                looks.push(Look { by: by(&at), ..Read { columns: ColumnSet::ALL, ..read }.into() });
            }
        }
    }
    (rows.len() <= PROPOSED_MAX).then_some(looks)
}

/// One key of a proposed row, if its text says it.
fn proposed_key(analyst: &Analyst, table: &Table, index: &Index, insert: &Insert, row: &[Expr]) -> Option<Vec<Value>> {
    let comparable = index.is_plain() && analyst.compares(table.id, &index.columns);
    let value = |column: &usize| constant(insert.values.get(*column)?, row);
    index.columns.iter().map(value).collect::<Option<Vec<Value>>>().filter(|_| comparable)
}

/// The value of an expression over a row of constants.
fn constant(expr: &Expr, row: &[Expr]) -> Option<Value> {
    match &expr.kind {
        ExprKind::Const(value) => Some(value.clone()),
        ExprKind::Column { depth: 0, rel: 0, col } => constant(row.get(usize::from(*col))?, &[]),
        ExprKind::Cast { expr: inner, explicit } => cast(&constant(inner, row)?, inner.ty, expr.ty, *explicit).ok(),
        _ => None,
    }
}

impl Analyst {
    /// The rows with this key; any row if it is not known, or cannot be compared here as the server compares it.
    fn rows_with(&self, table: TableId, columns: &[usize], values: Option<Vec<Value>>) -> Look {
        match values.filter(|_| self.compares(table, columns)) {
            Some(values) => keyed(table, columns, values).into(),
            None => whole(table, true).into(),
        }
    }

    /// Whether values of these columns can be compared here as the server compares them.
    fn compares(&self, table: TableId, columns: &[usize]) -> bool {
        !columns.iter().any(|&column| self.opaque.contains(&(table, column)))
    }
}

fn part(row: &Option<Row>, columns: &[usize]) -> Option<Vec<Value>> {
    let row = row.as_ref()?;
    columns.iter().map(|&c| row.get(c).cloned()).collect()
}

/// The rows with this key.
fn keyed(table: TableId, columns: &[usize], values: Vec<Value>) -> Read {
    let key: Vec<(usize, Value)> = columns.iter().copied().zip(values).collect();
    let columns: ColumnSet = key.iter().map(|(column, _)| *column).collect();
    Read { key, columns, ..whole(table, true) }
}
