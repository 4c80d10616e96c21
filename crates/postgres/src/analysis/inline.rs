//! Parameters written out.

pub use isolde_wire::quote::literal;

/// A statement with the values of `$1`, `$2`, ... in their places, as literals in quotes; NULL is `None`.
/// A parameter without a value, and what looks like one inside of strings, comments and names, stays.
pub fn inline(text: &str, params: &[Option<String>]) -> String {
    let literals: Vec<String> = params.iter().map(|value| value.as_deref().map_or("NULL".into(), literal)).collect();
    substitute(text, &literals)
}

/// The same with pieces of SQL.
pub(crate) fn substitute(text: &str, pieces: &[String]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = opaque(rest);
        if length > 0 {
            out.push_str(&rest[..length]);
            at += length;
            continue;
        }
        if let Some((number, length)) = parameter(rest)
            && let Some(piece) = number.checked_sub(1).and_then(|n| pieces.get(n))
        {
            out.push_str(piece);
            at += length;
            continue;
        }
        let length = word(rest);
        out.push_str(&rest[..length]);
        at += length;
    }
    out
}

/// A statement with some of its names replaced: `value` is asked about each, `a` or `a.b`, in lower case. What is no
/// expression (the columns that INSERT fills and SET assigns to) is left alone.
pub fn replace_names(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    // The words before, and whether the list of columns of an INSERT is open.
    let (mut before, mut columns) = ((String::new(), String::new()), false);
    while at < text.len() {
        let rest = &text[at..];
        let length = match opaque(rest) {
            0 => path(rest),
            length => length,
        };
        let piece = &rest[..length];
        at += length;
        match piece {
            "(" if before.0 == "into" => columns = true,
            ")" => columns = false,
            _ => {}
        }
        let is_name = piece.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let follows = text[at..].trim_start();
        let assigned = matches!(before.1.as_str(), "set" | ",") && follows.starts_with('=');
        let is_call = follows.starts_with('(');
        let is_value = is_name && !columns && !assigned && !is_call;
        match is_value.then(|| value(&piece.to_lowercase())).flatten() {
            Some(value) => out.push_str(&value),
            None => out.push_str(piece),
        }
        if !piece.trim().is_empty() {
            before = (before.1, piece.to_lowercase());
        }
    }
    out
}

/// The length of `a.b.c` at the start of a text, or of whatever else it begins with.
fn path(text: &str) -> usize {
    let mut length = word(text);
    let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    while is_name && text[length..].starts_with('.') {
        match word(&text[length + 1..]) {
            0 => break,
            more if text[length + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_') => length += 1 + more,
            _ => break,
        }
    }
    length
}

/// `$12` at the start of a text, and how long it is.
fn parameter(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix('$')?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    Some((digits[..count].parse().ok()?, count + 1))
}

/// The length of the string, quoted name or comment that a text begins with; 0 if it begins with none.
fn opaque(text: &str) -> usize {
    let bytes = text.as_bytes();
    let to_end = |found: Option<usize>| found.unwrap_or(text.len());
    match bytes {
        [b'-', b'-', ..] => to_end(text.find('\n')),
        [b'/', b'*', ..] => comment(bytes),
        [b'\'', ..] => quoted(bytes, 0, false),
        [b'E' | b'e', b'\'', ..] => quoted(bytes, 1, true),
        [b'"', ..] => quoted(bytes, 0, false),
        [b'$', ..] => {
            let tag = text[1..].find('$').map(|end| &text[..end + 2]);
            let is_tag = |c: char| c.is_alphanumeric() || c == '_';
            match tag.filter(|tag| {
                let name = &tag[1..tag.len() - 1];
                name.chars().all(is_tag) && !name.starts_with(|c: char| c.is_ascii_digit())
            }) {
                Some(tag) => to_end(text[tag.len()..].find(tag).map(|at| at + 2 * tag.len())),
                None => 0,
            }
        }
        _ => 0,
    }
}

/// The length of a quoted text whose opening quote is at `start`; a doubled quote does not end it.
fn quoted(bytes: &[u8], start: usize, escapes: bool) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of a comment, which may hold others.
fn comment(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at < bytes.len() && depth > 0 {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// The length of the name or number that a text begins with, so that nothing inside of it is looked at; at least one
/// character.
fn word(text: &str) -> usize {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if of_word(first) => text.find(|c: char| !of_word(c) && c != '$').unwrap_or(text.len()),
        Some(first) => first.len_utf8(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_written_out() {
        let two = [Some("it's".to_string()), None];
        assert_eq!(inline("SELECT $1, $2, $3", &two), "SELECT 'it''s', NULL, $3");
        assert_eq!(
            inline("SELECT '$1', \"$1\", a$1, $$ $1 $$, $x$ $1 $x$", &two),
            "SELECT '$1', \"$1\", a$1, $$ $1 $$, $x$ $1 $x$"
        );
        assert_eq!(inline("-- $1\n/* $1 /* */ $1 */ $2", &two), "-- $1\n/* $1 /* */ $1 */ NULL");
        assert_eq!(inline("é$1 'ü' $2", &two), "é$1 'ü' NULL");
        let one = |name: &str| (name == "x" || name == "r.y").then(|| "1".to_string());
        let names = replace_names("INSERT INTO t (x, z) VALUES (X, 'x', t.x, r.y, x(2))", &one);
        assert_eq!(names, "INSERT INTO t (x, z) VALUES (1, 'x', t.x, 1, x(2))");
        assert_eq!(
            replace_names("UPDATE t SET x = x + 1, x = 2 WHERE x = 3", &one),
            "UPDATE t SET x = 1 + 1, x = 2 WHERE 1 = 3"
        );
        assert_eq!(inline("x=$1", &[Some("a\\b".into())]), "x= E'a\\\\b'");
    }
}
