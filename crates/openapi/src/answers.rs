//! Answers that the server gives by itself, in documents, clients and pages.
//!
//! | status | where |
//! | --- | --- |
//! | 304, 412 | reads and writes that understand conditions |
//! | 400, 413, 415 | a body |
//! | 401, 403 | guarded |
//! | 404 | a parameter in the path, something that is looked up |
//! | 406 | several media types |
//! | 422 | a body, or a parameter elsewhere, with a type |
//! | 503 | everywhere: overload |
//!
//! An answer of the program with the same status stays as it is. Where the program declares what it answers to
//! refused requests, refusals of handlers have that type.

use crate::api::{ApiAnswer, ApiOperation, ApiParameter, ParameterPlace, is_any};

/// A status code with the name of its component and when the server answers it.
const AUTOMATIC: [(u16, &str, &str); 11] = [
    (304, "NotModified", "The client has this content already."),
    (400, "BadRequest", "The request cannot be read."),
    (401, "Unauthorized", "Credentials are missing or wrong."),
    (403, "Forbidden", "The credentials do not allow this."),
    (404, "NotFound", "Nothing is at this path."),
    (406, "NotAcceptable", "None of the media types in `Accept` is available."),
    (412, "PreconditionFailed", "The content has changed meanwhile."),
    (413, "ContentTooLarge", "The content of the request is too large."),
    (415, "UnsupportedMediaType", "The content of the request has another media type."),
    (
        422,
        "UnprocessableContent",
        "Values are not of their types; `errors` has one entry for each.",
    ),
    (503, "ServiceUnavailable", "The server is overloaded; try again later."),
];

/// Refusals that come before the handler, or behind it.
const BY_SERVER: [u16; 3] = [406, 412, 413];

/// The name of the component of an automatic answer, and its sentence.
pub(crate) fn automatic(status: u16) -> Option<(&'static str, &'static str)> {
    let row = AUTOMATIC.iter().find(|(known, ..)| *known == status)?;
    Some((row.1, row.2))
}

/// The reason phrase of a status code (RFC 9110), for answers about which the program says nothing.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203..=204 => "No Content",
        205..=299 => "Success",
        300..=303 | 305..=399 => "Redirection",
        402 => "Payment Required",
        409 => "Conflict",
        410 => "Gone",
        429 => "Too Many Requests",
        _ => automatic(status)
            .map_or(if status >= 500 { "Server error" } else { "Refused" }, |(_, sentence)| {
                sentence
            }),
    }
}

/// Completes the answers of an operation.
pub(crate) fn add_automatic(operation: &mut ApiOperation) {
    if !operation.answers.iter().any(|answer| answer.status < 400) {
        let status = if operation.method == "DELETE" { 204 } else { 200 };
        operation.answers.push(plain(status, false));
    }
    for (status, ..) in AUTOMATIC {
        let known = operation.answers.iter().any(|answer| answer.status == status);
        if !known && applies(operation, status) {
            operation.answers.push(plain(status, status >= 400));
        }
    }
    add_refusals(operation);
    for answer in &mut operation.answers {
        if answer.about.is_empty() {
            answer.about = reason(answer.status).to_string();
        }
        let mut implied = Vec::new();
        let success = (200..300).contains(&answer.status);
        if operation.conditional && operation.method == "GET" && (success || answer.status == 304) {
            implied.push("ETag");
        }
        if operation.paged.is_some() && success {
            implied.extend(["Link", "X-Total-Count"]);
        }
        match answer.status {
            401 => implied.push("WWW-Authenticate"),
            503 => implied.push("Retry-After"),
            _ => {}
        }
        for name in implied {
            if !answer.headers.iter().any(|one| one.eq_ignore_ascii_case(name)) {
                answer.headers.push(name.into());
            }
        }
    }
    operation.answers.sort_by_key(|answer| answer.status);
    operation.answers.dedup_by_key(|answer| answer.status);
}

/// Gives refusals of the handler the type that the program declares for them.
fn add_refusals(operation: &mut ApiOperation) {
    let Some(refused) = operation.refused.clone() else { return };
    let typed = |one: &ApiParameter| one.place == ParameterPlace::Path && !is_any(&one.kind);
    let elsewhere = operation.parameters.iter().any(typed);
    let by_handler = |status| (400..500).contains(&status) && !BY_SERVER.contains(&status);
    for answer in operation.answers.iter_mut().filter(|one| by_handler(one.status)) {
        if answer.problem {
            answer.kind = Some(refused.clone());
            answer.media = vec!["application/json".into()];
            // Text that is no UTF-8 reaches no handler, nor does a segment that does not fit its type.
            answer.problem = answer.status == 400 || answer.status == 404 && elsewhere;
        }
    }
}

fn plain(status: u16, problem: bool) -> ApiAnswer {
    ApiAnswer {
        status,
        kind: None,
        media: Vec::new(),
        member: String::new(),
        headers: Vec::new(),
        about: String::new(),
        problem,
    }
}

fn applies(operation: &ApiOperation, status: u16) -> bool {
    let body = operation.body.is_some();
    // A segment of the path that does not fit its type is another path.
    let asked = |one: &ApiParameter| one.place != ParameterPlace::Path && !is_any(&one.kind);
    let typed = operation.parameters.iter().any(asked)
        || operation.body.as_ref().is_some_and(|body| !is_any(&body.kind));
    match status {
        304 => operation.conditional && operation.method == "GET",
        412 => operation.conditional && !operation.is_read(),
        400 | 413 | 415 => body,
        401 | 403 => operation.guarded,
        404 => operation.finds || operation.parameters_in(ParameterPlace::Path).next().is_some(),
        406 => operation.successes().any(|answer| answer.media.len() > 1),
        422 => typed,
        _ => true,
    }
}

/// What a header of an answer says.
pub(crate) fn header_about(name: &str) -> &'static str {
    match name.to_ascii_lowercase().as_str() {
        "etag" => "The version of the content, for `If-Match` and `If-None-Match`.",
        "link" => "The addresses of other parts of the list (RFC 8288).",
        "location" => "The address of the new content.",
        "retry-after" => "Seconds after which to try again.",
        "www-authenticate" => "How to send credentials.",
        "x-total-count" => "How many elements the whole list has.",
        _ => "",
    }
}
