//! `bytea`: written in hexadecimal, read in hexadecimal or with escapes.

use std::fmt;

use crate::error::{SqlError, SqlState};

/// `\x01ff`
pub(super) fn write_hex(f: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    f.write_str("\\x")?;
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}

/// `\x01ff`, blanks between bytes allowed; or text in which `\\` is a backslash and `\001` a byte in octal.
pub(super) fn parse(text: &str) -> Result<Vec<u8>, SqlError> {
    match text.strip_prefix("\\x") {
        Some(digits) => from_hex(digits),
        None => from_escapes(text),
    }
}

/// Bytes of two hexadecimal digits each.
pub(crate) fn from_hex(text: &str) -> Result<Vec<u8>, SqlError> {
    let mut bytes = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_ascii_whitespace() {
            continue;
        }
        let high = hex_digit(c)?;
        let low = chars.next().ok_or_else(|| {
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits")
        })?;
        bytes.push(high << 4 | hex_digit(low)?);
    }
    Ok(bytes)
}

fn hex_digit(c: char) -> Result<u8, SqlError> {
    c.to_digit(16)
        .map(|d| d as u8)
        .ok_or_else(|| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid hexadecimal digit: \"{c}\"")))
}

/// Text in which `\\` is a backslash and `\ooo` a byte in octal.
pub(crate) fn from_escapes(text: &str) -> Result<Vec<u8>, SqlError> {
    let source = text.as_bytes();
    let mut bytes = Vec::with_capacity(source.len());
    let mut at = 0;
    while let Some(&b) = source.get(at) {
        let octal = |i: usize| source.get(at + i).filter(|d| (b'0'..=b'7').contains(d)).map(|d| d - b'0');
        match b {
            b'\\' if source.get(at + 1) == Some(&b'\\') => {
                bytes.push(b'\\');
                at += 2;
            }
            b'\\' => match (octal(1), octal(2), octal(3)) {
                (Some(a @ 0..=3), Some(b), Some(c)) => {
                    bytes.push(a << 6 | b << 3 | c);
                    at += 4;
                }
                _ => {
                    let message = "invalid input syntax for type bytea";
                    return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
                }
            },
            b => {
                bytes.push(b);
                at += 1;
            }
        }
    }
    Ok(bytes)
}
