//! One-time codes of authenticator apps: HOTP (RFC 4226) and TOTP (RFC 6238).

use ring::hmac;
use subtle::ConstantTimeEq;

/// The hash of the codes. Nearly all apps know SHA-1 only, which HMAC does not weaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CodeHash {
    Sha1,
    Sha256,
    Sha512,
}

/// The codes of one secret.
pub struct OneTimeCode<'a> {
    /// The secret that the app and the server share.
    pub secret: &'a [u8],
    /// The hash.
    pub hash: CodeHash,
    /// Decimal digits of a code, from 6 to 8.
    pub digits: u32,
}

impl OneTimeCode<'_> {
    /// The code of a counter (RFC 4226 section 5.3).
    pub fn at(&self, counter: u64) -> String {
        let algorithm = match self.hash {
            CodeHash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            CodeHash::Sha256 => hmac::HMAC_SHA256,
            CodeHash::Sha512 => hmac::HMAC_SHA512,
        };
        let tag = hmac::sign(&hmac::Key::new(algorithm, self.secret), &counter.to_be_bytes());
        let bytes = tag.as_ref();
        let offset = usize::from(bytes.last().copied().unwrap_or_default() & 15);
        let four = bytes.get(offset..).and_then(|rest| rest.first_chunk::<4>());
        let number = u32::from_be_bytes(four.copied().unwrap_or_default()) & 0x7fff_ffff;
        let digits = self.digits.clamp(6, 8);
        format!("{:0width$}", number % 10_u32.pow(digits), width = digits as usize)
    }

    /// The counter of a code among these: the last match, in constant time for each.
    pub fn find(&self, code: &str, counters: impl Iterator<Item = u64>) -> Option<u64> {
        let fits = |counter: u64| bool::from(self.at(counter).as_bytes().ct_eq(code.as_bytes()));
        counters.fold(None, |found, counter| if fits(counter) { Some(counter) } else { found })
    }
}

/// The alphabet of base 32 (RFC 4648 section 6).
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Base 32 without padding, as apps expect secrets.
pub fn base32(bytes: &[u8]) -> String {
    let digit = |group: &[u8], at: usize| {
        // Five bits from bit `at` on; bits behind the end are zero.
        let two = u16::from(group.get(at / 8).copied().unwrap_or_default()) << 8
            | u16::from(group.get(at / 8 + 1).copied().unwrap_or_default());
        char::from(ALPHABET[usize::from(two >> (11 - at % 8) & 31)])
    };
    (0..bytes.len() * 8).step_by(5).map(|at| digit(bytes, at)).collect()
}

/// The bytes of base 32, in any case, with or without padding and spaces.
pub fn base32_decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| !matches!(byte, b' ' | b'=' | b'-')) {
        let digit = ALPHABET.iter().position(|one| *one == byte.to_ascii_uppercase())?;
        held = held << 5 | u32::try_from(digit).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}
