//! Tables of text on their way in, cut at the ends of their records, so that their length is not
//! bounded by memory.

use crate::{Body, ByteStream, Content, Error, Kind, Result};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;

/// The longest record of a table that is read part by part, in bytes.
pub const TABLE_RECORD: usize = 4 << 20;

/// How the text of a table says what its records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl TableFormat {
    /// The format of content by its media type; `None` for content that is not a table as text.
    pub fn of(content: &Content) -> Option<TableFormat> {
        if !matches!(content.body, Body::Bytes(_) | Body::Text(_) | Body::Stream(..)) {
            return None;
        }
        match content.media_type.as_deref()?.split(';').next().unwrap_or_default().trim() {
            "text/csv" => Some(TableFormat::Csv),
            "application/x-ndjson" | "application/jsonl" => Some(TableFormat::JsonLines),
            _ => None,
        }
    }
}

/// Splits streamed text into parts that end with a record.
pub struct TableText {
    stream: ByteStream,
    format: TableFormat,
    held: BytesMut,
    /// The end of the scanned text, and whether it is within quotes.
    scanned: usize,
    quoted: bool,
    /// The last end of a record up to there.
    end: Option<usize>,
    ended: bool,
    /// The line of the first buffered byte.
    line: u64,
}

impl TableText {
    /// The text of content.
    ///
    /// # Errors
    /// [`Kind::Unsupported`]: the content is no text.
    pub fn new(content: Content, format: TableFormat) -> Result<Self> {
        let stream: ByteStream = match content.body {
            Body::Stream(stream, _) => stream,
            Body::Bytes(bytes) => one(bytes),
            Body::Text(text) => one(text.into_bytes()),
            _ => return Err(Error::new(Kind::Unsupported, "this is no text")),
        };
        Ok(TableText {
            stream,
            format,
            held: BytesMut::new(),
            scanned: 0,
            quoted: false,
            end: None,
            ended: false,
            line: 1,
        })
    }

    /// The next complete records and the line, counted from 1, of the first. Returns at least
    /// `least` bytes if the text has them, up to the end of a record; `None` at the end of the
    /// text.
    ///
    /// # Errors
    /// Those of the stream; [`Kind::TooLarge`] for a record longer than [`TABLE_RECORD`].
    pub async fn take(&mut self, least: usize) -> Result<Option<(u64, Bytes)>> {
        loop {
            if let Some(end) = self.end_of_record(least) {
                return Ok(Some(self.split(end)));
            }
            if self.ended {
                let rest = self.held.len();
                return Ok((rest > 0).then(|| self.split(rest)));
            }
            if self.held.len() > TABLE_RECORD.saturating_add(least) {
                let (line, most) = (self.line, TABLE_RECORD >> 20);
                let message =
                    format!("at line {line} or below it, a record is longer than {most} MiB");
                return Err(Error::new(Kind::TooLarge, message));
            }
            self.more().await?;
        }
    }

    /// The first of the next records, and what there is of those after it, all of which stay: less
    /// where the text ends, or where the record is longer than [`TABLE_RECORD`].
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn peek(&mut self) -> Result<&[u8]> {
        while !self.ended && self.end_of_record(1).is_none() && self.held.len() <= TABLE_RECORD {
            self.more().await?;
        }
        Ok(&self.held)
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.next().await {
            Some(piece) => {
                let mut piece = piece?;
                self.held.extend_from_slice(&piece.copy_to_bytes(piece.len()));
            }
            None => self.ended = true,
        }
        Ok(())
    }

    /// The end of the first record after at least `least` bytes.
    fn end_of_record(&mut self, least: usize) -> Option<usize> {
        if self.end.is_some_and(|end| end >= least) {
            return self.end;
        }
        for byte in &self.held[self.scanned..] {
            self.scanned += 1;
            match byte {
                // JSON has no line ends within texts, and escapes quotes in another way.
                b'"' if self.format == TableFormat::Csv => self.quoted = !self.quoted,
                b'\n' if !self.quoted => self.end = Some(self.scanned),
                _ => continue,
            }
            if self.end.is_some_and(|end| end >= least) {
                break;
            }
        }
        self.end.filter(|end| *end >= least)
    }

    /// The buffered text up to an end, with its line.
    fn split(&mut self, end: usize) -> (u64, Bytes) {
        self.scanned = self.scanned.saturating_sub(end);
        self.end = None;
        let (line, part) = (self.line, self.held.split_to(end).freeze());
        self.line += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        (line, part)
    }
}

fn one(bytes: Bytes) -> ByteStream {
    Box::pin(futures_util::stream::once(async move { Ok(bytes) }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, stream};

    fn streamed(text: &str, piece: usize) -> Content {
        let pieces: Vec<_> =
            text.as_bytes().chunks(piece).map(|one| Ok(Bytes::copy_from_slice(one))).collect();
        let body = Body::Stream(Box::pin(stream::iter(pieces)), None);
        Content { body, ..Content::default() }
    }

    fn parts(content: Content, format: TableFormat, least: usize) -> Result<Vec<(u64, String)>> {
        let mut text = TableText::new(content, format)?;
        let mut parts = Vec::new();
        let reading = async {
            while let Some((line, part)) = text.take(least).await? {
                parts.push((line, String::from_utf8(part.into()).unwrap()));
            }
            Ok(())
        };
        reading.now_or_never().unwrap().map(|()| parts)
    }

    #[test]
    fn formats_are_told_by_their_media_types() {
        for (kind, format) in [
            ("text/csv", Some(TableFormat::Csv)),
            ("text/csv ; charset=utf-8", Some(TableFormat::Csv)),
            ("application/x-ndjson", Some(TableFormat::JsonLines)),
            ("application/jsonl", Some(TableFormat::JsonLines)),
            ("application/json", None),
        ] {
            assert_eq!(TableFormat::of(&Content::text("").with_media_type(kind)), format, "{kind}");
        }
        assert_eq!(TableFormat::of(&Content::text("a,b")), None);
        let value = Content::value(crate::Value::Nil);
        assert_eq!(TableFormat::of(&value.with_media_type("text/csv")), None);
        let value = Content::value(crate::Value::Nil);
        let refused = TableText::new(value, TableFormat::Csv).map(|_| ()).unwrap_err();
        assert_eq!(refused.kind, Kind::Unsupported);
    }

    #[test]
    fn records_are_whole_however_the_text_is_cut() {
        let csv = "a,b\r\n\"1\n\"\"2\"\"\n\",x\n3,4";
        let json = "{\"a\":\"\\\"\"}\n\n{\"a\":\"\\\"\"}";
        for piece in [1, 2, 3, 7, 100] {
            let all = parts(streamed(csv, piece), TableFormat::Csv, 1).unwrap();
            let of = |line, text: &str| (line, text.to_owned());
            let expected = [of(1, "a,b\r\n"), of(2, "\"1\n\"\"2\"\"\n\",x\n"), of(5, "3,4")];
            assert_eq!(all, expected, "pieces of {piece}");
            let all = parts(streamed(json, piece), TableFormat::JsonLines, 1).unwrap();
            let expected = [of(1, "{\"a\":\"\\\"\"}\n"), of(2, "\n"), of(3, "{\"a\":\"\\\"\"}")];
            assert_eq!(all, expected, "pieces of {piece}");
            // A larger minimum extends to the end of the record that contains it.
            let all = parts(streamed(csv, piece), TableFormat::Csv, 6).unwrap();
            assert_eq!(all, [of(1, &csv[..csv.len() - 3]), of(5, "3,4")], "pieces of {piece}");
        }
        assert_eq!(parts(streamed("", 1), TableFormat::Csv, 1).unwrap(), []);
        let whole = parts(Content::text("a\nb\n"), TableFormat::JsonLines, 100).unwrap();
        assert_eq!(whole, [(1, "a\nb\n".to_owned())]);
    }

    #[test]
    fn what_was_peeked_at_is_still_there() {
        for piece in [1, 4, 100] {
            let mut text = TableText::new(streamed("a\nb\nc", piece), TableFormat::Csv).unwrap();
            assert!(text.peek().now_or_never().unwrap().unwrap().starts_with(b"a\n"));
            assert!(text.peek().now_or_never().unwrap().unwrap().starts_with(b"a\n"));
            let first = text.take(1).now_or_never().unwrap().unwrap().unwrap();
            assert_eq!(first, (1, Bytes::from("a\n")), "pieces of {piece}");
            let rest = text.take(100).now_or_never().unwrap().unwrap().unwrap();
            assert_eq!(rest, (2, Bytes::from("b\nc")));
            assert_eq!(text.take(1).now_or_never().unwrap().unwrap(), None);
        }
    }

    #[test]
    fn long_records_end_the_reading() {
        let long = format!("a\nb\n\"{}", "x".repeat(TABLE_RECORD + 20_000));
        let error = parts(streamed(&long, 8_192), TableFormat::Csv, 4).unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
        assert!(error.message.starts_with("at line 3"), "{}", error.message);
        let mut text = TableText::new(streamed(&long[4..], 8_192), TableFormat::Csv).unwrap();
        let seen = text.peek().now_or_never().unwrap().unwrap().len();
        assert!(seen <= TABLE_RECORD + 8_192);
    }

    #[test]
    fn an_error_of_the_stream_is_told_and_records_before_it_are_read() {
        let failed = Error::new(Kind::Unavailable, "gone");
        let pieces = vec![Ok(Bytes::from("a\nb")), Err(failed)];
        let body = Body::Stream(Box::pin(stream::iter(pieces)), None);
        let content = Content { body, ..Content::default() };
        let mut text = TableText::new(content, TableFormat::Csv).unwrap();
        assert_eq!(text.take(1).now_or_never().unwrap().unwrap().unwrap().1, "a\n");
        let error = text.take(1).now_or_never().unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
    }
}
