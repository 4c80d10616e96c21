//! The graph as a picture, in DOT.

use std::fmt::Write as _;

use super::{Action, Edge, Graph};

/// The graph in the language of Graphviz. `line` says on which line of the source a byte stands.
pub fn to_dot(graph: &Graph, source: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph \"{}\" {{", escaped(&graph.name));
    let _ = writeln!(out, "  node [shape=circle, fontname=\"monospace\"]; edge [fontname=\"monospace\"];");
    for (at, node) in graph.nodes.iter().enumerate() {
        let shape = match at {
            _ if at == graph.entry => ", style=bold",
            _ if at == graph.exit => ", shape=doublecircle",
            _ if graph.heads.contains(&at) => ", shape=diamond",
            _ => "",
        };
        let line = line_of(source, node.span.start as usize);
        let _ = writeln!(out, "  n{at} [label=\"{at}\\nline {line}\"{shape}];");
    }
    for edge in &graph.edges {
        let label = escaped(&described(edge, graph, source));
        let _ = writeln!(out, "  n{} -> n{} [label=\"{label}\"];", edge.from, edge.to);
        if let Some(handler) = edge.on_error {
            let _ = writeln!(out, "  n{} -> n{handler} [style=dotted, color=gray];", edge.from);
        }
    }
    out.push_str("}\n");
    out
}

/// What an edge does, in a few words.
pub(crate) fn described(edge: &Edge, graph: &Graph, source: &str) -> String {
    let text = one_line(source.get(edge.span.start as usize..edge.span.end as usize).unwrap_or(""));
    shown(&edge.action, graph, &text)
}

/// An action in a few words; `text` is the statement it stands for.
fn shown(action: &Action, graph: &Graph, text: &str) -> String {
    let name = |variable: &usize| graph.variables.get(*variable).map_or("?", |v| &v.name).to_string();
    match action {
        Action::Skip => String::new(),
        Action::Assign(variable, _) => format!("{} := ...", name(variable)),
        Action::Havoc(variable) => format!("{} := *", name(variable)),
        Action::Assume(_, true) => "if so".into(),
        Action::Assume(_, false) => "if not so".into(),
        Action::Read(_) | Action::Write(_) => text.to_string(),
        Action::Open(..) => format!("open {text}"),
        Action::Fetch(..) => "next row".into(),
        Action::Drained(_) => "no more rows".into(),
        Action::Raise(Some(state)) => format!("error {state}"),
        Action::Raise(None) => "error".into(),
        Action::Again => "error again".into(),
        Action::Save(n) => format!("savepoint {n}"),
        Action::Restore(n) => format!("back to savepoint {n}"),
        Action::Catch(_, true) => "caught".into(),
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

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
