//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// A Rust file.
pub(crate) struct Source {
    /// From the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Texts with names that others gave (PostgreSQL to a type, an application to a table), and this test, which names the
/// words.
const FOREIGN: &[&str] = &[
    "crates/sql/src/parse/lower/types.rs",
    "crates/testkit/schemas/",
    "crates/testkit/tests/schemas.rs",
    "crates/testkit/tests/tidy/",
];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file of crates and benches.
pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["crates", "benches"] {
        walk(&root().join(folder), &mut |path, text| {
            if path.ends_with(".rs") {
                found.push(Source { path: path.to_string(), text });
            }
        });
    }
    assert!(found.len() > 100, "the sources are found");
    found
}

/// Every text that people read: sources, documents, help and what tests expect.
pub(crate) fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["crates", "benches", "docs", "examples"] {
        walk(&root().join(folder), &mut |path, text| {
            let is_text = [".rs", ".md", ".txt", ".spec", ".script"].iter().any(|ending| path.ends_with(ending));
            let foreign = FOREIGN.iter().any(|folder| path.starts_with(folder));
            if is_text && !foreign {
                found.push((path.to_string(), text));
            }
        });
    }
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        found.push((name.to_string(), fs::read_to_string(root().join(name)).expect("it is a file")));
    }
    found
}

/// Calls `visit` with each file below a folder that is text, in order.
fn walk(folder: &Path, visit: &mut dyn FnMut(&str, String)) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name == "target" || name == "node_modules");
        match path.is_dir() {
            true if !hidden => walk(&path, visit),
            true => {}
            false => {
                let relative = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                if let Ok(text) = fs::read_to_string(&path) {
                    visit(&relative, text);
                }
            }
        }
    }
}

impl Source {
    /// The crate it belongs to; `benches` for those of the workspace.
    pub(crate) fn of_crate(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            other => other.unwrap_or_default(),
        }
    }

    /// Whether it is part of what is delivered: no test, no bench.
    pub(crate) fn is_product(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.get(2) == Some(&"src") && !parts.contains(&"tests") && !parts.contains(&"tests.rs")
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.text.lines().collect()
    }

    /// The lines of code, with their numbers: no comments, and nothing from the tests at the end of the file on.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let product = self.text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
        product.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(number, line)| (number + 1, line))
    }

    /// The lines of code in which this stands.
    pub(crate) fn code_with(&self, text: &str) -> Vec<String> {
        let lines = self.code().filter(|(_, line)| line.contains(text));
        lines.map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim())).collect()
    }
}

/// Whether this stands in a line as a word, or as several.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    line.match_indices(word).any(|(at, _)| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        let behind = line[at + word.len()..].strip_prefix('s').unwrap_or(&line[at + word.len()..]);
        // SVG's element is called so.
        let element = line[..at].ends_with('<') || line[..at].ends_with("</");
        !element && !is_letter(line[..at].chars().next_back()) && !is_letter(behind.chars().next())
    })
}
