//! An order that an index has anyway.
//!
//! `ORDER BY key LIMIT 1`, `min(key)` and `max(key)` need the first few rows in the order of an index, not the whole
//! table: the outermost loop then follows the index, and the query stops as soon as it has what it asked for.

use isolde_sql::builtin::AggregateKind;
use isolde_sql::catalog::Catalog;

use super::{Access, Expr, GroupingPlan, Item, QueryPlan, RelStep, SelectPlan, SortKey, Source};

/// Lets the outermost loop follow an index if that sorts the rows; worth while if a LIMIT stops it.
pub(super) fn by_index(catalog: &Catalog, plan: &mut QueryPlan) {
    if plan.limit.is_none() || plan.order_by.is_empty() {
        return;
    }
    let Some((columns, descending)) = sorted_columns(&plan.order_by) else { return };
    if let super::BodyPlan::Select(select) = &mut plan.body
        && select.grouping.is_none()
        && !select.distinct
        && select.stages.is_none()
        && !plan.with_ties
    {
        plan.sorted = follow(catalog, select, &columns, descending);
    }
}

/// The same for a lone `min` or `max`.
pub(super) fn for_extreme(catalog: &Catalog, select: &mut SelectPlan) {
    let Some((column, descending)) = select.grouping.as_ref().and_then(extreme) else { return };
    if select.stages.is_some() {
        return;
    }
    let served = follow(catalog, select, &[column], descending);
    if let Some(grouping) = &mut select.grouping {
        grouping.first_only = served;
    }
}

/// The column whose smallest or (true) largest value is all that is asked for.
fn extreme(grouping: &GroupingPlan) -> Option<((u16, u16), bool)> {
    let ([], [call], []) = (grouping.keys.as_slice(), grouping.calls.as_slice(), grouping.sets.as_slice()) else {
        return None;
    };
    let plain = call.filter.is_none() && call.order_by.is_empty();
    let descending = match call.aggregate.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return None,
    };
    match call.args.as_slice() {
        [Expr::Column { rel, col }] if plain => Some(((*rel, *col), descending)),
        _ => None,
    }
}

/// The columns sorted by, if they have one direction and NULLs where an index has them.
pub(super) fn sorted_columns(order_by: &[SortKey]) -> Option<(Vec<(u16, u16)>, bool)> {
    let descending = order_by.first()?.descending;
    let column = |key: &SortKey| match key.expr {
        Expr::Column { rel, col } if key.descending == descending && key.nulls_first == descending => Some((rel, col)),
        _ => None,
    };
    Some((order_by.iter().map(column).collect::<Option<_>>()?, descending))
}

/// Makes the outermost loop follow an index that begins with these columns, if there is one and no better path is
/// taken.
fn follow(catalog: &Catalog, select: &mut SelectPlan, columns: &[(u16, u16)], descending: bool) -> bool {
    let Some(Item::Rel(step)) = select.nest.steps.first_mut().map(|step| &mut step.item) else { return false };
    let Source::Table(table) = step.source else { return false };
    if !columns.iter().all(|(rel, _)| usize::from(*rel) == step.rel) {
        return false;
    }
    let wanted: Vec<usize> = columns.iter().map(|(_, col)| usize::from(*col)).collect();
    let mut indexes = catalog.table(table).indexes.iter().enumerate();
    let serves = |i: usize, key: &[usize]| key.starts_with(&wanted) && may_follow(step, i);
    match indexes.find(|(i, index)| index.is_plain() && serves(*i, &index.columns)).map(|(i, _)| i) {
        Some(index) => {
            let range = match std::mem::replace(&mut step.access, Access::Scan) {
                Access::Range { low, high, .. } => (low, high),
                _ => (None, None),
            };
            step.access = Access::Ordered { index, columns: wanted, descending, low: range.0, high: range.1 };
            true
        }
        None => false,
    }
}

fn may_follow(step: &RelStep, index: usize) -> bool {
    match step.access {
        Access::Scan => true,
        Access::Range { index: ranged, .. } => ranged == index,
        _ => false,
    }
}
