//! What is wrong with a specification, and where.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::syntax::At;
use super::value::Why;

/// A mistake at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub at: At,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// Whether only we give up here, and the expression may have a meaning.
    pub is_limit: bool,
}

/// What evaluation comes to. Faults are rare and large: they are boxed.
pub type Result<T> = std::result::Result<T, Box<Fault>>;

impl Fault {
    /// A mistake.
    pub fn new(at: At, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { at, message: message.into(), hint: None, is_limit: false })
    }

    /// An operation that has no value, or for which we give up.
    pub fn of(at: At, why: Why) -> Box<Fault> {
        Box::new(Fault { at, message: why.message, hint: None, is_limit: why.is_limit })
    }

    /// A limit of ours that was reached.
    pub fn limit(at: At, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { at, message: message.into(), hint: None, is_limit: true })
    }

    /// A mistake, and what to try.
    pub fn with_hint(at: At, message: impl Into<String>, hint: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { at, message: message.into(), hint: Some(hint.into()), is_limit: false })
    }
}

/// A text that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of the file.
    pub name: String,
    /// What it says.
    pub text: Arc<str>,
}

/// All texts of a specification.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// In the order of reading; [`At::file`] counts here.
    pub files: Vec<Source>,
}

impl Sources {
    /// Adds a text.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> u32 {
        self.files.push(Source { name: name.into(), text: text.into() });
        self.files.len() as u32 - 1
    }

    /// What stands there.
    pub fn text(&self, at: At) -> &str {
        let text = self.files.get(at.file as usize).map_or("", |source| &source.text);
        text.get(at.start as usize..at.end as usize).unwrap_or("")
    }

    /// The name of the file.
    pub fn name(&self, at: At) -> &str {
        self.files.get(at.file as usize).map_or("", |source| &source.name)
    }

    /// Line and column, both from 1.
    pub fn line(&self, at: At) -> (usize, usize) {
        let text = self.files.get(at.file as usize).map_or("", |source| &source.text);
        let before = text.get(..at.start as usize).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// A fault with everything that is needed to show it.
    pub fn error(&self, fault: &Fault) -> Error {
        let source = self.files.get(fault.at.file as usize);
        Error {
            file: source.map_or_else(String::new, |source| source.name.clone()),
            text: source.map_or_else(|| "".into(), |source| source.text.clone()),
            span: fault.at.start as usize..fault.at.end as usize,
            message: fault.message.clone(),
            hint: fault.hint.clone(),
        }
    }
}

/// A mistake of the user, with the text that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name of the file; empty, if there is none.
    pub file: String,
    /// What it says.
    pub text: Arc<str>,
    /// Which bytes are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.text.get(..self.span.start).unwrap_or("").matches('\n').count() + 1;
        write!(to, "{}:{line}: {}", self.file, self.message)
    }
}

impl std::error::Error for Error {}
