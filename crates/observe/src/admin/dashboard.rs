//! The dashboard of the admin port: one file without external resources.

use runnel_http::{PageTemplate, TemplateValue};
use std::sync::OnceLock;

/// The dashboard that the command has rendered.
static PAGE: OnceLock<PageTemplate> = OnceLock::new();

/// What the admin port shows without it.
const PLAIN: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>Runnel server</title><h1>Runnel server</h1><ul><li><a href=\"metrics\">Metrics</a></li>\
    <li><a href=\"metrics.json\">Metrics as JSON</a></li><li><a href=\"readyz\">Readiness</a></li></ul>\
    </html>\n";

/// The Content-Security-Policy: own script and style, and requests to this port.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// Sets the dashboard of this process: HTML that loads nothing, with rows of `pages` that have a
/// `link` and a `title`. The first one stays.
pub fn set_dashboard(page: PageTemplate) {
    // Every worker renders the same page.
    let _ = PAGE.set(page);
}

/// The dashboard of this process, with links to pages by path and title.
pub(crate) fn page(links: &[(String, String)]) -> String {
    let Some(template) = PAGE.get() else { return PLAIN.to_string() };
    let row = |at: usize| {
        let (path, title) = links.get(at)?;
        let text = |text: &'_ String| TemplateValue::Text(text.clone().into());
        Some(vec![("link", text(path)), ("title", text(title))])
    };
    template.fill(&vec![("pages", TemplateValue::Rows(&row))])
}
