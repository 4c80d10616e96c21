//! How a report looks: its width, and whether it has colours.

use std::fmt::{self, Write};

/// What the output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Characters per line.
    pub width: usize,
    /// ANSI colours.
    pub color: bool,
}

impl Style {
    /// Without colours.
    pub fn plain(width: usize) -> Style {
        Style { width, color: false }
    }

    /// With colours.
    pub fn colored(width: usize) -> Style {
        Style { width, color: true }
    }

    /// Writes `text` in the given paint.
    pub(crate) fn write(self, out: &mut dyn Write, paint: Paint, text: &str) -> fmt::Result {
        if !self.color || paint == Paint::Plain || text.is_empty() {
            return out.write_str(text);
        }
        write!(out, "\u{1b}[{}m{text}\u{1b}[0m", paint.code())
    }
}

/// What a piece of text is, as far as its look goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Unsure,
    Change,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "0",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Good => "1;32",
            Paint::Bad => "1;31",
            Paint::Unsure => "1;33",
            Paint::Change => "36",
        }
    }
}
