//! Ordered listing of keys across all levels below a reference.

use crate::{Context, EntityTag, Entry, Reference, Result, Store};
use std::rc::Rc;
use std::time::SystemTime;

/// Most keys in one page of a listing.
pub const LISTED_KEYS: usize = 1_000;

/// Levels below the reference that a recursive listing visits.
pub const LISTED_DEPTH: usize = 64;

/// Which keys a listing answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Only keys that begin with this text; all keys when empty.
    pub prefix: String,
    /// Only keys that follow this one in byte order.
    pub after: Option<String>,
    /// At most this many keys, and at most [`LISTED_KEYS`].
    pub limit: usize,
}

impl Default for KeyRange {
    /// The first page of all keys.
    fn default() -> Self {
        KeyRange { prefix: String::new(), after: None, limit: LISTED_KEYS }
    }
}

/// A leaf below the listed reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its path relative to the listed reference, with slashes between the segments.
    pub name: String,
    /// The length of its content in bytes, where the store knows it.
    pub length: Option<u64>,
    /// The validator of its content, where the store knows it.
    pub entity_tag: Option<EntityTag>,
    /// The time of its last change, where the store knows it.
    pub modified: Option<SystemTime>,
}

/// One page of a listing, in byte order of the whole key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys.
    pub keys: Vec<Key>,
    /// Whether more keys follow; the next page begins after the last key of this one.
    pub more: bool,
}

impl Key {
    /// A key of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Key { name: name.into(), length: None, entity_tag: None, modified: None }
    }
}

impl KeyRange {
    /// The most keys that a page of this range has.
    pub fn page(&self) -> usize {
        self.limit.min(LISTED_KEYS)
    }

    /// Whether a key is in the range.
    pub fn admits(&self, key: &str) -> bool {
        key.starts_with(&*self.prefix) && self.after.as_deref().is_none_or(|after| key > after)
    }

    /// Whether a key in the range can begin with `start`, which ends in a slash.
    fn admits_below(&self, start: &str) -> bool {
        let within = start.starts_with(&*self.prefix) || self.prefix.starts_with(start);
        let later = |after: &str| after < start || after.starts_with(start);
        within && self.after.as_deref().is_none_or(later)
    }
}

/// The keys below a reference in byte order of the whole key: what [`Store::keys`] answers, or,
/// where a store has no such listing of its own, a walk over [`Store::list`] that visits only the
/// collections which can hold keys of the range.
///
/// In a walk a collection is no key itself, and a level beyond [`LISTED_DEPTH`] is not visited.
///
/// # Errors
/// Those of [`Store::keys`] and [`Store::list`].
pub async fn list_keys(
    store: &Rc<dyn Store>,
    reference: &Reference,
    range: &KeyRange,
    context: &Context,
) -> Result<KeyPage> {
    if let Some(page) = store.keys(reference, range, context).await? {
        return Ok(page);
    }
    let mut page = KeyPage::default();
    // What is left to visit, the next one last: a collection ends in a slash.
    let mut left = vec![String::new()];
    while let Some(path) = left.pop() {
        let is_collection = path.is_empty() || path.ends_with('/');
        if !is_collection {
            if page.keys.len() == range.page() {
                page.more = true;
                return Ok(page);
            }
            page.keys.push(Key::named(path));
            continue;
        }
        let here = reference.join(path.trim_end_matches('/'));
        let entries = store.list(&here, context).await?.unwrap_or_default();
        let mut names: Vec<String> = entries.into_iter().map(|entry| below(&path, entry)).collect();
        names.retain(|name| match name.ends_with('/') {
            true => range.admits_below(name) && name.matches('/').count() < LISTED_DEPTH,
            false => range.admits(name),
        });
        names.sort_unstable_by(|one, other| other.cmp(one));
        left.append(&mut names);
    }
    Ok(page)
}

/// The path of an entry; that of a collection ends in a slash, so that its keys sort where they
/// stand among those of its siblings.
fn below(path: &str, entry: Entry) -> String {
    let slash = if entry.collection { "/" } else { "" };
    format!("{path}{}{slash}", entry.name)
}
