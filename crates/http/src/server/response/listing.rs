//! A collection as an HTML page of links.

use crate::protocol::target::{escape_name, escape_path};
use runnel_store::Entry;
use runnel_text::escape::html;
use std::fmt::Write;

/// The HTML page of a collection, with a link to each child.
pub(crate) fn page(path: &str, entries: &[Entry]) -> String {
    let base = path.trim_end_matches('/');
    let title = html(if base.is_empty() { "/" } else { base });
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n<ul>\n"
    );
    if let Some((parent, _)) = base.rsplit_once('/') {
        let parent = html(&escape_path(parent));
        let _ = writeln!(page, "<li><a href=\"{parent}/\">Parent</a></li>");
    }
    let base = html(&escape_path(base));
    for entry in entries {
        let name = html(&runnel_store::decode_segment(&entry.name));
        let link = html(&escape_name(&entry.name));
        let slash = if entry.collection { "/" } else { "" };
        let _ = writeln!(page, "<li><a href=\"{base}/{link}{slash}\">{name}{slash}</a></li>");
    }
    page.push_str("</ul>\n</main>\n</body>\n</html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_linked() {
        let entries = [
            Entry { name: "a & <b>.txt".into(), collection: false },
            Entry { name: "dir".into(), collection: true },
        ];
        let page = page("/x y/", &entries);
        assert!(page.contains("<title>/x y</title>"));
        assert!(
            page.contains("<a href=\"/x%20y/a%20&amp;%20%3Cb%3E.txt\">a &amp; &lt;b&gt;.txt</a>")
        );
        assert!(page.contains("<a href=\"/x%20y/dir/\">dir/</a>"));
        assert!(page.contains("<a href=\"/\">Parent</a>"));
    }

    #[test]
    fn the_root_has_no_parent() {
        let page = page("/", &[]);
        assert!(page.contains("<h1>/</h1>"));
        assert!(!page.contains("Parent"));
    }
}
