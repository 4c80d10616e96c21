//! The golden scripts, which hold what a real PostgreSQL answers, still hold it.
//!
//! To add one: write the program into a file of `scripts/`, run this test with `UPDATE_GOLDENFILES=1`, review the diff.

use std::path::Path;

use isolde_testkit::{Server, golden};

#[test]
fn the_server_answers_as_recorded() {
    golden::check_directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"), &mut Server::new());
}
