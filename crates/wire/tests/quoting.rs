//! No SQL is put together without quoting what is put into it.
//!
//! Looks at every text with a placeholder behind a word that a name follows (`DROP DATABASE {`, `FROM {`): the name
//! must have been quoted, which is told by the call in the arguments or where the variable is bound. What is quoted
//! elsewhere stands in a list, with the reason.

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that send SQL to servers.
const CRATES: &[&str] = &["wire", "postgres", "statespace", "testkit", "cli"];

/// Words behind which a name stands.
const BEFORE_NAMES: &[&str] = &[
    "DATABASE ",
    "EXISTS ",
    "ROLE ",
    "USER ",
    "SCHEMA ",
    "TEMPLATE ",
    "OWNER ",
    "TABLE ",
    "ONLY ",
    "FROM ",
    "INTO ",
    "JOIN ",
    "TRUNCATE ",
    "UPDATE ",
    "TYPE ",
    "ROUTINE ",
    "EXTENSION ",
    "TO ",
];

/// Words that say that a text is SQL.
const SQL: &[&str] = &[
    "CREATE ",
    "DROP ",
    "ALTER ",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE ",
    "TRUNCATE ",
    "COMMENT ON ",
    "GRANT ",
    "REVOKE ",
];

/// What quotes.
const QUOTING: &[&str] =
    &["identifier(", "qualified(", "dialect().name(", "dialect.name(", "quote_ident", "regclass", "literal("];

/// Places where the name is known to be quoted or to be a constant: file, text, reason.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "postgres/src/undo.rs",
        "",
        "names are read as oid::regclass::text and quote_ident(attname), quoted by the server",
    ),
    ("postgres/src/restore.rs", "", "names are isolde.copy_ and an oid"),
    ("postgres/src/app/skeleton.rs", "", "names are read as oid::regclass::text, quoted by the server"),
    ("postgres/src/app/spec.rs", "SELECT * FROM {name}", "names of differences are identifiers in SQL"),
    ("postgres/src/app/data.rs", "", "a list of process ids"),
    ("statespace/src/sql/", "", "relations have names that are made here, from constants and numbers"),
    ("statespace/src/store/", "", "the same, or quoted by Dialect::name when they are stored"),
    ("statespace/src/explore/", "", "no SQL"),
    ("testkit/src/server.rs", "DROP SCHEMA", "names are read with quote_ident"),
    ("testkit/src/generate/", "", "names of generated programs, made here"),
    ("testkit/src/campaign.rs", "", "names of generated programs, made here"),
];

#[test]
fn every_name_is_quoted() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut unquoted = Vec::new();
    let mut seen = 0;
    for name in CRATES {
        for file in sources(&crates.join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let shown = file.strip_prefix(&crates).unwrap_or(&file).display().to_string();
            for found in placeholders(&text) {
                seen += 1;
                let known = KNOWN.iter().any(|(file, part, _)| shown.starts_with(file) && found.text.contains(part));
                if !known && !is_quoted(&text, &found) {
                    unquoted.push(format!("{shown}: {}", found.text));
                }
            }
        }
    }
    assert!(seen > 10, "the search finds nothing any more");
    assert!(unquoted.is_empty(), "quote these with isolde_wire::quote, or say why not:\n{}", unquoted.join("\n"));
}

/// The search notices what it is for.
#[test]
fn what_is_not_quoted_is_noticed() {
    let noticed = |code: &str| placeholders(code).iter().any(|found| !is_quoted(code, found));
    assert!(noticed(r#"format!("DROP DATABASE IF EXISTS {name}")"#));
    assert!(noticed(r#"format!("DROP DATABASE {} WITH (FORCE)", self.name())"#));
    assert!(noticed(r#"format!("SELECT * FROM {name} ORDER BY 1")"#));
    assert!(!noticed(r#"format!("DROP DATABASE {}", identifier(name))"#));
    assert!(!noticed(r#"let name = identifier(name); format!("DROP DATABASE {name}")"#));
    assert!(!noticed(r#"format!("nothing FROM {name}")"#));
}

/// A text with a placeholder where a name stands.
struct Placeholder {
    /// The line with it, and a bit more.
    text: String,
    /// The name inside of the braces.
    variable: String,
    /// What follows the text: its arguments.
    behind: String,
}

fn placeholders(code: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    for word in BEFORE_NAMES {
        for (at, _) in code.match_indices(&format!("{word}{{")) {
            let start = code[..at].rfind('"').map_or(0, |quote| quote + 1);
            let text = &code[start..at + word.len()];
            let Some(inside) = code[at + word.len() + 1..].split('}').next() else { continue };
            // Double braces are braces, and a comment is no code.
            let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
            if inside.starts_with('{') || line.starts_with("//") || !SQL.iter().any(|word| text.contains(word)) {
                continue;
            }
            let behind = code[at..].split(";\n").next().unwrap_or_default();
            let end = behind.find("\")").map_or(behind.len(), |end| end + 2);
            let text = format!("{text}{{{inside}}}");
            found.push(Placeholder {
                text,
                variable: inside.into(),
                behind: behind[end.min(behind.len())..].to_string() + &behind[..end],
            });
        }
    }
    found
}

fn is_quoted(code: &str, found: &Placeholder) -> bool {
    let variable = found.variable.split(':').next().unwrap_or_default();
    // A constant, or a number.
    if variable.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !variable.is_empty() {
        return true;
    }
    if variable.is_empty() {
        return QUOTING.iter().any(|call| found.behind.contains(call));
    }
    let quotes = |binding: &str| QUOTING.iter().any(|call| binding.contains(call));
    code.split("let ").skip(1).any(|binding| {
        let binding = binding.split(";").next().unwrap_or_default();
        let bound = binding.split('=').next().unwrap_or_default();
        bound.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == variable) && quotes(binding)
    })
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => files.extend(sources(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}
