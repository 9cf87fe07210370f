//! The framing `aws-chunked`: chunks with their lengths, their signatures and a checksum behind them.
//!
//! ```text
//! 2000;chunk-signature=0e3a…␍␊ 8192 bytes ␍␊
//! 0;chunk-signature=b6c6…␍␊
//! x-amz-checksum-crc32c:sOO8/Q==␍␊ x-amz-trailer-signature:d81f…␍␊ ␍␊
//! ```
//!
//! Source: Amazon S3 API reference, "Signature Calculations for the Authorization Header:
//! Transferring Payload in Multiple Chunks".

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm};
use crate::server::payload::plan::{ChunkPlan, ChunkSignatures, ChunkSigning};
use crate::signature::EMPTY_HASH;
use crate::signature::digest::{hex, is_same, sha256_hex};
use crate::signature::verify::mismatch;
use bytes::{Buf, Bytes};
use sha2::{Digest, Sha256};

/// The longest line: the head of a chunk, a checksum or a signature.
const LONGEST_LINE: usize = 1024;
/// The length that each chunk but the last one has at least.
const SHORTEST_CHUNK: u64 = 8192;
/// What stands before the signature of a chunk.
const CHUNK_SIGNATURE: &str = "chunk-signature=";
/// What stands before the signature of the trailer.
const TRAILER_SIGNATURE: &str = "x-amz-trailer-signature:";
/// The digits of a signature.
const SIGNATURE_LENGTH: usize = 64;

/// Takes the data out of chunks, as they come.
pub(crate) struct ChunkDecoder {
    plan: ChunkPlan,
    /// The bytes of data that the client announced.
    expected: u64,
    /// The bytes of data of the chunks so far, with those of the current chunk that are to come.
    announced: u64,
    /// The number of the current chunk, from 1, and its length.
    chunk: (u64, u64),
    state: DecoderState,
    line: Vec<u8>,
    signatures: ChunkChain,
    /// The algorithm that `x-amz-trailer` names.
    trailer: Option<ChecksumAlgorithm>,
    /// The checksum that followed the chunks.
    checksum: Option<Checksum>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecoderState {
    /// In the head of a chunk.
    Head,
    /// In the data of a chunk. A chunk longer than announced ends early.
    Data { left: u64, is_too_long: bool },
    /// In the line end behind the data.
    DataEnd,
    /// In the line behind data that was announced shorter.
    Excess,
    /// Before the checksum behind the chunks, or the end.
    Checksum,
    /// Before the signature of the checksum.
    Signature,
    /// Before the empty line.
    End,
    /// Behind everything.
    Done,
}

impl ChunkDecoder {
    /// A decoder for data of this length.
    pub(crate) fn new(
        plan: ChunkPlan,
        expected: u64,
        trailer: Option<ChecksumAlgorithm>,
    ) -> ChunkDecoder {
        let seed = match &plan.signatures {
            ChunkSignatures::Checked(signing) => signing.seed.clone(),
            ChunkSignatures::Absent | ChunkSignatures::Unchecked => String::new(),
        };
        ChunkDecoder {
            plan,
            expected,
            announced: 0,
            chunk: (0, 0),
            state: DecoderState::Head,
            line: Vec::new(),
            signatures: ChunkChain {
                previous: seed,
                presented: String::new(),
                hash: Sha256::new(),
            },
            trailer,
            checksum: None,
        }
    }

    /// The next data in the input, which is a part of it, or nothing where the input is used up.
    pub(crate) fn decode(&mut self, input: &mut Bytes) -> S3Result<Option<Bytes>> {
        while !input.is_empty() {
            match self.state {
                DecoderState::Data { left: 0, is_too_long } => {
                    self.end_data(is_too_long)?;
                }
                DecoderState::Data { left, is_too_long } => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let data = input.split_to(length);
                    let left = left - length as u64;
                    if self.signing().is_some() {
                        self.signatures.hash.update(&data);
                    }
                    if left == 0 {
                        self.end_data(is_too_long)?;
                    } else {
                        self.state = DecoderState::Data { left, is_too_long };
                    }
                    return Ok(Some(data));
                }
                DecoderState::Excess => {
                    // A line end here belongs to a chunk that is shorter than its head says.
                    let is_end = input[0] == b'\r';
                    return Err(if is_end { incomplete() } else { wrong_length() });
                }
                DecoderState::Done => return Err(incomplete()),
                DecoderState::Head
                | DecoderState::DataEnd
                | DecoderState::Checksum
                | DecoderState::Signature
                | DecoderState::End => {
                    if self.read_line(input)? {
                        let line = std::mem::take(&mut self.line);
                        let line = String::from_utf8(line).map_err(|_| incomplete())?;
                        self.take_line(&line)?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Checks that nothing is missing, and answers the checksum that followed the chunks.
    pub(crate) fn finish(&mut self) -> S3Result<Option<Checksum>> {
        if self.state != DecoderState::Done {
            return Err(incomplete());
        }
        Ok(self.checksum.take())
    }

    fn signing(&self) -> Option<&ChunkSigning> {
        match &self.plan.signatures {
            ChunkSignatures::Checked(signing) => Some(signing),
            ChunkSignatures::Absent | ChunkSignatures::Unchecked => None,
        }
    }

    /// Reads up to the end of a line; answers whether it came.
    fn read_line(&mut self, input: &mut Bytes) -> S3Result<bool> {
        while input.has_remaining() {
            let byte = input.get_u8();
            let after_return = self.line.last() == Some(&b'\r');
            match (after_return, byte) {
                (true, b'\n') => {
                    self.line.pop();
                    return Ok(true);
                }
                (true, _) | (false, b'\n') => return Err(incomplete()),
                (false, byte) => self.line.push(byte),
            }
            if self.line.len() > LONGEST_LINE {
                return Err(incomplete());
            }
        }
        Ok(false)
    }

    fn take_line(&mut self, line: &str) -> S3Result<()> {
        self.state = match self.state {
            DecoderState::Head => return self.begin_chunk(line),
            DecoderState::DataEnd if line.is_empty() => DecoderState::Head,
            DecoderState::Checksum => self.take_checksum(line)?,
            DecoderState::Signature => {
                let signature = line.strip_prefix(TRAILER_SIGNATURE).ok_or_else(incomplete)?;
                self.check_trailer(signature)?;
                DecoderState::End
            }
            DecoderState::End if line.is_empty() => DecoderState::Done,
            _ => return Err(incomplete()),
        };
        Ok(())
    }

    /// The head of a chunk.
    fn begin_chunk(&mut self, line: &str) -> S3Result<()> {
        let length = match &self.plan.signatures {
            ChunkSignatures::Absent => line.trim(),
            ChunkSignatures::Unchecked | ChunkSignatures::Checked(_) => {
                let (length, extension) = line.split_once(';').ok_or_else(incomplete)?;
                let signature = extension.strip_prefix(CHUNK_SIGNATURE);
                self.signatures.presented = signature_in(signature)?.to_string();
                length
            }
        };
        let length = hexadecimal(length).ok_or_else(incomplete)?;
        let (number, previous) = self.chunk;
        if length > 0 && number > 0 && previous < SHORTEST_CHUNK {
            let fault = S3Fault::new(FaultCode::InvalidChunkSizeError);
            let fault = fault.with("Chunk", number.to_string());
            return Err(fault.with("BadChunkSize", previous.to_string()));
        }
        self.chunk = (number.saturating_add(1), length);
        if length == 0 {
            self.check_chunk()?;
            if self.announced != self.expected {
                return Err(wrong_length());
            }
            self.state = DecoderState::Checksum;
            return Ok(());
        }
        let left = self.expected.saturating_sub(self.announced);
        self.announced = self.announced.saturating_add(length);
        self.state = DecoderState::Data { left: left.min(length), is_too_long: length > left };
        Ok(())
    }

    fn end_data(&mut self, is_too_long: bool) -> S3Result<()> {
        if is_too_long {
            self.state = DecoderState::Excess;
            return Ok(());
        }
        self.state = DecoderState::DataEnd;
        self.check_chunk()
    }

    /// Checks the signature of a chunk, whose data was read.
    fn check_chunk(&mut self) -> S3Result<()> {
        let ChunkSignatures::Checked(signing) = &self.plan.signatures else { return Ok(()) };
        self.signatures.check_chunk(signing)
    }

    fn take_checksum(&mut self, line: &str) -> S3Result<DecoderState> {
        if line.is_empty() {
            return match self.trailer.filter(|_| self.plan.has_trailer) {
                Some(_) => Err(FaultCode::MalformedTrailerError.into()),
                None => Ok(DecoderState::Done),
            };
        }
        if !self.plan.has_trailer {
            return Err(incomplete());
        }
        let malformed = || S3Fault::new(FaultCode::MalformedTrailerError);
        let (name, value) = line.split_once(':').ok_or_else(malformed)?;
        let algorithm = self.trailer.filter(|known| known.header().eq_ignore_ascii_case(name));
        let algorithm = algorithm.ok_or_else(malformed)?;
        let checksum = Checksum::parse(algorithm, value.trim()).ok_or_else(|| {
            let header = algorithm.header();
            S3Fault::new(FaultCode::InvalidRequest)
                .because(format!("Value for {header} trailing header is invalid."))
        })?;
        self.checksum = Some(checksum);
        Ok(match &self.plan.signatures {
            ChunkSignatures::Absent => DecoderState::End,
            ChunkSignatures::Unchecked | ChunkSignatures::Checked(_) => {
                // The signature covers the line as it was sent.
                self.signatures.presented = sha256_hex(format!("{line}\n").as_bytes());
                DecoderState::Signature
            }
        })
    }

    fn check_trailer(&mut self, signature: &str) -> S3Result<()> {
        let signature = signature_in(Some(signature))?;
        let ChunkSignatures::Checked(signing) = &self.plan.signatures else { return Ok(()) };
        self.signatures.check_trailer(signing, signature)
    }
}

/// The signatures of chunks: each covers the one before.
struct ChunkChain {
    previous: String,
    /// The signature in the head of the chunk; of a trailer its hash.
    presented: String,
    /// The hash of the chunk's data.
    hash: Sha256,
}

impl ChunkChain {
    fn check_chunk(&mut self, signing: &ChunkSigning) -> S3Result<()> {
        let hash = hex(&self.hash.finalize_reset());
        let to_sign = [
            "AWS4-HMAC-SHA256-PAYLOAD",
            signing.time.text(),
            &signing.scope,
            &self.previous,
            EMPTY_HASH,
            &hash,
        ]
        .join("\n");
        let signature = signing.key.sign(to_sign.as_bytes());
        if !is_same(&signature, &self.presented) {
            return Err(mismatch(&signing.access_key, &self.presented, &to_sign, &[]));
        }
        self.previous = signature;
        Ok(())
    }

    fn check_trailer(&self, signing: &ChunkSigning, presented: &str) -> S3Result<()> {
        let to_sign = [
            "AWS4-HMAC-SHA256-TRAILER",
            signing.time.text(),
            &signing.scope,
            &self.previous,
            &self.presented,
        ]
        .join("\n");
        if is_same(&signing.key.sign(to_sign.as_bytes()), presented) {
            return Ok(());
        }
        Err(mismatch(&signing.access_key, presented, &to_sign, &[]))
    }
}

/// The signature of a chunk, where it has the right length.
fn signature_in(text: Option<&str>) -> S3Result<&str> {
    text.filter(|signature| signature.len() == SIGNATURE_LENGTH).ok_or_else(incomplete)
}

/// The number of hexadecimal digits.
fn hexadecimal(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_number { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// A body that is no chunks, or ends before its last one.
pub(crate) fn incomplete() -> S3Fault {
    S3Fault::new(FaultCode::IncompleteBody).because("The request body terminated unexpectedly")
}

/// Data of another length than announced.
fn wrong_length() -> S3Fault {
    FaultCode::IncompleteBody.into()
}
