//! Where the order of the heap shows.
//!
//! An update of any column moves its row to the end of the heap. Mostly nobody can tell: rows without ORDER BY are a set. But
//! `LIMIT 1` takes whichever row comes first, sort keys leave ties, `string_agg` concatenates in the order of arrival and
//! floating-point sums round in it. There a read depends on every column of the rows it finds.

use isolde_sql::Type;
use isolde_sql::builtin::AggregateKind;
use isolde_sql::catalog::Catalog;

use super::{Access, AggregatePlan, BodyPlan, Expr, Item, Nest, QueryPlan, RelStep, SelectPlan, SortKey, Source};
use crate::footprint::ColumnSet;

/// Widens the reads of a query to all columns where the order of rows shows in its result.
pub(super) fn widen(catalog: &Catalog, plan: &mut QueryPlan) {
    let staged = |select: &SelectPlan| select.stages.is_some();
    let ordered = plan.limit.is_some() || plan.offset.is_some() || !plan.order_by.is_empty();
    let BodyPlan::Select(select) = &mut plan.body else { return };
    let shows = match &select.grouping {
        Some(grouping) => grouping.calls.iter().any(depends_on_order),
        None if staged(select) => true,
        // What DISTINCT leaves is sorted by all its values.
        None => ordered && !select.distinct,
    };
    if shows {
        let keys = if select.grouping.is_none() && !staged(select) { plan.order_by.as_slice() } else { &[] };
        each_step(&mut select.nest, &mut |step| {
            if !at_most_one(step) && !tells_apart(catalog, step, keys) {
                step.read.columns = ColumnSet::ALL;
            }
        });
    }
}

fn depends_on_order(call: &AggregatePlan) -> bool {
    match call.aggregate.kind {
        AggregateKind::StringAgg => !call.distinct,
        AggregateKind::Mode => true,
        AggregateKind::Sum | AggregateKind::Avg => call.aggregate.args == [Type::Float8],
        _ => false,
    }
}

fn each_step(nest: &mut Nest, f: &mut dyn FnMut(&mut RelStep)) {
    for step in &mut nest.steps {
        match &mut step.item {
            Item::Rel(rel) => f(rel),
            Item::Left { left, right, .. } | Item::Full { left, right, .. } => {
                each_step(left, f);
                each_step(right, f);
            }
        }
    }
}

fn at_most_one(step: &RelStep) -> bool {
    matches!(step.access, Access::Lookup { unique: true, .. })
}

/// Whether no two rows of a table are equal in all sort keys.
fn tells_apart(catalog: &Catalog, step: &RelStep, keys: &[SortKey]) -> bool {
    let Source::Table(table) = step.source else { return true };
    let table = catalog.table(table);
    let sorted = |c: &usize| keys.iter().any(|k| is_column(&k.expr, step.rel, *c));
    let unique = |c: &usize| sorted(c) && table.columns[*c].not_null;
    table.indexes.iter().any(|index| index.is_key() && index.columns.iter().all(unique))
}

fn is_column(e: &Expr, rel: usize, column: usize) -> bool {
    matches!(e, Expr::Column { rel: r, col } if (usize::from(*r), usize::from(*col)) == (rel, column))
}
