//! TLA+, text to meaning: modules and configurations read, names looked up, expressions evaluated, steps enumerated.
//!
//! ```text
//!   text ──▶ parse ──▶ syntax ──▶ modules, resolve ──▶ ir ──▶ eval (worth of expressions), step (initial states, steps)
//!   cfg  ──▶ config ──────────────┘
//! ```
//!
//! What is outside the subset is a [`Fault`](fault::Fault) that names the construct and its place, and only if
//! something that is checked needs it.

pub mod builtin;
pub mod config;
pub mod eval;
pub mod fault;
pub mod ir;
mod modules;
pub(crate) mod operate;
mod parse;
mod precedence;
pub mod read;
mod resolve;
pub mod spec;
pub mod step;
pub mod syntax;
pub mod value;

pub use modules::Finder;
pub use spec::Spec;
