//! What a request says about the integrity of its body: `Content-MD5`, `x-amz-checksum-*`,
//! `x-amz-trailer` and `x-amz-sdk-checksum-algorithm`.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use http::{HeaderMap, HeaderValue};

/// Base 64 in which bits of the last digit may be set that stand for nothing: such an MD5 does not
/// match, but is one.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The start of the headers of checksums.
const PREFIX: &str = "x-amz-checksum-";
/// Headers with this start that have no checksum.
const OTHERS: [&str; 3] =
    ["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"];

/// The checks that a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedChecks {
    /// The MD5 of the body.
    pub(crate) md5: Option<[u8; 16]>,
    /// The checksum of the body, in a header.
    pub(crate) checksum: Option<Checksum>,
    /// The algorithm of the checksum that follows the body.
    pub(crate) trailer: Option<ChecksumAlgorithm>,
}

impl AskedChecks {
    /// Reads the headers of a request.
    pub(crate) fn read(headers: &HeaderMap) -> S3Result<AskedChecks> {
        let md5 = headers.get("content-md5").map(md5_in).transpose()?;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let text = |name: &str| text(name).filter(|text| !text.is_empty());
        let named = match text("x-amz-sdk-checksum-algorithm") {
            Some(name) => Some(ChecksumAlgorithm::of_name(name).ok_or_else(unknown_algorithm)?),
            None => None,
        };
        let values = checksum_headers(headers)?;
        let trailer = text("x-amz-trailer");
        if values.len() > 1 || (!values.is_empty() && trailer.is_some()) {
            return Err(several());
        }
        if named.is_some() && values.is_empty() && trailer.is_none() {
            return Err(S3Fault::new(FaultCode::InvalidRequest).because(
                "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or \
                 x-amz-trailer headers were found.",
            ));
        }
        let trailer = match trailer {
            Some(name) => Some(ChecksumAlgorithm::of_header(name).ok_or_else(|| {
                let message = "The value specified in the x-amz-trailer header is not supported";
                S3Fault::new(FaultCode::InvalidRequest).because(message)
            })?),
            None => None,
        };
        let checksum = match values.first() {
            Some((algorithm, value)) => Some(
                Checksum::parse(*algorithm, value)
                    .ok_or_else(|| invalid_header(algorithm.header()))?,
            ),
            None => None,
        };
        let asked = AskedChecks { md5, checksum, trailer };
        if named.is_some() && asked.algorithm() != named {
            return Err(invalid_header("x-amz-sdk-checksum-algorithm"));
        }
        Ok(asked)
    }

    /// The algorithm of the checksum, in a header or behind the body.
    pub(crate) fn algorithm(&self) -> Option<ChecksumAlgorithm> {
        self.trailer.or(self.checksum.as_ref().map(|checksum| checksum.algorithm))
    }
}

/// The headers of checksums, with their values.
fn checksum_headers(headers: &HeaderMap) -> S3Result<Vec<(ChecksumAlgorithm, String)>> {
    let mut values = Vec::new();
    for (name, value) in headers {
        let name = name.as_str();
        if !name.starts_with(PREFIX) || OTHERS.contains(&name) {
            continue;
        }
        let algorithm = ChecksumAlgorithm::of_header(name).ok_or_else(|| {
            let message = "The algorithm type you specified in x-amz-checksum- header is invalid.";
            S3Fault::new(FaultCode::InvalidRequest).because(message)
        })?;
        values.push((algorithm, value.to_str().unwrap_or_default().to_string()));
    }
    Ok(values)
}

fn md5_in(value: &HeaderValue) -> S3Result<[u8; 16]> {
    let decoded = LENIENT.decode(value.as_bytes()).ok();
    decoded.and_then(|decoded| decoded.try_into().ok()).ok_or_else(|| {
        let value = String::from_utf8_lossy(value.as_bytes());
        S3Fault::new(FaultCode::InvalidDigest).with("Content-MD5", value)
    })
}

/// A header with something else than a checksum.
pub(crate) fn invalid_header(name: &str) -> S3Fault {
    let message = format!("Value for {name} header is invalid.");
    S3Fault::new(FaultCode::InvalidRequest).because(message)
}

/// More than one checksum.
pub(crate) fn several() -> S3Fault {
    S3Fault::new(FaultCode::InvalidRequest).because(
        "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
    )
}

/// A name of no algorithm.
pub(crate) fn unknown_algorithm() -> S3Fault {
    S3Fault::new(FaultCode::InvalidRequest).because(
        "Checksum algorithm provided is unsupported. Please try again with any of the valid \
         types: [CRC32, CRC32C, CRC64NVME, MD5, SHA1, SHA256, SHA512, XXHASH128, XXHASH3, \
         XXHASH64]",
    )
}
