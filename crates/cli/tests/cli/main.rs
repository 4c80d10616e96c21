//! The real binary, run as a user runs it.
//!
//! - `examples`: every story of `examples/` is told by the tool as its README and its `expected.txt` say;
//! - `apps`: so are the applications of `examples/apps`, where the runtime of their language is there;
//! - `server`: scenarios on a real server;
//! - `model`: data models, where a solver is there;
//! - `prove`: procedures against rules, with a solver;
//! - `space`: state spaces of specifications;
//! - `tables`: state spaces in databases;
//! - `golden`: transcripts in `tests/golden`, of good, broken and nonsensical commands;
//! - `outputs`: files are written whole or not at all, inputs stay, secrets and control characters are not shown;
//! - `fuzz`: inputs of all kinds that are nearly right, with flags of all sorts;
//! - `abuse`: random bytes, mutilated scenarios, interrupts: an answer or a message, never a crash.
//!
//! Texts are regenerated with `UPDATE_EXPECT=1`; review the diff.
#![allow(clippy::unwrap_used)]

mod abuse;
mod apps;
mod checkpoint;
mod examples;
mod fuzz;
mod golden;
mod model;
mod outputs;
mod prove;
mod server;
mod space;
mod tables;
mod transcript;
