//! The embedded engine against the golden scripts that a real server wrote.

use std::path::Path;

use isolde_testkit::{Engine, golden};

#[test]
fn the_engine_answers_as_the_server_did() {
    golden::check_directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"), &mut Engine::new());
}
