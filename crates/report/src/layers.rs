//! Boxes in layers: where the nodes of a directed graph stand in a picture, and how the arrows between them run.
//!
//! A node stands below all that lead to it, as far as that does not go round in a cycle; within a layer, near the
//! middle of those above it. A layer that would be too wide is broken into rows. Arrows are curves from the bottom of a
//! box to the top of another; those that lead up or stay go round the side.

use crate::wrap::width;

const CHAR_WIDTH: f64 = 7.8;
const GAP: f64 = 46.0;
const LAYER_GAP: f64 = 92.0;
const ROW_WIDTH_MAX: f64 = 1800.0;

/// How high a box is.
pub(crate) const BOX_HEIGHT: f64 = 30.0;
/// What is left free around a picture.
pub(crate) const MARGIN: f64 = 28.0;

/// Where a node stands: its middle, and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) wide: f64,
}

/// How wide and how high a picture of these boxes is.
pub(crate) fn size(boxes: &[Box]) -> (f64, f64) {
    let right = boxes.iter().map(|b| b.x + b.wide / 2.0).fold(0.0, f64::max) + MARGIN;
    let bottom = boxes.iter().map(|b| b.y + BOX_HEIGHT / 2.0).fold(0.0, f64::max) + MARGIN;
    (right, bottom)
}

/// Gives every node its place; arrows lead from one position to another.
pub(crate) fn place<'a>(names: impl Iterator<Item = &'a str>, arrows: &[(usize, usize)]) -> Vec<Box> {
    let wide = |name: &str| width(name) as f64 * CHAR_WIDTH + 26.0;
    let mut boxes: Vec<Box> = names.map(|name| Box { x: 0.0, y: 0.0, wide: wide(name) }).collect();
    let layers = layers(boxes.len(), arrows);
    let mut y = MARGIN + BOX_HEIGHT / 2.0;
    for depth in 0..=layers.iter().copied().max().unwrap_or(0) {
        let members: Vec<usize> = (0..layers.len()).filter(|node| layers[*node] == depth).collect();
        // Those above are placed already.
        let middle = |node: usize| {
            let above = arrows.iter().filter(|(from, to)| *to == node && layers.get(*from).is_some_and(|d| *d < depth));
            let above: Vec<f64> = above.map(|(from, _)| boxes[*from].x).collect();
            let count = above.len().max(1) as f64;
            above.iter().sum::<f64>() / count
        };
        // What has no arrows comes last, out of the way.
        let is_alone = |node: usize| !arrows.iter().any(|(from, to)| *from == node || *to == node);
        let mut wanted: Vec<(bool, f64, usize)> =
            members.iter().map(|node| (is_alone(*node), middle(*node), *node)).collect();
        wanted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut x = MARGIN;
        for (_, middle, node) in wanted {
            let wide = boxes[node].wide;
            if x + wide > ROW_WIDTH_MAX {
                (x, y) = (MARGIN, y + BOX_HEIGHT + GAP);
            }
            let left = if middle + wide / 2.0 > ROW_WIDTH_MAX { x } else { x.max(middle - wide / 2.0) };
            (boxes[node].x, boxes[node].y) = (left + wide / 2.0, y);
            x = left + wide + GAP;
        }
        y += LAYER_GAP;
    }
    boxes
}

/// The way of an arrow, and where its words stand.
pub(crate) fn curve(from: &Box, to: &Box, is_loop: bool) -> (String, (f64, f64)) {
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

/// How far below each node stands: one further than all above it, without the arrows that close cycles.
pub(crate) fn layers(count: usize, arrows: &[(usize, usize)]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in arrows.iter().filter(|(from, to)| *from < count && *to < count && from != to) {
        below[*from].push(*to);
    }
    let order = reverse_postorder(&below);
    let mut position = vec![0; count];
    order.iter().enumerate().for_each(|(at, node)| position[*node] = at);
    let mut depth = vec![0; count];
    for node in order {
        for next in below[node].iter().copied().filter(|next| position[*next] > position[node]) {
            depth[next] = depth[next].max(depth[node] + 1);
        }
    }
    depth
}

/// Every node before what it leads to, unless that leads back; without recursion, as chains may be long.
fn reverse_postorder(below: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; below.len()];
    let mut order = Vec::new();
    let mut has_above = vec![false; below.len()];
    below.iter().flatten().for_each(|node| has_above[*node] = true);
    let roots = (0..below.len()).filter(|node| !has_above[*node]).chain(0..below.len());
    for root in roots.collect::<Vec<_>>() {
        let mut stack = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((node, next)) = stack.pop() {
            match below[node].get(next) {
                Some(child) => {
                    stack.push((node, next + 1));
                    if !std::mem::replace(&mut seen[*child], true) {
                        stack.push((*child, 0));
                    }
                }
                None => order.push(node),
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::layers;

    #[test]
    fn cycles_are_cut_where_they_come_back() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]), [0, 1, 2, 2]);
        assert_eq!(layers(2, &[(0, 0), (1, 0), (7, 1)]), [1, 0]);
    }
}
