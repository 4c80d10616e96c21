//! The golden scripts, which hold what a real PostgreSQL answers, still hold it.
//!
//! Where one step wakes two sessions the server lets either go first: the engine knows what else may come of that.
//!
//! To add one: write the program into a file of `scripts/`, run this test with `UPDATE_GOLDENFILES=1`, review the diff.

use std::path::Path;

use isolde_testkit::mirror::Run;
use isolde_testkit::{Engine, Program, Server, golden, mirror};

#[test]
fn the_server_answers_as_recorded() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut engine = Engine::new();
    let as_good = |program: &Program, run: &Run| mirror::comes_in_another_order(program, run, &mut engine);
    golden::check_directory(&directory, &mut Server::new(), as_good);
}
