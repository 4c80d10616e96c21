//! The graph as a picture: a class stands below all classes whose delete concerns it.

use super::{DeleteGraph, DeleteKind, WRONG};
use crate::graph::escaped;
use crate::layers::{BOX_HEIGHT, MARGIN, curve, place, size};

const LEGEND_HEIGHT: f64 = 34.0;
const WIDTH_MIN: f64 = 960.0;

pub(super) fn draw(graph: &DeleteGraph) -> String {
    let arrows: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let boxes = place(graph.classes.iter().map(String::as_str), &arrows);
    let (right, bottom) = size(&boxes);
    let (right, bottom) = (right.max(WIDTH_MIN) + 40.0, bottom + LEGEND_HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {right:.0} {bottom:.0}\" width=\"{right:.0}\" \
         height=\"{bottom:.0}\" role=\"img\">\n<title>{}</title>\n{STYLE}",
        escaped(&graph.name)
    );
    out += &markers();
    out += &format!("<rect width=\"{right:.0}\" height=\"{bottom:.0}\" fill=\"#fff\"/>\n");
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (boxes.get(edge.from), boxes.get(edge.to)) else { continue };
        let (path, (x, y)) = curve(from, to, edge.from == edge.to);
        let (color, dashes) = (edge.color(), edge.kind.look().2);
        let wide = if edge.is_wrong { 2.2 } else { 1.2 };
        out += &format!(
            "<path class=\"edge\" d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{wide}\" \
             stroke-dasharray=\"{dashes}\" marker-end=\"url(#{})\"/>\n<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" \
             fill=\"{color}\">{}</text>\n",
            marker(color),
            escaped(&edge.label)
        );
    }
    for (class, at) in graph.classes.iter().zip(&boxes) {
        let (left, top, base) = (at.x - at.wide / 2.0, at.y - BOX_HEIGHT / 2.0, at.y + 4.5);
        out += &format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"#f4f6f8\" \
             stroke=\"#345\"/>\n<text class=\"name\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>\n",
            at.wide,
            at.x,
            escaped(class)
        );
    }
    out + &legend(bottom) + "</svg>\n"
}

const STYLE: &str = "<style>text { font: 12px sans-serif; } .name { font-weight: bold; fill: #222; text-anchor: middle; } \
                     .label { font-size: 10.5px; text-anchor: middle; paint-order: stroke; stroke: #fff; stroke-width: 3px; }\
                     </style>\n";

fn marker(color: &str) -> String {
    format!("arrow-{}", color.trim_start_matches('#'))
}

/// A head for the arrows of each colour.
fn markers() -> String {
    let mut colors: Vec<&str> = DeleteKind::ALL.iter().map(|(_, _, color, _)| *color).chain([WRONG]).collect();
    colors.sort_unstable();
    colors.dedup();
    let head = |color: &&str| {
        format!(
            "<marker id=\"{}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"{color}\"/></marker>",
            marker(color)
        )
    };
    format!("<defs>{}</defs>\n", colors.iter().map(head).collect::<String>())
}

fn legend(bottom: f64) -> String {
    let kinds = DeleteKind::ALL.iter().map(|(_, word, color, dashes)| (*word, *color, *dashes));
    let mut out = String::new();
    for (index, (word, color, dashes)) in kinds.chain([("goes wrong", WRONG, "")]).enumerate() {
        let (x, y) = (MARGIN + index as f64 * 136.0, bottom - 16.0);
        out += &format!(
            "<line x1=\"{x:.0}\" y1=\"{y:.0}\" x2=\"{:.0}\" y2=\"{y:.0}\" stroke=\"{color}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dashes}\"/><text x=\"{:.0}\" y=\"{:.0}\" fill=\"#444\">{word}</text>\n",
            x + 20.0,
            x + 25.0,
            y + 4.0
        );
    }
    out
}
