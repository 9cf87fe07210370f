//! What a media type says about content (RFC 9110 section 8.3).

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

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known))
}
