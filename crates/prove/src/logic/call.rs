//! Operators, functions and conversions.
//!
//! Those that the solver understands are translated; of any other, only that it is a function is known.

use isolde_smt::{Sort, Term};
use isolde_sql::builtin::{Builtin, Eval, SessionFunction};
use isolde_sql::typed::Expr;
use isolde_sql::{SqlState, Type};

use super::Result;
use super::context::Context;
use super::eval::Evaluator;
use super::number::{checked, divide, limited, remainder, rounded, truncated};
use super::value::{DIGITS_MAX, Sym, sort_of};

/// A call of a builtin function or operator.
pub(super) fn builtin(evaluator: &mut Evaluator<'_>, builtin: &Builtin, args: &[Expr], ty: Type) -> Result<Sym> {
    let syms = args.iter().map(|arg| Ok((evaluator.expr(arg)?, arg.ty))).collect::<Result<Vec<_>>>()?;
    applied(evaluator, builtin, &syms, ty)
}

/// The same, of values.
pub(super) fn applied(evaluator: &mut Evaluator<'_>, builtin: &Builtin, args: &[(Sym, Type)], ty: Type) -> Result<Sym> {
    // An expression may carry a wider type than its function returns (`abs(smallint)` used as an integer): the range is
    // that of the function.
    let ty =
        if builtin.returns == Type::Unknown || sort_of(builtin.returns) != sort_of(ty) { ty } else { builtin.returns };
    let ctx = &mut *evaluator.ctx;
    match builtin.eval {
        Eval::Session(function) => session(evaluator, function, args, ty),
        Eval::Pure(_) => match translated(ctx, builtin.name, args, ty)? {
            Some(sym) => Ok(ctx.named_sym(sym, ty, "value")),
            None => {
                ctx.may_fail(None, Term::True);
                ctx.unknown_call(builtin.name, args, ty, builtin.strict)
            }
        },
    }
}

/// What depends on the session: the time is one moment within a transaction, everything else can be anything.
fn session(evaluator: &mut Evaluator<'_>, function: SessionFunction, args: &[(Sym, Type)], ty: Type) -> Result<Sym> {
    let transaction = Sym::known(evaluator.state.transaction.clone());
    let ctx = &mut *evaluator.ctx;
    if function == SessionFunction::TransactionTimestamp {
        let sym = ctx.unknown_call(&format!("transaction_timestamp:{ty}"), &[(transaction, Type::Int8)], ty, true)?;
        return Ok(Sym { null: Term::False, ..sym });
    }
    // A sequence may be exhausted, a setting unknown, a value not drawn yet.
    ctx.may_fail(None, Term::True);
    if sort_of(ty).is_none() {
        // pg_sleep, pg_advisory_lock: nothing comes back, and nothing happens to the rows.
        return Ok(Sym::null(&Sort::Int));
    }
    let nulls = Term::or(args.iter().map(|(arg, _)| arg.null.clone()));
    let sym = ctx.any(ty, "session")?;
    let never = matches!(
        function,
        SessionFunction::NextVal
            | SessionFunction::Random
            | SessionFunction::GenRandomUuid
            | SessionFunction::StatementTimestamp
            | SessionFunction::ClockTimestamp
            | SessionFunction::CurrentUser
    );
    Ok(Sym { null: if never { nulls } else { sym.null }, ..sym })
}

/// A call in the solver's own words, if it has some.
fn translated(ctx: &mut Context, name: &str, args: &[(Sym, Type)], ty: Type) -> Result<Option<Sym>> {
    let null = Term::or(args.iter().map(|(arg, _)| arg.null.clone()));
    let there = null.clone().not();
    let value = |at: usize| args[at].0.value.clone();
    let kinds: Vec<Kind> = args.iter().map(|(_, ty)| kind(*ty)).collect();
    let plain = |value: Term| Ok(Some(Sym { null: null.clone(), value }));
    if let [(a, a_ty), (b, _)] = args {
        let swapped = (b, a);
        match name {
            "=" => return plain(value(0).same_number(value(1))),
            "<>" => return plain(value(0).same_number(value(1)).not()),
            "<" => return less(ctx, (a, b), *a_ty).map(Some),
            ">" => return less(ctx, swapped, *a_ty).map(Some),
            "<=" => return less(ctx, swapped, *a_ty).map(|sym| Some(Sym { value: sym.value.not(), ..sym })),
            ">=" => return less(ctx, (a, b), *a_ty).map(|sym| Some(Sym { value: sym.value.not(), ..sym })),
            _ => {}
        }
    }
    match (name, kinds.as_slice()) {
        ("+", [Kind::Int, Kind::Int]) => plain(checked(ctx, value(0).plus(value(1)), ty, &there)),
        ("-", [Kind::Int, Kind::Int]) => plain(checked(ctx, value(0).minus(value(1)), ty, &there)),
        ("*", [Kind::Int, Kind::Int]) => plain(checked(ctx, value(0).times(value(1)), ty, &there)),
        ("-", [Kind::Int]) => plain(checked(ctx, value(0).negated(), ty, &there)),
        ("abs", [Kind::Int]) => {
            let positive = Term::Int(0).at_most(value(0)).ite(value(0), value(0).negated());
            plain(checked(ctx, positive, ty, &there))
        }
        ("/", [Kind::Int, Kind::Int]) => {
            ctx.fails(SqlState::DIVISION_BY_ZERO, Term::and([there.clone(), value(1).same_number(Term::Int(0))]));
            plain(checked(ctx, divide(&value(0), &value(1)), ty, &there))
        }
        ("%" | "mod", [Kind::Int, Kind::Int]) => {
            ctx.fails(SqlState::DIVISION_BY_ZERO, Term::and([there.clone(), value(1).same_number(Term::Int(0))]));
            plain(remainder(&value(0), &value(1)))
        }
        ("+", [Kind::Numeric, Kind::Numeric]) => plain(value(0).plus(value(1))),
        ("-", [Kind::Numeric, Kind::Numeric]) => plain(value(0).minus(value(1))),
        ("*", [Kind::Numeric, Kind::Numeric]) => plain(value(0).times(value(1))),
        ("-", [Kind::Numeric]) => plain(value(0).negated()),
        ("+", [Kind::Numeric | Kind::Int]) => plain(value(0)),
        ("abs", [Kind::Numeric]) => plain(Term::Real(0, 0).at_most(value(0)).ite(value(0), value(0).negated())),
        ("floor", [Kind::Numeric]) => plain(value(0).floor().to_real()),
        ("ceil" | "ceiling", [Kind::Numeric]) => plain(value(0).negated().floor().negated().to_real()),
        ("round", [Kind::Numeric]) => plain(rounded(&value(0)).to_real()),
        ("trunc", [Kind::Numeric]) => plain(truncated(&value(0)).to_real()),
        ("/", [Kind::Numeric, Kind::Numeric]) => {
            let zero = value(1).same_number(Term::Real(0, 0));
            ctx.fails(SqlState::DIVISION_BY_ZERO, Term::and([there.clone(), zero]));
            // PostgreSQL rounds the quotient somewhere behind the point; how far behind depends on the operands.
            let exact = value(0).over(value(1));
            let quotient = ctx.fresh(&Sort::Real, "quotient");
            let error = quotient.clone().minus(exact.clone());
            ctx.say(Term::and([Term::Real(-5, 1).at_most(error.clone()), error.at_most(Term::Real(5, 1))]));
            let zero = || Term::Real(0, 0);
            ctx.say(zero().at_most(exact.clone()).implies(zero().at_most(quotient.clone())));
            ctx.say(exact.at_most(zero()).implies(quotient.clone().at_most(zero())));
            plain(quotient)
        }
        _ => Ok(None),
    }
}

/// Whether a builtin is translated, for arguments of these types. Everything else is some function.
pub fn is_translated(builtin: &Builtin, args: &[Type]) -> bool {
    let mut ctx = Context::new();
    let args: Result<Vec<_>> = args.iter().map(|ty| Ok((ctx.any(*ty, "argument")?, *ty))).collect();
    let translated = args.and_then(|args| translated(&mut ctx, builtin.name, &args, builtin.returns));
    matches!(builtin.eval, Eval::Pure(_)) && matches!(translated, Ok(Some(_)))
}

/// What arithmetic a type has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Numeric,
    Other,
}

fn kind(ty: Type) -> Kind {
    match ty.underlying() {
        Type::Int2 | Type::Int4 | Type::Int8 => Kind::Int,
        Type::Numeric(_) => Kind::Numeric,
        _ => Kind::Other,
    }
}

/// Whether the order of a type is that of the numbers that stand for its values.
fn is_ordered(ty: Type) -> bool {
    use Type as T;
    matches!(
        ty.underlying().base(),
        T::Int2
            | T::Int4
            | T::Int8
            | T::Numeric(_)
            | T::Float4
            | T::Float8
            | T::Date
            | T::Timestamp
            | T::Timestamptz
            | T::Time
            | T::Enum(_)
    )
}

/// `a < b`
pub(crate) fn less(ctx: &mut Context, (a, b): (&Sym, &Sym), ty: Type) -> Result<Sym> {
    let null = Term::or([a.null.clone(), b.null.clone()]);
    if is_ordered(ty) {
        return Ok(Sym { null, value: a.value.clone().less(b.value.clone()) });
    }
    if ty.underlying() == Type::Bool {
        return Ok(Sym { null, value: Term::and([a.value.clone().not(), b.value.clone()]) });
    }
    let sym = ctx.unknown_call("<", &[(a.clone(), ty), (b.clone(), ty)], Type::Bool, true)?;
    // Of two different values one is the smaller; nothing is smaller than itself.
    let other = ctx.unknown_call("<", &[(b.clone(), ty), (a.clone(), ty)], Type::Bool, true)?;
    let same = a.value.clone().same_number(b.value.clone());
    ctx.say(Term::or([
        null.clone(),
        same.clone().ite(sym.value.clone().not(), sym.value.clone().iff(other.value.not())),
    ]));
    Ok(Sym { null, value: sym.value })
}

/// A conversion.
pub(super) fn cast(ctx: &mut Context, sym: &Sym, from: Type, to: Type, explicit: bool) -> Result<Sym> {
    use Type as T;
    let with = |value: Term| Sym { null: sym.null.clone(), value };
    let there = sym.null.clone().not();
    if matches!(to, T::Domain(_)) {
        // Its checks, its NOT NULL, or an error inside of a check.
        ctx.may_fail(None, Term::True);
    }
    let result = match (from.underlying(), to.underlying()) {
        (a, b) if a == b => sym.clone(),
        (T::Int2 | T::Int4 | T::Int8, T::Int2 | T::Int4 | T::Int8) => {
            let value = checked(ctx, sym.value.clone(), to, &there);
            with(value)
        }
        (T::Int2 | T::Int4 | T::Int8, T::Numeric(limit)) if is_countable(limit) => {
            let real = with(sym.value.clone().to_real());
            limit_numeric(ctx, real, limit)
        }
        (T::Numeric(_), T::Numeric(limit)) if is_countable(limit) => limit_numeric(ctx, sym.clone(), limit),
        (T::Numeric(_), T::Int2 | T::Int4 | T::Int8) => {
            let value = checked(ctx, rounded(&sym.value), to, &there);
            with(value)
        }
        // Storing a truth value in an integer goes through its text, and fails.
        (T::Bool, T::Int4) if explicit => with(sym.value.clone().ite(Term::Int(1), Term::Int(0))),
        (T::Int4, T::Bool) if explicit => with(sym.value.clone().same_number(Term::Int(0)).not()),
        (T::Text | T::Varchar(_), T::Text | T::Varchar(None)) => sym.clone(),
        (T::Varchar(Some(old)), T::Varchar(Some(new))) if old <= new => sym.clone(),
        (T::Text | T::Varchar(_), T::Varchar(Some(_))) if !explicit => {
            ctx.may_fail(Some(SqlState::STRING_TOO_LONG), there);
            ctx.assumptions.insert("no text has blanks beyond the length of the column that it is stored in");
            sym.clone()
        }
        (T::Bpchar(Some(old)), T::Bpchar(Some(new))) if old <= new => sym.clone(),
        (T::Bpchar(_), T::Bpchar(_)) if !explicit => {
            ctx.may_fail(Some(SqlState::STRING_TOO_LONG), there);
            sym.clone()
        }
        _ => {
            ctx.may_fail(None, there);
            ctx.unknown_call(&format!("cast to {to}"), &[(sym.clone(), from)], to, true)?
        }
    };
    Ok(ctx.named_sym(result, to, "cast"))
}

/// The digits of a `numeric(precision, scale)` fit the numbers that terms are written with.
fn is_countable(limit: Option<(u16, i16)>) -> bool {
    limit.is_none_or(|(precision, scale)| precision <= DIGITS_MAX && scale.unsigned_abs() <= DIGITS_MAX)
}

fn limit_numeric(ctx: &mut Context, sym: Sym, limit: Option<(u16, i16)>) -> Sym {
    match limit {
        None => sym,
        Some((precision, scale)) => Sym { value: limited(ctx, &sym, precision, scale), null: sym.null },
    }
}

/// What storing a value of one type in a place of another does to it.
pub(crate) fn stored(ctx: &mut Context, sym: &Sym, from: Type, to: Type) -> Result<Sym> {
    cast(ctx, sym, from, to, false)
}
