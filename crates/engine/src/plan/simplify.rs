//! Conditions as PostgreSQL's planner sees them: what can be known without a row is known before any is read.
//!
//! `WHERE NULL - age IS NOT NULL` can hold for nobody, so the table is never read, which at SERIALIZABLE is something
//! that others can notice; nor is it noticed that `NOT (id <> 7 OR false)` finds one row by its key, unless somebody
//! says so:
//!
//! ```text
//!   what is computed from constants alone      its value, unless that is an error
//!   a strict function of a NULL                NULL, whatever its other arguments, unless one of them is an error
//!   a AND true, a OR false                     a
//!   a AND false, a OR true                     false, true
//!   NOT (a OR b), NOT a < b, NOT a IS NULL     NOT a AND NOT b, a >= b, a IS NOT NULL
//!   a OR NULL, as a condition                  a
//!   a IN (b, NULL), where a is an array        a IN (b) OR NULL
//! ```
//!
//! These are the rules of `eval_const_expressions`. All of them keep the value of the expression for every row.

use isolde_sql::builtin::{self, Builtin, Eval};
use isolde_sql::typed::{Expr, ExprKind, From, Select};
use isolde_sql::{SqlError, Type, Value};
use smallvec::SmallVec;

use super::{constant_in, outer};
use crate::eval;

/// A select with its conditions simplified; `None` if there is nothing to simplify.
pub(super) fn select(select: &Select) -> Option<Select> {
    let joined = |from: &From| outer::has_any(from) || on_conditions(from).any(is_simplifiable);
    let splits = select.filter.iter().any(constant_in::is_in);
    if !splits && !select.filter.iter().any(is_simplifiable) && !select.from.iter().any(joined) {
        return None;
    }
    let mut select = select.clone();
    select.filter.iter_mut().filter(|_| splits).for_each(constant_in::take_apart);
    select.filter.iter_mut().for_each(simplify_condition);
    select.from.iter_mut().for_each(simplify_joins);
    outer::reduce(&mut select);
    Some(select)
}

fn on_conditions(from: &From) -> Box<dyn Iterator<Item = &Expr> + '_> {
    match from {
        From::Rel(_) => Box::new(std::iter::empty()),
        From::Join { left, right, on, .. } => {
            Box::new(on.iter().chain(on_conditions(left)).chain(on_conditions(right)))
        }
    }
}

fn simplify_joins(from: &mut From) {
    if let From::Join { left, right, on, .. } = from {
        simplify_joins(left);
        simplify_joins(right);
        on.iter_mut().for_each(simplify_condition);
    }
}

fn simplify_condition(e: &mut Expr) {
    simplify(e);
    settle(e);
}

/// Whether something below an expression is simpler than it looks. A column that is compared with a constant is not.
fn is_simplifiable(e: &Expr) -> bool {
    let (mut operands, mut constants, mut telling, mut below) = (0, 0, false, false);
    e.children(&mut |child| {
        operands += 1;
        if let ExprKind::Const(value) = &child.kind {
            constants += 1;
            telling |= matches!(value, Value::Null | Value::Bool(_));
        }
        below = below || is_simplifiable(child);
    });
    below || telling || (operands > 0 && operands == constants) || matches!(e.kind, ExprKind::Not(_))
}

fn simplify(e: &mut Expr) {
    e.children_mut(&mut |child| simplify(child));
    let kind = take(e);
    e.kind = match kind {
        ExprKind::And(list) => junction(list, true),
        ExprKind::Or(list) => junction(list, false),
        ExprKind::Not(operand) => negated(*operand),
        ExprKind::Call(builtin, args) if builtin.strict && args.iter().any(is_null) && !args.iter().any(fails) => {
            ExprKind::Const(Value::Null)
        }
        ExprKind::Cast { expr, .. } if is_null(&expr) && !matches!(e.ty, Type::Domain(_)) => {
            ExprKind::Const(Value::Null)
        }
        ExprKind::InList(operand, list, not) if list.iter().any(is_null) && is_compared_in_turn(&operand, &list) => {
            one_is_null(operand, list, not, e.ty)
        }
        ExprKind::Case(whens, otherwise) => case(whens, otherwise),
        ExprKind::Coalesce(list) => coalesce(list),
        kind => kind,
    };
    if is_computable(e)
        && let Ok(value) = eval::local(e, &[], &[])
    {
        e.kind = ExprKind::Const(value);
    }
}

/// Whether IN is a comparison with each, rather than one with an array of all: of arrays there are no arrays.
fn is_compared_in_turn(operand: &Expr, list: &[Expr]) -> bool {
    list.len() == 1 || matches!(operand.ty, Type::Array(_))
}

/// `a IN (b, NULL)` as `a IN (b) OR NULL`, and the same for NOT IN.
fn one_is_null(operand: Box<Expr>, mut list: Vec<Expr>, not: bool, ty: Type) -> ExprKind {
    list.retain(|e| !is_null(e));
    let null = Expr { kind: ExprKind::Const(Value::Null), ty };
    match list.is_empty() {
        true => null.kind,
        false => {
            let mut rest = Expr { kind: ExprKind::InList(operand, list, not), ty };
            simplify(&mut rest);
            junction(vec![rest, null], not)
        }
    }
}

/// The kind of an expression that is about to get another.
fn take(e: &mut Expr) -> ExprKind {
    std::mem::replace(&mut e.kind, ExprKind::Const(Value::Null))
}

pub(super) fn is_null(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Const(Value::Null))
}

fn truth(e: &Expr) -> Option<bool> {
    if let ExprKind::Const(Value::Bool(b)) = e.kind { Some(b) } else { None }
}

/// Whether it can be computed now: from constants, and always with the same result.
fn is_computable(e: &Expr) -> bool {
    let pure = match &e.kind {
        ExprKind::Call(builtin, args) if !args.is_empty() => {
            let types: SmallVec<[Type; 2]> = args.iter().map(|arg| arg.ty).collect();
            builtin.is_immutable(&types)
        }
        ExprKind::Cast { expr, .. } => !matches!(e.ty, Type::Domain(_)) && builtin::is_immutable_cast(expr.ty, e.ty),
        ExprKind::IsNull(..) | ExprKind::IsTruth(..) | ExprKind::IsDistinct(..) => true,
        ExprKind::InList(..) | ExprKind::AnyOf(_) | ExprKind::Extreme(..) => true,
        _ => false,
    };
    let mut constant = pure;
    e.children(&mut |child| constant &= matches!(child.kind, ExprKind::Const(_)));
    constant
}

/// Whether something in it could have been computed, but for an error.
fn fails(e: &Expr) -> bool {
    let mut below = is_computable(e);
    e.children(&mut |child| below = below || fails(child));
    below
}

/// The same before it is simplified.
pub(super) fn fails_early(e: &Expr) -> bool {
    fails(&simplified(e))
}

/// An expression, simplified.
pub(super) fn simplified(e: &Expr) -> Expr {
    let mut e = e.clone();
    simplify(&mut e);
    e
}

/// The error that computing what can be computed without a row comes to first.
pub(super) fn early_error(e: &Expr) -> Option<SqlError> {
    if !is_simplifiable(e) {
        return None;
    }
    first_failure(&simplified(e))
}

fn first_failure(e: &Expr) -> Option<SqlError> {
    let mut found = None;
    e.children(&mut |child| {
        if found.is_none() {
            found = first_failure(child);
        }
    });
    found.or_else(|| is_computable(e).then(|| eval::local(e, &[], &[]).err()).flatten())
}

/// AND, or OR, of what matters.
fn junction(list: Vec<Expr>, and: bool) -> ExprKind {
    let mut rest: Vec<Expr> = Vec::with_capacity(list.len());
    for e in list {
        let inner = match e.kind {
            ExprKind::And(inner) if and => inner,
            ExprKind::Or(inner) if !and => inner,
            kind => vec![Expr { kind, ty: e.ty }],
        };
        for e in inner {
            match truth(&e) {
                // An error on the way there is found before.
                Some(decided) if decided != and => {
                    let failing = rest.iter().position(fails);
                    return failing.map_or(ExprKind::Const(Value::Bool(decided)), |at| rest.swap_remove(at).kind);
                }
                Some(_) => {}
                None if is_null(&e) && rest.iter().any(is_null) => {}
                None => rest.push(e),
            }
        }
    }
    match (rest.pop(), rest.is_empty()) {
        (None, _) => ExprKind::Const(Value::Bool(and)),
        (Some(only), true) => only.kind,
        (Some(last), false) => {
            rest.push(last);
            if and { ExprKind::And(rest) } else { ExprKind::Or(rest) }
        }
    }
}

/// NOT, as far inside as it goes.
fn negated(e: Expr) -> ExprKind {
    let all = |list: Vec<Expr>| list.into_iter().map(|e| Expr { ty: e.ty, kind: negated(e) }).collect();
    match e.kind {
        ExprKind::Const(Value::Bool(b)) => ExprKind::Const(Value::Bool(!b)),
        ExprKind::Const(Value::Null) => ExprKind::Const(Value::Null),
        ExprKind::Not(operand) => operand.kind,
        ExprKind::And(list) => junction(all(list), false),
        ExprKind::Or(list) => junction(all(list), true),
        // Of a record, IS NOT NULL is not the opposite of IS NULL.
        ExprKind::IsNull(operand, not) if is_scalar(operand.ty) => ExprKind::IsNull(operand, !not),
        ExprKind::IsTruth(operand, truth, not) => ExprKind::IsTruth(operand, truth, !not),
        ExprKind::InList(operand, list, not) => ExprKind::InList(operand, list, !not),
        ExprKind::Call(builtin, args) => match opposite(builtin).filter(|_| args.iter().all(|a| is_scalar(a.ty))) {
            Some(opposite) => ExprKind::Call(opposite, args),
            None => ExprKind::Not(Box::new(Expr { kind: ExprKind::Call(builtin, args), ty: e.ty })),
        },
        kind => ExprKind::Not(Box::new(Expr { kind, ty: e.ty })),
    }
}

pub(super) fn is_scalar(ty: Type) -> bool {
    !matches!(ty, Type::Record | Type::Composite(_) | Type::Unknown)
}

/// The operator that is true where this one is false.
fn opposite(operator: &Builtin) -> Option<&'static Builtin> {
    const OPPOSITES: [(&str, &str); 5] = [("=", "<>"), ("<", ">="), (">", "<="), ("~~", "!~~"), ("~~*", "!~~*")];
    let of = |(a, b): &(&'static str, &'static str)| match operator.name {
        name if name == *a => Some(*b),
        name if name == *b => Some(*a),
        _ => None,
    };
    let name = OPPOSITES.iter().find_map(of)?;
    builtin::overloads(name).find(|b| b.args == operator.args && matches!(b.eval, Eval::Pure(_)))
}

/// CASE without the branches that are never taken.
fn case(whens: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>>) -> ExprKind {
    let mut rest = Vec::with_capacity(whens.len());
    let mut otherwise = otherwise;
    for (condition, result) in whens {
        match truth(&condition) {
            Some(true) => {
                otherwise = Some(Box::new(result));
                break;
            }
            Some(false) => {}
            None if is_null(&condition) => {}
            None => rest.push((condition, result)),
        }
    }
    match otherwise {
        Some(result) if rest.is_empty() => result.kind,
        None if rest.is_empty() => ExprKind::Const(Value::Null),
        otherwise => ExprKind::Case(rest, otherwise),
    }
}

/// COALESCE up to the first constant.
fn coalesce(list: Vec<Expr>) -> ExprKind {
    let mut rest = Vec::with_capacity(list.len());
    for e in list {
        if is_null(&e) {
            continue;
        }
        let last = matches!(e.kind, ExprKind::Const(_));
        rest.push(e);
        if last {
            break;
        }
    }
    match (rest.pop(), rest.is_empty()) {
        (None, _) => ExprKind::Const(Value::Null),
        (Some(only), true) => only.kind,
        (Some(last), false) => {
            rest.push(last);
            ExprKind::Coalesce(rest)
        }
    }
}

/// To a condition, NULL is as good as false.
fn settle(e: &mut Expr) {
    let kind = take(e);
    e.kind = match kind {
        ExprKind::Const(Value::Null) => ExprKind::Const(Value::Bool(false)),
        ExprKind::And(mut list) => {
            list.iter_mut().for_each(settle);
            junction(list, true)
        }
        ExprKind::Or(mut list) => {
            list.iter_mut().for_each(settle);
            junction(list, false)
        }
        kind => kind,
    };
}
