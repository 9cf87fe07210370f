//! The token of the admin port: sent as `Authorization: Bearer`, or as the password of `Basic`, for
//! which browsers prompt.

use std::fmt;
use std::hint::black_box;

/// The shortest token, in bytes, against guessing.
const SHORTEST: usize = 16;
/// The longest token, in bytes.
const LONGEST: usize = 256;

/// The secret of the admin port.
#[derive(Clone, PartialEq, Eq)]
pub struct AdminToken(String);

impl AdminToken {
    /// A token of 16 to 256 visible ASCII characters; `None` for any other text.
    pub fn new(text: &str) -> Option<AdminToken> {
        let fits = (SHORTEST..=LONGEST).contains(&text.len());
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        (fits && is_visible).then(|| AdminToken(text.to_string()))
    }

    /// Whether an `Authorization` value contains it.
    pub(crate) fn is_in(&self, authorization: &str) -> bool {
        let Some((scheme, rest)) = authorization.trim().split_once(' ') else { return false };
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.is(rest.as_bytes());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let Some(pair) = decode(rest.as_bytes()) else { return false };
        let mut parts = pair.splitn(2, |byte| *byte == b':');
        parts.nth(1).is_some_and(|password| self.is(password))
    }

    /// Compares in constant time: the duration reveals only the length of the token.
    fn is(&self, other: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let pairs = own.iter().zip(other);
        let differing =
            pairs.fold(0, |differing, (one, other)| black_box(differing | (one ^ other)));
        own.len() == other.len() && differing == 0
    }
}

/// Without the token.
impl fmt::Debug for AdminToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AdminToken(…)")
    }
}

/// Decodes Base64 (RFC 4648 section 4); `None` for other text.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len()), 0u32, 0);
    for letter in text {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(six), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_visible() {
        for wrong in ["", "short", "fifteen-letters", "with a blank in it", "größer-als-sechzehn"]
        {
            assert_eq!(AdminToken::new(wrong), None, "{wrong}");
        }
        assert_eq!(AdminToken::new(&"a".repeat(257)), None);
        let token = AdminToken::new("sixteen-letters!").unwrap();
        assert!(!format!("{token:?}").contains("sixteen"));
    }

    #[test]
    fn a_token_comes_as_bearer_or_as_a_password() {
        let token = AdminToken::new("sixteen-letters!").unwrap();
        for right in [
            "Bearer sixteen-letters!",
            "bearer  sixteen-letters!",
            "Basic YWRtaW46c2l4dGVlbi1sZXR0ZXJzIQ==",
            "Basic OnNpeHRlZW4tbGV0dGVycyE=",
        ] {
            assert!(token.is_in(right), "{right}");
        }
        for wrong in [
            "",
            "Bearer",
            "Bearer sixteen-letters",
            "Bearer sixteen-letters!!",
            "Bearer sixteen-letters?",
            "sixteen-letters!",
            "Token sixteen-letters!",
            "Basic sixteen-letters!",
            "Basic c2l4dGVlbi1sZXR0ZXJzITo=",
            "Basic c2l4dGVlbi1sZXR0ZXJzIQ==",
        ] {
            assert!(!token.is_in(wrong), "{wrong}");
        }
    }
}
