//! The parts that CompleteMultipartUpload names, compared with those that were uploaded.

use super::create::UploadChecksum;
use crate::server::call::invalid_argument;
use crate::server::catalog::attributes::{ObjectPart, StoredChecksum};
use crate::server::catalog::uploads::PartRecord;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::operations::objects::conditions::unquoted;
use crate::server::payload::checksum::{
    Checksum, ChecksumAlgorithm, ChecksumType, combine, composite_text,
};
use crate::server::xml::{self, Element};
use fast_md5::Md5;
use std::collections::HashMap;

/// The smallest part but the last, in bytes.
const SMALLEST_PART: u64 = 5 << 20;

/// Most parts of an upload.
const PARTS: usize = 10_000;

/// A part as the client names it.
pub(crate) struct NamedPart {
    number: u32,
    etag: String,
    checksums: Vec<(ChecksumAlgorithm, String)>,
}

/// The parts of an object.
pub(crate) struct CompletedParts {
    pub(crate) parts: Vec<PartRecord>,
    pub(crate) length: u64,
    pub(crate) etag: String,
    pub(crate) checksum: Option<StoredChecksum>,
    /// Whether the client asked for the checksum.
    pub(crate) is_own: bool,
}

/// Reads the document of a completion.
pub(crate) fn read_parts(document: &[u8]) -> S3Result<Vec<NamedPart>> {
    let malformed = || S3Fault::new(FaultCode::MalformedXML);
    let root = xml::read(document)?;
    let parts: Vec<&Element> = root.all("Part").collect();
    if &*root.name != "CompleteMultipartUpload" || parts.is_empty() || parts.len() > PARTS {
        return Err(malformed());
    }
    let mut named: Vec<NamedPart> = Vec::with_capacity(parts.len());
    for part in parts {
        let number = part.text_of("PartNumber").ok_or_else(malformed)?;
        let number: i64 = number.trim().parse().map_err(|_| malformed())?;
        if number < 1 {
            let words = "PartNumber must be >= 1";
            return Err(invalid_argument(words, "PartNumber", &number.to_string()));
        }
        let number = u32::try_from(number).map_err(|_| malformed())?;
        if named.last().is_some_and(|last| last.number >= number) {
            return Err(FaultCode::InvalidPartOrder.into());
        }
        let etag = part.text_of("ETag").ok_or_else(malformed)?;
        let checksums = ChecksumAlgorithm::all().filter_map(|algorithm| {
            Some((algorithm, part.text_of(algorithm.element())?.to_string()))
        });
        named.push(NamedPart {
            number,
            etag: unquoted(etag.trim()).to_string(),
            checksums: checksums.collect(),
        });
    }
    Ok(named)
}

/// The tag of an object of these parts, by the tags that the client names.
pub(crate) fn etag_of(named: &[NamedPart]) -> String {
    joined_etag(named.iter().map(|part| part.etag.as_str()), named.len())
}

/// Compares what the client names with what was uploaded.
pub(crate) fn join_parts(
    id: &str,
    wanted: Option<UploadChecksum>,
    named: &[NamedPart],
    uploaded: Vec<PartRecord>,
) -> S3Result<CompletedParts> {
    let mut uploaded: HashMap<u32, PartRecord> =
        uploaded.into_iter().map(|part| (part.number, part)).collect();
    let mut parts = Vec::with_capacity(named.len());
    for (at, name) in named.iter().enumerate() {
        let invalid = |etag: &str| {
            S3Fault::new(FaultCode::InvalidPart)
                .with("UploadId", id)
                .with("PartNumber", name.number.to_string())
                .with("ETag", etag)
        };
        let part = uploaded.remove(&name.number).ok_or_else(|| invalid(&name.etag))?;
        if at + 1 < named.len() && part.length < SMALLEST_PART {
            return Err(S3Fault::new(FaultCode::EntityTooSmall)
                .with("ProposedSize", part.length.to_string())
                .with("MinSizeAllowed", SMALLEST_PART.to_string()));
        }
        if part.etag != name.etag {
            return Err(invalid(&part.etag));
        }
        check_checksum(wanted, name, &part).map_err(|fault| match fault {
            Some(fault) => fault,
            None => invalid(&part.etag),
        })?;
        parts.push(part);
    }
    let (algorithm, kind) =
        wanted.unwrap_or((ChecksumAlgorithm::Crc64Nvme, ChecksumType::FullObject));
    let etag = joined_etag(parts.iter().map(|part| part.etag.as_str()), parts.len());
    Ok(CompletedParts {
        length: parts.iter().map(|part| part.length).sum(),
        checksum: joined_checksum(algorithm, kind, wanted.is_some(), &parts),
        is_own: wanted.is_some(),
        etag,
        parts,
    })
}

impl CompletedParts {
    /// The parts as the object keeps them.
    pub(crate) fn object_parts(&self) -> Vec<ObjectPart> {
        let checksum = |part: &PartRecord| {
            let own = part.checksum.as_ref().filter(|_| self.is_own);
            own.map(|checksum| checksum.value.clone())
        };
        let parts = self.parts.iter();
        parts.map(|part| ObjectPart { length: part.length, checksum: checksum(part) }).collect()
    }
}

/// Checks the checksums that a client names for a part. Without a fault of its own it is the wrong
/// part.
fn check_checksum(
    wanted: Option<UploadChecksum>,
    name: &NamedPart,
    part: &PartRecord,
) -> Result<(), Option<S3Fault>> {
    let invalid = || {
        let words = "Invalid Base64 or multiple checksums present in request";
        invalid_argument(words, "Checksum", "")
    };
    if name.checksums.len() > 1 {
        return Err(Some(invalid()));
    }
    for (algorithm, text) in &name.checksums {
        if Checksum::parse(*algorithm, text).is_none() {
            return Err(Some(invalid()));
        }
    }
    let stored = part.checksum.as_ref();
    match (name.checksums.first(), stored) {
        (Some((algorithm, text)), Some(stored)) => {
            if *algorithm != stored.algorithm {
                let words = format!(
                    "The {} you specified for part {} did not match what we received.",
                    algorithm.name().to_ascii_lowercase(),
                    name.number
                );
                return Err(Some(S3Fault::new(FaultCode::BadDigest).because(words)));
            }
            if *text == stored.value { Ok(()) } else { Err(None) }
        }
        (Some((algorithm, text)), None) => {
            let is_known = *algorithm == ChecksumAlgorithm::Crc64Nvme
                && part.crc64.as_deref() == Some(text.as_str());
            if is_known { Ok(()) } else { Err(None) }
        }
        (None, _) => match wanted {
            Some((algorithm, ChecksumType::Composite)) => {
                let words = format!(
                    "The upload was created using a {} checksum. The complete request must \
                     include the checksum for each part. It was missing for part {} in the request.",
                    algorithm.name().to_ascii_lowercase(),
                    name.number
                );
                Err(Some(S3Fault::new(FaultCode::InvalidRequest).because(words)))
            }
            _ => Ok(()),
        },
    }
}

/// The MD5 of the MD5s of the parts, and their number.
fn joined_etag<'a>(etags: impl Iterator<Item = &'a str>, count: usize) -> String {
    let mut joined = Md5::new();
    for etag in etags {
        let digits = etag.as_bytes().chunks_exact(2);
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).unwrap_or_default();
            u8::from_str_radix(text, 16).unwrap_or_default()
        };
        joined.update(&digits.map(byte).collect::<Vec<u8>>());
    }
    let digits: String = joined.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits}-{count}")
}

fn joined_checksum(
    algorithm: ChecksumAlgorithm,
    kind: ChecksumType,
    is_own: bool,
    parts: &[PartRecord],
) -> Option<StoredChecksum> {
    let value = |part: &PartRecord| {
        let text = match is_own {
            true => part.checksum.as_ref().map(|sum| sum.value.clone()),
            false => part.crc64.clone(),
        };
        Some((Checksum::parse(algorithm, &text?)?, part.length))
    };
    let values: Vec<_> = parts.iter().map(value).collect::<Option<_>>()?;
    let joined = combine(algorithm, kind, &values)?;
    let value = match kind {
        ChecksumType::Composite => composite_text(&joined, parts.len()),
        ChecksumType::FullObject => joined.text(),
    };
    Some(StoredChecksum { algorithm, kind, value })
}
