//! Places in a source text.

/// A range of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From byte to byte.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// From the start of this one to the end of the other.
    pub const fn to(self, other: Span) -> Self {
        Span { start: self.start, end: other.end }
    }

    /// The text at this place; empty when it is not a place of the text.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Lines of a text, to turn byte offsets into lines and columns.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Finds the lines of a text.
    pub fn new(source: &str) -> Self {
        let after = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(after.map(|(at, _)| at as u32 + 1)).collect();
        LineIndex { starts }
    }

    /// The line of a byte offset, counted from 1.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    /// Line and column (in characters), both counted from 1.
    pub fn position(&self, source: &str, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let before = source.get(start..offset as usize).unwrap_or("");
        (line, before.chars().count() as u32 + 1)
    }

    /// How many lines there are.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }
}
