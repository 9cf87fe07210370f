//! The fields of a form before its file (`multipart/form-data`, RFC 7578).

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use memchr::memmem;

/// The fields before a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FormHead {
    /// Names in lower case with their values.
    pub(crate) fields: Vec<(String, String)>,
    /// The name of the file, without folders.
    pub(crate) file_name: String,
    /// Where the content of the file begins.
    pub(crate) length: usize,
}

impl FormHead {
    /// Reads the fields; `None` where the file did not begin yet.
    pub(crate) fn parse(sent: &[u8], boundary: &str) -> S3Result<Option<FormHead>> {
        let start = format!("--{boundary}\r\n");
        let is_start = sent.iter().zip(start.as_bytes()).all(|(left, right)| left == right);
        if !is_start {
            return Err(FaultCode::MalformedPOSTRequest.into());
        }
        let delimiter = format!("\r\n--{boundary}");
        let mut head = FormHead { length: start.len(), ..FormHead::default() };
        loop {
            let Some(rest) = sent.get(head.length..) else { return Ok(None) };
            let Some(end) = memmem::find(rest, b"\r\n\r\n") else { return Ok(None) };
            let part = PartName::parse(&rest[..end])?;
            head.length += end + 4;
            if part.name == "file" {
                head.file_name = part.file_name.unwrap_or_default();
                return Ok(Some(head));
            }
            let Some(rest) = sent.get(head.length..) else { return Ok(None) };
            let Some(end) = memmem::find(rest, delimiter.as_bytes()) else { return Ok(None) };
            let value = std::str::from_utf8(&rest[..end]).map_err(|_| malformed())?;
            head.add(part.name, value);
            head.length += end + delimiter.len();
            match sent.get(head.length..head.length + 2) {
                None => return Ok(None),
                Some(b"\r\n") => head.length += 2,
                Some(b"--") => {
                    let message = "POST requires exactly one file upload per request.";
                    let fault = S3Fault::new(FaultCode::InvalidArgument).because(message);
                    return Err(fault.with("ArgumentName", "file").with("ArgumentValue", "0"));
                }
                Some(_) => return Err(malformed()),
            }
        }
    }

    /// Adds a field. Metadata may be repeated, of others the last one counts.
    fn add(&mut self, name: String, value: &str) {
        match self.fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if name.starts_with("x-amz-meta-") => {
                known.push(',');
                known.push_str(value);
            }
            Some((_, known)) => *known = value.to_string(),
            None => self.fields.push((name, value.to_string())),
        }
    }
}

/// The name of a part.
struct PartName {
    name: String,
    file_name: Option<String>,
}

impl PartName {
    /// Reads the header of a part.
    fn parse(headers: &[u8]) -> S3Result<PartName> {
        let headers = std::str::from_utf8(headers).map_err(|_| malformed())?;
        let mut disposition = None;
        for line in headers.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or_else(malformed)?;
            if name.trim().eq_ignore_ascii_case("content-disposition") {
                disposition = Some(value.trim());
            }
        }
        let (kind, parameters) =
            disposition.and_then(|value| value.split_once(';')).ok_or_else(malformed)?;
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return Err(malformed());
        }
        let name = parameter(parameters, "name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(malformed)?.to_lowercase();
        let file_name = parameter(parameters, "filename");
        let last = |path: String| path.rsplit(['/', '\\']).next().unwrap_or_default().to_string();
        Ok(PartName { name, file_name: file_name.map(last) })
    }
}

/// The value of a parameter such as `boundary`, quoted or not.
pub(crate) fn parameter(parameters: &str, wanted: &str) -> Option<String> {
    let mut rest = parameters.trim_start_matches([';', ' ', '\t']);
    while let Some((name, after)) = rest.split_once('=') {
        let (value, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_text(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_string(), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after.trim_start_matches([';', ' ', '\t']);
    }
    None
}

/// Text up to a quote, and what follows it. Browsers escape a quote as `%22` or `\"`.
fn quoted_text(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' if quoted[at + 1..].starts_with(['"', '\\']) => {
                value.extend(characters.next().map(|(_, character)| character));
            }
            character => value.push(character),
        }
    }
    None
}

fn malformed() -> S3Fault {
    FaultCode::MalformedPOSTRequest.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn part(disposition: &str, value: &str) -> String {
        format!("Content-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n--b")
    }

    #[test]
    fn fields_end_at_the_file() {
        let sent = format!(
            "--b\r\n{}\r\n{}\r\n{}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"C:\\\\dir\\\\a \\\"b\\\".txt\"\r\nContent-Type: text/plain\r\n\r\nhello",
            part("name=\"Key\"", "a/${filename}"),
            part("name=x-amz-meta-a", "1"),
            part("name=\"x-amz-meta-a\"", ""),
        );
        let head = FormHead::parse(sent.as_bytes(), "b").unwrap().unwrap();
        let fields = [("key", "a/${filename}"), ("x-amz-meta-a", "1,")];
        let fields = fields.map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!((&head.fields[..], &sent[head.length..]), (&fields[..], "hello"));
        assert_eq!(head.file_name, "a \"b\".txt");
        for length in 0..head.length {
            assert_eq!(FormHead::parse(&sent.as_bytes()[..length], "b"), Ok(None), "{length}");
        }
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for (sent, code) in [
            ("--c\r\n".to_string(), FaultCode::MalformedPOSTRequest),
            ("--b\r\nnothing\r\n\r\n".to_string(), FaultCode::MalformedPOSTRequest),
            ("--b\r\nContent-Type: a/b\r\n\r\n".to_string(), FaultCode::MalformedPOSTRequest),
            (format!("--b\r\n{}x", part("name=a", "1")), FaultCode::MalformedPOSTRequest),
            (format!("--b\r\n{}\r\n", part("file=a", "1")), FaultCode::MalformedPOSTRequest),
            (format!("--b\r\n{}--\r\n", part("name=a", "1")), FaultCode::InvalidArgument),
        ] {
            let sent = if code == FaultCode::MalformedPOSTRequest { sent + "\r\n" } else { sent };
            let fault = FormHead::parse(sent.as_bytes(), "b").unwrap_err();
            assert_eq!(fault.code, code, "{sent}");
        }
    }
}
