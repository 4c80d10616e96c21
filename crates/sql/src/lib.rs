//! PostgreSQL's SQL and PL/pgSQL: text to typed statements and procedures, and back.
//!
//! Three layers, each a value that the next one reads:
//!
//! ```text
//!   text ──parse──▶ ast (what was written, with spans) ──bind──▶ typed (what it means)
//!    ▲                          │                                    ▲
//!    └────────── print ─────────┘                                 catalog
//! ```
//!
//! [`parse`] alone knows the `squawk` crates, whose lossless tree it lowers at once. [`ast`] keeps names as written, so
//! it can be printed, rewritten (a `FOR UPDATE` added, say) and bound again. [`bind`] resolves every name against a
//! [`catalog::Catalog`] and infers every type; a [`typed`] expression can be evaluated without looking anything up.
//!
//! What is *absent*: this crate touches no rows, no files and no clock. A [`builtin`] function is a pure function of
//! its arguments; those that need a session (`now()`, `nextval`) are only named here.

pub mod ast;
pub mod bind;
pub mod budget;
pub mod builtin;
pub mod catalog;
pub mod error;
pub mod facts;
pub mod parse;
pub mod print;
pub mod refused;
pub mod typed;
pub mod types;
pub mod value;

pub use error::{Diagnostic, Span, SqlError, SqlState};
pub use types::Type;
pub use value::{Row, Value};
