//! Who must come before whom, or waits for whom: a small graph, and how it is drawn.
//!
//! The edges that go round in a cycle are the point of it; the others are there for the sake of completeness. There are
//! three renderings: [text](Graph::to_text) for the report, which shows the cycle only, [DOT](Graph::to_dot) for
//! Graphviz, and [SVG](Graph::to_svg) with a layout of our own, for everybody else.

mod dot;
mod svg;
mod text;

use serde::{Deserialize, Serialize};

use crate::Place;

pub(crate) use dot::quoted;
pub(crate) use svg::escaped;

/// Nodes and the edges between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// What it shows: `lost update`, `deadlock`.
    pub name: String,
    /// The threads that take part.
    pub nodes: Vec<Node>,
    /// Those of the cycle first, each beginning where the one before ends; then the others.
    pub edges: Vec<GraphEdge>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
}

/// An arrow from one thread to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// A position in [`Graph::nodes`].
    pub from: usize,
    /// A position in [`Graph::nodes`].
    pub to: usize,
    /// What the arrow means.
    pub kind: EdgeKind,
    /// The read searched by a condition that the write is about, rather than reading the row itself.
    pub predicate: bool,
    /// What both are about: `balance of account id = 1`.
    pub item: String,
    /// What the first one did.
    pub first: EdgeEnd,
    /// What the second one did.
    pub second: EdgeEnd,
    /// Whether it belongs to the cycle.
    pub cycle: bool,
}

/// What an arrow means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// The first wrote what the second overwrote.
    Ww,
    /// The first wrote what the second read.
    Wr,
    /// The first read what the second then changed.
    Rw,
    /// The first waits for what the second has locked.
    Waits,
}

/// One end of an arrow: a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeEnd {
    /// What kind of statement: `SELECT`.
    pub statement: String,
    /// Where it stands.
    pub place: Option<Place>,
    /// Which of its thread's transactions it belongs to, counted from 1.
    pub transaction: usize,
}

impl Graph {
    /// The cycle, drawn with characters, in lines of at most `width` if that is at all possible. Empty without a cycle.
    pub fn to_text(&self, width: usize) -> Vec<String> {
        text::draw(self, width)
    }

    /// The graph in Graphviz' language.
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// The graph as a picture.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }

    fn node(&self, position: usize) -> &str {
        self.nodes.get(position).map_or("", |node| &node.name)
    }
}

impl GraphEdge {
    /// `rw  balance of account id = 1`
    fn title(&self) -> String {
        let kind = match self.kind {
            EdgeKind::Ww => "ww",
            EdgeKind::Wr => "wr",
            EdgeKind::Rw => "rw",
            EdgeKind::Waits => return format!("waits for {}", self.item),
        };
        format!("{kind}  {}", self.item)
    }

    /// `read by SELECT (line 6), then changed by UPDATE (line 8)`
    fn story(&self) -> String {
        let read = if self.predicate { "searched" } else { "read" };
        let (first, second) = (self.first.text(), self.second.text());
        let (made, then) = (self.first.did(), self.second.did());
        match self.kind {
            EdgeKind::Ww if made == then => format!("{made} by {first}, then by {second}"),
            EdgeKind::Ww => format!("{made} by {first}, then {then} by {second}"),
            EdgeKind::Wr => format!("{made} by {first}, then {read} by {second}"),
            EdgeKind::Rw => format!("{read} by {first}, then {then} by {second}"),
            EdgeKind::Waits => format!("wanted by {first}, locked by {second}"),
        }
    }
}

impl EdgeEnd {
    /// What it does to a row, if it writes.
    fn did(&self) -> &'static str {
        match self.statement.as_str() {
            "INSERT" => "added",
            "DELETE" => "removed",
            _ => "changed",
        }
    }

    /// `SELECT (line 6)`
    fn text(&self) -> String {
        match &self.place {
            None => self.statement.clone(),
            Some(Place { file: None, line }) => format!("{} (line {line})", self.statement),
            Some(Place { file: Some(file), line }) => format!("{} ({file} line {line})", self.statement),
        }
    }
}

#[cfg(test)]
mod tests;
