//! One value: whether it is NULL, and what it is otherwise.

use isolde_smt::{Sort, Term};
use isolde_sql::Type;

/// A value. `value` means nothing where `null` is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sym {
    /// It is NULL.
    pub null: Term,
    /// What it is.
    pub value: Term,
}

impl Sym {
    /// A value that is not NULL.
    pub fn known(value: Term) -> Sym {
        Sym { null: Term::False, value }
    }

    /// NULL, of a sort.
    pub fn null(sort: &Sort) -> Sym {
        let value = match sort {
            Sort::Bool => Term::False,
            Sort::Real => Term::Real(0, 0),
            _ => Term::Int(0),
        };
        Sym { null: Term::True, value }
    }

    /// A truth value.
    pub fn truth(holds: bool) -> Sym {
        Sym::known(if holds { Term::True } else { Term::False })
    }

    /// A condition from when it is true and when it is false; unknown otherwise.
    pub fn condition(is_true: Term, is_false: Term) -> Sym {
        Sym { null: Term::or([is_true.clone(), is_false]).not(), value: is_true }
    }

    /// It is true: neither false nor NULL.
    pub fn is_true(&self) -> Term {
        Term::and([self.null.clone().not(), self.value.clone()])
    }

    /// It is false.
    pub fn is_false(&self) -> Term {
        Term::and([self.null.clone().not(), self.value.clone().not()])
    }

    /// One value or the other.
    pub fn ite(when: &Term, then: &Sym, otherwise: &Sym) -> Sym {
        Sym {
            null: when.clone().ite(then.null.clone(), otherwise.null.clone()),
            value: when.clone().ite(then.value.clone(), otherwise.value.clone()),
        }
    }

    /// Both are there and equal: what `=` calls true.
    pub fn equals(&self, other: &Sym) -> Term {
        let same = self.value.clone().same_number(other.value.clone());
        Term::and([self.null.clone().not(), other.null.clone().not(), same])
    }

    /// Equal, or both NULL: what `IS NOT DISTINCT FROM` calls true.
    pub fn same(&self, other: &Sym) -> Term {
        Term::or([Term::and([self.null.clone(), other.null.clone()]), self.equals(other)])
    }
}

/// What values of a type are to the solver; `None` for rows, which are taken apart before.
pub fn sort_of(ty: Type) -> Option<Sort> {
    match ty.underlying() {
        Type::Bool => Some(Sort::Bool),
        Type::Numeric(_) | Type::Float8 | Type::Float4 => Some(Sort::Real),
        Type::Record | Type::Composite(_) | Type::Void => None,
        _ => Some(Sort::Int),
    }
}

/// Between which whole numbers the values of a type lie.
pub fn range_of(ty: Type) -> Option<(i128, i128)> {
    const DAY_US: i128 = 86_400_000_000;
    match ty.underlying().base() {
        Type::Int2 => Some((i16::MIN.into(), i16::MAX.into())),
        Type::Int4 => Some((i32::MIN.into(), i32::MAX.into())),
        Type::Int8 => Some((i64::MIN.into(), i64::MAX.into())),
        // The ends stand for minus and plus infinity.
        Type::Date => Some((i32::MIN.into(), i32::MAX.into())),
        Type::Timestamp | Type::Timestamptz => Some((i64::MIN.into(), i64::MAX.into())),
        Type::Time => Some((0, DAY_US)),
        Type::Enum(user) => Some((0, user.labels().len() as i128 - 1)),
        _ => None,
    }
}

/// Nothing but values of the type can be there.
pub fn well_typed(sym: &Sym, ty: Type) -> Term {
    let value = || sym.value.clone();
    let inside = match (range_of(ty), ty.underlying()) {
        (Some((low, high)), _) => Term::and([Term::Int(low).at_most(value()), value().at_most(Term::Int(high))]),
        (None, Type::Numeric(Some((precision, scale))))
            if precision <= DIGITS_MAX && scale.unsigned_abs() <= DIGITS_MAX =>
        {
            decimal(&value(), precision, scale)
        }
        _ => Term::True,
    };
    Term::or([sym.null.clone(), inside])
}

/// A real number with so many digits, so many of them behind the point.
pub fn decimal(value: &Term, precision: u16, scale: i16) -> Term {
    let shift = Term::Real(power(u32::from(scale.unsigned_abs())), 0);
    let shifted = if scale >= 0 { value.clone().times(shift) } else { value.clone().over(shift) };
    let whole = shifted.clone().floor().to_real().equal(shifted.clone());
    let limit = power(u32::from(precision));
    Term::and([whole, Term::Real(-limit, 0).less(shifted.clone()), shifted.less(Term::Real(limit, 0))])
}

/// More digits than these do not fit the numbers that terms are written with.
pub(super) const DIGITS_MAX: u16 = 38;

/// A power of ten, of at most [`DIGITS_MAX`] digits.
pub(super) fn power(digits: u32) -> i128 {
    10i128.checked_pow(digits).unwrap_or(i128::MAX)
}
