//! Patterns in the syntax of ECMA-262 with the flag `u`, as JSON Schema writes them.
//!
//! Most of a pattern stays as the program writes it. Rewritten are anchors, named groups, flags inside
//! the pattern, set operations of classes, escapes that ECMA-262 lacks, and the dot, which there excludes
//! more line ends. `\d`, `\w` and `\s` keep their letters although ECMA-262 reads them as ASCII.

use regex_syntax::ParserBuilder;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerlKind, ClassSet, ClassSetItem, ClassUnicodeKind, Flag, Flags,
    FlagsItemKind, GroupKind, RepetitionKind, RepetitionRange, Span,
};
use regex_syntax::hir::{Class, HirKind};
use std::fmt::Write;

/// Ranges of characters in one class; a class with more is not written.
const MAX_RANGES: usize = 64;
/// Bytes of a written pattern.
const MAX_PATTERN: usize = 8192;

/// A pattern that whole texts match, as JSON Schema writes it: with anchors. `None` for a pattern that
/// ECMA-262 cannot say in a readable length.
pub fn ecma_pattern(pattern: &str) -> Option<String> {
    let ast = Parser::new().parse(pattern).ok()?;
    let mut writer = EcmaWriter { pattern, flags: PatternFlags::default(), out: "^".into() };
    let grouped = matches!(ast, Ast::Alternation(_)) || pattern.starts_with("(?");
    if grouped {
        writer.out += "(?:";
    }
    writer.write(&ast)?;
    writer.out += if grouped { ")$" } else { "$" };
    (writer.out.len() <= MAX_PATTERN).then_some(writer.out)
}

/// The flags that change what a part of a pattern means.
#[derive(Clone, Copy, Default)]
struct PatternFlags {
    ignore_case: bool,
    dot_all: bool,
    lines: bool,
    spaced: bool,
}

struct EcmaWriter<'a> {
    pattern: &'a str,
    flags: PatternFlags,
    out: String,
}

impl EcmaWriter<'_> {
    fn write(&mut self, ast: &Ast) -> Option<()> {
        if self.out.len() > MAX_PATTERN {
            return None;
        }
        match ast {
            Ast::Empty(_) => {}
            Ast::Flags(set) => self.set_flags(&set.flags)?,
            Ast::Literal(literal) if self.flags.ignore_case => self.ranges(literal.span)?,
            Ast::Literal(literal) => push_char(literal.c, false, &mut self.out),
            Ast::Dot(_) if self.flags.dot_all => self.out += r"[\s\S]",
            Ast::Dot(_) => self.out += r"[^\n]",
            Ast::Assertion(assertion) => self.assertion(&assertion.kind)?,
            Ast::ClassUnicode(class) => match unicode_class(&class.kind, class.negated) {
                Some(text) if !self.flags.ignore_case => self.out += &text,
                _ => self.ranges(class.span)?,
            },
            Ast::ClassPerl(class) => self.out += perl_class(&class.kind, class.negated),
            Ast::ClassBracketed(class) => {
                let mut text = String::from(if class.negated { "[^" } else { "[" });
                match !self.flags.ignore_case && class_items(&class.kind, &mut text) {
                    true => {
                        self.out += &text;
                        self.out.push(']');
                    }
                    false => self.ranges(class.span)?,
                }
            }
            Ast::Repetition(repetition) => {
                self.write(&repetition.ast)?;
                self.repetition(&repetition.op.kind);
            }
            Ast::Group(group) => {
                let outer = self.flags;
                if let GroupKind::NonCapturing(flags) = &group.kind {
                    self.set_flags(flags)?;
                }
                self.out += "(?:";
                self.write(&group.ast)?;
                self.out.push(')');
                self.flags = outer;
            }
            Ast::Alternation(alternation) => {
                for (at, option) in alternation.asts.iter().enumerate() {
                    if at > 0 {
                        self.out.push('|');
                    }
                    self.write(option)?;
                }
            }
            Ast::Concat(concat) => {
                for part in &concat.asts {
                    self.write(part)?;
                }
            }
        }
        Some(())
    }

    fn set_flags(&mut self, flags: &Flags) -> Option<()> {
        let mut on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => on = false,
                FlagsItemKind::Flag(Flag::CaseInsensitive) => self.flags.ignore_case = on,
                FlagsItemKind::Flag(Flag::DotMatchesNewLine) => self.flags.dot_all = on,
                FlagsItemKind::Flag(Flag::MultiLine) => self.flags.lines = on,
                FlagsItemKind::Flag(Flag::IgnoreWhitespace) => self.flags.spaced = on,
                // Which repetition is greedy does not matter where the whole text matches.
                FlagsItemKind::Flag(Flag::SwapGreed) => {}
                FlagsItemKind::Flag(Flag::Unicode) if on => {}
                FlagsItemKind::Flag(_) => return None,
            }
        }
        Some(())
    }

    fn assertion(&mut self, kind: &AssertionKind) -> Option<()> {
        self.out += match kind {
            AssertionKind::StartText => "^",
            AssertionKind::EndText => "$",
            AssertionKind::StartLine if !self.flags.lines => "^",
            AssertionKind::EndLine if !self.flags.lines => "$",
            AssertionKind::WordBoundary => r"\b",
            AssertionKind::NotWordBoundary => r"\B",
            _ => return None,
        };
        Some(())
    }

    fn repetition(&mut self, kind: &RepetitionKind) {
        // Writing to a string cannot fail.
        let _ = match kind {
            RepetitionKind::ZeroOrOne => write!(self.out, "?"),
            RepetitionKind::ZeroOrMore => write!(self.out, "*"),
            RepetitionKind::OneOrMore => write!(self.out, "+"),
            RepetitionKind::Range(RepetitionRange::Exactly(n)) => write!(self.out, "{{{n}}}"),
            RepetitionKind::Range(RepetitionRange::AtLeast(n)) => write!(self.out, "{{{n},}}"),
            RepetitionKind::Range(RepetitionRange::Bounded(n, m)) => {
                write!(self.out, "{{{n},{m}}}")
            }
        };
    }

    /// Writes the characters that a part of the pattern matches as one class of ranges.
    fn ranges(&mut self, span: Span) -> Option<()> {
        let part = self.pattern.get(span.start.offset..span.end.offset)?;
        let mut parser = ParserBuilder::new();
        parser.case_insensitive(self.flags.ignore_case).ignore_whitespace(self.flags.spaced);
        let hir = parser.build().parse(part).ok()?;
        match hir.kind() {
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().for_each(|letter| push_char(letter, false, &mut self.out));
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.ranges();
                if ranges.is_empty() || ranges.len() > MAX_RANGES {
                    return None;
                }
                self.out.push('[');
                for range in ranges {
                    push_range(range.start(), range.end(), &mut self.out);
                }
                self.out.push(']');
            }
            _ => return None,
        }
        Some(())
    }
}

fn perl_class(kind: &ClassPerlKind, negated: bool) -> &'static str {
    match (kind, negated) {
        (ClassPerlKind::Digit, false) => r"\d",
        (ClassPerlKind::Digit, true) => r"\D",
        (ClassPerlKind::Word, false) => r"\w",
        (ClassPerlKind::Word, true) => r"\W",
        (ClassPerlKind::Space, false) => r"\s",
        (ClassPerlKind::Space, true) => r"\S",
    }
}

/// A general category, whose short names are the same in ECMA-262.
fn unicode_class(kind: &ClassUnicodeKind, negated: bool) -> Option<String> {
    let name = match kind {
        ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
        ClassUnicodeKind::Named(name) if name.len() == 2 => name.clone(),
        _ => return None,
    };
    let mut letters = name.chars();
    let upper = letters.next().is_some_and(|letter| "LMNPSZC".contains(letter));
    let lower = letters.all(|letter| letter.is_ascii_lowercase());
    let escape = if negated { 'P' } else { 'p' };
    (upper && lower).then(|| format!("\\{escape}{{{name}}}"))
}

/// Appends the items of a class that both syntaxes write in the same way; false for other classes.
fn class_items(set: &ClassSet, out: &mut String) -> bool {
    let ClassSet::Item(item) = set else { return false };
    let items = match item {
        ClassSetItem::Union(union) => union.items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.iter().all(|item| {
        match item {
            ClassSetItem::Literal(literal) => push_char(literal.c, true, out),
            ClassSetItem::Range(range) => push_range(range.start.c, range.end.c, out),
            ClassSetItem::Perl(class) => *out += perl_class(&class.kind, class.negated),
            ClassSetItem::Unicode(class) => match unicode_class(&class.kind, class.negated) {
                Some(text) => *out += &text,
                None => return false,
            },
            _ => return false,
        }
        true
    })
}

fn push_range(from: char, to: char, out: &mut String) {
    push_char(from, true, out);
    if from != to {
        if u32::from(to) > u32::from(from) + 1 {
            out.push('-');
        }
        push_char(to, true, out);
    }
}

/// Appends a character that stands for itself, inside a class or outside.
fn push_char(letter: char, in_class: bool, out: &mut String) {
    let special = match in_class {
        true => "\\^-[]",
        false => "\\^$.*+?()[]{}|/",
    };
    match letter {
        '\n' => *out += r"\n",
        '\r' => *out += r"\r",
        '\t' => *out += r"\t",
        letter if letter.is_ascii_control() => {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{:02x}", u32::from(letter));
        }
        letter => {
            if special.contains(letter) {
                out.push('\\');
            }
            out.push(letter);
        }
    }
}
