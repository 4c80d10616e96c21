//! A bound on nesting, checked before anything recurses.
//!
//! squawk's parser, our lowering, and everybody who walks our tree later recurse. A cheap walk over the tokens bounds
//! the depth of the tree that could come out: one level per open parenthesis or CASE, and within a level one per
//! operator since the last comma, AND or OR (those become siblings in our tree), plus one per join or set operation.
//! Beyond
//! [`DEPTH_MAX`] the text is refused. squawk nests AND chains too, so long texts are parsed on a stack of their own
//! size.

use squawk_lexer::{LiteralKind, TokenKind};

use super::Result;
use super::errors::places;
use crate::error::{Diagnostic, Span, SqlState};
use crate::parse::Fragment;

/// The deepest tree we build.
const DEPTH_MAX: u32 = 200;

/// Tokens that parse comfortably on any thread's own stack.
const TOKENS_SMALL: u32 = 400;

/// Bytes of a string that nobody nests deeply in.
const BODY_SMALL: usize = 400;

/// The most operators in a row that squawk is given: its tree nests once for each.
const CHAIN_MAX: u32 = 20_000;

/// Enough for a chain of [`CHAIN_MAX`]; untouched pages cost nothing.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work` on the fragment, unless its nesting is out of bounds.
pub(super) fn guarded<T: Send>(fragment: Fragment<'_>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let measure = measure(fragment)?;
    if measure.tokens <= TOKENS_SMALL {
        return work();
    }
    std::thread::scope(|scope| {
        let spawned = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match spawned.map(|handle| handle.join()) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => Err(too_complex(Span::new(0, fragment.text.len()).shifted(fragment.offset))),
        }
    })
}

struct Measure {
    tokens: u32,
}

/// One open parenthesis, bracket or CASE.
#[derive(Default)]
struct Level {
    case: bool,
    /// Operators since the last comma, AND or OR.
    operators: u32,
    /// Dots since the last operator: a qualified name nests only below its own operator.
    dots: u32,
    /// Joins and set operations.
    joins: u32,
    /// AND and OR, which nest for squawk only.
    chain: u32,
    /// The last word was END, so a CASE behind it opens nothing.
    after_end: bool,
}

impl Level {
    fn depth(&self) -> u32 {
        1 + self.operators + self.dots + self.joins
    }
}

fn measure(fragment: Fragment<'_>) -> Result<Measure> {
    let mut measure = Measure { tokens: 0 };
    let mut levels = vec![Level::default()];
    let mut operator_joined = false;
    for (token, span) in places(fragment.text) {
        let text = span.of(fragment.text);
        measure.tokens += 1;
        let joined = std::mem::take(&mut operator_joined);
        let Some(level) = levels.last_mut() else { break };
        match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket => levels.push(Level::default()),
            TokenKind::CloseParen | TokenKind::CloseBracket => close(&mut levels, |_| true),
            TokenKind::Semi => *level = Level { case: level.case, ..Level::default() },
            TokenKind::Comma => (level.operators, level.dots) = (0, 0),
            TokenKind::Dot => level.dots += 1,
            TokenKind::Ident => word(&mut levels, text),
            // A routine's body is parsed in its own time, but squawk looks into it already now.
            TokenKind::Literal { kind: LiteralKind::DollarQuotedString { .. } | LiteralKind::Str { .. } }
                if text.len() > BODY_SMALL =>
            {
                let body = Fragment { text: inside(text), offset: fragment.offset + span.start };
                measure.tokens += self::measure(body)?.tokens;
            }
            // An escape may stand for anything, so it counts as the worst.
            TokenKind::Literal { kind: LiteralKind::EscStr { .. } | LiteralKind::UnicodeEscStr { .. } } => {
                let escapes = text.matches('\\').count() as u32;
                level.chain += escapes;
                let body = Fragment { text: inside(text), offset: fragment.offset + span.start };
                measure.tokens += escapes + self::measure(body)?.tokens;
            }
            kind if is_operator(kind) => {
                level.operators += u32::from(!joined);
                level.dots = 0;
                operator_joined = true;
            }
            _ => {}
        }
        let depth: u32 = levels.iter().map(Level::depth).sum();
        let chain: u32 = levels.iter().map(|l| l.chain).sum();
        if depth > DEPTH_MAX || chain > CHAIN_MAX {
            return Err(too_complex(span.shifted(fragment.offset)));
        }
    }
    Ok(measure)
}

/// The text between a string's quotes, roughly.
fn inside(literal: &str) -> &str {
    literal.trim_start_matches(['e', 'E', 'u', 'U', '&']).trim_matches(['\'', '$'])
}

fn word(levels: &mut Vec<Level>, text: &str) {
    let Some(level) = levels.last_mut() else { return };
    let after_end = std::mem::take(&mut level.after_end);
    match text.to_ascii_lowercase().as_str() {
        "case" if after_end => {}
        "case" => levels.push(Level { case: true, ..Level::default() }),
        "end" => {
            close(levels, |l| l.case);
            if let Some(level) = levels.last_mut() {
                level.after_end = true;
            }
        }
        "and" | "or" => {
            (level.operators, level.dots) = (0, 0);
            level.chain += 1;
        }
        "when" | "then" | "else" | "where" | "from" | "on" | "set" | "having" | "by" => {
            (level.operators, level.dots) = (0, 0);
        }
        "join" | "union" | "intersect" | "except" | "explain" | "prepare" => level.joins += 1,
        "not" | "is" | "in" | "like" | "ilike" | "between" | "similar" | "collate" | "at" | "isnull" | "notnull"
        | "operator" => level.operators += 1,
        _ => {}
    }
}

fn close(levels: &mut Vec<Level>, fits: impl Fn(&Level) -> bool) {
    if levels.len() > 1 && levels.last().is_some_and(fits) {
        levels.pop();
    }
}

fn is_operator(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Slash
            | Minus
            | Colon
            | DotDot
            | Eq
            | Gt
            | And
            | Lt
            | Bang
            | Plus
            | Tilde
            | Pound
            | Question
            | Or
            | Percent
            | Caret
            | Star
            | Backtick
            | At
    )
}

fn too_complex(span: Span) -> Diagnostic {
    Diagnostic::new(span, SqlState::STATEMENT_TOO_COMPLEX, format!("nesting deeper than {DEPTH_MAX} is too complex"))
        .hint("split the statement, or the expression into variables")
}
