//! What a data model means: which data it allows, and what one delete does to them.
//!
//! A [`Schema`] is a model under one [`Semantics`]: which references must be filled, what is unique, and the rules of
//! deletion in the order in which they run. Two things read it, and they are kept apart so that each checks the other:
//!
//! ```text
//!                 ┌─▶ encode: sorts, functions, formulas ──▶ solver ──▶ for all data, or a candidate ──┐
//!   Schema ───────┤                                                                                    ▼
//!                 └─▶ instance, execute, evaluate: some data, and one delete carried out ◀───── replayed here
//! ```
//!
//! [`execute`] *is* the meaning of a delete: rows, callbacks in their order, constraints of the database. [`encode`]
//! describes all its results at once, and where the order among siblings would matter it allows more than can happen,
//! never less. So "no data break it" is a proof; and what the solver offers as a counterexample is shown only after
//! [`execute`] has reproduced it ([`decide`]).
//!
//! [`execute`]: mod@execute
//! [`encode`]: mod@encode
//! [`decide`]: fn@decide

pub mod decide;
pub mod encode;
pub mod evaluate;
pub mod execute;
pub mod instance;
pub mod project;
pub mod schema;
mod settled;
pub mod worlds;

pub use decide::{Case, Limits, Question, Verdict, bounded, decide, doubt, encoded};
pub use execute::{Order, Outcome, carry_out, delete};
pub use instance::{Instance, Object};
pub use project::Projection;
pub use schema::{Action, Reach, Reached, Rule, Schema, Semantics};
pub use settled::settled;
