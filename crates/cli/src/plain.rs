//! What may be shown: text without characters that a terminal obeys, and without passwords.
//!
//! Rows, names and messages come from databases, programs and files of others. A terminal takes some characters for
//! commands (to move, to change what is above, to type for the user) and some hide what a line says. They are shown as
//! codes instead.

use std::borrow::Cow;

use serde_json::Value;

/// Whether a terminal would do something else than show it. Lines and tabs are ours.
fn is_obeyed(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    (c.is_control() && c != '\n' && c != '\t') || reorders
}

/// The text with codes in their places: `\x1b`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_obeyed(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// The same, of as many bytes: for texts in which places are counted.
pub(crate) fn blotted(text: &str) -> String {
    let blot = |c: char| match c.len_utf8() {
        _ if !is_obeyed(c) => c,
        1 => '?',
        2 => '\u{b7}',
        _ => '\u{fffd}',
    };
    text.chars().map(blot).collect()
}

/// A document in which every text is [escaped], if there is anything to escape.
pub(crate) fn escaped_document(json: &str) -> Option<String> {
    let mut documents: Vec<Value> =
        serde_json::Deserializer::from_str(json).into_iter().collect::<Result<_, _>>().ok()?;
    let mut changed = false;
    documents.iter_mut().for_each(|document| escape_all(document, &mut changed));
    changed.then(|| documents.iter().map(|document| format!("{document}\n")).collect())
}

fn escape_all(value: &mut Value, changed: &mut bool) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(new) = escaped(text) {
                (*text, *changed) = (new, true);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| escape_all(value, changed)),
        Value::Object(fields) => fields.values_mut().for_each(|value| escape_all(value, changed)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text in which what may be a password of a URL is hidden, byte by byte, so that places stay.
pub(crate) fn without_passwords(text: &str) -> String {
    let hidden = |line: &str| match secret(line) {
        Some(range) => format!("{}{}{}", &line[..range.start], "*".repeat(range.len()), &line[range.end..]),
        None => line.to_string(),
    };
    text.split_inclusive('\n').map(hidden).collect()
}

/// Where the password of a URL in a line is, as far as it can be told: from the first colon of the login to its last
/// `@`; without one, whatever stands where a port should be and is none.
pub(crate) fn secret(line: &str) -> Option<std::ops::Range<usize>> {
    let login = line.find("://")? + "://".len();
    let rest = &line[login..];
    if let Some(at) = rest.rfind('@') {
        return rest[..at].find(':').map(|colon| login + colon + 1..login + at);
    }
    let host = if rest.starts_with('[') { rest.find(']')? } else { 0 };
    let start = host + rest[host..].find(':')? + 1;
    let end = rest[start..].find(['/', '?', '"', '\'', '\n']).map_or(rest.len(), |end| start + end);
    (!rest[start..end].bytes().all(|byte| byte.is_ascii_digit())).then_some(login + start..login + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_obeyed() {
        assert_eq!(escaped("a\u{1b}[2Jb\r\u{7}\u{9b}1m\u{202e}x\ty\n"), "a\\x1b[2Jb\\x0d\\x07\\x9b1m\\u{202e}x\ty\n");
        assert!(matches!(escaped("Grüße\n"), Cow::Borrowed(_)));
        for c in (0..0x3000).filter_map(char::from_u32) {
            let text = format!("x{c}y");
            assert!(!escaped(&text).contains(is_obeyed), "{c:?}");
            assert_eq!(blotted(&text).len(), text.len(), "{c:?}");
            assert!(!blotted(&text).contains(is_obeyed), "{c:?}");
        }
    }

    #[test]
    fn documents_are_escaped_inside() {
        let json = r#"{"rows":[["a\u001b[31m"]],"n":1}"#;
        assert_eq!(escaped_document(json).as_deref(), Some("{\"n\":1,\"rows\":[[\"a\\\\x1b[31m\"]]}\n"));
        assert_eq!(escaped_document(r#"{"rows":[["a"]]}"#), None);
    }

    #[test]
    fn passwords_are_hidden_in_place() {
        let text = "[database]\nurl = \"postgres://ann:s@c:ret@host/db\nx = 1";
        assert_eq!(without_passwords(text), "[database]\nurl = \"postgres://ann:*******@host/db\nx = 1");
        for fine in ["postgres://ann@host/db", "postgres://host:5432/db", "postgres://[::1]:5432/db", "http://h:80"] {
            assert_eq!(without_passwords(fine), fine);
        }
        assert_eq!(without_passwords("postgres://bob:s3cret/db"), "postgres://bob:******/db");
    }
}
