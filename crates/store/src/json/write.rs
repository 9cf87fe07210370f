//! Values to JSON text.

use crate::Value;

/// Appends a value as compact JSON.
///
/// Bytes are written as base64 text (RFC 4648 section 4), and numbers that JSON cannot say (not a
/// number, infinities) as `null`. A float keeps a `.0` or an exponent, so that it is read back as
/// a float.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => write_int(*number, out),
        Value::Big(digits) => out.extend_from_slice(digits.as_bytes()),
        Value::Float(number) => write_float(*number, out),
        Value::Text(text) => write_text(text, out),
        Value::Bytes(bytes) => write_bytes(bytes, out),
        Value::List(elements) => {
            out.push(b'[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(element, out);
            }
            out.push(b']');
        }
        Value::Record(fields) => {
            out.push(b'{');
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

/// A value as compact JSON text.
pub fn text(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    write(value, &mut out);
    out
}

/// Appends text as a JSON string with its quotes. Only what must be escaped is: the quote, the
/// backslash and control characters.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let plain = plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(&byte) = rest.get(plain) else { break };
        write_escape(byte, out);
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

/// Appends bytes that should be UTF-8 as [`write_text`] does; invalid bytes become U+FFFD. ASCII,
/// the common case in databases, is validated and copied in one pass, eight bytes per step.
pub fn write_utf8(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let word = u64::from_le_bytes(eight);
        if is_plain(word) {
            out.extend_from_slice(&eight);
        } else if word & HIGH == 0 {
            eight.into_iter().for_each(|byte| write_ascii(byte, out));
        } else {
            out.truncate(start);
            return write_text(&String::from_utf8_lossy(text), out);
        }
    }
    let rest = chunks.remainder();
    if let (Some(&last), false) = (text.last_chunk(), rest.is_empty())
        && is_plain(u64::from_le_bytes(last))
    {
        // The last eight at once: those of them that were written already are plain, too.
        out.truncate(out.len() - (last.len() - rest.len()));
        out.extend_from_slice(&last);
        return out.push(b'"');
    }
    if !rest.is_ascii() {
        out.truncate(start);
        return write_text(&String::from_utf8_lossy(text), out);
    }
    rest.iter().for_each(|byte| write_ascii(*byte, out));
    out.push(b'"');
}

/// Whether eight bytes are ASCII and need no escape.
fn is_plain(word: u64) -> bool {
    (word | special(word)) & HIGH == 0
}

fn write_ascii(byte: u8, out: &mut Vec<u8>) {
    match needs_escape(byte) {
        true => write_escape(byte, out),
        false => out.push(byte),
    }
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Length of the prefix that needs no escape in a JSON string. Reads eight bytes per step with the
/// usual test of the high bits after a subtraction ("Bit Twiddling Hacks", hasless and haszero). A
/// borrow can only disturb bytes above the first hit, and only the first hit is used.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut chunks = bytes.chunks_exact(8);
    let mut at = 0;
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let word = u64::from_le_bytes(eight);
        let hits = special(word);
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = chunks.remainder();
    at + rest.iter().position(|&byte| needs_escape(byte)).unwrap_or(rest.len())
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// The high bits of bytes that need an escape; exact up to the lowest set bit.
fn special(word: u64) -> u64 {
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    ((word.wrapping_sub(ONES * 0x20) & !word)
        | (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash))
        & HIGH
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends an integer in decimal.
pub fn write_int(number: i64, out: &mut Vec<u8>) {
    // Flags and small counts are most of what there is.
    if let 0..=9 = number {
        return out.push(b'0' + number as u8);
    }
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a float: the shortest digits that are read back as the same number, `null` for what
/// JSON cannot say.
pub fn write_float(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends bytes as a JSON string of base64 with padding (RFC 4648 section 4).
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4 + 2);
    out.push(b'"');
    for chunk in bytes.chunks(3) {
        let part = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place) & 63) as usize;
            out.push(if place <= chunk.len() { ALPHABET[index] } else { b'=' });
        }
    }
    out.push(b'"');
}
