//! A graph of stores as a picture.

use super::{Graph, GraphEdge};
use crate::Store;
use std::fmt::Write;
use std::rc::Rc;

/// Pixels: the height of a box, the spaces between boxes and around the picture.
const HEIGHT: usize = 30;
const BETWEEN: usize = 18;
const MARGIN: usize = 20;
/// Pixels between two columns, beside those that the labels of the arrows need.
const GAP: usize = 56;
/// Pixels that a letter takes, at most, in the fonts of the style.
const LETTER: usize = 8;
/// Letters of a label that are shown; the whole of it is in the title.
const SHOWN: usize = 40;

const STYLE: &str = "\
svg{--paper:#fff;--ink:#1f2328;--line:#6e7781;--box:#f6f8fa;--name:#ddf4ff}\
@media(prefers-color-scheme:dark){\
svg{--paper:#0d1117;--ink:#e6edf3;--line:#8b949e;--box:#161b22;--name:#12314f}}\
text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:var(--ink)}\
.edge{font-size:11px;fill:var(--line);stroke:var(--paper);stroke-width:4px;paint-order:stroke}\
rect{fill:var(--box);stroke:var(--line)}.name{fill:var(--name)}.paper{fill:var(--paper);stroke:none}\
path{fill:none;stroke:var(--line)}.back{stroke-dasharray:4 3}.tip{fill:var(--line);stroke:none}";

/// Draws named stores and what they are made of as an SVG picture, from left to right: names, then
/// stores, then their sources. A store that several use is drawn once; an arrow that leads back is
/// dashed. The label of an arrow is left out where it is only `source`.
///
/// The picture follows the reader's light or dark style and needs nothing from elsewhere. Of what
/// is too much ([`super::GRAPH_NODES`]) the rest is left out, which a line below says.
pub fn graph_svg(stores: &[(String, Rc<dyn Store>)]) -> String {
    draw(&Graph::of_all(stores))
}

/// Where the boxes are.
struct Layout {
    /// By node: the left and top edge, the width.
    boxes: Vec<(usize, usize, usize)>,
    columns: Vec<usize>,
    width: usize,
    height: usize,
}

fn draw(graph: &Graph) -> String {
    let layout = layout(graph);
    let rest = if graph.complete { 0 } else { HEIGHT };
    let (width, height) = (layout.width, layout.height + rest);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\"><title>Stores</title>\
         <style>{STYLE}</style><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto-start-reverse\">\
         <path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    for edge in &graph.edges {
        arrow(edge, &layout, &mut out);
    }
    for (node, (left, top, width)) in graph.nodes.iter().zip(&layout.boxes) {
        let (class, round) = if node.name { (" class=\"name\"", HEIGHT / 2) } else { ("", 4) };
        let (x, y) = (left + width / 2, top + HEIGHT / 2 + 5);
        let (label, shown) = (escaped(&node.label), escaped(&shortened(&node.label)));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "<g><title>{label}</title><rect{class} x=\"{left}\" y=\"{top}\" width=\"{width}\" \
             height=\"{HEIGHT}\" rx=\"{round}\"/><text x=\"{x}\" y=\"{y}\" \
             text-anchor=\"middle\">{shown}</text></g>"
        );
    }
    if !graph.complete {
        let y = layout.height + 10;
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\">… and more</text>");
    }
    out.push_str("</svg>\n");
    out
}

fn arrow(edge: &GraphEdge, layout: &Layout, out: &mut String) {
    let (from, to) = (layout.boxes[edge.from], layout.boxes[edge.to]);
    let back = layout.columns[edge.to] <= layout.columns[edge.from];
    let (x1, y1) = (from.0 + from.2, from.1 + HEIGHT / 2);
    let (x2, y2) =
        if back { (to.0 + to.2, to.1 + HEIGHT / 2 + 6) } else { (to.0, to.1 + HEIGHT / 2) };
    let (bend1, bend2, class) = match back {
        // Out to the right and in from the right again.
        true => (x1.max(x2) + GAP, x1.max(x2) + GAP, " class=\"back\""),
        false => (x1 + (x2 - x1) / 2, x1 + (x2 - x1) / 2, ""),
    };
    let _ = writeln!(
        out,
        "<path{class} d=\"M{x1} {y1}C{bend1} {y1} {bend2} {y2} {x2} {y2}\" \
         marker-end=\"url(#tip)\"/>"
    );
    if edge.label.is_empty() || edge.label == "source" {
        return;
    }
    let (x, y) = ((x1 + bend1 + bend2 + x2) / 4, usize::midpoint(y1, y2) + 4);
    let label = escaped(&shortened(&edge.label));
    let _ = writeln!(
        out,
        "<text class=\"edge\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"
    );
}

fn layout(graph: &Graph) -> Layout {
    let columns = columns(graph);
    let count = columns.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, column) in columns.iter().enumerate() {
        members[*column].push(node);
    }
    order(graph, &columns, &mut members);
    let letters = |text: &str| shortened(text).chars().count();
    let tallest = members.iter().map(Vec::len).max().unwrap_or(0);
    let height = 2 * MARGIN + (tallest * (HEIGHT + BETWEEN)).saturating_sub(BETWEEN);
    let mut boxes = vec![(0, 0, 0); graph.nodes.len()];
    let mut left = MARGIN;
    for column in &members {
        let widest = column.iter().map(|node| letters(&graph.nodes[*node].label)).max();
        let width = (widest.unwrap_or(0) + 3) * LETTER;
        let own = column.len() * (HEIGHT + BETWEEN) - BETWEEN;
        let mut top = (height - own) / 2;
        for node in column {
            boxes[*node] = (left, top, width);
            top += HEIGHT + BETWEEN;
        }
        let leaving = graph.edges.iter().filter(|edge| column.contains(&edge.from));
        let labels = leaving.map(|edge| letters(&edge.label)).max();
        left += width + GAP + labels.unwrap_or(0) * LETTER;
    }
    Layout { boxes, columns, width: left.max(2 * MARGIN) + GAP / 2, height }
}

/// The column of each node: the longest way to it, without the edges that lead back to where they
/// come from.
fn columns(graph: &Graph) -> Vec<usize> {
    let mut below = vec![Vec::new(); graph.nodes.len()];
    let mut used = vec![false; graph.nodes.len()];
    for edge in &graph.edges {
        below[edge.from].push(edge.to);
        used[edge.to] = true;
    }
    // Nodes in the order in which they are left, the users after what they use.
    let (mut left, mut state) = (Vec::new(), vec![0_u8; graph.nodes.len()]);
    let mut forward = vec![Vec::new(); graph.nodes.len()];
    let first = (0..graph.nodes.len()).filter(|node| !used[*node]);
    for root in first.chain(0..graph.nodes.len()) {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(to) = below[*node].get(*next).copied() else {
                state[*node] = 2;
                left.push(*node);
                path.pop();
                continue;
            };
            *next += 1;
            // On the path already: the edge leads back.
            if state[to] != 1 {
                forward[*node].push(to);
            }
            if state[to] == 0 {
                state[to] = 1;
                path.push((to, 0));
            }
        }
    }
    let mut columns = vec![0; graph.nodes.len()];
    for node in left.into_iter().rev() {
        for to in &forward[node] {
            columns[*to] = columns[*to].max(columns[node] + 1);
        }
    }
    columns
}

/// Puts nodes beside those that use them: by the mean place of these, column by column
/// (Sugiyama's barycenter method, one pass).
fn order(graph: &Graph, columns: &[usize], members: &mut [Vec<usize>]) {
    let mut place = vec![0.0; graph.nodes.len()];
    for column in members.iter_mut() {
        let mean = |node: usize| {
            let users = graph.edges.iter().filter(|edge| edge.to == node);
            let users = users.filter(|edge| columns[edge.from] < columns[node]);
            let (sum, count) =
                users.fold((0.0, 0.0), |(sum, count), edge| (sum + place[edge.from], count + 1.0));
            if count == 0.0 { 0.0 } else { sum / count }
        };
        let mut means: Vec<(f64, usize)> = column.iter().map(|node| (mean(*node), *node)).collect();
        means.sort_by(|one, other| one.0.total_cmp(&other.0));
        *column = means.into_iter().map(|(_, node)| node).collect();
        let count = column.len() as f64;
        for (at, node) in column.iter().enumerate() {
            place[*node] = (at as f64 + 0.5) / count;
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Text within XML; what XML has no place for is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            control if control.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}
