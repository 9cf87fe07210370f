//! Drawing what a store is made of.

use crate::Store;

/// How deep a drawing goes: stores that contain themselves would never end.
const MAX_DEPTH: usize = 32;

/// How long a drawing gets, in bytes: stores that are shared are drawn wherever they are used.
const MAX_LENGTH: usize = 256 << 10;

/// A store and its sources as a tree of text, a line each:
///
/// ```text
/// cache
/// ├─ cache: memory dictionary
/// └─ source: json down
///    └─ source: disk /srv/tasks
/// ```
pub fn draw_graph(store: &dyn Store) -> String {
    let mut out = store.describe();
    out.push('\n');
    branches(store, "", 1, &mut out);
    out
}

fn branches(store: &dyn Store, indent: &str, depth: usize, out: &mut String) {
    let sources = store.sources();
    if (depth > MAX_DEPTH || out.len() > MAX_LENGTH) && !sources.is_empty() {
        out.push_str(&format!("{indent}└─ …\n"));
        return;
    }
    for (at, (label, source)) in sources.iter().enumerate() {
        let last = at + 1 == sources.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        out.push_str(&format!("{indent}{branch}{label}: {}\n", source.describe()));
        branches(&**source, &format!("{indent}{below}"), depth + 1, out);
    }
}
