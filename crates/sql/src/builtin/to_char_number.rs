//! `to_char` of numbers, and back: `to_number`.
//!
//! A template is positions for digits: `9` leaves blank what the number does not have, `0` fills it, a number too large
//! for its positions becomes `#`. The sign stands before the first digit unless `S`, `MI`, `PL`, `SG` or `PR` place it.

use bigdecimal::BigDecimal;

use super::Builtin;
use super::args::{Args, Result, error};
use super::list::f;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::Type::{self, *};
use crate::value::{Value, numeric};

const DECIMAL: Type = Numeric(None);

/// Functions.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("to_char", &[Int4, Text], Text, of_int),
    f("to_char", &[Int8, Text], Text, of_int),
    f("to_char", &[DECIMAL, Text], Text, of_numeric),
    f("to_char", &[Float8, Text], Text, of_float),
    f("to_number", &[Text, Text], DECIMAL, to_number),
];

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    Nine,
    Zero,
    Comma,
    Point,
    Sign,
    Minus,
    Plus,
    PlusMinus,
    Angle,
    Currency,
    Ordinal(bool),
    Text(char),
}

struct Template {
    pieces: Vec<Piece>,
    fill: bool,
}

fn unsupported<T>(what: &str) -> Result<T> {
    Err(SqlError::unsupported(Construct::NUMBER_TEMPLATE.of(what)))
}

fn template(text: &str) -> Result<Template> {
    let (mut pieces, mut fill, mut rest) = (Vec::new(), true, text);
    while let Some(c) = rest.chars().next() {
        let upper = rest.get(..2).map(str::to_ascii_uppercase).unwrap_or_default();
        let (piece, length) = match (upper.as_str(), c) {
            ("FM", _) => {
                fill = false;
                rest = &rest[2..];
                continue;
            }
            ("MI", _) => (Piece::Minus, 2),
            ("PL", _) => (Piece::Plus, 2),
            ("SG", _) => (Piece::PlusMinus, 2),
            ("PR", _) => (Piece::Angle, 2),
            ("TH", _) => (Piece::Ordinal(c == 'T'), 2),
            ("RN" | "EE", _) => return unsupported(&upper),
            (_, 'V' | 'v') => return unsupported("V"),
            (_, '9') => (Piece::Nine, 1),
            (_, '0') => (Piece::Zero, 1),
            (_, ',' | 'G' | 'g') => (Piece::Comma, 1),
            (_, '.' | 'D' | 'd') => (Piece::Point, 1),
            (_, 'S' | 's') => (Piece::Sign, 1),
            (_, 'L' | 'l') => (Piece::Currency, 1),
            (_, '"') => {
                let inside = &rest[1..];
                let end = inside.find('"').unwrap_or(inside.len());
                pieces.extend(inside[..end].chars().map(Piece::Text));
                rest = inside.get(end + 1..).unwrap_or("");
                continue;
            }
            (_, c) => (Piece::Text(c), c.len_utf8()),
        };
        pieces.push(piece);
        rest = &rest[length..];
    }
    Ok(Template { pieces, fill })
}

fn of_int(args: &[Value]) -> Result {
    written(&numeric::from_i64(args.int(0)?), args.text(1)?)
}

fn of_numeric(args: &[Value]) -> Result {
    written(args.numeric(0)?, args.text(1)?)
}

fn of_float(args: &[Value]) -> Result {
    match numeric::from_f64(args.float(0)?) {
        Some(n) => written(&n, args.text(1)?),
        None => unsupported("NaN"),
    }
}

fn written(n: &BigDecimal, text: &str) -> Result {
    let template = template(text)?;
    let point = template.pieces.iter().position(|p| *p == Piece::Point);
    let is_digit = |p: &&Piece| matches!(p, Piece::Nine | Piece::Zero);
    let (whole, after) = template.pieces.split_at(point.unwrap_or(template.pieces.len()));
    let decimals = after.iter().filter(is_digit).count();
    let rounded = numeric::to_text(&numeric::round(n, decimals as i64));
    let negative = rounded.starts_with('-');
    let digits = rounded.trim_start_matches('-');
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let positions = whole.iter().filter(is_digit).count();
    let forced = whole.iter().filter(is_digit).position(|p| *p == Piece::Zero);
    // A zero before the point is left out where only a nine would hold it.
    let integer = if integer == "0" && point.is_some() && forced.is_none() { "" } else { integer };
    let overflow = integer.len() > positions;
    let mut writer = Writer {
        out: String::new(),
        fill: template.fill,
        negative,
        sign_due: !template
            .pieces
            .iter()
            .any(|p| matches!(p, Piece::Sign | Piece::Minus | Piece::PlusMinus | Piece::Angle)),
        signed: false,
        started: false,
    };
    let first = positions.saturating_sub(integer.len()).min(forced.unwrap_or(usize::MAX));
    let (mut position, mut place) = (0, 0);
    let fraction = if template.fill { fraction } else { fraction.trim_end_matches('0') };
    let kept = after.iter().filter(is_digit).enumerate().filter(|(_, p)| **p == Piece::Zero).map(|(i, _)| i + 1).max();
    let shown_fraction = fraction.len().max(kept.unwrap_or(0));
    let padded = format!("{fraction:0<shown_fraction$}");
    let mut behind_point = false;
    let anchored_last = template.pieces.iter().rposition(|p| matches!(p, Piece::Nine | Piece::Zero | Piece::Point));
    for (i, piece) in template.pieces.iter().enumerate() {
        match piece {
            Piece::Nine | Piece::Zero if behind_point => {
                if overflow {
                    writer.out.push('#');
                } else if let Some(c) = padded.chars().nth(place) {
                    writer.out.push(c);
                }
                place += 1;
            }
            Piece::Nine | Piece::Zero => {
                let missing = positions.saturating_sub(integer.len());
                if overflow {
                    writer.start();
                    writer.out.push('#');
                } else if position >= missing && position >= first {
                    writer.start();
                    writer.out.push(integer.chars().nth(position - missing).unwrap_or('0'));
                } else if position >= first {
                    writer.start();
                    writer.out.push('0');
                } else {
                    writer.blank();
                }
                position += 1;
            }
            Piece::Comma if writer.started => writer.out.push(','),
            Piece::Comma => writer.blank(),
            Piece::Point => {
                writer.start();
                behind_point = true;
                if template.fill || shown_fraction > 0 || overflow {
                    writer.out.push('.');
                }
            }
            Piece::Sign => {
                // Before the digits it moves up to the first of them.
                if anchored_last.is_some_and(|last| i < last) {
                    (writer.sign_due, writer.started) = (true, false);
                    writer.signed = true;
                } else {
                    writer.out.push(if negative { '-' } else { '+' });
                }
            }
            Piece::Minus => match negative {
                true => writer.out.push('-'),
                false => writer.blank(),
            },
            Piece::Plus => match negative {
                false => writer.out.push('+'),
                true => writer.blank(),
            },
            Piece::PlusMinus => writer.out.push(if negative { '-' } else { '+' }),
            Piece::Angle => match negative {
                true => writer.out.push('>'),
                false => writer.blank(),
            },
            Piece::Currency => writer.blank(),
            Piece::Ordinal(upper) if !negative && point.is_none() => {
                let suffix = super::to_char::ordinal(digits, *upper);
                writer.out.push_str(&suffix);
            }
            Piece::Ordinal(_) => {}
            Piece::Text(c) => writer.out.push(*c),
        }
    }
    Ok(Value::text(writer.out))
}

/// What has been written.
struct Writer {
    out: String,
    fill: bool,
    negative: bool,
    /// The sign is still to be written, before the first digit.
    sign_due: bool,
    /// A plus is written too.
    signed: bool,
    started: bool,
}

impl Writer {
    fn blank(&mut self) {
        if self.fill {
            self.out.push(' ');
        }
    }

    /// The first digit is next.
    fn start(&mut self) {
        if std::mem::replace(&mut self.started, true) || !self.sign_due {
            return;
        }
        match self.negative {
            true => self.out.push('-'),
            false if self.signed => self.out.push('+'),
            false => self.blank(),
        }
    }
}

fn to_number(args: &[Value]) -> Result {
    let (text, _) = (args.text(0)?, template(args.text(1)?)?);
    let negative = text.contains('-') || text.contains('<');
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let signed = if negative { format!("-{digits}") } else { digits };
    match numeric::parse(&signed)? {
        Some(n) => Ok(Value::numeric(n)),
        None => {
            error(SqlState::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type numeric: \"{text}\""))
        }
    }
}
