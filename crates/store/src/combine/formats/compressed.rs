//! Compressed below, plain above.

use crate::Map;
use crate::combine::definition::Combinator;
use crate::{
    Answer, Body, ByteStream, Content, Error, Form, Kind, Result, Setting, SettingTable, Store,
    Value,
};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, MultiGzDecoder};
use futures_util::{StreamExt, stream};
use std::io::Write;
use std::rc::Rc;

/// How large compressed content may become when it is read. A file of a few kilobytes can claim to
/// be terabytes.
pub const EXPANDED_BYTES: u64 = 16 << 30;

/// Size limit of input to compress, and of output to expand, in one step: some milliseconds. Larger
/// content becomes a stream.
const AT_ONCE: usize = 64 << 10;

/// Input bytes per step of the decoder. A byte of gzip expands to about a thousand at most, so the
/// output of a step stays within a few megabytes.
const STEP: usize = 4 << 10;

struct CompressedOptions {
    max_expanded_size: u64,
}

impl Default for CompressedOptions {
    fn default() -> Self {
        CompressedOptions { max_expanded_size: EXPANDED_BYTES }
    }
}

const SETTINGS: SettingTable<CompressedOptions> = SettingTable(&[Setting::size(
    "maxExpandedSize",
    "the largest content after expanding",
    |options: &mut CompressedOptions| &mut options.max_expanded_size,
)
.was(&["expanded"])]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Compressed",
    aliases: &[],
    help: "compresses with gzip",
    settings: &SETTINGS,
    make: |parts| {
        let CompressedOptions { max_expanded_size } = parts.read("a Compressed", &SETTINGS)?;
        Ok(Compressed::gzip_up_to(parts.source()?, max_expanded_size).into())
    },
};

/// Content compressed in its store and plain for its users.
///
/// - Content larger than 64 KiB is compressed and expanded as a stream, on demand.
/// - Values and lazy content are stored as text ([`Form::Text`]). The media type is preserved and
///   describes the plain content. Nil and empty content pass.
/// - Reads require gzip: other content is [`Kind::Invalid`], and so is corrupt or truncated gzip,
///   at that point of the stream. Concatenated members count as one, so a post that appends works.
/// - More than [`EXPANDED_BYTES`] are [`Kind::TooLarge`].
pub struct Compressed;

impl Compressed {
    /// gzip, RFC 1952, in `source`.
    pub fn gzip(source: Rc<dyn Store>) -> Map {
        Compressed::gzip_up_to(source, EXPANDED_BYTES)
    }

    /// The same with another size limit of reads, in bytes.
    pub fn gzip_up_to(source: Rc<dyn Store>, limit: u64) -> Map {
        let map = Map::new(source, "gzip");
        map.reading(move |_, content| expanded(content, limit))
            .writing(|_, content| packed(content))
    }
}

fn packed(content: Content) -> Answer<Content> {
    match &content.body {
        Body::Empty | Body::Value(Value::Nil) => return Answer::ok(content),
        Body::Bytes(_) | Body::Text(_) | Body::Stream(..) => {
            return recoded(content, Direction::Pack).into();
        }
        Body::Value(_) | Body::Lazy(_) => {}
    }
    let media_type = Some(content.media_type_in(Form::Text));
    let (class, metadata) = (content.class.clone(), content.metadata.clone());
    content.encode(Form::Text).and_then(move |bytes| {
        let body = Body::Bytes(bytes);
        let plain = Content { body, media_type, metadata, class, ..Content::default() };
        recoded(plain, Direction::Pack).into()
    })
}

fn expanded(content: Content, limit: u64) -> Answer<Content> {
    recoded(content, Direction::Expand(limit)).into()
}

#[derive(Clone, Copy)]
enum Direction {
    Pack,
    /// Expands, with a limit in bytes.
    Expand(u64),
}

/// Content through a coder: at once when it is small, as a stream otherwise.
fn recoded(content: Content, direction: Direction) -> Result<Content> {
    let body = match content.body {
        Body::Empty => Body::Empty,
        Body::Stream(chunks, _) => streamed(chunks, direction),
        Body::Text(text) => whole(text.into_bytes(), direction)?,
        Body::Bytes(bytes) | Body::Value(Value::Bytes(bytes)) => whole(bytes, direction)?,
        Body::Value(_) | Body::Lazy(_) => return Err(broken("this is a value, no gzip")),
    };
    Ok(Content { body, ..content })
}

fn broken(message: &str) -> Error {
    Error::new(Kind::Invalid, message)
}

fn whole(bytes: Bytes, direction: Direction) -> Result<Body> {
    if bytes.len() <= AT_ONCE {
        let (mut coder, mut out) = (Coder::new(direction), Vec::new());
        let mut steps = bytes.chunks(STEP);
        loop {
            match steps.next() {
                Some(step) => coder.feed(step)?,
                None => {
                    coder.finish()?;
                    out.append(coder.out());
                    return Ok(Body::Bytes(out.into()));
                }
            }
            out.append(coder.out());
            if out.len() > AT_ONCE {
                break;
            }
        }
    }
    Ok(streamed(Box::pin(stream::iter([Ok(bytes)])), direction))
}

fn streamed(chunks: ByteStream, direction: Direction) -> Body {
    let recoder = Recoder {
        chunks,
        coder: Coder::new(direction),
        input: Bytes::new(),
        ended: false,
        worked: 0,
    };
    let pieces = stream::try_unfold(recoder, |mut recoder| async move {
        let piece = recoder.next().await?;
        Ok(piece.map(|piece| (piece, recoder)))
    });
    Body::Stream(Box::pin(pieces), None)
}

/// A stream on its way through a coder.
struct Recoder {
    chunks: ByteStream,
    coder: Coder,
    input: Bytes,
    ended: bool,
    /// Input and output bytes since the last yield to other tasks.
    worked: usize,
}

impl Recoder {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let out = self.coder.out();
            if out.len() >= STEP || (self.ended && !out.is_empty()) {
                return Ok(Some(std::mem::take(out).into()));
            }
            if self.ended {
                return Ok(None);
            }
            if self.input.is_empty() {
                match self.chunks.next().await {
                    Some(chunk) => self.input = chunk?,
                    None => {
                        self.coder.finish()?;
                        self.ended = true;
                    }
                }
                continue;
            }
            if self.worked >= AT_ONCE {
                self.worked = 0;
                tokio::task::yield_now().await;
            }
            let step = self.input.split_to(self.input.len().min(STEP));
            let before = self.coder.out().len();
            self.coder.feed(&step)?;
            self.worked += step.len() + self.coder.out().len().saturating_sub(before);
        }
    }
}

/// A coder that writes into memory.
enum Coder {
    Pack(GzEncoder<Vec<u8>>),
    Expand { inner: MultiGzDecoder<Vec<u8>>, fed: bool, total: u64, limit: u64 },
}

impl Coder {
    fn new(direction: Direction) -> Self {
        match direction {
            Direction::Pack => Coder::Pack(GzEncoder::new(Vec::new(), Compression::default())),
            Direction::Expand(limit) => {
                let inner = MultiGzDecoder::new(Vec::new());
                Coder::Expand { inner, fed: false, total: 0, limit }
            }
        }
    }

    /// Output that the reader has not taken yet.
    fn out(&mut self) -> &mut Vec<u8> {
        match self {
            Coder::Pack(inner) => inner.get_mut(),
            Coder::Expand { inner, .. } => inner.get_mut(),
        }
    }

    fn feed(&mut self, step: &[u8]) -> Result<()> {
        match self {
            Coder::Pack(inner) => inner.write_all(step).map_err(|error| failed(&error)),
            Coder::Expand { inner, fed, total, limit } => {
                *fed |= !step.is_empty();
                let before = inner.get_ref().len();
                inner.write_all(step).map_err(|error| failed(&error))?;
                *total += inner.get_ref().len().saturating_sub(before) as u64;
                too_large(*total, *limit)
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self {
            Coder::Pack(inner) => inner.try_finish().map_err(|error| failed(&error)),
            Coder::Expand { fed: false, .. } => Ok(()),
            Coder::Expand { inner, total, limit, .. } => {
                let before = inner.get_ref().len();
                inner.try_finish().map_err(|error| failed(&error))?;
                *total += inner.get_ref().len().saturating_sub(before) as u64;
                too_large(*total, *limit)
            }
        }
    }
}

fn failed(error: &std::io::Error) -> Error {
    broken("this is not gzip, or it is damaged or cut off").with_detail(error.to_string())
}

fn too_large(total: u64, limit: u64) -> Result<()> {
    if total <= limit {
        return Ok(());
    }
    let message = format!("it expands to more than {limit} bytes");
    Err(Error::new(Kind::TooLarge, message))
}
