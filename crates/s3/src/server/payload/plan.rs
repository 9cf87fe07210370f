//! How the body of a request is read, which its signature decides.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::signature::UNSIGNED_PAYLOAD;
use crate::signature::digest::is_hash;
use crate::signature::key::SigningKey;
use crate::signature::time::SigningTime;

/// What `x-amz-content-sha256` can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadHash<'a> {
    /// The body is not signed.
    Unsigned,
    /// The SHA-256 of the body, in hexadecimal digits.
    Whole(&'a str),
    /// Chunks without signatures, and a trailer.
    UnsignedChunks,
    /// Signed chunks; with a signed trailer where told.
    SignedChunks { has_trailer: bool },
    /// Chunks signed by an algorithm that is not supported.
    Unsupported(&'a str),
}

impl PayloadHash<'_> {
    /// Reads the value of the header.
    pub(crate) fn parse(text: &str) -> S3Result<PayloadHash<'_>> {
        Ok(match text {
            UNSIGNED_PAYLOAD => PayloadHash::Unsigned,
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => PayloadHash::UnsignedChunks,
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => {
                PayloadHash::SignedChunks { has_trailer: false }
            }
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => {
                PayloadHash::SignedChunks { has_trailer: true }
            }
            "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"
            | "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER" => PayloadHash::Unsupported(text),
            hash if is_hash(hash) => PayloadHash::Whole(hash),
            _ => return Err(invalid(text)),
        })
    }
}

/// How the body of a request is read.
#[derive(Clone, Debug)]
pub(crate) enum PayloadPlan {
    /// As it comes.
    Unsigned,
    /// As it comes; its SHA-256 must be this, in hexadecimal digits.
    Whole(String),
    /// In chunks.
    Chunked(ChunkPlan),
    /// Not at all: reading it is refused.
    Refused(S3Fault),
}

/// How chunks are read.
#[derive(Clone, Debug)]
pub(crate) struct ChunkPlan {
    pub(crate) signatures: ChunkSignatures,
    /// Whether a checksum may follow the chunks.
    pub(crate) has_trailer: bool,
}

/// The signatures of chunks.
#[derive(Clone, Debug)]
pub(crate) enum ChunkSignatures {
    /// There are none.
    Absent,
    /// There are some, and no key to check them: the server is open.
    Unchecked,
    /// Each is checked.
    Checked(Box<ChunkSigning>),
}

/// What the signature of a chunk is made from.
#[derive(Clone, Debug)]
pub(crate) struct ChunkSigning {
    pub(crate) key: SigningKey,
    pub(crate) access_key: String,
    pub(crate) time: SigningTime,
    pub(crate) scope: String,
    /// The signature of the request, with which the chain begins.
    pub(crate) seed: String,
}

impl PayloadPlan {
    /// The plan of a signed request, or of any request to an open server.
    pub(crate) fn of_signed(
        hash: PayloadHash,
        signing: impl FnOnce() -> ChunkSignatures,
    ) -> PayloadPlan {
        match hash {
            PayloadHash::Unsigned => PayloadPlan::Unsigned,
            PayloadHash::Whole(hash) => PayloadPlan::Whole(hash.to_string()),
            PayloadHash::UnsignedChunks => PayloadPlan::Chunked(ChunkPlan {
                signatures: ChunkSignatures::Absent,
                has_trailer: true,
            }),
            PayloadHash::SignedChunks { has_trailer } => {
                PayloadPlan::Chunked(ChunkPlan { signatures: signing(), has_trailer })
            }
            PayloadHash::Unsupported(name) => {
                let message = format!("The chunk encoding algorithm {name} is not supported.");
                PayloadPlan::Refused(S3Fault::new(FaultCode::NotImplemented).because(message))
            }
        }
    }

    /// The plan of a request without a signature. Text that is no hash matches no body.
    pub(crate) fn of_anonymous(text: &str) -> PayloadPlan {
        let Ok(hash) = PayloadHash::parse(text) else {
            return PayloadPlan::Whole(text.to_string());
        };
        match hash {
            PayloadHash::SignedChunks { .. } | PayloadHash::Unsupported(_) => {
                PayloadPlan::Refused(S3Fault::new(FaultCode::InvalidRequest).because(
                    "Anonymous requests don't support this x-amz-content-sha256 value. Please use \
                     UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER.",
                ))
            }
            hash => PayloadPlan::of_signed(hash, || ChunkSignatures::Absent),
        }
    }

    /// Refuses chunks, for requests other than PutObject and UploadPart.
    pub(crate) fn refuse_chunks(&self) -> S3Result<()> {
        if !matches!(self, PayloadPlan::Chunked(_)) {
            return Ok(());
        }
        let fault = S3Fault::new(FaultCode::InvalidRequest);
        Err(fault.because("The value of x-amz-content-sha256 header is invalid."))
    }
}

/// Compares the SHA-256 of a body with the signed one, both in hexadecimal digits.
pub(crate) fn check_hash(signed: &str, found: &str) -> S3Result<()> {
    if signed.eq_ignore_ascii_case(found) {
        return Ok(());
    }
    let fault = S3Fault::new(FaultCode::XAmzContentSHA256Mismatch);
    let fault = fault.with("ClientComputedContentSHA256", signed);
    Err(fault.with("S3ComputedContentSHA256", found))
}

fn invalid(value: &str) -> S3Fault {
    let fault = S3Fault::new(FaultCode::InvalidArgument).because(
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, \
         STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, \
         STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD, \
         STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER or a valid sha256 value.",
    );
    fault.with("ArgumentName", "x-amz-content-sha256").with("ArgumentValue", value)
}
