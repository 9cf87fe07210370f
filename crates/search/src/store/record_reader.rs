//! A reader of tables of text: comma-separated values (RFC 4180) and lines of JSON, of any length.

use bytes::Bytes;
use runnel_store::{Content, Error, Kind, Result, TableFormat, TableText, Value, json, parse_csv};

/// The approximate size of a chunk, in bytes.
const PART: usize = 256 << 10;

/// Most columns of a table.
pub const MAX_COLUMNS: usize = 256;

/// A table being read.
pub(super) struct RecordReader {
    text: TableText,
    format: TableFormat,
    /// The header line of a CSV table.
    header: Option<Bytes>,
}

impl RecordReader {
    /// Reads the table in content. `columns` are the columns of a table without a header.
    pub(super) fn new(
        content: Content,
        format: TableFormat,
        columns: Option<Vec<String>>,
    ) -> Result<RecordReader> {
        let header = columns.map(|columns| header_of(&columns)).transpose()?;
        Ok(RecordReader { text: TableText::new(content, format)?, format, header })
    }

    /// The next records as JSON texts with their lines; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<(u64, Bytes)>>> {
        if self.format == TableFormat::Csv && self.header.is_none() {
            let Some((_, header)) = self.text.take(1).await? else { return Ok(None) };
            self.header = Some(header);
        }
        let Some((first, part)) = self.text.take(PART).await? else { return Ok(None) };
        match self.format {
            TableFormat::JsonLines => {
                let all = (first..).zip(part.split(|byte| *byte == b'\n'));
                let all = all.filter(|(_, text)| !text.trim_ascii().is_empty());
                Ok(Some(all.map(|(line, text)| (line, part.slice_ref(text))).collect()))
            }
            TableFormat::Csv => self.csv(&part, first).map(Some),
        }
    }

    fn csv(&self, part: &[u8], first: u64) -> Result<Vec<(u64, Bytes)>> {
        let text = [self.header.as_deref().unwrap_or_default(), part].concat();
        let rows = parse_csv(&text).map_err(|error| {
            let message = format!("line {first} or below: {}", error.message);
            Error::new(Kind::Invalid, message)
        })?;
        let Value::List(rows) = rows else { return Ok(Vec::new()) };
        // Fields may contain line breaks, so the line of a record is at least this one.
        Ok((first..).zip(rows.iter().map(|row| Bytes::from(json::text(row)))).collect())
    }
}

/// The header line of these columns.
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
    use runnel_store::{Body, TABLE_RECORD};

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
        let format = TableFormat::of(&content).unwrap();
        let mut incoming = RecordReader::new(content, format, columns)?;
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
        let long = format!("id,title\n1,\"{}", "x".repeat(TABLE_RECORD + 2 * PART));
        assert_eq!(all(&long, "text/csv", 8_192, None).unwrap_err().kind, Kind::TooLarge);
    }
}
