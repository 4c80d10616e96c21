//! RAISE, in all its forms.
//!
//! ```text
//! RAISE;                                              the error again, in a handler
//! RAISE [level] 'format %', args... [USING ...];
//! RAISE [level] condition | SQLSTATE 'xxxxx' [USING ...];
//! RAISE [level] USING option = expr, ...;
//! ```

use std::sync::Arc;

use super::sql::{COMMA_OR_SEMICOLON, Followers};
use super::{Parser, Result};
use crate::ast::Expr;
use crate::ast::plpgsql::{Raise, RaiseLevel, RaiseWhat, StmtKind};
use crate::error::Diagnostic;

const ARGUMENT: Followers = Followers::of_expression(&[",", ";", "USING"], ", or ; or USING");

/// The levels; without one it is EXCEPTION.
const LEVELS: [(&str, RaiseLevel); 6] = [
    ("DEBUG", RaiseLevel::Debug),
    ("LOG", RaiseLevel::Log),
    ("INFO", RaiseLevel::Info),
    ("NOTICE", RaiseLevel::Notice),
    ("WARNING", RaiseLevel::Warning),
    ("EXCEPTION", RaiseLevel::Exception),
];

/// What USING may set.
const OPTIONS: [&str; 9] =
    ["ERRCODE", "MESSAGE", "DETAIL", "HINT", "COLUMN", "CONSTRAINT", "DATATYPE", "TABLE", "SCHEMA"];

impl Parser<'_> {
    pub(super) fn raise(&mut self) -> Result<StmtKind> {
        let start = self.tokens.position();
        self.tokens.expect_word("RAISE")?;
        if self.tokens.at_symbol(";") {
            return Ok(StmtKind::Raise(Raise {
                level: RaiseLevel::Exception,
                level_span: None,
                what: RaiseWhat::Again,
                using: Vec::new(),
            }));
        }
        let word = self.tokens.here();
        let (level, is_written) = self.raise_level();
        let what = self.raise_what()?;
        let using = if self.tokens.eat_word("USING") { self.raise_options()? } else { Vec::new() };
        if let RaiseWhat::Format(format, args) = &what {
            check_arguments(format, args.len()).map_err(|m| Diagnostic::syntax(self.tokens.span_from(start), m))?;
        }
        Ok(StmtKind::Raise(Raise { level, level_span: is_written.then_some(word), what, using }))
    }

    /// The level, and whether a word says it.
    fn raise_level(&mut self) -> (RaiseLevel, bool) {
        let level = LEVELS.iter().find(|(word, _)| self.tokens.at_word(word));
        match level {
            Some((_, level)) => {
                self.tokens.advance();
                (*level, true)
            }
            None => (RaiseLevel::Exception, false),
        }
    }

    fn raise_what(&mut self) -> Result<RaiseWhat> {
        if self.tokens.at_word("USING") {
            return Ok(RaiseWhat::Nothing);
        }
        let Some(format) = self.string()? else { return Ok(RaiseWhat::Condition(self.condition()?)) };
        let args = match self.tokens.eat_symbol(",") {
            true => self.expressions(ARGUMENT)?,
            false => Vec::new(),
        };
        Ok(RaiseWhat::Format(format, args))
    }

    fn raise_options(&mut self) -> Result<Vec<(Arc<str>, Expr)>> {
        let mut options = Vec::new();
        loop {
            let Some(name) = OPTIONS.iter().find(|option| self.tokens.at_word(option)) else {
                return Err(self.tokens.near("unrecognized RAISE statement option"));
            };
            self.tokens.advance();
            if !self.tokens.eat_assign() {
                return Err(self.tokens.near("syntax error, expected \"=\""));
            }
            options.push((Arc::from(*name), self.expression(COMMA_OR_SEMICOLON)?));
            if !self.tokens.eat_symbol(",") {
                return Ok(options);
            }
        }
    }
}

/// Every `%` takes an argument; `%%` is a percent sign.
fn check_arguments(format: &str, given: usize) -> std::result::Result<(), &'static str> {
    let wanted = format.replace("%%", "").matches('%').count();
    match given.cmp(&wanted) {
        std::cmp::Ordering::Less => Err("too few parameters specified for RAISE"),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err("too many parameters specified for RAISE"),
    }
}
