//! Edits of a thread: its header, and BEGIN and COMMIT around its statements.

use isolde_sql::Span;
use isolde_sql::ast::{Isolation, Statement, StatementKind, TransactionModes};

use super::patch::Edit;
use crate::file::{ClientStatement, ThreadSection, of_thread};

/// What is to become of a thread. What is `None` or `false` stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// The level of its transactions.
    pub(super) isolation: Option<Isolation>,
    /// How often it starts an aborted transaction again.
    pub(super) retries: Option<u32>,
    /// All that it does is one transaction.
    pub(super) transaction: bool,
    /// It gets statements besides, so that even a single one needs a BEGIN.
    pub(super) grows: bool,
}

/// The edits that make a thread what `change` says.
pub(super) fn edits(section: &ThreadSection, change: Change, text: &str) -> Vec<Edit> {
    let mut edits = vec![Edit::replace(section.span, header(section, change, section.span.of(text)))];
    if let Some(level) = change.isolation {
        edits.extend(section.body.iter().filter_map(|statement| raise(statement, level)));
    }
    if change.transaction && is_loose(section, change) {
        edits.extend(around(&section.body, text));
    }
    edits.retain(|edit| edit.span.of(text) != edit.text);
    edits
}

/// Whether it is more than one transaction because nobody made it one.
pub(super) fn needs_transaction(section: &ThreadSection, change: Change) -> bool {
    section.autocommit || is_loose(section, change)
}

/// Several statements without a BEGIN.
fn is_loose(section: &ThreadSection, change: Change) -> bool {
    let begins = |s: &ClientStatement| matches!(s.ast.kind, StatementKind::Begin(_));
    section.body.len() > usize::from(!change.grows) && !section.body.iter().any(begins)
}

/// The header anew, in the order in which its settings are documented; a comment behind it stays.
pub(super) fn header(section: &ThreadSection, change: Change, old: &str) -> String {
    let (written, comment) = of_thread(old).unzip();
    let mut parts: Vec<String> = match written {
        Some(header) => [header.name].into_iter().chain(header.copies.map(|n| format!("x{n}"))).collect(),
        None => vec![section.name.to_string()],
    };
    let comment = comment.unwrap_or_default();
    if let Some(level) = change.isolation.or(section.isolation) {
        parts.push(format!("isolation {}", name(level)));
    }
    if section.autocommit && !change.transaction {
        parts.push("autocommit".into());
    }
    match change.retries.unwrap_or(section.retries) {
        0 => {}
        n => parts.push(format!("retry {n}")),
    }
    let space = if comment.is_empty() { "" } else { "  " };
    format!("--@ thread {}{space}{comment}", parts.join(" "))
}

/// A level as headers name it.
pub(super) fn name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// A statement that names a lower level names this one instead.
fn raise(statement: &ClientStatement, level: Isolation) -> Option<Edit> {
    let raised = |modes: &TransactionModes| {
        let lower = modes.isolation.is_some_and(|named| named < level);
        lower.then_some(TransactionModes { isolation: Some(level), ..*modes })
    };
    let kind = match &statement.ast.kind {
        StatementKind::Begin(modes) => StatementKind::Begin(raised(modes)?),
        StatementKind::SetTransaction(modes) => StatementKind::SetTransaction(raised(modes)?),
        StatementKind::SetSessionCharacteristics(modes) => StatementKind::SetSessionCharacteristics(raised(modes)?),
        _ => return None,
    };
    let span = statement.ast.span;
    Some(Edit::replace(span, Statement { kind, span }.to_string()))
}

/// BEGIN before the first statement, COMMIT behind the last.
fn around(body: &[ClientStatement], text: &str) -> Vec<Edit> {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return Vec::new() };
    let end = end_of(last.ast.span, text);
    let semicolon = if text[..end as usize].ends_with(';') || last.gset.is_some() { "" } else { ";" };
    vec![Edit::insert(first.ast.span.start, "BEGIN;\n"), Edit::insert(end, format!("{semicolon}\nCOMMIT;"))]
}

/// Where a client's statement ends: behind its semicolon, or its `\gset`.
pub(super) fn end_of(span: Span, text: &str) -> u32 {
    let rest = text.get(span.end as usize..).unwrap_or("");
    let blank = rest.len() - rest.trim_start().len();
    let length = match &rest[blank..] {
        tail if tail.starts_with(';') => blank + 1,
        tail if tail.starts_with("\\gset") => blank + tail.lines().next().map_or(0, |line| line.trim_end().len()),
        _ => 0,
    };
    span.end + length as u32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::file;

    fn changed(text: &str, change: Change) -> String {
        let file = file::read("t.sql", text, &mut file::no_includes).unwrap();
        let mut out = text.to_string();
        let mut edits = edits(&file.threads[0], change, text);
        edits.sort();
        for edit in edits.iter().rev() {
            out.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
        }
        out
    }

    #[test]
    fn headers_keep_what_is_not_changed() {
        let change = Change {
            isolation: Some(Isolation::Serializable),
            retries: Some(2),
            transaction: true,
            ..Change::default()
        };
        assert_eq!(
            changed("--@ thread a x2 autocommit retry 1 -- why\nSELECT 1;", change),
            "--@ thread a x2 isolation serializable retry 2  -- why\nSELECT 1;"
        );
        assert_eq!(
            changed("--@ thread a isolation repeatable read\nSELECT 1;", Change::default()),
            "--@ thread a isolation repeatable read\nSELECT 1;"
        );
    }

    #[test]
    fn several_statements_become_one_transaction() {
        let change = Change { transaction: true, ..Change::default() };
        assert_eq!(
            changed("--@ thread a\nSELECT 1 AS x \\gset\nSELECT :x;\n", change),
            "--@ thread a\nBEGIN;\nSELECT 1 AS x \\gset\nSELECT :x;\nCOMMIT;\n"
        );
        assert_eq!(
            changed("--@ thread a\nSELECT 1;\nSELECT 2 AS y \\gset\n", change),
            "--@ thread a\nBEGIN;\nSELECT 1;\nSELECT 2 AS y \\gset\nCOMMIT;\n"
        );
    }

    #[test]
    fn a_level_that_a_statement_names_is_raised_too() {
        let change = Change { isolation: Some(Isolation::RepeatableRead), ..Change::default() };
        assert_eq!(
            changed("--@ thread a\nBEGIN ISOLATION LEVEL READ COMMITTED;\nCOMMIT;", change),
            "--@ thread a isolation repeatable read\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nCOMMIT;"
        );
    }
}
