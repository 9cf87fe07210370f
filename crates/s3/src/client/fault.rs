//! What the server refuses, in one sentence (Amazon S3 API reference, "Error responses").

use crate::client::xml;
use http::StatusCode;
use runnel_store::{DISK_FULL, Error, Kind};

/// The longest code of an error that is repeated.
const CODE_LENGTH: usize = 64;
/// How much of the server's own words is kept for the log, in characters.
const DETAIL_LENGTH: usize = 1024;

/// An error response.
pub(crate) struct S3Refusal<'a> {
    pub(crate) status: StatusCode,
    /// The XML of the error, or whatever came instead.
    pub(crate) body: &'a str,
    /// The region of the bucket, if the server names it.
    pub(crate) region: Option<&'a str>,
    pub(crate) bucket: Option<&'a str>,
}

/// The error of an answer that is no success.
pub(crate) fn of_refusal(refusal: &S3Refusal) -> Error {
    let code = xml::text(refusal.body, "Code").filter(|code| is_code(code)).unwrap_or_default();
    let words = xml::text(refusal.body, "Message").unwrap_or_else(|| refusal.body.to_string());
    let detail: String = words.chars().take(DETAIL_LENGTH).collect();
    let (kind, message) = match elsewhere(refusal, &code) {
        Some(message) => (Kind::Invalid, message),
        None => meaning(&code, refusal)
            .unwrap_or_else(|| (kind_of(refusal.status), said(refusal.status, &code))),
    };
    // What failed within the server may well succeed at the next attempt.
    let temporary = matches!(kind, Kind::Timeout | Kind::Unavailable) || code == "InternalError";
    Error::new(kind, message).with_temporary(temporary).with_detail(detail)
}

fn meaning(code: &str, refusal: &S3Refusal) -> Option<(Kind, String)> {
    let bucket = refusal.bucket.unwrap_or("of that name");
    let (kind, message) = match code {
        "NoSuchBucket" => (Kind::NotFound, format!("there is no bucket {bucket}")),
        "NoSuchKey" => (Kind::NotFound, "there is no such object".into()),
        "NoSuchUpload" => (Kind::Conflict, "the upload was given up by someone else".into()),
        "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => {
            (Kind::Denied, "the server denies access; look at the rights of the access key".into())
        }
        "InvalidAccessKeyId" | "InvalidClientTokenId" => (
            Kind::Denied,
            "the server does not know the access key; look at AWS_ACCESS_KEY_ID".into(),
        ),
        "SignatureDoesNotMatch" => (
            Kind::Denied,
            "the secret key is not the one of the access key; look at AWS_SECRET_ACCESS_KEY".into(),
        ),
        "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => {
            (Kind::Denied, "the session of the access key is over; ask for new credentials".into())
        }
        "RequestTimeTooSkewed" => {
            (Kind::Denied, "the clocks of this machine and of the server differ too much".into())
        }
        "BucketNotEmpty" => (Kind::Conflict, format!("the bucket {bucket} is not empty")),
        "BucketAlreadyExists" => {
            (Kind::Conflict, format!("the bucket {bucket} belongs to someone else"))
        }
        "InsufficientStorage" | "XMinioStorageFull" => (Kind::Unavailable, DISK_FULL.into()),
        "EntityTooLarge" => (Kind::TooLarge, "the server does not take objects so large".into()),
        "KeyTooLongError" => (Kind::TooLarge, "the key is too long".into()),
        "SlowDown" | "ServiceUnavailable" | "RequestTimeout" | "OperationAborted" => {
            (Kind::Unavailable, format!("the server asks to come back later ({code})"))
        }
        _ => return None,
    };
    Some((kind, message))
}

/// A bucket is in one region, and only that region answers for it.
fn elsewhere(refusal: &S3Refusal, code: &str) -> Option<String> {
    let is_elsewhere = matches!(
        code,
        "PermanentRedirect"
            | "TemporaryRedirect"
            | "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException"
    ) || refusal.status.is_redirection();
    if !is_elsewhere {
        return None;
    }
    let named = refusal.region.map(String::from).or_else(|| xml::text(refusal.body, "Region"));
    let region = named
        .filter(|region| region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    let bucket = refusal.bucket.unwrap_or_default();
    Some(match region.filter(|region| !region.is_empty()) {
        Some(region) => {
            format!("the bucket {bucket} is in the region {region}; set AWS_REGION to it")
        }
        None => format!("the bucket {bucket} is in another region; set AWS_REGION to it"),
    })
}

fn kind_of(status: StatusCode) -> Kind {
    match status.as_u16() {
        404 => Kind::NotFound,
        401 | 403 => Kind::Denied,
        405 | 501 => Kind::NotAllowed,
        408 | 504 => Kind::Timeout,
        409 => Kind::Conflict,
        412 => Kind::Precondition,
        413 => Kind::TooLarge,
        429 | 502 | 503 => Kind::Unavailable,
        400..=499 => Kind::Invalid,
        _ => Kind::Failed,
    }
}

fn said(status: StatusCode, code: &str) -> String {
    let reason = status.canonical_reason().unwrap_or_default();
    let reason = if code.is_empty() { reason } else { code };
    format!("the server answered {} {reason}", status.as_u16()).trim_end().to_string()
}

fn is_code(code: &str) -> bool {
    code.len() <= CODE_LENGTH && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The answer is no S3.
pub(crate) fn garbage(what: &str, answer: &str) -> Error {
    Error::new(Kind::Failed, format!("the server answered something else than {what}"))
        .with_detail(answer.chars().take(DETAIL_LENGTH).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> Error {
        let status = StatusCode::from_u16(status).unwrap_or_default();
        of_refusal(&S3Refusal { status, body, region: None, bucket: Some("cats") })
    }

    #[test]
    fn refusals_have_their_kinds() {
        let xml = |code: &str| format!("<Error><Code>{code}</Code><Message>m</Message></Error>");
        for (status, body, kind, temporary) in [
            (403, xml("AccessDenied"), Kind::Denied, false),
            (403, xml("SignatureDoesNotMatch"), Kind::Denied, false),
            (404, xml("NoSuchBucket"), Kind::NotFound, false),
            (503, xml("SlowDown"), Kind::Unavailable, true),
            (500, xml("InternalError"), Kind::Failed, true),
            (500, String::new(), Kind::Failed, false),
            (502, "<html>".into(), Kind::Unavailable, true),
            (400, xml("InvalidArgument"), Kind::Invalid, false),
            (412, xml("PreconditionFailed"), Kind::Precondition, false),
            (301, xml("PermanentRedirect"), Kind::Invalid, false),
        ] {
            let error = refused(status, &body);
            assert_eq!((error.kind, error.temporary), (kind, temporary), "{status} {body}");
        }
    }

    #[test]
    fn messages_say_what_to_do() {
        let body = "<Error><Code>PermanentRedirect</Code><Region>eu-west-1</Region></Error>";
        let error = refused(301, body);
        assert_eq!(
            error.message,
            "the bucket cats is in the region eu-west-1; set AWS_REGION to it"
        );
        let body = "<Error><Code>Odd</Code><Message>the secret is x</Message></Error>";
        let error = refused(400, body);
        assert_eq!(error.message, "the server answered 400 Odd");
        assert_eq!(error.detail.as_deref(), Some("the secret is x"));
    }
}
