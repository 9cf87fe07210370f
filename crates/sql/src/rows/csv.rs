//! Rows as comma-separated values (RFC 4180).

use crate::rows::columns::ResultColumns;

/// The line with the names of the columns.
pub(crate) fn header(columns: &ResultColumns, out: &mut Vec<u8>) {
    for (index, name) in columns.names.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        text(name.as_bytes(), out);
    }
    out.extend_from_slice(b"\r\n");
}

/// Quoted where it must be, and where readers would take blanks at its ends away.
pub(crate) fn text(text: &[u8], out: &mut Vec<u8>) {
    let special = memchr::memchr3(b',', b'"', b'\n', text).is_some()
        || memchr::memchr(b'\r', text).is_some()
        || text.first().is_none_or(|first| *first == b' ')
        || text.last() == Some(&b' ');
    if !special {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for byte in text {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}
