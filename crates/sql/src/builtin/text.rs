//! Functions of text. Positions count characters from 1.

use super::args::{Args, Result, error};
use crate::budget;
use crate::error::SqlState;
use crate::value::{Value, text_of};

pub(super) fn concat_text(args: &[Value]) -> Result {
    joined(args.text(0)?, args.text(1)?)
}

/// `text || any`, `any || text`: the other becomes text first.
pub(super) fn concat_any(args: &[Value]) -> Result {
    joined(&text_of(args.any(0)?), &text_of(args.any(1)?))
}

fn joined(left: &str, right: &str) -> Result {
    budget::make(left.len() + right.len())?;
    Ok(Value::text([left, right].concat()))
}

/// `concat`: text output of all that are not NULL.
pub(super) fn concat(args: &[Value]) -> Result {
    let texts: Vec<_> = args.iter().filter(|v| !v.is_null()).map(Value::to_string).collect();
    budget::make(texts.iter().map(String::len).sum())?;
    Ok(Value::text(texts.concat()))
}

pub(super) fn concat_ws(args: &[Value]) -> Result {
    if args.any(0)?.is_null() {
        return Ok(Value::Null);
    }
    let texts: Vec<_> = args[1..].iter().filter(|v| !v.is_null()).map(Value::to_string).collect();
    let between = args.text(0)?;
    budget::make(texts.iter().map(|text| text.len() + between.len()).sum())?;
    Ok(Value::text(texts.join(between)))
}

pub(super) fn length(args: &[Value]) -> Result {
    Ok(count(args.text(0)?.chars().count()))
}

pub(super) fn octet_length(args: &[Value]) -> Result {
    Ok(count(args.text(0)?.len()))
}

fn count(n: usize) -> Value {
    Value::Int(n as i64)
}

/// Letter by letter, as C's `tolower` does: no letter becomes two.
pub(super) fn lower(args: &[Value]) -> Result {
    Ok(Value::text(lower_case(args.text(0)?)))
}

pub(super) fn upper(args: &[Value]) -> Result {
    Ok(Value::text(args.text(0)?.chars().map(upper_letter).collect::<String>()))
}

pub(super) fn lower_case(text: &str) -> String {
    text.chars().map(lower_letter).collect()
}

fn lower_letter(c: char) -> char {
    single(c.to_lowercase()).unwrap_or(c)
}

fn upper_letter(c: char) -> char {
    single(c.to_uppercase()).unwrap_or(c)
}

fn single(mut letters: impl Iterator<Item = char>) -> Option<char> {
    let first = letters.next()?;
    letters.next().is_none().then_some(first)
}

/// The first letter of each word in upper case, the others in lower.
pub(super) fn initcap(args: &[Value]) -> Result {
    let mut within = false;
    let letters = args.text(0)?.chars().map(|c| {
        let letter = if within { lower_letter(c) } else { upper_letter(c) };
        within = c.is_alphanumeric();
        letter
    });
    Ok(Value::text(letters.collect::<String>()))
}

pub(super) fn substr(args: &[Value]) -> Result {
    let start = args.int(1)?;
    let text = args.text(0)?.chars().skip((start - 1).max(0) as usize);
    Ok(Value::text(text.collect::<String>()))
}

/// `substr(text, start, length)`; a start before the text uses up length.
pub(super) fn substr_length(args: &[Value]) -> Result {
    let (start, length) = (args.int(1)?, args.int(2)?);
    if length < 0 {
        return error(SqlState::SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let (from, to) = ((start - 1).max(0), (start - 1 + length).max(0));
    let text = args.text(0)?.chars().skip(from as usize).take((to - from).max(0) as usize);
    Ok(Value::text(text.collect::<String>()))
}

/// `strpos(string, substring)`
pub(super) fn strpos(args: &[Value]) -> Result {
    find(args.text(0)?, args.text(1)?)
}

/// `position(substring IN string)`, in this order.
pub(super) fn position(args: &[Value]) -> Result {
    find(args.text(1)?, args.text(0)?)
}

fn find(text: &str, part: &str) -> Result {
    Ok(count(text.find(part).map_or(0, |at| text[..at].chars().count() + 1)))
}

pub(super) fn starts_with(args: &[Value]) -> Result {
    Ok(Value::Bool(args.text(0)?.starts_with(args.text(1)?)))
}

/// The characters to trim: a space unless given.
fn trimmed(args: &[Value]) -> Result<impl Fn(char) -> bool + '_> {
    let set = if args.len() > 1 { args.text(1)? } else { " " };
    Ok(move |c| set.contains(c))
}

pub(super) fn btrim(args: &[Value]) -> Result {
    let trimmed = trimmed(args)?;
    Ok(Value::text(args.text(0)?.trim_start_matches(&trimmed).trim_end_matches(&trimmed)))
}

pub(super) fn ltrim(args: &[Value]) -> Result {
    Ok(Value::text(args.text(0)?.trim_start_matches(trimmed(args)?)))
}

pub(super) fn rtrim(args: &[Value]) -> Result {
    Ok(Value::text(args.text(0)?.trim_end_matches(trimmed(args)?)))
}

pub(super) fn replace(args: &[Value]) -> Result {
    let (text, from) = (args.text(0)?, args.text(1)?);
    if from.is_empty() {
        return Ok(Value::text(text));
    }
    let to = args.text(2)?;
    budget::make(text.len() + text.matches(from).count().saturating_mul(to.len()))?;
    Ok(Value::text(text.replace(from, to)))
}

/// `overlay(text PLACING new FROM start [FOR length])`, the length being that of the new text unless given.
pub(super) fn overlay(args: &[Value]) -> Result {
    let (text, new, start) = (args.text(0)?, args.text(1)?, args.int(2)?);
    let length = if args.len() > 3 { args.int(3)? } else { new.chars().count() as i64 };
    if start <= 0 {
        return error(SqlState::SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let before = text.chars().take((start - 1) as usize);
    let after = text.chars().skip((start - 1 + length).max(0) as usize);
    Ok(Value::text(before.chain(new.chars()).chain(after).collect::<String>()))
}

/// Each character of the second text becomes the one at its place in the third, or vanishes.
pub(super) fn translate(args: &[Value]) -> Result {
    let (from, to) = (args.text(1)?, args.text(2)?);
    let translated = args.text(0)?.chars().filter_map(|c| match from.chars().position(|f| f == c) {
        Some(at) => to.chars().nth(at),
        None => Some(c),
    });
    Ok(Value::text(translated.collect::<String>()))
}

/// The first `n` characters, or all but the last `-n`.
pub(super) fn left(args: &[Value]) -> Result {
    let text = args.text(0)?;
    let keep = from_end(text, args.int(1)?);
    Ok(Value::text(text.chars().take(keep).collect::<String>()))
}

/// The last `n` characters, or all but the first `-n`.
pub(super) fn right(args: &[Value]) -> Result {
    let text = args.text(0)?;
    let keep = from_end(text, args.int(1)?);
    Ok(Value::text(text.chars().skip(text.chars().count() - keep).collect::<String>()))
}

/// How many characters `n` keeps.
fn from_end(text: &str, n: i64) -> usize {
    let length = text.chars().count() as i64;
    (if n < 0 { length + n } else { n }).clamp(0, length) as usize
}

pub(super) fn lpad(args: &[Value]) -> Result {
    pad(args, |text, padding| padding + text)
}

pub(super) fn rpad(args: &[Value]) -> Result {
    pad(args, |text, padding| text.to_owned() + &padding)
}

/// Cuts a text to a length, or fills it up.
fn pad(args: &[Value], join: fn(&str, String) -> String) -> Result {
    let text = args.text(0)?;
    let fill = if args.len() > 2 { args.text(2)? } else { " " };
    let (length, wanted) = (text.chars().count(), args.int(1)?.max(0) as usize);
    check_size(wanted)?;
    if wanted <= length || fill.is_empty() {
        return Ok(Value::text(text.chars().take(wanted).collect::<String>()));
    }
    Ok(Value::text(join(text, fill.chars().cycle().take(wanted - length).collect())))
}

pub(super) fn repeat(args: &[Value]) -> Result {
    let (text, times) = (args.text(0)?, args.int(1)?.max(0) as usize);
    check_size(text.len().saturating_mul(times))?;
    Ok(Value::text(text.repeat(times)))
}

/// PostgreSQL's limit on one value.
fn check_size(bytes: usize) -> Result<()> {
    const MAX: usize = 0x3fff_ffff;
    match bytes > MAX {
        true => error(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large"),
        false => budget::make(bytes),
    }
}

pub(super) fn reverse(args: &[Value]) -> Result {
    Ok(Value::text(args.text(0)?.chars().rev().collect::<String>()))
}

/// The n-th field, from the end if `n` is negative.
pub(super) fn split_part(args: &[Value]) -> Result {
    let (text, delimiter, n) = (args.text(0)?, args.text(1)?, args.int(2)?);
    if n == 0 {
        return error(SqlState::INVALID_PARAMETER_VALUE, "field position must not be zero");
    }
    let fields: Vec<&str> = if delimiter.is_empty() { vec![text] } else { text.split(delimiter).collect() };
    let at = if n > 0 { n - 1 } else { fields.len() as i64 + n };
    Ok(Value::text(usize::try_from(at).ok().and_then(|at| fields.get(at)).copied().unwrap_or("")))
}

pub(super) fn ascii(args: &[Value]) -> Result {
    Ok(Value::Int(args.text(0)?.chars().next().map_or(0, |c| i64::from(u32::from(c)))))
}

pub(super) fn chr(args: &[Value]) -> Result {
    let code = args.int(0)?;
    match u32::try_from(code).map(char::from_u32) {
        Err(_) => error(SqlState::INVALID_PARAMETER_VALUE, "character number must be positive"),
        Ok(Some('\0')) => error(SqlState::PROGRAM_LIMIT_EXCEEDED, "null character not permitted"),
        Ok(Some(c)) => Ok(Value::text(c.to_string())),
        Ok(None) if code <= 0x10_ffff => {
            let message = format!("requested character not valid for encoding: {code}");
            error(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        }
        Ok(None) => {
            let message = format!("requested character too large for encoding: {code}");
            error(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        }
    }
}

/// Of an `integer`: 32 bits.
pub(super) fn to_hex_int4(args: &[Value]) -> Result {
    Ok(Value::text(format!("{:x}", args.int(0)? as u32)))
}

/// Of a `bigint`: 64 bits.
pub(super) fn to_hex_int8(args: &[Value]) -> Result {
    Ok(Value::text(format!("{:x}", args.int(0)?)))
}
