//! What could stand where the cursor is.

use super::receiver::Receiver;
use runnel_runtime::Isolate;
use runnel_syntax::{TokenKind, tokens};

/// Proposals beyond which the rest is left out.
const MOST: usize = 200;

/// What is to be completed, found from the text alone.
#[derive(Debug, PartialEq, Eq)]
enum CursorContext {
    /// A name or a scheme that begins so.
    Name(String),
    /// A message to what the first text ends with, that begins so.
    Message(String, String),
    /// Below this path of a scheme, a name that begins so.
    Path(String, String, String),
    /// Nothing: inside a text, a comment or a number.
    Nothing,
}

/// A proposal for the text from `start` to the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) start: usize,
    pub(crate) text: String,
    /// Whether a space follows: not after a scheme or a folder.
    pub(crate) ends: bool,
}

/// What could stand at the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    /// In order of the alphabet.
    pub(crate) proposals: Vec<Proposal>,
    /// Where there is one message alone: its signature and first sentence.
    pub(crate) note: Option<String>,
}

/// The proposals for a cursor.
pub(crate) async fn completion(isolate: &Isolate, line: &str, cursor: usize) -> Completion {
    let Some(before) = line.get(..cursor) else { return Completion::default() };
    let mut receiver = Receiver::Unknown;
    let (prefix, mut found) = match place(before) {
        CursorContext::Nothing => return Completion::default(),
        CursorContext::Name(prefix) => {
            let mut names = isolate.completions();
            names.extend(isolate.scheme_names().into_iter().map(|name| name + ":"));
            (prefix, names)
        }
        CursorContext::Message(operand, prefix) => {
            receiver = Receiver::of(isolate, &operand).await;
            (prefix, receiver.selectors(&isolate.messages().await))
        }
        CursorContext::Path(scheme, folder, prefix) => {
            (prefix, isolate.children(&scheme, &folder).await)
        }
    };
    found.retain(|name| name.starts_with(&prefix));
    found.sort();
    found.dedup();
    let note = match found.as_slice() {
        [one] => receiver.explanation(one),
        _ if found.contains(&prefix) => receiver.explanation(&prefix),
        _ => None,
    };
    found.retain(|name| *name != prefix);
    found.truncate(MOST);
    let start = cursor - prefix.len();
    let ends = |text: &str| !text.ends_with([':', '/']);
    let proposals =
        found.into_iter().map(|text| Proposal { start, ends: ends(&text), text }).collect();
    Completion { proposals, note }
}

/// Looks at the text before the cursor.
fn place(before: &str) -> CursorContext {
    let tokens = tokens(before);
    let last = tokens.last();
    if let Some(token) = last
        && matches!(token.kind, TokenKind::Text | TokenKind::Quote | TokenKind::Comment)
        && before.len() as u32 == token.span.end
        && !closed(token.span.text(before), token.kind)
    {
        return CursorContext::Nothing;
    }
    let word_start = before
        .rfind(|one: char| one.is_whitespace() || "()[]{}'\",.;|".contains(one))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    if let Some(path) = path(before) {
        return path;
    }
    let word = &before[word_start..];
    if word.starts_with(|first: char| !first.is_alphabetic() && first != '_') {
        return CursorContext::Nothing;
    }
    let operand = before[..word_start].trim_end();
    let spaced = operand.len() < word_start;
    let is_operand = operand.ends_with(|last: char| {
        last.is_alphanumeric() || matches!(last, '_' | ')' | ']' | '}' | '\'' | '"')
    });
    match (is_operand, spaced) {
        (true, true) => CursorContext::Message(operand.to_string(), word.to_string()),
        (true, false) if word.is_empty() => CursorContext::Nothing,
        _ => CursorContext::Name(word.to_string()),
    }
}

/// Whether a text token that ends at the cursor has ended.
fn closed(text: &str, kind: TokenKind) -> bool {
    match kind {
        TokenKind::Comment => false,
        _ => text.len() > 1 && text.ends_with(['\'', '"']),
    }
}

/// `scheme:folder/prefix` directly before the cursor.
fn path(before: &str) -> Option<CursorContext> {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = before[start..].trim_start_matches(['(', '[', '{', ',']);
    let word = word.strip_prefix("ref:").unwrap_or(word);
    let (scheme, rest) = word.split_once(':')?;
    let is_name = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_name || rest.starts_with('=') {
        return None;
    }
    let (folder, prefix) = match rest.rfind('/') {
        Some(at) => rest.split_at(at + 1),
        None => ("", rest),
    };
    Some(CursorContext::Path(scheme.into(), folder.into(), prefix.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_is_completed() {
        let name = |text: &str| CursorContext::Name(text.into());
        let message = |a: &str, b: &str| CursorContext::Message(a.into(), b.into());
        let path = |a: &str, b: &str, c: &str| CursorContext::Path(a.into(), b.into(), c.into());
        assert_eq!(place(""), name(""));
        assert_eq!(place("std"), name("std"));
        assert_eq!(place("a := st"), name("st"));
        assert_eq!(place("stdout pri"), message("stdout", "pri"));
        assert_eq!(place("(3 + 4) "), message("(3 + 4)", ""));
        assert_eq!(place("'abc' up"), message("'abc'", "up"));
        assert_eq!(place("x + y"), name("y"));
        assert_eq!(place("'it is st"), CursorContext::Nothing);
        assert_eq!(place("3 // and st"), CursorContext::Nothing);
        assert_eq!(place("12"), CursorContext::Nothing);
        assert_eq!(place("'abc'"), CursorContext::Nothing);
        assert_eq!(place("file:/etc/ho"), path("file", "/etc/", "ho"));
        assert_eq!(place("ref:file:no"), path("file", "", "no"));
        assert_eq!(place("stdout println: (site:a/"), path("site", "a/", ""));
    }
}
