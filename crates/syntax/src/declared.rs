//! Declared types as text, in the form that the formatter writes.

use crate::ast::{DeclaredKind, DeclaredType, TypeRange, Word};
use std::fmt::{Display, Formatter, Result};

impl Display for DeclaredType {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let mark = if self.optional { "?" } else { "" };
        match &self.kind {
            DeclaredKind::Named { name, limits, pattern } => {
                write!(out, "{}{mark}", name.text)?;
                write_limits(out, limits.as_ref())?;
                match pattern {
                    Some(pattern) => write!(out, " /{}/", pattern.text),
                    None => Ok(()),
                }
            }
            DeclaredKind::Enumeration(texts) => {
                for (at, text) in texts.iter().enumerate() {
                    let space = if at > 0 { " " } else { "" };
                    write!(out, "{space}'{}'", text.text.replace('\'', "''"))?;
                }
                out.write_str(mark)
            }
            DeclaredKind::List { element, limits } => {
                write!(out, "[{element}]{mark}")?;
                write_limits(out, limits.as_ref())
            }
            DeclaredKind::OneOf(options) => {
                for (at, option) in options.iter().enumerate() {
                    let bar = if at > 0 { " | " } else { "" };
                    write!(out, "{bar}{option}")?;
                }
                out.write_str(mark)
            }
        }
    }
}

fn write_limits(out: &mut Formatter<'_>, limits: Option<&TypeRange>) -> Result {
    let Some(limits) = limits else { return Ok(()) };
    let text = |word: &Option<Word>| word.as_ref().map_or(String::new(), |word| word.text.clone());
    write!(out, " {}..{}", text(&limits.least), text(&limits.most))
}

/// The type and its marks between brackets: `<string 1..120 required>`.
pub(crate) fn in_brackets(kind: &DeclaredType, marks: &[Word]) -> String {
    let marks: String = marks.iter().map(|mark| format!(" {}", mark.text)).collect();
    format!("<{kind}{marks}>")
}
