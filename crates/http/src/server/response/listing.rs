//! A collection as an HTML page of links.

use super::page_template::{NONCE, PageTemplate, TemplateValue};
use crate::protocol::target::{escape_name, escape_path};
use runnel_store::Entry;

/// The HTML page of a collection, with a link to each child.
pub(crate) fn page(
    template: &PageTemplate,
    path: &str,
    entries: &[Entry],
    nonce: Option<&str>,
) -> String {
    let base = path.trim_end_matches('/');
    let title = if base.is_empty() { "/" } else { base };
    let parent = base.rsplit_once('/').map(|(parent, _)| format!("{}/", escape_path(parent)));
    let base = escape_path(base);
    let row = |number: usize| {
        let entry: &Entry = entries.get(number)?;
        let name = runnel_store::decode_segment(&entry.name);
        let slash = if entry.collection { "/" } else { "" };
        Some(vec![
            (
                "link",
                TemplateValue::Text(format!("{base}/{}{slash}", escape_name(&entry.name)).into()),
            ),
            ("name", TemplateValue::Text(format!("{name}{slash}").into())),
            ("folder", TemplateValue::Text(slash.into())),
        ])
    };
    let empty = if entries.is_empty() { "empty" } else { "" };
    template.fill(&vec![
        (NONCE, TemplateValue::Text(nonce.unwrap_or_default().into())),
        ("title", TemplateValue::Text(title.into())),
        ("parent", TemplateValue::Text(parent.unwrap_or_default().into())),
        ("entries", TemplateValue::Rows(&row)),
        ("empty", TemplateValue::Text(empty.into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::response::page_template::server_pages;

    #[test]
    fn names_are_escaped_and_linked() {
        let entries = [
            Entry { name: "a & <b>.txt".into(), collection: false },
            Entry { name: "dir".into(), collection: true },
        ];
        let page = page(&server_pages().listing, "/x y/", &entries, None);
        assert!(page.contains("<title>/x y</title>"));
        assert!(
            page.contains("<a href=\"/x%20y/a%20&amp;%20%3Cb%3E.txt\">a &amp; &lt;b&gt;.txt</a>")
        );
        assert!(page.contains("<a href=\"/x%20y/dir/\">dir/</a>"));
        assert!(page.contains("<a href=\"/\">Parent</a>"));
    }

    #[test]
    fn the_root_has_no_parent() {
        let page = page(&server_pages().listing, "/", &[], None);
        assert!(page.contains("<h1>/</h1>"));
        assert!(!page.contains("Parent"));
    }
}
