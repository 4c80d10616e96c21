//! Outer joins that are none.
//!
//! `a LEFT JOIN b ... WHERE b.n > 1` keeps no row that found no partner: for such a row `b.n` is NULL, and the
//! condition fails. So it is an inner join, whose sides may be read in either order. The rules are those of
//! PostgreSQL's `reduce_outer_joins`: which table is read first, and whether the other is read at all, can be noticed
//! at SERIALIZABLE.

use isolde_sql::ast::JoinKind;
use isolde_sql::typed::{Expr, ExprKind, From, Select};

use super::facts::RelSet;
use super::join::rels_of;
use super::simplify::is_scalar;

/// Makes inner joins of the outer joins that the conditions around them allow for.
pub(super) fn reduce(select: &mut Select) {
    let wanted = select.filter.as_ref().map(|e| wanted(e, true)).unwrap_or_default();
    select.from.iter_mut().for_each(|from| reduce_join(from, &wanted));
}

/// Whether there is an outer join at all.
pub(super) fn has_any(from: &From) -> bool {
    match from {
        From::Rel(_) => false,
        From::Join { kind: JoinKind::Inner | JoinKind::Cross, left, right, .. } => has_any(left) || has_any(right),
        From::Join { .. } => true,
    }
}

/// `above`: relations whose rows must be there for anything to come of it.
fn reduce_join(from: &mut From, above: &RelSet) {
    let From::Join { kind, left, right, on } = from else { return };
    let (mut lefts, mut rights) = (RelSet::new(), RelSet::new());
    rels_of(left, &mut lefts);
    rels_of(right, &mut rights);
    let wants = |side: &RelSet| !side.is_disjoint(above);
    *kind = match *kind {
        JoinKind::Left if wants(&rights) => JoinKind::Inner,
        JoinKind::Right if wants(&lefts) => JoinKind::Inner,
        JoinKind::Full if wants(&lefts) && wants(&rights) => JoinKind::Inner,
        JoinKind::Full if wants(&lefts) => JoinKind::Left,
        JoinKind::Full if wants(&rights) => JoinKind::Right,
        other => other,
    };
    let own = on.as_ref().map(|e| wanted(e, true)).unwrap_or_default();
    let both: RelSet = own.union(above).copied().collect();
    let (for_left, for_right) = match kind {
        JoinKind::Inner | JoinKind::Cross => (&both, &both),
        JoinKind::Left => (above, &own),
        JoinKind::Right => (&own, above),
        JoinKind::Full => (&RelSet::new(), &RelSet::new()),
    };
    reduce_join(left, for_left);
    reduce_join(right, for_right);
}

/// Relations whose columns must not all be NULL: for the condition to hold or, further down, for it not to be NULL.
fn wanted(e: &Expr, holds: bool) -> RelSet {
    let all = |list: &mut dyn Iterator<Item = RelSet>| list.reduce(|a, b| a.intersection(&b).copied().collect());
    let any = |list: &mut dyn Iterator<Item = RelSet>| list.flatten().collect::<RelSet>();
    match &e.kind {
        ExprKind::Column { depth: 0, rel, .. } => RelSet::from([usize::from(*rel)]),
        ExprKind::And(list) if holds => any(&mut list.iter().map(|e| wanted(e, true))),
        ExprKind::And(list) => all(&mut list.iter().map(|e| wanted(e, false))).unwrap_or_default(),
        ExprKind::Or(list) => all(&mut list.iter().map(|e| wanted(e, holds))).unwrap_or_default(),
        ExprKind::Call(builtin, args) if builtin.strict => any(&mut args.iter().map(|e| wanted(e, false))),
        ExprKind::Not(operand) | ExprKind::Cast { expr: operand, .. } => wanted(operand, false),
        ExprKind::InList(operand, list, _) if !list.is_empty() => wanted(operand, false),
        ExprKind::IsNull(operand, true) if holds && is_scalar(operand.ty) => wanted(operand, false),
        ExprKind::IsTruth(operand, Some(_), false) | ExprKind::IsTruth(operand, None, true) if holds => {
            wanted(operand, false)
        }
        _ => RelSet::new(),
    }
}
