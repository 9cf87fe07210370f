//! `application/x-www-form-urlencoded`: queries and forms (URL standard, section 5.1).

use percent_encoding::percent_decode;

/// The value of the first parameter of a name.
pub(crate) fn find(text: &[u8], name: &str) -> Option<String> {
    text.split(|&byte| byte == b'&').find_map(|pair| {
        let cut = pair.iter().position(|&byte| byte == b'=');
        let (key, value) = match cut {
            Some(cut) => (&pair[..cut], &pair[cut + 1..]),
            None => (pair, &[][..]),
        };
        (!pair.is_empty() && decode(key) == name).then(|| decode(value))
    })
}

/// Undoes the escapes; what is not UTF-8 becomes a replacement character, as browsers do.
fn decode(text: &[u8]) -> String {
    let spaced: Vec<u8> = text.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

/// Whether a media type is that of a form.
pub(crate) fn is_form(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_and_decoded() {
        let text = b"a=1&a=2&b&%C3%BC=%26+x&=empty&c=x=y";
        for (name, value) in [
            ("a", Some("1")),
            ("b", Some("")),
            ("ü", Some("& x")),
            ("", Some("empty")),
            ("c", Some("x=y")),
            ("d", None),
        ] {
            assert_eq!(find(text, name).as_deref(), value, "{name}");
        }
        assert_eq!(find(b"", ""), None);
        assert_eq!(find(b"a=%ff", "a").as_deref(), Some("\u{fffd}"));
    }
}
