//! Quoting, and `format`, which quotes.

use super::args::{Args, Result};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::value::Value;

/// `quote_literal(any)`
pub(super) fn quote_literal(args: &[Value]) -> Result {
    Ok(Value::text(literal(&crate::value::text_of(args.any(0)?))))
}

/// `quote_nullable(any)`: NULL is the word.
pub(super) fn quote_nullable(args: &[Value]) -> Result {
    if args.any(0)?.is_null() { Ok(Value::text("NULL")) } else { quote_literal(args) }
}

pub(super) fn quote_ident(args: &[Value]) -> Result {
    Ok(Value::text(identifier(args.text(0)?)))
}

/// A string literal, with `E` where it has a backslash.
fn literal(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// An identifier, in quotes if it needs them.
fn identifier(text: &str) -> String {
    let plain = |(i, b): (usize, u8)| matches!(b, b'a'..=b'z' | b'_') || i > 0 && b.is_ascii_digit();
    let safe = !text.is_empty() && text.bytes().enumerate().all(plain) && !KEYWORDS.split(' ').any(|k| k == text);
    if safe { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// PostgreSQL 15's keywords that are not free to be any name.
const KEYWORDS: &str = "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean \
both case cast char character check coalesce collate collation column concurrently constraint create cross \
current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal default \
deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest \
group grouping having ilike in initially inner inout int integer intersect interval into is isnull join lateral leading \
least left like limit localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric \
offset on only or order out outer overlaps overlay placing position precision primary real references returning right row \
select session_user setof similar smallint some substring symmetric table tablesample then time timestamp to trailing \
treat trim true union unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat \
xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

/// `format('%s %I %L %1$s %-10s %%', ...)`
pub(super) fn format(args: &[Value]) -> Result {
    if args.any(0)?.is_null() {
        return Ok(Value::Null);
    }
    let mut out = String::new();
    let mut chars = args.text(0)?.chars().peekable();
    let mut next = 1;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
        } else if chars.next_if_eq(&'%').is_some() {
            out.push('%');
        } else {
            let specifier = Specifier::read(&mut chars, &mut next, args)?;
            specifier.write(&mut out, args)?;
        }
    }
    Ok(Value::text(out))
}

/// `%[position$][-][width]type`
struct Specifier {
    position: usize,
    left: bool,
    width: usize,
    kind: char,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Specifier {
    fn read(chars: &mut Chars<'_>, next: &mut usize, args: &[Value]) -> Result<Specifier> {
        let mut number = digits(chars)?;
        let mut position = None;
        if let Some(n) = number.filter(|_| chars.peek() == Some(&'$')) {
            if n == 0 {
                return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
            }
            chars.next();
            position = Some(n);
            number = None;
        }
        let mut left = false;
        while number.is_none() && chars.next_if_eq(&'-').is_some() {
            left = true;
        }
        let mut width = match number {
            Some(n) => n as i64,
            None if chars.next_if_eq(&'*').is_some() => star(chars, next, args)?,
            None => digits(chars)?.unwrap_or(0) as i64,
        };
        if width < 0 {
            (left, width) = (true, -width);
        }
        let unterminated = || invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".");
        let kind = chars.next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(invalid(message).hint("For a single \"%\" use \"%%\"."));
        }
        let position = position.unwrap_or(*next);
        *next = position + 1;
        Ok(Specifier { position, left, width: width as usize, kind })
    }

    fn write(&self, out: &mut String, args: &[Value]) -> Result<()> {
        let value = args.get(self.position).ok_or_else(|| invalid("too few arguments for format()"))?;
        let text = match (self.kind, value) {
            ('I', Value::Null) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            ('L', Value::Null) => "NULL".to_owned(),
            (_, Value::Null) => String::new(),
            ('I', value) => identifier(&value.to_string()),
            ('L', value) => literal(&value.to_string()),
            (_, value) => value.to_string(),
        };
        budget::grow(out.len(), text.len().saturating_add(self.width))?;
        let padding = " ".repeat(self.width.saturating_sub(text.chars().count()));
        let (before, after) = if self.left { ("", &*padding) } else { (&*padding, "") };
        out.extend([before, &text, after]);
        Ok(())
    }
}

/// A width from the arguments: `*` or `*n$`.
fn star(chars: &mut Chars<'_>, next: &mut usize, args: &[Value]) -> Result<i64> {
    let position = match digits(chars)? {
        Some(n) if chars.next_if_eq(&'$').is_some() => n,
        Some(_) => return Err(invalid("width argument position must be ended by \"$\"")),
        None => *next,
    };
    *next = position + 1;
    match args.get(position) {
        None => Err(invalid("too few arguments for format()")),
        Some(Value::Null) => Ok(0),
        Some(value) => Ok(value.as_int().unwrap_or(0).clamp(-100_000_000, 100_000_000)),
    }
}

fn digits(chars: &mut Chars<'_>) -> Result<Option<usize>> {
    let mut number = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        let grown = number.unwrap_or(0) * 10 + digit as usize;
        if grown > i32::MAX as usize {
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "number is out of range"));
        }
        number = Some(grown);
    }
    Ok(number)
}

fn invalid(message: impl Into<std::sync::Arc<str>>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
