//! The serializer of HTTP/1.1 response heads (RFC 9112 sections 4 to 6).

use crate::protocol::fields::{self, FieldLines};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{StatusCode, Version};
use std::io::Write;

/// The framing of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyExtent {
    /// No body and no length field.
    Nothing,
    /// This many bytes.
    Length(u64),
    /// Chunked.
    Chunked,
    /// Until the connection closes.
    Close,
}

/// Disables MIME sniffing: see [`crate::server::response::problem::set_nosniff`].
const NOT_GUESSED: &[u8] = b"x-content-type-options: nosniff\r\n";

/// The parts of a response head.
pub(crate) struct ResponseHead<'a> {
    pub(crate) version: Version,
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) extent: BodyExtent,
    /// Whether the connection persists.
    pub(crate) persists: bool,
    /// The other fields of a response of an upstream, to which nothing is added.
    pub(crate) relayed: Option<&'a FieldLines>,
    /// The `Date` field, with its line end.
    pub(crate) date: &'a [u8],
}

impl ResponseHead<'_> {
    /// Appends the head. Returns whether its own headers close the connection.
    pub(crate) fn write(&self, output: &mut Vec<u8>) -> bool {
        self.status_line(output);
        let (mut says_connection, mut says_close, mut says_date) = (false, false, false);
        let mut says_options = false;
        for (name, value) in self.headers {
            if *name == header::CONTENT_LENGTH || *name == header::TRANSFER_ENCODING {
                // The framing decides.
                continue;
            }
            if *name == header::CONNECTION {
                says_connection = true;
                says_close |= value == "close";
            }
            says_date |= *name == header::DATE;
            says_options |= *name == header::X_CONTENT_TYPE_OPTIONS;
            fields::write(name.as_str(), value.as_bytes(), output);
        }
        if let Some(lines) = self.relayed {
            says_date |= lines.has_date();
            output.extend_from_slice(lines.as_bytes());
        }
        match self.extent {
            BodyExtent::Nothing | BodyExtent::Close => {}
            BodyExtent::Length(length) => {
                let mut digits = itoa::Buffer::new();
                fields::write("content-length", digits.format(length).as_bytes(), output);
            }
            BodyExtent::Chunked => fields::write("transfer-encoding", b"chunked", output),
        }
        match (says_connection, self.persists, self.version) {
            (false, false, _) => fields::write("connection", b"close", output),
            (false, true, Version::HTTP_10) => {
                fields::write("connection", b"keep-alive", output);
            }
            _ => {}
        }
        if !says_options && self.relayed.is_none() {
            output.extend_from_slice(NOT_GUESSED);
        }
        if !says_date {
            output.extend_from_slice(self.date);
        }
        output.extend_from_slice(b"\r\n");
        says_close
    }

    fn status_line(&self, output: &mut Vec<u8>) {
        if self.status == StatusCode::OK && self.version == Version::HTTP_11 {
            output.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
            return;
        }
        let version = if self.version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let reason = self.status.canonical_reason().unwrap_or("Status");
        // Writing to memory never fails.
        let _ = write!(output, "{version} {} {reason}\r\n", self.status.as_str());
    }
}

/// Appends an interim response with links (RFC 8297).
pub(crate) fn write_early_hints(links: &[HeaderValue], output: &mut Vec<u8>) {
    output.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\n");
    for link in links {
        fields::write("link", link.as_bytes(), output);
    }
    output.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(head: &ResponseHead<'_>) -> String {
        let mut output = Vec::new();
        head.write(&mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn early_hints_are_an_interim_response() {
        let mut output = Vec::new();
        let links = ["</a.css>; rel=preload", "</b.js>; rel=preload"];
        write_early_hints(&links.map(HeaderValue::from_static), &mut output);
        let expected = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\
             link: </b.js>; rel=preload\r\n\r\n";
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }

    #[test]
    fn a_head_is_written() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("2"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("99"));
        let head = ResponseHead {
            version: Version::HTTP_11,
            status: StatusCode::OK,
            headers: &headers,
            extent: BodyExtent::Length(5),
            relayed: None,
            persists: true,
            date: b"date: D\r\n",
        };
        let expected = "HTTP/1.1 200 OK\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 5\r\n\
             x-content-type-options: nosniff\r\ndate: D\r\n\r\n";
        assert_eq!(written(&head), expected);
        let none = HeaderMap::new();
        let old = ResponseHead {
            version: Version::HTTP_10,
            status: StatusCode::from_u16(499).unwrap(),
            headers: &none,
            extent: BodyExtent::Close,
            relayed: None,
            persists: false,
            ..head
        };
        let expected = "HTTP/1.0 499 Status\r\nconnection: close\r\n\
                        x-content-type-options: nosniff\r\ndate: D\r\n\r\n";
        assert_eq!(written(&old), expected);
        let mut lines = FieldLines::default();
        lines.push("Date", b"of the upstream");
        let relayed = ResponseHead {
            extent: BodyExtent::Length(5),
            relayed: Some(&lines),
            persists: true,
            ..head
        };
        let expected = "HTTP/1.1 200 OK\r\nx-a: 1\r\nx-a: 2\r\ndate: of the upstream\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(written(&relayed), expected);
        let kept =
            ResponseHead { extent: BodyExtent::Nothing, relayed: None, persists: true, ..old };
        assert!(written(&kept).contains("connection: keep-alive\r\n"));
    }
}
