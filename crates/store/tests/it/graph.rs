//! Graphs of stores as data and as pictures.

use runnel_store::{
    Cache, GRAPH_NODES, Graph, Map, Memory, Relative, Route, Sequence, Store, draw_graph, graph_svg,
};
use std::rc::Rc;

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

/// Two names that lead to one store, by a cache and directly.
fn shared() -> Vec<(String, Rc<dyn Store>)> {
    let source = memory();
    let cache: Rc<dyn Store> = Rc::new(Cache::new(memory(), source.clone()));
    vec![("docs:".to_string(), cache), ("raw:".to_string(), source)]
}

#[test]
fn what_is_shared_is_one_node() {
    let graph = Graph::of_all(&shared());
    let labels: Vec<&str> = graph.nodes.iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["docs:", "cache", "memory site", "memory site", "raw:"]);
    let edges = graph.edges.iter().map(|edge| (edge.from, edge.to, edge.label.as_str()));
    assert_eq!(
        edges.collect::<Vec<_>>(),
        [(0, 1, ""), (1, 2, "cache"), (1, 3, "source"), (4, 3, "")]
    );
    assert!(graph.complete);
}

#[test]
fn a_store_in_two_places_is_drawn_once_as_text() {
    let inner: Rc<dyn Store> = Rc::new(Relative::new(memory(), Default::default()));
    let store = Sequence::new(vec![inner.clone(), inner]);
    let drawn = draw_graph(&store);
    assert_eq!(drawn.matches("memory site").count(), 1, "{drawn}");
    assert_eq!(drawn.matches('…').count(), 1, "{drawn}");
}

/// The left edge of the box with a label.
fn left(svg: &str, label: &str) -> usize {
    let after = svg.split(&format!("<title>{label}</title>")).nth(1).unwrap();
    after.split(" x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[test]
fn sources_stand_right_of_their_users() {
    let svg = graph_svg(&shared());
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(left(&svg, "docs:") < left(&svg, "cache"));
    assert!(left(&svg, "cache") < left(&svg, "memory site"));
    assert_eq!(svg.matches("<title>memory site</title>").count(), 2);
    assert_eq!(svg.matches("marker-end").count(), 4);
    assert!(svg.contains(">cache</text>") && !svg.contains(">source</text>"));
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn text_is_escaped() {
    let name = "<script>alert(\"&\")</script>\u{1}";
    let odd: Rc<dyn Store> = Rc::new(Map::new(memory(), name));
    let svg = graph_svg(&[(name.to_string(), odd)]);
    assert!(!svg.contains("<script") && !svg.contains('\u{1}'));
    assert!(svg.contains("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"));
    let svg = graph_svg(&[("é".repeat(500), memory())]);
    assert!(svg.contains(&format!(">{}…</text>", "é".repeat(40))));
}

#[test]
fn stores_that_contain_themselves_and_very_many_have_an_end() {
    let route = Rc::new(Route::by_segment());
    route.mount("again", route.clone());
    let svg = graph_svg(&[("a:".to_string(), route.clone())]);
    assert!(svg.contains("class=\"back\""));
    // Taken apart again, or it would never be freed.
    route.unmount("again");
    let many: Vec<_> = (0..3000).map(|number| (format!("{number}:"), memory())).collect();
    let graph = Graph::of_all(&many);
    assert!(!graph.complete && graph.nodes.len() <= GRAPH_NODES + 1);
    assert!(graph_svg(&many).contains("… and more"));
    assert!(graph_svg(&[]).ends_with("</svg>\n"));
    let mut deep = memory();
    for _ in 0..200 {
        deep = Rc::new(Relative::new(deep, Default::default()));
    }
    assert!(!Graph::of(&*deep).complete);
}
