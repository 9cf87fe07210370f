//! JSON strings, with a fast path for single words: answers consist of them.

use crate::format::digits::append;
use runnel_store::json::write_text;

/// Longest text, in bytes, that is quoted on the stack and copied once. Most words are shorter.
const SHORT: usize = 14;

fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Appends `text` as a JSON string. UTF-8 and slashes stay, `"`, `\` and control characters are
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
    write_text(text, out);
}

#[cfg(test)]
mod tests {
    use super::write_string;

    #[test]
    fn escapes_only_what_json_demands() {
        let mut out = Vec::new();
        write_string("a/\u{fc}\"\\\n\u{0}\u{1f}\u{7f}", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "\"a/\u{fc}\\\"\\\\\\n\\u0000\\u001f\u{7f}\"");
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
