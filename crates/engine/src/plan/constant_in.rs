//! `k IN (SELECT 1 FROM t)`, which is really two conditions.
//!
//! What is selected is the same for every row of `t`, so `k = 1` must hold, whatever there is in `t`. PostgreSQL makes a join of `IN`,
//! and a condition that the rows of `t` have no part in is checked before they are read: if no row has such a `k`, they never are.

use isolde_sql::typed::{Expr, ExprKind, Quantified, Query, QueryBody};
use isolde_sql::{Type, Value};

use super::facts::facts;

/// Whether some part of a condition is such an IN.
pub(super) fn is_in(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::And(list) => list.iter().any(is_in),
        ExprKind::Quantified(q) => selected(q).is_some(),
        _ => false,
    }
}

/// Puts the condition that they imply before every such IN.
pub(super) fn take_apart(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::And(list) => list.iter_mut().for_each(take_apart),
        ExprKind::Quantified(q) => {
            let Some(selected) = selected(q) else { return };
            let pairs = q.ops.iter().zip(q.left.iter().cloned().zip(selected));
            let equal = pairs.map(|(op, (left, right))| ExprKind::Call(op, vec![left, right]));
            let all = equal.chain([ExprKind::Quantified(q.clone())]).map(|kind| Expr { kind, ty: Type::Bool });
            e.kind = ExprKind::And(all.collect());
        }
        _ => {}
    }
}

/// What the query of an IN selects, if that is the same for all its rows and the operands are not.
fn selected(q: &Quantified) -> Option<Vec<Expr>> {
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
    let constant = |e: &Expr| {
        let facts = facts(e);
        facts.rels.is_empty() && facts.local && !matches!(e.kind, ExprKind::Const(Value::Null))
    };
    let same = select.projection.iter().all(constant);
    (plain && varies && equality && same && stands_alone(&q.query)).then(|| select.projection.clone())
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
