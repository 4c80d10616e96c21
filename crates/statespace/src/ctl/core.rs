//! The three operators that all others come down to.
//!
//! `EX` (some step leads to), `EU` (some path leads to, over) and `EG` (some path stays for ever) can say everything,
//! with negation:
//!
//! ```text
//!   EF f      E[TRUE U f]                        AX f      ~EX ~f
//!   AF f      ~EG ~f                             AG f      ~E[TRUE U ~f]
//!   E[f W g]  E[f U g] \/ EG f                   A[f U g]  ~(E[~g U ~f /\ ~g] \/ EG ~g)
//!   E[f R g]  E[g U f /\ g] \/ EG g              A[f W g]  ~E[~g U ~f /\ ~g]
//!                                                A[f R g]  ~E[~f U ~g]
//! ```
//!
//! A formula in this form is also the name of a label: `AG f` and `EF ~f` have one label between them.

use std::fmt;
use std::rc::Rc;

use super::{Binary, Formula, Paths, Unary};

/// A formula with few operators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Core {
    /// Everywhere.
    True,
    /// TLA+ text.
    Atom(Rc<str>),
    /// Not.
    Not(Rc<Core>),
    /// Both.
    And(Rc<Core>, Rc<Core>),
    /// One of them.
    Or(Rc<Core>, Rc<Core>),
    /// Some step leads to it.
    Ex(Rc<Core>),
    /// Over the first, some path leads to the second.
    Eu(Rc<Core>, Rc<Core>),
    /// Some path stays in it for ever.
    Eg(Rc<Core>),
}

impl Core {
    /// What a formula comes down to.
    pub fn of(formula: &Formula) -> Rc<Core> {
        let of = |formula: &Formula| Core::of(formula);
        match formula {
            Formula::Atom(text) if text == "TRUE" => Rc::new(Core::True),
            Formula::Atom(text) if text == "FALSE" => not(Rc::new(Core::True)),
            Formula::Atom(text) => Rc::new(Core::Atom(text.as_str().into())),
            Formula::Not(f) => not(of(f)),
            Formula::And(f, g) => and(of(f), of(g)),
            Formula::Or(f, g) => or(of(f), of(g)),
            Formula::Implies(f, g) => or(not(of(f)), of(g)),
            Formula::Equivalent(f, g) => {
                let (f, g) = (of(f), of(g));
                or(and(f.clone(), g.clone()), and(not(f), not(g)))
            }
            Formula::Unary(Paths::Some, when, f) => some(*when, of(f)),
            Formula::Unary(Paths::All, Unary::Next, f) => not(some(Unary::Next, not(of(f)))),
            Formula::Unary(Paths::All, Unary::Finally, f) => not(some(Unary::Globally, not(of(f)))),
            Formula::Unary(Paths::All, Unary::Globally, f) => not(some(Unary::Finally, not(of(f)))),
            Formula::Binary(Paths::Some, when, f, g) => some_of_two(*when, of(f), of(g)),
            Formula::Binary(Paths::All, when, f, g) => not(fails_on_some(*when, of(f), of(g))),
        }
    }

    /// Whether only the state itself matters.
    pub fn is_local(&self) -> bool {
        match self {
            Core::True | Core::Atom(_) => true,
            Core::Not(f) => f.is_local(),
            Core::And(f, g) | Core::Or(f, g) => f.is_local() && g.is_local(),
            Core::Ex(_) | Core::Eu(..) | Core::Eg(_) => false,
        }
    }
}

fn not(f: Rc<Core>) -> Rc<Core> {
    match &*f {
        Core::Not(inner) => inner.clone(),
        _ => Rc::new(Core::Not(f)),
    }
}

fn and(f: Rc<Core>, g: Rc<Core>) -> Rc<Core> {
    Rc::new(Core::And(f, g))
}

fn or(f: Rc<Core>, g: Rc<Core>) -> Rc<Core> {
    Rc::new(Core::Or(f, g))
}

fn until(f: Rc<Core>, g: Rc<Core>) -> Rc<Core> {
    Rc::new(Core::Eu(f, g))
}

fn globally(f: Rc<Core>) -> Rc<Core> {
    Rc::new(Core::Eg(f))
}

fn some(when: Unary, f: Rc<Core>) -> Rc<Core> {
    match when {
        Unary::Next => Rc::new(Core::Ex(f)),
        Unary::Finally => until(Rc::new(Core::True), f),
        Unary::Globally => globally(f),
    }
}

fn some_of_two(when: Binary, f: Rc<Core>, g: Rc<Core>) -> Rc<Core> {
    match when {
        Binary::Until => until(f, g),
        Binary::WeakUntil => or(until(f.clone(), g), globally(f)),
        Binary::Release => or(until(g.clone(), and(f, g.clone())), globally(g)),
    }
}

/// On some path it is not so.
fn fails_on_some(when: Binary, f: Rc<Core>, g: Rc<Core>) -> Rc<Core> {
    let (not_f, not_g) = (not(f), not(g));
    let broken = |not_f| until(not_g.clone(), and(not_f, not_g.clone()));
    match when {
        Binary::Until => or(broken(not_f), globally(not_g.clone())),
        Binary::WeakUntil => broken(not_f),
        Binary::Release => until(not_f, not_g),
    }
}

/// The name of the label.
impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Core::True => f.write_str("TRUE"),
            Core::Atom(text) => f.write_str(text),
            Core::Not(inner) => write!(f, "~{}", Part(inner)),
            Core::And(a, b) => write!(f, r"{} /\ {}", Part(a), Part(b)),
            Core::Or(a, b) => write!(f, r"{} \/ {}", Part(a), Part(b)),
            Core::Ex(inner) => write!(f, "EX {}", Part(inner)),
            Core::Eu(a, b) if **a == Core::True => write!(f, "EF {}", Part(b)),
            Core::Eu(a, b) => write!(f, "E[{} U {}]", Part(a), Part(b)),
            Core::Eg(inner) => write!(f, "EG {}", Part(inner)),
        }
    }
}

/// As part of another: in parentheses, unless it cannot be taken apart.
struct Part<'a>(&'a Core);

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Core::And(..) | Core::Or(..) => write!(f, "({})", self.0),
            Core::Atom(text) if !text.chars().all(|c| c.is_alphanumeric() || c == '_') => write!(f, "({text})"),
            other => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(text: &str) -> String {
        Core::of(&Formula::parse(text).expect("a formula")).to_string()
    }

    #[test]
    fn formulas_that_mean_the_same_have_one_label() {
        assert_eq!(core("AG x = 1"), "~EF ~(x = 1)");
        assert_eq!(core("~EF ~(x = 1)"), "~EF ~(x = 1)");
        assert_eq!(core("AG (p => AF q)"), r"~EF ~(~p \/ ~EG ~q)");
        assert_eq!(core("A[p U q]"), r"~(E[~q U (~p /\ ~q)] \/ EG ~q)");
        assert_eq!(core("E[p R q]"), r"E[q U (p /\ q)] \/ EG q");
        assert_eq!(core("~~p"), "p");
    }
}
