//! Content of several chunks as a stream with random access.

use crate::key_value::backend::KeyValueBackend;
use crate::key_value::entry::ObjectEntry;
use crate::key_value::layout::OBJECT_CHUNK;
use crate::key_value::open_objects::{ObjectLease, OpenObjects};
use bytes::Bytes;
use futures_util::stream;
use runnel_store::{Body, ByteStream, Context, Error, Kind, Result, Seekable};
use std::rc::Rc;
use std::sync::Arc;

/// The content of an object; its chunks stay until the body is dropped.
pub(crate) fn body<B: KeyValueBackend>(
    backend: &Rc<B>,
    objects: &Arc<OpenObjects>,
    entry: &ObjectEntry,
    context: &Context,
) -> Body {
    let reading = Rc::new(ObjectReading {
        backend: backend.clone(),
        object: entry.object,
        _lease: objects.lease(entry.object),
        context: Context { transaction: context.transaction.clone(), ..Context::default() },
    });
    Seekable::body(entry.length, move |from, length| reading.clone().stream(from, length))
}

/// An object that is being read.
struct ObjectReading<B> {
    backend: Rc<B>,
    object: i64,
    _lease: ObjectLease,
    /// Without a deadline: the caller may read as slowly as it likes.
    context: Context,
}

impl<B: KeyValueBackend> ObjectReading<B> {
    /// A range of the content, one chunk after the other.
    fn stream(self: Rc<Self>, from: u64, length: u64) -> ByteStream {
        Box::pin(stream::unfold((from, length), move |(from, left)| {
            let reading = self.clone();
            async move {
                if left == 0 {
                    return None;
                }
                Some(match reading.piece(from, left).await {
                    Ok(piece) => {
                        let read = piece.len() as u64;
                        (Ok(piece), (from + read, left - read))
                    }
                    Err(error) => (Err(error), (from, 0)),
                })
            }
        }))
    }

    /// The rest of the chunk at an offset, at most so long. It is never empty.
    async fn piece(&self, from: u64, length: u64) -> Result<Bytes> {
        let (part, within) = (from / OBJECT_CHUNK as u64, (from % OBJECT_CHUNK as u64) as usize);
        let chunk = self.backend.chunk(self.object, part, &self.context).await?;
        let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(OBJECT_CHUNK - within);
        match chunk {
            Some(chunk) if chunk.len() >= within + wanted => {
                Ok(chunk.slice(within..within + wanted))
            }
            _ => {
                let message = "the content was replaced while it was read; read it again";
                Err(Error::new(Kind::Conflict, message))
            }
        }
    }
}
