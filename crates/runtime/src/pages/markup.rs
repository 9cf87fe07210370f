//! Markup buffers in memory that the kernel owns (markup.lua): escaping a text into one, and reading a
//! finished page.
#![allow(unsafe_code)]

use crate::engine::stack::{Stack, Type};
use bytes::Bytes;
use std::os::raw::c_int;

/// Bytes that one byte becomes at most.
const GROWTH: usize = 6;

/// What stands for a byte in a text of HTML (Living Standard, section 13.3) and in quoted attributes.
const fn reference(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'&' => Some(b"&amp;"),
        b'<' => Some(b"&lt;"),
        b'>' => Some(b"&gt;"),
        b'"' => Some(b"&quot;"),
        b'\'' => Some(b"&#39;"),
        _ => None,
    }
}

/// Whether a byte is written as it is.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = reference(byte as u8).is_none();
        byte += 1;
    }
    plain
};

/// The form of [`escape_into`].
// SAFETY: a type only; who calls it keeps to what the function asks for.
pub(crate) type Escape = unsafe extern "C" fn(*mut u8, *const u8, u32) -> u32;

/// Escapes `length` bytes of a text into a target; answers how many bytes it wrote.
///
/// # Safety
/// The text has that many bytes, and the target has room for [`GROWTH`] times as many.
// SAFETY: called by markup.lua only, which sets the room aside before.
pub(crate) unsafe extern "C" fn escape_into(target: *mut u8, text: *const u8, length: u32) -> u32 {
    if length == 0 {
        return 0;
    }
    let length = length as usize;
    // SAFETY: as the caller promises; both live during the call and do not overlap.
    let (text, target) = unsafe {
        (
            std::slice::from_raw_parts(text, length),
            std::slice::from_raw_parts_mut(
                target.cast::<std::mem::MaybeUninit<u8>>(),
                length * GROWTH,
            ),
        )
    };
    escape(text, target) as u32
}

/// Escapes a text; answers how many bytes were written.
fn escape(text: &[u8], target: &mut [std::mem::MaybeUninit<u8>]) -> usize {
    let mut written = 0;
    let mut write = |bytes: &[u8]| {
        if let Some(place) = target.get_mut(written..written + bytes.len()) {
            place.write_copy_of_slice(bytes);
            written += bytes.len();
        }
    };
    let mut rest = text;
    loop {
        let plain = rest.iter().position(|byte| !PLAIN[usize::from(*byte)]).unwrap_or(rest.len());
        write(&rest[..plain]);
        let Some(byte) = rest.get(plain) else { return written };
        write(reference(*byte).unwrap_or_default());
        rest = &rest[plain + 1..];
    }
}

/// The bytes of a page that the kernel has handed over, a table of their address and length. The
/// buffer around them may be used again then.
pub(crate) fn handed_over(stack: Stack, index: c_int) -> Bytes {
    stack.get_element(index, 1);
    stack.get_element(index, 2);
    let (address, length) = (stack.number(-2), stack.number(-1));
    let there = stack.kind(-2) == Type::Number && length > 0.0;
    stack.pop(2);
    let bytes = match there {
        // SAFETY: `K.handOver` says where the bytes lie in a buffer that the table holds, and nothing
        // writes there before its first element is taken away. An address is less than 2^53.
        true => unsafe {
            let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
            Bytes::copy_from_slice(std::slice::from_raw_parts(start, length as usize))
        },
        false => Bytes::new(),
    };
    stack.push_boolean(false);
    stack.set_element(index, 1);
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{GROWTH, escape_into};

    fn escaped(text: &str) -> String {
        let mut target = vec![0; text.len() * GROWTH];
        // SAFETY: the target has the room.
        let written = unsafe { escape_into(target.as_mut_ptr(), text.as_ptr(), text.len() as u32) };
        target.truncate(written as usize);
        String::from_utf8(target).unwrap()
    }

    #[test]
    fn what_means_something_in_markup_is_written_as_a_reference() {
        assert_eq!(escaped(""), "");
        assert_eq!(escaped("plain é"), "plain é");
        assert_eq!(
            escaped("<a href=\"x\">Tom & Jerry's</a>"),
            "&lt;a href=&quot;x&quot;&gt;Tom &amp; Jerry&#39;s&lt;/a&gt;"
        );
        assert_eq!(escaped(&"\"".repeat(100)), "&quot;".repeat(100));
    }
}
