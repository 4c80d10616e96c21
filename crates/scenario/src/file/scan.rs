//! Finding the marks in a scenario file: `--@` sections, psql's `\` commands, `:variables`.
//!
//! What stands in strings, quoted names, dollar quotes and comments is none of these, so the scanner knows exactly as
//! much of PostgreSQL's lexical rules as it takes to skip them. Everything between two marks is left to the SQL parser.

use isolde_sql::parse::{self, Lexeme};
use isolde_sql::{Diagnostic, Span};

/// Something in a scenario file that is not SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) kind: MarkKind,
    /// All of it, to the end of its line where it takes the line.
    pub(super) span: Span,
}

/// What a [`Mark`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// `--@ thread alice`
    Section,
    /// `\gset`, `\i schema.sql`
    Command,
    /// The lines behind `COPY ... FROM stdin;`, up to `\.`
    Data,
    /// `:name`, `:'name'` or `:"name"`; the character says which quotes.
    Variable(Option<u8>),
}

/// The marks of a text, in order. Spans are relative to the text.
pub(super) fn marks(text: &str) -> Result<Vec<Mark>, Diagnostic> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, statement: 0 };
    let mut marks = Vec::new();
    while scanner.at < text.len() {
        let mark = scanner.next()?;
        if mark.is_some_and(|mark| !matches!(mark.kind, MarkKind::Variable(_))) {
            scanner.statement = scanner.at;
        }
        marks.extend(mark);
    }
    Ok(marks)
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Where the statement at hand begins.
    statement: usize,
}

impl Scanner<'_> {
    /// Skips one token, and returns it if it is a mark.
    fn next(&mut self) -> Result<Option<Mark>, Diagnostic> {
        let start = self.at;
        match (self.bytes[start], self.peek(1)) {
            (b'-', Some(b'-')) => return self.line_comment(),
            (b'/', Some(b'*')) => self.block_comment()?,
            (b'\'', _) => self.quoted(b'\'', self.is_escape_string(), "quoted string")?,
            (b'"', _) => self.quoted(b'"', false, "quoted identifier")?,
            (b'$', _) => self.dollar_quoted()?,
            (b'\\', _) => return Ok(Some(self.command())),
            (b';', _) => return Ok(self.semicolon()),
            (b':', Some(b':' | b'=')) => self.at += 2,
            (b':', _) => return Ok(self.variable()),
            (byte, _) if is_word(byte) => self.skip_while(is_word),
            _ => self.at += 1,
        }
        Ok(None)
    }

    /// The end of a statement; the rows of a COPY follow it.
    fn semicolon(&mut self) -> Option<Mark> {
        let statement = &self.text[self.statement..self.at];
        self.at += 1;
        self.statement = self.at;
        if !is_copy(statement) {
            return None;
        }
        let rest = &self.text[self.at..];
        let start = self.at + rest.find('\n').map_or(rest.len(), |line| line + 1);
        let lines = &self.text[start..];
        let end = match lines.starts_with("\\.") {
            true => start + 2,
            false => start + lines.find("\n\\.").map_or(lines.len(), |at| at + 3),
        };
        self.at = end;
        Some(Mark { kind: MarkKind::Data, span: Span::new(start, end) })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&belongs) {
            self.at += 1;
        }
    }

    fn line_comment(&mut self) -> Result<Option<Mark>, Diagnostic> {
        let start = self.at;
        self.skip_while(|b| b != b'\n');
        if self.bytes.get(start + 2) != Some(&b'@') {
            return Ok(None);
        }
        let span = Span::new(start, self.at);
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        if !self.text[line_start..start].trim().is_empty() {
            let error = Diagnostic::syntax(span, "a section must begin at the start of a line");
            return Err(error.hint("move `--@` to a line of its own"));
        }
        Ok(Some(Mark { kind: MarkKind::Section, span }))
    }

    /// Comments nest.
    fn block_comment(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        let mut depth = 0u32;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => (depth, self.at) = (depth + 1, self.at + 2),
                (Some(b'*'), Some(b'/')) => (depth, self.at) = (depth - 1, self.at + 2),
                (Some(_), _) => self.at += 1,
                (None, _) => {
                    return Err(Diagnostic::syntax(Span::new(start, start + 2), "unterminated /* comment"));
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// A doubled quote simply starts the next string where this one ends.
    fn quoted(&mut self, quote: u8, escapes: bool, what: &str) -> Result<(), Diagnostic> {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == quote {
                return Ok(());
            }
            if escapes && byte == b'\\' && self.peek(0).is_some() {
                self.at += 1;
            }
        }
        Err(Diagnostic::syntax(Span::new(start, start + 1), format!("unterminated {what}")))
    }

    /// Whether the quote here belongs to `E'...'`, in which a backslash escapes.
    fn is_escape_string(&self) -> bool {
        let before = |n: usize| self.at.checked_sub(n).map(|i| self.bytes[i]);
        matches!(before(1), Some(b'e' | b'E')) && !before(2).is_some_and(is_word)
    }

    fn dollar_quoted(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        self.at += 1;
        self.skip_while(|b| is_word(b) && b != b'$');
        let tag_ends = self.peek(0) == Some(b'$') && !self.bytes.get(start + 1).is_some_and(u8::is_ascii_digit);
        if !tag_ends {
            // `$1`: a parameter.
            return Ok(());
        }
        self.at += 1;
        let tag = &self.text[start..self.at];
        match self.text[self.at..].find(tag) {
            Some(length) => {
                self.at += length + tag.len();
                Ok(())
            }
            None => {
                let error = Diagnostic::syntax(Span::new(start, self.at), "unterminated dollar-quoted string");
                Err(error.hint(format!("it must end with {tag}")))
            }
        }
    }

    /// To the end of the line; psql would take several commands on one line, which nobody writes in a file.
    fn command(&mut self) -> Mark {
        let start = self.at;
        self.skip_while(|b| b != b'\n');
        let length = self.text[start..self.at].trim_end().len();
        Mark { kind: MarkKind::Command, span: Span::new(start, start + length) }
    }

    fn variable(&mut self) -> Option<Mark> {
        let start = self.at;
        self.at += 1;
        let quote = self.peek(0).filter(|b| matches!(b, b'\'' | b'"'));
        let name_start = self.at + usize::from(quote.is_some());
        let name = self.bytes[name_start..].iter().take_while(|b| is_word(**b) && **b != b'$').count();
        let starts_well = self.bytes.get(name_start).is_some_and(|b| !b.is_ascii_digit());
        let closed = quote.is_none_or(|q| self.bytes.get(name_start + name) == Some(&q));
        if name == 0 || !starts_well || !closed {
            return None;
        }
        self.at = name_start + name + usize::from(quote.is_some());
        Some(Mark { kind: MarkKind::Variable(quote), span: Span::new(start, self.at) })
    }
}

/// Whether a statement is `COPY ... FROM stdin`, whatever comments stand before it.
fn is_copy(statement: &str) -> bool {
    let mut words = parse::lexemes(statement).filter(Lexeme::counts);
    words.next().is_some_and(|first| first.is("COPY")) && words.any(|word| word.is("STDIN"))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        marks(text).unwrap().into_iter().map(|m| m.span.of(text)).collect()
    }

    #[test]
    fn finds_marks_outside_of_quotes_only() {
        assert_eq!(found("SELECT ':no' \":no\" $$ :no $$ $a$ :no $$ $a$ /* :no /* */ :no */ :yes -- :no"), [":yes"]);
        assert_eq!(found("SELECT x::int, f(a := 1), a[1:2], :'q', :\"i\", :n;"), [":'q'", ":\"i\"", ":n"]);
        assert_eq!(found("SELECT E'\\':no', 'it''s :no', se'x\\', :yes"), [":yes"]);
        assert_eq!(found("  --@ thread a -- b\nSELECT $1 \\gset p_  \n-- @ no"), ["--@ thread a -- b", "\\gset p_"]);
    }

    #[test]
    fn says_what_is_not_closed() {
        for (text, message) in [
            ("'a", "unterminated quoted string"),
            ("\"a", "unterminated quoted identifier"),
            ("$x$ a $$", "unterminated dollar-quoted string"),
            ("/* /* */", "unterminated /* comment"),
            ("; --@ thread", "a section must begin at the start of a line"),
        ] {
            assert_eq!(marks(text).unwrap_err().message, message);
        }
    }
}
