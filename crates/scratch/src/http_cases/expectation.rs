//! Comparison of the expectations of a case with the responses.

use super::response::{RawResponse, find};
use super::{CaseOutcome, milliseconds};
use regex::Regex;
use serde_json::{Map, Value};
use std::time::Duration;

/// Everything that a case did not find as it expects it.
pub(super) fn failures(outcome: &CaseOutcome, strict: &Value, expect: &Value) -> Vec<String> {
    let mut failures = outcome.notes.clone();
    let Some(first) = outcome.responses.first() else {
        if expect["no_response_ok"] != true || !outcome.closed {
            failures.push(format!("no response, {} bytes", outcome.received.len()));
        }
        return failures;
    };
    let statuses = |value: &Value| -> Vec<u64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
    };
    let strict = statuses(strict);
    let allowed = if strict.is_empty() { statuses(&expect["status"]) } else { strict };
    let is_allowed = allowed.is_empty() || allowed.contains(&first.status);
    if !is_allowed {
        failures.push(format!("status {}, expected {allowed:?}", first.status));
    }
    for (name, value) in expect.as_object().into_iter().flatten() {
        let seen = Seen { outcome, first, expect, is_allowed };
        if let Some(failure) = seen.failure(name, value) {
            failures.push(failure);
        }
    }
    failures
}

struct Seen<'a> {
    outcome: &'a CaseOutcome,
    first: &'a RawResponse,
    expect: &'a Value,
    is_allowed: bool,
}

impl Seen<'_> {
    fn failure(&self, name: &str, value: &Value) -> Option<String> {
        let (first, outcome) = (self.first, self.outcome);
        let failed = |fails: bool, text: String| fails.then_some(text);
        match name {
            // Checked elsewhere, or words about the case.
            "status" | "no_response_ok" | "any_status" | "no_smuggle" | "stream" => None,
            "any_headers" => self.any_headers(value),
            "only_one" => failed(outcome.responses.len() > 1, "a second request was served".into()),
            "responses" => {
                let count = outcome.responses.len() as u64;
                let fits = match value {
                    Value::Array(counts) => counts.iter().any(|one| one.as_u64() == Some(count)),
                    one => one.as_u64() == Some(count),
                };
                failed(!fits, format!("{count} responses, expected {value}"))
            }
            "closes" => failed(!outcome.closed, "the connection stays open".into()),
            "headers" => mismatch(first, value).filter(|_| self.is_allowed),
            "headers_if" => {
                mismatch(first, value.get(first.status.to_string()).unwrap_or(&Value::Null))
            }
            "headers_not" => pairs(value).find_map(|(name, pattern)| {
                let found = first.header(name).filter(|found| matches(pattern, found))?;
                Some(format!("{name}: {found} must not match {pattern}"))
            }),
            "headers_absent" => texts(value)
                .find_map(|name| Some(format!("{name}: {} is present", first.header(name)?))),
            "header_count" => value.as_object().into_iter().flatten().find_map(|(name, count)| {
                let lines = first.headers.iter().filter(|(own, _)| own == name).count();
                failed(count.as_u64() != Some(lines as u64), format!("{lines} lines of {name}"))
            }),
            "head" => {
                let end = find(&outcome.received, b"\r\n\r\n").map_or(0, |at| at + 4);
                let has_body = outcome.responses.len() == 1 && outcome.received.len() > end;
                failed(has_body, "a response to HEAD has a body".into())
            }
            name if name.starts_with("body_") => self.body_failure(name, value),
            "version" => {
                failed(*value != first.version.as_str(), format!("version {}", first.version))
            }
            "order" => texts(value)
                .zip(&outcome.responses)
                .find(|(part, response)| find(&response.body, part.as_bytes()).is_none())
                .map(|(part, _)| format!("`{part}` is not at its place")),
            "no_interim" => failed(!outcome.interim.is_empty(), "an interim response".into()),
            "incomplete" => failed(first.is_complete, "a cut response looks complete".into()),
            "max_bytes" => {
                let count = outcome.received.len() as u64;
                failed(value.as_u64().is_some_and(|most| count > most), format!("{count} bytes"))
            }
            "within_ms" => {
                let most = milliseconds(value) + Duration::from_millis(200);
                let took = outcome.first_after.unwrap_or_default();
                failed(took > most, format!("took {} ms", took.as_millis()))
            }
            "raw_after_contains" => {
                let bytes: Vec<u8> = value.as_str()?.chars().map(|c| c as u8).collect();
                failed(find(&first.after, &bytes).is_none(), "bytes of a frame are missing".into())
            }
            "keepalive_header_if_open" => {
                let connection = first.header("connection").unwrap_or_default().to_lowercase();
                let is_silent = !outcome.closed && !connection.contains("keep-alive");
                failed(is_silent, "open without Connection: keep-alive".into())
            }
            other => Some(format!("this runner does not know the expectation {other}")),
        }
    }

    fn body_failure(&self, name: &str, value: &Value) -> Option<String> {
        let first = self.first;
        match name {
            "body_len" => {
                let length = first.body.len() as u64;
                (value.as_u64() != Some(length)).then(|| format!("{length} bytes of body"))
            }
            "body_contains" => texts(value)
                .find(|part| self.is_allowed && find(&first.body, part.as_bytes()).is_none())
                .map(|part| format!("the body lacks `{part}`")),
            "body_not_contains" => texts(value)
                .find(|part| find(&first.body, part.as_bytes()).is_some())
                .map(|part| format!("the body contains `{part}`")),
            "body_json" | "body_json_if_200" => self.json(value, |body| body),
            "body_json_headers" => self.json(value, |body| &body["headers"]),
            "body_json_headers_absent" => self.leaked(value),
            other => Some(format!("this runner does not know the expectation {other}")),
        }
    }

    fn any_headers(&self, value: &Value) -> Option<String> {
        let statuses = self.expect["any_status"].as_array().cloned().unwrap_or_default();
        let fitting = || {
            let all = self.outcome.responses.iter();
            all.filter(|response| statuses.iter().any(|one| *one == response.status))
        };
        let found = |name: &str, pattern: &str| {
            fitting().any(|one| matches(pattern, &one.header(name).unwrap_or_default()))
        };
        let missing = pairs(value).find(|(name, pattern)| !found(name, pattern));
        missing.map(|(name, _)| format!("no response of {statuses:?} with {name}"))
    }

    fn json(&self, wanted: &Value, part: fn(&Value) -> &Value) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.first.body).unwrap_or_default();
        let wanted = wanted.as_object().filter(|_| self.first.status == 200)?;
        let wrong = wanted.iter().find(|(name, value)| part(&body)[name.as_str()] != **value)?;
        Some(format!("{} of the JSON is not {}", wrong.0, wrong.1))
    }

    fn leaked(&self, names: &Value) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.first.body).unwrap_or_default();
        let none = Map::new();
        let headers = body["headers"].as_object().unwrap_or(&none);
        let leaked = texts(names).find(|name| headers.contains_key(*name))?;
        (self.first.status == 200).then(|| format!("the request header {leaked} was passed on"))
    }
}

/// The first header that does not match its pattern.
fn mismatch(response: &RawResponse, patterns: &Value) -> Option<String> {
    pairs(patterns).find_map(|(name, pattern)| {
        let value = response.header(name).unwrap_or_default();
        (!matches(pattern, &value)).then(|| format!("{name}: {value} does not match {pattern}"))
    })
}

/// A pattern that this crate cannot read matches nothing, so that the case fails.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn pairs(value: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
