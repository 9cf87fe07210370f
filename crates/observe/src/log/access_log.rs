//! Access log lines. Secret headers are never read, and secret parameters are redacted.

use crate::log::clock::{calendar, wall_time, write_common};
use crate::log::redaction;
use crate::settings::LogFormat;
use runnel_http::{ObservedRequest, RefusedHead};
use runnel_store::json;
use std::borrow::Cow;
use std::io::Write;
use std::time::SystemTime;

/// The longest target, user agent and referrer in a line, in bytes; the rest is cut.
const LONGEST: usize = 2_048;

/// Appends the line of a request.
pub(crate) fn write(format: LogFormat, request: &ObservedRequest, line: &mut Vec<u8>) {
    match format {
        LogFormat::Json => as_json(request, line),
        LogFormat::Combined => combined(request, line),
    }
    line.push(b'\n');
}

/// Appends the line of a refused head, without its bytes.
pub(crate) fn write_refused(format: LogFormat, refused: &RefusedHead, line: &mut Vec<u8>) {
    let RefusedHead { peer, status, reason, sent } = refused;
    let (peer, now) = (peer.ip(), calendar(SystemTime::now()));
    // Writing to memory never fails.
    match format {
        LogFormat::Json => {
            line.extend_from_slice(b"{\"time\":\"");
            now.write_millis(line);
            line.push(b'"');
            for name in ["method", "target", "protocol"] {
                text(line, name, "-");
            }
            let _ = write!(line, ",\"peer\":\"{peer}\",\"status\":{status},\"sent\":{sent}");
            text(line, "reason", reason);
            line.push(b'}');
        }
        LogFormat::Combined => {
            let _ = write!(line, "{peer} - - [");
            write_common(&now, line);
            let _ = write!(line, "] \"- - -\" {status} {sent} \"-\" \"-\" \"");
            quoted(line, reason);
            line.push(b'"');
        }
    }
    line.push(b'\n');
}

fn as_json(request: &ObservedRequest, line: &mut Vec<u8>) {
    let elapsed = request.started.elapsed();
    line.extend_from_slice(b"{\"time\":\"");
    calendar(wall_time(request.started)).write_millis(line);
    line.push(b'"');
    if let Some(id) = request.id() {
        text(line, "id", id);
    }
    if let Some(trace) = &request.trace {
        text(line, "trace", &trace.trace_digits());
    }
    text(line, "method", request.method.as_str());
    text(line, "target", &target(request));
    request.with_route(|route| {
        if let Some(route) = route {
            text(line, "route", route);
        }
    });
    // Writing to memory never fails.
    let _ = write!(
        line,
        ",\"protocol\":\"{:?}\",\"peer\":\"{}\",\"status\":{},\"sent\":{},\"whole\":{},\"duration\":{:.6}",
        request.version,
        request.peer.ip(),
        request.status(),
        request.sent(),
        request.is_whole(),
        elapsed.as_secs_f64(),
    );
    if let Some(length) = request.length.filter(|length| *length > 0) {
        let _ = write!(line, ",\"received\":{length}");
    }
    if let Some(agent) = &request.agent {
        text(line, "agent", &truncate(String::from_utf8_lossy(agent.as_bytes())));
    }
    if let Some(referrer) = &request.referrer {
        let referrer = String::from_utf8_lossy(referrer.as_bytes());
        text(line, "referrer", &truncate(redaction::address(&referrer)));
    }
    line.push(b'}');
}

fn text(line: &mut Vec<u8>, name: &str, value: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
    json::write_text(value, line);
}

/// `peer - - [time] "GET /x HTTP/1.1" 200 5 "referrer" "agent"`, followed by the request id if
/// there is one. The user name is always unknown.
fn combined(request: &ObservedRequest, line: &mut Vec<u8>) {
    let _ = write!(line, "{} - - [", request.peer.ip());
    write_common(&calendar(wall_time(request.started)), line);
    line.extend_from_slice(b"] \"");
    quoted(line, request.method.as_str());
    line.push(b' ');
    quoted(line, &target(request));
    let _ = write!(line, " {:?}\" {} {} \"", request.version, request.status(), request.sent());
    match &request.referrer {
        Some(referrer) => {
            let referrer = String::from_utf8_lossy(referrer.as_bytes());
            quoted(line, &truncate(redaction::address(&referrer)));
        }
        None => line.push(b'-'),
    }
    line.extend_from_slice(b"\" \"");
    match &request.agent {
        Some(agent) => quoted(line, &truncate(String::from_utf8_lossy(agent.as_bytes()))),
        None => line.push(b'-'),
    }
    line.push(b'"');
    if let Some(id) = request.id() {
        line.push(b' ');
        quoted(line, id);
    }
}

/// Escapes text in quotation marks as Apache does: nothing in it ends the quotation or the line.
fn quoted(line: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            0x20..=0x7e => line.push(byte),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
}

/// The path and the query, redacted.
fn target(request: &ObservedRequest) -> Cow<'_, str> {
    let target = request.uri.path_and_query().map_or("/", |target| target.as_str());
    truncate(redaction::target(target))
}

fn truncate(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return text;
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_quotation_or_a_line() {
        let mut line = Vec::new();
        quoted(&mut line, "a\"b\\c\n\u{e9}\u{7f}");
        assert_eq!(String::from_utf8_lossy(&line), "a\\\"b\\\\c\\x0a\\xc3\\xa9\\x7f");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "é".repeat(LONGEST);
        assert!(truncate(long.into()).len() <= LONGEST + 3);
        assert_eq!(truncate("short".into()), "short");
    }
}
