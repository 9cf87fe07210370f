//! Entries and pages of listings.

pub(crate) mod key_walk;

use crate::{EntityTag, Metadata};
use std::rc::Rc;
use std::time::SystemTime;

/// Most keys in one page of a listing.
pub const LISTED_KEYS: usize = 1_000;

/// A child in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name within the parent, without slashes.
    pub name: String,
    /// Whether it has (or can have) children of its own.
    pub collection: bool,
}

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
    /// Its metadata ([`crate::Content::metadata`]), where the context asks for attributes and the
    /// store knows them without a request for each key: empty where it has none, `None` where the
    /// store does not say.
    pub metadata: Option<Rc<Metadata>>,
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
        let name = name.into();
        Key { name, length: None, entity_tag: None, modified: None, metadata: None }
    }
}

impl KeyPage {
    /// The page with each key changed: a layer that changes content takes away what is not known
    /// of it any more.
    pub(crate) fn with(mut self, change: impl FnMut(&mut Key)) -> Self {
        self.keys.iter_mut().for_each(change);
        self
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
    pub(crate) fn admits_below(&self, start: &str) -> bool {
        let within = start.starts_with(&*self.prefix) || self.prefix.starts_with(start);
        let later = |after: &str| after < start || after.starts_with(start);
        within && self.after.as_deref().is_none_or(later)
    }
}
