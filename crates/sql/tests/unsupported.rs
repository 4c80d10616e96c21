//! The reference lists every construct that is refused by name, taken from the code that refuses it.
//!
//! `UPDATE_EXPECT=1 cargo test -p isolde-sql --test unsupported` writes the list anew.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- refused: begin -->\n";
const END: &str = "<!-- refused: end -->";

#[test]
fn the_reference_lists_what_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut constructs = BTreeSet::new();
    for source in ["crates/sql/src", "crates/engine/src", "crates/scenario/src"] {
        for file in rust_files(&root.join(source)) {
            constructs.extend(refused(&std::fs::read_to_string(file).unwrap()));
        }
    }
    let list: String = constructs.iter().map(|construct| format!("- {construct}\n")).collect();
    let path = root.join("docs/reference.md");
    let reference = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = reference.split_once(BEGIN).expect("the reference has a place for the list");
    let (written, after) = rest.split_once(END).expect("the list in the reference has an end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{list}{END}{after}")).unwrap();
    } else {
        assert_eq!(written, list, "run with UPDATE_EXPECT=1 to write the list anew");
    }
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|n| n != "tests.rs") {
            files.push(path);
        }
    }
    files
}

/// The constructs that calls of `unsupported` and `refuse` in a source name by a literal.
fn refused(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in ["self.unsupported(", "Diagnostic::unsupported(", "self.refuse(", "self.refuse_token("] {
        for (at, _) in source.match_indices(call) {
            let arguments = arguments(&source[at + call.len()..]);
            // The last literal is the name; one with a placeholder, or none, names what was written.
            let literal = arguments.rsplit('"').nth(1).filter(|_| arguments.matches('"').count() >= 2);
            found
                .extend(literal.filter(|l| !l.contains('{') && l.len() > 2 && !l.starts_with(' ')).map(str::to_string));
        }
    }
    found
}

/// What stands in the parentheses that are open at the start of a text.
fn arguments(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return &text[..at];
        }
    }
    ""
}
