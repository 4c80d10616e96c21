//! What a statement or an output says, without what differs from run to run and means nothing.
//!
//! Frameworks name savepoints and cursors after threads and counters, write the time into rows, make up tokens, and put
//! comments behind statements to tell where they come from (sqlcommenter). A statement is recognised without all of
//! that.

use regex_automata::meta::Regex;

use crate::proxy::tokens;

/// Statements that are followed by a name that was made up: `SAVEPOINT "s140_x1"`.
const BEFORE_NAMES: &[&str] = &["SAVEPOINT", "RELEASE", "TO", "DECLARE", "CLOSE", "PREPARE", "EXECUTE", "DEALLOCATE"];

/// A statement as it is recognised: on one line, without comments, made-up names and values.
pub(super) fn statement(text: &str, masks: &[Regex]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = String::new();
    for token in tokens(text) {
        let first = token.chars().next().unwrap_or(' ');
        if first.is_whitespace() || is_comment(token) {
            continue;
        }
        let follows = BEFORE_NAMES.contains(&&*before) || (before == "FROM" && out.starts_with("FETCH"));
        let is_name = first.is_alphabetic() || first == '_' || first == '"';
        let shown = match first {
            _ if follows && is_name && !BEFORE_NAMES.contains(&&*token.to_uppercase()) => "<name>",
            '\'' => value(token),
            _ => token,
        };
        let glued =
            matches!(shown, "," | ")" | "." | ";") || out.ends_with(['(', '.']) || (shown == "(" && is_word(&before));
        if !out.is_empty() && !glued {
            out.push(' ');
        }
        out.push_str(shown);
        before = token.to_uppercase();
    }
    masked(&out, masks)
}

/// A statement as it is shown: on one line, without comments.
pub(super) fn shown(text: &str) -> String {
    let kept: String = tokens(text).map(|token| if is_comment(token) { " " } else { token }).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(';').trim_end().to_string()
}

/// What the comments of a statement say about where it comes from.
pub(super) fn source(text: &str) -> Option<String> {
    let comment = tokens(text).find(|token| token.starts_with("/*") && token.contains('='))?;
    let inside = comment.trim_start_matches("/*").trim_end_matches("*/").trim();
    let telling = |pair: &&str| {
        ["file", "line", "func", "route", "controller", "action", "caller", "source"]
            .iter()
            .any(|key| pair.trim_start().starts_with(&format!("{key}=")))
    };
    let told: Vec<&str> = inside.split(',').filter(telling).map(str::trim).collect();
    (!told.is_empty()).then(|| told.join(" ").replace("%2F", "/").replace('\'', ""))
}

/// Replaces what the masks match.
pub(super) fn masked(text: &str, masks: &[Regex]) -> String {
    let mut text = text.to_string();
    for mask in masks {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for found in mask.find_iter(&text) {
            out.push_str(&text[end..found.start()]);
            out.push_str("***");
            end = found.end();
        }
        out.push_str(&text[end..]);
        text = out;
    }
    text
}

fn is_comment(token: &str) -> bool {
    token.starts_with("--") || token.starts_with("/*")
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"')
}

/// A literal, unless it was made up.
fn value(literal: &str) -> &str {
    let inside = literal.trim_matches('\'');
    let digits =
        |range: std::ops::Range<usize>| inside.get(range).is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let at = |position: usize| inside.as_bytes().get(position).copied().unwrap_or(0);
    let is_time =
        digits(0..4) && at(4) == b'-' && digits(5..7) && at(7) == b'-' && b" T".contains(&at(10)) && digits(11..13);
    let hex = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    let is_uuid = inside.len() == 36 && at(8) == b'-' && at(23) == b'-' && inside.bytes().all(hex);
    let is_token = inside.len() >= 32
        && inside.bytes().all(|b| b.is_ascii_alphanumeric())
        && inside.bytes().any(|b| b.is_ascii_digit());
    match () {
        () if is_time => "<time>",
        () if is_uuid => "<uuid>",
        () if is_token => "<token>",
        () => literal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_left_out() {
        let same = |text: &str| statement(text, &[]);
        assert_eq!(same("SAVEPOINT \"s140_x1\""), "SAVEPOINT <name>");
        assert_eq!(same("RELEASE SAVEPOINT s1"), "RELEASE SAVEPOINT <name>");
        assert_eq!(same("ROLLBACK  TO s1 -- why"), "ROLLBACK TO <name>");
        assert_eq!(same("DECLARE \"_c_1\" CURSOR FOR SELECT 1"), "DECLARE <name> CURSOR FOR SELECT 1");
        assert_eq!(
            same("INSERT INTO t (a, b) VALUES (1, '2026-11-16T08:00:00+00:00') /*route='/x'*/"),
            "INSERT INTO t(a, b) VALUES(1, <time>)"
        );
        assert_eq!(same("SELECT '6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'x'"), "SELECT <uuid>, 'x'");
    }

    #[test]
    fn comments_tell_where_a_statement_comes_from() {
        let text = "SELECT 1 /*controller='buy',framework='django%3A5',route='shop%2Fbuy'*/";
        assert_eq!(source(text).as_deref(), Some("controller=buy route=shop/buy"));
        assert_eq!(source("SELECT 1 /* hint */"), None);
        assert_eq!(shown(text), "SELECT 1");
    }

    #[test]
    fn masks_hide() {
        let masks = [Regex::new("[0-9]+ms").expect("it is one")];
        assert_eq!(masked("took 12ms and 3ms.", &masks), "took *** and ***.");
    }
}
