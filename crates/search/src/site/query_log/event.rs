//! One search of a page, as the query log and the statistics record it.

use runnel_store::json;
use runnel_text::moment::CalendarTime;
use std::fmt::Write;
use std::time::Duration;

/// The width in characters to which a line of the log pads a query.
const QUERY_WIDTH: usize = 50;

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchKind {
    /// Documents: the query is complete.
    Full,
    /// Only the number of documents, during typing.
    Live,
}

/// One search.
#[derive(Clone, Debug)]
pub(crate) struct SearchEvent {
    /// The time, in seconds since 1970.
    pub(crate) seconds: u64,
    pub(crate) kind: SearchKind,
    /// The query as it was asked, at most [`crate::MAX_QUERY_CHARS`] long.
    pub(crate) query: String,
    /// How long the search took.
    pub(crate) duration: Duration,
    pub(crate) total: usize,
    pub(crate) offset: i64,
    /// How many interpretations were considered.
    pub(crate) interpretations: usize,
    /// The categories of the chosen interpretation.
    pub(crate) chosen: Option<String>,
}

/// How lines of the query log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueryLogFormat {
    /// The columns of Picky's log, which its statistics read: `>` or `.` for live searches, time
    /// (UTC), seconds that the search took, query, total, offset, interpretations.
    #[default]
    Columns,
    /// One JSON object in each line.
    Json,
}

impl SearchEvent {
    /// Appends the line of this search with its end. Control characters are escaped, so that it is
    /// always one line.
    pub(crate) fn write_line(&self, format: QueryLogFormat, out: &mut Vec<u8>) {
        match format {
            QueryLogFormat::Columns => self.write_columns(out),
            QueryLogFormat::Json => self.write_json(out),
        }
    }

    fn write_columns(&self, out: &mut Vec<u8>) {
        let moment = calendar(self.seconds);
        let mut query = String::with_capacity(self.query.len());
        write_escaped(&self.query, &mut query);
        let line = format!(
            "{}|{} {}|{:8.6}|{query:<QUERY_WIDTH$}|{:8}|{:4}|{:2}|\n",
            if self.kind == SearchKind::Full { '>' } else { '.' },
            moment.date(),
            moment.time(),
            self.duration.as_secs_f64(),
            self.total,
            self.offset,
            self.interpretations,
        );
        out.extend_from_slice(line.as_bytes());
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        let moment = calendar(self.seconds);
        let kind = if self.kind == SearchKind::Full { "full" } else { "live" };
        let (date, time) = (moment.date(), moment.time());
        out.extend_from_slice(
            format!(r#"{{"time":"{date}T{time}Z","kind":"{kind}","query":"#).as_bytes(),
        );
        write_json_text(&self.query, out);
        let rest = format!(
            r#","total":{},"offset":{},"interpretations":{},"seconds":{:.6}"#,
            self.total,
            self.offset,
            self.interpretations,
            self.duration.as_secs_f64(),
        );
        out.extend_from_slice(rest.as_bytes());
        if let Some(chosen) = &self.chosen {
            out.extend_from_slice(br#","chosen":"#);
            write_json_text(chosen, out);
        }
        out.extend_from_slice(b"}\n");
    }
}

fn calendar(seconds: u64) -> CalendarTime {
    CalendarTime::from_seconds(i64::try_from(seconds).unwrap_or_default())
}

/// Appends the line with the number of searches lost because the queue was full.
pub(crate) fn write_missing(count: u64, format: QueryLogFormat, out: &mut Vec<u8>) {
    let line = match format {
        QueryLogFormat::Columns => format!("#|{count} searches are missing here\n"),
        QueryLogFormat::Json => format!("{{\"missing\":{count}}}\n"),
    };
    out.extend_from_slice(line.as_bytes());
}

/// A JSON string in which also those characters are escaped that JSON allows and that end a line for
/// some readers.
fn write_json_text(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    json::write_text(text, out);
    if !text.contains(ends_line) {
        return;
    }
    let written = String::from_utf8_lossy(&out[start..]).into_owned();
    out.truncate(start);
    for character in written.chars() {
        if ends_line(character) {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
        } else {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

fn ends_line(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Control characters, and those that end a line for some readers, as `\u{..}`.
fn write_escaped(text: &str, out: &mut String) {
    for character in text.chars() {
        if ends_line(character) {
            // Writing to a text does not fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(query: &str) -> SearchEvent {
        SearchEvent {
            seconds: 1_795_221_719,
            kind: SearchKind::Full,
            query: query.to_owned(),
            duration: Duration::from_micros(44),
            total: 3,
            offset: 0,
            interpretations: 2,
            chosen: None,
        }
    }

    fn line(event: &SearchEvent, format: QueryLogFormat) -> String {
        let mut out = Vec::new();
        event.write_line(format, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn columns_are_those_of_the_original() {
        let expected =
            format!(">|2026-11-21 00:41:59|0.000044|alan{}|       3|   0| 2|\n", " ".repeat(46));
        assert_eq!(line(&event("alan"), QueryLogFormat::Columns), expected);
        let live = SearchEvent { kind: SearchKind::Live, ..event("alan") };
        assert!(line(&live, QueryLogFormat::Columns).starts_with(".|"));
    }

    #[test]
    fn a_search_is_one_line_whatever_it_holds() {
        let hostile = event("a\n>|2026\u{2028}\u{0}\r\u{85}\"");
        for format in [QueryLogFormat::Columns, QueryLogFormat::Json] {
            let line = line(&hostile, format);
            let ends = line.chars().filter(|c| c.is_control()).count();
            assert_eq!(ends, 1, "{line}");
            assert!(line.ends_with('\n'));
        }
        assert!(line(&hostile, QueryLogFormat::Columns).contains(r"a\u{a}>|2026\u{2028}\u{0}"));
    }

    #[test]
    fn json_reads_back() {
        let chosen = SearchEvent { chosen: Some("title, author".into()), ..event("a \"b\"\t") };
        let value: serde_json::Value =
            serde_json::from_str(&line(&chosen, QueryLogFormat::Json)).unwrap_or_default();
        assert_eq!(value["time"], "2026-11-21T00:41:59Z");
        assert_eq!(value["query"], "a \"b\"\t");
        assert_eq!(value["chosen"], "title, author");
        assert_eq!(value["total"], 3);
    }
}
