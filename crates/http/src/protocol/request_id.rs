//! Request ids: the client's `X-Request-Id` when well formed, otherwise a new one.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The header that carries the id in a request and its response.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The longest accepted id, in bytes: longer than those of common proxies, short enough for a log
/// line.
const LONGEST: usize = 128;

/// The id of a request: its own when it has exactly one well-formed id, a new one otherwise.
///
/// Well formed are 1 to 128 letters, digits and `-._~:/+=@`: nothing that could end a line, a
/// quotation or an HTML element.
pub(crate) fn of(headers: &HeaderMap) -> HeaderValue {
    let mut sent = headers.get_all(HEADER).iter();
    match (sent.next(), sent.next()) {
        (Some(name), None) if is_well_formed(name.as_bytes()) => name.clone(),
        _ => generate(),
    }
}

fn is_well_formed(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:/+=@".contains(byte);
    (1..=LONGEST).contains(&name.len()) && name.iter().all(allowed)
}

/// A new id: 32 hexadecimal digits.
fn generate() -> HeaderValue {
    let mut digits = [0; 32];
    hexadecimal(random(), &mut digits[..16]);
    hexadecimal(random(), &mut digits[16..]);
    // Digits are always valid in a header.
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("0"))
}

/// Writes the last hexadecimal digits of a number that fit.
fn hexadecimal(number: u64, into: &mut [u8]) {
    let mut left = number;
    for digit in into.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(left & 15) as usize];
        left >>= 4;
    }
}

thread_local! {
    /// The generator state of this thread; 0 before its first number.
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// 64 random bits without collisions: SplitMix64 (Steele, Lea and Flood, 2014), seeded by the
/// system. Not for secrets.
pub(crate) fn random() -> u64 {
    let mut state = STATE.get();
    if state == 0 {
        state = RandomState::new().build_hasher().finish() | 1;
    }
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> HeaderValue {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(HEADER, HeaderValue::from_str(name).unwrap());
        }
        of(&headers)
    }

    #[test]
    fn a_well_formed_name_is_taken_over() {
        for good in ["a", "7f-3.A_~:/+=@", &"x".repeat(LONGEST)] {
            assert_eq!(named(&[good]), good);
        }
    }

    #[test]
    fn any_other_is_replaced() {
        let long = "x".repeat(LONGEST + 1);
        for bad in [&[][..], &[""], &["a b"], &["<b>"], &["a\"b"], &[&long], &["a", "b"]] {
            let made = named(bad);
            assert_eq!(made.len(), 32, "{bad:?}");
            assert!(made.as_bytes().iter().all(u8::is_ascii_hexdigit));
        }
    }

    #[test]
    fn made_names_differ() {
        let names: std::collections::HashSet<_> = (0..10_000).map(|_| random()).collect();
        assert_eq!(names.len(), 10_000);
        assert_ne!(generate(), generate());
    }

    #[test]
    fn numbers_are_written_with_all_their_digits() {
        let mut digits = [0; 16];
        hexadecimal(0xfeed, &mut digits);
        assert_eq!(&digits, b"000000000000feed");
    }
}
