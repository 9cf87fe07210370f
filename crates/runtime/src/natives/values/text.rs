//! Work on the bytes of texts: kinds of characters, search, and encodings. The kernel asks for large
//! texts piece by piece (`K.pieces`), so that each call is short.

use crate::engine::memory;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
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

/// Bytes that `utf8Until` checks in one call.
const LOOKED_AT: usize = 256 * 1024;

/// Base 64 (RFC 4648 section 4). A text to decode may be without padding.
const BASE64: GeneralPurpose = {
    let padding = DecodePaddingMode::Indifferent;
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(padding);
    GeneralPurpose::new(&STANDARD, lenient.with_decode_allow_trailing_bits(true))
};

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
            stack.with_bytes(-1, &mut *act);
            stack.pop(1);
        }
    };
    let mut size = separator.len() * count;
    each(&mut |text| size += text.len());
    // Until the engine has its copy, the text is in memory twice.
    if memory::would_exceed(size.saturating_mul(2)) {
        return Reply::Now(Given::TooLarge);
    }
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
fn range<'a>(arguments: Arguments<'a>, from: c_int, to: c_int) -> &'a [u8] {
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
        // A character that continues in the next piece.
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

/// `(text, from, count)`: the position after `count` characters, at most one past the end.
fn characters_on(_: &Isolate, arguments: Arguments) -> Reply {
    let (text, from) = (arguments.bytes(1), offset(arguments, 2));
    let mut left = arguments.number(3) as usize;
    let rest = text.get(from..).unwrap_or_default();
    // The last of them ends where the next character begins.
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
    Reply::Now(Given::Text(BASE64.encode(range(arguments, 2, 3))))
}

/// `(text, from, to)`: the bytes of base 64 without white space and padding. A piece that others
/// follow has a multiple of four digits.
fn base64_decoded(_: &Isolate, arguments: Arguments) -> Reply {
    match BASE64.decode(range(arguments, 2, 3)) {
        Ok(bytes) => Reply::Now(Given::Bytes(bytes.into())),
        Err(_) => Reply::Failed(Error::new(Kind::Invalid, "this is not base 64")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_in_pieces_and_without_padding() {
        assert_eq!(BASE64.encode("foob"), "Zm9vYg==");
        assert_eq!(BASE64.decode("Zm9vYg").unwrap(), b"foob");
        assert_eq!(BASE64.decode("Zm9vYh").unwrap(), b"foob");
        assert!(BASE64.decode("Z").is_err());
        assert!(BASE64.decode("Zg?w").is_err());
    }
}
