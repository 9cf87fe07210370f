//! One message, and its signature in the notation of the language.

use crate::kind::ValueKind;
use std::fmt;

/// An argument of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageParameter {
    /// The name that texts and signature help show.
    pub name: String,
    /// What may be given.
    pub kind: ValueKind,
}

/// An expression that shows the meaning of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// One or more statements.
    pub source: String,
    /// An expression for the value, or `error: message`; none where the value is not fixed.
    pub result: Option<String>,
}

/// A message that a class understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDefinition {
    /// The class that defines it.
    pub class: String,
    /// Sent to the class itself rather than to its instances.
    pub is_of_class: bool,
    /// `at:put:`, `count`, `+`.
    pub selector: String,
    /// What each argument may be.
    pub parameters: Vec<MessageParameter>,
    /// What it answers.
    pub answer: ValueKind,
    /// What it does, in one to three sentences.
    pub text: String,
    /// At least one.
    pub examples: Vec<Example>,
    /// Other selectors of the same meaning.
    pub synonyms: Vec<String>,
}

impl MessageDefinition {
    /// The first sentence of the text, for lists.
    pub fn summary(&self) -> &str {
        summary(&self.text)
    }
}

/// The first sentence of a text.
pub fn summary(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// What a signature says.
pub(crate) struct Signature {
    pub(crate) class: Option<String>,
    pub(crate) is_of_class: bool,
    pub(crate) selector: String,
    pub(crate) parameters: Vec<MessageParameter>,
    pub(crate) answer: ValueKind,
}

/// Whether a line of a definition is a signature; its parts when they are well formed.
pub(crate) fn signature(line: &str) -> Option<Result<Signature, String>> {
    let (class, rest) = match line.split_once(' ') {
        Some((first, rest))
            if first.starts_with(|first: char| first.is_ascii_uppercase())
                && (rest.starts_with("-<") || rest.starts_with("+<")) =>
        {
            (Some(first.to_owned()), rest)
        }
        _ => (None, line),
    };
    let is_of_class = rest.starts_with("+<");
    if !is_of_class && !rest.starts_with("-<") {
        return None;
    }
    let fault = || format!("not a signature: {line}");
    let parsed = || -> Option<Signature> {
        let (answer, rest) = rest[2..].split_once('>')?;
        let answer = ValueKind::parse(answer)?;
        let (selector, parameters) = parts(rest.trim())?;
        Some(Signature { class, is_of_class, selector, parameters, answer })
    };
    Some(parsed().ok_or_else(fault))
}

/// `replace:<String>old with:<String>new`, `count`, `+ <Number>other`
fn parts(text: &str) -> Option<(String, Vec<MessageParameter>)> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|one| one.is_alphanumeric() || "_-.".contains(one))
    };
    if is_name(text) && !text.starts_with('-') {
        return Some((text.to_owned(), Vec::new()));
    }
    let (mut selector, mut parameters) = (String::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) =
            rest.split_once('<').filter(|(part, _)| !part.trim().is_empty()).or_else(
                // A binary selector may have `<` in it.
                || {
                    rest.split_once(' ')
                        .and_then(|(part, after)| Some((part, after.strip_prefix('<')?)))
                },
            )?;
        let (kind, after) = after.split_once('>')?;
        let after = after.trim_start();
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let name = &after[..end];
        if !is_name(name) {
            return None;
        }
        selector.push_str(part.trim());
        parameters.push(MessageParameter { name: name.to_owned(), kind: ValueKind::parse(kind)? });
        rest = after[end..].trim_start();
        if !rest.is_empty() && !part.trim().ends_with(':') {
            return None;
        }
    }
    (!parameters.is_empty()).then_some((selector, parameters))
}

/// `source ⇒ result`
pub(crate) fn example(text: &str) -> Example {
    match text.rsplit_once('⇒') {
        Some((source, result)) => {
            Example { source: source.trim().to_owned(), result: Some(result.trim().to_owned()) }
        }
        None => Example { source: text.trim().to_owned(), result: None },
    }
}

impl fmt::Display for MessageDefinition {
    /// The signature, as a class body has it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_of_class { '+' } else { '-' };
        write!(out, "{mark}<{}>", self.answer)?;
        if self.parameters.is_empty() {
            return write!(out, "{}", self.selector);
        }
        if !self.selector.ends_with(':') {
            let parameter = &self.parameters[0];
            return write!(out, "{} <{}>{}", self.selector, parameter.kind, parameter.name);
        }
        for (number, (part, parameter)) in
            self.selector.split_inclusive(':').zip(&self.parameters).enumerate()
        {
            let space = if number > 0 { " " } else { "" };
            write!(out, "{space}{part}<{}>{}", parameter.kind, parameter.name)?;
        }
        Ok(())
    }
}
