//! TLA+ state spaces: explored, kept as tables, and asked by invariants, CTL and liveness.
//!
//! A specification says which states a system may start in and which steps it may take. With finitely many values that
//! is a graph, and every question about behaviours is a question about this graph. Rab, Ryšavý and Švéda ("On the
//! Implementation of State-space Exploration Procedure in a Relational Database Management System") keep it as two
//! tables; here, too, the graph is a thing of its own that can be kept and asked again.
//!
//! ```text
//!   Spec.tla, Spec.cfg ──▶ tla (text, meaning) ──▶ compile ──▶ Program ──▶ explorer ──▶ Space ──▶ CTL, liveness, tables
//!                              └── evaluator ──────────────── (what has no packed form) ──┘
//! ```
//!
//! Everything meets in two types. A [`packed::Program`] is a specification made small: a state is one integer, a step
//! is a guard and a few assignments on its bits, and the same expressions run as Rust and as SQL. A `Space` is what was
//! found.

pub mod check;
pub mod compile;
pub mod ctl;
pub mod explore;
pub mod explored;
pub mod form;
pub mod graph;
mod joined;
pub mod keep;
pub mod live;
pub mod packed;
pub mod space;
pub mod sql;
pub mod store;
mod temporal;
pub mod tla;
mod written;
