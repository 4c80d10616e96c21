//! The `isolde` command.
fn main() {}
