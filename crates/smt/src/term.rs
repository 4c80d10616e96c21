//! Terms: what can be said about objects of several sorts.
//!
//! The constructors tidy up as they go (`and` of nothing is true, `not not x` is `x`), so that what is printed stays
//! close to what a person would write, and so that [`finite`](crate::finite) can expand quantifiers without drowning.

use std::fmt;
use std::sync::Arc;

/// What a term ranges over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// True or false.
    Bool,
    /// Whole numbers, without bounds.
    Int,
    /// Real numbers.
    Real,
    /// A sort of its own, of which nothing is known but its name.
    Named(Arc<str>),
}

/// A term, or a formula: a term of sort [`Sort::Bool`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// Always true.
    True,
    /// Never.
    False,
    /// A variable that a quantifier binds.
    Var(Arc<str>),
    /// A function of these; a constant, if there are none.
    Apply(Arc<str>, Vec<Term>),
    /// Not.
    Not(Box<Term>),
    /// All of them.
    And(Vec<Term>),
    /// One of them, or more.
    Or(Vec<Term>),
    /// The second, if the first.
    Implies(Box<Term>, Box<Term>),
    /// Both, or neither.
    Iff(Box<Term>, Box<Term>),
    /// The same object.
    Equal(Box<Term>, Box<Term>),
    /// For all.
    All(Vec<(Arc<str>, Sort)>, Box<Term>),
    /// For some.
    Some(Vec<(Arc<str>, Sort)>, Box<Term>),
    /// At most so many of them are true.
    AtMost(usize, Vec<Term>),
    /// A whole number.
    Int(i128),
    /// A real number, as a whole number over a power of ten.
    Real(i128, u32),
    /// The second if the first, otherwise the third.
    Ite(Box<Term>, Box<Term>, Box<Term>),
}

impl Term {
    /// A variable.
    pub fn var(name: impl Into<Arc<str>>) -> Term {
        Term::Var(name.into())
    }

    /// A constant.
    pub fn constant(name: impl Into<Arc<str>>) -> Term {
        Term::Apply(name.into(), Vec::new())
    }

    /// A function of these.
    pub fn apply(name: impl Into<Arc<str>>, arguments: impl IntoIterator<Item = Term>) -> Term {
        Term::Apply(name.into(), arguments.into_iter().collect())
    }

    /// Not this.
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Term {
        match self {
            Term::True => Term::False,
            Term::False => Term::True,
            Term::Not(inner) => *inner,
            other => Term::Not(Box::new(other)),
        }
    }

    /// All of these.
    pub fn and(terms: impl IntoIterator<Item = Term>) -> Term {
        let mut all = Vec::new();
        for term in terms {
            match term {
                Term::True => {}
                Term::False => return Term::False,
                Term::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Term::True,
            1 => all.remove(0),
            _ => Term::And(all),
        }
    }

    /// One of these, or more.
    pub fn or(terms: impl IntoIterator<Item = Term>) -> Term {
        let mut any = Vec::new();
        for term in terms {
            match term {
                Term::False => {}
                Term::True => return Term::True,
                Term::Or(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        match any.len() {
            0 => Term::False,
            1 => any.remove(0),
            _ => Term::Or(any),
        }
    }

    /// `then`, if this.
    pub fn implies(self, then: Term) -> Term {
        match (self, then) {
            (Term::True, then) => then,
            (Term::False, _) | (_, Term::True) => Term::True,
            (when, Term::False) => when.not(),
            (when, then) => Term::Implies(Box::new(when), Box::new(then)),
        }
    }

    /// This and that, or neither.
    pub fn iff(self, other: Term) -> Term {
        match (self, other) {
            (Term::True, other) | (other, Term::True) => other,
            (Term::False, other) | (other, Term::False) => other.not(),
            (one, other) => Term::Iff(Box::new(one), Box::new(other)),
        }
    }

    /// The same object as that.
    pub fn equal(self, other: Term) -> Term {
        match self == other {
            true => Term::True,
            false => Term::Equal(Box::new(self), Box::new(other)),
        }
    }

    /// For all.
    pub fn all<'a, N: Into<Arc<str>>>(variables: impl IntoIterator<Item = (N, &'a Sort)>, body: Term) -> Term {
        match body {
            Term::True | Term::False => body,
            body => Term::All(bind(variables), Box::new(body)),
        }
    }

    /// For some. A sort is never empty.
    pub fn some<'a, N: Into<Arc<str>>>(variables: impl IntoIterator<Item = (N, &'a Sort)>, body: Term) -> Term {
        match body {
            Term::True | Term::False => body,
            body => Term::Some(bind(variables), Box::new(body)),
        }
    }

    /// How many quantifiers and operations it has: the measure of the paper's "clauses".
    pub fn size(&self) -> usize {
        match self {
            Term::True | Term::False | Term::Var(_) | Term::Int(_) | Term::Real(..) => 0,
            Term::Apply(_, inner) => inner.iter().map(Term::size).sum(),
            Term::Ite(a, b, c) => 1 + a.size() + b.size() + c.size(),
            Term::And(inner) | Term::Or(inner) | Term::AtMost(_, inner) => {
                1 + inner.iter().map(Term::size).sum::<usize>()
            }
            Term::Not(inner) | Term::All(_, inner) | Term::Some(_, inner) => 1 + inner.size(),
            Term::Implies(a, b) | Term::Iff(a, b) | Term::Equal(a, b) => 1 + a.size() + b.size(),
        }
    }

    /// How many variables its quantifiers bind.
    pub fn variables(&self) -> usize {
        match self {
            Term::True | Term::False | Term::Var(_) | Term::Int(_) | Term::Real(..) => 0,
            Term::Ite(a, b, c) => a.variables() + b.variables() + c.variables(),
            Term::Apply(_, inner) | Term::And(inner) | Term::Or(inner) | Term::AtMost(_, inner) => {
                inner.iter().map(Term::variables).sum()
            }
            Term::Not(inner) => inner.variables(),
            Term::All(bound, inner) | Term::Some(bound, inner) => bound.len() + inner.variables(),
            Term::Implies(a, b) | Term::Iff(a, b) | Term::Equal(a, b) => a.variables() + b.variables(),
        }
    }
}

fn bind<'a, N: Into<Arc<str>>>(variables: impl IntoIterator<Item = (N, &'a Sort)>) -> Vec<(Arc<str>, Sort)> {
    variables.into_iter().map(|(name, sort)| (name.into(), sort.clone())).collect()
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sort::Bool => f.write_str("Bool"),
            Sort::Int => f.write_str("Int"),
            Sort::Real => f.write_str("Real"),
            Sort::Named(name) => symbol(f, name),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::True => f.write_str("true"),
            Term::False => f.write_str("false"),
            Term::Var(name) => symbol(f, name),
            Term::Apply(name, arguments) if arguments.is_empty() => symbol(f, name),
            Term::Apply(name, arguments) => {
                f.write_str("(")?;
                symbol(f, name)?;
                arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
                f.write_str(")")
            }
            Term::Not(inner) => write!(f, "(not {inner})"),
            Term::And(inner) => operation(f, "and", inner),
            Term::Or(inner) => operation(f, "or", inner),
            Term::Implies(a, b) => write!(f, "(=> {a} {b})"),
            Term::Iff(a, b) | Term::Equal(a, b) => write!(f, "(= {a} {b})"),
            Term::All(bound, body) => quantifier(f, "forall", bound, body),
            Term::Some(bound, body) => quantifier(f, "exists", bound, body),
            Term::AtMost(most, inner) => {
                f.write_str("(<= (+ 0")?;
                inner.iter().try_for_each(|term| write!(f, " (ite {term} 1 0)"))?;
                write!(f, ") {most})")
            }
            Term::Int(number) if *number < 0 => write!(f, "(- {})", number.unsigned_abs()),
            Term::Int(number) => write!(f, "{number}"),
            Term::Real(number, 0) => write!(f, "(to_real {})", Term::Int(*number)),
            Term::Real(number, places) => {
                write!(f, "(/ (to_real {}) 1{}.0)", Term::Int(*number), "0".repeat(*places as usize))
            }
            Term::Ite(a, b, c) => write!(f, "(ite {a} {b} {c})"),
        }
    }
}

fn operation(f: &mut fmt::Formatter<'_>, name: &str, inner: &[Term]) -> fmt::Result {
    write!(f, "({name}")?;
    inner.iter().try_for_each(|term| write!(f, " {term}"))?;
    f.write_str(")")
}

fn quantifier(f: &mut fmt::Formatter<'_>, word: &str, bound: &[(Arc<str>, Sort)], body: &Term) -> fmt::Result {
    write!(f, "({word} (")?;
    for (index, (name, sort)) in bound.iter().enumerate() {
        f.write_str(if index == 0 { "(" } else { " (" })?;
        symbol(f, name)?;
        write!(f, " {sort})")?;
    }
    write!(f, ") {body})")
}

/// A name as SMT-LIB wants it: between bars, unless it is plain. Bars and backslashes cannot be written at all.
pub(crate) fn symbol(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
    match name.chars().all(plain) && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => f.write_str(name),
        false => write!(f, "|{}|", name.replace(['|', '\\'], "_")),
    }
}

/// A name as it is printed.
pub fn quoted(name: &str) -> String {
    struct Name<'a>(&'a str);
    impl fmt::Display for Name<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            symbol(f, self.0)
        }
    }
    Name(name).to_string()
}
