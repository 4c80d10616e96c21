//! squawk's complaints in PostgreSQL's words.
//!
//! A parser error is a place: PostgreSQL names the token there, and so do we; what squawk expected becomes the hint,
//! unless the token looks like a misspelt keyword. A lexer or validation error is a range with a message of its own.
//! What squawk says about the inside of a routine's body is passed over: we parse that ourselves, with better places.

use squawk_lexer::{LiteralKind, Token, TokenKind, tokenize};
use squawk_syntax::{Parse, SourceFile};

use super::{Lower, Result};
use crate::error::{Diagnostic, Span};
use crate::parse::Fragment;

/// The first syntax error of a parse.
pub(super) fn first(lower: &Lower, text: &str, parse: &Parse<SourceFile>) -> Option<Diagnostic> {
    let errors = parse.errors();
    if errors.is_empty() {
        return None;
    }
    if let Some(diagnostic) = unterminated(lower, text) {
        return Some(diagnostic);
    }
    let bodies = bodies(text);
    errors.iter().find_map(|error| {
        let (start, end) = (u32::from(error.range().start()), u32::from(error.range().end()));
        if bodies.iter().any(|body| body.start < start && start < body.end) {
            return None;
        }
        let message = error.message();
        Some(if start == end || message.starts_with("Invalid parameter") {
            near(lower, text, after_comma(text, start, message), hint(message))
        } else if message.starts_with("empty delimited") {
            let shown = Span { start, end }.of(text);
            let message = format!("zero-length delimited identifier at or near \"{shown}\"");
            Diagnostic::syntax(lower.place(start, end), message)
        } else if message.contains("junk") || message.starts_with("Missing digits") {
            junk(lower, text, start as usize)
        } else {
            Diagnostic::syntax(lower.place(start, end), sentence(message))
        })
    })
}

/// `syntax error at or near "x"`, for the token at or after a place in the parsed text.
pub(super) fn at(lower: &Lower, text: &str, place: usize) -> Diagnostic {
    near(lower, text, place, None)
}

/// Refuses an expression that goes on behind a semicolon.
pub(super) fn no_semicolon(fragment: Fragment<'_>) -> Result<()> {
    let mut tokens = places(fragment.text).filter(|(token, _)| !is_trivia(token));
    match tokens.find(|(token, _)| token.kind == TokenKind::Semi).filter(|_| tokens.next().is_some()) {
        None => Ok(()),
        Some((_, span)) => Err(Diagnostic::syntax(span.shifted(fragment.offset), "syntax error at or near \";\"")),
    }
}

fn near(lower: &Lower, text: &str, place: usize, hint: Option<String>) -> Diagnostic {
    let mut tokens = places(text).filter(|(token, _)| !is_trivia(token)).peekable();
    // squawk gives up at CREATE where it is the next word that nobody knows.
    let two_words = ["create", "alter", "drop"];
    let skip = place == 0 && tokens.peek().is_some_and(|(_, s)| two_words.contains(&&*s.of(text).to_ascii_lowercase()));
    let token = tokens.skip(usize::from(skip)).find(|(_, span)| span.end as usize > place);
    let (diagnostic, hint) = match token {
        Some((_, span)) => {
            let shown = span.of(text);
            let message = format!("syntax error at or near \"{shown}\"");
            (Diagnostic::syntax(lower.place(span.start, span.end), message), misspelt(shown).or(hint))
        }
        None => {
            let end = text.trim_end().len() as u32;
            (Diagnostic::syntax(lower.place(end, end), "syntax error at end of input"), hint)
        }
    };
    match hint {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

/// A number or parameter with letters behind it.
fn junk(lower: &Lower, text: &str, place: usize) -> Diagnostic {
    let near = at(lower, text, place);
    let shown = near.message.trim_start_matches("syntax error ");
    let what = if shown.contains('$') { "parameter" } else { "numeric literal" };
    Diagnostic::syntax(near.span, format!("trailing junk after {what} {shown}"))
}

/// squawk complains about the comma of `a, FROM`; PostgreSQL about what follows it.
fn after_comma(text: &str, place: u32, message: &str) -> usize {
    let comma = message.contains("comma") && text.as_bytes().get(place as usize) == Some(&b',');
    place as usize + usize::from(comma)
}

/// The tokens of a text with their places.
pub(super) fn places(text: &str) -> impl Iterator<Item = (Token, Span)> {
    tokenize(text).scan(0, |at, token| {
        let span = Span::new(*at, *at + token.len as usize);
        *at = span.end as usize;
        Some((token, span))
    })
}

/// Spaces and comments.
pub(super) fn is_trivia(token: &Token) -> bool {
    matches!(
        token.kind,
        TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment { .. } | TokenKind::Eof
    )
}

/// Strings behind AS: the bodies of routines.
fn bodies(text: &str) -> Vec<Span> {
    let (mut bodies, mut after_as) = (Vec::new(), false);
    for (token, span) in places(text).filter(|(token, _)| !is_trivia(token)) {
        if after_as && matches!(token.kind, TokenKind::Literal { .. }) {
            bodies.push(span);
        }
        after_as = token.kind == TokenKind::Ident && span.of(text).eq_ignore_ascii_case("as");
    }
    bodies
}

/// PostgreSQL's message for a quote or comment that never ends: nothing else in the text can be trusted then.
fn unterminated(lower: &Lower, text: &str) -> Option<Diagnostic> {
    places(text).find_map(|(token, span)| {
        let what = match token.kind {
            TokenKind::BlockComment { terminated: false } => "/* comment",
            TokenKind::QuotedIdent { terminated: false, .. } => "quoted identifier",
            TokenKind::Literal { kind } => match kind {
                LiteralKind::DollarQuotedString { terminated: false } => "dollar-quoted string",
                LiteralKind::Str { terminated: false }
                | LiteralKind::EscStr { terminated: false }
                | LiteralKind::UnicodeEscStr { terminated: false }
                | LiteralKind::NationalStr { terminated: false } => "quoted string",
                LiteralKind::BitStr { terminated: false } | LiteralKind::ByteStr { terminated: false } => {
                    "bit string literal"
                }
                _ => return None,
            },
            _ => return None,
        };
        let shown = span.of(text).lines().next().unwrap_or("");
        let message = format!("unterminated {what} at or near \"{shown}\"");
        Some(Diagnostic::syntax(lower.place(span.start, span.end), message))
    })
}

/// squawk's "expected R_PAREN" for people, where it says more than the place does.
fn hint(message: &str) -> Option<String> {
    let wanted = message.strip_prefix("expected ")?;
    let wanted = wanted.split(", found").next()?.split(", got").next()?;
    let shown = match wanted {
        "R_PAREN" => "a closing parenthesis",
        "L_PAREN" => "an opening parenthesis",
        "SEMICOLON" => "a semicolon",
        "COMMA" => "a comma or a closing parenthesis",
        "from item" => "a table, a function or a subquery",
        "path name" | "name" => "a name",
        "expression" | "expr" => "an expression",
        "command" => return None,
        w if w.ends_with("_KW") => return Some(format!("expected {}", w.trim_end_matches("_KW").replace('_', " "))),
        w if w.chars().all(|c| c.is_ascii_uppercase() || c == '_') => return None,
        w => w,
    };
    Some(format!("expected {shown}"))
}

/// Words that people mistype.
const KEYWORDS: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "TABLE",
    "FROM",
    "WHERE",
    "VALUES",
    "RETURNING",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "UNION",
    "INNER",
    "LEFT",
    "JOIN",
    "USING",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "PRIMARY",
    "REFERENCES",
    "CONSTRAINT",
    "PROCEDURE",
    "FUNCTION",
    "LANGUAGE",
    "ISOLATION",
    "SERIALIZABLE",
    "CONFLICT",
    "DISTINCT",
    "BETWEEN",
    "EXISTS",
    "DEFAULT",
    "TRUNCATE",
];

/// "did you mean SELECT?", for a word that is nearly a keyword but none.
fn misspelt(word: &str) -> Option<String> {
    let word = word.to_ascii_uppercase();
    if word.len() < 4 || KEYWORDS.contains(&word.as_str()) {
        return None;
    }
    KEYWORDS.iter().find(|keyword| is_slip(&word, keyword)).map(|keyword| format!("did you mean {keyword}?"))
}

/// Whether one letter more, fewer or different, or two swapped, makes the words equal.
fn is_slip(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    match (&a[..a.len() - end], &b[..b.len() - end]) {
        ([_], []) | ([], [_]) | ([_], [_]) => true,
        ([p, q], [r, s]) => p == s && q == r,
        _ => false,
    }
}

/// A message as we write them: lower case unless it opens with a keyword, no full stop.
fn sentence(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut chars = message.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => message.to_owned(),
    }
}
