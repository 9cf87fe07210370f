//! The little of DER (X.690) that keys need: one element after another.

/// An element at the start: its tag, its content, and what follows. Lengths have up to two bytes.
pub(super) fn element(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&one, rest) = rest.split_first()?;
            (usize::from(one), rest)
        }
        0x82 => {
            let (&[high, low], rest) = rest.split_first_chunk::<2>()?;
            (usize::from(high) << 8 | usize::from(low), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The content of an element with this tag, and what follows.
pub(super) fn expect(tag: u8, input: &[u8]) -> Option<(&[u8], &[u8])> {
    element(input).filter(|(found, ..)| *found == tag).map(|(_, content, rest)| (content, rest))
}

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OBJECT: u8 = 0x06;

/// Modulus and exponent of an `RSAPublicKey` (RFC 8017, appendix A.1.1), without leading zeros.
pub(super) fn rsa_public_key(input: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (numbers, rest) = expect(SEQUENCE, input)?;
    let (modulus, numbers) = expect(INTEGER, numbers)?;
    let (exponent, numbers) = expect(INTEGER, numbers)?;
    let is_whole = rest.is_empty() && numbers.is_empty();
    is_whole.then(|| (without_zeros(modulus).to_vec(), without_zeros(exponent).to_vec()))
}

/// A number without its leading zeros.
pub(super) fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}
