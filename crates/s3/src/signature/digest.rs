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

/// The 32 bytes of 64 hexadecimal digits.
pub(crate) fn hash_of_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(hash)
}

/// Whether two texts are the same, in a time that depends on their lengths only.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_read_as_they_are_written() {
        let hash = hash_of_hex(super::super::EMPTY_HASH);
        assert_eq!(hash.map(|hash| hex(&hash)).as_deref(), Some(sha256_hex(b"").as_str()));
        for wrong in ["", "e3b0", &"g".repeat(64), &"+1".repeat(32), &"0".repeat(65)] {
            assert_eq!(hash_of_hex(wrong), None, "{wrong}");
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
