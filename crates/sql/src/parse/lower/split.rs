//! A script to its statements.
//!
//! Only the lexer is asked: it knows strings, dollar quotes and comments. Parentheses count because a rule or a
//! `VALUES` list never ends a statement inside them, and `BEGIN ATOMIC ... END` because a routine's body in standard
//! syntax holds semicolons of its own (and `CASE ... END` inside it another `END`).

use squawk_lexer::{Token, TokenKind};

use super::errors::{is_trivia, places};
use crate::error::Span;

/// Where the statements of `source` stand: trimmed, without comments around them, empty ones left out.
pub(crate) fn split(source: &str) -> Vec<Span> {
    let mut statements = Vec::new();
    let mut open = Open::default();
    let mut current: Option<Span> = None;
    for (token, span) in places(source).filter(|(token, _)| !is_trivia(token)) {
        if token.kind == TokenKind::Semi && open.is_empty() {
            statements.extend(current.take());
            open = Open::default();
            continue;
        }
        open.see(&token, span.of(source));
        current = Some(current.map_or(span, |c| c.to(span)));
    }
    statements.extend(current);
    statements
}

/// What is open at some place inside a statement.
#[derive(Default)]
struct Open {
    parens: u32,
    /// `BEGIN ATOMIC` and, inside it, `CASE`.
    blocks: u32,
    after_begin: bool,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.parens == 0 && self.blocks == 0
    }

    fn see(&mut self, token: &Token, text: &str) {
        let after_begin = std::mem::take(&mut self.after_begin);
        match token.kind {
            TokenKind::OpenParen => self.parens += 1,
            TokenKind::CloseParen => self.parens = self.parens.saturating_sub(1),
            TokenKind::Ident => {
                let is = |word: &str| text.eq_ignore_ascii_case(word);
                self.after_begin = is("begin");
                if after_begin && is("atomic") || self.blocks > 0 && is("case") {
                    self.blocks += 1;
                } else if is("end") {
                    self.blocks = self.blocks.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
}
