//! The query of a reference as a form sends it: `q=alan+p&page=2` (the URL Standard,
//! `application/x-www-form-urlencoded`).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Parameters that are looked at; those after are not there.
const MOST: usize = 64;

/// What needs no escape in a value.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*').remove(b' ');

/// The value of a parameter, the first of its name; nothing where it is not there. Bytes that are
/// no UTF-8 become U+FFFD.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let pairs = query?.split('&').take(MOST);
    let mut named = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key) == name).then(|| decoded(value))
    });
    named.next()
}

fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// A value as part of a query.
pub(crate) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string().replace(' ', "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_forms() {
        let value = |query, name| parameter(Some(query), name);
        assert_eq!(value("a=1&q=alan+p%2B%c3%a9&q=2", "q").as_deref(), Some("alan p+\u{e9}"));
        assert_eq!(value("%71=x", "q").as_deref(), Some("x"));
        assert_eq!(value("q", "q").as_deref(), Some(""));
        assert_eq!(value("q=%ff%zz", "q").as_deref(), Some("\u{fffd}%zz"));
        assert_eq!(value("a=1", "q"), None);
        assert_eq!(parameter(None, "q"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_value_comes_back(text: String) {
            let query = format!("a=1&q={}", encoded(&text));
            proptest::prop_assert_eq!(parameter(Some(&query), "q"), Some(text));
        }
    }
}
