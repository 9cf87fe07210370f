//! Spans of OpenTelemetry: OTLP 1.x over HTTP, in JSON.
//!
//! Attribute names follow its semantic conventions for HTTP.

use crate::log::clock::{since_epoch, wall_time};
use crate::log::redaction;
use runnel_http::{CLIENT_GONE, ObservedRequest, OutboundCall};
use runnel_store::{Value, json};
use std::time::{Duration, Instant};

/// A finished span.
#[derive(Clone, Debug)]
pub(crate) struct TraceSpan {
    trace: u128,
    id: u64,
    parent: Option<u64>,
    state: Option<String>,
    name: String,
    kind: SpanKind,
    /// Nanoseconds since 1970.
    started: u128,
    ended: u128,
    attributes: Vec<(&'static str, Value)>,
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
enum SpanKind {
    Server = 2,
    Client = 3,
}

/// The span of a request. `None` if its trace is not sampled.
pub(crate) fn of_request(request: &ObservedRequest) -> Option<TraceSpan> {
    let trace = request.trace.as_ref().filter(|trace| trace.sampled)?;
    let (started, ended) = times(request.started, request.started.elapsed());
    let method = request.method.as_str();
    let route = request.route();
    let name = match &route {
        Some(route) => format!("{method} {route}"),
        None => method.to_string(),
    };
    let status = request.status();
    let mut attributes = vec![
        ("http.request.method", Value::Text(method.to_string())),
        ("url.path", Value::Text(request.uri.path().to_string())),
        ("client.address", Value::Text(request.peer.ip().to_string())),
        ("http.response.body.size", Value::from(request.sent())),
    ];
    if status != CLIENT_GONE {
        attributes.push(("http.response.status_code", Value::Int(status.into())));
    }
    if let Some(route) = route {
        attributes.push(("http.route", Value::Text(route)));
    }
    if let Some(query) = request.uri.query() {
        let hidden = redaction::target(&format!("?{query}")).into_owned();
        attributes.push(("url.query", Value::Text(hidden[1..].to_string())));
    }
    if let Some(agent) = &request.agent {
        let agent = String::from_utf8_lossy(agent.as_bytes()).into_owned();
        attributes.push(("user_agent.original", Value::Text(agent)));
    }
    if let Some(id) = request.id() {
        attributes.push(("http.request.id", Value::Text(id.to_string())));
    }
    Some(TraceSpan {
        trace: trace.trace,
        id: trace.span,
        parent: trace.parent,
        state: trace.state.as_ref().and_then(|state| state.to_str().ok()).map(str::to_string),
        name,
        kind: SpanKind::Server,
        started,
        ended,
        attributes,
        failed: status >= 500,
    })
}

/// The span of a call to another server.
pub(crate) fn of_call(call: &OutboundCall) -> Option<TraceSpan> {
    if !call.trace.sampled {
        return None;
    }
    let (started, ended) = times(call.started, call.took);
    let mut attributes = vec![
        ("http.request.method", Value::Text(call.method.clone())),
        ("url.full", Value::Text(call.target.clone())),
    ];
    let failed = match &call.outcome {
        Ok(status) => {
            attributes.push(("http.response.status_code", Value::Int((*status).into())));
            *status >= 400
        }
        Err(why) => {
            attributes.push(("error.type", Value::Text(why.clone())));
            true
        }
    };
    Some(TraceSpan {
        trace: call.trace.trace,
        id: call.trace.span,
        parent: call.trace.parent,
        state: None,
        name: call.method.clone(),
        kind: SpanKind::Client,
        started,
        ended,
        attributes,
        failed,
    })
}

fn times(started: Instant, took: Duration) -> (u128, u128) {
    let start = since_epoch(wall_time(started)).as_nanos();
    (start, start + took.as_nanos())
}

/// The body of a post to a collector.
pub(crate) fn batch(service: &str, spans: &[TraceSpan]) -> Vec<u8> {
    let resource = Value::record([(
        "attributes",
        attributes(&[
            ("service.name", Value::Text(service.to_string())),
            ("process.pid", Value::Int(std::process::id().into())),
        ]),
    )]);
    let scope = Value::record([
        ("name", Value::Text("runnel".into())),
        ("version", Value::Text(env!("CARGO_PKG_VERSION").into())),
    ]);
    let scope_spans = Value::record([
        ("scope", scope),
        ("spans", Value::List(spans.iter().map(TraceSpan::value).collect())),
    ]);
    let resource_spans =
        Value::record([("resource", resource), ("scopeSpans", Value::List(vec![scope_spans]))]);
    json::text(&Value::record([("resourceSpans", Value::List(vec![resource_spans]))]))
}

impl TraceSpan {
    fn value(&self) -> Value {
        let mut record = Value::record([
            ("traceId", Value::Text(format!("{:032x}", self.trace))),
            ("spanId", Value::Text(format!("{:016x}", self.id))),
            ("name", Value::Text(self.name.clone())),
            ("kind", Value::Int(self.kind as i64)),
            // 64-bit numbers are strings in the JSON of protocol buffers.
            ("startTimeUnixNano", Value::Text(self.started.to_string())),
            ("endTimeUnixNano", Value::Text(self.ended.to_string())),
            ("attributes", attributes(&self.attributes)),
        ]);
        if let Some(parent) = self.parent {
            record.set("parentSpanId", Value::Text(format!("{parent:016x}")));
        }
        if let Some(state) = &self.state {
            record.set("traceState", Value::Text(state.clone()));
        }
        if self.failed {
            record.set("status", Value::record([("code", Value::Int(2))]));
        }
        record
    }
}

fn attributes(list: &[(&'static str, Value)]) -> Value {
    let one = |(name, value): &(&'static str, Value)| {
        let typed = match value {
            Value::Int(number) => ("intValue", Value::Text(number.to_string())),
            other => ("stringValue", other.clone()),
        };
        Value::record([("key", Value::Text((*name).into())), ("value", Value::record([typed]))])
    };
    Value::List(list.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_what_collectors_read() {
        let span = TraceSpan {
            trace: 1,
            id: 2,
            parent: Some(3),
            state: None,
            name: "GET /x".into(),
            kind: SpanKind::Client,
            started: 5,
            ended: 7,
            attributes: vec![("http.response.status_code", Value::Int(500))],
            failed: true,
        };
        let text = String::from_utf8_lossy(&batch("shop", &[span])).into_owned();
        for part in [
            r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}"#,
            r#""traceId":"00000000000000000000000000000001","spanId":"0000000000000002""#,
            r#""kind":3,"startTimeUnixNano":"5","endTimeUnixNano":"7""#,
            r#"{"key":"http.response.status_code","value":{"intValue":"500"}}"#,
            r#""parentSpanId":"0000000000000003","status":{"code":2}"#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
