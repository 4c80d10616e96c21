//! Arithmetic as PostgreSQL does it: out of range and division by zero are errors, integers divide towards zero.

use isolde_smt::Term;
use isolde_sql::{SqlState, Type};

use super::context::Context;
use super::value::{Sym, power, range_of};

/// Leaves the range of its type: an error, when `there`.
pub(super) fn checked(ctx: &mut Context, value: Term, ty: Type, there: &Term) -> Term {
    let Some((low, high)) = range_of(ty) else { return value };
    let value = ctx.named(value, &isolde_smt::Sort::Int, "number");
    let outside = Term::or([value.clone().less(Term::Int(low)), Term::Int(high).less(value.clone())]);
    ctx.fails(SqlState::NUMERIC_OUT_OF_RANGE, Term::and([there.clone(), outside]));
    value
}

/// Division of integers, towards zero.
pub(super) fn divide(a: &Term, b: &Term) -> Term {
    let zero = || Term::Int(0);
    let up = |a: Term, b: Term| {
        zero().at_most(a.clone()).ite(a.clone().quotient(b.clone()), a.negated().quotient(b).negated())
    };
    match b {
        Term::Int(b) if *b > 0 => up(a.clone(), Term::Int(*b)),
        Term::Int(b) if *b < 0 => up(a.clone(), Term::Int(-b)).negated(),
        _ => zero().less(b.clone()).ite(up(a.clone(), b.clone()), up(a.clone(), b.clone().negated()).negated()),
    }
}

/// The remainder that goes with it: it has the sign of what was divided.
pub(super) fn remainder(a: &Term, b: &Term) -> Term {
    a.clone().minus(b.clone().times(divide(a, b)))
}

/// A real number to the nearest whole one; halves away from zero.
pub(super) fn rounded(value: &Term) -> Term {
    let half = || Term::Real(5, 1);
    let down = value.clone().plus(half()).floor();
    let up = value.clone().negated().plus(half()).floor().negated();
    Term::Real(0, 0).at_most(value.clone()).ite(down, up)
}

/// A real number without what is behind the point.
pub(super) fn truncated(value: &Term) -> Term {
    let up = value.clone().negated().floor().negated();
    Term::Real(0, 0).at_most(value.clone()).ite(value.clone().floor(), up)
}

/// What a column of `numeric(precision, scale)` makes of a number.
pub(super) fn limited(ctx: &mut Context, sym: &Sym, precision: u16, scale: i16) -> Term {
    let shift = Term::Real(power(u32::from(scale.unsigned_abs())), 0);
    let places =
        if scale >= 0 { sym.value.clone().times(shift.clone()) } else { sym.value.clone().over(shift.clone()) };
    let digits = ctx.named(rounded(&places), &isolde_smt::Sort::Int, "digits");
    let limit = power(u32::from(precision));
    let outside = Term::or([Term::Int(limit).at_most(digits.clone()), digits.clone().at_most(Term::Int(-limit))]);
    ctx.fails(SqlState::NUMERIC_OUT_OF_RANGE, Term::and([sym.null.clone().not(), outside]));
    let value = digits.to_real();
    if scale >= 0 { value.over(shift) } else { value.times(shift) }
}
