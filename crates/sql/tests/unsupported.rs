//! The reference lists every construct that is refused by name.
//!
//! `UPDATE_EXPECT=1 cargo test -p isolde-sql --test unsupported` writes the list anew.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use isolde_sql::refused::CONSTRUCTS;

const BEGIN: &str = "<!-- refused: begin -->\n";
const END: &str = "<!-- refused: end -->";

#[test]
fn the_reference_lists_what_is_refused() {
    let list: String = CONSTRUCTS.iter().filter_map(|c| c.words()).map(|words| format!("- {words}\n")).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let reference = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = reference.split_once(BEGIN).expect("the reference has a place for the list");
    let (written, after) = rest.split_once(END).expect("the list in the reference has an end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{list}{END}{after}")).unwrap();
    } else {
        assert_eq!(written, list, "run with UPDATE_EXPECT=1 to write the list anew");
    }
}

#[test]
fn each_is_there_once() {
    let words: Vec<Option<String>> = CONSTRUCTS.iter().map(|c| c.words()).collect();
    assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
}
