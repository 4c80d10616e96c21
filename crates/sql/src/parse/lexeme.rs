//! The lexemes of a text: what is left to ask where a text cannot be parsed.
//!
//! They are squawk's tokens with fewer kinds, and together they are the text. A word inside a string, a comment or a
//! quoted name is not a word here.

use squawk_lexer::{LiteralKind, TokenKind, tokenize};

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexeme<'a> {
    /// What it is.
    pub kind: LexemeKind,
    /// As written.
    pub text: &'a str,
    /// The offset of its first byte.
    pub start: usize,
}

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexemeKind {
    /// White space.
    Blank,
    /// `-- ...` or `/* ... */`
    Comment,
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// A string, however it is quoted.
    Text,
    /// A number or a bit string.
    Number,
    /// `$1`
    Parameter,
    /// Anything else, one character each.
    Symbol,
}

impl<'a> Lexeme<'a> {
    /// Whether it is this word; case does not matter.
    pub fn is(&self, word: &str) -> bool {
        self.kind == LexemeKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it means anything.
    pub fn counts(&self) -> bool {
        !matches!(self.kind, LexemeKind::Blank | LexemeKind::Comment)
    }

    /// A name as PostgreSQL folds it.
    pub fn folded(&self) -> Option<String> {
        match self.kind {
            LexemeKind::Word => Some(self.text.to_lowercase()),
            LexemeKind::Name => Some(self.text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        }
    }

    /// What is between the quotes of a string, escapes as written.
    pub fn inside(&self) -> Option<&'a str> {
        if self.kind != LexemeKind::Text {
            return None;
        }
        let opening = match self.text.find(['\'', '$'])? {
            at if self.text[at..].starts_with('\'') => at + 1,
            at => at + 2 + self.text[at + 1..].find('$')?,
        };
        let quote = self.text[..opening].trim_start_matches(|c: char| c != '\'' && c != '$');
        let inside = &self.text[opening..];
        Some(inside.strip_suffix(quote).unwrap_or(inside))
    }
}

/// The lexemes of a text, first to last.
pub fn lexemes(text: &str) -> impl Iterator<Item = Lexeme<'_>> {
    let mut start = 0;
    tokenize(text).filter_map(move |token| {
        let from = start;
        start += token.len as usize;
        let text = text.get(from..start).filter(|text| !text.is_empty())?;
        Some(Lexeme { kind: kind(token.kind), text, start: from })
    })
}

/// The names and keywords in a text, folded, also of what is written in its strings: a routine's body is one, and a
/// statement for EXECUTE.
pub fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        for lexeme in lexemes(text) {
            found.extend(lexeme.folded());
            texts.extend(lexeme.inside());
        }
    }
    found
}

/// A statement of PL/pgSQL without the statements inside of it: up to its THEN or LOOP, or its end.
pub fn headline(text: &str) -> &str {
    let mut open = 0u32;
    for (position, lexeme) in lexemes(text).filter(Lexeme::counts).enumerate() {
        match lexeme.text {
            "(" | "[" => open += 1,
            ")" | "]" => open = open.saturating_sub(1),
            _ if open == 0 && (lexeme.is("THEN") || lexeme.is("LOOP")) => return text[..lexeme.start].trim_end(),
            // CASE as an expression has a THEN of its own; as a statement it begins with it.
            _ if lexeme.is("CASE") && position > 0 => open += 1,
            _ if lexeme.is("END") => open = open.saturating_sub(1),
            _ => {}
        }
    }
    text
}

fn kind(kind: TokenKind) -> LexemeKind {
    match kind {
        TokenKind::Whitespace => LexemeKind::Blank,
        TokenKind::LineComment | TokenKind::BlockComment { .. } => LexemeKind::Comment,
        TokenKind::Ident => LexemeKind::Word,
        TokenKind::QuotedIdent { .. } => LexemeKind::Name,
        TokenKind::PositionalParam { .. } => LexemeKind::Parameter,
        TokenKind::Literal { kind } => match kind {
            LiteralKind::Str { .. }
            | LiteralKind::EscStr { .. }
            | LiteralKind::UnicodeEscStr { .. }
            | LiteralKind::NationalStr { .. }
            | LiteralKind::DollarQuotedString { .. } => LexemeKind::Text,
            _ => LexemeKind::Number,
        },
        _ => LexemeKind::Symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lexemes_are_the_text_whatever_it_is() {
        for text in
            ["", "'", "a'b''c'\"d", "E'\\''x", "$1$2", "$$ ' $$;", "$", "é$a$ü", "/* x", "--", "1.5e3", "\u{a0}'"]
        {
            assert_eq!(lexemes(text).map(|lexeme| lexeme.text).collect::<String>(), text);
        }
    }

    #[test]
    fn what_is_quoted_has_an_inside() {
        let inside = |text| lexemes(text).find_map(|lexeme| lexeme.inside());
        assert_eq!(inside("'a''b'"), Some("a''b"));
        assert_eq!(inside("E'x'"), Some("x"));
        assert_eq!(inside("$$y$$"), Some("y"));
        assert_eq!(inside("$tag$ z $ $tag$"), Some(" z $ "));
        assert_eq!(inside("'open"), Some("open"));
        assert_eq!(inside("plain \"quoted\""), None);
    }

    #[test]
    fn a_headline_ends_where_the_statements_inside_begin() {
        assert_eq!(
            headline("IF a = 'THEN' AND CASE WHEN b THEN c END THEN d; END IF"),
            "IF a = 'THEN' AND CASE WHEN b THEN c END"
        );
        assert_eq!(headline("CASE x WHEN 1 THEN a; END CASE"), "CASE x WHEN 1");
        assert_eq!(headline("WHILE EXISTS (SELECT 1 FROM loop) LOOP x; END LOOP"), "WHILE EXISTS (SELECT 1 FROM loop)");
        assert_eq!(headline("x := 1"), "x := 1");
    }

    #[test]
    fn names_are_also_those_in_strings_and_not_those_in_comments() {
        assert_eq!(
            names("DO $$ BEGIN EXECUTE 'SELECT F()'; /* g */ END $$ -- h"),
            ["do", "begin", "execute", "end", "select", "f"]
        );
    }
}
