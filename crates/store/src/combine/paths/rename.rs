//! Other names for parts of a store.

use crate::Map;
use crate::combine::definition::{Combinator, NO_SETTINGS};
use crate::{Reference, Store};
use std::rc::Rc;

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Names",
    aliases: &["NameRemappingStore", "MPWNameRemappingStore"],
    help: "renames path segments",
    settings: &NO_SETTINGS,
    // Pairs of names: each name belongs to the option of the same number.
    make: |parts| {
        let below = |at: usize| parts.text(&at.to_string()).unwrap_or_default().to_string();
        let pairs = parts.names.iter().enumerate().map(|(at, above)| (above.clone(), below(at)));
        Ok(Rename::prefixes(parts.source()?, pairs).into())
    },
};

/// Gives what lies at and below some paths of a store other names.
pub struct Rename;

impl Rename {
    /// Maps `a/x` here to `b/x` in `source`, for each pair `(a, b)`; the longest match wins. Other
    /// paths keep their name, even the target of a pair: `b/x` here is the same as `a/x`, and its
    /// changes are reported as `a/x`.
    pub fn prefixes<N: Into<String>>(
        source: Rc<dyn Store>,
        names: impl IntoIterator<Item = (N, N)>,
    ) -> Map {
        let normal = |name: N| name.into().trim_matches('/').to_string();
        let names = names.into_iter().map(|(above, below)| (normal(above), normal(below)));
        let mut down: Vec<(String, String)> = names.collect();
        let mut up: Vec<_> =
            down.iter().map(|(above, below)| (below.clone(), above.clone())).collect();
        for table in [&mut down, &mut up] {
            table.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        }
        Map::new(source, "names").references(
            move |above| Ok(renamed(&down, above)),
            move |below| Ok(renamed(&up, below)),
        )
    }
}

fn renamed(table: &[(String, String)], reference: &Reference) -> Reference {
    let path = reference.relative_path();
    for (from, to) in table {
        let Some(rest) = path.strip_prefix(from.as_str()) else { continue };
        if !(from.is_empty() || rest.is_empty() || rest.starts_with('/')) {
            continue;
        }
        let rest = rest.trim_start_matches('/');
        let between = if to.is_empty() || rest.is_empty() { "" } else { "/" };
        return reference.with_path(format!("{to}{between}{rest}"));
    }
    reference.clone()
}
