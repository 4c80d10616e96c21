//! Queries in FROM that are as good as what they stand for.
//!
//! PostgreSQL takes a plain subquery apart, and a WITH query that is read once is one. So a condition on a column that
//! is the same for all rows of the subquery is known before any of them is read:
//!
//! ```text
//!   WITH w AS (SELECT COALESCE(10, id) AS v FROM child) SELECT sum(v) FROM w WHERE v > 10      never reads child
//! ```

use isolde_sql::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select, WithBody};

use super::facts::facts;
use super::join::Condition;
use super::simplify::simplified;

/// The select of a query with its WITH queries in their places; `None` if there is none that could be there.
pub(super) fn with_queries(q: &Query) -> Option<Select> {
    let QueryBody::Select(select) = &q.body else { return None };
    let inlined = |index: usize| {
        let WithBody::Query(query) = &q.with.get(index)?.body else { return None };
        let mut readers = 0;
        q.sources(0, &mut |source, level| {
            let here = matches!(source, RelSource::With { depth, index: i } if *depth == level && *i == index);
            readers += usize::from(here);
        });
        (readers == 1 && plain(query).is_some()).then_some(query)
    };
    let mut changed = None;
    for (rel, source) in select.rels.iter().enumerate() {
        if let RelSource::With { depth: 0, index } = source.source
            && let Some(query) = inlined(index)
        {
            let select: &mut Select = changed.get_or_insert_with(|| (**select).clone());
            select.rels[rel].source = RelSource::Query { query: (**query).clone().into(), lateral: false };
        }
    }
    changed
}

/// Conditions that do not depend on any row after all, with what their columns stand for.
pub(super) fn gates(select: &Select, conditions: &[Condition<'_>]) -> Vec<Expr> {
    if !select.rels.iter().any(|rel| matches!(rel.source, RelSource::Query { .. })) {
        return Vec::new();
    }
    conditions.iter().filter_map(|c| constant(select, c)).collect()
}

fn constant(select: &Select, c: &Condition<'_>) -> Option<Expr> {
    if c.facts.volatile || c.facts.subquery || c.facts.rels.is_empty() {
        return None;
    }
    let mut e = c.expr.clone();
    e.walk_mut(0, &mut |e, _| {
        if let ExprKind::Column { depth: 0, rel, col } = e.kind
            && let Some(value) = column(select, usize::from(rel), usize::from(col))
        {
            e.kind = value;
        }
        true
    });
    facts(&e).rels.is_empty().then_some(e)
}

/// What a column is for all rows of a plain subquery.
fn column(select: &Select, rel: usize, col: usize) -> Option<ExprKind> {
    let RelSource::Query { query, lateral: false } = &select.rels.get(rel)?.source else { return None };
    let column = simplified(plain(query)?.projection.get(col)?);
    matches!(column.kind, ExprKind::Const(_)).then_some(column.kind)
}

/// The select of a query that is nothing more.
fn plain(query: &Query) -> Option<&Select> {
    let QueryBody::Select(select) = &query.body else { return None };
    let only_select = query.with.is_empty()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty();
    let only_rows = select.from.is_some()
        && select.grouping.is_none()
        && select.windows.is_empty()
        && select.expansions.is_empty()
        && !select.distinct
        && select.distinct_on == 0;
    let steady = select.projection.iter().chain(&select.filter).all(|e| !facts(e).volatile);
    (only_select && only_rows && steady).then_some(select)
}
