//! `multipart/form-data` in memory (RFC 7578, RFC 2046 section 5.1): fields and small files of a form.

use bytes::Bytes;
use memchr::memmem;
use runnel_store::{Error, Kind, Result, Value};

/// The most parts of a form.
pub(crate) const MOST_PARTS: usize = 256;
/// The largest field, in bytes.
pub(crate) const LARGEST_FIELD: usize = 1024 * 1024;
/// The largest header section of a part, in bytes.
const LARGEST_HEAD: usize = 8 * 1024;
/// The longest boundary, in bytes (RFC 2046 section 5.1.1).
const LONGEST_BOUNDARY: usize = 70;

/// A field or a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormPart {
    pub(crate) name: String,
    /// Text for a field; a record of `name`, `mediaType` and `data` for a file.
    pub(crate) value: Value,
}

fn malformed(what: &str) -> Error {
    Error::new(Kind::Invalid, format!("the form is malformed: {what}"))
}

fn too_large(what: String) -> Error {
    Error::new(Kind::TooLarge, what)
}

/// The boundary of a `multipart/form-data` content type.
pub(crate) fn boundary(media_type: &str) -> Option<Result<String>> {
    let (essence, parameters) = media_type.split_once(';').unwrap_or((media_type, ""));
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named = Parameters(parameters).find(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    Some(match named {
        Some((_, boundary)) if is_boundary(&boundary) => Ok(boundary),
        _ => Err(malformed("its content type names no valid boundary")),
    })
}

fn is_boundary(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    (1..=LONGEST_BOUNDARY).contains(&text.len()) && text.bytes().all(known)
}

/// The parts of a body, in order. An empty file input is left out.
pub(crate) fn parse(body: &Bytes, boundary: &str) -> Result<Vec<FormPart>> {
    let delimiter = format!("\r\n--{boundary}");
    let finder = memmem::Finder::new(&delimiter);
    // At the start of the body the first delimiter has no line break before it.
    let mut at = match body.strip_prefix(&delimiter.as_bytes()[2..]) {
        Some(_) => delimiter.len() - 2,
        None => finder.find(body).ok_or_else(|| malformed("it has no boundary"))? + delimiter.len(),
    };
    let mut parts = Vec::new();
    for _ in 0..=MOST_PARTS {
        let rest = body.get(at..).unwrap_or_default();
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if rest.get(blank..blank + 2) != Some(b"\r\n") {
            return Err(malformed("a boundary is not the end of its line"));
        }
        let start = at + blank;
        let end = finder.find(body.get(start..).unwrap_or_default());
        let end = start + end.ok_or_else(|| malformed("it ends within a part"))?;
        // A part without headers starts with the empty line.
        let part = body.slice((start + 2).min(end)..end);
        parts.extend(read_part(&part)?);
        at = end + delimiter.len();
    }
    Err(too_large(format!("a form has at most {MOST_PARTS} parts")))
}

fn read_part(part: &Bytes) -> Result<Option<FormPart>> {
    let head = memmem::find(part, b"\r\n\r\n");
    let head = head.ok_or_else(|| malformed("a part has no header section"))?;
    if head > LARGEST_HEAD {
        return Err(too_large(format!("the headers of a part have at most {LARGEST_HEAD} bytes")));
    }
    let data = part.slice(head + 4..);
    let head = std::str::from_utf8(&part[..head]);
    let head = head.map_err(|_| malformed("the headers of a part are not UTF-8"))?;
    let (mut disposition, mut media_type) = (None, None);
    for line in head.split("\r\n") {
        let (name, value) =
            line.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition = Some(value);
        } else if name.eq_ignore_ascii_case("content-type") {
            media_type = Some(value.trim());
        }
    }
    let disposition = disposition.ok_or_else(|| malformed("a part has no content disposition"))?;
    let (kind, parameters) = disposition.split_once(';').unwrap_or((disposition, ""));
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return Err(malformed("a part is no form data"));
    }
    let (mut name, mut file) = (None, None);
    for (key, value) in Parameters(parameters) {
        if key.eq_ignore_ascii_case("name") {
            name = Some(value);
        } else if key.eq_ignore_ascii_case("filename") {
            file = Some(value);
        }
    }
    let name = name.ok_or_else(|| malformed("a part has no name"))?;
    let value = match file {
        Some(file) if file.is_empty() && data.is_empty() => return Ok(None),
        Some(file) => {
            let media_type = media_type.unwrap_or("application/octet-stream").to_string();
            Value::Record(vec![
                ("name".to_string(), Value::Text(file)),
                ("mediaType".to_string(), Value::Text(media_type)),
                ("data".to_string(), Value::Bytes(data)),
            ])
        }
        None if data.len() > LARGEST_FIELD => {
            return Err(too_large(format!("a field of a form has at most {LARGEST_FIELD} bytes")));
        }
        None => {
            let text = std::str::from_utf8(&data);
            Value::Text(text.map_err(|_| malformed("a field is not UTF-8"))?.to_string())
        }
    };
    Ok(Some(FormPart { name, value }))
}

/// The parameters after a `;`: `name=value` or `name="value"`.
struct Parameters<'a>(&'a str);

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Vec<FormPart>> {
        parse(&Bytes::copy_from_slice(text.as_bytes()), "x")
    }

    fn field(name: &str, value: &str) -> FormPart {
        FormPart { name: name.into(), value: Value::Text(value.into()) }
    }

    #[test]
    fn fields_and_files_are_read() {
        let form = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--x\r\n\
             content-disposition: form-data; name=\"b %22c\"; filename=\"q\\\"d.png\"\r\n\
             Content-Type: image/png\r\n\r\n\r\n-\r\n--x\r\n\
             Content-Disposition: form-data; name=none; filename=\"\"\r\n\r\n\r\n--x--\r\n";
        let parts = parsed(form).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], field("a", "one"));
        assert_eq!(parts[1].name, "b \"c");
        assert_eq!(parts[1].value.get("name").unwrap().as_str(), Some("q\"d.png"));
        assert_eq!(parts[1].value.get("mediaType").unwrap().as_str(), Some("image/png"));
        assert_eq!(parts[1].value.get("data"), Some(&Value::Bytes(Bytes::from_static(b"\r\n-"))));
    }

    #[test]
    fn the_boundary_is_in_the_content_type() {
        let of = |text| boundary(text).map(|boundary| boundary.ok());
        assert_eq!(of("multipart/form-data; boundary=a-b"), Some(Some("a-b".into())));
        assert_eq!(
            of("Multipart/Form-Data; charset=x; boundary=\"a b\""),
            Some(Some("a b".into()))
        );
        assert_eq!(of("multipart/form-data"), Some(None));
        assert_eq!(of("multipart/form-data; boundary=\"\""), Some(None));
        assert_eq!(of("text/plain; boundary=a"), None);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for text in [
            "",
            "--x",
            "--x\r\n",
            "--x\r\n\r\n--x--",
            "--x\r\nname: a\r\n\r\n1\r\n--x--",
            "--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--",
            "--x\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--x--",
            "--x\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--x--",
            "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n",
            "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xy",
        ] {
            assert_eq!(parsed(text).unwrap_err().kind, Kind::Invalid, "{text:?}");
        }
    }

    #[test]
    fn everything_is_bounded() {
        let part = "\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x";
        let many = format!("--x{}--", part.repeat(MOST_PARTS));
        assert_eq!(parsed(&many).unwrap().len(), MOST_PARTS);
        let more = format!("--x{}--", part.repeat(MOST_PARTS + 1));
        assert_eq!(parsed(&more).unwrap_err().kind, Kind::TooLarge);
        let head = format!("--x\r\nb: {}{}--", "c".repeat(LARGEST_HEAD), part);
        assert_eq!(parsed(&head).unwrap_err().kind, Kind::TooLarge);
        let large = part.replace('1', &"1".repeat(LARGEST_FIELD + 1));
        assert_eq!(parsed(&format!("--x{large}--")).unwrap_err().kind, Kind::TooLarge);
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>, boundary in "[a-z]{1,3}") {
            let _ = parse(&Bytes::from(body), &boundary);
        }

        #[test]
        fn what_was_written_is_read(fields in prop::collection::vec(("[a-zü]{1,8}", "[ -~\r\nü]{0,40}"), 0..9)) {
            let mut body = String::from("--limit");
            for (name, value) in &fields {
                let head = format!("\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
                body.push_str(&format!("{head}{value}\r\n--limit"));
            }
            body.push_str("--\r\n");
            let read = parse(&Bytes::from(body), "limit").unwrap();
            let read: Vec<_> = read
                .into_iter()
                .map(|part| (part.name, part.value.as_str().unwrap_or_default().to_string()))
                .collect();
            prop_assert_eq!(read, fields);
        }
    }
}
