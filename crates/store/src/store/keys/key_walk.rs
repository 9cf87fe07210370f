//! Ordered listing of keys across all levels below a reference.

use crate::{Context, Entry, Key, KeyPage, KeyRange, Reference, Result, Store};
use std::rc::Rc;

/// Levels below the reference that a recursive listing visits.
pub const LISTED_DEPTH: usize = 64;

/// The keys below a reference in byte order of the whole key, from [`Store::keys`]. Without that
/// listing, a walk over [`Store::list`] visits only the collections that can contain keys of the
/// range.
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
    // The stack of names to visit: a collection ends in a slash.
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
