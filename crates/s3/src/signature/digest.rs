//! SHA-256 as text, and comparison of secrets.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The hexadecimal digits of a hash in lower case, as signatures have them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The SHA-256 hash of bytes as hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether a text is a SHA-256 hash: 64 hexadecimal digits.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Whether two texts are the same, in a time that depends on their lengths only.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_64_digits() {
        assert_eq!(sha256_hex(b""), super::super::EMPTY_HASH);
        assert!(is_hash(&sha256_hex(b"a")));
        for wrong in ["", "e3b0", &"g".repeat(64), &"+1".repeat(32), &"0".repeat(65)] {
            assert!(!is_hash(wrong), "{wrong}");
        }
    }

    #[test]
    fn texts_are_compared_as_a_whole() {
        assert!(is_same("abc", "abc"));
        for other in ["abd", "ab", "abcd", ""] {
            assert!(!is_same("abc", other));
        }
    }
}
