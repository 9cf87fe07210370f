//! The files that pages load, each with an address that changes when its content does.

use super::headers;
use runnel_store::{Content, Context, EntityTag, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A file that a page loads.
#[derive(Clone, Debug)]
pub struct PageFile {
    name: &'static str,
    media_type: &'static str,
    text: String,
    /// The hash of the text.
    version: String,
}

impl PageFile {
    /// A file below the page.
    pub fn new(name: &'static str, media_type: &'static str, text: String) -> PageFile {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let version = format!("{:016x}", hasher.finish());
        PageFile { name, media_type, text, version }
    }

    /// The content, cached by clients as long as the address is the same.
    fn content(&self, query: Option<&str>, context: &Context) -> Content {
        let current = query.and_then(|query| query.strip_prefix("v=")) == Some(&self.version);
        headers::set(context, headers::for_asset(current));
        let tag = EntityTag::strong(self.version.as_str());
        let mut content = match context.known.as_ref() == Some(&tag) {
            true => Content::default(),
            false => Content::bytes(self.text.clone()),
        };
        content.entity_tag = Some(tag);
        content.with_media_type(self.media_type)
    }
}

/// The content of the file with this name.
pub(crate) fn file(
    files: &[PageFile],
    name: &str,
    query: Option<&str>,
    context: &Context,
) -> Option<Content> {
    let file = files.iter().find(|file| file.name == name)?;
    Some(file.content(query, context))
}

/// The addresses of the files by name, below `base`.
pub(crate) fn addresses(files: &[PageFile], base: &str) -> Value {
    Value::record(
        files.iter().map(|file| {
            (file.name, Value::Text(format!("{base}{}?v={}", file.name, file.version)))
        }),
    )
}
