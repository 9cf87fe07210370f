//! Preferences of a search: boosts and exclusions of interpretations by their categories.
//!
//! The key is the list of the category names of an interpretation, in the order of the words, with
//! immediate repetitions counted once. The lists form a trie, and the formation of interpretations
//! walks it.

use crate::format::number::Score;
use hashbrown::HashMap;

/// The number of a category name.
pub(crate) type CategoryNameId = u16;

/// The number of every name without a category and a preference.
pub(crate) const NO_NAME: CategoryNameId = CategoryNameId::MAX;

/// A node of the trie of name lists.
pub(crate) type PreferenceNode = u16;

/// The node after a step that no list has.
const NOWHERE: PreferenceNode = PreferenceNode::MAX;

/// A list of category names, and its addition to the score.
#[derive(Clone, Debug)]
pub struct Boost {
    pub(crate) categories: Vec<String>,
    pub(crate) by: Score,
}

impl Boost {
    /// Adds `by` to the score of interpretations whose words are in these categories, in this
    /// order; adjacent words in the same category count as one.
    pub fn new<C: Into<String>>(
        categories: impl IntoIterator<Item = C>,
        by: impl Into<Score>,
    ) -> Boost {
        Boost { categories: categories.into_iter().map(Into::into).collect(), by: by.into() }
    }
}

#[derive(Clone, Debug, Default)]
struct Preference {
    boost: Option<Score>,
    only: bool,
    ignored: bool,
}

/// Names and the trie of name lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preferences {
    names: HashMap<String, CategoryNameId>,
    /// The names whose combinations are removed from interpretations in the end.
    hidden: Vec<bool>,
    nodes: Vec<Preference>,
    steps: HashMap<(PreferenceNode, CategoryNameId), PreferenceNode>,
    /// The transitions of all nodes, as a table with `names` columns.
    table: Vec<PreferenceNode>,
    has_only: bool,
}

impl Preferences {
    pub(crate) fn new<'a>(
        categories: impl Iterator<Item = &'a str>,
        boosts: &[Boost],
        only: &[Vec<String>],
        ignored: &[Vec<String>],
        hidden: &[String],
    ) -> Preferences {
        let mut preferences = Preferences { has_only: !only.is_empty(), ..Default::default() };
        preferences.nodes.push(Preference::default());
        for name in categories {
            preferences.intern(name);
        }
        for boost in boosts {
            let node = preferences.insert(&boost.categories);
            preferences.nodes[usize::from(node)].boost = Some(boost.by);
        }
        for list in only {
            let node = preferences.insert(list);
            preferences.nodes[usize::from(node)].only = true;
        }
        for list in ignored {
            let node = preferences.insert(list);
            preferences.nodes[usize::from(node)].ignored = true;
        }
        for name in hidden {
            preferences.intern(name);
        }
        preferences.hidden = vec![false; preferences.names.len()];
        for name in hidden {
            let name = preferences.name(name);
            preferences.hidden[usize::from(name)] = true;
        }
        let width = preferences.names.len();
        preferences.table = vec![NOWHERE; width * preferences.nodes.len()];
        for ((node, name), next) in &preferences.steps {
            preferences.table[usize::from(*node) * width + usize::from(*name)] = *next;
        }
        preferences
    }

    fn intern(&mut self, name: &str) -> CategoryNameId {
        let next = self.names.len() as CategoryNameId;
        *self.names.entry_ref(name).or_insert(next)
    }

    fn insert(&mut self, names: &[String]) -> PreferenceNode {
        let mut node = 0;
        for name in names {
            let name = self.intern(name);
            let next = self.nodes.len() as PreferenceNode;
            node = *self.steps.entry((node, name)).or_insert(next);
            if node == next {
                self.nodes.push(Preference::default());
            }
        }
        node
    }

    /// The number of a name.
    pub(crate) fn name(&self, name: &str) -> CategoryNameId {
        self.names.get(name).copied().unwrap_or(NO_NAME)
    }

    /// Whether combinations in this category are removed in the end.
    pub(crate) fn is_hidden(&self, name: CategoryNameId) -> bool {
        self.hidden.get(usize::from(name)).copied().unwrap_or(false)
    }

    /// The root of the trie.
    pub(crate) fn start(&self) -> PreferenceNode {
        0
    }

    /// The node after a step by this name.
    pub(crate) fn step(&self, node: PreferenceNode, name: CategoryNameId) -> PreferenceNode {
        if node == NOWHERE || name == NO_NAME {
            return NOWHERE;
        }
        self.table[usize::from(node) * self.names.len() + usize::from(name)]
    }

    /// The boost of an interpretation whose names end at this node; `None` if the interpretation is
    /// excluded.
    pub(crate) fn boost(&self, node: PreferenceNode) -> Option<Score> {
        let Some(preference) = self.nodes.get(usize::from(node)) else {
            return (!self.has_only).then_some(Score::ZERO);
        };
        if preference.ignored || (self.has_only && !preference.only) {
            return None;
        }
        Some(preference.boost.unwrap_or(Score::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boost(preferences: &Preferences, names: &[&str]) -> Option<Score> {
        let start = preferences.start();
        let step = |node, name: &&str| preferences.step(node, preferences.name(name));
        preferences.boost(names.iter().fold(start, step))
    }

    fn lists(lists: &[&[&str]]) -> Vec<Vec<String>> {
        let strings = |list: &&[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        lists.iter().map(strings).collect()
    }

    #[test]
    fn boosts_are_for_exactly_these_names() {
        let boosts = [Boost::new(["a", "b"], 3), Boost::new(["a"], 0.5)];
        let preferences = Preferences::new(["a", "b"].into_iter(), &boosts, &[], &[], &[]);
        assert_eq!(boost(&preferences, &["a", "b"]), Some(Score::integer(3)));
        assert_eq!(boost(&preferences, &["a"]), Some(Score::float(0.5)));
        for names in [&["b"][..], &["a", "b", "a"], &["c"], &[]] {
            assert_eq!(boost(&preferences, names), Some(Score::ZERO));
        }
    }

    #[test]
    fn lists_can_be_wanted_or_not() {
        let names = ["a", "b"].into_iter();
        let preferences = Preferences::new(names.clone(), &[], &lists(&[&["a"]]), &[], &[]);
        assert_eq!(boost(&preferences, &["a"]), Some(Score::ZERO));
        assert_eq!(boost(&preferences, &["b"]), None);
        let ignored = lists(&[&["a", "b"]]);
        let preferences = Preferences::new(names, &[], &[], &ignored, &["b".to_owned()]);
        assert_eq!(boost(&preferences, &["a", "b"]), None);
        assert_eq!(boost(&preferences, &["a"]), Some(Score::ZERO));
        assert!(preferences.is_hidden(preferences.name("b")));
        assert!(!preferences.is_hidden(NO_NAME));
    }
}
