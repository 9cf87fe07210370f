//! What stores are made of, as data and as text.

mod svg;

use crate::Store;
use std::collections::HashMap;
use std::rc::Rc;

pub use svg::graph_svg;

/// How many stores and names a graph has. Beyond, it is not followed further.
pub const GRAPH_NODES: usize = 2048;

/// How many edges a graph has.
const MAX_EDGES: usize = 4 * GRAPH_NODES;

/// How deep a graph is followed.
const MAX_DEPTH: usize = 64;

/// How long a drawing as text gets, in bytes.
const MAX_LENGTH: usize = 256 << 10;

/// Stores, and what they are made of. A store that several use is one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Stores, and the names that lead to them.
    pub nodes: Vec<GraphNode>,
    /// The dependencies between stores, in the order of discovery.
    pub edges: Vec<GraphEdge>,
    /// Whether that is everything: not beyond [`GRAPH_NODES`], four times as many edges, or 64
    /// levels.
    pub complete: bool,
}

/// A store, or a name that leads to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// How the store describes itself, or the name.
    pub label: String,
    /// Whether it is a name.
    pub name: bool,
}

/// A store that uses another one, or a name that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// The number of the node that uses.
    pub from: usize,
    /// The number of the node that is used.
    pub to: usize,
    /// As what: `source`, `cache`, `/docs`. Empty where a name leads to a store.
    pub label: String,
}

/// A connection `from → to` of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphConnection {
    /// The sending end: its number and its label.
    pub from: (usize, String),
    /// The receiving end.
    pub to: (usize, String),
    /// The connector.
    pub label: String,
}

impl Graph {
    /// What a store is made of; the store is the first node.
    pub fn of(store: &dyn Store) -> Self {
        let mut builder = Builder::new();
        let node = builder.node(address(store), store.describe());
        builder.follow(node, store, 0);
        builder.graph
    }

    /// What named stores are made of.
    pub fn of_all(stores: &[(String, Rc<dyn Store>)]) -> Self {
        let mut builder = Builder::new();
        for (name, store) in stores {
            if builder.is_full() {
                break;
            }
            let from = builder.graph.nodes.len();
            builder.graph.nodes.push(GraphNode { label: name.clone(), name: true });
            builder.edge(from, String::new(), store.clone(), 0);
        }
        builder.graph
    }

    /// Draws connections between things that are no stores: each a sending end, a receiving end and
    /// the connector. An end is a number that tells things apart, and a label.
    pub fn connect(&mut self, connections: &[GraphConnection]) {
        let mut known: HashMap<usize, usize> = HashMap::new();
        for connection in connections {
            if self.nodes.len() + 2 > GRAPH_NODES || self.edges.len() >= MAX_EDGES {
                self.complete = false;
                return;
            }
            let from = self.end(&mut known, &connection.from);
            let to = self.end(&mut known, &connection.to);
            self.edges.push(GraphEdge { from, to, label: connection.label.clone() });
        }
    }

    fn end(&mut self, known: &mut HashMap<usize, usize>, end: &(usize, String)) -> usize {
        *known.entry(end.0).or_insert_with(|| {
            self.nodes.push(GraphNode { label: end.1.clone(), name: false });
            self.nodes.len() - 1
        })
    }

    fn below(&self, node: usize) -> impl Iterator<Item = &GraphEdge> {
        self.edges.iter().filter(move |edge| edge.from == node)
    }
}

/// Where a store lies in memory: its identity while it is held.
fn address(store: &dyn Store) -> usize {
    std::ptr::from_ref(store).cast::<()>() as usize
}

struct Builder {
    graph: Graph,
    known: HashMap<usize, usize>,
    /// Kept until the end, so that no address is used twice.
    held: Vec<Rc<dyn Store>>,
}

impl Builder {
    fn new() -> Self {
        let graph = Graph { complete: true, ..Graph::default() };
        Builder { graph, known: HashMap::new(), held: Vec::new() }
    }

    fn is_full(&mut self) -> bool {
        let full = self.graph.nodes.len() >= GRAPH_NODES || self.graph.edges.len() >= MAX_EDGES;
        self.graph.complete &= !full;
        full
    }

    fn node(&mut self, address: usize, label: String) -> usize {
        let node = self.graph.nodes.len();
        self.known.insert(address, node);
        self.graph.nodes.push(GraphNode { label, name: false });
        node
    }

    fn edge(&mut self, from: usize, label: String, store: Rc<dyn Store>, depth: usize) {
        if self.is_full() {
            return;
        }
        let place = address(&*store);
        if let Some(to) = self.known.get(&place).copied() {
            self.graph.edges.push(GraphEdge { from, to, label });
            return;
        }
        let to = self.node(place, store.describe());
        self.graph.edges.push(GraphEdge { from, to, label });
        self.held.push(store.clone());
        self.follow(to, &*store, depth + 1);
    }

    fn follow(&mut self, node: usize, store: &dyn Store, depth: usize) {
        let sources = store.sources();
        if depth >= MAX_DEPTH {
            self.graph.complete &= sources.is_empty();
            return;
        }
        for (label, source) in sources {
            self.edge(node, label, source, depth);
        }
    }
}

/// A store and its sources as a tree of text, a line each:
///
/// ```text
/// cache
/// ├─ cache: memory dictionary
/// └─ source: json down
///    └─ source: disk /srv/tasks
/// ```
///
/// What a store that was drawn before is made of is not drawn again: its line ends with `…`.
pub fn draw_graph(store: &dyn Store) -> String {
    let graph = Graph::of(store);
    let mut out = String::new();
    let mut drawn = vec![false; graph.nodes.len()];
    if let Some(root) = graph.nodes.first() {
        out.push_str(&root.label);
        out.push('\n');
        branches(&graph, 0, "", &mut drawn, &mut out);
    }
    if !graph.complete {
        out.push_str("…\n");
    }
    out
}

fn branches(graph: &Graph, node: usize, indent: &str, drawn: &mut [bool], out: &mut String) {
    drawn[node] = true;
    let edges: Vec<&GraphEdge> = graph.below(node).collect();
    for (at, edge) in edges.iter().enumerate() {
        if out.len() > MAX_LENGTH {
            out.push_str(&format!("{indent}└─ …\n"));
            return;
        }
        let last = at + 1 == edges.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let again = drawn[edge.to] && graph.below(edge.to).next().is_some();
        let more = if again { " …" } else { "" };
        let label = &graph.nodes[edge.to].label;
        out.push_str(&format!("{indent}{branch}{}: {label}{more}\n", edge.label));
        if !again {
            branches(graph, edge.to, &format!("{indent}{below}"), drawn, out);
        }
    }
}
