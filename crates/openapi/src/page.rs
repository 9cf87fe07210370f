//! A documentation page of an API for browsers, in three texts that a strict policy allows.
//!
//! The page is complete without JavaScript: operations by group, parameters, contents, answers, schemas.
//! The script adds the search box, the token, and forms that send requests.

mod markup;
mod operation;
mod schema;
mod trial;

use crate::api::{Api, ApiTag};
use crate::example::ExampleMaker;
use crate::schema_names::SchemaNames;
use markup::{escaped, paragraphs, slug};
use runnel_text::escape::html_into;

/// The tokens and parts that all pages of the command share, and what only this page has.
const STYLE: &str = concat!(
    include_str!("../../../std/design/base.css"),
    include_str!("../../../std/design/parts.css"),
    include_str!("page/docs.css"),
);
/// The script of the page.
const SCRIPT: &str = include_str!("page/docs.js");

/// The parts of a documentation page. The markup refers to `docs/docs.css`, `docs/docs.js` and
/// `openapi.json` beside the page, so that it can be served at `/docs` or below any prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentationPage {
    /// The page itself, HTML.
    pub html: String,
    /// The stylesheet, `docs/docs.css`.
    pub style: &'static str,
    /// The script, `docs/docs.js`.
    pub script: &'static str,
    /// The header `Content-Security-Policy` of the page: own style and script, and requests to the
    /// servers of the API.
    pub policy: String,
}

/// The documentation page of an API.
pub fn page(api: &Api) -> DocumentationPage {
    let names = SchemaNames::of(api);
    let examples = ExampleMaker::new(api, &names);
    let mut html = String::with_capacity(8192);
    head(api, &mut html);
    html += "<body class=\"wide docs\">\n<a class=\"skip\" href=\"#operations\">Skip to the operations</a>\n";
    header(api, &mut html);
    html += "<div class=\"columns\">\n";
    contents(api, &names, &mut html);
    html += "<main id=\"operations\" tabindex=\"-1\">\n";
    for tag in used_tags(api) {
        group(api, tag, &names, &examples, &mut html);
    }
    schema::write_schemas(api, &names, &mut html);
    html += "</main>\n</div>\n</body>\n</html>\n";
    DocumentationPage { html, style: STYLE, script: SCRIPT, policy: policy(api) }
}

/// Own style and script; requests to the own origin and to servers with another one.
fn policy(api: &Api) -> String {
    let mut connect = String::from("'self'");
    for url in &api.servers {
        let Some((scheme, rest)) = url.split_once("://") else { continue };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".:-[]".contains(letter);
        if matches!(scheme, "http" | "https") && !host.is_empty() && host.chars().all(plain) {
            connect += &format!(" {scheme}://{host}");
        }
    }
    format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src {connect}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn head(api: &Api, html: &mut String) {
    *html += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
              <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
    html_into(&api.title, html);
    *html += "</title>\n<link rel=\"stylesheet\" href=\"docs/docs.css\">\n\
              <link rel=\"alternate\" type=\"application/json\" href=\"openapi.json\">\n\
              <script src=\"docs/docs.js\" defer></script>\n</head>\n";
}

fn header(api: &Api, html: &mut String) {
    *html += &format!(
        "<header>\n<div class=\"row\"><h1>{}</h1> <span class=\"badge\">{}</span></div>\n",
        escaped(&api.title),
        escaped(&api.version),
    );
    paragraphs(&api.about, html);
    *html += "<p class=\"quiet\">";
    if !api.contact.is_empty() {
        let contact = escaped(&api.contact);
        *html += &match api.contact.as_str() {
            url if url.starts_with("http") => format!("<a href=\"{contact}\">Contact</a> · "),
            email if email.contains('@') => {
                format!("<a href=\"mailto:{contact}\">{contact}</a> · ")
            }
            _ => format!("{contact} · "),
        };
    }
    *html += "<a href=\"openapi.json\">OpenAPI document</a></p>\n";
    *html += "<form id=\"settings\" class=\"row\" hidden>\n<div class=\"grow\"><label for=\"server\">Server</label>\n\
              <select id=\"server\">";
    for url in &api.servers {
        let url = escaped(url);
        *html += &format!("<option value=\"{url}\">{url}</option>");
    }
    *html += "</select></div>\n";
    if api.operations.iter().any(|operation| operation.guarded) {
        *html += "<div class=\"grow\"><label for=\"token\">Token</label>\n\
                  <input id=\"token\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\" \
                  aria-describedby=\"tokenHint\">\n<p class=\"small quiet\" id=\"tokenHint\">\
                  Stays on this page until it is closed.</p></div>\n";
    }
    *html += "</form>\n</header>\n";
}

/// The groups that have operations.
fn used_tags(api: &Api) -> impl Iterator<Item = &ApiTag> {
    api.tags.iter().filter(|tag| api.operations.iter().any(|one| one.tag == tag.name))
}

/// The table of contents, with the search box above it.
fn contents(api: &Api, names: &SchemaNames, html: &mut String) {
    *html += "<nav aria-label=\"Contents\">\n<form id=\"search\" role=\"search\" hidden>\n\
              <label class=\"hidden\" for=\"find\">Search operations</label>\n\
              <input id=\"find\" type=\"search\" placeholder=\"Search\" autocomplete=\"off\">\n\
              <p class=\"small quiet\" id=\"found\" role=\"status\"></p>\n</form>\n";
    for tag in used_tags(api) {
        let (id, name) = (slug("group", &tag.name), escaped(&tag.name));
        *html += &format!("<div class=\"group\">\n<p><a href=\"#{id}\">{name}</a></p>\n<ul>\n");
        for operation in api.operations.iter().filter(|one| one.tag == tag.name) {
            *html += &format!(
                "<li data-for=\"{id}\"><a href=\"#{id}\">{method} <span>{path}</span></a></li>\n",
                id = slug("operation", &operation.id),
                method = markup::method(&operation.method),
                path = escaped(&operation.path_text()),
            );
        }
        *html += "</ul>\n</div>\n";
    }
    if names.all().next().is_some() {
        *html += "<div class=\"group schemas\">\n<p><a href=\"#schemas\">Schemas</a></p>\n<ul>\n";
        for (.., name) in names.all() {
            let id = slug("schema", name);
            *html += &format!("<li><a href=\"#{id}\">{}</a></li>\n", escaped(name));
        }
        *html += "</ul>\n</div>\n";
    }
    *html += "</nav>\n";
}

fn group(
    api: &Api,
    tag: &ApiTag,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    let (id, name) = (slug("group", &tag.name), escaped(&tag.name));
    *html += &format!(
        "<section class=\"group\" aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{name}</h2>\n"
    );
    paragraphs(&tag.about, html);
    for operation in api.operations.iter().filter(|one| one.tag == tag.name) {
        operation::write_operation(api, operation, names, examples, html);
    }
    *html += "</section>\n";
}
