//! What goes with what: the classes of a data model, and an arrow from each to what its delete concerns.
//!
//! Drawn for [Graphviz](DeleteGraph::to_dot), and as a [picture](DeleteGraph::to_svg) in layers: what is deleted stands
//! above what goes with it.

mod dot;
mod svg;

/// Classes, and what their deletes do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteGraph {
    /// What it is of.
    pub name: String,
    /// The classes.
    pub classes: Vec<String>,
    /// The arrows.
    pub edges: Vec<DeleteEdge>,
}

/// An arrow: from what is deleted to what it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteEdge {
    /// A position in [`DeleteGraph::classes`].
    pub from: usize,
    /// A position in [`DeleteGraph::classes`].
    pub to: usize,
    /// By what: `photos`.
    pub label: String,
    /// What is done.
    pub kind: DeleteKind,
    /// Something is found to go wrong there.
    pub is_wrong: bool,
}

/// What the delete of one object does to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeleteKind {
    /// They are deleted, with what follows.
    Destroy,
    /// Their rows are deleted, and nothing follows.
    Delete,
    /// The database deletes them.
    Cascade,
    /// They are made to name nothing.
    Nullify,
    /// They stand in the way.
    Restrict,
    /// Nothing is done about them.
    Nothing,
}

impl DeleteKind {
    /// Every kind: its word, its colour, and the dashes of its line.
    const ALL: [(DeleteKind, &'static str, &'static str, &'static str); 6] = [
        (DeleteKind::Destroy, "destroy", "#1b5e20", ""),
        (DeleteKind::Delete, "delete rows", "#b26a00", ""),
        (DeleteKind::Cascade, "database cascade", "#1b5e20", "6 3"),
        (DeleteKind::Nullify, "set null", "#1565c0", ""),
        (DeleteKind::Restrict, "refuse", "#6a1b9a", ""),
        (DeleteKind::Nothing, "nothing", "#999999", "2 3"),
    ];

    fn look(self) -> (&'static str, &'static str, &'static str) {
        let found = DeleteKind::ALL.iter().find(|(kind, ..)| *kind == self);
        found.map_or(("", "#000", ""), |(_, word, color, dashes)| (word, color, dashes))
    }
}

/// The colour of what goes wrong.
const WRONG: &str = "#b00020";

impl DeleteEdge {
    fn color(&self) -> &'static str {
        if self.is_wrong { WRONG } else { self.kind.look().1 }
    }

    fn title(&self) -> String {
        format!("{}: {}", self.label, self.kind.look().0)
    }
}

impl DeleteGraph {
    /// The graph in Graphviz' language.
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// The graph as a picture.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> DeleteGraph {
        let edge = |from, to, label: &str, kind, is_wrong| DeleteEdge { from, to, label: label.into(), kind, is_wrong };
        DeleteGraph {
            name: "shop".into(),
            classes: vec!["User".into(), "Post".into(), "Comment \"<&".into()],
            edges: vec![
                edge(0, 1, "posts", DeleteKind::Destroy, false),
                edge(1, 2, "comments", DeleteKind::Nothing, true),
                edge(2, 2, "replies", DeleteKind::Cascade, false),
                edge(2, 0, "user", DeleteKind::Nullify, false),
                edge(7, 9, "nowhere", DeleteKind::Delete, false),
            ],
        }
    }

    #[test]
    fn every_class_and_every_arrow_is_drawn() {
        let (dot, svg) = (graph().to_dot(), graph().to_svg());
        assert!(
            dot.contains("\"Post\" -> \"Comment \\\"<&\" [label=\"comments: nothing\", color=\"#b00020\""),
            "{dot}"
        );
        assert_eq!(dot.matches("->").count(), 4, "{dot}");
        assert!(svg.contains("Comment &quot;&lt;&amp;") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("<path class=\"edge\"").count(), 4, "{svg}");
        assert!(DeleteGraph::default().to_svg().starts_with("<svg"));
    }

    #[test]
    fn large_graphs_are_drawn_at_once() {
        let classes = (0..400).map(|n| format!("Class{n}")).collect();
        let edge = |n: usize| DeleteEdge {
            from: n * 7 % 400,
            to: n * 13 % 400,
            label: "x".into(),
            kind: DeleteKind::Destroy,
            is_wrong: false,
        };
        let graph = DeleteGraph { name: "large".into(), classes, edges: (0..1000).map(edge).collect() };
        let started = std::time::Instant::now();
        assert!(graph.to_svg().len() > 100_000);
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
