//! `application/x-www-form-urlencoded` (the URL Standard, section 5): queries and forms. `+` and
//! `%20` are spaces, and pairs without a name and a value are left out.

use std::borrow::Cow;
use std::str::Utf8Error;

/// The fields of a form in their order, names and values decoded. Bytes that are not UTF-8 become
/// U+FFFD, as in browsers.
pub fn fields(form: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(form)
}

/// The value of the first field with this name.
pub fn field<'a>(form: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    fields(form).find(|(other, _)| other == name).map(|(_, value)| value)
}

/// Pairs of a form, still encoded, for readers that decode each with [`decode`].
pub fn pairs(form: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = form.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// A name or value of a form, decoded.
///
/// # Errors
/// The bytes behind the escapes are not UTF-8.
pub fn decode(text: &str) -> Result<Cow<'_, str>, Utf8Error> {
    if !text.contains('+') {
        return percent_decode(text);
    }
    let text = text.replace('+', " ");
    percent_decode(&text).map(|decoded| Cow::Owned(decoded.into_owned()))
}

/// A name or value as it stands in a form.
pub fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A part of a URL without its percent escapes; `+` stays as it is. A `%` that begins no escape is
/// kept.
///
/// # Errors
/// The bytes behind the escapes are not UTF-8.
pub fn percent_decode(text: &str) -> Result<Cow<'_, str>, Utf8Error> {
    percent_encoding::percent_decode_str(text).decode_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_decoded() {
        let form = "a=1&a=2&b&&%C3%BC=%26+x&=empty&c=x=y&d=%ff%zz".as_bytes();
        for (name, value) in [
            ("a", Some("1")),
            ("b", Some("")),
            ("ü", Some("& x")),
            ("", Some("empty")),
            ("c", Some("x=y")),
            ("d", Some("\u{fffd}%zz")),
            ("e", None),
        ] {
            assert_eq!(field(form, name).as_deref(), value, "{name}");
        }
        assert_eq!(pairs("a=1&&b").collect::<Vec<_>>(), [("a", "1"), ("b", "")]);
    }

    #[test]
    fn invalid_utf8_is_refused_by_decode() {
        assert_eq!(decode("a+b%20c").as_deref(), Ok("a b c"));
        assert_eq!(percent_decode("a+b%20c%").as_deref(), Ok("a+b c%"));
        assert!(decode("%FF").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_value_comes_back(text: String) {
            let encoded = encode(&text);
            let decoded = decode(&encoded);
            proptest::prop_assert_eq!(decoded.as_deref(), Ok(text.as_str()));
        }
    }
}
