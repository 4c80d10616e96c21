//! A statement's text on one line, for traces.

use std::sync::Arc;

use crate::ast;

/// Text with comments dropped and white space collapsed, strings and quoted names untouched.
pub fn one_line(text: &str) -> Arc<str> {
    let mut line = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\'' | '"' => quoted(rest, c),
            '-' if rest.starts_with("--") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = &rest[rest.find("*/").map_or(rest.len(), |end| end + 2)..];
                continue;
            }
            _ => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match c.is_whitespace() {
            true if line.ends_with(' ') || line.is_empty() => {}
            true => line.push(' '),
            false => line.push_str(token),
        }
        rest = after;
    }
    line.trim_end().into()
}

/// The length of a quoted piece, quotes included. A doubled quote is two pieces, which comes to the same.
fn quoted(text: &str, quote: char) -> usize {
    text[1..].find(quote).map_or(text.len(), |end| end + 2)
}

/// The text of a statement whose source is gone.
pub(super) fn printed(statement: &ast::Statement) -> Arc<str> {
    one_line(&statement.to_string())
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn strings_keep_their_spaces_and_comments_go() {
        let text = "SELECT  'a  b' -- why\n  , \"c  d\" /* x\n y */\n FROM t ";
        assert_eq!(&*one_line(text), "SELECT 'a  b' , \"c  d\" FROM t");
    }
}
