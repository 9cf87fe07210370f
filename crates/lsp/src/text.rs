//! Places in texts as the protocol counts them, and addresses of files.

use lsp_types::{Position, PositionEncodingKind, Range, Uri};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use runnel_syntax::Span;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColumnUnit {
    /// Bytes.
    Utf8,
    /// Units of two bytes, as the protocol has it by default.
    #[default]
    Utf16,
}

impl ColumnUnit {
    /// Bytes where the client can count them.
    pub(crate) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> ColumnUnit {
        match offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8)) {
            true => ColumnUnit::Utf8,
            false => ColumnUnit::Utf16,
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            ColumnUnit::Utf8 => PositionEncodingKind::UTF8,
            ColumnUnit::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// How many units a text has.
    pub(crate) fn length(self, text: &str) -> u32 {
        match self {
            ColumnUnit::Utf8 => text.len() as u32,
            ColumnUnit::Utf16 => text.encode_utf16().count() as u32,
        }
    }

    /// The bytes of the first units of a text; a unit within a character counts as its start.
    fn bytes(self, text: &str, units: u32) -> usize {
        let mut left = units;
        for (at, one) in text.char_indices() {
            let width = match self {
                ColumnUnit::Utf8 => one.len_utf8(),
                ColumnUnit::Utf16 => one.len_utf16(),
            } as u32;
            if left < width {
                return at;
            }
            left -= width;
        }
        text.len()
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct LineMap {
    starts: Vec<u32>,
}

impl LineMap {
    pub(crate) fn new(text: &str) -> LineMap {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineMap { starts: std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect() }
    }

    /// The line of a byte, counted from 0.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1) as u32
    }

    /// The bytes of a line, its end left out.
    pub(crate) fn span(&self, text: &str, line: u32) -> Span {
        let Some(start) = self.starts.get(line as usize).copied() else {
            return Span::new(text.len() as u32, text.len() as u32);
        };
        let end = self.starts.get(line as usize + 1).map_or(text.len() as u32, |next| next - 1);
        let line = Span::new(start, end);
        let trimmed = line.text(text).trim_end_matches('\r').len() as u32;
        Span::new(start, start + trimmed)
    }

    pub(crate) fn position(&self, text: &str, offset: u32, unit: ColumnUnit) -> Position {
        let mut offset = (offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line(offset as u32);
        let start = self.starts.get(line as usize).copied().unwrap_or(0) as usize;
        Position::new(line, unit.length(text.get(start..offset).unwrap_or("")))
    }

    pub(crate) fn range(&self, text: &str, span: Span, unit: ColumnUnit) -> Range {
        let end = span.end.max(span.start);
        Range::new(self.position(text, span.start, unit), self.position(text, end, unit))
    }

    /// The byte of a position; one behind the end of its line or of the text is that end.
    pub(crate) fn offset(&self, text: &str, position: Position, unit: ColumnUnit) -> u32 {
        let line = self.span(text, position.line);
        line.start + unit.bytes(line.text(text), position.character) as u32
    }
}

/// Characters that stay as they are in the path of an address (RFC 3986).
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'[')
    .add(b']')
    .add(b'^')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'\\');

/// The file of an address; none for other schemes.
pub(crate) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    percent_decode_str(path).decode_utf8().ok().map(|path| PathBuf::from(path.into_owned()))
}

/// The address of a file.
pub(crate) fn address_of(path: &Path) -> Option<Uri> {
    let path = path.to_str()?;
    Uri::from_str(&format!("file://{}", utf8_percent_encode(path, PATH))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_in_either_unit() {
        let text = "aé😀b\r\nnext";
        let map = LineMap::new(text);
        let at = text.find('b').unwrap() as u32;
        assert_eq!(map.position(text, at, ColumnUnit::Utf16), Position::new(0, 4));
        assert_eq!(map.position(text, at, ColumnUnit::Utf8), Position::new(0, 7));
        for unit in [ColumnUnit::Utf8, ColumnUnit::Utf16] {
            for (offset, _) in text.char_indices().filter(|(_, one)| !"\r\n".contains(*one)) {
                let position = map.position(text, offset as u32, unit);
                assert_eq!(map.offset(text, position, unit), offset as u32);
            }
        }
        assert_eq!(map.offset(text, Position::new(0, 99), ColumnUnit::Utf16), at + 1);
        assert_eq!(map.offset(text, Position::new(9, 9), ColumnUnit::Utf16), text.len() as u32);
        assert_eq!(map.offset(text, Position::new(0, 3), ColumnUnit::Utf16), 3, "within a pair");
    }

    #[test]
    fn addresses_keep_every_character_of_a_path() {
        let path = Path::new("/tmp/a b/ü#1%.run");
        let address = address_of(path).unwrap();
        assert_eq!(address.as_str(), "file:///tmp/a%20b/%C3%BC%231%25.run");
        assert_eq!(path_of(&address).unwrap(), path);
        assert_eq!(path_of(&Uri::from_str("untitled:Untitled-1").unwrap()), None);
    }
}
