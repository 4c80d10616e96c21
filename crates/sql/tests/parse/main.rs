//! What the parser makes of SQL: text in, text out.
//!
//! A golden file is a list of statements, each followed by lines that start with `=>`: the tree in the compact form of
//! [`sexpr`], or the error with its place underlined. `UPDATE_GOLDEN=1 cargo test -p isolde-sql --test parse` rewrites
//! them; the diff is the review. Lines that start with `#` are comments.

#![allow(clippy::unwrap_used)]

mod nothing_dropped;
mod robust;
mod sexpr;
mod split;

use std::fmt::Write as _;
use std::path::Path;

use isolde_sql::parse::{self, Fragment};
use isolde_sql::{Diagnostic, Span};

/// Every golden file, and which parser it is for.
const GOLDEN: &[(&str, Entry)] = &[
    ("expressions", Entry::Expr),
    ("fragments", Entry::Expr),
    ("names", Entry::Statement),
    ("select", Entry::Statement),
    ("set_operations", Entry::Statement),
    ("insert_update_delete", Entry::Statement),
    ("tables", Entry::Statement),
    ("types", Entry::Expr),
    ("routines", Entry::Statement),
    ("transactions", Entry::Statement),
    ("syntax_errors", Entry::Statement),
    ("unsupported", Entry::Statement),
    ("advanced", Entry::Statement),
];

#[derive(Clone, Copy, PartialEq)]
enum Entry {
    Statement,
    Expr,
}

#[test]
fn golden_files() {
    for (name, entry) in GOLDEN {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/parse/{name}.golden"));
        let before = std::fs::read_to_string(&path).unwrap();
        let after = cases(&before).iter().map(|case| render(case, *entry)).collect::<String>();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &after).unwrap();
        } else {
            assert!(
                before == after,
                "{name}.golden has changed; run with UPDATE_GOLDEN=1\n{}",
                first_change(&before, &after)
            );
        }
    }
}

/// A statement with the comments and blank lines above it.
struct Case {
    above: String,
    input: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut above, mut input) = (String::new(), String::new());
    let mut flush = |above: &mut String, input: &mut String| {
        if !input.is_empty() || !above.is_empty() {
            cases.push(Case { above: std::mem::take(above), input: std::mem::take(input) });
        }
    };
    for line in text.lines() {
        if line.starts_with("=>") {
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            if !input.is_empty() {
                flush(&mut above, &mut input);
            }
            above.push_str(line);
            above.push('\n');
        } else {
            input.push_str(line);
            input.push('\n');
        }
    }
    flush(&mut above, &mut input);
    cases
}

fn render(case: &Case, entry: Entry) -> String {
    let mut out = case.above.clone();
    let input = case.input.trim_end();
    if input.is_empty() {
        return out;
    }
    out.push_str(input);
    let shown = match run(input, entry) {
        Ok(tree) => tree,
        Err(diagnostic) => error(input, &diagnostic),
    };
    for line in shown.lines() {
        write!(out, "\n=> {line}").unwrap();
    }
    out.push('\n');
    out
}

fn run(input: &str, entry: Entry) -> Result<String, Diagnostic> {
    let fragment = Fragment { text: input, offset: 0 };
    match entry {
        Entry::Statement => parse::statement(fragment).map(|s| sexpr::statement(&s)),
        Entry::Expr => parse::expr(fragment).map(|e| sexpr::expr(&e)),
    }
}

/// The message, the line it is about, and carets below its place.
fn error(input: &str, diagnostic: &Diagnostic) -> String {
    let Span { start, end } = diagnostic.span;
    let line_start = input[..start as usize].rfind('\n').map_or(0, |at| at + 1);
    let line = input[line_start..].lines().next().unwrap_or("");
    let carets = (end as usize).min(line_start + line.len()).saturating_sub(start as usize).max(1);
    let mut out = format!("{} {}\n", diagnostic.state, diagnostic.message);
    writeln!(out, "   {line}\n   {}{}", " ".repeat(start as usize - line_start), "^".repeat(carets)).unwrap();
    if let Some(hint) = diagnostic.hint.as_ref().filter(|hint| !hint.contains("--on postgres")) {
        writeln!(out, "   hint: {hint}").unwrap();
    }
    out
}

fn first_change(before: &str, after: &str) -> String {
    let (old, new) = before.lines().zip(after.lines()).find(|(a, b)| a != b).unwrap_or(("", "the length"));
    format!("was: {old}\nnow: {new}")
}
