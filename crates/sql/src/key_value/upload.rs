//! Content on its way into a store: small content in one transaction, larger content chunk by chunk
//! in transactions of its own, before the last one switches the key.

use crate::key_value::backend::KeyValueBackend;
use crate::key_value::entry::{WriteStamp, WrittenContent};
use crate::key_value::layout::OBJECT_CHUNK;
use crate::key_value::sweep::{Sweeper, UnfinishedObject};
use bytes::{Bytes, BytesMut};
use futures_util::future::join;
use futures_util::{StreamExt, stream};
use runnel_store::{Body, ByteStream, Content, Context, Form, Result};
use std::rc::Rc;

/// Chunks in one transaction: 1 MiB. Twice that is in memory for each upload.
const BATCH: usize = 4;

/// What was uploaded, and the guard of its object where it has several chunks.
pub(crate) struct UploadedContent<B: KeyValueBackend> {
    pub(crate) content: WrittenContent,
    pub(crate) unfinished: Option<UnfinishedObject<B>>,
}

impl<B: KeyValueBackend> UploadedContent<B> {
    /// Reads content to its end.
    pub(crate) async fn receive(
        backend: &Rc<B>,
        sweeper: &Rc<Sweeper<B>>,
        content: Content,
        context: &Context,
    ) -> Result<Self> {
        let mut source = ChunkSource::of(content).await?;
        let first = source.batch().await?;
        if source.ended && first.len() <= 1 {
            let whole = first.into_iter().next().unwrap_or_default();
            return Ok(UploadedContent { content: WrittenContent::Whole(whole), unfinished: None });
        }
        let mut length = bytes_of(&first);
        let mut part = first.len() as u64;
        let object = backend.begin(first, WriteStamp::now(), context).await?;
        let unfinished = Some(sweeper.unfinished(object));
        // A batch is gathered while the one before is written.
        let mut next = source.next().await?;
        while let Some(batch) = next {
            length += bytes_of(&batch);
            let count = batch.len() as u64;
            let extended = backend.extend(object, part, batch, WriteStamp::now(), context);
            part += count;
            let (extended, following) = join(extended, source.next()).await;
            extended?;
            next = following?;
        }
        Ok(UploadedContent { content: WrittenContent::Object { object, length }, unfinished })
    }
}

fn bytes_of(chunks: &[Bytes]) -> u64 {
    chunks.iter().map(|chunk| chunk.len() as u64).sum()
}

/// Content cut into chunks of [`OBJECT_CHUNK`]; only the last one is shorter.
struct ChunkSource {
    stream: ByteStream,
    /// Of the piece that came last.
    rest: Bytes,
    gathered: BytesMut,
    ended: bool,
}

impl ChunkSource {
    async fn of(content: Content) -> Result<Self> {
        let stream: ByteStream = match content.body {
            Body::Stream(stream, _) => stream,
            Body::Lazy(lazy) => match lazy.stream(Form::Text) {
                Some(stream) => stream,
                None => once(lazy.encode(Form::Text).await?),
            },
            body => once(Content { body, ..Content::default() }.read(usize::MAX).await?),
        };
        let (rest, gathered) = (Bytes::new(), BytesMut::new());
        Ok(ChunkSource { stream, rest, gathered, ended: false })
    }

    /// The next batch; `None` after the last.
    async fn next(&mut self) -> Result<Option<Vec<Bytes>>> {
        let batch = self.batch().await?;
        Ok((!batch.is_empty()).then_some(batch))
    }

    async fn batch(&mut self) -> Result<Vec<Bytes>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let Some(chunk) = self.chunk().await? else { break };
            batch.push(chunk);
        }
        Ok(batch)
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        loop {
            if self.gathered.is_empty() && self.rest.len() >= OBJECT_CHUNK {
                return Ok(Some(self.rest.split_to(OBJECT_CHUNK)));
            }
            let missing = (OBJECT_CHUNK - self.gathered.len()).min(self.rest.len());
            self.gathered.extend_from_slice(&self.rest.split_to(missing));
            if self.gathered.len() == OBJECT_CHUNK {
                return Ok(Some(self.gathered.split().freeze()));
            }
            if self.ended {
                let last = self.gathered.split().freeze();
                return Ok((!last.is_empty()).then_some(last));
            }
            match self.stream.next().await {
                Some(piece) => self.rest = piece?,
                None => self.ended = true,
            }
        }
    }
}

/// The chunks that follow the full ones of content when bytes are added, beginning with its last one
/// where that is filled in part. A reader of the old content takes only the part that it had then.
pub(crate) fn appended(last: &[u8], filled: usize, mut bytes: Bytes) -> Vec<Bytes> {
    let mut chunks = Vec::new();
    if filled > 0 && !bytes.is_empty() {
        let more = bytes.split_to(bytes.len().min(OBJECT_CHUNK - filled));
        chunks.push(Bytes::from([&last[..filled.min(last.len())], &more].concat()));
    }
    while !bytes.is_empty() {
        chunks.push(bytes.split_to(bytes.len().min(OBJECT_CHUNK)));
    }
    chunks
}

fn once(bytes: Bytes) -> ByteStream {
    Box::pin(stream::iter([Ok(bytes)]))
}
