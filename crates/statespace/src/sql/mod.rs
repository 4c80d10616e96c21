//! Exploration in the database itself.
//!
//! The paper's idea, set at a time: the successors of all states of a level are one query, and what was not there
//! before is the next level. A state is its key, so a successor is arithmetic on a number, and finding out whether it
//! is new is one look into the index of the table. Two forms of the same thing ([`Form`]):
//!
//! ```text
//!   closure   WITH RECURSIVE r(k) AS (initial UNION successors of r)         one statement; no levels, no stop before the end
//!   levels    next := successors(frontier) without state; state += next      a transaction each; goes on after an interruption
//! ```
//!
//! What has no SQL form is done by tables that the evaluator fills ([`explore_by_tables`]), level by level.
//!
//! A new value that has no code in its slot, and a step that means nothing where it is taken, give a *negative* key
//! ([`Trouble`]): an error that cannot be overlooked, never a wrong state. Nothing of such a level is kept.

mod compose;
mod ctl;
mod dialect;
mod explore;
mod expr;
mod local;
mod script;

pub use compose::{Composed, compose};
pub use ctl::SqlChecker;
pub use dialect::Dialect;
pub use explore::{Explored, Finding, Form, Options, Stop, explore, transitions};
pub use expr::{Printer, Successor, Trouble};
pub use local::{ByTables, explore_by_tables};
pub use script::script;
