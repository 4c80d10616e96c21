//! Arrays: elements in row-major order under any number of dimensions, each counted from its own lower bound.
//!
//! The empty array has no dimensions. Two arrays compare element by element, then by number of elements, then by their
//! dimensions. The text form is `{1,NULL,"two words"}`, with `[2:3]=` before it where a dimension does not begin at 1.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};

use super::Value;
use crate::budget;
use crate::error::{SqlError, SqlState};

/// The value of an array.
#[derive(Clone, Debug, Default)]
pub struct Array {
    /// Length and lower bound per dimension; none if the array is empty.
    pub dims: Vec<(usize, i32)>,
    /// The elements, the last dimension running fastest.
    pub elements: Vec<Value>,
}

/// More dimensions than anybody has: PostgreSQL's limit.
pub const DIMENSIONS_MAX: usize = 6;

impl Array {
    /// One dimension, counted from 1.
    pub fn of(elements: Vec<Value>) -> Array {
        let dims = if elements.is_empty() { Vec::new() } else { vec![(elements.len(), 1)] };
        Array { dims, elements }
    }

    /// The position of an element by its subscripts; `None` outside.
    pub fn position(&self, subscripts: &[i64]) -> Option<usize> {
        if subscripts.len() != self.dims.len() || subscripts.is_empty() {
            return None;
        }
        let mut position = 0;
        for ((length, lower), subscript) in self.dims.iter().zip(subscripts) {
            let at = usize::try_from(subscript - i64::from(*lower)).ok().filter(|at| at < length)?;
            position = position * length + at;
        }
        Some(position)
    }

    /// The part within these bounds per dimension, counted from 1; dimensions without bounds are taken whole.
    pub fn slice(&self, bounds: &[(i64, i64)]) -> Array {
        if self.dims.is_empty() || bounds.len() > self.dims.len() {
            return Array::default();
        }
        let mut ranges = Vec::new();
        for (i, (length, lower)) in self.dims.iter().enumerate() {
            let (first, last) = (i64::from(*lower), i64::from(*lower) + *length as i64 - 1);
            let (from, to) = bounds.get(i).map_or((first, last), |(from, to)| ((*from).max(first), (*to).min(last)));
            if from > to {
                return Array::default();
            }
            ranges.push(((from - first) as usize, (to - first) as usize));
        }
        let mut elements = Vec::new();
        self.gather(&ranges, 0, &mut elements);
        Array { dims: ranges.iter().map(|(from, to)| (to - from + 1, 1)).collect(), elements }
    }

    fn gather(&self, ranges: &[(usize, usize)], offset: usize, out: &mut Vec<Value>) {
        let depth = self.dims.len() - ranges.len();
        let Some(((from, to), rest)) = ranges.split_first() else { return };
        let stride: usize = self.dims[depth + 1..].iter().map(|(length, _)| length).product();
        for i in *from..=*to {
            match rest.is_empty() {
                true => out.push(self.elements[offset + i].clone()),
                false => self.gather(rest, offset + i * stride, out),
            }
        }
    }

    /// The array with every element converted.
    pub fn map(&self, convert: impl FnMut(&Value) -> Result<Value, SqlError>) -> Result<Array, SqlError> {
        let elements = self.elements.iter().map(convert).collect::<Result<Vec<_>, _>>()?;
        Ok(Array { dims: self.dims.clone(), elements })
    }

    /// Reads the text form; `element` reads what stands between the commas.
    pub fn parse(text: &str, element: &dyn Fn(&str) -> Result<Value, SqlError>) -> Result<Array, SqlError> {
        Parser { text, at: 0, element, array: Array::default(), lengths: Vec::new() }.array()
    }
}

impl Ord for Array {
    fn cmp(&self, other: &Array) -> Ordering {
        self.elements
            .cmp(&other.elements)
            .then_with(|| self.dims.len().cmp(&other.dims.len()))
            .then_with(|| self.dims.cmp(&other.dims))
    }
}

impl PartialOrd for Array {
    fn partial_cmp(&self, other: &Array) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Array {}

impl Hash for Array {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dims.hash(state);
        self.elements.hash(state);
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.is_empty() {
            return f.write_str("{}");
        }
        if self.dims.iter().any(|(_, lower)| *lower != 1) {
            for (length, lower) in &self.dims {
                write!(f, "[{lower}:{}]", i64::from(*lower) + *length as i64 - 1)?;
            }
            f.write_char('=')?;
        }
        self.write_dimension(f, 0, 0)
    }
}

impl Array {
    fn write_dimension(&self, f: &mut fmt::Formatter<'_>, depth: usize, offset: usize) -> fmt::Result {
        let stride: usize = self.dims[depth + 1..].iter().map(|(length, _)| length).product();
        f.write_char('{')?;
        for i in 0..self.dims[depth].0 {
            if i > 0 {
                f.write_char(',')?;
            }
            match depth + 1 < self.dims.len() {
                true => self.write_dimension(f, depth + 1, offset + i * stride)?,
                false => write_element(f, &self.elements[offset + i])?,
            }
        }
        f.write_char('}')
    }
}

fn write_element(f: &mut fmt::Formatter<'_>, element: &Value) -> fmt::Result {
    if element.is_null() {
        return f.write_str("NULL");
    }
    let text = element.to_string();
    let special = |c: char| matches!(c, '"' | '\\' | '{' | '}' | ',') || c.is_ascii_whitespace() || c == '\x0b';
    if !text.is_empty() && !text.contains(special) && !text.eq_ignore_ascii_case("null") {
        return f.write_str(&text);
    }
    f.write_char('"')?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}

/// What an element that is read costs.
const ELEMENT_COST: u64 = 4;

/// Reads `{...}` by descent.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    element: &'a dyn Fn(&str) -> Result<Value, SqlError>,
    array: Array,
    /// The length of each dimension, once its first sub-array has ended.
    lengths: Vec<Option<usize>>,
}

impl Parser<'_> {
    fn array(mut self) -> Result<Array, SqlError> {
        let bounds = self.bounds()?;
        self.blanks();
        if !self.text[self.at..].starts_with('{') {
            let problem = "Array value must start with \"{\" or dimension information.";
            return Err(self.malformed(problem));
        }
        self.level(0)?;
        self.blanks();
        if self.at < self.text.len() {
            return Err(self.malformed("Junk after closing right brace."));
        }
        if self.array.elements.is_empty() {
            return Ok(Array::default());
        }
        let lengths: Vec<usize> = self.lengths.iter().map(|l| l.unwrap_or(0)).collect();
        self.array.dims = match bounds {
            None => lengths.iter().map(|l| (*l, 1)).collect(),
            Some(bounds) => {
                let fits = bounds.len() == lengths.len() && bounds.iter().zip(&lengths).all(|((l, _), n)| l == n);
                if !fits {
                    return Err(self.malformed("Specified array dimensions do not match array contents."));
                }
                bounds
            }
        };
        Ok(self.array)
    }

    fn malformed(&self, detail: &str) -> SqlError {
        let message = format!("malformed array literal: \"{}\"", self.text);
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b').len();
    }

    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// `[1:2][0:3]=`
    fn bounds(&mut self) -> Result<Option<Vec<(usize, i32)>>, SqlError> {
        self.blanks();
        let mut dims = Vec::new();
        while self.text[self.at..].starts_with('[') {
            let rest = &self.text[self.at + 1..];
            let Some((inside, _)) = rest.split_once(']') else {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            };
            let (lower, upper) = inside.split_once(':').unwrap_or(("1", inside));
            let number = |t: &str| t.trim().parse::<i32>().ok();
            let (Some(lower), Some(upper)) = (number(lower), number(upper)) else {
                return Err(self.malformed("Missing array dimension value."));
            };
            if upper < lower {
                let message = "upper bound cannot be less than lower bound";
                return Err(SqlError::new(SqlState(*b"2202E"), message));
            }
            dims.push(((i64::from(upper) - i64::from(lower) + 1) as usize, lower));
            self.at += inside.len() + 2;
            self.blanks();
        }
        if dims.is_empty() {
            return Ok(None);
        }
        if !self.text[self.at..].starts_with('=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        Ok(Some(dims))
    }

    /// `{...}` at this depth.
    fn level(&mut self, depth: usize) -> Result<(), SqlError> {
        if depth >= DIMENSIONS_MAX {
            let message =
                format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", depth + 1);
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if self.lengths.len() <= depth {
            self.lengths.push(None);
        }
        self.at += 1;
        let mut count = 0;
        loop {
            self.blanks();
            match self.text[self.at..].chars().next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some('}') if count == 0 => {
                    self.at += 1;
                    break;
                }
                Some('{') => {
                    if depth + 1 == self.lengths.len() && !self.array.elements.is_empty() {
                        return Err(self.ragged());
                    }
                    self.level(depth + 1)?;
                }
                Some(_) => {
                    if depth + 1 < self.lengths.len() {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    self.element()?;
                }
            }
            count += 1;
            self.blanks();
            match self.next() {
                Some(',') => {}
                Some('}') => break,
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(_) => return Err(self.malformed("Unexpected array element.")),
            }
        }
        match self.lengths[depth] {
            Some(length) if length != count => Err(self.ragged()),
            _ => {
                self.lengths[depth] = Some(count);
                Ok(())
            }
        }
    }

    fn ragged(&self) -> SqlError {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    fn element(&mut self) -> Result<(), SqlError> {
        budget::spend(ELEMENT_COST)?;
        let (mut text, mut quoted, mut solid) = (String::new(), false, 0);
        loop {
            match self.text[self.at..].chars().next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(',' | '}') => break,
                Some('{') => return Err(self.malformed("Unexpected \"{\" character.")),
                Some('"') if !quoted && solid == 0 => {
                    self.at += 1;
                    quoted = true;
                    self.quoted(&mut text)?;
                    solid = text.len();
                    self.blanks();
                    if !self.text[self.at..].starts_with([',', '}']) {
                        return Err(self.malformed("Unexpected array element."));
                    }
                }
                Some('"') => return Err(self.malformed("Unexpected array element.")),
                Some('\\') => {
                    self.at += 1;
                    text.push(self.next().ok_or_else(|| self.malformed("Unexpected end of input."))?);
                    solid = text.len();
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    text.push(c);
                    if !c.is_ascii_whitespace() && c != '\x0b' {
                        solid = text.len();
                    }
                }
            }
        }
        text.truncate(solid);
        if text.is_empty() && !quoted {
            let c = self.text[self.at..].chars().next().unwrap_or(',');
            return Err(self.malformed(&format!("Unexpected \"{c}\" character.")));
        }
        let value = match !quoted && text.eq_ignore_ascii_case("null") {
            true => Value::Null,
            false => (self.element)(&text)?,
        };
        self.array.elements.push(value);
        Ok(())
    }

    fn quoted(&mut self, text: &mut String) -> Result<(), SqlError> {
        loop {
            match self.next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some('"') => return Ok(()),
                Some('\\') => text.push(self.next().ok_or_else(|| self.malformed("Unexpected end of input."))?),
                Some(c) => text.push(c),
            }
        }
    }
}
