//! Numbers: the operations that SMT-LIB gives `Int` and `Real`, with constants worked out as terms are made.
//!
//! Whole numbers have no bounds here. Whoever speaks about a machine's integers says where they end.

use crate::term::Term;

impl Term {
    /// A sum.
    pub fn plus(self, other: Term) -> Term {
        match (self, other) {
            (Term::Int(0) | Term::Real(0, _), x) | (x, Term::Int(0) | Term::Real(0, _)) => x,
            (Term::Int(a), Term::Int(b)) => folded(a.checked_add(b), "+", a, b),
            (a, b) => Term::apply("+", [a, b]),
        }
    }

    /// A difference.
    pub fn minus(self, other: Term) -> Term {
        match (self, other) {
            (x, Term::Int(0) | Term::Real(0, _)) => x,
            (Term::Int(a), Term::Int(b)) => folded(a.checked_sub(b), "-", a, b),
            (a, b) => Term::apply("-", [a, b]),
        }
    }

    /// The same with the other sign.
    pub fn negated(self) -> Term {
        match self {
            Term::Int(a) if a != i128::MIN => Term::Int(-a),
            Term::Real(a, places) if a != i128::MIN => Term::Real(-a, places),
            a => Term::apply("-", [a]),
        }
    }

    /// A product.
    pub fn times(self, other: Term) -> Term {
        match (self, other) {
            (Term::Int(1), x) | (x, Term::Int(1)) => x,
            (Term::Int(a), Term::Int(b)) => folded(a.checked_mul(b), "*", a, b),
            (a, b) => Term::apply("*", [a, b]),
        }
    }

    /// Division of whole numbers as SMT-LIB has it: the remainder is never negative.
    pub fn quotient(self, other: Term) -> Term {
        Term::apply("div", [self, other])
    }

    /// Division of real numbers.
    pub fn over(self, other: Term) -> Term {
        Term::apply("/", [self, other])
    }

    /// At most.
    pub fn at_most(self, other: Term) -> Term {
        match (&self, &other) {
            (Term::Int(a), Term::Int(b)) => truth(a <= b),
            (a, b) if a == b => Term::True,
            _ => Term::apply("<=", [self, other]),
        }
    }

    /// Less than.
    pub fn less(self, other: Term) -> Term {
        match (&self, &other) {
            (Term::Int(a), Term::Int(b)) => truth(a < b),
            (a, b) if a == b => Term::False,
            _ => Term::apply("<", [self, other]),
        }
    }

    /// A whole number as a real one.
    pub fn to_real(self) -> Term {
        match self {
            Term::Int(a) => Term::Real(a, 0),
            a => Term::apply("to_real", [a]),
        }
    }

    /// The largest whole number that is not above.
    pub fn floor(self) -> Term {
        match self {
            Term::Real(a, 0) => Term::Int(a),
            a => Term::apply("to_int", [a]),
        }
    }

    /// `then` if this, otherwise `otherwise`.
    pub fn ite(self, then: Term, otherwise: Term) -> Term {
        match (self, then, otherwise) {
            (Term::True, then, _) => then,
            (Term::False, _, otherwise) => otherwise,
            (_, then, otherwise) if then == otherwise => then,
            (when, Term::True, Term::False) => when,
            (when, Term::False, Term::True) => when.not(),
            (when, Term::True, otherwise) => Term::or([when, otherwise]),
            (when, Term::False, otherwise) => Term::and([when.not(), otherwise]),
            (when, then, Term::False) => Term::and([when, then]),
            (when, then, Term::True) => Term::or([when.not(), then]),
            (when, then, otherwise) => Term::Ite(Box::new(when), Box::new(then), Box::new(otherwise)),
        }
    }

    /// The same number; two constants are compared at once.
    pub fn same_number(self, other: Term) -> Term {
        match (&self, &other) {
            (Term::Int(a), Term::Int(b)) => truth(a == b),
            (Term::Real(a, p), Term::Real(b, q)) if p == q => truth(a == b),
            _ => self.equal(other),
        }
    }
}

fn truth(holds: bool) -> Term {
    if holds { Term::True } else { Term::False }
}

/// The number, or the operation if it is too large for us.
fn folded(number: Option<i128>, operation: &str, a: i128, b: i128) -> Term {
    number.map_or_else(|| Term::apply(operation, [Term::Int(a), Term::Int(b)]), Term::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_worked_out() {
        let x = Term::constant("x");
        assert_eq!(Term::Int(2).plus(Term::Int(3)), Term::Int(5));
        assert_eq!(Term::Int(2).less(Term::Int(3)), Term::True);
        assert_eq!(x.clone().minus(Term::Int(7)).to_string(), "(- x 7)");
        assert_eq!(Term::Int(-7).times(x.clone()).to_string(), "(* (- 7) x)");
        assert_eq!(Term::Real(-150, 2).to_string(), "(/ (to_real (- 150)) 100.0)");
        assert_eq!(Term::constant("b").ite(x.clone(), Term::Int(1)).to_string(), "(ite b x 1)");
    }
}
