//! Files that are compressed with Zstandard, RFC 8878: their names end in `.zst`.

use crate::{Body, ByteStream, Content, Error, Kind, Reference, Result};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::io::Write;
use zstd::stream::write::Encoder;

/// The compression level: twice as fast as the default, 3, for a tenth more bytes.
const LEVEL: i32 = 1;

/// Input bytes per compression step, well below a millisecond; the rest waits for the next poll.
const STEP: usize = 64 << 10;

/// The ending of the name of a compressed file.
pub const ZSTD_ENDING: &str = ".zst";

/// Content for a reference: compressed as a stream where its name ends in [`ZSTD_ENDING`]. The
/// length of the content is declared at the beginning where it is known, so that a reader can limit what it
/// expands.
///
/// # Errors
/// None that memory does not make.
pub fn packed_for(to: &Reference, content: Content) -> Result<Content> {
    if !to.path().ends_with(ZSTD_ENDING) {
        return Ok(content);
    }
    let (source, length): (ByteStream, _) = match content.body {
        Body::Stream(stream, length) => (stream, length),
        Body::Bytes(bytes) => {
            let length = bytes.len() as u64;
            (Box::pin(stream::iter([Ok(bytes)])), Some(length))
        }
        _ => return Err(Error::new(Kind::Invalid, "only bytes can be compressed")),
    };
    let mut encoder = Encoder::new(Vec::new(), LEVEL).map_err(failed)?;
    encoder.set_pledged_src_size(length).map_err(failed)?;
    let packing = Packing { source, rest: Bytes::new(), encoder: Some(encoder) };
    let packed = stream::try_unfold(packing, |mut packing| async move {
        Ok(packing.next().await?.map(|piece| (piece, packing)))
    });
    let body = Body::Stream(Box::pin(packed), None);
    Ok(Content { body, ..Content::default() }.with_media_type("application/zstd"))
}

struct Packing {
    source: ByteStream,
    /// Input not compressed yet.
    rest: Bytes,
    /// Nothing once the end was written.
    encoder: Option<Encoder<'static, Vec<u8>>>,
}

impl Packing {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Ok(None) };
            if self.rest.is_empty() {
                match self.source.next().await {
                    Some(piece) => self.rest = piece?,
                    None => {
                        let end = self.encoder.take().map(Encoder::finish).transpose();
                        return Ok(end.map_err(failed)?.map(Bytes::from));
                    }
                }
            }
            let step = self.rest.split_to(self.rest.len().min(STEP));
            encoder.write_all(&step).map_err(failed)?;
            let out = std::mem::take(encoder.get_mut());
            if !out.is_empty() {
                return Ok(Some(out.into()));
            }
            // Yields to other tasks, even without output.
            tokio::task::yield_now().await;
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Kind::Failed, "compression failed").with_detail(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn packed(name: &str, content: Content) -> Vec<u8> {
        let packed = packed_for(&Reference::from_path(name.to_string()), content).unwrap();
        packed.read(usize::MAX).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn a_name_decides_whether_a_file_is_compressed() {
        let text: Vec<u8> = (0..300_000).map(|at| b"abcdefg "[at % 8]).collect();
        let content = || Content::bytes(Bytes::from(text.clone()));
        assert_eq!(packed("x.db", content()).await, text);
        let small = packed("x.db.zst", content()).await;
        assert!(small.len() < text.len() / 100, "{}", small.len());
        assert_eq!(zstd::decode_all(&small[..]).unwrap(), text);
        let declared = zstd::zstd_safe::get_frame_content_size(&small).unwrap();
        assert_eq!(declared, Some(text.len() as u64));
        assert_eq!(zstd::decode_all(&packed(".zst", Content::bytes("")).await[..]).unwrap(), b"");
    }
}
