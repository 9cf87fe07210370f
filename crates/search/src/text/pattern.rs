//! Patterns of a configuration: regular expressions in Ruby's notation, that of the original's
//! configurations, with two fast paths.
//!
//! A set of characters is a table lookup, a list of whole words (`\b(and|the|of)\b`) a comparison
//! of words; all others run a regular expression engine.

use crate::error::ConfigError;
use crate::text::char_set::CharSet;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use std::borrow::Cow;

/// A compiled pattern.
///
/// `\s`, `\w`, `\d` and `\h` are ASCII, `\b` and case-insensitive matching are Unicode, `^` and `$`
/// match at lines, `\A` and `\z` at the ends of the text. Look-around and back-references are not
/// supported.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    shortcut: Shortcut,
}

#[derive(Clone, Debug)]
enum Shortcut {
    None,
    /// One character of a set, or a run of them, which is the same for removing and splitting.
    Characters(CharSet),
    /// Whole words of ASCII letters and digits, in lower case if the pattern ignores case.
    Words {
        words: Vec<Box<str>>,
        ignore_case: bool,
    },
}

impl Pattern {
    /// Compiles the text between the slashes of a pattern.
    pub fn new(source: &str, ignore_case: bool) -> Result<Pattern, ConfigError> {
        let translated = translate(source);
        let regex = RegexBuilder::new(&translated)
            .multi_line(true)
            .case_insensitive(ignore_case)
            .size_limit(4 << 20)
            .build()
            .map_err(|error| explain(source, &error))?;
        let hir = regex_syntax::ParserBuilder::new()
            .multi_line(true)
            .case_insensitive(ignore_case)
            .build()
            .parse(&translated);
        let shortcut = hir
            .ok()
            .and_then(|hir| characters(&hir))
            .map(Shortcut::Characters)
            .or_else(|| whole_words(source, ignore_case))
            .unwrap_or(Shortcut::None);
        Ok(Pattern { regex, shortcut })
    }

    /// Compiles a pattern with its slashes, as in `/[^a-z\s]/i`. Without slashes, the whole text is
    /// the pattern.
    pub fn parse(literal: &str) -> Result<Pattern, ConfigError> {
        let Some(inner) = literal.strip_prefix('/') else {
            return Pattern::new(literal, false);
        };
        match inner.rsplit_once('/') {
            Some((source, flags)) if flags.chars().all(|flag| "imxu".contains(flag)) => {
                if flags.contains(['m', 'x']) {
                    return Err(ConfigError::new(format!(
                        "the pattern {literal} has the flag {flags}, but only i is supported; \
                         write it without"
                    )));
                }
                Pattern::new(source, flags.contains('i'))
            }
            _ => Pattern::new(literal, false),
        }
    }

    /// The text without the matches.
    pub(crate) fn remove_from<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        match &self.shortcut {
            Shortcut::Characters(set) => {
                if !text.chars().any(|character| set.contains(character)) {
                    return text;
                }
                text.chars()
                    .filter(|character| !set.contains(*character))
                    .collect::<String>()
                    .into()
            }
            Shortcut::Words { words, ignore_case } if text.is_ascii() => {
                remove_words(text, words, *ignore_case)
            }
            _ => match self.regex.replace_all(&text, "") {
                Cow::Borrowed(_) => text,
                Cow::Owned(changed) => changed.into(),
            },
        }
    }

    /// Calls `each` with the parts between the matches, including empty ones.
    pub(crate) fn split<'a>(&self, text: &'a str, mut each: impl FnMut(&'a str)) {
        if let Shortcut::Characters(set) = &self.shortcut {
            let mut start = 0;
            for (at, character) in text.char_indices() {
                if set.contains(character) {
                    each(&text[start..at]);
                    start = at + character.len_utf8();
                }
            }
            each(&text[start..]);
        } else {
            self.regex.split(text).for_each(each);
        }
    }

    /// The text with every match replaced; `None` without a match. In the replacement, `\1` to `\9`
    /// are the groups and `\0` is the match.
    pub(crate) fn replace(&self, text: &str, replacement: &str) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        for found in self.regex.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            out.push_str(&text[copied..whole.start()]);
            copied = whole.end();
            let mut characters = replacement.chars();
            while let Some(character) = characters.next() {
                match (character, characters.clone().next().and_then(|next| next.to_digit(10))) {
                    ('\\', Some(group)) => {
                        characters.next();
                        out.push_str(found.get(group as usize).map_or("", |group| group.as_str()));
                    }
                    _ => out.push(character),
                }
            }
        }
        if copied == 0 && out.is_empty() && !self.regex.is_match(text) {
            return None;
        }
        out.push_str(&text[copied..]);
        Some(out)
    }
}

fn explain(source: &str, error: &regex::Error) -> ConfigError {
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
    ConfigError::new(format!(
        "the pattern /{source}/ cannot be used: {reason}; look-around and back-references are not \
         supported"
    ))
}

/// Translates Ruby's notation: classes that are ASCII in Ruby and Unicode in the engine, and
/// escapes that only one of them has.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut in_class = 0_usize;
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('s') => out.push_str(r"[ \t\r\n\x0B\x0C]"),
                Some('S') => out.push_str(r"[^ \t\r\n\x0B\x0C]"),
                Some('w') => out.push_str("[a-zA-Z0-9_]"),
                Some('W') => out.push_str("[^a-zA-Z0-9_]"),
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('h') => out.push_str("[0-9a-fA-F]"),
                Some('H') => out.push_str("[^0-9a-fA-F]"),
                Some('Z') => out.push_str(r"\n?\z"),
                Some('e') => out.push_str(r"\x1B"),
                Some(escaped) if escaped.is_ascii_alphanumeric() => {
                    out.push('\\');
                    out.push(escaped);
                }
                Some(escaped) => {
                    if escaped.is_ascii_punctuation() && escaped != '<' && escaped != '>' {
                        out.push('\\');
                    }
                    out.push(escaped);
                }
                None => out.push('\\'),
            },
            '[' => {
                in_class += 1;
                out.push('[');
            }
            ']' => {
                in_class = in_class.saturating_sub(1);
                out.push(']');
            }
            // Class operators of the engine that are plain characters in Ruby.
            '&' | '~' | '-' if in_class > 0 && characters.clone().next() == Some(character) => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// The set of a pattern that matches one character, or a run of them.
fn characters(hir: &Hir) -> Option<CharSet> {
    match hir.kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => {
            Some(CharSet::new(class.ranges().iter().map(|range| (range.start(), range.end()))))
        }
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let mut characters = text.chars();
            let only = characters.next()?;
            characters.next().is_none().then(|| CharSet::new([(only, only)]))
        }
        HirKind::Repetition(repetition) if repetition.min == 1 && repetition.max.is_none() => {
            characters(&repetition.sub)
        }
        HirKind::Capture(capture) => characters(&capture.sub),
        _ => None,
    }
}

/// Recognizes `\b(one|two|three)\b` of ASCII letters and digits. Its matches begin and end at word
/// boundaries without one inside, so they are whole words.
fn whole_words(source: &str, ignore_case: bool) -> Option<Shortcut> {
    let inner = source.strip_prefix(r"\b(")?.strip_suffix(r")\b")?;
    let inner = inner.strip_prefix("?:").unwrap_or(inner);
    let words: Vec<&str> = inner.split('|').collect();
    let plain =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !words.iter().all(plain) {
        return None;
    }
    let keep = |word: &&str| if ignore_case { word.to_ascii_lowercase() } else { (*word).into() };
    let words = words.iter().map(keep).map(String::into_boxed_str).collect();
    Some(Shortcut::Words { words, ignore_case })
}

fn remove_words<'a>(text: Cow<'a, str>, words: &[Box<str>], ignore_case: bool) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let in_word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if !in_word(at) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && in_word(at) {
            at += 1;
        }
        let word = &text[start..at];
        let listed = words.iter().any(|listed| {
            if ignore_case { listed.eq_ignore_ascii_case(word) } else { **listed == *word }
        });
        if listed {
            out.get_or_insert_default().push_str(&text[copied..start]);
            copied = at;
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[copied..]);
            out.into()
        }
        None => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn removed(pattern: &str, text: &str) -> String {
        Pattern::parse(pattern).unwrap().remove_from(text.into()).into_owned()
    }

    fn pieces(pattern: &str, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        Pattern::parse(pattern).unwrap().split(text, |piece| out.push(piece.to_owned()));
        out
    }

    #[test]
    fn sets_of_characters() {
        let pattern = r#"/[^a-z0-9\s\/\-\_\:\"\&\.]/i"#;
        assert!(matches!(Pattern::parse(pattern).unwrap().shortcut, Shortcut::Characters(_)));
        assert_eq!(
            removed(pattern, "A, (b)_c\u{a0}\u{17f}\u{212a}\u{e9}!"),
            "A b_c\u{17f}\u{212a}"
        );
        assert_eq!(pieces(r"/[\s\/\-\&]+/", "a b//c"), ["a", "b", "", "c"]);
        assert_eq!(pieces(r"/\s/", "a\u{a0}b c"), ["a\u{a0}b", "c"]);
    }

    #[test]
    fn whole_words_are_removed_and_parts_of_words_are_not() {
        let pattern = r"/\b(and|the|of|it|in|for)\b/i";
        assert!(matches!(Pattern::parse(pattern).unwrap().shortcut, Shortcut::Words { .. }));
        for text in
            ["The theory of it", "the_end in", "for\"of\" x", "", "in", "\u{e9}in of\u{e9} of"]
        {
            let pattern = Pattern::parse(pattern).unwrap();
            let plain = pattern.regex.replace_all(text, "");
            assert_eq!(pattern.remove_from(text.into()), plain);
        }
    }

    #[test]
    fn replacements_refer_to_groups() {
        let pattern = Pattern::parse(r"/\A\$(\w+)\z/i").unwrap();
        assert_eq!(pattern.replace("$5", r"\1 dollars").as_deref(), Some("5 dollars"));
        assert_eq!(pattern.replace("5", r"\1 dollars"), None);
        assert_eq!(Pattern::parse("/hist/").unwrap().replace("hist", "").as_deref(), Some(""));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_explained() {
        let error = Pattern::parse("/(?=a)/").unwrap_err();
        assert!(error.message().contains("look-around"), "{error}");
        assert!(Pattern::parse("/a/x").is_err());
        assert!(Pattern::parse("/[/").is_err());
    }

    proptest::proptest! {
        #[test]
        fn word_lists_agree_with_the_engine(text in "[a-e_ \u{e9}.]{0,12}") {
            let pattern = Pattern::parse("/\\b(a|bc|d)\\b/").unwrap();
            let plain = pattern.regex.replace_all(&text, "").into_owned();
            proptest::prop_assert_eq!(pattern.remove_from(text.into()).into_owned(), plain);
        }
    }
}
