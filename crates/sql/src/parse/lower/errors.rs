//! squawk's complaints in PostgreSQL's words.
//!
//! A parser error is a place: PostgreSQL names the token there, and so do we; what squawk expected becomes the hint. A
//! lexer or validation error is a range with a message of its own.

use squawk_lexer::{LiteralKind, TokenKind, tokenize};
use squawk_syntax::{Parse, SourceFile};

use super::Lower;
use crate::error::{Diagnostic, Span};

/// The first syntax error of a parse.
pub(super) fn first(lower: &Lower, text: &str, parse: &Parse<SourceFile>) -> Option<Diagnostic> {
    let error = parse.errors().into_iter().next()?;
    let (start, end) = (u32::from(error.range().start()), u32::from(error.range().end()));
    if let Some(diagnostic) = unterminated(lower, text) {
        return Some(diagnostic);
    }
    if start < end {
        return Some(Diagnostic::syntax(lower.place(start, end), sentence(error.message())));
    }
    let diagnostic = at(lower, text, start as usize);
    Some(match hint(error.message()) {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    })
}

/// `syntax error at or near "x"`, for the token at or after a place in the parsed text.
pub(super) fn at(lower: &Lower, text: &str, place: usize) -> Diagnostic {
    let mut start = 0;
    for token in tokenize(text) {
        let end = start + token.len as usize;
        let trivia = matches!(
            token.kind,
            TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment { .. } | TokenKind::Eof
        );
        if !trivia && end > place {
            let span = lower.place(start as u32, end as u32);
            let shown = Span::new(start, end).of(text);
            return Diagnostic::syntax(span, format!("syntax error at or near \"{shown}\""));
        }
        start = end;
    }
    let end = text.trim_end().len() as u32;
    Diagnostic::syntax(lower.place(end, end), "syntax error at end of input")
}

/// PostgreSQL's message for a quote or comment that never ends: nothing else in the text can be trusted then.
fn unterminated(lower: &Lower, text: &str) -> Option<Diagnostic> {
    let mut start = 0;
    for token in tokenize(text) {
        let end = start + token.len as usize;
        let what = match token.kind {
            TokenKind::BlockComment { terminated: false } => "/* comment",
            TokenKind::QuotedIdent { terminated: false, .. } => "quoted identifier",
            TokenKind::Literal { kind: LiteralKind::DollarQuotedString { terminated: false } } => {
                "dollar-quoted string"
            }
            TokenKind::Literal {
                kind:
                    LiteralKind::Str { terminated: false }
                    | LiteralKind::EscStr { terminated: false }
                    | LiteralKind::UnicodeEscStr { terminated: false }
                    | LiteralKind::NationalStr { terminated: false },
            } => "quoted string",
            TokenKind::Literal {
                kind: LiteralKind::BitStr { terminated: false } | LiteralKind::ByteStr { terminated: false },
            } => "bit string literal",
            _ => {
                start = end;
                continue;
            }
        };
        let shown = Span::new(start, end).of(text).lines().next().unwrap_or("");
        let span = lower.place(start as u32, end as u32);
        return Some(Diagnostic::syntax(span, format!("unterminated {what} at or near \"{shown}\"")));
    }
    None
}

/// squawk's "expected R_PAREN" for people, where it says more than the place does.
fn hint(message: &str) -> Option<String> {
    let wanted = message.strip_prefix("expected ")?;
    let wanted = wanted.split(", found").next().unwrap_or(wanted);
    let shown = match wanted {
        "R_PAREN" => "a closing parenthesis",
        "L_PAREN" => "an opening parenthesis",
        "SEMICOLON" => "a semicolon",
        "COMMA" => "a comma",
        w if w.ends_with("_KW") => return Some(format!("expected {}", w.trim_end_matches("_KW").replace('_', " "))),
        w if w.chars().all(|c| c.is_ascii_uppercase() || c == '_') => return None,
        w => w,
    };
    Some(format!("expected {shown}"))
}

/// A message as we write them: lower case, no full stop.
fn sentence(message: &str) -> String {
    let mut chars = message.trim_end_matches('.').chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "syntax error".to_owned(),
    }
}
