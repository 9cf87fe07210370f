//! Stemming: words reduced to the part that their inflected forms share.

use rust_stemmers::Algorithm;
use std::borrow::Cow;

/// A language whose words can be reduced to stems, by the Snowball algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the language of its name")]
pub enum Stemmer {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

impl Stemmer {
    /// The stem of a word in lower case.
    pub fn stem<'a>(self, word: &'a str) -> Cow<'a, str> {
        let algorithm = match self {
            Stemmer::Arabic => Algorithm::Arabic,
            Stemmer::Danish => Algorithm::Danish,
            Stemmer::Dutch => Algorithm::Dutch,
            Stemmer::English => Algorithm::English,
            Stemmer::Finnish => Algorithm::Finnish,
            Stemmer::French => Algorithm::French,
            Stemmer::German => Algorithm::German,
            Stemmer::Greek => Algorithm::Greek,
            Stemmer::Hungarian => Algorithm::Hungarian,
            Stemmer::Italian => Algorithm::Italian,
            Stemmer::Norwegian => Algorithm::Norwegian,
            Stemmer::Portuguese => Algorithm::Portuguese,
            Stemmer::Romanian => Algorithm::Romanian,
            Stemmer::Russian => Algorithm::Russian,
            Stemmer::Spanish => Algorithm::Spanish,
            Stemmer::Swedish => Algorithm::Swedish,
            Stemmer::Tamil => Algorithm::Tamil,
            Stemmer::Turkish => Algorithm::Turkish,
        };
        rust_stemmers::Stemmer::create(algorithm).stem(word)
    }
}

#[cfg(test)]
mod tests {
    use super::Stemmer;

    #[test]
    fn inflected_forms_share_a_stem() {
        assert_eq!(Stemmer::English.stem("stories"), Stemmer::English.stem("story"));
        assert_eq!(Stemmer::German.stem("h\u{e4}user"), Stemmer::German.stem("haus"));
    }
}
