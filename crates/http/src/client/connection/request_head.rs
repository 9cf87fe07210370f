//! The head of an outgoing request (RFC 9112 section 3).

use crate::client::connection::forward_proxy::ForwardProxy;
use crate::protocol::fields;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Uri};
use std::io::Write;

/// The request line and headers of a request.
#[derive(Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a Method,
    pub(crate) target: &'a Uri,
    /// `Content-Length` and `Transfer-Encoding` are left out.
    pub(crate) headers: &'a HeaderMap,
    /// The media type of the content, in place of a `Content-Type` header.
    pub(crate) media_type: Option<&'a HeaderValue>,
}

/// The length of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Nothing,
    Known(u64),
    /// Sent in chunks.
    Chunked,
}

impl Length {
    /// Appends the framing and the end of a head.
    pub(crate) fn write(self, method: &Method, into: &mut Vec<u8>) {
        match self {
            Length::Chunked => fields::write("transfer-encoding", b"chunked", into),
            Length::Known(length) => {
                // Writing to memory never fails.
                let _ = write!(into, "content-length: {length}\r\n");
            }
            // RFC 9110 section 8.6: methods that anticipate content send `Content-Length: 0`.
            Length::Nothing if matches!(*method, Method::POST | Method::PUT | Method::PATCH) => {
                fields::write("content-length", b"0", into);
            }
            Length::Nothing => {}
        }
        into.extend_from_slice(b"\r\n");
    }
}

/// The head of a request, as a round trip needs it.
pub(crate) trait OutgoingHead {
    fn method(&self) -> &Method;

    /// Appends the head, for the server or for the proxy before it.
    fn write(&self, length: Length, proxy: Option<&ForwardProxy>, into: &mut Vec<u8>);
}

impl OutgoingHead for RequestHead<'_> {
    fn method(&self) -> &Method {
        self.method
    }

    fn write(&self, length: Length, proxy: Option<&ForwardProxy>, into: &mut Vec<u8>) {
        into.extend_from_slice(self.method.as_str().as_bytes());
        into.push(b' ');
        if proxy.is_some() {
            into.extend_from_slice(b"http://");
            self.write_authority(into);
        }
        into.extend_from_slice(self.target.path().as_bytes());
        if let Some(query) = self.target.query() {
            into.push(b'?');
            into.extend_from_slice(query.as_bytes());
        }
        into.extend_from_slice(b" HTTP/1.1\r\n");
        if !self.headers.contains_key(header::HOST) {
            into.extend_from_slice(b"host: ");
            self.write_authority(into);
            into.extend_from_slice(b"\r\n");
        }
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
            fields::write("proxy-authorization", authorization.as_bytes(), into);
        }
        for (name, value) in self.headers {
            let is_ours = *name == header::CONTENT_LENGTH
                || *name == header::TRANSFER_ENCODING
                || (*name == header::CONTENT_TYPE && self.media_type.is_some());
            if !is_ours {
                fields::write(name.as_str(), value.as_bytes(), into);
            }
        }
        if let Some(media_type) = self.media_type {
            fields::write("content-type", media_type.as_bytes(), into);
        }
        length.write(self.method, into);
    }
}

impl RequestHead<'_> {
    /// Appends the host, with the port unless it is the default; never with credentials.
    fn write_authority(&self, into: &mut Vec<u8>) {
        let is_secure = self.target.scheme_str() == Some("https");
        let usual = if is_secure { 443 } else { 80 };
        into.extend_from_slice(self.target.host().unwrap_or_default().as_bytes());
        if let Some(port) = self.target.port().filter(|port| port.as_u16() != usual) {
            into.push(b':');
            into.extend_from_slice(port.as_str().as_bytes());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(method: Method, target: &str, length: Length) -> String {
        let target: Uri = target.parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in [("accept", "*/*"), ("content-length", "9"), ("content-type", "a/b")] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let media_type = HeaderValue::from_static("c/d");
        let media_type = (length != Length::Nothing).then_some(&media_type);
        let head = RequestHead { method: &method, target: &target, headers: &headers, media_type };
        let mut text = b"before ".to_vec();
        head.write(length, None, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_proxy_gets_the_whole_address() {
        let (method, target) = (Method::GET, Uri::from_static("http://user@a:81/b?c"));
        let headers = HeaderMap::new();
        let head =
            RequestHead { method: &method, target: &target, headers: &headers, media_type: None };
        let proxy = ForwardProxy::parse("http://ada:pw@proxy").unwrap();
        let mut text = Vec::new();
        head.write(Length::Nothing, Some(&proxy), &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "GET http://a:81/b?c HTTP/1.1\r\nhost: a:81\r\nproxy-authorization: Basic YWRhOnB3\r\n\r\n"
        );
    }

    #[test]
    fn heads_say_what_they_must() {
        assert_eq!(
            written(Method::GET, "http://user@a:80?b", Length::Nothing),
            "before GET /?b HTTP/1.1\r\nhost: a\r\naccept: */*\r\ncontent-type: a/b\r\n\r\n"
        );
        assert_eq!(
            written(Method::PUT, "https://[::1]:80/a%20b", Length::Known(7)),
            "before PUT /a%20b HTTP/1.1\r\nhost: [::1]:80\r\naccept: */*\r\ncontent-type: c/d\r\n\
             content-length: 7\r\n\r\n"
        );
        assert!(
            written(Method::POST, "http://a", Length::Chunked)
                .ends_with("content-type: c/d\r\ntransfer-encoding: chunked\r\n\r\n")
        );
        assert!(
            written(Method::POST, "http://a", Length::Nothing)
                .ends_with("content-type: a/b\r\ncontent-length: 0\r\n\r\n")
        );
    }
}
