//! JSON: `jsonb` as a tree, `json` as a text that is only looked through.
//!
//! In a [`Json`] object keys are unique, the last of equal ones having won, and stand in the order PostgreSQL keeps
//! them: shorter keys first, then by bytes. `Ord` is the B-tree order of `jsonb`: null, text, number, boolean, array,
//! object; the longer array or object is the larger.
//!
//! A `json` value is never rebuilt: [`raw_members`] and [`raw_elements`] give the pieces of its text as they were
//! written.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bigdecimal::BigDecimal;

use super::{Value, numeric};
use crate::error::{SqlError, SqlState};

/// A JSON value.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Json {
    Null,
    Bool(bool),
    Number(BigDecimal),
    String(Arc<str>),
    Array(Vec<Json>),
    Object(Vec<(Arc<str>, Json)>),
}

impl Json {
    /// How many values it has inside, itself included.
    pub fn size(&self) -> usize {
        match self {
            Json::Array(elements) => 1 + elements.iter().map(Json::size).sum::<usize>(),
            Json::Object(members) => 1 + members.iter().map(|(_, value)| value.size()).sum::<usize>(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 1,
        }
    }

    /// About how many bytes its text has.
    pub fn bytes(&self) -> usize {
        match self {
            Json::Array(elements) => 2 + elements.iter().map(|element| element.bytes() + 2).sum::<usize>(),
            Json::Object(members) => {
                2 + members.iter().map(|(name, value)| name.len() + value.bytes() + 6).sum::<usize>()
            }
            Json::String(text) => text.len() + 2,
            Json::Null | Json::Bool(_) | Json::Number(_) => 8,
        }
    }
}

/// Deeper than anybody nests; PostgreSQL runs out of stack somewhat later.
const DEPTH_MAX: usize = 500;

impl Json {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Json, SqlError> {
        let mut scanner = Scanner { text, at: 0, depth: 0, verbatim: false };
        let json = scanner.value()?;
        scanner.end()?;
        Ok(json)
    }

    /// An object of these members; the last of equal keys wins.
    pub fn object(members: impl IntoIterator<Item = (Arc<str>, Json)>) -> Json {
        let mut sorted: Vec<(Arc<str>, Json)> = members.into_iter().collect();
        sorted.sort_by(|(a, _), (b, _)| key_order(a, b));
        // Of equal keys, which a stable sort keeps in order, the last stays.
        sorted.reverse();
        sorted.dedup_by(|(a, _), (b, _)| a == b);
        sorted.reverse();
        Json::Object(sorted)
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.binary_search_by(|(k, _)| key_order(k, key)).ok().map(|at| &members[at].1),
            _ => None,
        }
    }

    /// The element of an array, from its end if `at` is negative.
    pub fn element(&self, at: i64) -> Option<&Json> {
        match self {
            Json::Array(elements) => index(at, elements.len()).and_then(|at| elements.get(at)),
            Json::Object(_) => None,
            // A scalar is kept as an array of itself.
            scalar => (at == 0 || at == -1).then_some(scalar),
        }
    }

    /// What `->>` gives: a string without its quotes, null as NULL, anything else as its text.
    pub fn to_text(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::String(text) => Value::Text(text.clone()),
            other => Value::text(other.to_string()),
        }
    }

    /// `jsonb_typeof`
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// `@>`: every member and element of the other is found here.
    pub fn contains(&self, other: &Json) -> bool {
        match (self, other) {
            // An array contains a bare scalar, at the top only; the caller sees to that.
            (Json::Object(_), Json::Object(members)) => {
                members.iter().all(|(key, value)| self.get(key).is_some_and(|own| own.contains_inside(value)))
            }
            (Json::Array(own), Json::Array(wanted)) => wanted.iter().all(|w| own.iter().any(|o| o.contains_inside(w))),
            (Json::Array(own), scalar) if !matches!(scalar, Json::Object(_)) => own.contains(scalar),
            _ => self == other && !matches!(self, Json::Object(_) | Json::Array(_)),
        }
    }

    fn contains_inside(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(_), Json::Object(_)) | (Json::Array(_), Json::Array(_)) => self.contains(other),
            (Json::Object(_) | Json::Array(_), _) | (_, Json::Object(_) | Json::Array(_)) => false,
            _ => self == other,
        }
    }

    /// With line breaks and four blanks per level.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(&mut out, 0);
        out
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str("    "));
        };
        match self {
            Json::Array(elements) if !elements.is_empty() => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    indent(out, depth + 1);
                    element.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push(']');
            }
            Json::Object(members) if !members.is_empty() => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    indent(out, depth + 1);
                    out.push_str(&quoted(key));
                    out.push_str(": ");
                    value.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push('}');
            }
            Json::Array(_) => {
                out.push('[');
                indent(out, depth);
                out.push(']');
            }
            Json::Object(_) => {
                out.push('{');
                indent(out, depth);
                out.push('}');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }
}

/// The position that a subscript means in a list of this length; negative ones count from the end.
pub fn index(at: i64, length: usize) -> Option<usize> {
    usize::try_from(if at < 0 { at + length as i64 } else { at }).ok().filter(|at| *at < length)
}

fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Ord for Json {
    fn cmp(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => numeric::compare(a, b),
            (Json::String(a), Json::String(b)) => a.cmp(b),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            // An empty array is below everything else.
            (Json::Array(a), _) if a.is_empty() => Ordering::Less,
            (_, Json::Array(b)) if b.is_empty() => Ordering::Greater,
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Json) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.rank());
        match self {
            Json::Null => {}
            Json::Bool(b) => b.hash(state),
            Json::Number(n) => Value::numeric(n.clone()).hash(state),
            Json::String(text) => text.hash(state),
            Json::Array(elements) => elements.hash(state),
            Json::Object(members) => members.hash(state),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(b) => write!(f, "{b}"),
            Json::Number(n) => f.write_str(&numeric::to_text(n)),
            Json::String(text) => quote(f, text),
            Json::Array(elements) => {
                f.write_char('[')?;
                for (i, element) in elements.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write!(f, "{element}")?;
                }
                f.write_char(']')
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (i, (key, value)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    quote(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = quote(&mut out, text);
    out
}

fn quote(f: &mut dyn Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\x08' => f.write_str("\\b")?,
            '\x0c' => f.write_str("\\f")?,
            c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// A `json` text is well formed.
pub fn check(text: &str) -> Result<(), SqlError> {
    let mut scanner = Scanner { text, at: 0, depth: 0, verbatim: true };
    scanner.skip()?;
    scanner.end()
}

/// Keys, and values as they were written.
pub type RawMembers<'a> = Vec<(Arc<str>, &'a str)>;

/// The members of the object that a `json` text is, in its order, each value as it was written; `None` if it is none.
pub fn raw_members(text: &str) -> Result<Option<RawMembers<'_>>, SqlError> {
    let mut scanner = Scanner { text, at: 0, depth: 0, verbatim: true };
    if !scanner.opens('{') {
        return Ok(None);
    }
    let mut members = Vec::new();
    scanner.sequence('}', |s| {
        let key = s.key()?;
        members.push((key, s.slice()?));
        Ok(())
    })?;
    Ok(Some(members))
}

/// The elements of the array that a `json` text is, each as it was written; `None` if it is none.
pub fn raw_elements(text: &str) -> Result<Option<Vec<&str>>, SqlError> {
    let mut scanner = Scanner { text, at: 0, depth: 0, verbatim: true };
    if !scanner.opens('[') {
        return Ok(None);
    }
    let mut elements = Vec::new();
    scanner.sequence(']', |s| {
        elements.push(s.slice()?);
        Ok(())
    })?;
    Ok(Some(elements))
}

/// Reads JSON text.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The text is only looked through, so what it could not become does not matter.
    verbatim: bool,
}

impl<'a> Scanner<'a> {
    fn invalid(&self, detail: impl Into<Arc<str>>) -> SqlError {
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json").detail(detail)
    }

    /// What stands here is not what could.
    fn unexpected(&self, expected: &str) -> SqlError {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            return self.invalid("The input string ended unexpectedly.");
        };
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        let end = match word(first) {
            true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let token = &rest[..end];
        match word(first) && !matches!(token, "true" | "false" | "null") && !first.is_ascii_digit() {
            true => self.invalid(format!("Token \"{token}\" is invalid.")),
            false => self.invalid(format!("Expected {expected}, but found \"{token}\".")),
        }
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Nothing follows.
    fn end(&mut self) -> Result<(), SqlError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("end of input")),
        }
    }

    fn opens(&mut self, c: char) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(c);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Json, SqlError> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                let mut members = Vec::new();
                self.sequence('}', |s| {
                    let key = s.key()?;
                    members.push((key, s.value()?));
                    Ok(())
                })?;
                Ok(Json::object(members))
            }
            Some(b'[') => {
                self.at += 1;
                let mut elements = Vec::new();
                self.sequence(']', |s| {
                    elements.push(s.value()?);
                    Ok(())
                })?;
                Ok(Json::Array(elements))
            }
            Some(b'"') => Ok(Json::String(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => {
                let text = self.number()?;
                match numeric::parse(text)? {
                    Some(n) => Ok(Json::Number(n)),
                    None => Err(self.invalid(format!("Token \"{text}\" is invalid."))),
                }
            }
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, SqlError> {
        for (word, json) in [("true", Json::Bool(true)), ("false", Json::Bool(false)), ("null", Json::Null)] {
            let rest = &self.text[self.at..];
            let follows = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
            if rest.starts_with(word) && !rest[word.len()..].starts_with(follows) {
                self.at += word.len();
                return Ok(json);
            }
        }
        Err(self.unexpected("JSON value"))
    }

    /// Goes over a value without keeping it.
    fn skip(&mut self) -> Result<(), SqlError> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.sequence('}', |s| s.key().and_then(|_| s.skip()))
            }
            Some(b'[') => {
                self.at += 1;
                self.sequence(']', Scanner::skip)
            }
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            _ => self.word().map(drop),
        }
    }

    /// The text of a value.
    fn slice(&mut self) -> Result<&'a str, SqlError> {
        self.blanks();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Items with commas between them, to the closing character; the opening one has been read.
    fn sequence(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::new(SqlState(*b"54001"), "stack depth limit exceeded"));
        }
        if !self.opens(close) {
            loop {
                item(self)?;
                if self.opens(close) {
                    break;
                }
                if !self.opens(',') {
                    return Err(self.unexpected(&format!("\",\" or \"{close}\"")));
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn key(&mut self) -> Result<Arc<str>, SqlError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("string"));
        }
        let key = self.string()?;
        if !self.opens(':') {
            return Err(self.unexpected("\":\""));
        }
        Ok(key.into())
    }

    fn number(&mut self) -> Result<&'a str, SqlError> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let first = at;
        at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at) };
        let mut good = at > first;
        if bytes.get(at) == Some(&b'.') {
            let end = digits(at + 1);
            good &= end > at + 1;
            at = end;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let signed = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let end = digits(signed);
            good &= end > signed;
            at = end;
        }
        let rest = &self.text[at..];
        let junk = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii())).unwrap_or(rest.len());
        if !good || junk > 0 {
            return Err(self.invalid(format!("Token \"{}\" is invalid.", &self.text[start..at + junk])));
        }
        self.at = at;
        Ok(&self.text[start..at])
    }

    fn string(&mut self) -> Result<String, SqlError> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.invalid(format!("Token \"{}\" is invalid.", &self.text[start..])));
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => self.escape(&mut out)?,
                c if u32::from(c) < 0x20 => {
                    return Err(self.invalid(format!("Character with value 0x{:02x} must be escaped.", u32::from(c))));
                }
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), SqlError> {
        let Some(c) = self.text[self.at..].chars().next() else {
            return Err(self.invalid("The input string ended unexpectedly."));
        };
        self.at += c.len_utf8();
        out.push(match c {
            '"' | '\\' | '/' => c,
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(out),
            c => return Err(self.invalid(format!("Escape sequence \"\\{c}\" is invalid."))),
        });
        Ok(())
    }

    fn unicode(&mut self, out: &mut String) -> Result<(), SqlError> {
        let first = self.four_digits()?;
        if first == 0 && self.verbatim {
            return Ok(());
        }
        if first == 0 {
            let error = SqlError::new(SqlState(*b"22P05"), "unsupported Unicode escape sequence");
            return Err(error.detail("\\u0000 cannot be converted to text."));
        }
        let code = match first {
            0xd800..=0xdbff => {
                let second = match self.text[self.at..].starts_with("\\u") {
                    true => {
                        self.at += 2;
                        self.four_digits()?
                    }
                    false => 0,
                };
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.invalid("Unicode low surrogate must follow a high surrogate."));
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        match char::from_u32(code) {
            Some(c) => out.push(c),
            None => return Err(self.invalid("Unicode low surrogate must follow a high surrogate.")),
        }
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32, SqlError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        self.at += 4;
        code.ok_or_else(|| {
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
                .detail("\"\\u\" must be followed by four hexadecimal digits.")
        })
    }
}
