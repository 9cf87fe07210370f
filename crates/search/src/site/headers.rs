//! The response headers of pages and files.

use runnel_store::{Content, Context};

/// A page may load what this server has of it, send its form here, and nothing else: whatever got
/// into a document does not run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// For pages and counts: they change with the index.
pub(crate) const FOR_PAGE: &[(&str, &str)] = &[
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    // What people search for is not for the sites that results lead to.
    ("Referrer-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),
];

/// For files of the page.
pub(crate) fn for_asset(current: bool) -> &'static [(&'static str, &'static str)] {
    match current {
        true => &[
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "public, max-age=31536000, immutable"),
        ],
        false => &[("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-cache")],
    }
}

/// Sets headers of the answer, where there is a request.
pub(crate) fn set(context: &Context, headers: &[(&str, &str)]) {
    let Some(exchange) = &context.exchange else { return };
    for (name, value) in headers {
        // These names and values are valid.
        let _ = exchange.set_header(name, value);
    }
}

/// What leads from the address of a page, as a browser has it, to what is below the page: nothing
/// where the address ends in a slash, otherwise its last part. Addresses that are relative stay right
/// behind a server that hands on a part of its own paths.
pub(crate) fn base(context: &Context) -> String {
    let Some(exchange) = &context.exchange else { return String::new() };
    let target = exchange.target();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit('/').next() {
        None | Some("") => String::new(),
        // A colon would make a scheme of it.
        Some(last) => format!("./{last}/"),
    }
}

/// A page.
pub(crate) fn html(page: String) -> Content {
    Content::text(page).with_media_type("text/html; charset=utf-8")
}

/// A text of JSON.
pub(crate) fn json(text: Vec<u8>) -> Content {
    Content::bytes(text).with_media_type("application/json")
}
