//! COPY ... FROM stdin, and the lines behind it.
//!
//! A dump writes its rows as lines of tab-separated fields up to a line `\.`. They belong to the statement, but squawk,
//! like PostgreSQL's own grammar, does not see them; [`rows`] reads them.

use std::sync::Arc;

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{Copy, CopyFormat};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;

impl Lower {
    pub(super) fn copy(&self, copy: &cst::Copy) -> Result<Copy> {
        self.refuse(copy.copy_query(), Construct::COPY_OF_A_QUERY)?;
        self.refuse(copy.where_clause(), Construct::COPY_WHERE)?;
        match self.need(copy.copy_direction(), copy)? {
            cst::CopyDirection::CopyFrom(from) => match from.copy_source() {
                Some(cst::CopySource::CopyStdin(_)) => {}
                _ => return Err(self.unsupported(&from, Construct::COPY_FROM_A_FILE).hint("use COPY ... FROM stdin")),
            },
            cst::CopyDirection::CopyTo(to) => return Err(self.unsupported(&to, Construct::COPY_TO)),
        }
        let table = self.need(copy.copy_table(), copy)?;
        self.refuse_token(table.binary_token(), Construct::COPY_BINARY)?;
        Ok(Copy {
            table: self.name(&self.need(table.table_name_ref(), &table)?)?,
            columns: self.column_refs(&table),
            format: self.copy_format(copy)?,
            rows: Vec::new(),
        })
    }

    /// The options, in their new and their old spelling.
    fn copy_format(&self, copy: &cst::Copy) -> Result<CopyFormat> {
        let mut given = Vec::new();
        for option in copy.copy_option_list().iter().flat_map(|list| list.copy_options()) {
            let key = self.need(option.copy_option_key(), &option)?.syntax().text().to_string();
            let value = option.copy_option_value().map(|v| v.syntax().text().to_string());
            given.push((key.trim().to_lowercase(), unquoted(value.as_deref().unwrap_or("")), option.syntax().clone()));
        }
        for option in copy.copy_legacy_options() {
            let text = option.syntax().text().to_string().trim().to_lowercase();
            let key = text.split_whitespace().next().unwrap_or("").to_string();
            let value = option.literal().map(|l| l.syntax().text().to_string());
            let (key, value) = match key.as_str() {
                "csv" => ("format".to_string(), "csv".to_string()),
                _ => (key, unquoted(value.as_deref().unwrap_or(""))),
            };
            given.push((key, value, option.syntax().clone()));
        }
        let csv = given.iter().any(|(key, value, _)| key == "format" && value.eq_ignore_ascii_case("csv"));
        let mut format = CopyFormat {
            csv,
            delimiter: if csv { ',' } else { '\t' },
            null: if csv { "" } else { "\\N" }.into(),
            header: false,
            quote: '"',
            escape: '"',
        };
        for (key, value, node) in given {
            let char = |fallback: char| value.chars().next().unwrap_or(fallback);
            match key.as_str() {
                "format" if matches!(value.to_lowercase().as_str(), "csv" | "text") => {}
                "delimiter" => format.delimiter = char(format.delimiter),
                "null" => format.null = value.into(),
                "header" => format.header = !matches!(value.to_lowercase().as_str(), "false" | "off" | "0"),
                "quote" => {
                    format.quote = char('"');
                    format.escape = format.quote;
                }
                "escape" => format.escape = char('"'),
                "encoding" | "freeze" => {}
                other => {
                    let span = self.span(&node);
                    return Err(Diagnostic::unsupported(span, Construct::COPY_OPTION.of(other)));
                }
            }
        }
        Ok(format)
    }
}

/// A literal's text: `'x'`, `E'\t'`, or a word.
fn unquoted(literal: &str) -> String {
    let literal = literal.trim();
    let escaped = literal.strip_prefix(['e', 'E']).filter(|rest| rest.starts_with('\''));
    let body = escaped.unwrap_or(literal);
    match body.strip_prefix('\'').and_then(|b| b.strip_suffix('\'')) {
        Some(text) if escaped.is_some() => unescaped(&text.replace("''", "'")),
        Some(text) => text.replace("''", "'"),
        None => literal.to_string(),
    }
}

/// The rows in the lines behind a COPY; `span` is where they stand.
pub(crate) fn rows(format: &CopyFormat, data: &str, span: Span) -> Result<Vec<Vec<Option<Arc<str>>>>> {
    let mut rows = if format.csv { csv_rows(format, data, span)? } else { text_rows(format, data) };
    if format.header && !rows.is_empty() {
        rows.remove(0);
    }
    Ok(rows)
}

fn text_rows(format: &CopyFormat, data: &str) -> Vec<Vec<Option<Arc<str>>>> {
    let mut rows = Vec::new();
    for line in data.lines().take_while(|line| *line != "\\.") {
        let mut fields = Vec::new();
        let mut field = String::new();
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    field.push(c);
                    field.extend(chars.next());
                }
                c if c == format.delimiter => fields.push(std::mem::take(&mut field)),
                c => field.push(c),
            }
        }
        fields.push(field);
        let value = |field: &String| (**field != *format.null).then(|| unescaped(field).into());
        rows.push(fields.iter().map(value).collect());
    }
    rows
}

/// `\t`, `\n`, `\\`, `\101`, `\x41`: what COPY and E'' strings have in common.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some('x') if chars.peek().is_some_and(char::is_ascii_hexdigit) => {
                out.push(number(&mut chars, 16, 2, 0));
            }
            Some(digit @ '0'..='7') => out.push(number(&mut chars, 8, 2, digit as u32 - '0' as u32)),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, digits: usize, start: u32) -> char {
    let mut value = start;
    for _ in 0..digits {
        match chars.peek().and_then(|c| c.to_digit(radix)) {
            Some(digit) => value = value * radix + digit,
            None => break,
        }
        chars.next();
    }
    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn csv_rows(format: &CopyFormat, data: &str, span: Span) -> Result<Vec<Vec<Option<Arc<str>>>>> {
    let mut rows = Vec::new();
    let (mut fields, mut field, mut was_quoted, mut quoted) = (Vec::new(), String::new(), false, false);
    let mut at_start = true;
    let mut chars = data.chars().peekable();
    let finish = |field: &mut String, was_quoted: &mut bool, fields: &mut Vec<Option<Arc<str>>>| {
        let text = std::mem::take(field);
        let is_null = !std::mem::take(was_quoted) && *text == *format.null;
        fields.push((!is_null).then(|| text.into()));
    };
    while let Some(c) = chars.next() {
        if quoted {
            match c {
                c if c == format.escape && chars.peek() == Some(&format.quote) => field.extend(chars.next()),
                c if c == format.quote => quoted = false,
                c => field.push(c),
            }
            continue;
        }
        match c {
            c if c == format.quote => (quoted, was_quoted) = (true, true),
            c if c == format.delimiter => finish(&mut field, &mut was_quoted, &mut fields),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' if at_start && field.is_empty() && fields.is_empty() && chars.peek().is_none() => {}
            '\n' if field == "\\." && fields.is_empty() => {
                field.clear();
                break;
            }
            '\n' => {
                finish(&mut field, &mut was_quoted, &mut fields);
                rows.push(std::mem::take(&mut fields));
                at_start = true;
                continue;
            }
            c => field.push(c),
        }
        at_start = false;
    }
    if quoted {
        return Err(Diagnostic::new(span, SqlState::BAD_COPY_FORMAT, "unterminated CSV quoted field"));
    }
    if field == "\\." && fields.is_empty() {
        return Ok(rows);
    }
    if !field.is_empty() || was_quoted || !fields.is_empty() {
        finish(&mut field, &mut was_quoted, &mut fields);
        rows.push(fields);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &CopyFormat, data: &str) -> Vec<String> {
        let rows = rows(format, data, Span::default()).unwrap_or_default();
        rows.iter()
            .map(|row| row.iter().map(|f| f.as_deref().unwrap_or("<null>")).collect::<Vec<_>>().join("|"))
            .collect()
    }

    #[test]
    fn text_fields_are_split_at_tabs_and_escapes_undone() {
        let format =
            CopyFormat { csv: false, delimiter: '\t', null: "\\N".into(), header: false, quote: '"', escape: '"' };
        assert_eq!(shown(&format, "1\t\\N\ta\\tb\\\\c\n2\t\tx\\.y\n\\.\n"), ["1|<null>|a\tb\\c", "2||x.y"]);
    }

    #[test]
    fn csv_fields_may_be_quoted() {
        let format = CopyFormat { csv: true, delimiter: ',', null: "".into(), header: true, quote: '"', escape: '"' };
        let data = "a,b\n1,\"x, \"\"y\"\"\"\n2,\n3,\"\"\n\\.\n";
        assert_eq!(shown(&format, data), ["1|x, \"y\"", "2|<null>", "3|"]);
    }
}
