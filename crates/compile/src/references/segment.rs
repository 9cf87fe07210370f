//! Values in references: which place each `{…}` takes, and so how it is encoded.
//!
//! The kernel encodes (`segment.lua`); here is decided what: one segment of a path, a value behind
//! `?`, a part of an authority, or, right behind the scheme, a path of the program's own.

use crate::code::Code;
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, Path, PathPart};

/// Stands for a value in the text that has been read. No source contains it.
const VALUE: char = '\0';

/// What a value is encoded as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentPosition {
    /// Right behind the scheme: the beginning of the reference, as a program would write it.
    Whole,
    /// The beginning of a segment; `true` where more of that segment follows.
    Segment(bool),
    /// Further in a segment; `true` at its end.
    Piece(bool),
    /// `{*…}` in a path.
    Segments,
    /// Behind a `?`.
    Parameter,
    /// `{*…}` behind a `?`.
    Parameters,
    /// Between `//` and the next slash: what the kernel calls it.
    Authority(&'static str),
}

impl Generator<'_> {
    /// The text of a path, each value encoded for its place.
    pub(crate) fn path_text(&mut self, path: &Path) -> Code {
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str());
        let places = self.places(scheme, path);
        let values: Vec<&Expression> = path.parts.iter().filter_map(value).collect();
        let codes = self.expressions(&values);
        if !codes.is_empty() {
            self.helper("K");
        }
        let mut next = codes.iter().zip(places);
        let mut texts = Vec::with_capacity(path.parts.len());
        for (number, part) in path.parts.iter().enumerate() {
            match part {
                PathPart::Text(text) => texts.push(quoted(text)),
                PathPart::Expression(_) | PathPart::Segments(_) => {
                    let more = number + 1 < path.parts.len();
                    let call = next.next().map(|(code, place)| encoded(place, code, scheme, more));
                    texts.extend(call);
                }
            }
        }
        self.joined(texts).deeper_than(&codes)
    }

    /// The places of the values of a path, in order.
    fn places(&mut self, scheme: &str, path: &Path) -> Vec<SegmentPosition> {
        let mut before = String::new();
        let mut places = Vec::new();
        for (number, part) in path.parts.iter().enumerate() {
            let several = matches!(part, PathPart::Segments(_));
            match part {
                PathPart::Text(text) => before.push_str(text),
                PathPart::Expression(expression) | PathPart::Segments(expression) => {
                    let place = place(scheme, &before, &path.parts[number + 1..], several);
                    if several
                        && matches!(
                            place,
                            SegmentPosition::Authority(_) | SegmentPosition::Piece(_)
                        )
                    {
                        self.misplaced(expression);
                    }
                    places.push(place);
                    before.push(VALUE);
                }
            }
        }
        if climbs(&before) {
            self.error(
                Diagnostic::error(
                    path.span,
                    "`..` leads above the folder that `{…}` names",
                    "this path begins with a value",
                )
                .hint(
                    "name the folder itself, as in \
                     `file:{folder deletingLastPathComponent}/notes.txt`",
                ),
            );
        }
        places
    }

    fn misplaced(&mut self, expression: &Expression) {
        self.error(
            Diagnostic::error(
                expression.span,
                "`{*…}` stands for whole segments of a path",
                "not at the beginning of a segment",
            )
            .hint("write `{…}` for one value, or a slash before `{*…}`"),
        );
    }
}

fn value(part: &PathPart) -> Option<&Expression> {
    match part {
        PathPart::Text(_) => None,
        PathPart::Expression(expression) | PathPart::Segments(expression) => Some(expression),
    }
}

/// The place of a value, by what stands before it and after it.
fn place(scheme: &str, before: &str, after: &[PathPart], several: bool) -> SegmentPosition {
    if before.contains('?') {
        return if several { SegmentPosition::Parameters } else { SegmentPosition::Parameter };
    }
    if let Some(authority) = before.strip_prefix("//").filter(|rest| !rest.contains('/'))
        && scheme != "file"
    {
        return SegmentPosition::Authority(part_of_authority(authority, after));
    }
    let begins = before.is_empty() || before.ends_with('/');
    if several {
        return if begins { SegmentPosition::Segments } else { SegmentPosition::Piece(true) };
    }
    if before.is_empty() {
        return SegmentPosition::Whole;
    }
    let ends = match after.first() {
        None => true,
        Some(PathPart::Text(text)) => text.starts_with(['/', '?']),
        Some(_) => false,
    };
    if begins { SegmentPosition::Segment(!ends) } else { SegmentPosition::Piece(ends) }
}

/// What a value between `//` and the next slash may be.
fn part_of_authority(before: &str, after: &[PathPart]) -> &'static str {
    let mut rest = String::new();
    for part in after {
        match part {
            PathPart::Text(text) => rest.push_str(text),
            _ => rest.push(VALUE),
        }
    }
    let rest = rest.split(['/', '?']).next().unwrap_or_default();
    if rest.contains('@') {
        return "user";
    }
    let before = before.rsplit('@').next().unwrap_or_default();
    match (before, rest.chars().next()) {
        ("", None) => "authority",
        ("", Some(':')) => "host",
        (before, None) if before.ends_with(':') => "port",
        _ => "label",
    }
}

/// Whether a path that begins with a value leads above it by `..`.
fn climbs(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    if !path.starts_with(VALUE) || segments.next().is_none() {
        return false;
    }
    let mut depth = 0i32;
    segments.any(|segment| {
        match segment {
            ".." => depth -= 1,
            "." => {}
            _ => depth += 1,
        }
        depth < 0
    })
}

/// The call that encodes a value.
fn encoded(place: SegmentPosition, code: &Code, scheme: &str, more: bool) -> String {
    let (value, scheme) = (&code.text, quoted(scheme));
    match place {
        SegmentPosition::Whole => format!("K.wholePath({value},{scheme},{more})"),
        SegmentPosition::Segment(piece) => format!("K.segment({value},{scheme},{piece})"),
        SegmentPosition::Piece(ends) => format!("K.piece({value},{ends})"),
        SegmentPosition::Segments => format!("K.segments({value},{scheme})"),
        SegmentPosition::Parameter => format!("K.parameter({value},{scheme})"),
        SegmentPosition::Parameters => format!("K.parameters({value},{scheme})"),
        SegmentPosition::Authority(kind) => format!("K.authority({value},{})", quoted(kind)),
    }
}
