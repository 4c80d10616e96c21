//! Mistakes of the user, shown with file, line, caret and what to try.

use std::fmt::Write as _;

use ariadne::{CharSet, Config, IndexType, Label, Report, ReportKind, Source};
use isolde_report::Verdict;
use isolde_scenario::ScenarioError;

use crate::EXIT_MISTAKE;
use crate::plain::{blotted, escaped, without_passwords};

/// A mistake of the user: in a file, or elsewhere (the command line, a missing file).
#[derive(Debug)]
pub(crate) enum Mistake {
    /// It stands in a scenario file.
    InFile(ScenarioError),
    /// It stands in another text.
    InText {
        /// The file.
        file: String,
        /// What it says.
        text: String,
        /// Which bytes are wrong.
        span: std::ops::Range<usize>,
        /// What is wrong.
        message: String,
        /// What to try.
        hint: Option<String>,
    },
    /// None of the user's: something around the check has failed, and nothing can be concluded.
    Fault(String),
    /// It stands in no file.
    Elsewhere {
        /// What is wrong.
        message: String,
        /// What to try.
        hint: Option<String>,
    },
}

impl From<ScenarioError> for Mistake {
    fn from(error: ScenarioError) -> Self {
        Mistake::InFile(error)
    }
}

impl Mistake {
    /// A mistake that stands in no file, without a hint.
    pub(crate) fn new(message: impl Into<String>) -> Mistake {
        Mistake::Elsewhere { message: message.into(), hint: None }
    }

    /// What is wrong, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Mistake::InFile(error) => error.diagnostic.message.to_string(),
            Mistake::InText { message, .. } | Mistake::Elsewhere { message, .. } => message.clone(),
            Mistake::Fault(why) => why.clone(),
        }
    }

    /// What the process exits with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Mistake::Fault(_) => Verdict::Inconclusive(String::new()).exit_code(),
            Mistake::InFile(_) | Mistake::InText { .. } | Mistake::Elsewhere { .. } => EXIT_MISTAKE,
        }
    }

    /// The mistake as text, lines with a newline at the end.
    pub(crate) fn draw(&self, look: Look) -> String {
        match self {
            Mistake::InFile(error) => draw(error, look),
            Mistake::InText { file, text, span, message, hint } => {
                over(file, text, fitting(text, span.start, span.end), (message, hint.as_deref()), look)
            }
            Mistake::Elsewhere { message, hint } => plain(message, hint.as_deref()),
            Mistake::Fault(why) => format!("inconclusive: {}\n", escaped(why)),
        }
    }
}

/// How an error is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// With ANSI colours.
    pub(crate) color: bool,
    /// With line-drawing characters; otherwise in ASCII, for pipes and logs.
    pub(crate) lines: bool,
}

/// A mistake in a scenario, drawn over its source.
fn draw(error: &ScenarioError, look: Look) -> String {
    let diagnostic = &error.diagnostic;
    if error.text.is_empty() {
        return plain(&format!("{}: {}", error.file, diagnostic.message), diagnostic.hint.as_deref());
    }
    let span = fitting(&error.text, diagnostic.span.start as usize, diagnostic.span.end as usize);
    over(&error.file, &error.text, span, (&diagnostic.message, diagnostic.hint.as_deref()), look)
}

/// What is wrong and what to try, drawn over a text.
fn over(
    file: &str,
    text: &str,
    span: std::ops::Range<usize>,
    (message, hint): (&str, Option<&str>),
    look: Look,
) -> String {
    // Of the same length, so that places stay.
    let text = &without_passwords(&blotted(text));
    let (file, message) = (&*escaped(file), &*escaped(message));
    let hint = hint.map(escaped);
    let hint = hint.as_deref();
    let char_set = if look.lines { CharSet::Unicode } else { CharSet::Ascii };
    let config = Config::default().with_color(look.color).with_char_set(char_set).with_index_type(IndexType::Byte);
    // What to try stands right below the place.
    let label = Label::new((file, span.clone())).with_color(ariadne::Color::Red);
    let report = Report::build(ReportKind::Custom("error", ariadne::Color::Red), (file, span))
        .with_config(config)
        .with_message(message)
        .with_label(label.with_message(hint.unwrap_or("here")));
    let mut out = Vec::new();
    match report.finish().write((file, Source::from(text)), &mut out) {
        Ok(()) => tidy(&String::from_utf8_lossy(&out), look),
        Err(_) => plain(&format!("{file}: {message}"), hint),
    }
}

/// Without the spaces that the drawing leaves at the ends of lines, and, in black and white, without the colour that it
/// leaves on its first word.
fn tidy(drawn: &str, look: Look) -> String {
    let drawn = if look.color { drawn.to_string() } else { anstream::adapter::strip_str(drawn).to_string() };
    drawn.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// A mistake that stands in no file.
fn plain(message: &str, hint: Option<&str>) -> String {
    let mut out = format!("error: {}\n", escaped(message));
    if let Some(hint) = hint {
        let _ = writeln!(out, "  hint: {}", escaped(hint));
    }
    out
}

/// The part of the range that lies in the text, at the boundaries of characters, and within one line: a caret below
/// the first line of a long statement says more than a frame around all of it.
fn fitting(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(start);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    start..floor(end).clamp(start, line_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use isolde_sql::{Diagnostic, Span};

    fn error(text: &str, start: usize, end: usize) -> ScenarioError {
        let diagnostic = Diagnostic::syntax(Span::new(start, end), "column \"blance\" does not exist");
        let diagnostic = diagnostic.hint("did you mean \"balance\"?");
        ScenarioError { file: "bank.sql".into(), text: text.into(), diagnostic }
    }

    #[test]
    fn in_a_pipe_it_is_ascii() {
        let text = "SELECT 1;\nSELECT blance\nFROM account;\n";
        let look = Look { color: false, lines: false };
        expect![[r#"
            error: column "blance" does not exist
               ,-[ bank.sql:2:8 ]
               |
             2 | SELECT blance
               |        ^^^|^^
               |           `---- did you mean "balance"?
            ---'
        "#]]
        .assert_eq(&draw(&error(text, 17, 23), look));
    }

    /// Wherever a span points, also beyond the text or into the middle of a character, there is a drawing.
    #[test]
    fn no_span_is_too_strange() {
        for text in ["", "a", "é\r\n\u{2028}ü\tß\n\n", "日本語\n", "\n\n", "a\u{b}b\u{c}c\u{85}"] {
            for start in 0..text.len() + 3 {
                for end in 0..text.len() + 3 {
                    for color in [false, true] {
                        let drawn = draw(&error(text, start, end), Look { color, lines: !color });
                        assert!(drawn.contains("does not exist"), "{drawn}");
                    }
                }
            }
        }
    }
}
