//! The body of a request as content: decoded and checked while it is read.

use crate::server::catalog::errors::broken_body;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::asked::AskedChecks;
use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm, ChecksumHasher};
use crate::server::payload::chunked::ChunkDecoder;
use crate::server::payload::form_file::FormFile;
use crate::server::payload::hashes::{BodyDigests, BodyHashers, BodyHashes};
use crate::server::payload::plan::{PayloadPlan, check_hash};
use crate::signature::digest::hex;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use fast_md5::Md5;
use futures_util::Stream;
use http::HeaderMap;
use runnel_store::{ByteStream, Error, Kind};
use sha2::{Digest, Sha256};
use std::cell::{Ref, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The largest body: 5 GiB, which is the largest object in one request and the largest part.
pub(crate) const LARGEST_BODY: u64 = 5 * 1024 * 1024 * 1024;

/// What is calculated besides what the request asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyOptions {
    /// Whether to calculate the MD5, for the entity tag.
    pub(crate) with_md5: bool,
    /// The checksum of a request that has none.
    pub(crate) usual_checksum: Option<ChecksumAlgorithm>,
    /// Whether the client sends the body. Otherwise it is content of the store, whose failures are
    /// the server's.
    pub(crate) is_sent: bool,
}

impl Default for BodyOptions {
    fn default() -> Self {
        let usual_checksum = Some(ChecksumAlgorithm::Crc64Nvme);
        BodyOptions { with_md5: true, usual_checksum, is_sent: true }
    }
}

/// A body that is ready to be read.
pub(crate) struct PayloadBody {
    /// The content. It fails at its end where a check does not hold.
    pub(crate) stream: ByteStream,
    /// The length of the content, where it is known.
    pub(crate) length: Option<u64>,
    /// The outcome of the checks, once the stream is at its end.
    pub(crate) checks: Rc<PayloadChecks>,
}

/// The outcome of the checks of a body.
#[derive(Debug, Default)]
pub(crate) struct PayloadChecks {
    outcome: RefCell<CheckOutcome>,
}

#[derive(Debug, Default)]
struct CheckOutcome {
    md5: Option<[u8; 16]>,
    checksum: Option<Checksum>,
    length: u64,
    fault: Option<S3Fault>,
}

impl PayloadChecks {
    /// The MD5 of the content, which is its entity tag.
    pub(crate) fn md5(&self) -> Option<[u8; 16]> {
        self.outcome.borrow().md5
    }

    /// The checksum of the content: as asked for, or the usual one.
    pub(crate) fn checksum(&self) -> Option<Checksum> {
        self.outcome.borrow().checksum.clone()
    }

    /// The bytes of content that were read.
    pub(crate) fn length(&self) -> u64 {
        self.outcome.borrow().length
    }

    /// Why the stream failed, where a check did not hold. Ask this before the error of the store,
    /// which only says that a stream failed.
    pub(crate) fn fault(&self) -> Option<S3Fault> {
        Ref::map(self.outcome.borrow(), |outcome| &outcome.fault).clone()
    }
}

/// Prepares the body of a request.
///
/// # Errors
/// What the headers say about the body is wrong.
pub(crate) fn body(
    plan: PayloadPlan,
    raw: ByteStream,
    length: Option<u64>,
    headers: &HeaderMap,
    options: BodyOptions,
) -> S3Result<PayloadBody> {
    let asked = AskedChecks::read(headers)?;
    let (hash, decoder, length) = match plan {
        PayloadPlan::Refused(fault) => return Err(fault),
        PayloadPlan::Unsigned => (None, BodyDecoder::Plain, length),
        PayloadPlan::Whole(hash) => (Some(hash), BodyDecoder::Plain, length),
        PayloadPlan::Chunked(plan) => {
            let length = decoded_length(headers)?;
            let decoder = ChunkDecoder::new(plan, length, asked.trailer);
            (None, BodyDecoder::Chunks(Box::new(decoder)), Some(length))
        }
    };
    if let Some(length) = length.filter(|length| *length > LARGEST_BODY) {
        return Err(too_large(length));
    }
    Ok(checked(BodyInput { raw, decoder, hash, asked, length }, options))
}

/// Prepares the file of a form. The fields stand for headers.
///
/// # Errors
/// What the fields say about the file is wrong.
pub(crate) fn file_body(
    file: FormFile,
    raw: ByteStream,
    headers: &HeaderMap,
    options: BodyOptions,
) -> S3Result<PayloadBody> {
    let asked = AskedChecks::read(headers)?;
    let decoder = BodyDecoder::File(file);
    Ok(checked(BodyInput { raw, decoder, hash: None, asked, length: None }, options))
}

/// What a body is read from.
struct BodyInput {
    raw: ByteStream,
    decoder: BodyDecoder,
    /// The SHA-256 that was signed, in hexadecimal digits.
    hash: Option<String>,
    asked: AskedChecks,
    length: Option<u64>,
}

fn checked(input: BodyInput, options: BodyOptions) -> PayloadBody {
    let BodyInput { raw, decoder, hash, asked, length } = input;
    let checks = Rc::new(PayloadChecks::default());
    let algorithm = asked.algorithm().or(options.usual_checksum);
    let hashes = BodyHashes::new(BodyHashers {
        md5: (options.with_md5 || asked.md5.is_some()).then(Md5::new),
        sha256: hash.is_some().then(Sha256::new),
        checksum: algorithm.map(ChecksumHasher::new),
    });
    let stream = CheckedStream {
        raw: Some(raw),
        is_received: false,
        input: Bytes::new(),
        decoder,
        hash,
        hashes,
        asked,
        length: 0,
        is_sent: options.is_sent,
        checks: checks.clone(),
    };
    PayloadBody { stream: Box::pin(stream), length, checks }
}

/// How content is framed.
enum BodyDecoder {
    Plain,
    Chunks(Box<ChunkDecoder>),
    File(FormFile),
}

/// The length of the data in chunks.
fn decoded_length(headers: &HeaderMap) -> S3Result<u64> {
    let value = headers.get("x-amz-decoded-content-length");
    let length = value.and_then(|value| value.to_str().ok()?.parse().ok());
    length.ok_or_else(|| FaultCode::MissingContentLength.into())
}

fn too_large(length: u64) -> S3Fault {
    let fault = S3Fault::new(FaultCode::EntityTooLarge).with("ProposedSize", length.to_string());
    fault.with("MaxSizeAllowed", LARGEST_BODY.to_string())
}

/// Content that is checked while it is read.
struct CheckedStream {
    /// What the client sends, until its end or a fault.
    raw: Option<ByteStream>,
    /// Whether all of it has arrived.
    is_received: bool,
    /// Input that is not decoded yet.
    input: Bytes,
    decoder: BodyDecoder,
    /// The SHA-256 that was signed, in hexadecimal digits.
    hash: Option<String>,
    hashes: BodyHashes,
    asked: AskedChecks,
    length: u64,
    is_sent: bool,
    checks: Rc<PayloadChecks>,
}

impl CheckedStream {
    /// The next content in the input.
    fn next_piece(&mut self) -> S3Result<Option<Bytes>> {
        let piece = match &mut self.decoder {
            BodyDecoder::Chunks(decoder) => decoder.decode(&mut self.input)?,
            BodyDecoder::File(file) => file.decode(&mut self.input)?,
            BodyDecoder::Plain => {
                Some(std::mem::take(&mut self.input)).filter(|piece| !piece.is_empty())
            }
        };
        let Some(piece) = piece else { return Ok(None) };
        self.length += piece.len() as u64;
        if self.length > LARGEST_BODY {
            return Err(too_large(self.length));
        }
        Ok(Some(piece))
    }

    /// Compares what was calculated with what was asked, at the end of the content.
    fn finish(&mut self, digests: BodyDigests) -> S3Result<()> {
        let following = match &mut self.decoder {
            BodyDecoder::Chunks(decoder) => decoder.finish()?,
            BodyDecoder::File(file) => {
                file.finish()?;
                None
            }
            BodyDecoder::Plain => None,
        };
        let BodyDigests { md5, sha256, checksum } = digests;
        if let (Some(hash), Some(sha256)) = (&self.hash, sha256) {
            check_hash(hash, &hex(&sha256))?;
        }
        if let (Some(asked), Some(found)) = (self.asked.md5, md5)
            && asked != found
        {
            return Err(S3Fault::new(FaultCode::BadDigest)
                .with("CalculatedDigest", BASE64_STANDARD.encode(found))
                .with("ExpectedDigest", hex(&asked)));
        }
        let asked = following.as_ref().or(self.asked.checksum.as_ref());
        if let (Some(asked), Some(found)) = (asked, &checksum)
            && asked != found
        {
            return Err(wrong_checksum(asked.algorithm));
        }
        let mut outcome = self.checks.outcome.borrow_mut();
        (outcome.md5, outcome.checksum, outcome.length) = (md5, checksum, self.length);
        Ok(())
    }

    /// Ends the stream with a fault.
    fn fail(&mut self, fault: S3Fault) -> Poll<Option<runnel_store::Result<Bytes>>> {
        let error = Error::new(Kind::Invalid, fault.message.clone().into_owned());
        self.checks.outcome.borrow_mut().fault = Some(fault);
        self.end(Err(error))
    }

    /// Ends the stream.
    fn end(&mut self, how: runnel_store::Result<()>) -> Poll<Option<runnel_store::Result<Bytes>>> {
        self.raw = None;
        Poll::Ready(how.err().map(Err))
    }
}

/// Content that is not that of the checksum.
pub(crate) fn wrong_checksum(algorithm: ChecksumAlgorithm) -> S3Fault {
    let name = algorithm.name();
    let message = format!("The {name} you specified did not match the calculated checksum.");
    S3Fault::new(FaultCode::BadDigest).because(message)
}

impl Stream for CheckedStream {
    type Item = runnel_store::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let Some(raw) = &mut this.raw else { return Poll::Ready(None) };
            if !this.input.is_empty() {
                if let Err(error) = ready!(this.hashes.poll_room(context)) {
                    return this.end(Err(error));
                }
                let piece = match this.next_piece() {
                    Ok(Some(piece)) => piece,
                    Ok(None) => continue,
                    Err(fault) => return this.fail(fault),
                };
                return match this.hashes.add(piece.clone(), context) {
                    Ok(()) => Poll::Ready(Some(Ok(piece))),
                    Err(error) => this.end(Err(error)),
                };
            }
            if this.is_received {
                let digests = match ready!(this.hashes.poll_finish(context)) {
                    Ok(digests) => digests,
                    Err(error) => return this.end(Err(error)),
                };
                return match this.finish(digests) {
                    Ok(()) => this.end(Ok(())),
                    Err(fault) => this.fail(fault),
                };
            }
            match ready!(raw.as_mut().poll_next(context)) {
                Some(Ok(bytes)) => this.input = bytes,
                Some(Err(error)) if this.is_sent => return this.fail(broken_body(error)),
                Some(Err(error)) => return this.end(Err(error)),
                None => this.is_received = true,
            }
        }
    }
}

#[cfg(test)]
mod tests;
