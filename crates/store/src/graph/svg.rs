//! A graph of stores as a picture.

use super::{Graph, GraphEdge};
use crate::Store;
use runnel_text::escape;
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
/// Places in columns: nodes, and where long arrows pass.
const MAX_PLACES: usize = 20_000;

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
    Graph::of_all(stores).to_svg()
}

impl Graph {
    /// The graph as a picture.
    pub fn to_svg(&self) -> String {
        draw(self)
    }
}

/// A place in a column: that of a node, or one where a long arrow passes between the boxes.
struct NodePosition {
    column: usize,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl NodePosition {
    fn middle(&self) -> usize {
        self.top + self.height / 2
    }
}

/// Where everything is: the places of the nodes come first.
struct Layout {
    places: Vec<NodePosition>,
    /// By edge, the places it goes through, those of its nodes included.
    ways: Vec<Vec<usize>>,
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
    for (edge, way) in graph.edges.iter().zip(&layout.ways) {
        arrow(edge, way, &layout.places, &mut out);
    }
    for (node, place) in graph.nodes.iter().zip(&layout.places) {
        let NodePosition { left, top, width, .. } = place;
        let (class, round) = if node.name { (" class=\"name\"", HEIGHT / 2) } else { ("", 4) };
        let (x, y) = (left + width / 2, place.middle() + 5);
        let (label, shown) = (escape::xml(&node.label), escape::xml(&shortened(&node.label)));
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

fn arrow(edge: &GraphEdge, way: &[usize], places: &[NodePosition], out: &mut String) {
    let (from, to) = (&places[edge.from], &places[edge.to]);
    let (x1, y1) = (from.left + from.width, from.middle());
    let mut line = format!("M{x1} {y1}");
    let (class, x, y) = if to.column <= from.column {
        // Out to the right and in from the right again.
        let (x2, y2) = (to.left + to.width, to.middle() + 8);
        let bend = x1.max(x2) + GAP;
        let _ = write!(line, "C{bend} {y1} {bend} {y2} {x2} {y2}");
        (" class=\"back\"", bend, usize::midpoint(y1, y2) + 4)
    } else {
        let (mut x, mut y) = (x1, y1);
        for next in way.iter().skip(1).map(|place| &places[*place]) {
            let (left, middle) = (next.left, next.middle());
            let bend = usize::midpoint(x, left);
            let _ = write!(line, "C{bend} {y} {bend} {middle} {left} {middle}");
            (x, y) = (left + next.width, middle);
            if next.height == 0 {
                let _ = write!(line, "H{x}");
            }
        }
        let next = &places[way[1]];
        ("", usize::midpoint(x1, next.left), usize::midpoint(y1, next.middle()) + 4)
    };
    let _ = writeln!(out, "<path{class} d=\"{line}\" marker-end=\"url(#tip)\"/>");
    if !edge.label.is_empty() && edge.label != "source" {
        let label = escape::xml(&shortened(&edge.label));
        let _ = writeln!(
            out,
            "<text class=\"edge\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"
        );
    }
}

fn layout(graph: &Graph) -> Layout {
    let columns = columns(graph);
    let place = |column, height| NodePosition { column, left: 0, top: 0, width: 0, height };
    let mut places: Vec<NodePosition> =
        columns.iter().map(|column| place(*column, HEIGHT)).collect();
    let mut ways = Vec::new();
    for edge in &graph.edges {
        let mut way = vec![edge.from];
        for column in columns[edge.from] + 1..columns[edge.to] {
            // Very large pictures do without, so that they stay pictures.
            if places.len() < MAX_PLACES {
                way.push(places.len());
                places.push(place(column, 0));
            }
        }
        way.push(edge.to);
        ways.push(way);
    }
    let members = order(&places, &ways);
    let letters = |text: &str| shortened(text).chars().count();
    let tall = |column: &Vec<usize>, places: &[NodePosition]| -> usize {
        let heights = column.iter().map(|place| places[*place].height + BETWEEN);
        heights.sum::<usize>().saturating_sub(BETWEEN)
    };
    let tallest = members.iter().map(|column| tall(column, &places)).max().unwrap_or(0);
    let height = 2 * MARGIN + tallest;
    let mut leaving = vec![0; members.len()];
    for edge in &graph.edges {
        let longest = &mut leaving[columns[edge.from]];
        *longest = letters(&edge.label).max(*longest);
    }
    let mut left = MARGIN;
    for (column, leaving) in members.iter().zip(leaving) {
        let nodes = column.iter().filter_map(|place| graph.nodes.get(*place));
        let width = (nodes.map(|node| letters(&node.label)).max().unwrap_or(0) + 3) * LETTER;
        let mut top = (height - tall(column, &places)) / 2;
        for place in column.iter().copied() {
            let place = &mut places[place];
            (place.left, place.top, place.width) = (left, top, width);
            top += place.height + BETWEEN;
        }
        left += width + GAP + leaving * LETTER;
    }
    Layout { places, ways, width: left.max(2 * MARGIN) + GAP / 2, height }
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

/// The places by column, from top to bottom: beside those from which arrows come, by the mean of
/// their heights (Sugiyama's barycenter method, one pass).
fn order(places: &[NodePosition], ways: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let count = places.iter().map(|place| place.column + 1).max().unwrap_or(0);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, place) in places.iter().enumerate() {
        members[place.column].push(at);
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    for step in ways.iter().flat_map(|way| way.windows(2)) {
        if places[step[0]].column < places[step[1]].column {
            before[step[1]].push(step[0]);
        }
    }
    let mut heights = vec![0.0; places.len()];
    for column in &mut members {
        let mean = |at: usize| {
            let sum: f64 = before[at].iter().map(|user| heights[*user]).sum();
            sum / before[at].len().max(1) as f64
        };
        let mut means: Vec<(f64, usize)> = column.iter().map(|at| (mean(*at), *at)).collect();
        means.sort_by(|one, other| one.0.total_cmp(&other.0));
        *column = means.into_iter().map(|(_, at)| at).collect();
        for (row, at) in column.iter().enumerate() {
            heights[*at] = (row as f64 + 0.5) / column.len() as f64;
        }
    }
    members
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
