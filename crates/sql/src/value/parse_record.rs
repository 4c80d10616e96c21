//! Reading rows: `(1,,"two words")`.

use super::{Value, cast};
use crate::error::{SqlError, SqlState};
use crate::types::{Type, UserType};

/// A row of a composite type from its text form.
pub(super) fn parse_record(text: &str, ty: UserType) -> Result<Value, SqlError> {
    let malformed = |detail: &str| {
        let message = format!("malformed record literal: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    };
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let inside = trimmed.strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut chars = inside.chars().peekable();
    loop {
        let (mut field, mut quoted, mut seen_quote) = (String::new(), false, false);
        let end = loop {
            match chars.next() {
                None => return Err(malformed("Unexpected end of input.")),
                Some('"') if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    field.push('"');
                }
                Some('"') => {
                    quoted = !quoted;
                    seen_quote = true;
                }
                Some('\\') => field.push(chars.next().ok_or_else(|| malformed("Unexpected end of input."))?),
                Some(c @ (',' | ')')) if !quoted => break c,
                Some(c) => field.push(c),
            }
        };
        texts.push((seen_quote || !field.is_empty()).then_some(field));
        if end == ')' {
            break;
        }
    }
    if chars.next().is_some() {
        return Err(malformed("Junk after right parenthesis."));
    }
    let fields = ty.fields();
    match texts.len().cmp(&fields.len()) {
        std::cmp::Ordering::Less => return Err(malformed("Too few columns.")),
        std::cmp::Ordering::Greater => return Err(malformed("Too many columns.")),
        std::cmp::Ordering::Equal => {}
    }
    let read = |(text, (_, ty)): (Option<String>, &(_, Type))| match text {
        None => Ok(Value::Null),
        Some(text) => cast(&Value::text(text), Type::Text, *ty, false),
    };
    texts.into_iter().zip(fields).map(read).collect::<Result<Vec<_>, _>>().map(Value::record)
}
