//! `LIKE`: `%` is any text, `_` any character, a backslash takes the next one literally.

use super::args::{Args, Result};
use super::text::lower_case;
use crate::error::{SqlError, SqlState};
use crate::value::Value;

const INVALID_ESCAPE: SqlState = SqlState(*b"22025");

pub(super) fn like(args: &[Value]) -> Result {
    matches(args.text(0)?, args.text(1)?).map(Value::Bool)
}

pub(super) fn not_like(args: &[Value]) -> Result {
    matches(args.text(0)?, args.text(1)?).map(|m| Value::Bool(!m))
}

pub(super) fn ilike(args: &[Value]) -> Result {
    matches(&lower_case(args.text(0)?), &lower_case(args.text(1)?)).map(Value::Bool)
}

pub(super) fn not_ilike(args: &[Value]) -> Result {
    matches(&lower_case(args.text(0)?), &lower_case(args.text(1)?)).map(|m| Value::Bool(!m))
}

/// `like_escape(pattern, escape)`: the pattern of `LIKE pattern ESCAPE escape`, written with a backslash.
pub(super) fn like_escape(args: &[Value]) -> Result {
    let (pattern, escape) = (args.text(0)?, args.text(1)?);
    let mut escapes = escape.chars();
    let (escape, more) = (escapes.next(), escapes.next());
    if more.is_some() {
        let error = SqlError::new(INVALID_ESCAPE, "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    if escape == Some('\\') {
        return Ok(Value::text(pattern));
    }
    let mut rewritten = String::new();
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            _ if Some(c) == escape && !escaped => {
                rewritten.push('\\');
                escaped = true;
                continue;
            }
            '\\' if !escaped => rewritten.push_str("\\\\"),
            c => rewritten.push(c),
        }
        escaped = false;
    }
    Ok(Value::text(rewritten))
}

/// A piece of a pattern.
enum Piece {
    Literal(char),
    One,
    Many,
    /// A backslash with nothing behind it: an error once it is reached.
    Dangling,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut chars = pattern.chars();
    let mut pieces = Vec::new();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '%' => Piece::Many,
            '_' => Piece::One,
            '\\' => chars.next().map_or(Piece::Dangling, Piece::Literal),
            c => Piece::Literal(c),
        });
    }
    pieces
}

/// Greedy with one point of return, the latest `%`: an earlier one need never be tried again.
fn matches(text: &str, pattern: &str) -> Result<bool> {
    let (text, pieces): (Vec<char>, _) = (text.chars().collect(), pieces(pattern));
    let (mut at, mut piece) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match pieces.get(piece) {
            Some(Piece::Dangling) => {
                return Err(SqlError::new(INVALID_ESCAPE, "LIKE pattern must not end with escape character"));
            }
            Some(Piece::Many) => {
                piece += 1;
                retry = Some((at, piece));
                continue;
            }
            Some(Piece::One) => {}
            Some(Piece::Literal(c)) if *c == text[at] => {}
            _ => match &mut retry {
                Some((from, after)) => {
                    *from += 1;
                    (at, piece) = (*from, *after);
                    continue;
                }
                None => return Ok(false),
            },
        }
        at += 1;
        piece += 1;
    }
    Ok(pieces[piece.min(pieces.len())..].iter().all(|p| matches!(p, Piece::Many)))
}
