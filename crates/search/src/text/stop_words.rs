//! Stop words: words so frequent that they say nothing about a text.
//!
//! The lists are short on purpose, because rarer words help to tell texts apart. A file has one word
//! a line, in lower case, sorted by their UTF-8 bytes for a binary search.

use crate::text::language::Language;
use std::sync::LazyLock;

/// The stop words of a language; empty for a language without a list.
pub(crate) fn stop_words(language: Language) -> &'static [&'static str] {
    macro_rules! list {
        ($file:literal) => {{
            static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
                include_str!(concat!("stop_words/", $file, ".txt")).lines().collect()
            });
            &WORDS
        }};
    }
    match language {
        Language::Danish => list!("danish"),
        Language::Dutch => list!("dutch"),
        Language::English => list!("english"),
        Language::Finnish => list!("finnish"),
        Language::French => list!("french"),
        Language::German => list!("german"),
        Language::Italian => list!("italian"),
        Language::Norwegian => list!("norwegian"),
        Language::Portuguese => list!("portuguese"),
        Language::Russian => list!("russian"),
        Language::Spanish => list!("spanish"),
        Language::Swedish => list!("swedish"),
        _ => &[],
    }
}
