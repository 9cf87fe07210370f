//! What a media type says about content (RFC 9110 section 8.3), and whether browsers run it.

use crate::{Content, Context};
use std::borrow::Cow;

/// Whether content of a media type is text in UTF-8, by the type alone: `text/*`, JSON, XML,
/// JavaScript and URL-encoded forms, unless `charset` names another encoding.
pub fn is_text_type(media_type: &str) -> bool {
    let (essence, parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    let (kind, name) = essence.trim().split_once('/').unwrap_or_default();
    let ends = |end: &str| {
        let start = name.len().checked_sub(end.len());
        start.and_then(|start| name.get(start..)).is_some_and(|last| last.eq_ignore_ascii_case(end))
    };
    let textual = kind.eq_ignore_ascii_case("text")
        || ends("+json")
        || ends("+xml")
        || (kind.eq_ignore_ascii_case("application")
            && ["json", "xml", "javascript", "x-www-form-urlencoded", "x-ndjson"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known)));
    textual && parameters.split(';').all(|parameter| charset(parameter).is_none_or(is_utf8))
}

/// The value of a parameter of a media type, when it is the charset.
pub fn charset(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
}

/// The media type of a client's content that a browser would run on the origin of the site. A server answers it as
/// `application/octet-stream` with `Content-Disposition: attachment`. The parameter makes the type itself the mark, so
/// every store that keeps media types keeps it, and copies have it too.
pub const DOWNLOAD: &str = "application/octet-stream; disposition=attachment";

/// The media type for the name of a file.
pub fn guessed_media_type(path: &str) -> Option<&'static str> {
    mime_guess::from_path(path).first_raw()
}

/// Whether a browser runs content of a media type, as a page or as a script: HTML, XML with SVG, JavaScript, and parts,
/// which may be any of them.
pub fn runs_in_browsers(media_type: &str) -> bool {
    let essence = media_type.split([';', ',']).next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let name = essence.split_once('/').map_or("", |(_, name)| name);
    essence.starts_with("multipart/")
        || ["html", "xml", "javascript", "ecmascript", "jscript", "livescript", "xsl"]
            .iter()
            .any(|word| name.contains(word))
}

impl Content {
    /// Whether a browser would run this content, by its media type or by that of its name.
    pub fn runs_in_browsers(&self, by_name: Option<&str>) -> bool {
        self.media_type.as_deref().into_iter().chain(by_name).any(runs_in_browsers)
    }

    /// This content where a client sent it: as a [`DOWNLOAD`] when a browser would run it, by its media type or by that
    /// of its name.
    #[must_use]
    pub fn of_client(self, context: &Context, by_name: Option<&str>) -> Self {
        // Also by the name alone: what takes the media type away later leaves the name.
        match context.from_client.is_some() && self.runs_in_browsers(by_name) {
            true => Content { media_type: Some(Cow::Borrowed(DOWNLOAD)), ..self },
            false => self,
        }
    }
}

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_scripts_run() {
        for kind in [
            "text/html",
            "Text/HTML; charset=utf-8",
            "application/xhtml+xml",
            "image/svg+xml",
            "text/xml",
            "application/mathml+xml",
            "text/javascript",
            "application/x-javascript",
            "application/ecmascript",
            "text/xsl",
            "multipart/x-mixed-replace",
            "text/html,image/png",
        ] {
            assert!(runs_in_browsers(kind), "{kind}");
        }
        for kind in ["text/plain", "application/json", "image/png", "video/mp4", DOWNLOAD, ""] {
            assert!(!runs_in_browsers(kind), "{kind}");
        }
    }
}
