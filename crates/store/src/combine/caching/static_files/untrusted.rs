//! Files of strangers: what a browser shows by itself, and what it downloads.

use crate::{Content, Context, Result};
use std::borrow::Cow;

/// What a page of such a file may do, should a browser ever take it for one: nothing. Images, audio and video
/// are documents, too, when they are opened by themselves.
const POLICY: &str =
    "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

/// The type of everything that is downloaded: a page of the site cannot run it as a script either.
const OCTETS: &str = "application/octet-stream";

/// Whether a browser shows content of a type without running anything in it. SVG and PDF can hold scripts.
fn is_harmless(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("image", name)) => {
            matches!(name, "png" | "jpeg" | "gif" | "webp" | "avif" | "bmp" | "apng")
        }
        Some(("audio" | "video", name)) => !name.contains("xml"),
        _ => false,
    }
}

/// Says how a browser has to take a file, and answers the file with a type that it may have.
pub(super) fn protect(content: Content, context: &Context) -> Result<Content> {
    // The client has the file, and knows what was said of it.
    if context.knows(&content) && content.media_type.is_none() {
        return Ok(content);
    }
    let is_shown = content.media_type.as_deref().is_some_and(is_harmless);
    if let Some(exchange) = &context.exchange {
        exchange.set_header("content-security-policy", POLICY)?;
        exchange.set_header("x-content-type-options", "nosniff")?;
        if !is_shown {
            exchange.set_header("content-disposition", "attachment")?;
        }
    }
    Ok(match is_shown {
        true => content,
        false => Content { media_type: Some(Cow::Borrowed(OCTETS)), ..content },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_nothing_is_shown() {
        for kind in ["image/png", "IMAGE/JPEG", "image/avif; q=1", "audio/mpeg", "video/mp4"] {
            assert!(is_harmless(kind), "{kind}");
        }
        for kind in [
            "text/html",
            "image/svg+xml",
            "application/pdf",
            "text/javascript",
            "text/plain",
            "audio/x+xml",
            "image",
            "",
        ] {
            assert!(!is_harmless(kind), "{kind}");
        }
    }
}
