//! What a cache holds, by name and by when it was last used.

use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::time::Instant;

/// Names with their sizes: a doubly linked list from the newest to the oldest in one vector, and a
/// sorted map into it. Using, adding and removing a name costs one search in the map.
pub(super) struct Recency {
    by_name: BTreeMap<Rc<str>, usize>,
    nodes: Vec<RecencyNode>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
    bytes: u64,
}

struct RecencyNode {
    name: Rc<str>,
    bytes: u64,
    since: Instant,
    newer: usize,
    older: usize,
}

const NONE: usize = usize::MAX;

impl Default for Recency {
    fn default() -> Self {
        let (by_name, nodes, free) = (BTreeMap::new(), Vec::new(), Vec::new());
        Recency { by_name, nodes, free, newest: NONE, oldest: NONE, bytes: 0 }
    }
}

impl Recency {
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The sum of all sizes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes a name the newest; answers since when it is held.
    pub(super) fn used(&mut self, name: &str) -> Option<Instant> {
        let at = *self.by_name.get(name)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        Some(self.nodes[at].since)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Holds a name as the newest, in the place of what had it.
    pub(super) fn add(&mut self, name: &str, bytes: u64, since: Instant) {
        self.remove(name);
        let name: Rc<str> = name.into();
        let node = RecencyNode { name: name.clone(), bytes, since, newer: NONE, older: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        self.bytes += bytes;
        self.by_name.insert(name, at);
        self.link(at);
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(at) = self.by_name.remove(name) else { return false };
        self.unlink(at);
        self.bytes -= self.nodes[at].bytes;
        self.free.push(at);
        true
    }

    /// Removes the name that was not used for the longest time.
    pub(super) fn remove_oldest(&mut self) -> Option<Rc<str>> {
        let name = self.nodes.get(self.oldest)?.name.clone();
        self.remove(&name);
        Some(name)
    }

    /// Names that begin with a text.
    pub(super) fn beginning_with(&self, start: &str) -> Vec<Rc<str>> {
        let from = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let names = self.by_name.range::<str, _>(from).map(|(name, _)| name);
        names.take_while(|name| name.starts_with(start)).cloned().collect()
    }

    fn link(&mut self, at: usize) {
        (self.nodes[at].newer, self.nodes[at].older) = (NONE, self.newest);
        match self.nodes.get_mut(self.newest) {
            Some(newest) => newest.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: usize) {
        let (newer, older) = (self.nodes[at].newer, self.nodes[at].older);
        match self.nodes.get_mut(newer) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a list that is searched from the front.
        #[test]
        fn the_oldest_goes_first(steps in prop::collection::vec((0..4_u8, 0..6_u8), 0..200)) {
            let now = Instant::now();
            let (mut recency, mut model) = (Recency::default(), Vec::<(String, u64)>::new());
            for (step, name) in steps {
                let (bytes, name) = (u64::from(name) + 1, format!("n{name}"));
                let place = model.iter().position(|(held, _)| *held == name);
                match step {
                    0 => {
                        prop_assert_eq!(recency.used(&name).is_some(), place.is_some());
                        if let Some(place) = place {
                            let held = model.remove(place);
                            model.push(held);
                        }
                    }
                    1 => {
                        recency.add(&name, bytes, now);
                        place.map(|place| model.remove(place));
                        model.push((name, bytes));
                    }
                    2 => {
                        prop_assert_eq!(recency.remove(&name), place.is_some());
                        place.map(|place| model.remove(place));
                    }
                    _ => {
                        let oldest = (!model.is_empty()).then(|| model.remove(0).0);
                        let removed = recency.remove_oldest().map(|name| name.to_string());
                        prop_assert_eq!(removed, oldest);
                    }
                }
                prop_assert_eq!(recency.len(), model.len());
                prop_assert_eq!(recency.bytes(), model.iter().map(|(_, bytes)| bytes).sum::<u64>());
                let mut names: Vec<_> = model.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                let listed = recency.beginning_with("n");
                prop_assert_eq!(listed.iter().map(|name| &**name).collect::<Vec<_>>(), names);
            }
        }
    }
}
