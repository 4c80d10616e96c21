//! A few objects and what they name, drawn before a delete and after it.
//!
//! The example of a [finding](crate::Finding) as a graph: for [Graphviz](InstanceGraph::to_dot), and as a
//! [picture](InstanceGraph::to_svg) of two halves in which everything keeps its place, so that the eye sees what is
//! missing. What is named stands above what names it. On the right, what is gone is pale and dashed, and what names it
//! still is red.

use serde::{Deserialize, Serialize};

use crate::graph::{escaped, quoted};
use crate::layers::{BOX_HEIGHT, Box, MARGIN, curve, place, size};

/// Objects, what they name, and what becomes of both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceGraph {
    /// The objects.
    pub objects: Vec<DrawnObject>,
    /// What they name.
    pub links: Vec<DrawnLink>,
}

/// An object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnObject {
    /// What it is called: `photo1`.
    pub name: String,
    /// What becomes of it; never [`Fate::Dangles`].
    pub fate: Fate,
}

/// An object names another, or two are a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnLink {
    /// A position in [`InstanceGraph::objects`].
    pub from: usize,
    /// A position in [`InstanceGraph::objects`].
    pub to: usize,
    /// By what: `profile`.
    pub label: String,
    /// It is a row of a join, which has no direction.
    pub is_pair: bool,
    /// What becomes of it.
    pub fate: Fate,
}

/// What a delete makes of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing.
    #[default]
    Stays,
    /// It is gone.
    Gone,
    /// It stays, and leads to what is gone.
    Dangles,
}

/// The halves of a drawing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Before,
    After,
}

const PLAIN: &str = "#334455";
const PALE: &str = "#b8c0c8";
const WRONG: &str = "#b00020";
const TITLE_HEIGHT: f64 = 40.0;
const HALF_WIDTH_MIN: f64 = 260.0;

impl Fate {
    /// The colour and the dashes of what has this fate.
    fn look(self, half: Half) -> (&'static str, &'static str) {
        match (half, self) {
            (Half::Before, _) | (Half::After, Fate::Stays) => (PLAIN, ""),
            (Half::After, Fate::Gone) => (PALE, "4 3"),
            (Half::After, Fate::Dangles) => (WRONG, ""),
        }
    }
}

impl InstanceGraph {
    /// The halves that there are: one, if nothing is deleted.
    fn halves(&self, delete: Option<&str>) -> Vec<(Half, String)> {
        match delete {
            None => vec![(Half::Before, "data".into())],
            Some(object) => vec![(Half::Before, "before".into()), (Half::After, format!("after deleting {object}"))],
        }
    }

    /// The links whose ends are there.
    fn drawn(&self) -> impl Iterator<Item = &DrawnLink> {
        self.links.iter().filter(|link| link.from < self.objects.len() && link.to < self.objects.len())
    }

    /// For Graphviz: a cluster for each half.
    pub fn to_dot(&self, name: &str, delete: Option<&str>) -> String {
        let mut out = format!("digraph {} {{\n  rankdir=BT;\n", quoted(name));
        out += "  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n";
        out += "  edge [fontname=\"Helvetica\", fontsize=10];\n";
        for (number, (half, title)) in self.halves(delete).into_iter().enumerate() {
            let node = |index: usize| quoted(&format!("{number} {}", self.objects[index].name));
            out += &format!("  subgraph cluster_{number} {{\n    label={};\n", quoted(&title));
            for (index, object) in self.objects.iter().enumerate() {
                let (color, dashes) = object.fate.look(half);
                let style = if dashes.is_empty() { "rounded" } else { "\"rounded,dashed\"" };
                let label = quoted(&object.name);
                out += &format!(
                    "    {} [label={label}, color=\"{color}\", fontcolor=\"{color}\", style={style}];\n",
                    node(index)
                );
            }
            for link in self.drawn() {
                let (color, dashes) = link.fate.look(half);
                let style = if dashes.is_empty() { "solid" } else { "dashed" };
                let head = if link.is_pair { ", dir=none" } else { "" };
                out += &format!(
                    "    {} -> {} [label={}, color=\"{color}\", fontcolor=\"{color}\", style={style}{head}];\n",
                    node(link.from),
                    node(link.to),
                    quoted(&link.label)
                );
            }
            out += "  }\n";
        }
        out + "}\n"
    }

    /// As a picture: the halves beside each other, everything in its place.
    pub fn to_svg(&self, name: &str, delete: Option<&str>) -> String {
        let arrows: Vec<(usize, usize)> = self.drawn().map(|link| (link.to, link.from)).collect();
        let boxes = place(self.objects.iter().map(|object| object.name.as_str()), &arrows);
        let (wide, high) = size(&boxes);
        // Arrows to the side go round the right of a box.
        let wide = (wide + 2.0 * MARGIN).max(HALF_WIDTH_MIN);
        let halves = self.halves(delete);
        let (right, bottom) = (wide * halves.len() as f64, high + TITLE_HEIGHT);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {right:.0} {bottom:.0}\" width=\"{right:.0}\" \
             height=\"{bottom:.0}\" role=\"img\">\n<title>{}</title>\n{STYLE}<defs>{}</defs>\n\
             <rect width=\"{right:.0}\" height=\"{bottom:.0}\" fill=\"#fff\"/>\n",
            escaped(name),
            [PLAIN, PALE, WRONG].map(head).concat()
        );
        for (number, (half, title)) in halves.into_iter().enumerate() {
            let left = number as f64 * wide;
            if number > 0 {
                out +=
                    &format!("<line x1=\"{left:.0}\" y1=\"8\" x2=\"{left:.0}\" y2=\"{bottom:.0}\" stroke=\"#ddd\"/>\n");
            }
            out += &format!(
                "<text class=\"title\" x=\"{:.0}\" y=\"26\">{}</text>\n<g transform=\"translate({left:.0} {TITLE_HEIGHT})\">\n",
                left + MARGIN,
                escaped(&title)
            );
            self.drawn().for_each(|link| out += &draw_link(link, half, &boxes));
            self.objects.iter().zip(&boxes).for_each(|(object, at)| out += &draw_object(object, half, at));
            out += "</g>\n";
        }
        out + "</svg>\n"
    }
}

const STYLE: &str = "<style>text { font: 12px sans-serif; } .title { font-weight: bold; fill: #444; } \
                     .name { font-weight: bold; text-anchor: middle; } .label { font-size: 10.5px; text-anchor: middle; \
                     paint-order: stroke; stroke: #fff; stroke-width: 3px; }</style>\n";

/// The head of arrows of a colour. An arrow is drawn down from what is named, so its head is where its line begins.
fn head(color: &str) -> String {
    format!(
        "<marker id=\"{}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"{color}\"/>\
         </marker>",
        marker(color)
    )
}

fn marker(color: &str) -> String {
    format!("head-{}", color.trim_start_matches('#'))
}

fn draw_link(link: &DrawnLink, half: Half, boxes: &[Box]) -> String {
    let (named, naming) = (&boxes[link.to], &boxes[link.from]);
    let (path, (x, y)) = curve(named, naming, link.from == link.to);
    let (color, dashes) = link.fate.look(half);
    let head = if link.is_pair { String::new() } else { format!(" marker-start=\"url(#{})\"", marker(color)) };
    format!(
        "<path class=\"link\" d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.4\" \
         stroke-dasharray=\"{dashes}\"{head}/>\n\
         <text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{color}\">{}</text>\n",
        escaped(&link.label)
    )
}

fn draw_object(object: &DrawnObject, half: Half, at: &Box) -> String {
    let (color, dashes) = object.fate.look(half);
    let fill = if dashes.is_empty() { "#f4f6f8" } else { "#fff" };
    format!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"{fill}\" stroke=\"{color}\" \
         stroke-dasharray=\"{dashes}\"/>\n<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{}</text>\n",
        at.x - at.wide / 2.0,
        at.y - BOX_HEIGHT / 2.0,
        at.wide,
        at.x,
        at.y + 4.5,
        escaped(&object.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> InstanceGraph {
        let object = |name: &str, fate| DrawnObject { name: name.into(), fate };
        let link = |from, to, label: &str, fate| DrawnLink { from, to, label: label.into(), is_pair: false, fate };
        InstanceGraph {
            objects: vec![object("user<1>", Fate::Gone), object("photo1", Fate::Stays), object("tag1", Fate::Stays)],
            links: vec![
                link(1, 0, "user", Fate::Dangles),
                link(2, 1, "photo", Fate::Stays),
                DrawnLink { is_pair: true, ..link(0, 2, "tags_users", Fate::Gone) },
                link(7, 9, "nowhere", Fate::Stays),
            ],
        }
    }

    #[test]
    fn both_halves_show_everything() {
        let (dot, svg) = (graph().to_dot("f", Some("user1")), graph().to_svg("f", Some("user1")));
        assert_eq!((dot.matches("->").count(), svg.matches("class=\"link\"").count()), (6, 6), "{dot}{svg}");
        assert_eq!((dot.matches("subgraph").count(), svg.matches("class=\"name\"").count()), (2, 6), "{dot}{svg}");
        assert!(svg.contains("user&lt;1&gt;") && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn what_dangles_is_red_only_afterwards() {
        let svg = graph().to_svg("f", Some("user1"));
        let (before, after) = svg.split_once("after deleting user1").expect("there are two halves");
        let red = format!("stroke=\"{WRONG}\"");
        assert_eq!((before.matches(&red).count(), after.matches(&red).count()), (0, 1), "{svg}");
    }

    #[test]
    fn without_a_delete_there_is_one_half() {
        assert_eq!(graph().to_dot("f", None).matches("subgraph").count(), 1);
        assert!(!graph().to_svg("f", None).contains("after"));
    }
}
