//! The texts a scenario is made of, laid end to end.
//!
//! A scenario may include other files. Every file gets its own range of one common text, so that a plain [`Span`] names
//! a place in any of them, also inside a procedure that is called from elsewhere. Only at the edges, in an error or a
//! trace, is a span turned back into file and line.

use std::sync::Arc;

use isolde_sql::{Diagnostic, Span};

use crate::ScenarioError;

/// More text than this is not a scenario.
const BYTES_MAX: usize = 256 << 20;

/// All texts of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    text: Arc<str>,
    files: Vec<SourceFile>,
}

/// One file.
#[derive(Clone, Debug)]
struct SourceFile {
    name: Arc<str>,
    /// Where it begins in the common text.
    start: u32,
    text: Arc<str>,
    /// The offset, in this file, at which each line begins.
    lines: Vec<u32>,
}

impl Sources {
    /// A text, and another one behind it; and where that begins.
    pub(crate) fn of(name: &str, text: &str, other: &str, more: &str) -> (Sources, u32) {
        let mut sources = Sources::default();
        sources.add(name, text);
        let start = sources.add(other, more).unwrap_or_default();
        sources.finish();
        (sources, start)
    }

    /// Adds a file, and says where it begins; `None` if it is absurdly large.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Option<u32> {
        let start = self.files.last().map_or(0, |f| f.start as usize + f.text.len() + 1);
        if start + text.len() > BYTES_MAX {
            return None;
        }
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        self.files.push(SourceFile { name: name.into(), start: start as u32, text: text.into(), lines });
        Some(start as u32)
    }

    /// Puts the common text together, once all files are there.
    pub(super) fn finish(&mut self) {
        let mut text = String::new();
        for file in &self.files {
            text.push_str(&file.text);
            text.push('\n');
        }
        self.text = text.into();
    }

    /// The common text, which all spans index.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the first file: the scenario's own.
    pub fn name(&self) -> &str {
        self.files.first().map_or("", |f| &f.name)
    }

    /// The files: name, where each begins in the common text, and its own text.
    pub fn files(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        self.files.iter().map(|file| (&*file.name, file.start, &*file.text))
    }

    /// The file and the line, from 1, at which a span begins. The file is `None` if it is the scenario's own.
    pub fn place(&self, span: Span) -> (Option<&str>, u32) {
        let Some(index) = self.file_at(span) else { return (None, 1) };
        let file = &self.files[index];
        let line = file.lines.partition_point(|&l| l <= span.start - file.start) as u32;
        ((index > 0).then_some(&*file.name), line)
    }

    /// The error that a diagnostic with a span of the common text stands for.
    pub fn error(&self, diagnostic: Diagnostic) -> ScenarioError {
        match self.file_at(diagnostic.span) {
            None => ScenarioError { file: self.name().into(), text: "".into(), diagnostic },
            Some(index) => {
                let file = &self.files[index];
                let local = |at: u32| at.saturating_sub(file.start).min(file.text.len() as u32);
                let span = Span { start: local(diagnostic.span.start), end: local(diagnostic.span.end) };
                let diagnostic = Diagnostic { span, ..diagnostic };
                ScenarioError { file: file.name.to_string().into(), text: file.text.clone(), diagnostic }
            }
        }
    }

    fn file_at(&self, span: Span) -> Option<usize> {
        self.files.partition_point(|f| f.start <= span.start).checked_sub(1)
    }
}
