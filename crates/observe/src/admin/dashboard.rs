//! The dashboard of the admin port: one file without external resources.

/// The page.
pub(crate) const PAGE: &str = include_str!("dashboard.html");

/// The Content-Security-Policy: own script and style, and requests to this port.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::PAGE;

    #[test]
    fn the_page_loads_nothing() {
        for outside in ["http:", "https:", "src=", "<link", "@import", "url("] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
    }
}
