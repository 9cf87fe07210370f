//! Exact decimal numbers: the binary form of `numeric`, and the texts that are one.
//!
//! The binary form is that of `numeric_send` in the server: digits to the base 10,000, the weight
//! of the first one, a sign, and how many digits stand after the point.

/// The text of a binary `numeric`: exactly its digits. `None` when the bytes are malformed.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let word = |at: usize| Some(i16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (count, weight, sign, scale) = (word(0)?, word(2)?, word(4)? as u16, word(6)?);
    match sign {
        0xC000 => return Some("NaN".into()),
        0xD000 => return Some("Infinity".into()),
        0xF000 => return Some("-Infinity".into()),
        0x0000 | 0x4000 => {}
        _ => return None,
    }
    let (count, scale) = (usize::try_from(count).ok()?, usize::try_from(scale).ok()?);
    let digits = bytes.get(8..8 + count * 2)?;
    let digit = |index: i32| {
        let index = usize::try_from(index).ok().filter(|index| *index < count);
        index.map_or(0, |index| i16::from_be_bytes([digits[index * 2], digits[index * 2 + 1]]))
    };
    let weight = i32::from(weight);
    let mut out = String::with_capacity(count * 4 + scale + 4);
    if sign == 0x4000 {
        out.push('-');
    }
    if weight < 0 {
        out.push('0');
    }
    for index in 0..=weight {
        let group = digit(index);
        if index == 0 {
            out.push_str(&group.to_string())
        } else {
            out.push_str(&format!("{group:04}"))
        }
    }
    if scale > 0 {
        out.push('.');
        let from = out.len();
        let mut index = weight + 1;
        while out.len() - from < scale {
            out.push_str(&format!("{:04}", digit(index)));
            index += 1;
        }
        out.truncate(from + scale);
    }
    Some(out)
}

/// The most characters that a decimal number may have here: PostgreSQL's own bound is 131,072
/// digits before the point and 16,383 after it.
pub(crate) const DECIMAL_LENGTH: usize = 131_072;

/// Whether a text is a decimal number as one writes it: `-12.30`, without an exponent.
pub(crate) fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= DECIMAL_LENGTH && all(whole) && all(fraction)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn binary(weight: i16, sign: u16, scale: i16, digits: &[i16]) -> Vec<u8> {
        let head = [digits.len() as i16, weight, sign as i16, scale];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn digits_are_exact() {
        let check = |weight, sign, scale, digits: &[i16], expected: &str| {
            assert_eq!(text(&binary(weight, sign, scale, digits)).unwrap(), expected);
        };
        check(0, 0, 2, &[12, 3000], "12.30");
        check(0, 0x4000, 0, &[7], "-7");
        check(-1, 0, 4, &[5], "0.0005");
        check(-2, 0, 8, &[5], "0.00000005");
        check(2, 0, 0, &[1], "100000000");
        check(1, 0, 1, &[1, 2, 5000], "10002.5");
        check(0, 0, 3, &[], "0.000");
        check(0, 0xC000, 0, &[], "NaN");
        assert_eq!(text(&[0, 9, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(text(&[]), None);
    }

    #[test]
    fn what_is_a_decimal() {
        for good in ["0", "-12.30", "+1", "007.5", "100000000000000000000.1"] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in ["", "-", ".", "1.", ".5", "1e3", "NaN", " 1", "1,5", "٣"] {
            assert!(!is_decimal(bad), "{bad}");
        }
    }
}
