//! The address of a property path: `/articles/:<int 1..>id?:<string?>tag&:<int 1..100>limit=20`. Read by
//! characters, since types have blanks and braces of their own.

use crate::ast::{DeclaredType, ParameterPlace, PathParameter, RequestParameter, Segment, Word};
use crate::lexer::name_length;
use crate::parser::class::declared::read_type;
use crate::{Diagnostic, Span};

const NAMED: &str = "a parameter is written `:name` or `:<type>name`";

/// An address that was read.
pub(super) struct PathAddress {
    pub(super) segments: Vec<Segment>,
    pub(super) parameters: Vec<RequestParameter>,
    /// The path, without the parameters behind `?`.
    pub(super) pattern: Span,
    /// The whole address.
    pub(super) whole: Span,
    pub(super) faults: Vec<Diagnostic>,
}

/// Reads the address that begins with the slash at a place.
pub(super) fn read_address(source: &str, start: u32) -> PathAddress {
    let mut reader = AddressReader { source, at: start, faults: Vec::new() };
    let segments = reader.segments();
    let pattern = Span::new(start, reader.at);
    let mut parameters = Vec::new();
    if reader.eat('?') {
        parameters.push(reader.query_parameter());
        while reader.eat('&') {
            parameters.push(reader.query_parameter());
        }
    }
    let whole = Span::new(start, reader.at);
    if let Some(at) = segments.iter().position(|segment| matches!(segment, Segment::Rest(_)))
        && at + 1 < segments.len()
    {
        let title = "`*` stands for everything that follows";
        let hint = "let the path end with `*`, or name single segments with `:name`";
        reader.faults.push(Diagnostic::error(pattern, title, "more follows").hint(hint));
    }
    let parameters = parameters.into_iter().flatten().collect();
    PathAddress { segments, parameters, pattern, whole, faults: reader.faults }
}

struct AddressReader<'s> {
    source: &'s str,
    at: u32,
    faults: Vec<Diagnostic>,
}

impl<'s> AddressReader<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at as usize..]
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8() as u32;
        }
        found
    }

    fn word(&self, from: u32, to: u32) -> Word {
        let span = Span::new(from, to);
        Word { text: span.text(self.source).to_owned(), span }
    }

    /// Where the part ends that begins here: at a blank, a brace or one of these characters.
    fn part_end(&self, ends: &[char]) -> u32 {
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || c == '{' || ends.contains(&c);
        self.at + rest.find(ends).unwrap_or(rest.len()) as u32
    }

    fn fault(&mut self, span: Span, title: &str, hint: &str) {
        self.faults.push(Diagnostic::error(span, title, "here").hint(hint));
    }

    fn segments(&mut self) -> Vec<Segment> {
        let mut segments = Vec::new();
        while self.eat('/') {
            let start = self.at;
            let end = self.part_end(&['/', '?']);
            let last = !self.source[end as usize..].starts_with('/');
            if start == end {
                // A slash at the end says nothing.
                if !last {
                    let hint = "remove one of the slashes";
                    self.fault(Span::new(start, end), "a segment of the path is empty", hint);
                }
                continue;
            }
            segments.extend(self.segment(end));
        }
        match &segments[..] {
            [Segment::Literal(word)] if word.text == "." => Vec::new(),
            _ => segments,
        }
    }

    fn segment(&mut self, end: u32) -> Option<Segment> {
        let start = self.at;
        if self.rest().starts_with(':') {
            let (kind, name) = self.parameter(&['/', '?'])?;
            return Some(Segment::Parameter(PathParameter { kind, name }));
        }
        let text = Span::new(start, end).text(self.source);
        self.at = end;
        let Some(rest) = text.strip_prefix('*') else {
            return Some(Segment::Literal(self.word(start, end)));
        };
        match rest.strip_prefix(':') {
            Some(name) if is_name(name) => Some(Segment::Rest(Some(self.word(start + 2, end)))),
            None if rest.is_empty() => Some(Segment::Rest(None)),
            _ => {
                let hint = "write `*` or `*:name`";
                self.fault(Span::new(start, end), "this is no segment of a path", hint);
                None
            }
        }
    }

    /// `:name`, `:<type>name`
    fn parameter(&mut self, ends: &[char]) -> Option<(Option<DeclaredType>, Word)> {
        const TITLE: &str = "this is no parameter of a path";
        let start = self.at;
        let mut kind = None;
        if !self.eat(':') {
            self.at = self.part_end(ends).max(start + 1).min(self.source.len() as u32);
            self.fault(Span::new(start, self.at), TITLE, NAMED);
            return None;
        }
        if self.rest().starts_with('<') {
            match read_type(self.source, self.at) {
                Ok(read) => {
                    if let Some(mark) = read.marks.first() {
                        let hint =
                            "a parameter is required unless its type has a `?` or it has a value";
                        self.fault(mark.span, "a parameter has no marks", hint);
                    }
                    kind = Some(read.kind);
                    self.at = read.end;
                }
                Err(fault) => {
                    self.faults.push(*fault);
                    self.at = self.part_end(ends);
                    return None;
                }
            }
        }
        let from = self.at;
        self.at = self.part_end(ends);
        let name = self.word(from, self.at);
        if !is_name(&name.text) {
            self.fault(Span::new(start, self.at), TITLE, NAMED);
            return None;
        }
        Some((kind, name))
    }

    /// `:<int 1..100>limit=20`
    fn query_parameter(&mut self) -> Option<RequestParameter> {
        let (kind, name) = self.parameter(&['&', '='])?;
        let default = if self.eat('=') { self.default() } else { None };
        Some(RequestParameter { place: ParameterPlace::Query, name, kind, default })
    }

    /// `20`, `newest`, `'two words'`
    fn default(&mut self) -> Option<Word> {
        let start = self.at;
        if let Some(quoted) = self.rest().strip_prefix('\'')
            && let Some(length) =
                quoted.find(['\'', '\n']).filter(|end| quoted[*end..].starts_with('\''))
        {
            self.at += length as u32 + 2;
            return Some(self.word(start + 1, self.at - 1));
        }
        self.at = self.part_end(&['&']);
        if self.at == start {
            let hint = "write it behind `=`, as in `:<int>limit=20`, or leave `=` out";
            self.fault(Span::new(start, start), "the value of the parameter is missing", hint);
            return None;
        }
        Some(self.word(start, self.at))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}
