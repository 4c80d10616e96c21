//! Ranges: an interval between two bounds, either of which may be absent or excluded; or nothing at all.
//!
//! Ranges over integers and dates are kept in one form, `[a,b)`, so that equal ranges look alike.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};

use super::{Value, cast};
use crate::error::{SqlError, SqlState};
use crate::types::Type;

/// The value of a range.
#[derive(Clone, Debug)]
pub enum Range {
    /// `empty`
    Empty,
    /// What lies between two bounds.
    Between(Bound, Bound),
}

/// An end of a range.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Where; `None` for without end.
    pub value: Option<Value>,
    /// Whether the value itself belongs to the range.
    pub inclusive: bool,
}

impl Range {
    /// The range with these bounds, in its one form.
    pub fn new(lower: Bound, upper: Bound) -> Result<Range, SqlError> {
        if let (Some(a), Some(b)) = (&lower.value, &upper.value)
            && a > b
        {
            let message = "range lower bound must be less than or equal to range upper bound";
            return Err(SqlError::new(SqlState(*b"22000"), message));
        }
        let (lower, upper) = (lower.canonical(true)?, upper.canonical(false)?);
        let empty = match (&lower.value, &upper.value) {
            (Some(a), Some(b)) => a > b || a == b && !(lower.inclusive && upper.inclusive),
            _ => false,
        };
        Ok(if empty { Range::Empty } else { Range::Between(lower, upper) })
    }

    /// Whether a value lies inside.
    pub fn contains(&self, value: &Value) -> bool {
        let Range::Between(lower, upper) = self else { return false };
        let above = lower.value.as_ref().is_none_or(|l| value > l || value == l && lower.inclusive);
        above && upper.value.as_ref().is_none_or(|u| value < u || value == u && upper.inclusive)
    }

    /// Whether all of another range lies inside.
    pub fn contains_range(&self, other: &Range) -> bool {
        match (self, other) {
            (_, Range::Empty) => true,
            (Range::Empty, _) => false,
            (Range::Between(a, b), Range::Between(c, d)) => {
                compare_bounds(a, true, c, true).is_le() && compare_bounds(b, false, d, false).is_ge()
            }
        }
    }

    /// Whether some value lies in both.
    pub fn overlaps(&self, other: &Range) -> bool {
        let (Range::Between(a, b), Range::Between(c, d)) = (self, other) else { return false };
        compare_bounds(a, true, d, false).is_le() && compare_bounds(c, true, b, false).is_le()
    }

    /// Whether it lies wholly before another.
    pub fn is_before(&self, other: &Range) -> bool {
        let (Range::Between(_, b), Range::Between(c, _)) = (self, other) else { return false };
        compare_bounds(b, false, c, true).is_lt()
    }

    /// Whether the one begins exactly where the other ends.
    pub fn adjacent(&self, other: &Range) -> bool {
        let (Range::Between(a, b), Range::Between(c, d)) = (self, other) else { return false };
        let meet = |upper: &Bound, lower: &Bound| {
            upper.value.is_some() && upper.value == lower.value && upper.inclusive != lower.inclusive
        };
        meet(b, c) || meet(d, a)
    }

    /// What lies in both.
    pub fn intersection(&self, other: &Range) -> Range {
        let (Range::Between(a, b), Range::Between(c, d)) = (self, other) else { return Range::Empty };
        if !self.overlaps(other) {
            return Range::Empty;
        }
        let lower = if compare_bounds(a, true, c, true).is_ge() { a } else { c };
        let upper = if compare_bounds(b, false, d, false).is_le() { b } else { d };
        Range::Between(lower.clone(), upper.clone())
    }

    /// Reads the text form: `[1,5)`, `empty`.
    pub(super) fn parse(text: &str, bounds: Type) -> Result<Range, SqlError> {
        let malformed = |detail: &str| {
            let message = format!("malformed range literal: \"{text}\"");
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
        };
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("empty") {
            return Ok(Range::Empty);
        }
        let lower_inclusive = match trimmed.chars().next() {
            Some('[') => true,
            Some('(') => false,
            _ => return Err(malformed("Missing left parenthesis or bracket.")),
        };
        let (lower, rest) = bound_text(&trimmed[1..]);
        let Some(rest) = rest.strip_prefix(',') else { return Err(malformed("Missing comma after lower bound.")) };
        let (upper, rest) = bound_text(rest);
        let upper_inclusive = match rest.chars().next() {
            Some(']') => true,
            Some(')') => false,
            Some(',') => return Err(malformed("Too many commas.")),
            _ => return Err(malformed("Unexpected end of input.")),
        };
        if rest.len() > 1 {
            return Err(malformed("Junk after right parenthesis or bracket."));
        }
        let read = |text: Option<String>| text.map(|t| cast(&Value::text(t), Type::Text, bounds, false)).transpose();
        let bound = |value: Option<Value>, inclusive| Bound { inclusive: inclusive && value.is_some(), value };
        Range::new(bound(read(lower)?, lower_inclusive), bound(read(upper)?, upper_inclusive))
    }
}

/// A bound's text up to a comma or the end, and the rest.
fn bound_text(text: &str) -> (Option<String>, &str) {
    let (mut out, mut quoted, mut seen) = (String::new(), false, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            ',' | ')' | ']' | '(' | '[' if !quoted => return ((seen || !out.is_empty()).then_some(out), &text[at..]),
            '"' if quoted && chars.peek().is_some_and(|(_, c)| *c == '"') => {
                chars.next();
                out.push('"');
            }
            '"' => {
                quoted = !quoted;
                seen = true;
            }
            '\\' => out.extend(chars.next().map(|(_, c)| c)),
            c => out.push(c),
        }
    }
    (Some(out), "")
}

impl Bound {
    /// Integers and dates are counted: `(1,` is `[2,` and `5]` is `6)`.
    fn canonical(self, is_lower: bool) -> Result<Bound, SqlError> {
        let moves = self.inclusive != is_lower;
        let value = match self.value {
            Some(Value::Int(i)) if moves => Value::Int(
                i.checked_add(1).ok_or_else(|| SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "bigint out of range"))?,
            ),
            Some(Value::Date(d)) if moves && d != i32::MAX && d != i32::MIN => Value::Date(d.saturating_add(1)),
            Some(value @ (Value::Int(_) | Value::Date(_))) => value,
            value => return Ok(Bound { value, ..self }),
        };
        Ok(Bound { value: Some(value), inclusive: is_lower })
    }
}

/// Where bounds stand to each other, as ends of the kind each is.
fn compare_bounds(a: &Bound, a_lower: bool, b: &Bound, b_lower: bool) -> Ordering {
    match (&a.value, &b.value) {
        (None, None) => b_lower.cmp(&a_lower),
        (None, Some(_)) => {
            if a_lower {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (Some(_), None) => {
            if b_lower {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Some(x), Some(y)) => x.cmp(y).then_with(|| {
            // An excluded lower bound is just above its value, an excluded upper one just below.
            let shift = |bound: &Bound, lower: bool| match (bound.inclusive, lower) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => -1,
            };
            shift(a, a_lower).cmp(&shift(b, b_lower))
        }),
    }
}

impl Ord for Range {
    fn cmp(&self, other: &Range) -> Ordering {
        match (self, other) {
            (Range::Empty, Range::Empty) => Ordering::Equal,
            (Range::Empty, _) => Ordering::Less,
            (_, Range::Empty) => Ordering::Greater,
            (Range::Between(a, b), Range::Between(c, d)) => {
                compare_bounds(a, true, c, true).then_with(|| compare_bounds(b, false, d, false))
            }
        }
    }
}

impl PartialOrd for Range {
    fn partial_cmp(&self, other: &Range) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Range) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Range {}

impl Hash for Range {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Range::Between(lower, upper) = self {
            (&lower.value, lower.inclusive, &upper.value, upper.inclusive).hash(state);
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range::Between(lower, upper) = self else { return f.write_str("empty") };
        f.write_char(if lower.inclusive { '[' } else { '(' })?;
        write_bound(f, lower)?;
        f.write_char(',')?;
        write_bound(f, upper)?;
        f.write_char(if upper.inclusive { ']' } else { ')' })
    }
}

fn write_bound(f: &mut fmt::Formatter<'_>, bound: &Bound) -> fmt::Result {
    let Some(value) = &bound.value else { return Ok(()) };
    let text = value.to_string();
    let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | '[' | ']' | ',') || c.is_ascii_whitespace();
    if !text.is_empty() && !text.contains(special) {
        return f.write_str(&text);
    }
    f.write_char('"')?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_char(c)?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}
