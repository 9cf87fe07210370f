//! The header section of a part (RFC 7578 section 4).

use super::limits::malformed;
use runnel_store::{PartHead, Result};

/// What the lines of a header section say.
pub(super) fn read_head(lines: &[u8]) -> Result<PartHead> {
    let lines = std::str::from_utf8(lines);
    let lines = lines.map_err(|_| malformed("the headers of a part are not UTF-8"))?;
    let (mut disposition, mut media_type) = (None, None);
    for line in lines.split("\r\n") {
        let (name, value) =
            line.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition = Some(value);
        } else if name.eq_ignore_ascii_case("content-type") {
            media_type = Some(value.trim().to_string());
        }
    }
    let disposition = disposition.ok_or_else(|| malformed("a part has no content disposition"))?;
    let (kind, parameters) = disposition.split_once(';').unwrap_or((disposition, ""));
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err(malformed("a part is no form data"));
    }
    let (mut field, mut file_name) = (None, None);
    for (key, value) in Parameters(parameters) {
        if key.eq_ignore_ascii_case("name") {
            field = Some(value);
        } else if key.eq_ignore_ascii_case("filename") {
            file_name = Some(value);
        }
    }
    let field = field.ok_or_else(|| malformed("a part has no name"))?;
    Ok(PartHead { field, file_name, media_type })
}

/// The parameters after a `;`: `name=value` or `name="value"`.
pub(super) struct Parameters<'a>(pub(super) &'a str);

impl Iterator for Parameters<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<(String, String)> {
        let text = self.0.trim_start_matches([' ', '\t', ';']);
        let (name, rest) = text.split_once('=')?;
        let Some(quoted) = rest.strip_prefix('"') else {
            let (value, rest) = rest.split_once(';').unwrap_or((rest, ""));
            self.0 = rest;
            return Some((name.trim().to_string(), value.trim().to_string()));
        };
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.0 = &quoted[at + 1..];
                    return Some((name.trim().to_string(), unescape(&value)));
                }
                // Other backslashes belong to the name, as browsers send them.
                '\\' if quoted[at + 1..].starts_with('"') => {
                    value.push('"');
                    characters.next();
                }
                other => value.push(other),
            }
        }
        // The closing quote is missing.
        self.0 = "";
        None
    }
}

/// Decodes the three characters that browsers escape in names (HTML standard,
/// "multipart/form-data").
fn unescape(text: &str) -> String {
    text.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}
