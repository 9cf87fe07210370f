//! The keys of a bucket in byte order: those that are plain paths and those that are not, merged, and
//! the versions of each.

use super::layout;
use super::state::Catalog;
use super::version_name::VersionName;
use runnel_store::{Context, Key, KeyRange, LISTED_KEYS, Reference, Result, Store, list_keys};
use std::collections::VecDeque;
use std::rc::Rc;

/// Keys of the page after the first one, and of that after a common prefix: whether there is another
/// key is all that most listings ask then. Each further page is larger.
const NEXT_PAGE: usize = 16;

/// By how much.
const GROWTH: usize = 8;

/// A key of a listing.
pub(crate) struct ListedKey {
    pub(crate) key: String,
    /// The object in the place of the key, as the store lists it; its name is not that of the key.
    pub(crate) present: Option<ListedObject>,
    /// The versions that are not in that place, newest first.
    pub(crate) versions: Vec<(VersionName, ListedObject)>,
}

/// An object of a listing, with where it is.
pub(crate) struct ListedObject {
    pub(crate) at: Reference,
    pub(crate) listed: Key,
}

/// Keys in order, page by page from the store.
pub(crate) struct KeyWalk {
    plain: KeySource,
    odd: KeySource,
    versions: Option<KeySource>,
}

/// How the names of a source are keys.
#[derive(Clone, Copy)]
enum Naming {
    Plain,
    Hex,
}

/// One ordered listing of the store, read ahead by a page.
struct KeySource {
    store: Rc<dyn Store>,
    reference: Reference,
    naming: Naming,
    range: KeyRange,
    /// The length of the page after the next one.
    following: usize,
    /// Keys with what follows them in their name, and the entry.
    page: VecDeque<(String, String, Key)>,
    ended: bool,
}

impl Catalog {
    /// Keys that begin with a prefix and follow `after`. `wanted` is how many will be read, about.
    pub(crate) fn walk(
        &self,
        bucket: &str,
        prefix: &str,
        after: Option<&str>,
        has_versions: bool,
        wanted: usize,
    ) -> KeyWalk {
        let source = |reference, naming| {
            let source = KeySource {
                store: self.contents.store.clone(),
                reference,
                naming,
                range: KeyRange::default(),
                following: NEXT_PAGE,
                page: VecDeque::new(),
                ended: false,
            };
            source.begin(prefix, after, wanted)
        };
        let versions = || source(layout::all_versions(bucket), Naming::Hex);
        KeyWalk {
            plain: source(layout::plain_keys(bucket), Naming::Plain),
            odd: source(layout::odd_keys(bucket), Naming::Hex),
            versions: has_versions.then(versions),
        }
    }
}

impl KeyWalk {
    /// The next key.
    pub(crate) async fn next(&mut self) -> Result<Option<ListedKey>> {
        let mut next: Option<String> = None;
        for source in self.sources() {
            if let Some(key) = source.peek().await?
                && next.as_deref().is_none_or(|next| key < next)
            {
                next = Some(key.to_string());
            }
        }
        let Some(key) = next else { return Ok(None) };
        let plain = self.plain.take(&key).await?.pop();
        let odd = self.odd.take(&key).await?.pop();
        let present = plain.or(odd).map(|(at, _, listed)| ListedObject { at, listed });
        let mut versions = Vec::new();
        if let Some(source) = &mut self.versions {
            for (at, rest, listed) in source.take(&key).await? {
                let name = VersionName::read(&rest);
                versions.extend(name.map(|name| (name, ListedObject { at, listed })));
            }
        }
        Ok(Some(ListedKey { key, present, versions }))
    }

    /// Leaves out all keys that begin with a prefix.
    pub(crate) fn skip(&mut self, prefix: &str) {
        for source in self.sources() {
            source.skip(prefix);
        }
    }

    fn sources(&mut self) -> impl Iterator<Item = &mut KeySource> {
        [&mut self.plain, &mut self.odd].into_iter().chain(self.versions.as_mut())
    }
}

impl KeySource {
    fn begin(mut self, prefix: &str, after: Option<&str>, wanted: usize) -> Self {
        self.range = KeyRange {
            prefix: match self.naming {
                Naming::Plain => layout::plain_name(prefix),
                Naming::Hex => layout::hex_prefix(prefix),
            },
            after: after.map(|after| self.last_name(after)),
            limit: wanted.clamp(1, LISTED_KEYS),
        };
        self
    }

    /// A name that sorts after all names of a key, and before those of the next one.
    fn last_name(&self, key: &str) -> String {
        match self.naming {
            Naming::Plain => layout::plain_name(key),
            // What lies below the key, too.
            Naming::Hex => layout::hex_path(key) + "/\u{10ffff}",
        }
    }

    async fn peek(&mut self) -> Result<Option<&str>> {
        while self.page.is_empty() && !self.ended {
            self.read_page().await?;
        }
        Ok(self.page.front().map(|(key, ..)| key.as_str()))
    }

    /// Takes the entries of a key, if they are the next ones.
    async fn take(&mut self, key: &str) -> Result<Vec<(Reference, String, Key)>> {
        let mut taken = Vec::new();
        while self.peek().await? == Some(key) {
            if let Some((_, rest, listed)) = self.page.pop_front() {
                taken.push((self.reference.join(&listed.name), rest, listed));
            }
        }
        Ok(taken)
    }

    async fn read_page(&mut self) -> Result<()> {
        // The attributes come with the page: asking for those of each key costs more than the page.
        let context = Context { attributes: true, ..Context::default() };
        let page = list_keys(&self.store, &self.reference, &self.range, &context).await?;
        self.ended = !page.more;
        match page.keys.last() {
            Some(last) => self.range.after = Some(last.name.clone()),
            None => self.ended = true,
        }
        for listed in page.keys {
            let (key, rest) = match self.naming {
                Naming::Plain => (layout::plain_key(&listed.name), String::new()),
                Naming::Hex => match layout::read_hex_path(&listed.name) {
                    Some((key, rest)) => (key, rest.to_string()),
                    None => continue,
                },
            };
            self.page.push_back((key, rest, listed));
        }
        self.range.limit = self.following;
        self.following = (self.following * GROWTH).min(LISTED_KEYS);
        Ok(())
    }

    fn skip(&mut self, prefix: &str) {
        while self.page.front().is_some_and(|(key, ..)| key.starts_with(prefix)) {
            self.page.pop_front();
        }
        if !self.page.is_empty() || self.ended {
            return;
        }
        // No key with the prefix follows this one but such as begin with it, and they are taken again.
        let last = match self.naming {
            Naming::Plain => layout::plain_name(prefix) + "\u{10ffff}",
            Naming::Hex => layout::hex_prefix(&format!("{prefix}\u{10ffff}")),
        };
        if self.range.after.as_ref().is_none_or(|after| *after < last) {
            self.range.after = Some(last);
        }
        (self.range.limit, self.following) = (NEXT_PAGE, NEXT_PAGE * GROWTH);
    }
}
