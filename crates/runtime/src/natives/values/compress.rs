//! Compression of bytes: gzip (RFC 1952) and Zstandard (RFC 8878). A decompressed size is bounded, because a
//! few bytes may stand for gigabytes.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use runnel_store::{AT_ONCE, DATA_POOL, Error, Kind, Result};
use std::io::Read;

pub(crate) const NATIVES: [(&str, Native); 2] =
    [("compress", compress), ("decompress", decompress)];

/// The window of Zstandard that a text may ask for, as a power of two: 128 MiB, what the command line tool takes.
const MOST_WINDOW: u32 = 27;

/// `(bytes, coding)`: the bytes compressed by `gzip` or `zstd`.
fn compress(_: &Isolate, arguments: Arguments) -> Reply {
    let (bytes, coding) = (Bytes::copy_from_slice(arguments.bytes(1)), arguments.text(2));
    on_pool(bytes.len(), move || compressed(&bytes, &coding))
}

fn compressed(bytes: &[u8], coding: &str) -> Result<Bytes> {
    if coding == "zstd" {
        return zstd::encode_all(bytes, 0).map(Bytes::from).map_err(|_| broken(coding));
    }
    let mut out = Vec::new();
    let mut encoder = GzEncoder::new(bytes, Compression::default());
    encoder.read_to_end(&mut out).map_err(|_| broken(coding))?;
    Ok(out.into())
}

/// `(bytes, coding, most)`: what was compressed, at most this many bytes.
fn decompress(_: &Isolate, arguments: Arguments) -> Reply {
    let (bytes, coding) = (Bytes::copy_from_slice(arguments.bytes(1)), arguments.text(2));
    let most = arguments.number(3).max(0.0) as u64;
    // The result may be large where the bytes are few.
    on_pool(AT_ONCE + 1, move || decompressed(&bytes, &coding, most))
}

fn decompressed(bytes: &[u8], coding: &str, most: u64) -> Result<Bytes> {
    let mut out = Vec::new();
    let read = if coding == "zstd" {
        let mut decoder = zstd::Decoder::new(bytes).map_err(|_| broken(coding))?;
        decoder.window_log_max(MOST_WINDOW).map_err(|_| broken(coding))?;
        decoder.take(most.saturating_add(1)).read_to_end(&mut out)
    } else {
        MultiGzDecoder::new(bytes).take(most.saturating_add(1)).read_to_end(&mut out)
    };
    read.map_err(|_| broken(coding))?;
    if out.len() as u64 > most {
        let message = format!("the decompressed data is larger than {most} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(out.into())
}

fn broken(coding: &str) -> Error {
    Error::new(Kind::Invalid, format!("the data is not valid {coding}"))
}

/// Runs small work at once, large work on a thread.
fn on_pool(size: usize, work: impl FnOnce() -> Result<Bytes> + Send + 'static) -> Reply {
    if size <= AT_ONCE {
        return Reply::Now(Given::Bytes(attempt!(work())));
    }
    Reply::later(async move { DATA_POOL.attempt(work).await.map(Given::Bytes) })
}
