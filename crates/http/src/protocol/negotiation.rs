//! Content negotiation of lazy content (RFC 9110 section 12.5.1).

use hyper::header::{self, HeaderMap};
use runnel_store::Form;

/// JSON, unless the client prefers `text/csv` or `text/plain`; `None` when it accepts none of the
/// three.
pub(crate) fn form(headers: &HeaderMap) -> Option<Form> {
    let mut json = Quality::default();
    let (mut csv, mut text) = (None, None);
    let (mut any_text, mut names_types) = (Quality::default(), false);
    for (range, quality) in accepted(headers) {
        names_types |= range.contains('/');
        match range.as_str() {
            "application/json" => json.set(3, quality),
            "application/*" => json.set(2, quality),
            "*/*" | "*" => {
                json.set(1, quality);
                any_text.set(1, quality);
            }
            "text/*" => any_text.set(2, quality),
            "text/csv" => csv = Some(quality),
            "text/plain" => text = Some(quality),
            _ => {}
        }
    }
    let better = |other: Option<f32>| other.is_some_and(|quality| quality > json.value);
    match (better(csv), better(text)) {
        (true, true) if text > csv => Some(Form::Text),
        (true, _) => Some(Form::Csv),
        (false, true) => Some(Form::Text),
        (false, false) if !names_types || json.value > 0.0 => Some(Form::Json),
        // An exact type with quality 0 overrides a range.
        (false, false) if any_text.value > 0.0 && text.is_none() => Some(Form::Text),
        (false, false) if any_text.value > 0.0 && csv.is_none() => Some(Form::Csv),
        (false, false) => None,
    }
}

/// Whether the client prefers `text/html` to data; of equals the first in the header counts,
/// and data without a name.
pub(crate) fn prefers_page(headers: &HeaderMap) -> bool {
    let (mut page, mut data) = (Quality::default(), Quality::default());
    let (mut first, mut named) = (None, false);
    for (range, quality) in accepted(headers) {
        match range.as_str() {
            "text/html" => {
                first = first.or(Some(true));
                page.set(3, quality);
            }
            "application/json" | "text/csv" | "text/plain" => {
                first = first.or(Some(false));
                let best = if named { data.value.max(quality) } else { quality };
                (data, named) = (Quality::exact(best), true);
            }
            "application/*" => data.set(2, quality),
            "text/*" => page.set(2, quality),
            "*/*" | "*" => {
                page.set(1, quality);
                data.set(1, quality);
            }
            _ => {}
        }
    }
    page.value > data.value || page.value > 0.0 && page.value == data.value && first == Some(true)
}

/// The media ranges of `Accept` in lower case, each with its quality.
pub(crate) fn accepted(headers: &HeaderMap) -> impl Iterator<Item = (String, f32)> {
    let lines = headers.get_all(header::ACCEPT).iter();
    lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(|range| {
        let mut parts = range.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        (essence, parts.find_map(quality).unwrap_or(1.0))
    })
}

/// The quality of a type, from the most specific matching range.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quality {
    rank: u8,
    pub(crate) value: f32,
}

impl Quality {
    /// The quality of a type that is named.
    fn exact(value: f32) -> Quality {
        Quality { rank: 3, value }
    }

    pub(crate) fn set(&mut self, rank: u8, value: f32) {
        if rank > self.rank {
            *self = Quality { rank, value };
        }
    }
}

/// The number of a `q=…` parameter, from 0 to 1.
fn quality(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value: f32 = value.trim().parse().ok()?;
    (0.0..=1.0).contains(&value).then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_most_clients_get() {
        for (accept, expected) in [
            ("", Form::Json),
            ("*/*", Form::Json),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Form::Json),
            ("application/json", Form::Json),
            ("text/csv", Form::Csv),
            ("text/csv;q=0.5, application/json", Form::Json),
            ("text/csv, */*;q=0.1", Form::Csv),
            ("application/json;q=0.2, text/csv;q=0.3", Form::Csv),
            ("text/plain", Form::Text),
            ("text/plain;q=0.9, text/csv;q=0.3", Form::Text),
            ("application/json;q=0, */*, text/csv;q=0.1", Form::Csv),
            ("text/csv;q=rubbish", Form::Csv),
            ("text/*", Form::Text),
            ("text/*, text/plain;q=0", Form::Csv),
            ("application/json;q=0, */*", Form::Text),
            ("image/png, *;q=.2", Form::Json),
            (",;q=,=", Form::Json),
        ] {
            assert_eq!(accepted(accept), Some(expected), "{accept}");
        }
        assert_eq!(form(&HeaderMap::new()), Some(Form::Json));
    }

    #[test]
    fn browsers_prefer_pages() {
        for (accept, expected) in [
            ("", false),
            ("*/*", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("text/html", true),
            ("text/html, application/json", true),
            ("application/json, text/html", false),
            ("application/json, text/html;q=0.9", false),
            ("text/html;q=0, */*", false),
            ("text/html;q=0.5, text/csv", false),
            ("text/html;q=0.5, text/csv;q=0.1, application/json;q=0.3", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(prefers_page(&headers), expected, "{accept}");
        }
        assert!(!prefers_page(&HeaderMap::new()));
    }

    #[test]
    fn a_client_may_accept_none() {
        for accept in [
            "text/html",
            "image/png, application/xml;q=0.9",
            "application/json;q=0",
            "*/*;q=0",
            "text/*, text/plain;q=0, text/csv;q=0",
        ] {
            assert_eq!(accepted(accept), None, "{accept}");
        }
    }

    fn accepted(accept: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        form(&headers)
    }
}
