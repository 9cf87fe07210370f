//! Names and values of headers, as options give them.

use crate::{Bounds, SettingKind, SettingValue, Value, Wanted};

/// The longest value of a header in an option, in bytes.
const LONGEST: usize = 4096;
/// The longest name of a header in an option.
const LONGEST_NAME: usize = 128;

/// Headers that the server alone sets: they frame a message.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a text can be the value of a header (RFC 9110 section 5.5), without line breaks.
pub(super) fn is_value(text: &str) -> bool {
    text.len() <= LONGEST && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The name of a header in lower case, if an option may name it (RFC 9110 section 5.1).
pub(super) fn header_name(name: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let good = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed);
    let name = name.to_ascii_lowercase();
    (good && !FRAMING.contains(&name.as_str())).then_some(name)
}

/// The value of a header that `false` leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionalHeader(pub Option<String>);

impl OptionalHeader {
    pub(super) fn new(text: &str) -> OptionalHeader {
        OptionalHeader(Some(text.to_string()))
    }
}

impl SettingValue for OptionalHeader {
    fn kind(&self) -> SettingKind {
        SettingKind::Any
    }

    fn assign(&mut self, value: &Value, _: Bounds) -> Result<(), Wanted> {
        self.0 = match value {
            Value::Bool(false) => None,
            Value::Text(text) if !text.is_empty() && is_value(text) => Some(text.clone()),
            _ => return Err("the text of a header, or false".into()),
        };
        Ok(())
    }

    fn shown(&self) -> String {
        self.0.as_ref().map_or_else(|| "false".to_string(), |text| format!("'{text}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_that_could_split_a_response_are_refused() {
        assert_eq!(header_name("X-Frame-Options").as_deref(), Some("x-frame-options"));
        for bad in ["", "a b", "a:b", "a\r\nb", "Content-Length", "connection", "ü"] {
            assert_eq!(header_name(bad), None, "{bad:?}");
        }
        assert!(is_value("default-src 'self'; img-src *") && is_value(""));
        for bad in ["a\r\nSet-Cookie: b", "a\nb", "ü", "\0", "\u{7f}"] {
            assert!(!is_value(bad), "{bad:?}");
        }
    }
}
