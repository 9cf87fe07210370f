//! Stemming: the part of a word that its inflected forms share.

use frostem::Algorithm;
use std::borrow::Cow;
use std::fmt;

/// The Snowball stemmer of a language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stemmer(Algorithm);

/// The stemmers by the English names of their languages.
pub(crate) const STEMMERS: [(&str, Stemmer); 18] = [
    ("arabic", Stemmer(Algorithm::Arabic)),
    ("danish", Stemmer(Algorithm::Danish)),
    ("dutch", Stemmer(Algorithm::Dutch)),
    ("english", Stemmer(Algorithm::English)),
    ("finnish", Stemmer(Algorithm::Finnish)),
    ("french", Stemmer(Algorithm::French)),
    ("german", Stemmer(Algorithm::German)),
    ("greek", Stemmer(Algorithm::Greek)),
    ("hungarian", Stemmer(Algorithm::Hungarian)),
    ("italian", Stemmer(Algorithm::Italian)),
    ("norwegian", Stemmer(Algorithm::Norwegian)),
    ("portuguese", Stemmer(Algorithm::Portuguese)),
    ("romanian", Stemmer(Algorithm::Romanian)),
    ("russian", Stemmer(Algorithm::Russian)),
    ("spanish", Stemmer(Algorithm::Spanish)),
    ("swedish", Stemmer(Algorithm::Swedish)),
    ("tamil", Stemmer(Algorithm::Tamil)),
    ("turkish", Stemmer(Algorithm::Turkish)),
];

impl Stemmer {
    /// The stemmer for a language by its English name in lower case.
    pub fn named(name: &str) -> Option<Stemmer> {
        STEMMERS.iter().find(|(known, _)| *known == name).map(|(_, stemmer)| *stemmer)
    }

    /// The stem of a word in lower case.
    pub fn stem<'a>(self, word: &'a str) -> Cow<'a, str> {
        frostem::Stemmer::new(self.0).stem(word)
    }
}

/// The algorithm and its generation: the text is part of the fingerprint of an index in files, and
/// other stems need the documents indexed again.
impl fmt::Debug for Stemmer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Snowball 2026 {:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Stemmer;

    #[test]
    fn inflected_forms_share_a_stem() {
        for (language, one, other) in
            [("english", "stories", "story"), ("german", "h\u{e4}user", "haus")]
        {
            let stem = |word| Stemmer::named(language).map(|stemmer| stemmer.stem(word));
            assert!(stem(one).is_some() && stem(one) == stem(other));
        }
    }

    #[test]
    fn greek_words_do_not_break_the_stemmer() {
        // rust-stemmers cut these within a letter and panicked.
        let stemmer = Stemmer::named("greek");
        for word in [
            "\u{3b5}\u{3c5}\u{3c1}\u{3c9}\u{3c0}\u{3b1}\u{3ca}\u{3ba}\u{3b1}",
            "\u{3ac}\u{3b3}\u{3b9}\u{3bf}\u{3c2}",
        ] {
            assert!(stemmer.is_some_and(|stemmer| !stemmer.stem(word).is_empty()));
        }
    }
}
