//! Stop words: words so frequent that they say nothing about a text.
//!
//! The lists are short on purpose, because rarer words help to tell texts apart. A file has one word
//! a line, in lower case, sorted by their UTF-8 bytes for a binary search.

use std::sync::LazyLock;

/// The stop words of a language by its English name; empty for a language without a list.
pub(crate) fn stop_words(language: &str) -> &'static [&'static str] {
    macro_rules! list {
        ($file:literal) => {{
            static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
                include_str!(concat!("stop_words/", $file, ".txt")).lines().collect()
            });
            &WORDS
        }};
    }
    match language {
        "danish" => list!("danish"),
        "dutch" => list!("dutch"),
        "english" => list!("english"),
        "finnish" => list!("finnish"),
        "french" => list!("french"),
        "german" => list!("german"),
        "italian" => list!("italian"),
        "norwegian" => list!("norwegian"),
        "portuguese" => list!("portuguese"),
        "russian" => list!("russian"),
        "spanish" => list!("spanish"),
        "swedish" => list!("swedish"),
        _ => &[],
    }
}
