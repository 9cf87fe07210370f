//! Forms as browsers send them, with policies as servers sign them.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::server::options::S3User;
use crate::signature::key::SigningKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::FutureExt;
use std::time::Duration;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

const CREDENTIAL: &str = "key/20231114/us-east-1/s3/aws4_request";
const DATE: &str = "20231114T221320Z";

/// A form whose policy has a condition for each signed field, and these.
fn form(conditions: &str, fields: &[(&str, &str)], file: &str) -> Vec<u8> {
    let policy = format!(
        "{{\"expiration\":\"2023-11-14T22:20:00Z\",\"conditions\":[{{\"bucket\":\"cats\"}},\
         [\"starts-with\",\"$key\",\"\"],{{\"x-amz-algorithm\":\"{ALGORITHM}\"}},\
         {{\"x-amz-credential\":\"{CREDENTIAL}\"}},{{\"x-amz-date\":\"{DATE}\"}}{conditions}]}}"
    );
    signed_form(&policy, fields, file)
}

fn signed_form(policy: &str, fields: &[(&str, &str)], file: &str) -> Vec<u8> {
    let policy = BASE64_STANDARD.encode(policy);
    let signature = SigningKey::derive("secret", "20231114", "us-east-1").sign(policy.as_bytes());
    let mut all = vec![
        ("key", "a/${filename}"),
        ("policy", &policy),
        ("x-amz-algorithm", ALGORITHM),
        ("x-amz-credential", CREDENTIAL),
        ("x-amz-date", DATE),
        ("x-amz-signature", &signature),
    ];
    for (name, value) in fields {
        all.retain(|(known, _)| known != name);
        all.push((name, value));
    }
    plain_form(&all, file)
}

fn plain_form(fields: &[(&str, &str)], file: &str) -> Vec<u8> {
    let mut sent = String::new();
    for (name, value) in fields {
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        sent.push_str(&format!("{head}{value}\r\n"));
    }
    sent.push_str("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"cat.jpg\"\r\n");
    sent.push_str(&format!("Content-Type: image/jpeg\r\n\r\n{file}\r\n--b--\r\n"));
    sent.into_bytes()
}

fn read(sent: &[u8], cut: usize) -> S3Result<PostForm> {
    let pieces: Vec<_> = sent.chunks(cut).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("multipart/form-data; boundary=b");
    headers.insert("content-type", kind);
    let users = Users::new(&[S3User::new("key", "secret")], "us-east-1");
    let raw: ByteStream = Box::pin(stream::iter(pieces));
    let length = Some(sent.len() as u64);
    PostForm::read(&headers, raw, length, &users, now()).now_or_never().unwrap()
}

fn upload(sent: &[u8]) -> S3Result<(PostAnswer, Vec<u8>)> {
    let mut form = read(sent, 100)?;
    let answer = form.answer("cats", "\"e\"");
    let mut body = form.body("cats", now(), BodyOptions::default())?;
    let content = async {
        let mut content = Vec::new();
        while let Some(piece) = body.stream.next().await {
            content.extend_from_slice(&piece.map_err(|_| body.checks.fault().unwrap())?);
        }
        Ok::<_, S3Fault>(content)
    };
    Ok((answer, content.now_or_never().unwrap()?))
}

fn message(sent: &[u8]) -> (FaultCode, String) {
    let fault = upload(sent).unwrap_err();
    (fault.code, fault.message.into_owned())
}

#[test]
fn a_signed_form_is_an_upload() {
    for cut in [1, 7, 10_000] {
        let form = read(&form("", &[], "meow"), cut).unwrap();
        assert_eq!((form.requester.key(), form.key.as_str()), (Some("key"), "a/cat.jpg"));
    }
    let (answer, content) = upload(&form("", &[], "meow")).unwrap();
    assert_eq!((answer, content), (PostAnswer::Status(204), b"meow".to_vec()));
    let conditions = ",[\"starts-with\",\"$success_action_redirect\",\"\"]";
    let fields = [("success_action_redirect", "http://h/done?a=1")];
    let (answer, _) = upload(&form(conditions, &fields, "meow")).unwrap();
    let location = "http://h/done?a=1&bucket=cats&key=a%2Fcat.jpg&etag=%22e%22";
    assert_eq!(answer, PostAnswer::Redirect(location.to_string()));
    let conditions = ",{\"success_action_status\":\"201\"},{\"x-amz-meta-a\":\"1\"}";
    let fields = [("success_action_status", "201"), ("X-Amz-Meta-A", "1"), ("x-ignore-b", "")];
    let sent = form(conditions, &fields, "");
    assert_eq!(upload(&sent).unwrap(), (PostAnswer::Status(201), Vec::new()));
    assert_eq!(read(&sent, 50).unwrap().headers()["x-amz-meta-a"], "1");
}

#[test]
fn an_unsigned_form_is_anonymous() {
    let form = read(&plain_form(&[("key", "a")], "meow"), 50).unwrap();
    assert_eq!(form.requester.key(), None);
}

#[test]
fn signatures_are_checked() {
    for (name, value, code) in [
        ("x-amz-algorithm", "AWS2", FaultCode::InvalidArgument),
        ("x-amz-credential", "x", FaultCode::InvalidArgument),
        ("x-amz-credential", "key/20231114/mars/s3/aws4_request", FaultCode::InvalidArgument),
        ("x-amz-credential", "x/20231114/us-east-1/s3/aws4_request", FaultCode::InvalidAccessKeyId),
        (
            "x-amz-credential",
            "key/20231113/us-east-1/s3/aws4_request",
            FaultCode::SignatureDoesNotMatch,
        ),
        ("x-amz-date", "x", FaultCode::InvalidArgument),
        ("x-amz-date", "20231114T211319Z", FaultCode::AccessDenied),
        ("x-amz-signature", "x", FaultCode::SignatureDoesNotMatch),
        ("x-amz-security-token", "x", FaultCode::InvalidToken),
        ("policy", "e30=", FaultCode::SignatureDoesNotMatch),
        ("key", "", FaultCode::InvalidArgument),
    ] {
        assert_eq!(message(&form("", &[(name, value)], "meow")).0, code, "{name}={value}");
    }
    for name in SIGNED_FIELDS {
        let (code, text) = message(&plain_form(&[("key", "a"), (name, "x")], "meow"));
        assert_eq!(code, FaultCode::InvalidArgument);
        assert!(text.starts_with("Bucket POST must contain a field named"), "{text}");
    }
}

#[test]
fn policies_are_checked() {
    for (conditions, fields, expected) in [
        ("", &[("content-type", "a/b")][..], "Extra input fields: content-type"),
        (",[\"eq\",\"$a\",\"1\"]", &[("a", "2")], "Condition failed: [\"eq\",\"$a\",\"1\"]"),
        (",{\"A\":\"1\"}", &[("a", "2")], "Condition failed: [\"eq\", \"$a\", \"1\"]"),
        (",{\"a\":\"1\"}", &[], "Condition failed: [\"eq\", \"$a\", \"1\"]"),
        (",[\"starts-with\",\"$a\",\"x/\"]", &[("a", "y/")], "Policy Condition failed: "),
        (
            ",[\"starts-with\",\"$content-type\",\"text/\"]",
            &[("content-type", "text/plain, image/jpeg")],
            "Policy Condition failed: ",
        ),
        (",[\"content-length-range\",0,3]", &[], "exceeds the maximum"),
        (",[\"content-length-range\",\"5\",\"9\"]", &[], "smaller than the minimum"),
        (",[]", &[], "missing operation identifier."),
        (",[\"x\",\"$a\",\"b\"]", &[], "unknown operation 'x'."),
        (",[\"eq\",\"$a\"]", &[], "Invalid eq: wrong number of arguments."),
        (",[\"eq\",\"a\",\"b\"]", &[], "Condition failed: [\"eq\",\"a\",\"b\"]"),
        (",[\"eq\",\"$a\",true]", &[], "Invalid JSON."),
        (",[\"content-length-range\",1,false]", &[], "Invalid JSON."),
        (",{\"a\":\"1\",\"b\":\"2\"}", &[], "exactly one property"),
        (",{\"a\":1}", &[], "value must be a string."),
        (",true", &[], "must be a List or Object."),
    ] {
        let (_, found) = message(&form(conditions, fields, "meow"));
        assert!(found.contains(expected), "{conditions}: {found}");
    }
    for (policy, expected) in [
        ("", "Expecting '{' but found End-of-Input"),
        ("x", "Invalid JSON."),
        ("{}", "Policy missing expiration."),
        ("{\"expiration\":\"2099-01-01T00:00:00Z\"}", "Policy missing conditions."),
        ("{\"expiration\":\"x\",\"conditions\":[]}", "Invalid 'expiration' value: 'x'"),
        ("{\"expiration\":true,\"conditions\":[]}", "Invalid JSON."),
        ("{\"expiration\":\"x\",\"conditions\":1}", "must be a List."),
        ("{\"expiration\":\"x\",\"conditions\":[],\"extra\":1}", "Unexpected: \"extra\""),
        ("{\"expiration\":\"2023-11-14T22:13:19Z\",\"conditions\":[]}", "Policy expired."),
    ] {
        let (_, found) = message(&signed_form(policy, &[], "meow"));
        assert!(found.contains(expected), "{policy}: {found}");
    }
}

#[test]
fn what_is_no_form_is_refused() {
    assert_eq!(message(b"--b--\r\n").0, FaultCode::MalformedPOSTRequest);
    let large = plain_form(&[("a", &"x".repeat(LARGEST_HEAD + 200))], "meow");
    assert_eq!(message(&large).0, FaultCode::MaxPostPreDataLengthExceededError);
    let cut = form("", &[], "meow");
    assert_eq!(message(&cut[..cut.len() - 8]).0, FaultCode::MalformedPOSTRequest);
    for (kind, code) in [
        ("application/json", FaultCode::PreconditionFailed),
        ("multipart/form-data", FaultCode::MalformedPOSTRequest),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static(kind));
        assert_eq!(boundary(&headers).unwrap_err().code, code);
    }
}
