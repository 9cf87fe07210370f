//! Parts of objects: the header `Range`, the ranges of copied parts, and the parts of an upload.

use crate::server::call::invalid_argument;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_store::{Body, ByteStream, Result, Seekable};

/// A range of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) from: u64,
    pub(crate) length: u64,
}

impl ByteRange {
    /// Reads `Range` for an object of a length. `None` where the whole object is sent: RFC 9110
    /// section 14.2 ignores what cannot be read, and S3 several ranges.
    ///
    /// # Errors
    /// [`FaultCode::InvalidRange`] for a range beyond the object.
    pub(crate) fn of_header(text: &str, length: u64) -> S3Result<Option<ByteRange>> {
        let Some((first, last)) = text.strip_prefix("bytes=").and_then(|text| text.split_once('-'))
        else {
            return Ok(None);
        };
        let beyond = || {
            S3Fault::new(FaultCode::InvalidRange)
                .with("RangeRequested", text)
                .with("ActualObjectSize", length.to_string())
        };
        let range = match (number(first), number(last)) {
            (Number::None, Number::Of(0)) => return Err(beyond()),
            (Number::None, Number::Of(_)) if length == 0 => return Ok(None),
            (Number::None, Number::Of(last)) => {
                let last = last.min(length);
                ByteRange { from: length - last, length: last }
            }
            (Number::Of(first), Number::None) if first < length => {
                ByteRange { from: first, length: length - first }
            }
            (Number::Of(first), Number::Of(last)) if first > last => return Ok(None),
            (Number::Of(first), Number::Of(last)) if first < length => {
                ByteRange { from: first, length: last.min(length - 1) - first + 1 }
            }
            (Number::Of(_), Number::None | Number::Of(_)) => return Err(beyond()),
            _ => return Ok(None),
        };
        Ok(Some(range))
    }

    /// Reads the range of a source that is copied into a part: both ends have to be within it.
    ///
    /// # Errors
    /// [`FaultCode::InvalidArgument`].
    pub(crate) fn of_source(text: &str, length: u64) -> S3Result<ByteRange> {
        const NAME: &str = "x-amz-copy-source-range";
        let malformed = || {
            let words = "The x-amz-copy-source-range value must be of the form bytes=first-last \
                         where first and last are the zero-based offsets of the first and last \
                         bytes to copy";
            invalid_argument(words, NAME, text)
        };
        let ends = text.strip_prefix("bytes=").and_then(|text| text.split_once('-'));
        let Some((Number::Of(first), Number::Of(last))) =
            ends.map(|(first, last)| (number(first), number(last)))
        else {
            return Err(malformed());
        };
        if first < length && last < first {
            return Err(malformed());
        }
        if first >= length || last >= length {
            let words = format!("Range specified is not valid for source object of size: {length}");
            return Err(invalid_argument(words, NAME, &length.to_string()));
        }
        Ok(ByteRange { from: first, length: last - first + 1 })
    }

    /// `Content-Range` of an object of a length.
    pub(crate) fn content_range(&self, length: u64) -> String {
        format!("bytes {}-{}/{length}", self.from, (self.from + self.length).saturating_sub(1))
    }
}

/// An end of a range.
enum Number {
    None,
    Of(u64),
    Invalid,
}

fn number(text: &str) -> Number {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        _ if text.is_empty() => Number::None,
        // A number beyond all lengths is one.
        true => Number::Of(text.parse().unwrap_or(u64::MAX)),
        false => Number::Invalid,
    }
}

/// A range of content. A range of a file stays one, which the system sends.
pub(crate) fn cut(body: Body, range: ByteRange) -> Body {
    let ByteRange { from, length } = range;
    let slice = |bytes: Bytes| {
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len() - from);
        Body::Bytes(bytes.slice(from..from + length))
    };
    match body {
        Body::Bytes(bytes) => slice(bytes),
        Body::Text(text) => slice(text.into_bytes()),
        Body::Stream(stream, whole) => {
            if from == 0 && whole == Some(length) {
                return Body::Stream(stream, whole);
            }
            let part = Seekable::of(&stream).map(|seekable| seekable.part(from, length));
            Body::Stream(part.unwrap_or_else(|| pass_over(stream, range)), Some(length))
        }
        body => body,
    }
}

/// A range of a stream that can only be read from its beginning.
fn pass_over(stream: ByteStream, range: ByteRange) -> ByteStream {
    let start = (stream, range.from, range.length);
    Box::pin(stream::unfold(start, |(mut stream, mut before, mut left)| async move {
        while left > 0 {
            let mut piece = match stream.next().await? {
                Ok(piece) => piece,
                Err(error) => return Some((Result::<Bytes>::Err(error), (stream, before, 0))),
            };
            let skipped = before.min(piece.len() as u64);
            before -= skipped;
            piece = piece.slice(skipped as usize..);
            piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            if !piece.is_empty() {
                left -= piece.len() as u64;
                return Some((Ok(piece), (stream, before, left)));
            }
        }
        None
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_s3_does() {
        let check = |text: &str, length: u64, expected: Option<(u64, u64)>| {
            let range = ByteRange::of_header(text, length).unwrap();
            let range = range.map(|range| (range.from, range.length));
            assert_eq!(range, expected, "{text}");
        };
        check("bytes=0-4", 10, Some((0, 5)));
        check("bytes=5-", 10, Some((5, 5)));
        check("bytes=-3", 10, Some((7, 3)));
        check("bytes=-30", 10, Some((0, 10)));
        check("bytes=8-99999999999999999999", 10, Some((8, 2)));
        for whole in ["bytes=5-4", "bytes=-", "bytes=a-b", "bytes=1-2,3-4", "lines=1-2", "bytes"] {
            check(whole, 10, None);
        }
        check("bytes=-3", 0, None);
        for beyond in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            let fault = ByteRange::of_header(beyond, 10).unwrap_err();
            assert_eq!(fault.code, FaultCode::InvalidRange, "{beyond}");
        }
    }

    #[test]
    fn ranges_of_sources_are_strict() {
        let range = ByteRange::of_source("bytes=2-3", 10).unwrap();
        assert_eq!((range.from, range.length), (2, 2));
        assert_eq!(range.content_range(10), "bytes 2-3/10");
        for text in ["bytes=2-", "bytes=-2", "bytes=3-2", "2-3", "bytes=0-10", "bytes=10-11"] {
            assert!(ByteRange::of_source(text, 10).is_err(), "{text}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn streams_are_cut() {
        let pieces: Vec<Result<Bytes>> = ["abc", "def", "ghi"].map(|text| Ok(text.into())).into();
        let body = Body::Stream(Box::pin(stream::iter(pieces)), Some(9));
        let Body::Stream(cut, Some(4)) = cut(body, ByteRange { from: 2, length: 4 }) else {
            panic!("a stream stays one");
        };
        let pieces: Vec<Bytes> = cut.map(Result::unwrap).collect().await;
        assert_eq!(pieces.concat(), b"cdef");
    }
}
