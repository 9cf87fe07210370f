//! Work on the bytes of texts: kinds of characters, search, and encodings. The kernel asks for large
//! texts piece by piece (`K.pieces`), so that each call is short.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use bytes::Bytes;
use memchr::memmem;
use runnel_store::{Error, Kind};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 12] = [
    ("joinTexts", join_texts),
    ("uppercase", uppercase),
    ("lowercase", lowercase),
    ("isAscii", is_ascii),
    ("utf8Until", utf8_until),
    ("findText", find_text),
    ("findLastText", find_last_text),
    ("charactersOn", characters_on),
    ("countCharacters", count_characters),
    ("hex", hex),
    ("base64", base64),
    ("base64Decoded", base64_decoded),
];

/// Bytes that `utf8Until` looks at in one call.
const LOOKED_AT: usize = 256 * 1024;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn uppercase(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(arguments.text(1).to_uppercase()))
}

fn lowercase(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(arguments.text(1).to_lowercase()))
}

/// `(list, count, separator)`: the texts of a list as one.
fn join_texts(_: &Isolate, arguments: Arguments) -> Reply {
    let (stack, count) = (arguments.0, arguments.number(2) as usize);
    let separator = arguments.bytes(3);
    let each = |act: &mut dyn FnMut(&[u8])| {
        for position in 1..=count {
            stack.get_element(1, position);
            act(stack.bytes(-1));
            stack.pop(1);
        }
    };
    let mut size = separator.len() * count;
    each(&mut |text| size += text.len());
    let mut joined = Vec::with_capacity(size);
    each(&mut |text| {
        joined.extend_from_slice(text);
        joined.extend_from_slice(separator);
    });
    joined.truncate(size.saturating_sub(separator.len()));
    Reply::Now(Given::Bytes(joined.into()))
}

/// `(text)`: whether each character is one byte.
fn is_ascii(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Boolean(arguments.bytes(1).is_ascii()))
}

/// A position that the kernel counts from 1, as an offset.
fn offset(arguments: Arguments, at: c_int) -> usize {
    (arguments.number(at) as usize).saturating_sub(1)
}

/// The bytes of the first argument between two positions, the second one included.
fn range<'a>(arguments: Arguments, from: c_int, to: c_int) -> &'a [u8] {
    let bytes = arguments.bytes(1);
    let to = (arguments.number(to) as usize).min(bytes.len());
    bytes.get(offset(arguments, from)..to).unwrap_or_default()
}

fn position(offset: usize) -> Reply {
    Reply::Now(Given::Number((offset + 1) as f64))
}

/// `(bytes, from)`: the position up to which they are UTF-8, some way on; `from` itself where they
/// are not.
fn utf8_until(_: &Isolate, arguments: Arguments) -> Reply {
    let (bytes, from) = (arguments.bytes(1), offset(arguments, 2));
    let to = bytes.len().min(from + LOOKED_AT);
    let piece = bytes.get(from..to).unwrap_or_default();
    position(match std::str::from_utf8(piece) {
        Ok(_) => to,
        // A character that goes on in the next piece.
        Err(error) if error.error_len().is_none() && to < bytes.len() => from + error.valid_up_to(),
        Err(_) => from,
    })
}

/// `(text, part, from)`: the position of a part at or after another position, or nil. Takes linear time
/// whatever the part is.
fn find_text(_: &Isolate, arguments: Arguments) -> Reply {
    let (text, from) = (arguments.bytes(1), offset(arguments, 3));
    let rest = text.get(from..).unwrap_or_default();
    match memmem::find(rest, arguments.bytes(2)) {
        Some(at) => position(from + at),
        None => Reply::Now(Given::Nil),
    }
}

/// `(text, part)`: the last position of a part, or nil.
fn find_last_text(_: &Isolate, arguments: Arguments) -> Reply {
    match memmem::rfind(arguments.bytes(1), arguments.bytes(2)) {
        Some(at) => position(at),
        None => Reply::Now(Given::Nil),
    }
}

fn begins_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// `(text, from, count)`: the position after so many characters, at most one past the end.
fn characters_on(_: &Isolate, arguments: Arguments) -> Reply {
    let (text, from) = (arguments.bytes(1), offset(arguments, 2));
    let mut left = arguments.number(3) as usize;
    let rest = text.get(from..).unwrap_or_default();
    // The next character after so many ends the last of them.
    let end = rest.iter().enumerate().position(|(at, byte)| {
        if at > 0 && begins_character(*byte) || at == 0 {
            left = left.wrapping_sub(1);
        }
        left == usize::MAX
    });
    position(from + end.unwrap_or(rest.len()))
}

/// `(text, from, to)`: how many characters begin between two positions.
fn count_characters(_: &Isolate, arguments: Arguments) -> Reply {
    let bytes = range(arguments, 2, 3);
    let count = bytes.iter().filter(|byte| begins_character(**byte)).count();
    Reply::Now(Given::Number(count as f64))
}

/// `(bytes, from, to)`: two hexadecimal digits for each.
fn hex(_: &Isolate, arguments: Arguments) -> Reply {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = range(arguments, 2, 3);
    let mut out = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    Reply::Now(Given::Bytes(out.into()))
}

/// `(bytes, from, to)`: base 64 (RFC 4648 section 4). A piece that others follow has a multiple of
/// three bytes.
fn base64(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Bytes(encode_base64(range(arguments, 2, 3))))
}

fn encode_base64(bytes: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| usize::from(group.get(at).copied().unwrap_or_default());
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |shift: usize| BASE64[word >> shift & 63];
        out.extend([digit(18), digit(12)]);
        out.push(if group.len() > 1 { digit(6) } else { b'=' });
        out.push(if group.len() > 2 { digit(0) } else { b'=' });
    }
    out.into()
}

/// `(text, from, to)`: the bytes of base 64 without white space and padding. A piece that others
/// follow has a multiple of four digits.
fn base64_decoded(_: &Isolate, arguments: Arguments) -> Reply {
    match decode_base64(range(arguments, 2, 3)) {
        Some(bytes) => Reply::Now(Given::Bytes(bytes)),
        None => Reply::Failed(Error::new(Kind::Invalid, "this is not base 64")),
    }
}

fn decode_base64(text: &[u8]) -> Option<Bytes> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for group in text.chunks(4) {
        let mut word = 0;
        for digit in group {
            word = word << 6 | u32::from(base64_value(*digit)?);
        }
        if group.len() == 1 {
            return None;
        }
        // Of the last group fewer bytes are whole.
        let word = word << (6 * (4 - group.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(out.into())
}

fn base64_value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn base64_comes_back(bytes: Vec<u8>) {
            let text = encode_base64(&bytes);
            proptest::prop_assert_eq!(text.len() % 4, 0);
            let digits = text.split(|byte| *byte == b'=').next().unwrap();
            proptest::prop_assert_eq!(decode_base64(digits).unwrap(), bytes);
        }
    }

    #[test]
    fn base64_of_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode_base64(bytes.as_bytes()), text);
        }
        assert_eq!(decode_base64(b"Z"), None);
        assert_eq!(decode_base64(b"Zg?w"), None);
    }
}
