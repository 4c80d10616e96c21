//! The graph as a picture, in layers.
//!
//! A class stands below all classes whose delete concerns it, as far as that does not go round in a circle; within a layer,
//! near the middle of those above it. A layer that would be too wide is broken into rows. Arrows are curves from the bottom of
//! a box to the top of another; those that lead up or stay go round the side.

use super::{DeleteGraph, DeleteKind, WRONG};
use crate::graph::escaped;
use crate::wrap::width;

const CHAR_WIDTH: f64 = 7.8;
const BOX_HEIGHT: f64 = 30.0;
const GAP: f64 = 46.0;
const LAYER_GAP: f64 = 92.0;
const ROW_WIDTH_MAX: f64 = 1800.0;
const MARGIN: f64 = 28.0;
const LEGEND_HEIGHT: f64 = 34.0;

struct Box {
    x: f64,
    y: f64,
    wide: f64,
}

pub(super) fn draw(graph: &DeleteGraph) -> String {
    let boxes = place(graph);
    let right = boxes.iter().map(|b| b.x + b.wide / 2.0).fold(960.0, f64::max) + MARGIN + 40.0;
    let bottom = boxes.iter().map(|b| b.y + BOX_HEIGHT / 2.0).fold(0.0, f64::max) + MARGIN + LEGEND_HEIGHT;
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

/// The way of an arrow, and where its words stand.
fn curve(from: &Box, to: &Box, is_loop: bool) -> (String, (f64, f64)) {
    let half = BOX_HEIGHT / 2.0;
    if is_loop {
        let (x, y) = (from.x + from.wide / 2.0, from.y);
        let path = format!(
            "M{x:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {x:.1} {:.1}",
            y - 7.0,
            x + 34.0,
            y - 24.0,
            x + 34.0,
            y + 24.0,
            y + 7.0
        );
        return (path, (x + 30.0, y - 18.0));
    }
    if to.y > from.y {
        let (x1, y1, x2, y2) = (from.x, from.y + half, to.x, to.y - half);
        let bend = (y2 - y1) / 2.0;
        let path = format!("M{x1:.1} {y1:.1} C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}", y1 + bend, y2 - bend);
        return (path, (x1 * 0.4 + x2 * 0.6, y1 * 0.4 + y2 * 0.6));
    }
    // Up, or to the side: round the right of both.
    let (x1, x2) = (from.x + from.wide / 2.0, to.x + to.wide / 2.0);
    let out = x1.max(x2) + 34.0;
    let path = format!("M{x1:.1} {:.1} C{out:.1} {:.1} {out:.1} {:.1} {x2:.1} {:.1}", from.y, from.y, to.y, to.y);
    (path, (out - 6.0, (from.y + to.y) / 2.0))
}

/// Gives every class its place.
fn place(graph: &DeleteGraph) -> Vec<Box> {
    let layers = layers(graph);
    let mut boxes: Vec<Box> = graph
        .classes
        .iter()
        .map(|class| Box { x: 0.0, y: 0.0, wide: width(class) as f64 * CHAR_WIDTH + 26.0 })
        .collect();
    let mut y = MARGIN + BOX_HEIGHT / 2.0;
    for depth in 0..=layers.iter().copied().max().unwrap_or(0) {
        let members: Vec<usize> = (0..layers.len()).filter(|class| layers[*class] == depth).collect();
        // Those above are placed already.
        let middle = |class: usize| {
            let above = graph.edges.iter().filter(|e| e.to == class && layers.get(e.from).is_some_and(|d| *d < depth));
            let above: Vec<f64> = above.map(|edge| boxes[edge.from].x).collect();
            let count = above.len().max(1) as f64;
            above.iter().sum::<f64>() / count
        };
        // What has no arrows comes last, out of the way.
        let is_alone = |class: usize| !graph.edges.iter().any(|edge| edge.from == class || edge.to == class);
        let mut wanted: Vec<(bool, f64, usize)> =
            members.iter().map(|class| (is_alone(*class), middle(*class), *class)).collect();
        wanted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut x = MARGIN;
        for (_, middle, class) in wanted {
            let wide = boxes[class].wide;
            if x + wide > ROW_WIDTH_MAX {
                (x, y) = (MARGIN, y + BOX_HEIGHT + GAP);
            }
            let left = if middle + wide / 2.0 > ROW_WIDTH_MAX { x } else { x.max(middle - wide / 2.0) };
            (boxes[class].x, boxes[class].y) = (left + wide / 2.0, y);
            x = left + wide + GAP;
        }
        y += LAYER_GAP;
    }
    boxes
}

/// How far below each class stands: one further than all above it, without the arrows that close circles.
fn layers(graph: &DeleteGraph) -> Vec<usize> {
    let count = graph.classes.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in graph.edges.iter().filter(|edge| edge.from < count && edge.to < count && edge.from != edge.to) {
        below[edge.from].push(edge.to);
    }
    let order = reverse_postorder(&below);
    let mut position = vec![0; count];
    order.iter().enumerate().for_each(|(at, class)| position[*class] = at);
    let mut depth = vec![0; count];
    for class in order {
        for next in below[class].iter().copied().filter(|next| position[*next] > position[class]) {
            depth[next] = depth[next].max(depth[class] + 1);
        }
    }
    depth
}

/// Every class before what it leads to, unless that leads back; without recursion, as chains may be long.
fn reverse_postorder(below: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; below.len()];
    let mut order = Vec::new();
    let mut has_above = vec![false; below.len()];
    below.iter().flatten().for_each(|class| has_above[*class] = true);
    let roots = (0..below.len()).filter(|class| !has_above[*class]).chain(0..below.len());
    for root in roots.collect::<Vec<_>>() {
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((class, next)) = stack.pop() {
            match below[class].get(next) {
                Some(child) => {
                    stack.push((class, next + 1));
                    if !std::mem::replace(&mut seen[*child], true) {
                        stack.push((*child, 0));
                    }
                }
                None => order.push(class),
            }
        }
    }
    order.reverse();
    order
}
