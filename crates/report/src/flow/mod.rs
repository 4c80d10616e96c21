//! The statements of a procedure, and which may follow which.
//!
//! Drawn for [Graphviz](FlowGraph::to_dot), and as a [picture](FlowGraph::to_svg): a box is a statement with its line,
//! arrows lead down to what comes next, and round the side where a loop begins anew.

mod dot;
mod svg;

/// A procedure, to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowGraph {
    /// What it is called.
    pub name: String,
    /// The places before statements.
    pub nodes: Vec<FlowNode>,
    /// What may come next.
    pub edges: Vec<FlowEdge>,
}

/// A place before a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowNode {
    /// The line of the statement.
    pub line: Option<usize>,
    /// The statement, in a line.
    pub text: String,
    /// What kind of place it is.
    pub kind: FlowKind,
}

/// What kind of place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// The first.
    Start,
    /// The last: what was done stays done.
    End,
    /// Where a loop begins anew.
    Loop,
    /// Where an error ends everything.
    Error,
    /// Any other.
    Plain,
}

/// From one place to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEdge {
    /// A position in [`FlowGraph::nodes`].
    pub from: usize,
    /// A position in [`FlowGraph::nodes`].
    pub to: usize,
    /// When it goes there, if that is not always.
    pub label: String,
    /// It goes there because of an error.
    pub is_error: bool,
}

impl FlowGraph {
    /// The graph in Graphviz' language.
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// Several graphs as one picture, one below the other.
    pub fn to_svg(graphs: &[FlowGraph]) -> String {
        svg::draw(graphs)
    }
}

impl FlowNode {
    /// What stands in its box.
    fn title(&self) -> String {
        match self.line {
            Some(line) => format!("{line}  {}", self.text),
            None => self.text.clone(),
        }
    }
}
