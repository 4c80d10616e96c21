//! The graph for Graphviz.

use super::{FlowGraph, FlowKind};
use crate::graph::quoted;

pub(super) fn draw(graph: &FlowGraph) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&graph.name));
    out += "  node [shape=box, fontname=\"monospace\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=10];\n";
    for (at, node) in graph.nodes.iter().enumerate() {
        let look = match node.kind {
            FlowKind::Start => ", penwidth=2",
            FlowKind::End => ", peripheries=2",
            FlowKind::Loop => ", style=rounded",
            FlowKind::Error => ", color=\"#b00020\"",
            FlowKind::Plain => "",
        };
        out += &format!("  n{at} [label={}{look}];\n", quoted(&node.title()));
    }
    for edge in &graph.edges {
        let look = if edge.is_error { ", style=dotted, color=\"#b00020\"" } else { "" };
        out += &format!("  n{} -> n{} [label={}{look}];\n", edge.from, edge.to, quoted(&edge.label));
    }
    out + "}\n"
}
