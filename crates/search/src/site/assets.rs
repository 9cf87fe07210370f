//! The files that pages need, each with an address that changes when it does.

use super::headers;
use runnel_store::{Content, Context, EntityTag};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// What makes the page quicker.
pub(crate) static SCRIPT: Asset = Asset {
    name: "search.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("search.js"),
};

/// How pages look.
pub(crate) static STYLE: Asset = Asset {
    name: "search.css",
    media_type: "text/css; charset=utf-8",
    text: include_str!("search.css"),
};

/// The picture of a tab.
pub(crate) static ICON: Asset =
    Asset { name: "icon.svg", media_type: "image/svg+xml", text: include_str!("icon.svg") };

impl Asset {
    /// The file of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Asset> {
        [&SCRIPT, &STYLE, &ICON].into_iter().find(|asset| asset.name == name)
    }

    /// Its address: the name, with a version.
    pub(crate) fn address(&self) -> String {
        format!("{}?v={}", self.name, self.version())
    }

    fn version(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Its content, to be kept for as long as its address is the same.
    pub(crate) fn content(&self, query: Option<&str>, context: &Context) -> Content {
        let version = self.version();
        let current = query.and_then(|query| query.strip_prefix("v=")) == Some(&version);
        headers::set(context, headers::for_asset(current));
        let tag = EntityTag::strong(version.as_str());
        let mut content = match context.known.as_ref() == Some(&tag) {
            true => Content::default(),
            false => Content::bytes(self.text.as_bytes()),
        };
        content.entity_tag = Some(tag);
        content.with_media_type(self.media_type)
    }
}
