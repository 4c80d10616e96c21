//! What the tests stand on: a real PostgreSQL to compare with, and programs to compare on.
//!
//! The embedded engine claims to behave as PostgreSQL does. This crate tests the claim the blunt way: run the same
//! [`Program`], a few sessions that send statements in a fixed order, on both, and compare everything that a client can
//! see: rows, command tags, errors, which steps wait, and which step lets them go on.
//!
//! ```text
//!   generate::program(seed) ──▶ Program ──▶ mirror::run(Server)  ──▶ observations ┐
//!                                      └──▶ mirror::run(engine)  ──▶ observations ┴▶ equal, or shrunk to a script
//! ```
//!
//! - [`cluster`]: a PostgreSQL server in a temporary directory, which cannot outlive the test.
//! - [`program`]: programs, observations, and the script format that holds both.
//! - [`mirror`]: how a database is driven through a program; [`mirror::Driver`] is all that a database has to offer.
//! - [`server`]: the driver for a real PostgreSQL; [`engine`]: the one for the embedded engine.
//! - [`examples`]: the stories of `examples/` as programs.
//! - [`golden`]: scripts with what the server answered, for the rules that matter.
//! - [`version`]: answers that are not the same in all versions; [`skipped`]: tests that cannot run here.
//! - [`isolation`]: PostgreSQL's own isolationtester, where it is installed.
//! - [`link`]: a way to a server on which messages are late, lost or the last.
//! - [`campaign`]: very many programs, on several servers at once; the binary `mirror` runs it.
//! - [`commands`]: whole commands on inputs that are nearly right; the binary `commands` runs very many.
//! - [`generate`] and [`shrink`]: programs from a seed, and smaller programs that still show a difference.
//!
//! Nothing here is part of the product; only tests depend on it.

// The documentation asks whether types are `Send`, and statements nest deeply.
#![recursion_limit = "256"]

pub mod campaign;
pub mod cluster;
pub mod commands;
pub mod engine;
pub mod examples;
pub mod generate;
pub mod golden;
pub mod isolation;
pub mod link;
pub mod mirror;
pub mod program;
pub mod server;
pub mod shrink;
pub mod skipped;
pub mod version;

pub use cluster::Cluster;
pub use engine::Engine;
pub use mirror::Runner;
pub use program::{Observation, Outcome, Program, Response};
pub use server::Server;
pub use version::Version;
