//! Whether what a command has written is what it is called.

use std::fs;
use std::path::Path;

use super::{Ended, ended};

/// What is wrong with the outputs of a command.
pub(super) fn wrong(isolde: &Path, directory: &Path, arguments: &[String], ended: &Ended) -> Option<String> {
    let after = |flag: &str| arguments.iter().position(|word| word == flag).and_then(|at| arguments.get(at + 1));
    let answered = ended.code != Some(2);
    let stdout = match after("--format").map(String::as_str) {
        _ if !answered || after("-o").is_some() => None,
        Some("json") | Some("sarif") => not_json(&ended.stdout),
        Some("junit") => not_balanced(&ended.stdout),
        _ => None,
    };
    let file = |flag: &str, check: fn(&str) -> Option<String>| {
        let path = directory.join(after(flag)?);
        let text = fs::read_to_string(path).ok()?;
        check(&text).map(|why| format!("{flag}: {why}"))
    };
    stdout
        .or_else(|| file("--html", not_a_page))
        .or_else(|| if after("--format").is_some_and(|format| format == "json") { file("-o", not_json) } else { None })
        .or_else(|| again(isolde, directory, "spec", after("--emit-spec")?))
        .or_else(|| again(isolde, directory, "explore", after("--fix")?))
        .or_else(|| again(isolde, directory, "space", after("--store")?))
}

/// What a command wrote, another one must be able to read.
fn again(isolde: &Path, directory: &Path, command: &str, file: &str) -> Option<String> {
    if !directory.join(file).is_file() {
        return None;
    }
    let limits = ["--time-max", super::TIME_MAX];
    let arguments: Vec<String> = [command, file].into_iter().chain(limits).map(str::to_string).collect();
    let ended = ended(isolde, directory, &arguments);
    let printed = ended.printed();
    ended
        .wrong()
        .or_else(|| (ended.code == Some(2)).then(|| "is refused".to_string()))
        .map(|why| format!("isolde {command} {file}, which it wrote: {why}\n{printed}"))
}

/// One document after another.
fn not_json(text: &str) -> Option<String> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    documents.filter_map(Result::err).next().map(|error| format!("no JSON: {error}"))
}

fn not_a_page(text: &str) -> Option<String> {
    let whole =
        text.trim_start().to_ascii_lowercase().starts_with("<!doctype html") && text.trim_end().ends_with("</html>");
    (!whole).then(|| "no whole page".to_string())
}

/// Elements that are opened are closed, in turn.
fn not_balanced(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, behind)) = after.split_once('>') else { return Some("an element without end".into()) };
        rest = behind;
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or("");
        match tag {
            _ if tag.starts_with(['?', '!']) || tag.ends_with('/') => {}
            _ if tag.starts_with('/') => match open.pop() {
                Some(opened) if opened == name => {}
                other => return Some(format!("</{name}> closes {other:?}")),
            },
            _ => open.push(name),
        }
    }
    (!open.is_empty()).then(|| format!("left open: {}", open.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_seen() {
        assert_eq!(not_json("{\"a\": 1}\n{}\n"), None);
        assert!(not_json("{\"a\": 1").is_some());
        assert_eq!(not_balanced("<?xml version=\"1.0\"?><a><b c=\"d\"/></a>"), None);
        assert!(not_balanced("<a><b></a>").is_some() && not_balanced("<a>").is_some());
        assert_eq!(not_a_page("<!DOCTYPE html><html></html>\n"), None);
        assert!(not_a_page("<!DOCTYPE html><html>").is_some());
    }
}
