//! A cursor over squawk's tokens.
//!
//! Blanks and comments are dropped. What PL/pgSQL takes for one symbol and squawk's lexer for two (`:=`, `<<`) is
//! recognised by adjacency. Text that cannot be tokenized (an open quote) is refused before anything is parsed, in the
//! words of PostgreSQL's scanner.

use std::ops::Range;

use squawk_lexer::{LiteralKind, TokenKind, tokenize};

use super::Result;
use crate::ast::Ident;
use crate::error::{Diagnostic, Span, SqlState};
use crate::parse::Fragment;
use crate::refused::Construct;

/// The words that cannot name a variable without quotes.
const RESERVED: [&str; 24] = [
    "ALL", "BEGIN", "BY", "CASE", "DECLARE", "ELSE", "END", "EXECUTE", "FOR", "FOREACH", "FROM", "IF", "IN", "INTO",
    "LOOP", "NOT", "NULL", "OR", "STRICT", "THEN", "TO", "USING", "WHEN", "WHILE",
];

/// A token with its place in the fragment.
#[derive(Clone, Copy)]
struct Token {
    kind: TokenKind,
    start: usize,
    end: usize,
}

/// The tokens of a fragment, read from left to right; positions count tokens.
pub(super) struct Tokens<'a> {
    text: &'a str,
    offset: u32,
    tokens: Vec<Token>,
    position: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(fragment: Fragment<'a>) -> Result<Tokens<'a>> {
        let mut tokens = Vec::new();
        let mut start = 0;
        for token in tokenize(fragment.text) {
            let end = start + token.len as usize;
            check(token.kind, fragment, start, end)?;
            if !is_trivia(token.kind) {
                tokens.push(Token { kind: token.kind, start, end });
            }
            start = end;
        }
        Ok(Tokens { text: fragment.text, offset: fragment.offset, tokens, position: 0 })
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn set_position(&mut self, position: usize) {
        self.position = position;
    }

    pub(super) fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len());
    }

    pub(super) fn is_done(&self) -> bool {
        self.position >= self.tokens.len()
    }

    /// The text of the token at a position; empty behind the last one.
    pub(super) fn text_at(&self, position: usize) -> &'a str {
        self.tokens.get(position).map_or("", |t| self.text.get(t.start..t.end).unwrap_or(""))
    }

    fn kind_at(&self, position: usize) -> Option<TokenKind> {
        self.tokens.get(position).map(|t| t.kind)
    }

    /// Is this unquoted word here? Case does not matter.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.is_word(self.position, word)
    }

    pub(super) fn is_word(&self, position: usize, word: &str) -> bool {
        self.kind_at(position) == Some(TokenKind::Ident) && self.text_at(position).eq_ignore_ascii_case(word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.position += usize::from(found);
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Any unquoted word.
    pub(super) fn at_any_word(&self) -> bool {
        self.kind_at(self.position) == Some(TokenKind::Ident)
    }

    /// The unquoted word here in upper case; empty if something else stands here.
    pub(super) fn keyword(&self) -> String {
        if self.at_any_word() { self.text_at(self.position).to_ascii_uppercase() } else { String::new() }
    }

    /// Is this symbol (one or two characters) here?
    pub(super) fn at_symbol(&self, symbol: &str) -> bool {
        self.is_symbol(self.position, symbol)
    }

    pub(super) fn is_symbol(&self, position: usize, symbol: &str) -> bool {
        let first = self.text_at(position);
        if first == symbol {
            return true;
        }
        let adjacent = match (self.tokens.get(position), self.tokens.get(position + 1)) {
            (Some(left), Some(right)) => left.end == right.start,
            _ => false,
        };
        let rest = symbol.strip_prefix(first).filter(|_| !first.is_empty());
        adjacent && rest == Some(self.text_at(position + 1))
    }

    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        if !self.at_symbol(symbol) {
            return false;
        }
        self.position += if self.text_at(self.position) == symbol { 1 } else { 2 };
        true
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// `:=` or `=`.
    pub(super) fn eat_assign(&mut self) -> bool {
        self.eat_symbol(":=") || self.eat_symbol("=")
    }

    /// Could the token here be a name?
    pub(super) fn is_name(&self, position: usize) -> bool {
        match self.kind_at(position) {
            Some(TokenKind::QuotedIdent { .. }) => true,
            Some(TokenKind::Ident) => {
                let text = self.text_at(position);
                !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
            }
            _ => false,
        }
    }

    /// `$1`, which PL/pgSQL lets stand for a variable.
    pub(super) fn is_parameter(&self, position: usize) -> bool {
        let digits = self.text_at(position).strip_prefix('$').unwrap_or("");
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    }

    pub(super) fn is_string(&self, position: usize) -> bool {
        matches!(
            self.kind_at(position),
            Some(TokenKind::Literal {
                kind: LiteralKind::Str { .. }
                    | LiteralKind::EscStr { .. }
                    | LiteralKind::UnicodeEscStr { .. }
                    | LiteralKind::DollarQuotedString { .. }
            })
        )
    }

    /// A name: folded, or without its quotes.
    pub(super) fn ident(&mut self) -> Result<Ident> {
        if self.is_name(self.position) { self.any_ident() } else { Err(self.unexpected()) }
    }

    /// The same, `$1` included, and reserved words as well: what may stand behind a dot.
    pub(super) fn any_ident(&mut self) -> Result<Ident> {
        let text = self.text_at(self.position);
        let span = self.here();
        let name = match self.kind_at(self.position) {
            Some(TokenKind::Ident) => text.to_ascii_lowercase(),
            Some(TokenKind::QuotedIdent { uescape: false, .. }) => {
                let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
                inner.replace("\"\"", "\"")
            }
            Some(TokenKind::QuotedIdent { uescape: true, .. }) => {
                return Err(Diagnostic::unsupported(span, Construct::UNICODE_IDENTIFIER));
            }
            _ if self.is_parameter(self.position) => text.to_string(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Ident { name: name.into(), span })
    }

    /// The place of the token here; an empty place at the end of the text behind the last one.
    pub(super) fn here(&self) -> Span {
        let end = self.text.len();
        let (start, end) = self.tokens.get(self.position).map_or((end, end), |t| (t.start, t.end));
        Span::new(start, end).shifted(self.offset)
    }

    /// From the token at `start` to the last one read.
    pub(super) fn span_from(&self, start: usize) -> Span {
        let bytes = self.bytes(start..self.position);
        Span::new(bytes.start, bytes.end).shifted(self.offset)
    }

    /// The bytes that a range of tokens covers, in the fragment.
    pub(super) fn bytes(&self, range: Range<usize>) -> Range<usize> {
        let start = self.tokens.get(range.start).map_or(self.text.len(), |t| t.start);
        let last = range.end.checked_sub(1).and_then(|last| self.tokens.get(last));
        start..last.map_or(start, |t| t.end).max(start)
    }

    /// The text that a range of tokens covers, cut out.
    pub(super) fn cut(&self, range: Range<usize>) -> Fragment<'a> {
        let bytes = self.bytes(range);
        let offset = self.offset + bytes.start as u32;
        Fragment { text: self.text.get(bytes).unwrap_or(""), offset }
    }

    /// `syntax error at or near "x"`
    pub(super) fn unexpected(&self) -> Diagnostic {
        self.near("syntax error")
    }

    /// `message at or near "x"`, or `message at end of input`.
    pub(super) fn near(&self, message: &str) -> Diagnostic {
        let message = match self.text_at(self.position) {
            "" => format!("{message} at end of input"),
            text => format!("{message} at or near \"{text}\""),
        };
        Diagnostic::syntax(self.here(), message)
    }

    pub(super) fn error_here(&self, state: SqlState, message: &str) -> Diagnostic {
        Diagnostic::new(self.here(), state, message)
    }
}

fn is_trivia(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment { .. })
}

/// What PostgreSQL's scanner refuses.
fn check(kind: TokenKind, fragment: Fragment<'_>, start: usize, end: usize) -> Result<()> {
    let text = fragment.text.get(start..end).unwrap_or("");
    let what = match kind {
        TokenKind::BlockComment { terminated: false } => "unterminated /* comment",
        TokenKind::QuotedIdent { terminated: false, .. } => "unterminated quoted identifier",
        TokenKind::QuotedIdent { .. } if text == "\"\"" => "zero-length delimited identifier",
        TokenKind::Literal { kind: LiteralKind::DollarQuotedString { terminated: false } } => {
            "unterminated dollar-quoted string"
        }
        TokenKind::Literal {
            kind:
                LiteralKind::Str { terminated: false }
                | LiteralKind::EscStr { terminated: false }
                | LiteralKind::UnicodeEscStr { terminated: false }
                | LiteralKind::NationalStr { terminated: false },
        } => "unterminated quoted string",
        TokenKind::Literal { kind: LiteralKind::BitStr { terminated: false } } => "unterminated bit string literal",
        TokenKind::Literal { kind: LiteralKind::ByteStr { terminated: false } } => {
            "unterminated hexadecimal string literal"
        }
        _ => return Ok(()),
    };
    let span = Span::new(start, end).shifted(fragment.offset);
    Err(Diagnostic::syntax(span, format!("{what} at or near \"{text}\"")))
}
