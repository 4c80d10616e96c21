//! The graph as a picture.
//!
//! Boxes stand in layers, each below everything that leads to it. An arrow that passes layers has an invisible place in
//! each of them, so that it goes between the boxes and not behind them. Within a layer, places are ordered by the
//! middle of those they are connected with, above and below in turn, a few times over. Arrows that lead back up go
//! round the right side, each on a lane of its own.

use std::ops::Range;

use super::{FlowGraph, FlowKind};
use crate::graph::escaped;
use crate::layers::layers;
use crate::wrap::width;

const CHAR_WIDTH: f64 = 7.3;
const BOX_HEIGHT: f64 = 26.0;
const LAYER_HEIGHT: f64 = 62.0;
const GAP: f64 = 30.0;
const LANE: f64 = 16.0;
const MARGIN: f64 = 24.0;
const TITLE_HEIGHT: f64 = 34.0;
/// How often places are ordered anew.
const SWEEPS: usize = 6;

const HEAD: &str = "\
<style>text { font: 12px monospace; fill: #222; } .title { font: bold 14px sans-serif; } .label { font: 11px sans-serif; fill: #345; \
paint-order: stroke; stroke: #fff; stroke-width: 3px; }</style>
<defs>
<marker id=\"next\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" \
orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#345\"/></marker>
<marker id=\"error\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" \
orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#b00020\"/></marker>
</defs>
";

pub(super) fn draw(graphs: &[FlowGraph]) -> String {
    let (mut body, mut right, mut top) = (String::new(), 0.0f64, MARGIN);
    for graph in graphs {
        let layout = Layout::of(graph);
        body +=
            &format!("<text class=\"title\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>\n", top + 14.0, escaped(&graph.name));
        body += &format!("<g transform=\"translate({MARGIN} {:.1})\">\n{}</g>\n", top + TITLE_HEIGHT, layout.draw());
        right = right.max(layout.wide() + 2.0 * MARGIN);
        top += TITLE_HEIGHT + layout.high() + MARGIN;
    }
    let names: Vec<String> = graphs.iter().map(|graph| escaped(&graph.name)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {right:.0} {top:.0}\" width=\"{right:.0}\" height=\"{top:.0}\" \
         role=\"img\">\n<title>{}</title>\n{HEAD}<rect width=\"{right:.0}\" height=\"{top:.0}\" fill=\"#fff\"/>\n{body}</svg>\n",
        names.join(", ")
    )
}

/// A box, or the place at which an arrow passes a layer.
struct Spot {
    layer: usize,
    x: f64,
    wide: f64,
}

/// A graph with a place for everything.
struct Layout<'g> {
    graph: &'g FlowGraph,
    /// The boxes first, in the order of the nodes.
    spots: Vec<Spot>,
    /// For each edge, the spots it goes through.
    ways: Vec<Vec<usize>>,
}

impl<'g> Layout<'g> {
    fn of(graph: &'g FlowGraph) -> Layout<'g> {
        let arrows: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let depths = layers(graph.nodes.len(), &arrows);
        let wide = |title: &str| width(title) as f64 * CHAR_WIDTH + 20.0;
        let boxes = graph.nodes.iter().zip(&depths);
        let mut spots: Vec<Spot> =
            boxes.map(|(node, layer)| Spot { layer: *layer, x: 0.0, wide: wide(&node.title()) }).collect();
        let mut ways = Vec::new();
        for (from, to) in arrows {
            let passed: Range<usize> = depths[from] + 1..depths[to];
            let mut way = vec![from];
            for layer in passed {
                spots.push(Spot { layer, x: 0.0, wide: LANE });
                way.push(spots.len() - 1);
            }
            way.push(to);
            ways.push(way);
        }
        let mut layout = Layout { graph, spots, ways };
        layout.place();
        layout
    }

    /// Whether an arrow leads down.
    fn leads_down(&self, way: &[usize]) -> bool {
        matches!(way, [first, .., last] if self.spots[*first].layer < self.spots[*last].layer)
    }

    /// Gives every spot its place from left to right.
    fn place(&mut self) {
        let count = self.spots.iter().map(|spot| spot.layer + 1).max().unwrap_or(0);
        let down = self.ways.iter().filter(|way| self.leads_down(way));
        let links: Vec<(usize, usize)> = down.flat_map(|way| way.windows(2).map(|two| (two[0], two[1]))).collect();
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
        self.spots.iter().enumerate().for_each(|(at, spot)| rows[spot.layer].push(at));
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let order: Vec<usize> = if downwards { (0..count).collect() } else { (0..count).rev().collect() };
            for layer in order {
                let near = |at: usize| {
                    let others = links.iter().filter_map(|(a, b)| match downwards {
                        true => (*b == at).then_some(*a),
                        false => (*a == at).then_some(*b),
                    });
                    let xs: Vec<f64> = others.map(|other| self.spots[other].x).collect();
                    if xs.is_empty() { self.spots[at].x } else { xs.iter().sum::<f64>() / xs.len() as f64 }
                };
                let mut wanted: Vec<(f64, usize)> = rows[layer].iter().map(|at| (near(*at), *at)).collect();
                wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.spread(&wanted);
                rows[layer] = wanted.into_iter().map(|(_, at)| at).collect();
            }
        }
        let left = self.spots.iter().map(|spot| spot.x - spot.wide / 2.0).fold(f64::MAX, f64::min);
        self.spots.iter_mut().for_each(|spot| spot.x -= left);
    }

    /// Puts the spots of a layer where they want to be, as far as they are not in each other's way.
    fn spread(&mut self, wanted: &[(f64, usize)]) {
        let mut left = f64::MIN;
        let mut moved = 0.0;
        for (x, at) in wanted {
            let half = self.spots[*at].wide / 2.0;
            let x_free = x.max(left + half);
            self.spots[*at].x = x_free;
            moved += x_free - x;
            left = x_free + half + GAP;
        }
        let back = moved / wanted.len().max(1) as f64;
        wanted.iter().for_each(|(_, at)| self.spots[*at].x -= back);
    }

    fn y(&self, spot: usize) -> f64 {
        self.spots[spot].layer as f64 * LAYER_HEIGHT + BOX_HEIGHT / 2.0
    }

    fn high(&self) -> f64 {
        self.spots.iter().map(|spot| spot.layer as f64).fold(0.0, f64::max) * LAYER_HEIGHT + BOX_HEIGHT
    }

    /// The right end of the boxes of some layers.
    fn right(&self, layers: Range<usize>) -> f64 {
        let inside = self.spots.iter().filter(|spot| layers.contains(&spot.layer));
        inside.map(|spot| spot.x + spot.wide / 2.0).fold(0.0, f64::max)
    }

    fn wide(&self) -> f64 {
        let back = self.ways.iter().filter(|way| !self.leads_down(way)).count();
        self.right(0..usize::MAX) + LANE * (back as f64 + 1.0)
    }

    fn draw(&self) -> String {
        let mut out = String::new();
        let mut lanes = 0.0;
        for (edge, way) in self.graph.edges.iter().zip(&self.ways) {
            let (marker, look) = match edge.is_error {
                true => ("error", "stroke=\"#b00020\" stroke-dasharray=\"3 3\""),
                false => ("next", "stroke=\"#345\""),
            };
            let (path, (x, y)) = match self.leads_down(way) {
                true => self.down(way),
                false => {
                    lanes += 1.0;
                    self.back(way[0], way[way.len() - 1], lanes)
                }
            };
            out += &format!("<path d=\"{path}\" fill=\"none\" {look} marker-end=\"url(#{marker})\"/>\n");
            if !edge.label.is_empty() {
                out += &format!("<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escaped(&edge.label));
            }
        }
        (0..self.graph.nodes.len()).for_each(|at| out += &self.boxed(at));
        out
    }

    /// The way of an arrow that leads down, and where its words stand.
    fn down(&self, way: &[usize]) -> (String, (f64, f64)) {
        let half = BOX_HEIGHT / 2.0;
        let mut path = format!("M{:.1} {:.1}", self.spots[way[0]].x, self.y(way[0]) + half);
        for two in way.windows(2) {
            let (x1, y1) = (self.spots[two[0]].x, self.y(two[0]) + half);
            let (x2, y2) = (self.spots[two[1]].x, self.y(two[1]) - half);
            let bend = (y2 - y1) / 2.0;
            // Past a box of the same layer, straight down.
            path += &format!(" L{x1:.1} {y1:.1} C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}", y1 + bend, y2 - bend);
        }
        let (x1, x2) = (self.spots[way[0]].x, self.spots[way[1]].x);
        (path, (x1 * 0.45 + x2 * 0.55 + 5.0, self.y(way[0]) + half + (LAYER_HEIGHT - BOX_HEIGHT) * 0.62))
    }

    /// The same for one that leads back up.
    fn back(&self, from: usize, to: usize, lane: f64) -> (String, (f64, f64)) {
        let (a, b) = (&self.spots[from], &self.spots[to]);
        let out = self.right(b.layer..a.layer + 1) + LANE * lane;
        let (x1, x2) = (a.x + a.wide / 2.0, b.x + b.wide / 2.0);
        let (y1, y2) = (self.y(from) + 5.0, self.y(to) - 5.0);
        let path = format!(
            "M{x1:.1} {y1:.1} L{:.1} {y1:.1} Q{out:.1} {y1:.1} {out:.1} {:.1} L{out:.1} {:.1} Q{out:.1} {y2:.1} {:.1} {y2:.1} L{x2:.1} {y2:.1}",
            out - 8.0,
            y1 - 8.0,
            y2 + 8.0,
            out - 8.0
        );
        (path, (x1 + 5.0, y1 - 4.0))
    }

    fn boxed(&self, at: usize) -> String {
        let (node, spot) = (&self.graph.nodes[at], &self.spots[at]);
        let (left, top) = (spot.x - spot.wide / 2.0, self.y(at) - BOX_HEIGHT / 2.0);
        let (stroke, thick, round) = match node.kind {
            FlowKind::Start => ("#345", 2.5, 4),
            FlowKind::End => ("#345", 2.5, 13),
            FlowKind::Loop => ("#345", 1.0, 13),
            FlowKind::Error => ("#b00020", 1.0, 4),
            FlowKind::Plain => ("#345", 1.0, 4),
        };
        format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" rx=\"{round}\" fill=\"#f4f6f8\" \
             stroke=\"{stroke}\" stroke-width=\"{thick}\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" xml:space=\"preserve\">{}</text>\n",
            spot.wide,
            left + 10.0,
            self.y(at) + 4.0,
            escaped(&node.title())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowEdge, FlowNode};
    use super::*;

    fn graph(arrows: &[(usize, usize)], count: usize) -> FlowGraph {
        let node = |at: usize| FlowNode { line: Some(at), text: "SELECT".repeat(at % 4 + 1), kind: FlowKind::Plain };
        let edge = |(from, to): &(usize, usize)| FlowEdge { from: *from, to: *to, label: "so".into(), is_error: false };
        FlowGraph { name: "p".into(), nodes: (0..count).map(node).collect(), edges: arrows.iter().map(edge).collect() }
    }

    #[test]
    fn boxes_do_not_overlap_and_arrows_pass_between_them() {
        let graph = graph(&[(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5), (0, 5), (5, 1), (5, 6), (2, 6)], 7);
        let layout = Layout::of(&graph);
        for (at, a) in layout.spots.iter().enumerate() {
            for b in layout.spots[at + 1..].iter().filter(|b| b.layer == a.layer) {
                assert!((a.x - b.x).abs() >= (a.wide + b.wide) / 2.0, "{} and {}", a.x, b.x);
            }
        }
        assert_eq!(layout.ways[6].len(), 4, "an arrow past two layers has a place in each");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(FlowGraph::to_svg(&[FlowGraph::default()]).contains("<svg"));
    }
}
