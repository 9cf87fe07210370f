//! What is accepted and what is refused, signed by our own signer.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::server::options::S3User;
use crate::signature::digest::sha256_hex;
use crate::signature::sign::{SignedTarget, Signer};
use http::HeaderValue;
use std::time::Duration;

const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "secret/of+the=key";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn users() -> Users {
    Users::new(&[S3User::new(KEY, SECRET)], "us-east-1")
}

fn signer() -> Signer<'static> {
    Signer { access_key: KEY, secret: SECRET, token: None, region: "us-east-1" }
}

/// A request that is signed rightly, to be changed.
struct Sent {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Sent {
    fn signed(address: &str, payload: &str, at: SystemTime) -> Sent {
        let (method, uri): (_, Uri) = (Method::PUT, address.parse().unwrap());
        let mut headers = HeaderMap::new();
        let target = SignedTarget { method: &method, uri: &uri, payload };
        signer().sign(target, &mut headers, &SigningTime::of(at)).unwrap();
        let uri = uri.path_and_query().unwrap().as_str().parse().unwrap();
        Sent { method, uri, headers }
    }

    fn presigned(address: &str, validity: u32, at: SystemTime) -> Sent {
        let (method, uri): (_, Uri) = (Method::GET, address.parse().unwrap());
        let query = signer().presign(&method, &uri, &SigningTime::of(at), validity).unwrap();
        let mut headers = HeaderMap::new();
        let host = uri.authority().unwrap().as_str();
        headers.insert("host", HeaderValue::from_str(host).unwrap());
        Sent { method, uri: format!("{}?{query}", uri.path()).parse().unwrap(), headers }
    }

    fn with(mut self, name: &'static str, value: &str) -> Sent {
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// Changes the authorization.
    fn replacing(self, from: &str, to: &str) -> Sent {
        let value = self.headers["authorization"].to_str().unwrap().replace(from, to);
        self.with("authorization", &value)
    }

    /// Changes the target.
    fn at(mut self, from: &str, to: &str) -> Sent {
        let target = self.uri.to_string();
        assert!(target.contains(from), "{target}");
        self.uri = target.replace(from, to).parse().unwrap();
        self
    }

    fn verify(&self) -> S3Result<Authenticated> {
        let head = SignedHead { method: &self.method, uri: &self.uri, headers: &self.headers };
        verify(&head, &users(), now())
    }

    fn key(&self) -> Option<String> {
        self.verify().unwrap().requester.key().map(String::from)
    }

    fn fault(&self) -> (FaultCode, String) {
        let fault = self.verify().unwrap_err();
        (fault.code, fault.message.into_owned())
    }
}

const ADDRESS: &str = "http://127.0.0.1:2345/bucket/a%20b(c)?versionId=x&acl";

#[test]
fn signed_requests_are_accepted() {
    for payload in [sha256_hex(b"hello").as_str(), UNSIGNED_PAYLOAD] {
        assert_eq!(Sent::signed(ADDRESS, payload, now()).key().as_deref(), Some(KEY));
    }
    let presigned = Sent::presigned(ADDRESS, 60, now());
    assert_eq!(presigned.key().as_deref(), Some(KEY));
    let signed = Sent::signed(ADDRESS, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", now());
    let payload = signed.verify().unwrap().payload;
    let PayloadPlan::Chunked(chunks) = payload else { panic!("{payload:?}") };
    assert!(matches!(chunks.signatures, ChunkSignatures::Checked(_)) && !chunks.has_trailer);
}

#[test]
fn a_path_may_be_signed_escaped_and_sent_unescaped() {
    let sent = Sent::signed("http://h/bucket/a%28b%29", UNSIGNED_PAYLOAD, now());
    assert_eq!(sent.at("a%28b%29", "a(b)").key().as_deref(), Some(KEY));
}

#[test]
fn requests_without_a_signature_are_anonymous() {
    let mut sent = Sent::signed(ADDRESS, UNSIGNED_PAYLOAD, now());
    sent.headers.remove("authorization");
    assert_eq!(sent.key(), None);
    let chunks = sent.with("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
    let plan = chunks.verify().unwrap().payload;
    assert!(matches!(plan, PayloadPlan::Refused(fault) if fault.code == FaultCode::InvalidRequest));
}

#[test]
fn an_open_server_checks_no_signature() {
    let sent = Sent::signed(ADDRESS, UNSIGNED_PAYLOAD, now()).replacing("Signature=", "Nothing=");
    let head = SignedHead { method: &sent.method, uri: &sent.uri, headers: &sent.headers };
    let answer = verify(&head, &Users::new(&[], "us-east-1"), now()).unwrap();
    assert!(matches!(answer.requester, Requester::Anonymous));
}

#[test]
fn a_wrong_signature_is_answered_with_what_was_signed() {
    let sent = Sent::signed(ADDRESS, EMPTY_HASH, now()).replacing("Signature=", "Signature=0");
    let details = sent.verify().unwrap_err().details;
    let detail = |name| details.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    assert!(detail("StringToSign").starts_with("AWS4-HMAC-SHA256\n20231114T221320Z\n"));
    assert!(detail("StringToSignBytes").starts_with("41 57 53 34 2d "));
    assert!(detail("CanonicalRequest").starts_with("PUT\n/bucket/a%20b(c)\nacl=&versionId=x\n"));
}

#[test]
fn what_was_signed_cannot_be_changed() {
    let sent = || Sent::signed(ADDRESS, UNSIGNED_PAYLOAD, now());
    let mut method = sent();
    method.method = Method::DELETE;
    for changed in [
        method,
        sent().at("bucket", "bucker"),
        sent().at("versionId=x", "versionId=y"),
        sent().at("acl", "policy"),
        sent().with("host", "127.0.0.1:2346"),
        sent().with("x-amz-content-sha256", EMPTY_HASH),
        Sent::presigned(ADDRESS, 60, now()).at("Expires=60", "Expires=61"),
        Sent::presigned(ADDRESS, 60, now()).at("bucket", "bucker"),
        Sent::presigned(ADDRESS, 60, now()).at("Signature=", "Signature=0"),
    ] {
        assert_eq!(changed.fault().0, FaultCode::SignatureDoesNotMatch, "{}", changed.uri);
    }
    let added = sent().with("x-amz-tagging", "a=b").with("x-amz-copy-source", "b/c");
    let fault = added.verify().unwrap_err();
    assert_eq!(fault.code, FaultCode::AccessDenied);
    assert_eq!(fault.details[0], ("HeadersNotSigned", "x-amz-copy-source, x-amz-tagging".into()));
}

#[test]
fn malformed_headers_are_refused_in_the_words_of_s3() {
    let scope = "/20231114/us-east-1/s3/aws4_request";
    let malformed = "The authorization header is malformed; ";
    for (from, to, message) in [
        ("AWS4-HMAC-SHA256", "AWS2-HMAC-SHA1", "Unsupported Authorization Type"),
        ("Signature=", "Other=", "missing Signature."),
        ("SignedHeaders=", "Other=", "missing SignedHeaders."),
        ("Credential=", "Other=", "missing Credential."),
        ("SignedHeaders=", "SignedHeaders-", "is malformed."),
        (", Signature=", "", "requires three components"),
        (scope, "/20231114", "the Credential is mal-formed"),
        (scope, "/20231114/us-east-1/ec2/aws4_request", "incorrect service \"ec2\"."),
        (scope, "/x/us-east-1/s3/aws_request", "incorrect terminal \"aws_request\"."),
        (scope, "/x/us-east-1/s3/aws4_request", "incorrect date format \"x\"."),
        ("us-east-1", "us-west-1", "the region \"us-west-1\" is wrong; expecting \"us-east-1\""),
        ("20231114", "20231113", "Invalid credential date \"20231113\"."),
    ] {
        let (code, found) = Sent::signed(ADDRESS, EMPTY_HASH, now()).replacing(from, to).fault();
        assert!(found.contains(message), "{from}: {found}");
        let is_argument = code == FaultCode::InvalidArgument;
        assert!(is_argument || found.starts_with(malformed), "{found}");
    }
    let sent = || Sent::signed(ADDRESS, EMPTY_HASH, now());
    for (sent, code) in [
        (sent().with("authorization", "invalid"), FaultCode::InvalidArgument),
        (sent().with("authorization", "AWS seed"), FaultCode::InvalidRequest),
        (sent().replacing(KEY, "other"), FaultCode::InvalidAccessKeyId),
        (sent().with("x-amz-security-token", "x"), FaultCode::InvalidToken),
        (sent().with("x-amz-date", ""), FaultCode::AccessDenied),
        (sent().with("x-amz-date", "03032006"), FaultCode::AccessDenied),
        (sent().with("x-amz-content-sha256", "x"), FaultCode::InvalidArgument),
        (sent().at("acl", "X-Amz-Algorithm=x"), FaultCode::InvalidArgument),
    ] {
        assert_eq!(sent.fault().0, code);
    }
}

#[test]
fn clocks_may_differ_by_a_quarter_of_an_hour() {
    let skew = Duration::from_secs(CLOCK_SKEW as u64);
    let second = Duration::from_secs(1);
    for at in [now() - skew, now() + skew] {
        assert!(Sent::signed(ADDRESS, EMPTY_HASH, at).verify().is_ok());
    }
    for at in [now() - skew - second, now() + skew + second] {
        let (code, _) = Sent::signed(ADDRESS, EMPTY_HASH, at).fault();
        assert_eq!(code, FaultCode::RequestTimeTooSkewed);
    }
}

#[test]
fn presigned_addresses_end() {
    let minute = Duration::from_secs(60);
    assert!(Sent::presigned(ADDRESS, 60, now() - minute).verify().is_ok());
    for (sent, message) in [
        (Sent::presigned(ADDRESS, 59, now() - minute), "Request has expired."),
        (Sent::presigned(ADDRESS, 60, now() + 16 * minute), "Request is not valid yet."),
    ] {
        assert_eq!(sent.fault(), (FaultCode::AccessDenied, message.to_string()));
    }
}

#[test]
fn malformed_queries_are_refused_in_the_words_of_s3() {
    let sent = || Sent::presigned(ADDRESS, 60, now());
    let missing = "Query-string authentication version 4 requires";
    let about = "Error parsing the X-Amz-Credential parameter; ";
    for (from, to, message) in [
        ("AWS4-HMAC-SHA256", "AWS4-SHA256", "X-Amz-Algorithm only supports"),
        ("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", "only supports \"AWS4-HMAC-SHA256\""),
        ("X-Amz-Signature=", "x=", missing),
        ("X-Amz-Credential=", "x=", missing),
        ("X-Amz-Date=", "x=", missing),
        ("X-Amz-SignedHeaders=", "x=", missing),
        ("X-Amz-Expires=", "x=", missing),
        ("X-Amz-Expires=60", "X-Amz-Expires=-3", "must be non-negative"),
        ("X-Amz-Expires=60", "X-Amz-Expires=x", "should be a number"),
        ("X-Amz-Expires=60", "X-Amz-Expires=604801", "must be less than a week"),
        ("%2Faws4_request", "", about),
        ("aws4_request", "aws5_request", about),
        ("%2Fs3%2F", "%2Fsns%2F", about),
        ("us-east-1", "us-west-1", about),
        ("%2F20231114%2F", "%2F20231113%2F", "Invalid credential date \"20231113\"."),
        ("X-Amz-Date=2023", "X-Amz-Date=x023", "must be in the ISO8601 Long Format"),
    ] {
        let (code, found) = sent().at(from, to).fault();
        assert_eq!(code, FaultCode::AuthorizationQueryParametersError);
        assert!(found.contains(message), "{from}: {found}");
    }
    for (from, to, code) in [
        (KEY, "other", FaultCode::InvalidAccessKeyId),
        ("acl", "X-Amz-Security-Token=x", FaultCode::InvalidToken),
        ("acl", "AWSAccessKeyId=x&Signature=y", FaultCode::InvalidRequest),
    ] {
        assert_eq!(sent().at(from, to).fault().0, code);
    }
}
