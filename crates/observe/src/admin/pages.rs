//! Pages that servers contribute to the admin port: those of an S3 server about its buckets.
//!
//! A page is a store of the worker that serves the admin port, where every server of the program
//! runs. The registry of metrics is shared by all workers, so the pages are kept beside it.

use crate::metrics::registry::Registry;
use runnel_store::{Error, Kind, Result, Store};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The most pages of an admin port.
const MOST: usize = 64;

/// The Content-Security-Policy of contributed pages: no scripts, and forms for this port only.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'";

/// A page that a server contributes to the admin port.
pub struct AdminPage {
    /// Its path without slashes, such as `buckets`. A second page of that path becomes `buckets-2`.
    pub path: &'static str,
    /// The text of the link on the dashboard.
    pub title: String,
    /// Answers gets of the page, whose queries it reads, as HTML without scripts. Only requests
    /// that the token admits reach it.
    pub store: Rc<dyn Store>,
    /// Whether it shows what only users of the server may see: an admin port without a token
    /// refuses it.
    pub needs_token: bool,
}

/// A page in its place, for as long as its server keeps it.
pub(crate) struct ContributedPage {
    registry: *const Registry,
    path: String,
    title: String,
    pub(crate) store: Rc<dyn Store>,
    pub(crate) needs_token: bool,
}

thread_local! {
    static PAGES: RefCell<Vec<Weak<ContributedPage>>> = const { RefCell::new(Vec::new()) };
}

/// Adds a page, which stays until the answer is dropped.
pub(crate) fn add(registry: &Arc<Registry>, page: AdminPage) -> Result<Rc<ContributedPage>> {
    let taken: Vec<String> = links(registry).into_iter().map(|(path, _)| path).collect();
    if taken.len() == MOST {
        let message = format!("the admin port has at most {MOST} pages of servers");
        return Err(Error::new(Kind::TooLarge, message));
    }
    let numbered = (2..).map(|number| format!("{}-{number}", page.path));
    let mut paths = std::iter::once(page.path.to_string()).chain(numbered);
    let path = paths.find(|path| !taken.contains(path)).unwrap_or_default();
    let (registry, title) = (Arc::as_ptr(registry), page.title);
    let (store, needs_token) = (page.store, page.needs_token);
    let added = Rc::new(ContributedPage { registry, path, title, store, needs_token });
    PAGES.with_borrow_mut(|pages| {
        pages.retain(|known| known.strong_count() > 0);
        pages.push(Rc::downgrade(&added));
    });
    Ok(added)
}

/// The pages of an admin port.
fn of(registry: &Arc<Registry>) -> Vec<Rc<ContributedPage>> {
    let registry = Arc::as_ptr(registry);
    PAGES.with_borrow(|pages| {
        let present = pages.iter().filter_map(Weak::upgrade);
        present.filter(|page| page.registry == registry).collect()
    })
}

/// The page of a path.
pub(crate) fn find(registry: &Arc<Registry>, path: &str) -> Option<Rc<ContributedPage>> {
    of(registry).into_iter().find(|page| page.path == path)
}

/// The paths and titles of the pages.
pub(crate) fn links(registry: &Arc<Registry>) -> Vec<(String, String)> {
    of(registry).iter().map(|page| (page.path.clone(), page.title.clone())).collect()
}
