//! Answers of operations, and faults as documents.

pub(crate) mod late_reply;

use super::fault::{FaultCode, S3Fault};
use super::xml::XmlWriter;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use runnel_http::HandlerResponse;
use runnel_store::{Body, Text};
use runnel_text::moment::CalendarTime;
use std::time::{SystemTime, UNIX_EPOCH};

/// The media type of documents.
const XML: HeaderValue = HeaderValue::from_static("application/xml");

/// The answer of an operation.
pub(crate) struct S3Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
}

/// What an answer carries.
pub(crate) enum ReplyBody {
    Content(Body),
    /// A fault that has headers of its own.
    Fault(S3Fault),
}

impl S3Reply {
    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        S3Reply { status, headers: HeaderMap::new(), body: ReplyBody::Content(Body::Empty) }
    }

    /// A document.
    pub(crate) fn xml(document: String) -> Self {
        let mut reply = S3Reply::empty(StatusCode::OK);
        reply.headers.insert(CONTENT_TYPE, XML);
        reply.body = ReplyBody::Content(Body::Text(Text::from(document)));
        reply
    }

    /// A fault to which headers can be added.
    pub(crate) fn fault(fault: S3Fault) -> Self {
        let mut reply = S3Reply::empty(fault.code.status());
        reply.body = ReplyBody::Fault(fault);
        reply
    }

    /// Sets a header field; a value that cannot be one is left out.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            self.headers.insert(name, value);
        }
    }

    /// Sets a header field where there is a value.
    pub(crate) fn set_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// The response to the client.
    pub(crate) fn into_response(
        mut self,
        method: &Method,
        resource: &str,
        request_id: &str,
    ) -> HandlerResponse {
        let body = match self.body {
            ReplyBody::Content(body) => body,
            ReplyBody::Fault(fault) if fault.code == FaultCode::NotModified => Body::Empty,
            ReplyBody::Fault(fault) => {
                fault.log(method, resource, request_id);
                self.headers.insert(CONTENT_TYPE, XML);
                match *method == Method::HEAD {
                    true => Body::Empty,
                    false => Body::Text(Text::from(fault_document(&fault, resource, request_id))),
                }
            }
        };
        if let Ok(id) = HeaderValue::from_str(request_id) {
            self.headers.insert("x-amz-request-id", id);
        }
        self.headers.insert("x-amz-id-2", HeaderValue::from_static("runnel"));
        HandlerResponse { status: self.status, headers: self.headers, body }
    }
}

fn fault_document(fault: &S3Fault, resource: &str, request_id: &str) -> String {
    XmlWriter::plain("Error", |xml| {
        xml.text("Code", fault.code.name());
        xml.text("Message", &fault.message);
        for (name, value) in &fault.details {
            xml.text(name, value);
        }
        xml.text("Resource", resource);
        xml.text("RequestId", request_id);
        xml.text("HostId", "runnel");
    })
}

/// A time as documents write it: `2024-02-29T12:00:00.000Z`.
pub(crate) fn iso_time(time: SystemTime) -> String {
    let micros = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let mut text = Vec::with_capacity(24);
    CalendarTime::from_micros(micros).write_millis(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// A time as header fields write it.
pub(crate) fn http_time(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
