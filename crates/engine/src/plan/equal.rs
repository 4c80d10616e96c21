//! What is equal to two constants.
//!
//! `id = -1 AND id = 1` can hold for nobody, and PostgreSQL notices before it reads anything: all that is said to be
//! equal is one class, and the constants in a class must be equal to each other.
//!
//! ```text
//!   a.id = 1 AND a.id = b.id AND b.id = $1        {a.id, b.id, 1, $1}        first of all: 1 = $1
//! ```

use isolde_sql::Type;
use isolde_sql::builtin::Builtin;
use isolde_sql::typed::{self, ExprKind};

use super::expr::comparison;
use super::facts::facts;
use super::join::Condition;
use crate::eval::Comparison;

/// Expressions that are equal to each other.
struct Class<'e> {
    equal: &'static Builtin,
    /// As they read, for two that read the same mean the same.
    members: Vec<String>,
    constants: Vec<&'e typed::Expr>,
}

/// What must hold, whatever the rows are, for these conditions to hold for any.
pub(super) fn gates(conditions: &[Condition<'_>]) -> Vec<typed::Expr> {
    let is_bound = |c: &&Condition<'_>| !c.facts.volatile && !c.facts.subquery && !c.facts.rels.is_empty();
    let equalities: Vec<_> = conditions.iter().filter(is_bound).filter_map(|c| equality(c.expr)).collect();
    if equalities.iter().filter(|(_, a, b)| is_constant(a) || is_constant(b)).count() < 2 {
        return Vec::new();
    }
    let mut classes: Vec<Class<'_>> = Vec::new();
    for (equal, a, b) in equalities {
        let mut joined = Class { equal, members: Vec::new(), constants: Vec::new() };
        for side in [a, b] {
            joined.members.push(format!("{side:?}"));
            joined.constants.extend(is_constant(side).then_some(side));
        }
        let meets = |class: &mut Class<'_>| class.members.iter().any(|m| joined.members.contains(m));
        for class in classes.extract_if(.., |class| meets(class)).collect::<Vec<_>>() {
            joined.members.extend(class.members);
            joined.constants.splice(0..0, class.constants);
        }
        classes.push(joined);
    }
    classes.iter().flat_map(agreements).collect()
}

/// That the constants of a class are equal.
fn agreements(class: &Class<'_>) -> Vec<typed::Expr> {
    let Some((first, others)) = class.constants.split_first() else { return Vec::new() };
    let of_type = others.iter().filter(|other| other.ty == first.ty);
    let equal = |other: &typed::Expr| ExprKind::Call(class.equal, vec![(*first).clone(), other.clone()]);
    of_type.map(|other| typed::Expr { kind: equal(other), ty: Type::Bool }).collect()
}

fn equality(e: &typed::Expr) -> Option<(&'static Builtin, &typed::Expr, &typed::Expr)> {
    let ExprKind::Call(builtin, args) = &e.kind else { return None };
    let [a, b] = args.as_slice() else { return None };
    let is_equal = matches!(comparison(builtin, args), Some(Comparison::Equal)) && a.ty == b.ty;
    is_equal.then_some((*builtin, a, b))
}

fn is_constant(e: &typed::Expr) -> bool {
    let facts = facts(e);
    facts.rels.is_empty() && !facts.volatile && !facts.subquery
}
