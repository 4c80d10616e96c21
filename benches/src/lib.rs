//! What the benchmarks share: programs to explore, the measuring of a search, and tables.
//!
//! A benchmark is a `main` that asks for programs, measures them under several searches and prints a Markdown table.
//! What others have published is shown beside it as theirs; it was not measured here.

pub mod configuration;
pub mod dpf;
pub mod epor;
pub mod measure;
pub mod scaling;
pub mod table;
pub mod troop;
