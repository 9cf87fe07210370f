//! The dashboard of the admin port: one file without external resources.

use std::sync::OnceLock;

/// The dashboard that the command has rendered.
static PAGE: OnceLock<String> = OnceLock::new();

/// What the admin port shows without it.
const PLAIN: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>Runnel server</title><h1>Runnel server</h1><ul><li><a href=\"metrics\">Metrics</a></li>\
    <li><a href=\"metrics.json\">Metrics as JSON</a></li><li><a href=\"readyz\">Readiness</a></li></ul>\
    </html>\n";

/// The Content-Security-Policy: own script and style, and requests to this port.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// Sets the dashboard of this process: HTML that loads nothing. The first one stays.
pub fn set_dashboard(page: String) {
    // Every worker renders the same page.
    let _ = PAGE.set(page);
}

/// The dashboard of this process.
pub(crate) fn page() -> &'static str {
    PAGE.get().map_or(PLAIN, String::as_str)
}
