//! The graph as a picture.
//!
//! Two boxes stand side by side, more of them on a cycle in the order of the arrows. An arrow is a curve that bends to
//! its left, so that there and back do not meet; a second arrow between the same boxes bends further. Every arrow has
//! its words beside its middle, on the outside. That is all the layout there is: a counterexample has few threads.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::{Graph, GraphEdge};
use crate::wrap::width;

const FONT_SIZE: f64 = 13.0;
/// A character of the font, on average.
const CHAR_WIDTH: f64 = 7.2;
const LINE_HEIGHT: f64 = 17.0;
const BOX_HEIGHT: f64 = 38.0;
const MARGIN: f64 = 24.0;
/// How far an arrow bends, and how much further the next one does.
const BEND: f64 = 34.0;
const BEND_MORE: f64 = 62.0;

pub(super) fn draw(graph: &Graph) -> String {
    let boxes = place(graph);
    let arrows: Vec<Arrow<'_>> = (0..graph.edges.len()).filter_map(|index| Arrow::new(graph, &boxes, index)).collect();
    let corners = boxes.iter().map(Box::extent).chain(arrows.iter().map(|arrow| arrow.label));
    let page = corners.reduce(Extent::around).unwrap_or_default();
    let (left, top) = (page.left - MARGIN, page.top - MARGIN);
    let (wide, high) = (page.right - page.left + 2.0 * MARGIN, page.bottom - page.top + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left:.1} {top:.1} {wide:.1} {high:.1}\" width=\"{wide:.0}\" \
         height=\"{high:.0}\" role=\"img\">\n"
    );
    out += &format!("<title>{}</title>\n{HEAD}", escaped(&graph.name));
    out += &format!("<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" fill=\"#fff\"/>\n");
    // The arrows of the cycle last, so that nothing is drawn over them.
    for cycle in [false, true] {
        arrows.iter().filter(|arrow| arrow.edge.cycle == cycle).for_each(|arrow| out += &arrow.draw());
    }
    boxes.iter().for_each(|node| out += &node.draw());
    out + "</svg>\n"
}

const HEAD: &str = "\
<defs>
<marker id=\"cycle\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path d=\"M0 0 L10 5 L0 10 z\" fill=\"#b00020\"/></marker>
<marker id=\"other\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
<path d=\"M0 0 L10 5 L0 10 z\" fill=\"#999\"/></marker>
</defs>
<style>text { font: 13px sans-serif; fill: #222; } .name { font-weight: bold; } .other { fill: #777; }</style>
";

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

/// A part of the page.
#[derive(Clone, Copy, Default)]
struct Extent {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Extent {
    fn of(middle: Point, width: f64, height: f64) -> Extent {
        let (x, y) = (width / 2.0, height / 2.0);
        Extent { left: middle.x - x, top: middle.y - y, right: middle.x + x, bottom: middle.y + y }
    }

    fn around(self, other: Extent) -> Extent {
        Extent {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    fn contains(self, point: Point) -> bool {
        (self.left..=self.right).contains(&point.x) && (self.top..=self.bottom).contains(&point.y)
    }
}

/// A node, placed.
struct Box<'a> {
    name: &'a str,
    middle: Point,
}

impl Box<'_> {
    fn extent(&self) -> Extent {
        Extent::of(self.middle, width(self.name) as f64 * (CHAR_WIDTH + 1.0) + 32.0, BOX_HEIGHT)
    }

    fn draw(&self) -> String {
        let Extent { left, top, right, bottom } = self.extent();
        let Point { x, y } = self.middle;
        let (wide, high, base) = (right - left, bottom - top, y + FONT_SIZE / 3.0);
        format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" rx=\"7\" fill=\"#f4f6f8\" \
             stroke=\"#345\"/>\n<text class=\"name\" x=\"{x:.1}\" y=\"{base:.1}\" text-anchor=\"middle\">{}</text>\n",
            escaped(self.name)
        )
    }
}

/// Gives every node its place.
fn place(graph: &Graph) -> Vec<Box<'_>> {
    let words = graph.edges.iter().map(label_width).fold(0.0, f64::max);
    let names = graph.nodes.iter().map(|node| width(&node.name) as f64 * CHAR_WIDTH).fold(0.0, f64::max);
    let count = graph.nodes.len();
    let radius = match count {
        0 | 1 => 0.0,
        2 => (words * 0.8 + names) / 2.0 + 30.0,
        _ => (names + 90.0) * (count as f64 / 3.0).max(1.0),
    };
    // Two stand side by side; of more, the first is at the top.
    let start = if count == 2 { TAU / 2.0 } else { -FRAC_PI_2 };
    let places = graph.nodes.iter().enumerate().map(|(index, node)| {
        let angle = start + TAU * index as f64 / count as f64;
        Box { name: &node.name, middle: Point { x: radius * angle.cos(), y: radius * angle.sin() } }
    });
    places.collect()
}

fn label_width(edge: &GraphEdge) -> f64 {
    width(&edge.title()).max(width(&edge.story())) as f64 * CHAR_WIDTH
}

/// An edge, placed.
struct Arrow<'a> {
    edge: &'a GraphEdge,
    start: Point,
    bend: Point,
    end: Point,
    label: Extent,
}

impl<'a> Arrow<'a> {
    fn new(graph: &'a Graph, boxes: &[Box<'_>], index: usize) -> Option<Arrow<'a>> {
        let edge = &graph.edges[index];
        let (from, to) = (boxes.get(edge.from)?, boxes.get(edge.to)?);
        let before = graph.edges[..index].iter().filter(|e| (e.from, e.to) == (edge.from, edge.to)).count();
        let (a, b) = (from.middle, to.middle);
        let length = (b.x - a.x).hypot(b.y - a.y);
        if length == 0.0 {
            return None;
        }
        // To the left of the way, which on the page is (dy, -dx).
        let (left_x, left_y) = ((b.y - a.y) / length, (a.x - b.x) / length);
        let beside = |far: f64| Point { x: (a.x + b.x) / 2.0 + left_x * far, y: (a.y + b.y) / 2.0 + left_y * far };
        // A curve comes half as far as its control point.
        let far = BEND + BEND_MORE * before as f64;
        let bend = beside(2.0 * far);
        let along = |t: f64| {
            let mix = |a: f64, m: f64, b: f64| (1.0 - t) * (1.0 - t) * a + 2.0 * (1.0 - t) * t * m + t * t * b;
            Point { x: mix(a.x, bend.x, b.x), y: mix(a.y, bend.y, b.y) }
        };
        // Where the curve leaves one box and enters the other.
        const PARTS: usize = 200;
        let points = || (0..=PARTS).map(|part| along(part as f64 / PARTS as f64));
        let start = points().find(|point| !from.extent().contains(*point))?;
        let end = points().rev().find(|point| !to.extent().contains(*point))?;
        let (wide, high) = (label_width(edge), 2.0 * LINE_HEIGHT);
        let label = Extent::of(beside(far + 4.0 + (left_x.abs() * wide + left_y.abs() * high) / 2.0), wide, high);
        Some(Arrow { edge, start, bend, end, label })
    }

    fn draw(&self) -> String {
        let (class, stroke) = match self.edge.cycle {
            true => ("cycle", "stroke=\"#b00020\" stroke-width=\"2\""),
            false => ("other", "stroke=\"#999\""),
        };
        let Arrow { start, bend, end, label, .. } = self;
        let Extent { left, top, right, .. } = *label;
        let x = (left + right) / 2.0;
        let lines = [self.edge.title(), self.edge.story()].into_iter().enumerate().map(|(row, line)| {
            let y = top + LINE_HEIGHT * (row as f64 + 1.0) - 4.0;
            let text = escaped(&line);
            format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>\n")
        });
        format!(
            "<path d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" {stroke} marker-end=\"url(#{class})\"/>\n{}",
            start.x,
            start.y,
            bend.x,
            bend.y,
            end.x,
            end.y,
            lines.collect::<String>()
        )
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::{EdgeEnd, EdgeKind, Node};
    use super::*;

    fn cycle(count: usize) -> Graph {
        let nodes = (0..count).map(|n| Node { name: format!("thread number {n}") }).collect();
        let end = || EdgeEnd { statement: "UPDATE".into(), place: None, transaction: 1 };
        let edges = (0..count).map(|from| GraphEdge {
            from,
            to: (from + 1) % count,
            kind: EdgeKind::Rw,
            predicate: false,
            item: "balance of some account id = 1000".into(),
            first: end(),
            second: end(),
            cycle: true,
        });
        Graph { name: "cycle".into(), nodes, edges: edges.collect() }
    }

    #[test]
    fn boxes_and_words_do_not_overlap() {
        for count in 2..9 {
            let graph = cycle(count);
            let boxes = place(&graph);
            let arrows = (0..count).map(|index| Arrow::new(&graph, &boxes, index).expect("it leads somewhere"));
            let parts: Vec<Extent> = arrows.map(|arrow| arrow.label).chain(boxes.iter().map(Box::extent)).collect();
            for (index, a) in parts.iter().enumerate() {
                for b in &parts[index + 1..] {
                    let apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
                    assert!(apart, "{index} of a cycle of {count}");
                }
            }
        }
    }

    #[test]
    fn an_arrow_to_itself_is_not_drawn() {
        assert!(!cycle(1).to_svg().contains("marker-end=\"url(#cycle)\"/>\n<text"));
    }
}
