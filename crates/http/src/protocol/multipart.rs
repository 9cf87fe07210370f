//! `multipart/form-data` (RFC 7578, RFC 2046 section 5.1): boundaries, and forms in memory.

pub(crate) mod decoder;
mod limits;
mod part_head;

use bytes::Bytes;
use decoder::{DecoderStep, MultipartDecoder};
use limits::{LARGEST_FIELD, LONGEST_BOUNDARY, malformed, too_large};
use part_head::Parameters;
use runnel_store::{PartHead, Result, Value};

/// The media type of a file that names none.
const OCTETS: &str = "application/octet-stream";

/// A field or a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormPart {
    pub(crate) name: String,
    /// Text for a field; a record of `name`, `mediaType` and `data` for a file.
    pub(crate) value: Value,
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
    let mut decoder = MultipartDecoder::new(boundary);
    decoder.feed(body.clone());
    let mut parts = Vec::new();
    let mut open: Option<(PartHead, Bytes)> = None;
    loop {
        let complete = match decoder.step()? {
            DecoderStep::More => return Err(decoder.unfinished()),
            // The whole body is here, so the data of a part is in one piece.
            DecoderStep::Data(all) => {
                if let Some((_, data)) = &mut open {
                    *data = all;
                }
                continue;
            }
            DecoderStep::Head(head) => open.replace((head, Bytes::new())),
            DecoderStep::End => open.take(),
        };
        let is_last = open.is_none();
        if let Some((head, data)) = complete {
            parts.extend(form_part(head, data)?);
        }
        if is_last {
            return Ok(parts);
        }
    }
}

/// A part that is complete; none for a file input without a file.
fn form_part(head: PartHead, data: Bytes) -> Result<Option<FormPart>> {
    let value = match head.file_name {
        Some(file) if file.is_empty() && data.is_empty() => return Ok(None),
        Some(file) => {
            let media_type = head.media_type.unwrap_or_else(|| OCTETS.to_string());
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
    Ok(Some(FormPart { name: head.field, value }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::limits::{LARGEST_HEAD, MOST_PARTS};
    use super::*;
    use proptest::prelude::*;
    use runnel_store::Kind;

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
