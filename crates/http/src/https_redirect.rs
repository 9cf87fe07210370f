//! The plain port beside an HTTPS server: it redirects every request to the encrypted one.

use crate::handler::{Handler, HandlerAnswer, HandlerRequest, HandlerResponse};
use crate::network::certificates::by_name::CertificatesByName;
use hyper::header::{self, HeaderValue};
use hyper::{StatusCode, Uri};
use runnel_store::{Body, Text};
use std::rc::Rc;
use std::sync::Arc;

/// Seconds after which a client may ask again while the server still has no certificate.
const RETRY_AFTER: u64 = 10;

/// Redirects with 308 to `https`, with the path and the query of the request. Only hosts that a
/// certificate covers are redirected, because `Host` is the client's choice: others get 400. A host
/// whose certificate has not arrived yet gets 503.
pub struct HttpsRedirect {
    /// The certificates of the HTTPS server.
    pub certificates: Arc<CertificatesByName>,
    /// Hosts that will have a certificate, in lowercase.
    pub expected: Vec<String>,
    /// The port of the HTTPS server.
    pub port: u16,
}

impl HttpsRedirect {
    fn respond(&self, host: &[u8], uri: &Uri) -> HandlerResponse {
        let Some(host) = host_name(host) else {
            return text(StatusCode::BAD_REQUEST, "a request needs the name of its host");
        };
        let covered = self.certificates.covers(host.trim_matches(['[', ']']));
        if !covered && self.expected.contains(&host) {
            let mut response =
                text(StatusCode::SERVICE_UNAVAILABLE, "this host has no certificate yet");
            response.headers.insert(header::RETRY_AFTER, RETRY_AFTER.into());
            return response;
        }
        if !covered {
            return text(StatusCode::BAD_REQUEST, "this server does not serve that host");
        }
        let port = match self.port {
            443 => String::new(),
            port => format!(":{port}"),
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let target = if target.starts_with('/') { target } else { "/" };
        match HeaderValue::from_str(&format!("https://{host}{port}{target}")) {
            Ok(location) => {
                let mut response = text(StatusCode::PERMANENT_REDIRECT, "this site uses https");
                response.headers.insert(header::LOCATION, location);
                response
            }
            Err(_) => text(StatusCode::BAD_REQUEST, "the address cannot be redirected"),
        }
    }
}

impl Handler for HttpsRedirect {
    fn handle(self: Rc<Self>, request: HandlerRequest) -> HandlerAnswer {
        let host = request.headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
        let response = self.respond(host, &request.uri);
        Box::pin(async move { response })
    }

    fn describe(&self) -> String {
        "redirect to https".to_string()
    }
}

/// The host in lowercase without its port: a name of letters, digits, dots and hyphens, or an IPv6
/// address in brackets. Anything else could lead elsewhere in a URL.
fn host_name(host: &[u8]) -> Option<String> {
    let host = std::str::from_utf8(host).ok()?.to_ascii_lowercase();
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (host, port) = host.split_at(end);
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|one| one.is_ascii_digit()));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    (is_host && is_port).then(|| host.to_string())
}

fn text(status: StatusCode, text: &'static str) -> HandlerResponse {
    let mut response = HandlerResponse { status, ..HandlerResponse::default() };
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers.insert(header::CONTENT_TYPE, plain);
    response.body = Body::Text(Text::from(format!("{text}\n")));
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_could_lead_elsewhere_is_none() {
        let name = |host: &str| host_name(host.as_bytes());
        assert_eq!(name("Example.org:8080").unwrap(), "example.org");
        assert_eq!(name("[::1]:80").unwrap(), "[::1]");
        for wrong in ["", ":80", "a/b.example.org", "a@example.org", "a.org:80x", "[::1", "a b"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
