//! The graph for Graphviz.

use super::DeleteGraph;
use crate::graph::quoted;

pub(super) fn draw(graph: &DeleteGraph) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&graph.name));
    out += "  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n";
    out += "  edge [fontname=\"Helvetica\", fontsize=10];\n";
    for class in &graph.classes {
        out += &format!("  {};\n", quoted(class));
    }
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (graph.classes.get(edge.from), graph.classes.get(edge.to)) else { continue };
        let style = if edge.kind.look().2.is_empty() { "solid" } else { "dashed" };
        let (label, color) = (quoted(&edge.title()), edge.color());
        let width = if edge.is_wrong { 2 } else { 1 };
        out += &format!(
            "  {} -> {} [label={label}, color=\"{color}\", fontcolor=\"{color}\", style={style}, penwidth={width}];\n",
            quoted(from),
            quoted(to)
        );
    }
    out + "}\n"
}
