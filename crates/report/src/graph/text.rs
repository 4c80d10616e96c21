//! The cycle in characters: one box below the other, and an arrow back to the first.
//!
//! ```text
//!   ┌───────┐
//!   │ alice │◀───────────────────────────────────────────────────┐
//!   └───────┘                                                    │
//!      │ rw  balance of account id = 1                           │
//!      │ read by SELECT (line 6), then changed by UPDATE (line 8)│
//!      ▼                                                         │
//!   ┌─────┐                                                      │
//!   │ bob │──────────────────────────────────────────────────────┘
//!   └─────┘  ww  balance of account id = 1
//!            changed by UPDATE (line 8), then by UPDATE (line 8)
//! ```

use super::{Graph, GraphEdge};
use crate::wrap::{pad, width, wrap};

/// Narrower labels are not readable.
const LABEL_MIN: usize = 20;

pub(super) fn draw(graph: &Graph, page: usize) -> Vec<String> {
    let cycle: Vec<&GraphEdge> = graph.edges.iter().filter(|edge| edge.cycle).collect();
    let (Some(first), Some(last)) = (cycle.first(), cycle.last()) else { return Vec::new() };
    let closed = last.to == first.from;
    let (down, back) = if closed { cycle.split_at(cycle.len() - 1) } else { (&cycle[..], &[][..]) };

    let mut lines = Vec::new();
    for edge in down {
        lines.extend(boxed(graph.node(edge.from)));
        lines.extend(label(edge, page.saturating_sub(7)).into_iter().map(|line| format!("   │ {line}")));
        lines.push("   ▼".to_string());
    }
    match back {
        [back] => {
            lines.extend(boxed(graph.node(back.from)));
            close(&mut lines, back, page);
        }
        _ => lines.extend(boxed(graph.node(last.to))),
    }
    lines
}

/// Leads an arrow from the last box back to the first, and says what it means below it.
fn close(lines: &mut Vec<String>, back: &GraphEdge, page: usize) {
    let (from, to) = (lines.len() - 2, 1);
    let indent = width(&lines[from]) + 2;
    let below = label(back, page.saturating_sub(indent + 2));
    let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    let right = below.iter().map(|line| indent + width(line)).fold(widest, usize::max) + 1;
    for (row, line) in lines.iter_mut().enumerate().take(from + 1).skip(to) {
        *line = match row {
            row if row == to => format!("{line}◀{}┐", "─".repeat(right - width(line) - 1)),
            row if row == from => format!("{line}{}┘", "─".repeat(right - width(line))),
            _ => format!("{}│", pad(line, right)),
        };
    }
    let bottom = lines.pop().unwrap_or_default();
    let fronts = std::iter::once(pad(&bottom, indent)).chain(std::iter::repeat(" ".repeat(indent)));
    lines.extend(fronts.zip(below).map(|(front, text)| format!("{front}{text}")));
}

fn boxed(name: &str) -> [String; 3] {
    let rule = "─".repeat(width(name) + 2);
    [format!("┌{rule}┐"), format!("│ {name} │"), format!("└{rule}┘")]
}

fn label(edge: &GraphEdge, room: usize) -> Vec<String> {
    let room = room.max(LABEL_MIN);
    // The two spaces behind the kind would not survive wrapping.
    let title = match width(&edge.title()) <= room {
        true => vec![edge.title()],
        false => wrap(&edge.title(), room, 4),
    };
    title.into_iter().chain(wrap(&edge.story(), room, 4)).collect()
}
