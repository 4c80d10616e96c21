//! `k IN (SELECT 1 FROM t)`, which is really two conditions.
//!
//! What is selected is the same for every row of `t`, so `k = 1` must hold, whatever there is in `t`. PostgreSQL makes
//! a join of `IN`, and a condition that the rows of `t` have no part in is checked before they are read: if no row has
//! such a `k`, they never are.

use isolde_sql::catalog::{Catalog, Table};
use isolde_sql::typed::{Expr, ExprKind, Quantified, Query, QueryBody, Rel, RelSource, Select};
use isolde_sql::{Type, Value};

use super::facts::facts;
use super::simplify::{is_null, simplified};

/// Whether some part of a condition is such an IN.
pub(super) fn is_in(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::And(list) => list.iter().any(is_in),
        ExprKind::Quantified(q) => !implied(q).is_empty(),
        _ => false,
    }
}

/// Puts the conditions that they imply before every such IN.
pub(super) fn take_apart(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::And(list) => list.iter_mut().for_each(take_apart),
        ExprKind::Quantified(q) => {
            let mut all = implied(q);
            if !all.is_empty() {
                all.push(Expr { kind: ExprKind::Quantified(q.clone()), ty: Type::Bool });
                e.kind = ExprKind::And(all);
            }
        }
        _ => {}
    }
}

/// What must hold for an IN to, whatever rows its query has: that an operand equals what is the same for all of them.
/// Nothing equals NULL.
fn implied(q: &Quantified) -> Vec<Expr> {
    let Some(select) = joined(q) else { return Vec::new() };
    let constant = |e: &Expr| {
        let facts = facts(e);
        facts.rels.is_empty() && facts.local
    };
    let pairs = q.ops.iter().zip(q.left.iter().zip(&select.projection));
    let pairs = pairs.map(|(op, (left, right))| (op, simplified(left), simplified(right)));
    let implied = pairs.filter(|(_, left, right)| constant(right) || is_null(left));
    let equal = implied.map(|(op, left, right)| match is_null(&left) {
        true => ExprKind::Const(Value::Bool(false)),
        false => ExprKind::Call(op, vec![left, right]),
    });
    equal.map(|kind| Expr { kind, ty: Type::Bool }).collect()
}

/// The select behind an IN that PostgreSQL makes a join of.
fn joined(q: &Quantified) -> Option<&Select> {
    let QueryBody::Select(select) = &q.query.body else { return None };
    let plain = select.from.is_some()
        && select.grouping.is_none()
        && select.windows.is_empty()
        && select.expansions.is_empty()
        && q.query.limit.is_none()
        && q.query.offset.is_none()
        && q.query.locking.is_empty()
        && q.query.with.is_empty();
    let varies = q.left.iter().any(|left| !facts(left).rels.is_empty());
    let equality = !q.all && q.ops.iter().all(|op| op.name == "=" && op.strict);
    (plain && varies && equality && stands_alone(&q.query)).then_some(select)
}

/// The table behind an IN that is as good as a table in FROM, because it is asked for one of its keys: PostgreSQL may
/// well read it first.
pub(super) fn keyed_table<'c>(catalog: &'c Catalog, e: &Expr) -> Option<&'c Table> {
    let ExprKind::Quantified(q) = &e.kind else { return None };
    let select = joined(q).filter(|select| select.filter.is_none())?;
    let [Rel { source: RelSource::Table(table), .. }] = select.rels.as_slice() else { return None };
    let table = catalog.table(*table);
    let is_key = |e: &Expr| match e.kind {
        ExprKind::Column { depth: 0, col, .. } => {
            table.indexes.iter().any(|index| index.is_key() && index.columns == [usize::from(col)])
        }
        _ => false,
    };
    select.projection.iter().any(is_key).then_some(table)
}

/// Whether a query refers to nothing around it.
fn stands_alone(query: &Query) -> bool {
    let mut alone = true;
    query.walk(0, &mut |e, level| {
        if let ExprKind::Column { depth, .. }
        | ExprKind::WholeRow { depth, .. }
        | ExprKind::Group { depth, .. }
        | ExprKind::Aggregated { depth, .. } = &e.kind
        {
            alone &= *depth <= level;
        }
    });
    alone
}
