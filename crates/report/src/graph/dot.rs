//! The graph for Graphviz.

use super::Graph;

pub(super) fn draw(graph: &Graph) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&graph.name));
    out += "  rankdir=LR;\n";
    out += "  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n";
    out += "  edge [fontname=\"Helvetica\", fontsize=10];\n";
    for node in &graph.nodes {
        out += &format!("  {};\n", quoted(&node.name));
    }
    for edge in &graph.edges {
        let look =
            if edge.cycle { "color=\"#b00020\", penwidth=2" } else { "color=\"#999999\", fontcolor=\"#777777\"" };
        let label = quoted(&format!("{}\n{}", edge.title(), edge.story()));
        let (from, to) = (quoted(graph.node(edge.from)), quoted(graph.node(edge.to)));
        out += &format!("  {from} -> {to} [label={label}, {look}];\n");
    }
    out + "}\n"
}

pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
