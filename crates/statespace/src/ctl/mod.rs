//! Computation tree logic: questions about what can happen, and about what must.
//!
//! The runs of a system from one state are a tree: at every state, one branch for each step. A formula of CTL says how
//! much of the tree it means (**E**, on some path; **A**, on every path) and when (ne**X**t, **F**inally, **G**lobally,
//! **U**ntil, **W**eak until, **R**elease):
//!
//! | formula | in a state it means |
//! |---|---|
//! | `EF (pc = "done")` | one can still get to done |
//! | `AG EF (hr = 12)` | whatever happens, 12 o'clock stays possible |
//! | `AG (req => AF ack)` | every request is answered, on every path |
//! | `A[~serve U paid]` | nothing is served before it is paid, and it is paid |
//! | `E[a W b]`, `E[b R a]` | as U without the promise; a up to and including the first b, or for ever |
//!
//! What stands between the operators is TLA+, and true or false in a state. A formula is decided by *labelling* (Clarke
//! and Emerson): for each part, smallest first, the set of states in which it holds. Every operator comes down to three
//! ([`Core`]), each a walk over the graph, so labels are shared between formulas that look different.
//!
//! Paths go on for ever. A state that no step leaves is one in which nothing happens any more: the path stays there, as
//! a behaviour of TLA+ does.

mod core;
mod explain;
mod label;
mod parse;

pub use core::Core;
pub use explain::{Evidence, Shown};
pub use label::{Checker, Labels};
pub use parse::ParseError;

use std::fmt;

/// A formula as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// TLA+ text that is true or false in a state, with single spaces.
    Atom(String),
    /// `~f`
    Not(Box<Formula>),
    /// `f /\ g`
    And(Box<Formula>, Box<Formula>),
    /// `f \/ g`
    Or(Box<Formula>, Box<Formula>),
    /// `f => g`
    Implies(Box<Formula>, Box<Formula>),
    /// `f <=> g`
    Equivalent(Box<Formula>, Box<Formula>),
    /// `EX f` and its like.
    Unary(Paths, Unary, Box<Formula>),
    /// `E[f U g]` and its like.
    Binary(Paths, Binary, Box<Formula>, Box<Formula>),
}

/// How many paths are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paths {
    /// `E`
    Some,
    /// `A`
    All,
}

/// When, said of one formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// After one step.
    Next,
    /// Now or later.
    Finally,
    /// Now and always.
    Globally,
}

/// When, said of two formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The first until the second, which comes.
    Until,
    /// The first until the second, or for ever.
    WeakUntil,
    /// The second up to and including a first, or for ever.
    Release,
}

/// Operators of one formula, as they are written.
const UNARY: [(&str, Paths, Unary); 6] = [
    ("EX", Paths::Some, Unary::Next),
    ("AX", Paths::All, Unary::Next),
    ("EF", Paths::Some, Unary::Finally),
    ("AF", Paths::All, Unary::Finally),
    ("EG", Paths::Some, Unary::Globally),
    ("AG", Paths::All, Unary::Globally),
];

/// Operators of two formulas, as they are written.
const BINARY: [(&str, Binary); 3] = [("U", Binary::Until), ("W", Binary::WeakUntil), ("R", Binary::Release)];

impl Formula {
    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Formula, ParseError> {
        parse::parse(text)
    }

    /// What stands between the operators, from left to right.
    pub fn atoms(&self) -> Vec<&str> {
        match self {
            Formula::Atom(text) => vec![text],
            Formula::Not(f) | Formula::Unary(_, _, f) => f.atoms(),
            Formula::And(f, g)
            | Formula::Or(f, g)
            | Formula::Implies(f, g)
            | Formula::Equivalent(f, g)
            | Formula::Binary(_, _, f, g) => [f.atoms(), g.atoms()].concat(),
        }
    }
}

/// The formula in one canonical spelling.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Formula::Atom(text) => f.write_str(text),
            Formula::Not(inner) => write!(f, "~{}", Operand(inner)),
            Formula::And(a, b) => write!(f, r"{} /\ {}", Operand(a), Operand(b)),
            Formula::Or(a, b) => write!(f, r"{} \/ {}", Operand(a), Operand(b)),
            Formula::Implies(a, b) => write!(f, "{} => {}", Operand(a), Operand(b)),
            Formula::Equivalent(a, b) => write!(f, "{} <=> {}", Operand(a), Operand(b)),
            Formula::Unary(paths, when, inner) => {
                let (name, ..) =
                    UNARY.iter().find(|op| (op.1, op.2) == (*paths, *when)).expect("every operator is listed");
                write!(f, "{name} {}", Operand(inner))
            }
            Formula::Binary(paths, when, a, b) => {
                let (name, _) = BINARY.iter().find(|op| op.1 == *when).expect("every operator is listed");
                let paths = if *paths == Paths::Some { "E" } else { "A" };
                write!(f, "{paths}[{} {name} {}]", Operand(a), Operand(b))
            }
        }
    }
}

/// A formula as part of another: in parentheses, unless it cannot be taken apart.
struct Operand<'a>(&'a Formula);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Formula::Not(_) | Formula::Unary(..) | Formula::Binary(..) => self.0.fmt(f),
            Formula::Atom(text) if text.chars().all(|c| c.is_alphanumeric() || c == '_') => f.write_str(text),
            other => write!(f, "({other})"),
        }
    }
}
