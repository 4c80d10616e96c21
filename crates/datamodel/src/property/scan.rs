//! Words and signs of a text of properties.

use std::ops::Range;

use super::PropertyError;

/// A word or a sign, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
}

impl Token<'_> {
    /// Whether it may be a name.
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

/// Signs of more than one character, which must not be taken for their beginnings.
const LONG_SIGNS: &[&str] = &["!=", "=>", "<=>"];

/// Splits a text; comments run from `#`, `//` or `--` to the end of the line.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, PropertyError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if rest.starts_with('#') || rest.starts_with("//") || rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else {
            let length = token_length(rest, c);
            let span = at..at + length;
            if !(c.is_alphanumeric() || "_.:|(),=!<&".contains(c)) {
                return Err(PropertyError { message: format!("{c:?} means nothing here"), span, hint: None });
            }
            found.push(Token { text: &text[span.clone()], span });
            at += length;
        }
    }
    Ok(found)
}

fn token_length(rest: &str, first: char) -> usize {
    if let Some(sign) = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return sign.len();
    }
    if !(first.is_alphanumeric() || first == '_') {
        return first.len_utf8();
    }
    // `Shop::Item` is one word, `p: Photo` is three.
    let mut end = 0;
    loop {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '?';
        end += rest[end..].find(|c: char| !word(c)).unwrap_or(rest.len() - end);
        match rest[end..].strip_prefix("::") {
            Some(after) if after.starts_with(|c: char| c.is_alphabetic()) => end += 2,
            _ => return end,
        }
    }
}
