//! A mistake in a scenario, with its place.

use std::fmt;
use std::sync::Arc;

use isolde_sql::Diagnostic;

/// What is wrong with a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file it stands in.
    pub file: Arc<str>,
    /// The text of that file.
    pub text: Arc<str>,
    /// What is wrong; its span is relative to `text`.
    pub diagnostic: Diagnostic,
}

impl ScenarioError {
    /// Whether nothing is wrong, as far as is known, but set-up was cut off because a budget had ended.
    pub fn is_cut(&self) -> bool {
        self.diagnostic.state.is_cut()
    }

    /// Line and column, both from 1; the column counts characters.
    pub fn position(&self) -> (usize, usize) {
        let mut end = (self.diagnostic.span.start as usize).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for ScenarioError {
    /// `bank.sql:3:8: unknown section "tread"` and the hint on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}: {}", self.file, self.diagnostic.message)?;
        match &self.diagnostic.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}
