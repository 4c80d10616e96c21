//! `--graph FILE`: the cycle of a counterexample as a picture of its own.

use std::path::{Path, PathBuf};

use isolde_report::{Graph, Report};

use crate::complain::Mistake;
use crate::output;

/// A file for a picture, and how it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    path: PathBuf,
    draw: Draw,
}

type Draw = fn(&Graph) -> String;

/// The kinds of picture, by the ending of the file's name.
const KINDS: [(&str, Draw); 2] = [("svg", Graph::to_svg), ("dot", Graph::to_dot)];

impl Picture {
    /// The file that a flag names.
    pub(crate) fn parse(text: &str) -> Result<Picture, String> {
        let path = PathBuf::from(text);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match KINDS.iter().find(|(kind, _)| ending.as_deref() == Some(kind)) {
            Some((_, draw)) => Ok(Picture { path, draw: *draw }),
            None => Err("give it a name that ends in .svg or .dot".into()),
        }
    }

    /// Where it goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the picture. What to say if there is nothing to draw; then there is no file.
    pub(crate) fn write(&self, report: &Report) -> Result<Option<&'static str>, Mistake> {
        let graph = report.counterexample.as_ref().map(|counterexample| &counterexample.graph);
        match graph {
            None => Ok(Some("\nno graph: there is no counterexample")),
            Some(None) => Ok(Some("\nno graph: nothing in this counterexample goes round in a cycle")),
            Some(Some(graph)) => output::write(&self.path, &(self.draw)(graph)).map(|()| None),
        }
    }
}
