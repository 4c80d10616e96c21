//! `bytea`, and what `character(n)` does differently from text.

use std::fmt::Write;

use sha2::Digest;

use super::Builtin;
use super::args::{Args, Result, error};
use super::like;
use super::list::f;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::Type::*;
use crate::value::Value;
use crate::value::bytea::{from_escapes, from_hex};

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("||", &[Bytea, Bytea], Bytea, concat),
    f("length", &[Bytea], Int4, length),
    f("octet_length", &[Bytea], Int4, length),
    f("substring", &[Bytea, Int4], Bytea, substring),
    f("substring", &[Bytea, Int4, Int4], Bytea, substring),
    f("substr", &[Bytea, Int4], Bytea, substring),
    f("substr", &[Bytea, Int4, Int4], Bytea, substring),
    f("get_byte", &[Bytea, Int4], Int4, get_byte),
    f("set_byte", &[Bytea, Int4, Int4], Bytea, set_byte),
    f("md5", &[Bytea], Text, super::md5::md5_bytes),
    f("sha224", &[Bytea], Bytea, sha224),
    f("sha256", &[Bytea], Bytea, sha256),
    f("sha384", &[Bytea], Bytea, sha384),
    f("sha512", &[Bytea], Bytea, sha512),
    f("encode", &[Bytea, Text], Text, encode),
    f("decode", &[Text, Text], Bytea, decode),
    f("convert_to", &[Text, Text], Bytea, convert_to),
    f("convert_from", &[Bytea, Text], Text, convert_from),
    // Blanks at the end of a character(n) are there to be matched.
    f("~~", &[Bpchar(None), Text], Bool, like::like),
    f("!~~", &[Bpchar(None), Text], Bool, like::not_like),
    f("~~*", &[Bpchar(None), Text], Bool, like::ilike),
    f("!~~*", &[Bpchar(None), Text], Bool, like::not_ilike),
    f("length", &[Bpchar(None)], Int4, bpchar_length),
    f("character_length", &[Bpchar(None)], Int4, bpchar_length),
    f("char_length", &[Bpchar(None)], Int4, bpchar_length),
    f("octet_length", &[Bpchar(None)], Int4, bpchar_octets),
];

fn concat(args: &[Value]) -> Result {
    Ok(Value::bytea([args.bytes(0)?, args.bytes(1)?].concat()))
}

fn length(args: &[Value]) -> Result {
    Ok(Value::Int(args.bytes(0)?.len() as i64))
}

fn substring(args: &[Value]) -> Result {
    let (bytes, from) = (args.bytes(0)?, args.int(1)?);
    let end = match args.len() {
        3 if args.int(2)? < 0 => {
            return error(SqlState(*b"22011"), "negative substring length not allowed");
        }
        3 => from.saturating_add(args.int(2)?),
        _ => i64::MAX,
    };
    let clamp = |at: i64| (at.max(1) as usize - 1).min(bytes.len());
    let (from, end) = (clamp(from), clamp(end));
    Ok(Value::bytea(&bytes[from..end.max(from)]))
}

fn byte_at(args: &[Value]) -> Result<usize> {
    let (bytes, at) = (args.bytes(0)?, args.int(1)?);
    usize::try_from(at).ok().filter(|at| *at < bytes.len()).ok_or_else(|| {
        let message = format!("index {at} out of valid range, 0..{}", bytes.len() as i64 - 1);
        SqlError::new(SqlState(*b"2202E"), message)
    })
}

fn get_byte(args: &[Value]) -> Result {
    Ok(Value::Int(args.bytes(0)?[byte_at(args)?].into()))
}

fn set_byte(args: &[Value]) -> Result {
    let mut bytes = args.bytes(0)?.to_vec();
    bytes[byte_at(args)?] = args.int(2)? as u8;
    Ok(Value::bytea(bytes))
}

fn sha224(args: &[Value]) -> Result {
    Ok(Value::bytea(sha2::Sha224::digest(args.bytes(0)?).to_vec()))
}

fn sha256(args: &[Value]) -> Result {
    Ok(Value::bytea(sha2::Sha256::digest(args.bytes(0)?).to_vec()))
}

fn sha384(args: &[Value]) -> Result {
    Ok(Value::bytea(sha2::Sha384::digest(args.bytes(0)?).to_vec()))
}

fn sha512(args: &[Value]) -> Result {
    Ok(Value::bytea(sha2::Sha512::digest(args.bytes(0)?).to_vec()))
}

fn unknown_encoding<T>(name: &str) -> Result<T> {
    error(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized encoding: \"{name}\""))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(args: &[Value]) -> Result {
    let (bytes, format) = (args.bytes(0)?, args.text(1)?);
    let mut out = String::new();
    match format.to_ascii_lowercase().as_str() {
        "hex" => bytes.iter().for_each(|b| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{b:02x}");
        }),
        "escape" => bytes.iter().for_each(|b| match b {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80..=0xff => {
                let _ = write!(out, "\\{b:03o}");
            }
            b => out.push(char::from(*b)),
        }),
        "base64" => {
            for (i, chunk) in bytes.chunks(3).enumerate() {
                // A line has 76 characters.
                if i > 0 && i % 19 == 0 {
                    out.push('\n');
                }
                let word = chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
                for k in 0..4 {
                    let digit = char::from(BASE64[(word >> (18 - 6 * k) & 63) as usize]);
                    out.push(if k <= chunk.len() { digit } else { '=' });
                }
            }
        }
        _ => return unknown_encoding(format),
    }
    Ok(Value::text(out))
}

fn decode(args: &[Value]) -> Result {
    let (text, format) = (args.text(0)?, args.text(1)?);
    Ok(Value::bytea(match format.to_ascii_lowercase().as_str() {
        "hex" => from_hex(text)?,
        "escape" => from_escapes(text)?,
        "base64" => from_base64(text)?,
        _ => return unknown_encoding(format),
    }))
}

fn from_base64(text: &str) -> Result<Vec<u8>> {
    let (mut bytes, mut word, mut count) = (Vec::new(), 0u32, 0);
    for c in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        if c == b'=' {
            break;
        }
        let Some(digit) = BASE64.iter().position(|b| *b == c) else {
            let message = format!("invalid symbol \"{}\" found while decoding base64 sequence", char::from(c));
            return error(SqlState::INVALID_PARAMETER_VALUE, message);
        };
        (word, count) = (word << 6 | digit as u32, count + 1);
        if count == 4 {
            bytes.extend([(word >> 16) as u8, (word >> 8) as u8, word as u8]);
            (word, count) = (0, 0);
        }
    }
    match count {
        0 => {}
        2 => bytes.push((word >> 4) as u8),
        3 => bytes.extend([(word >> 10) as u8, (word >> 2) as u8]),
        _ => {
            let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "invalid base64 end sequence");
            return Err(error.hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
        }
    }
    Ok(bytes)
}

fn is_utf8(name: &str) -> Result<()> {
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(SqlError::unsupported(Construct::ENCODING.of(name))),
    }
}

fn convert_to(args: &[Value]) -> Result {
    is_utf8(args.text(1)?)?;
    Ok(Value::bytea(args.text(0)?.as_bytes()))
}

fn convert_from(args: &[Value]) -> Result {
    is_utf8(args.text(1)?)?;
    let bytes = args.bytes(0)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Value::text(text)),
        Err(e) => {
            let bad = bytes.iter().skip(e.valid_up_to()).take(e.error_len().unwrap_or(1).max(1));
            let shown = bad.map(|b| format!("0x{b:02x}")).collect::<Vec<_>>().join(" ");
            error(SqlState(*b"22021"), format!("invalid byte sequence for encoding \"UTF8\": {shown}"))
        }
    }
}

fn bpchar(args: &[Value]) -> Result<&str> {
    match args.any(0)? {
        Value::Bpchar(t) => Ok(t),
        other => error(SqlState::INTERNAL_ERROR, format!("expected a character, found {other:?}")),
    }
}

/// The blanks at the end do not count.
fn bpchar_length(args: &[Value]) -> Result {
    Ok(Value::Int(bpchar(args)?.trim_end_matches(' ').chars().count() as i64))
}

fn bpchar_octets(args: &[Value]) -> Result {
    Ok(Value::Int(bpchar(args)?.len() as i64))
}
