//! Authentication: who signed a request, if it was signed and the signature is right.

use crate::server::access::users::{KnownUser, Requester, Users};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::plan::{
    ChunkSignatures, ChunkSigning, PayloadHash, PayloadPlan, check_hash,
};
use crate::signature::authorization::{Authorization, malformed};
use crate::signature::canonical::{CanonicalRequest, PathForm, string_to_sign};
use crate::signature::digest::{hex, is_same};
use crate::signature::key::{SigningKey, scope};
use crate::signature::presigned::PresignedQuery;
use crate::signature::time::{SigningTime, rfc3339_of};
use crate::signature::{EMPTY_HASH, UNSIGNED_PAYLOAD};
use http::{HeaderMap, Method, Uri};
use std::time::SystemTime;

/// How far the clock of a client may be from ours, in seconds.
pub(crate) const CLOCK_SKEW: i64 = 15 * 60;

/// The head of a request as it was sent.
#[derive(Clone, Copy)]
pub(crate) struct SignedHead<'a> {
    pub(crate) method: &'a Method,
    /// The target; neither path nor query are decoded.
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

/// Who sent a request, and how its body is read.
#[derive(Clone, Debug)]
pub(crate) struct Authenticated {
    pub(crate) requester: Requester,
    pub(crate) payload: PayloadPlan,
}

/// Finds out who sent a request.
///
/// # Errors
/// What is wrong with its signature.
pub(crate) fn verify(head: &SignedHead, users: &Users, now: SystemTime) -> S3Result<Authenticated> {
    let query = PresignedQuery::find(head.uri.query().unwrap_or_default());
    let authorization = head.headers.get(http::header::AUTHORIZATION);
    if users.is_open() {
        return Ok(of_open_server(head.headers));
    }
    match (query?, authorization) {
        (None, None) => Ok(of_anonymous(head.headers)),
        (None, Some(authorization)) => {
            let text = String::from_utf8_lossy(authorization.as_bytes());
            verify_header(head, users, now, &text)
        }
        (Some(query), None) => verify_query(head, users, now, &query),
        (Some(_), Some(authorization)) => {
            let fault = S3Fault::new(FaultCode::InvalidArgument).because(
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, \
                 Signature query string parameter or the Authorization header should be specified",
            );
            let value = String::from_utf8_lossy(authorization.as_bytes());
            Err(fault.with("ArgumentName", "Authorization").with("ArgumentValue", value))
        }
    }
}

/// A server without users reads signatures, and cannot check them.
fn of_open_server(headers: &HeaderMap) -> Authenticated {
    let payload = match PayloadHash::parse(payload_text(headers).unwrap_or(UNSIGNED_PAYLOAD)) {
        Ok(hash) => PayloadPlan::of_signed(hash, || ChunkSignatures::Unchecked),
        Err(fault) => PayloadPlan::Refused(fault),
    };
    Authenticated { requester: Requester::Anonymous, payload }
}

fn of_anonymous(headers: &HeaderMap) -> Authenticated {
    let text = payload_text(headers).unwrap_or(UNSIGNED_PAYLOAD);
    let payload = PayloadPlan::of_anonymous(text);
    Authenticated { requester: Requester::Anonymous, payload }
}

fn verify_header(
    head: &SignedHead,
    users: &Users,
    now: SystemTime,
    authorization: &str,
) -> S3Result<Authenticated> {
    let time = signing_time(head.headers)?;
    check_clock(&time, now)?;
    let authorization = Authorization::parse(authorization)?;
    let credential = authorization.credential;
    credential
        .admit(users.region())
        .map_err(|words| malformed(&words).with("Region", users.region()))?;
    let known = find_user(users, credential.access_key)?;
    if head.headers.contains_key("x-amz-security-token") {
        return Err(FaultCode::InvalidToken.into());
    }
    if time.date() != credential.date {
        return Err(malformed(&format!(
            "Invalid credential date {:?}. This date is not the same as X-Amz-Date: {:?}.",
            credential.date,
            time.date()
        )));
    }
    let payload = match payload_text(head.headers) {
        Some(text) => text,
        // What has no body needs no hash of it.
        None if matches!(*head.method, Method::HEAD | Method::GET) => EMPTY_HASH,
        None => {
            let fault = S3Fault::new(FaultCode::InvalidRequest);
            let message = "Missing required header for this request: x-amz-content-sha256";
            return Err(fault.because(message));
        }
    };
    let hash = PayloadHash::parse(payload)?;
    let presented = PresentedSignature {
        known,
        region: users.region(),
        time,
        signed: authorization.signed,
        signature: authorization.signature,
        payload,
    };
    presented.check(head)?;
    let is_empty =
        head.headers.get(http::header::CONTENT_LENGTH).is_some_and(|length| length == "0");
    if let PayloadHash::Whole(hash) = hash
        && is_empty
    {
        // The hash of nothing is known before the operation looks at its bucket.
        check_hash(hash, EMPTY_HASH)?;
    }
    Ok(presented.authenticated(hash))
}

fn verify_query(
    head: &SignedHead,
    users: &Users,
    now: SystemTime,
    query: &PresignedQuery,
) -> S3Result<Authenticated> {
    let signature = query.check(users.region(), now, CLOCK_SKEW)?;
    let known = find_user(users, signature.credential.access_key)?;
    let payload = query.payload.as_deref().or_else(|| payload_text(head.headers));
    let payload = payload.unwrap_or(UNSIGNED_PAYLOAD);
    let hash = PayloadHash::parse(payload)?;
    let mut presented = PresentedSignature {
        known,
        region: users.region(),
        time: signature.time,
        signed: signature.signed,
        signature: signature.signature,
        payload,
    };
    if let Err(fault) = presented.check(head) {
        // Some clients sign that they do not sign the body, and send its hash all the same.
        presented.payload = UNSIGNED_PAYLOAD;
        let is_other = payload != UNSIGNED_PAYLOAD && matches!(hash, PayloadHash::Whole(_));
        if !is_other || presented.check(head).is_err() {
            return Err(fault);
        }
    }
    Ok(presented.authenticated(hash))
}

/// A signature with what it is said to sign.
struct PresentedSignature<'a> {
    known: &'a KnownUser,
    region: &'a str,
    time: SigningTime,
    signed: &'a str,
    signature: &'a str,
    payload: &'a str,
}

impl PresentedSignature<'_> {
    fn check(&self, head: &SignedHead) -> S3Result<()> {
        check_signed_headers(head.headers, self.signed)?;
        let canonical = CanonicalRequest {
            method: head.method,
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            headers: head.headers,
            signed: self.signed,
            payload: self.payload,
        };
        let (key, scope) = (self.key(), self.scope());
        let text = canonical.text(PathForm::Sent);
        let to_sign = string_to_sign(&self.time, &scope, &text);
        if is_same(&key.sign(to_sign.as_bytes()), self.signature) {
            return Ok(());
        }
        if canonical.has_unescaped_path() {
            let escaped = canonical.text(PathForm::Escaped);
            let to_sign = string_to_sign(&self.time, &scope, &escaped);
            if is_same(&key.sign(to_sign.as_bytes()), self.signature) {
                return Ok(());
            }
        }
        Err(mismatch(&self.known.user.key, self.signature, &to_sign, &text))
    }

    fn key(&self) -> SigningKey {
        self.known.signing_key(self.time.date(), self.region)
    }

    fn scope(&self) -> String {
        scope(self.time.date(), self.region)
    }

    fn authenticated(&self, hash: PayloadHash) -> Authenticated {
        let signing = || {
            ChunkSignatures::Checked(Box::new(ChunkSigning {
                key: self.key(),
                access_key: self.known.user.key.clone(),
                time: self.time.clone(),
                scope: self.scope(),
                seed: self.signature.to_string(),
            }))
        };
        Authenticated {
            requester: Requester::User(self.known.user.clone()),
            payload: PayloadPlan::of_signed(hash, signing),
        }
    }
}

/// The fault of a wrong signature, with what we signed, so that a client can compare.
pub(crate) fn mismatch(
    access_key: &str,
    provided: &str,
    to_sign: &str,
    canonical: &[u8],
) -> S3Fault {
    let fault = S3Fault::new(FaultCode::SignatureDoesNotMatch)
        .with("AWSAccessKeyId", access_key)
        .with("StringToSign", to_sign)
        .with("SignatureProvided", provided)
        .with("StringToSignBytes", octets(to_sign.as_bytes()));
    if canonical.is_empty() {
        return fault;
    }
    fault
        .with("CanonicalRequest", String::from_utf8_lossy(canonical))
        .with("CanonicalRequestBytes", octets(canonical))
}

/// Bytes as hexadecimal digits, with spaces between them.
fn octets(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(3 * bytes.len());
    for (index, digit) in hex(bytes).chars().enumerate() {
        if index > 0 && index % 2 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn find_user<'a>(users: &'a Users, access_key: &str) -> S3Result<&'a KnownUser> {
    users.find(access_key).ok_or_else(|| {
        S3Fault::new(FaultCode::InvalidAccessKeyId).with("AWSAccessKeyId", access_key)
    })
}

/// The time of a request that is signed in a header.
fn signing_time(headers: &HeaderMap) -> S3Result<SigningTime> {
    let field = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.filter(|value| !value.is_empty())
    };
    let time = match field("x-amz-date") {
        Some(text) => SigningTime::parse(text),
        None => field("date").and_then(SigningTime::parse_http),
    };
    time.ok_or_else(|| {
        let fault = S3Fault::new(FaultCode::AccessDenied);
        fault.because("AWS authentication requires a valid Date or x-amz-date header.")
    })
}

fn check_clock(time: &SigningTime, now: SystemTime) -> S3Result<()> {
    if time.age(now).abs() <= CLOCK_SKEW {
        return Ok(());
    }
    let fault = S3Fault::new(FaultCode::RequestTimeTooSkewed).with("RequestTime", time.text());
    let fault = fault.with("ServerTime", rfc3339_of(now));
    Err(fault.with("MaxAllowedSkewMilliseconds", (CLOCK_SKEW * 1000).to_string()))
}

/// The host and each header of S3 must be signed, so that no proxy can add or change one.
fn check_signed_headers(headers: &HeaderMap, signed: &str) -> S3Result<()> {
    let is_signed = |name: &str| signed.split(';').any(|signed| signed.eq_ignore_ascii_case(name));
    let names = headers.keys().map(http::HeaderName::as_str);
    let must_be_signed = |name: &&str| *name == "host" || name.starts_with("x-amz-");
    let mut missing: Vec<&str> =
        names.filter(must_be_signed).filter(|name| !is_signed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    let fault = S3Fault::new(FaultCode::AccessDenied);
    let fault = fault.because("There were headers present in the request which were not signed");
    Err(fault.with("HeadersNotSigned", missing.join(", ")))
}

/// The header `x-amz-content-sha256`.
fn payload_text(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get("x-amz-content-sha256")?;
    Some(value.to_str().unwrap_or("?")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
