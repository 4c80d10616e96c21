//! Terms over sorts, printed as SMT-LIB 2, and solvers that answer.
//!
//! A question is a [`Script`]: sorts, functions and assertions, kept as values so that it can be looked at, bounded and
//! printed. Who answers it is a program found at run time (`z3`, `cvc5`), spoken to over a pipe.
//!
//! ```
//! use isolde_smt::{Script, Sort, Term};
//!
//! let mut script = Script::default();
//! let person = script.sort("Person");
//! script.function("likes", &[person.clone(), person.clone()], Sort::Bool);
//! let (x, y) = (Term::var("x"), Term::var("y"));
//! let likes = Term::apply("likes", [x, y]);
//! script.assert(Term::all([("x", &person)], Term::some([("y", &person)], likes)), "everybody likes somebody");
//! assert!(script.to_string().contains("(assert (forall ((x Person)) (exists ((y Person)) (likes x y))))"));
//! ```
//!
//! Two ways to answer: [`Solver`] asks without bounds, where "unsatisfiable" speaks about all universes; [`finite`]
//! fixes the size of each sort first, which leaves a question about truth values alone, and reads an [`Assignment`]
//! back.
//!
//! What is *absent*: nothing here knows what the terms mean. A solver that is missing, crashes, does not know or takes
//! too long is an answer of its own, never "unsatisfiable".

mod arith;
mod deadline;
pub mod finite;
mod script;
mod sexp;
mod solver;
mod stop;
mod term;

pub use deadline::Deadline;
pub use finite::{Assignment, Sizes};
pub use script::{Assertion, Function, Script};
pub use sexp::Sexp;
pub use solver::{Answer, INSTALL, Session, Silence, Solver};
pub use stop::Stop;
pub use term::{Sort, Term, quoted};
