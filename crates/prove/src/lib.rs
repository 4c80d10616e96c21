//! Integrity rules of database procedures, proved for all arguments and all rows, or refuted by rows that were run.
//!
//! # What is proved
//!
//! Let a rule be a query every row of which must be true. A procedure *keeps* the rule if, called with any arguments,
//! in any database that meets its schema and the rule, it leaves a database that meets the rule: whatever it reads,
//! however its loops go, whichever error it raises and handles. (An error that nobody handles undoes everything, so the
//! rule holds again.) One procedure runs at a time; what two of them do to each other is the business of
//! `isolde explore`.
//!
//! # How
//!
//! ```text
//!   CREATE PROCEDURE ──bind──▶ typed ──ir──▶ graph ──plan──▶ so many rows of each table
//!                                              │
//!                 unroll, step by step over tracked rows (exact)
//!                                              │
//!                        unsat ◀── solver ──▶ sat ──▶ rows and arguments ──run on the engine──▶ witness
//! ```
//!
//! **Tracked rows.** The database is a few rows of each table, every column a variable of the solver. That few rows are
//! enough for a procedure without loops is the argument of [`plan`]; so "unsatisfiable" is a proof about databases of
//! any size. Sums and counts look at all rows; what the others contribute is a function that is not known (see
//! [`logic::Residue`]).
//!
//! **Loops.** For these, [`horn`] looks for an invariant about one arbitrary row, which is then checked by itself:
//! "safe" is said only with a certificate that a plain solver has accepted.
//!
//! **Nothing is believed.** A violation counts only when the embedded database has shown it: rows inserted, rule true,
//! procedure called, rule not true. What the solver found and the database does not show is "unknown", never "unsafe".
//!
//! **Nothing is skipped.** What the graph or the terms cannot express is refused with its place and makes the answer
//! "unknown". Where something is only partly known (a function, a deferred constraint), more is thought possible than
//! is.
//!
//! What is *absent*: no files, no printing. The only process is the solver, which [`isolde_smt`] starts.

// The documentation asks whether types are `Send`, and statements nest deeply.
#![recursion_limit = "256"]

pub mod abstraction;
pub mod admit;
pub mod exact;
pub mod guard;
pub mod horn;
pub mod interference;
pub mod ir;
pub mod logic;
mod matrix;
pub mod observe;
pub mod plan;
mod portfolio;
pub mod program;
pub mod state;
pub mod step;
pub mod universal;
pub mod vacuity;
pub mod witness;

use std::time::Duration;

pub use matrix::{Known, Options, Told, check, check_telling};
pub use portfolio::{Outcome, Verdict, decide};
pub use program::{Assumption, Gap, Named, Program, Rule};
pub use witness::Witness;

/// How far to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the solver may think about one question.
    pub timeout: Duration,
    /// How often loops are written out, at most.
    pub rounds_max: usize,
    /// Whether to look for what would help against a violation.
    pub guards: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { timeout: Duration::from_secs(20), rounds_max: 3, guards: true }
    }
}
