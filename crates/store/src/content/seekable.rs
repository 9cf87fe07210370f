//! Streams with random access.

use crate::{FilePart, Result};
use bytes::Bytes;
use futures_util::Stream;
use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A byte stream that exposes its concrete type. Code that changes the bytes wraps the stream, and
/// the wrapper hides that type.
pub trait Chunks: Stream<Item = Result<Bytes>> {
    /// The stream itself.
    fn as_any(&self) -> &dyn Any;
}

impl<S: Stream<Item = Result<Bytes>> + 'static> Chunks for S {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Bytes that come bit by bit.
pub type ByteStream = Pin<Box<dyn Chunks>>;

/// Opens a range of the content by offset and length, both within it.
type Open = Rc<dyn Fn(u64, u64) -> ByteStream>;

/// A stream of known length that can also be read in part, as a file can. The parts are parts of
/// the same content, whatever becomes of its place meanwhile.
pub struct Seekable {
    length: u64,
    open: Open,
    /// The whole content, opened at the first read.
    whole: Option<ByteStream>,
    /// The part of a file that this is, where it is one.
    file: Option<FilePart>,
}

impl Seekable {
    /// A stream of a length in bytes, opened part by part.
    pub(super) fn stream(
        length: u64,
        file: Option<FilePart>,
        open: impl Fn(u64, u64) -> ByteStream + 'static,
    ) -> ByteStream {
        Box::pin(Seekable { length, open: Rc::new(open), whole: None, file })
    }

    /// The part of a file that this is, where it is one.
    pub fn file(&self) -> Option<&FilePart> {
        self.file.as_ref()
    }

    /// The seekable stream that a stream is, if it is one and was not read yet.
    pub fn of(stream: &ByteStream) -> Option<&Seekable> {
        let seekable: &Seekable = stream.as_ref().get_ref().as_any().downcast_ref()?;
        seekable.whole.is_none().then_some(seekable)
    }

    /// A range by offset and length, cut to the content. A range of a file is again a range of a
    /// file.
    pub fn part(&self, from: u64, length: u64) -> ByteStream {
        let from = from.min(self.length);
        let length = length.min(self.length - from);
        let Some(file) = &self.file else { return (self.open)(from, length) };
        let open = self.open.clone();
        let open: Open = Rc::new(move |within, length| open(from + within, length));
        let file = Some(file.part(from, length));
        Box::pin(Seekable { length, open, whole: None, file })
    }
}

impl Stream for Seekable {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let whole = this.whole.get_or_insert_with(|| (this.open)(0, this.length));
        whole.as_mut().poll_next(context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt, stream};

    fn letters() -> ByteStream {
        let all = Bytes::from_static(b"abcdefghij");
        Seekable::stream(10, None, move |from, length| {
            let part = all.slice(from as usize..(from + length) as usize);
            Box::pin(stream::iter([Ok(part)]))
        })
    }

    fn read(stream: ByteStream) -> String {
        let pieces: Vec<_> = stream.map(Result::unwrap).collect().now_or_never().unwrap();
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn parts_are_cut_to_what_is_there() {
        let stream = letters();
        let seekable = Seekable::of(&stream).unwrap();
        for (from, length, part) in
            [(0, 3, "abc"), (7, 3, "hij"), (7, 9, "hij"), (10, 1, ""), (99, 9, "")]
        {
            assert_eq!(read(seekable.part(from, length)), part);
        }
        assert_eq!(read(stream), "abcdefghij");
    }

    #[test]
    fn a_part_of_a_file_is_a_file() {
        let file = tempfile::tempfile().unwrap();
        let all = Bytes::from_static(b"abcdefghij");
        let file = FilePart::new(file.into(), 5, 10);
        let stream = Seekable::stream(10, Some(file), move |from, length| {
            let part = all.slice(from as usize..(from + length) as usize);
            Box::pin(stream::iter([Ok(part)]))
        });
        let part = Seekable::of(&stream).unwrap().part(2, 6);
        let seekable = Seekable::of(&part).unwrap();
        let place = |seekable: &Seekable| {
            let file = seekable.file().unwrap();
            (file.from(), file.length())
        };
        assert_eq!(place(seekable), (7, 6));
        let within = seekable.part(1, 99);
        assert_eq!(place(Seekable::of(&within).unwrap()), (8, 5));
        assert_eq!((read(within), read(part)), ("defgh".into(), "cdefgh".into()));
    }

    #[test]
    fn what_changes_the_bytes_is_not_seekable() {
        let changed: ByteStream = Box::pin(letters().map(|bytes| bytes));
        assert!(Seekable::of(&changed).is_none());
        let mut begun = letters();
        assert!(begun.next().now_or_never().is_some());
        assert!(Seekable::of(&begun).is_none());
    }
}
