//! The graph for people: as a picture, and in a few words.

use isolde_report::{FlowEdge, FlowGraph, FlowKind, FlowNode};
use isolde_sql::Span;

use super::{Action, Edge, Graph};

/// The graph as it is drawn: a box per statement, with its line, and an arrow to each that may come next. What a
/// statement does inside, such as counting the rounds of a loop, is left out where it goes straight on.
pub fn to_flow(graph: &Graph, source: &str) -> FlowGraph {
    let mut drawing = Drawing::of(graph, source);
    while drawing.shorten() {}
    drawing.finish()
}

/// A graph on its way to a picture: nodes that are still there, and arrows.
struct Drawing<'g> {
    graph: &'g Graph,
    source: &'g str,
    entry: usize,
    arrows: Vec<Arrow>,
}

struct Arrow {
    from: usize,
    to: usize,
    label: String,
    /// It happens inside of a statement and goes straight on.
    silent: bool,
    is_error: bool,
}

impl<'g> Drawing<'g> {
    fn of(graph: &'g Graph, source: &'g str) -> Drawing<'g> {
        let mut arrows: Vec<Arrow> = Vec::new();
        for edge in &graph.edges {
            let silent = match edge.action {
                Action::Skip | Action::Begin | Action::Havoc(_) | Action::Restore(_) | Action::Again => true,
                Action::Assign(..) | Action::Open(..) => is_inside(graph, edge.from) || goes_on(graph, edge),
                _ => false,
            };
            let label = match &edge.action {
                Action::Read(_) | Action::Write(_) | Action::Assign(..) | Action::Open(..) | Action::Save(_) => {
                    String::new()
                }
                _ => described(edge, graph, source),
            };
            arrows.push(Arrow { from: edge.from, to: edge.to, label, silent, is_error: false });
            let known = |arrow: &Arrow| arrow.is_error && (Some(arrow.to), arrow.from) == (edge.on_error, edge.from);
            let fails = !matches!(edge.action, Action::Skip | Action::Begin | Action::Save(_) | Action::Drained(_));
            if let Some(handler) = edge.on_error.filter(|_| fails && !arrows.iter().any(known)) {
                arrows.push(Arrow {
                    from: edge.from,
                    to: handler,
                    label: "error".into(),
                    silent: false,
                    is_error: true,
                });
            }
        }
        Drawing { graph, source, entry: graph.entry, arrows }
    }

    /// Takes one silent arrow out, if that is possible: the place before it becomes the one behind it, or the other way
    /// round.
    fn shorten(&mut self) -> bool {
        let count = |f: &dyn Fn(&Arrow) -> bool| self.arrows.iter().filter(|arrow| f(arrow)).count();
        let found = self.arrows.iter().position(|arrow| {
            let out = count(&|other| other.from == arrow.from && !other.is_error);
            arrow.silent && arrow.from != arrow.to && out == 1
        });
        let Some(at) = found else { return false };
        let Arrow { from, to, .. } = self.arrows.remove(at);
        // The statement is named by the place at which it begins.
        let behind_only = !self.arrows.iter().any(|arrow| arrow.to == to);
        let same = self.graph.nodes[from].span == self.graph.nodes[to].span;
        let (gone, stays) = if behind_only && same && to != self.graph.exit { (to, from) } else { (from, to) };
        for arrow in &mut self.arrows {
            for end in [&mut arrow.from, &mut arrow.to] {
                if *end == gone {
                    *end = stays;
                }
            }
        }
        if self.entry == gone {
            self.entry = stays;
        }
        true
    }

    fn finish(mut self) -> FlowGraph {
        let mut seen = Vec::new();
        self.arrows.retain(|arrow| {
            let this = (arrow.from, arrow.to, arrow.label.clone());
            let known = seen.contains(&this) || arrow.is_error && arrow.from == arrow.to;
            seen.push(this);
            !known
        });
        let used = |node: usize| self.arrows.iter().any(|arrow| arrow.from == node || arrow.to == node);
        let kept: Vec<usize> = (0..self.graph.nodes.len()).filter(|node| used(*node) || *node == self.entry).collect();
        let place = |node: usize| kept.iter().position(|other| *other == node).unwrap_or(0);
        let nodes = kept.iter().map(|node| self.node(*node)).collect();
        let edge = |arrow: &Arrow| FlowEdge {
            from: place(arrow.from),
            to: place(arrow.to),
            label: arrow.label.clone(),
            is_error: arrow.is_error,
        };
        FlowGraph { name: self.graph.name.to_string(), nodes, edges: self.arrows.iter().map(edge).collect() }
    }

    fn node(&self, node: usize) -> FlowNode {
        let span = self.graph.nodes[node].span;
        let line = Some(line_of(self.source, span.start as usize));
        let ends = !self.arrows.iter().any(|arrow| arrow.from == node);
        let otherwise = self
            .arrows
            .iter()
            .any(|arrow| arrow.to == node && arrow.label == OTHERWISE && self.graph.nodes[arrow.from].span == span);
        let (line, text, kind) = match () {
            () if node == self.graph.exit => (None, "end".into(), FlowKind::End),
            () if ends => (None, "error: everything is undone".into(), FlowKind::Error),
            () if node == self.entry => (line, headline(self.source, span), FlowKind::Start),
            () if self.graph.heads.contains(&node) => (line, headline(self.source, span), FlowKind::Loop),
            () if self.arrows.iter().any(|arrow| arrow.from == node && arrow.label == CAUGHT) => {
                (line, "EXCEPTION".into(), FlowKind::Plain)
            }
            () if otherwise => (line, "otherwise".into(), FlowKind::Plain),
            () => (line, headline(self.source, span), FlowKind::Plain),
        };
        FlowNode { line, text, kind }
    }
}

/// A place in the midst of a statement.
fn is_inside(graph: &Graph, node: usize) -> bool {
    let span = graph.nodes[node].span;
    let own = |edge: &Edge| edge.to == node && edge.span == span && graph.nodes[edge.from].span == span;
    graph.edges.iter().any(|edge| own(edge) && !matches!(edge.action, Action::Skip))
}

/// The statement of an edge is not over behind it.
fn goes_on(graph: &Graph, edge: &Edge) -> bool {
    let same = graph.nodes[edge.from].span == graph.nodes[edge.to].span;
    same && graph.leaving(edge.to).any(|next| next.span == edge.span && !matches!(next.action, Action::Skip))
}

/// A statement in a line; of those that hold others, the first line.
fn headline(source: &str, span: Span) -> String {
    let text = source.get(span.start as usize..span.end as usize).unwrap_or("").trim_start();
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    let holds = ["if", "case", "loop", "while", "for", "foreach", "begin", "declare", ""];
    if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
        // A declaration is known by its name alone.
        return one_line(source[span.start as usize..].split(';').next().unwrap_or(""));
    }
    match holds.contains(&word.to_ascii_lowercase().as_str()) {
        true => one_line(text.lines().next().unwrap_or("")),
        false => one_line(text),
    }
}

/// What an arrow says that is taken when a condition is not true.
const OTHERWISE: &str = "if not so";
/// What an arrow says that leads into a handler.
const CAUGHT: &str = "caught";

/// What an edge does, in a few words.
pub(crate) fn described(edge: &Edge, graph: &Graph, source: &str) -> String {
    let text = one_line(source.get(edge.span.start as usize..edge.span.end as usize).unwrap_or(""));
    shown(&edge.action, graph, &text)
}

/// An action in a few words; `text` is the statement it stands for.
fn shown(action: &Action, graph: &Graph, text: &str) -> String {
    let name = |variable: &usize| graph.variables.get(*variable).map_or("?", |v| &v.name).to_string();
    match action {
        Action::Skip | Action::Begin => String::new(),
        Action::Assign(variable, _) => format!("{} := ...", name(variable)),
        Action::Havoc(variable) => format!("{} := *", name(variable)),
        Action::Assume(_, true) => "if so".into(),
        Action::Assume(_, false) => OTHERWISE.into(),
        Action::Read(_) | Action::Write(_) => text.to_string(),
        Action::Open(..) => format!("open {text}"),
        Action::Fetch(..) => "next row".into(),
        Action::Drained(_) => "no more rows".into(),
        Action::Raise(Some(state)) => format!("error {state}"),
        Action::Raise(None) => "error".into(),
        Action::Again => "error again".into(),
        Action::Save(n) => format!("savepoint {n}"),
        Action::Restore(n) => format!("back to savepoint {n}"),
        Action::Catch(_, true) => CAUGHT.into(),
        Action::Catch(_, false) => "not caught".into(),
    }
}

/// The line, from 1, on which a byte stands.
pub(crate) fn line_of(source: &str, at: usize) -> usize {
    source.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn one_line(text: &str) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > 60 {
        line = line.chars().take(57).chain("...".chars()).collect();
    }
    line
}
