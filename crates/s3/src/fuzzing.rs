//! Entries of the fuzz targets `signature` and `chunked`: any bytes are a request or a body, and what
//! must hold is asserted.
#![allow(clippy::expect_used)]

use crate::server::access::users::{Requester, Users};
use crate::server::fault::S3Fault;
use crate::server::options::S3User;
use crate::server::payload::body::{BodyOptions, body};
use crate::server::payload::plan::{ChunkPlan, ChunkSignatures, PayloadPlan};
use crate::server::post_form::head::FormHead;
use crate::server::post_form::policy::PostPolicy;
use crate::signature::UNSIGNED_PAYLOAD;
use crate::signature::sign::{SignedTarget, Signer};
use crate::signature::time::SigningTime;
use crate::signature::verify::{SignedHead, verify};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use runnel_store::ByteStream;
use std::time::{Duration, SystemTime};

const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";
const REGION: &str = "us-east-1";

fn users() -> Users {
    Users::new(&[S3User::new(KEY, SECRET)], REGION)
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

/// A head: a line with the target, then lines with headers. No signature in it is right, and each
/// head that is signed by our own signer is.
pub fn signature(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let Ok(target) = Uri::try_from(lines.next().unwrap_or_default()) else { return };
    let mut headers = HeaderMap::new();
    for line in lines.take(40) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (name, value) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let (method, users) = (Method::PUT, users());
    let head = SignedHead { method: &method, uri: &target, headers: &headers };
    if let Ok(found) = verify(&head, &users, now()) {
        assert!(matches!(found.requester, Requester::Anonymous), "a forged signature");
    }
    let Some(path) = target.path_and_query().map(|path| path.as_str()) else { return };
    let Ok(uri) = Uri::try_from(format!("http://h{path}")) else { return };
    let has_signature = path.contains("X-Amz-") || path.contains("AWSAccessKeyId");
    if has_signature || path.contains('%') || headers.contains_key("x-amz-security-token") {
        return;
    }
    let signer = Signer { access_key: KEY, secret: SECRET, token: None, region: REGION };
    let signed = SignedTarget { method: &method, uri: &uri, payload: UNSIGNED_PAYLOAD };
    let time = SigningTime::of(now());
    headers.remove("x-amz-date");
    signer.sign(signed, &mut headers, &time).expect("a signature");
    let head = SignedHead { method: &method, uri: &uri, headers: &headers };
    verify(&head, &users, now()).expect("our own signature");
}

/// A body in chunks, after a byte that selects the framing and a byte with the cut. It is
/// the same content, or the same fault, however it is cut.
pub fn chunked(data: &[u8]) {
    let [kind, cut, sent @ ..] = data else { return };
    let signatures = match kind % 4 {
        0 => ChunkSignatures::Absent,
        1 => ChunkSignatures::Unchecked,
        2 => return form(sent),
        _ => return whole(sent, usize::from(*cut)),
    };
    let plan = PayloadPlan::Chunked(ChunkPlan { signatures, has_trailer: kind & 4 != 0 });
    let length = kind.checked_shr(3).unwrap_or_default().to_string();
    let at_once = read(&plan, sent, sent.len(), &length);
    assert_eq!(at_once, read(&plan, sent, usize::from(*cut), &length));
}

/// Content in one chunk is read as it is.
fn whole(content: &[u8], cut: usize) {
    let head = format!("{:x}\r\n", content.len()).into_bytes();
    let sent = [&head, content, b"\r\n0\r\n\r\n"].concat();
    let sent = if content.is_empty() { b"0\r\n\r\n".to_vec() } else { sent };
    let signatures = ChunkSignatures::Absent;
    let plan = PayloadPlan::Chunked(ChunkPlan { signatures, has_trailer: true });
    let found = read(&plan, &sent, cut, &content.len().to_string());
    assert_eq!(found.as_deref(), Ok(content));
}

fn form(sent: &[u8]) {
    if let Ok(Some(head)) = FormHead::parse(sent, "b") {
        assert!(head.length <= sent.len());
    }
    if let Ok(text) = std::str::from_utf8(sent)
        && let Ok(policy) = PostPolicy::parse(text)
    {
        let _ = policy.check_time(now());
    }
}

fn read(plan: &PayloadPlan, sent: &[u8], cut: usize, length: &str) -> Result<Vec<u8>, S3Fault> {
    let pieces = sent.chunks(cut.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece)));
    let raw: ByteStream = Box::pin(stream::iter(pieces.collect::<Vec<_>>()));
    let mut headers = HeaderMap::new();
    let length = HeaderValue::from_str(length).expect("a number");
    headers.insert("x-amz-decoded-content-length", length);
    headers.insert("x-amz-trailer", HeaderValue::from_static("x-amz-checksum-crc32"));
    if has_no_trailer(sent) {
        headers.remove("x-amz-trailer");
    }
    let mut body = body(plan.clone(), raw, None, &headers, BodyOptions::default())?;
    let reading = async {
        let mut content = Vec::new();
        while let Some(piece) = body.stream.next().await {
            let fault = || body.checks.fault().expect("the reason of a failed stream");
            content.extend_from_slice(&piece.map_err(|_| fault())?);
        }
        Ok(content)
    };
    reading.now_or_never().expect("a stream that is ready")
}

/// Whether no checksum follows the chunks.
fn has_no_trailer(sent: &[u8]) -> bool {
    sent.ends_with(b"0\r\n\r\n")
}
