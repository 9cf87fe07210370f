//! JSON strings, written directly into a byte buffer.

use crate::format::digits::append;

/// Texts up to this many bytes, like most words, are put together before they are copied.
const SHORT: usize = 14;

fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Appends `text` as a JSON string: UTF-8 and slashes as they are, `"`, `\` and control characters
/// escaped.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    if bytes.len() <= SHORT && bytes.iter().all(|byte| is_plain(*byte)) {
        let mut quoted = [b'"'; SHORT + 2];
        for (place, byte) in quoted[1..].iter_mut().zip(bytes) {
            *place = *byte;
        }
        return append(&quoted, bytes.len() + 2, out);
    }
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if bytes.iter().all(|byte| is_plain(*byte)) {
        out.extend_from_slice(bytes);
        return out.push(b'"');
    }
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if is_plain(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::write_string;

    #[test]
    fn escapes_only_what_json_demands() {
        let mut out = Vec::new();
        write_string("a/\u{fc}\"\\\n\u{0}\u{1f}\u{7f}", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "\"a/\u{fc}\\\"\\\\\\n\\u0000\\u001F\u{7f}\"");
    }

    proptest::proptest! {
        #[test]
        fn any_text_reads_back(text: String) {
            let mut out = Vec::new();
            write_string(&text, &mut out);
            let back: Result<String, _> = serde_json::from_slice(&out);
            proptest::prop_assert_eq!(back.ok(), Some(text));
        }
    }
}
