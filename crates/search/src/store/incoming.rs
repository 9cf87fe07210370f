//! Tables of text on their way into an index, record by record: comma-separated values (RFC 4180)
//! and lines of JSON. Their length is not bounded by memory.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use runnel_store::{Body, ByteStream, Content, Error, Kind, Result, Value, json, parse_csv};

/// About how much text is read at a time, in bytes.
const PART: usize = 256 << 10;

/// The longest record of a table, in bytes.
pub const INCOMING_RECORD: usize = 4 << 20;

/// Most columns of a table.
pub const MAX_COLUMNS: usize = 256;

/// How a table says what its records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    JsonLines,
}

impl Format {
    /// The format of content, if it is a table.
    pub(super) fn of(content: &Content) -> Option<Format> {
        if !matches!(content.body, Body::Bytes(_) | Body::Text(_) | Body::Stream(..)) {
            return None;
        }
        match content.media_type.as_deref()?.split(';').next().unwrap_or_default().trim() {
            "text/csv" => Some(Format::Csv),
            "application/x-ndjson" | "application/jsonl" => Some(Format::JsonLines),
            _ => None,
        }
    }
}

/// A table that is being read.
pub(super) struct Incoming {
    stream: ByteStream,
    format: Format,
    held: BytesMut,
    /// How far it was looked through, and whether that ends within quotes.
    scanned: usize,
    quoted: bool,
    /// The last end of a record up to there.
    end: Option<usize>,
    ended: bool,
    /// The line at which what is held begins.
    line: u64,
    /// The names of the columns of a CSV table as its first line.
    header: Option<Bytes>,
}

impl Incoming {
    /// A table that content is. `columns` says what its columns are where its first line does not.
    pub(super) fn new(
        content: Content,
        format: Format,
        columns: Option<Vec<String>>,
    ) -> Result<Incoming> {
        let stream: ByteStream = match content.body {
            Body::Stream(stream, _) => stream,
            Body::Bytes(bytes) => one(bytes),
            Body::Text(text) => one(text.into_bytes()),
            _ => return Err(Error::new(Kind::Unsupported, "this is no text")),
        };
        Ok(Incoming {
            stream,
            format,
            held: BytesMut::new(),
            scanned: 0,
            quoted: false,
            end: None,
            ended: false,
            line: 1,
            header: columns.map(|columns| header_of(&columns)).transpose()?,
        })
    }

    /// The next records, each as JSON text with the line it is from; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<(u64, Bytes)>>> {
        if self.format == Format::Csv && self.header.is_none() {
            let Some(header) = self.take(1).await? else { return Ok(None) };
            self.line += lines(&header);
            self.header = Some(header);
        }
        let Some(part) = self.take(PART).await? else { return Ok(None) };
        let first = self.line;
        self.line += lines(&part);
        match self.format {
            Format::JsonLines => {
                let all = (first..).zip(part.split(|byte| *byte == b'\n'));
                let all = all.filter(|(_, text)| !text.trim_ascii().is_empty());
                Ok(Some(all.map(|(line, text)| (line, part.slice_ref(text))).collect()))
            }
            Format::Csv => self.csv(&part, first).map(Some),
        }
    }

    fn csv(&self, part: &[u8], first: u64) -> Result<Vec<(u64, Bytes)>> {
        let text = [self.header.as_deref().unwrap_or_default(), part].concat();
        let rows = parse_csv(&text).map_err(|error| {
            let message = format!("line {first}: here or below it, {}", error.message);
            Error::new(Kind::Invalid, message)
        })?;
        let Value::List(rows) = rows else { return Ok(Vec::new()) };
        // Fields may hold line ends, so that the line of a record is at least this one.
        Ok((first..).zip(rows.iter().map(|row| Bytes::from(json::text(row)))).collect())
    }

    /// At least so many bytes, where there are as many, to the end of a record.
    async fn take(&mut self, least: usize) -> Result<Option<Bytes>> {
        loop {
            if let Some(end) = self.end_of_record(least) {
                return Ok(Some(self.split(end)));
            }
            if self.ended {
                let rest = self.split(self.held.len());
                return Ok((!rest.is_empty()).then_some(rest));
            }
            if self.held.len() > INCOMING_RECORD + PART {
                let message =
                    format!("line {}: a record is longer than {INCOMING_RECORD} bytes", self.line);
                return Err(Error::new(Kind::TooLarge, message));
            }
            match self.stream.next().await {
                Some(piece) => {
                    let mut piece = piece?;
                    self.held.extend_from_slice(&piece.copy_to_bytes(piece.len()));
                }
                None => self.ended = true,
            }
        }
    }

    /// The end of the first record after at least so many bytes.
    fn end_of_record(&mut self, least: usize) -> Option<usize> {
        for byte in &self.held[self.scanned..] {
            self.scanned += 1;
            match byte {
                // JSON has no line ends within texts, and escapes quotes in another way.
                b'"' if self.format == Format::Csv => self.quoted = !self.quoted,
                b'\n' if !self.quoted => self.end = Some(self.scanned),
                _ => continue,
            }
            if self.end.is_some_and(|end| end >= least) {
                break;
            }
        }
        self.end.filter(|end| *end >= least)
    }

    fn split(&mut self, end: usize) -> Bytes {
        self.scanned = self.scanned.saturating_sub(end);
        self.end = None;
        self.held.split_to(end).freeze()
    }
}

fn one(bytes: Bytes) -> ByteStream {
    Box::pin(futures_util::stream::once(async move { Ok(bytes) }))
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Names as the first line of a table.
fn header_of(columns: &[String]) -> Result<Bytes> {
    if columns.is_empty() || columns.len() > MAX_COLUMNS {
        let message = format!("`columns` names the columns of the table, 1 to {MAX_COLUMNS}");
        return Err(Error::new(Kind::Invalid, message));
    }
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    let mut line = columns.iter().map(quoted).collect::<Vec<_>>().join(",");
    line.push('\n');
    Ok(line.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(
        text: &str,
        kind: &'static str,
        piece: usize,
        columns: Option<Vec<String>>,
    ) -> Result<Vec<(u64, String)>> {
        let pieces: Vec<_> =
            text.as_bytes().chunks(piece).map(|one| Ok(Bytes::copy_from_slice(one))).collect();
        let body = Body::Stream(Box::pin(futures_util::stream::iter(pieces)), None);
        let content = Content { body, ..Content::default() }.with_media_type(kind);
        let format = Format::of(&content).unwrap();
        let mut incoming = Incoming::new(content, format, columns)?;
        let mut records = Vec::new();
        futures_util::future::FutureExt::now_or_never(async {
            while let Some(part) = incoming.next().await? {
                let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
                records.extend(part.iter().map(|(line, record)| (*line, text(record))));
            }
            Ok(records)
        })
        .unwrap()
    }

    #[test]
    fn records_do_not_depend_on_how_the_text_is_cut() {
        let csv = "id,title\r\n1,\"a,\n\"\"b\"\"\"\r\n2,c";
        let ndjson = "{\"id\":1}\n\n{\"id\":2}";
        for piece in [1, 2, 7, 100] {
            let records = all(csv, "text/csv", piece, None).unwrap();
            assert_eq!(records[0].1, r#"{"id":"1","title":"a,\n\"b\""}"#, "pieces of {piece}");
            assert_eq!(records[1].1, r#"{"id":"2","title":"c"}"#);
            let records = all(ndjson, "application/x-ndjson", piece, None).unwrap();
            assert_eq!(records, [(1, "{\"id\":1}".into()), (3, "{\"id\":2}".to_owned())]);
        }
    }

    #[test]
    fn a_table_without_a_header_is_told_its_columns() {
        let columns = Some(vec!["id".to_owned(), "ti\"tle".to_owned()]);
        let records = all("  1,a\n", "text/csv", 3, columns).unwrap();
        assert_eq!(records, [(1, r#"{"id":"  1","ti\"tle":"a"}"#.to_owned())]);
        assert!(all("1,a\n", "text/csv", 3, Some(Vec::new())).is_err());
    }

    #[test]
    fn long_records_end_the_reading() {
        let long = format!("id,title\n1,\"{}", "x".repeat(INCOMING_RECORD + 2 * PART));
        assert_eq!(all(&long, "text/csv", 8_192, None).unwrap_err().kind, Kind::TooLarge);
    }
}
