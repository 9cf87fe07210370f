//! Languages: the tokenizers, stemmers and stop words of each.

use crate::text::stemmer::Stemmer;
use crate::text::stop_words::stop_words;
use crate::text::substitution::Substitution;
use crate::text::tokenizer::{Splitter, Tokenizer};

/// A language, which selects a tokenizer.
///
/// All split texts into letters and digits ([`Splitter::Words`]) and stem words if there is a
/// [`Stemmer`]. Danish, Dutch, English, Finnish, French, German, Italian, Norwegian, Portuguese,
/// Russian, Spanish and Swedish have stop words. English, Dutch and the Romance languages ignore
/// accents, German also the difference between `ä` and `ae`, Russian that between `ё` and `е`.
/// Chinese, Japanese and Thai are split into pairs of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the language of its name")]
pub enum Language {
    Arabic,
    Chinese,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Japanese,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Thai,
    Turkish,
}

use Language::*;

/// Names and codes (ISO 639-1).
const NAMES: [(&str, &str, Language); 21] = [
    ("arabic", "ar", Arabic),
    ("chinese", "zh", Chinese),
    ("danish", "da", Danish),
    ("dutch", "nl", Dutch),
    ("english", "en", English),
    ("finnish", "fi", Finnish),
    ("french", "fr", French),
    ("german", "de", German),
    ("greek", "el", Greek),
    ("hungarian", "hu", Hungarian),
    ("italian", "it", Italian),
    ("japanese", "ja", Japanese),
    ("norwegian", "no", Norwegian),
    ("portuguese", "pt", Portuguese),
    ("romanian", "ro", Romanian),
    ("russian", "ru", Russian),
    ("spanish", "es", Spanish),
    ("swedish", "sv", Swedish),
    ("tamil", "ta", Tamil),
    ("thai", "th", Thai),
    ("turkish", "tr", Turkish),
];

impl Language {
    /// The language of an English name or an ISO code of two letters: `german`, `de`.
    pub fn named(name: &str) -> Option<Language> {
        let is = |known: &&(&str, &str, Language)| {
            known.0.eq_ignore_ascii_case(name) || known.1.eq_ignore_ascii_case(name)
        };
        NAMES.iter().find(is).map(|(_, _, language)| *language)
    }

    /// The names of all languages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _, _)| *name)
    }

    /// The tokenizer for documents.
    pub fn indexing(self) -> Tokenizer {
        self.tokenizer(Splitter::Words)
    }

    /// The tokenizer for queries. The index stems their words.
    pub fn searching(self) -> Tokenizer {
        self.tokenizer(Splitter::QueryWords)
    }

    fn tokenizer(self, splitter: Splitter) -> Tokenizer {
        let mut tokenizer = Tokenizer::new().splits(splitter);
        if let Some(substitution) = self.substitution() {
            tokenizer = tokenizer.substitutes(substitution);
        }
        if let Some(stemmer) = self.stemmer() {
            tokenizer = tokenizer.stems(stemmer);
        }
        tokenizer.stop_words(stop_words(self.name()))
    }

    fn substitution(self) -> Option<Substitution> {
        Some(match self {
            Dutch | English | French | Italian | Portuguese | Romanian | Spanish => {
                Substitution::Accents
            }
            German => Substitution::German,
            Russian => Substitution::Russian,
            Chinese | Japanese | Thai => Substitution::Widths,
            Arabic | Danish | Finnish | Greek | Hungarian | Norwegian | Swedish | Tamil
            | Turkish => return None,
        })
    }

    /// The stemmer, if there is one for the language.
    pub fn stemmer(self) -> Option<Stemmer> {
        Stemmer::named(self.name())
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, _, language)| *language == self).map_or("", |(name, ..)| *name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The words as they are indexed.
    fn stems(language: &str, text: &str) -> Vec<String> {
        let language = Language::named(language).unwrap();
        let stem = |word: &String| match language.stemmer() {
            Some(stemmer) => stemmer.stem(word).into_owned(),
            None => word.clone(),
        };
        language.indexing().words(text).iter().map(stem).collect()
    }

    #[test]
    fn stop_words_are_in_order_and_as_substituted() {
        for (name, code, language) in NAMES {
            let words = stop_words(name);
            assert!(words.is_sorted_by(|left, right| left < right), "{code}");
            for word in words {
                // A stop word alone stays, and stays what it is.
                assert_eq!(language.indexing().words(word), [*word], "{code}");
            }
        }
    }

    #[test]
    fn forms_of_a_word_are_the_same() {
        for (language, one, other) in [
            ("german", "die H\u{e4}user der Stra\u{df}e", "haeuser strasse"),
            ("de", "Haus", "H\u{e4}user"),
            ("en", "The history of the women", "histories woman women"),
            ("fr", "l'\u{e9}t\u{e9} fran\u{e7}ais", "ete francais"),
            ("es", "las canciones", "canci\u{f3}n"),
            ("it", "la citt\u{e0}", "citta"),
            ("nl", "de boeken", "boek"),
            ("pt", "os livros", "livro"),
            ("sv", "flickorna och", "flicka"),
            ("da", "husene er", "hus"),
            ("no", "bilene", "bil"),
            ("fi", "talossa", "talo"),
            ("ru", "\u{451}\u{43b}\u{43a}\u{438} \u{438}", "\u{435}\u{43b}\u{43a}\u{430}"),
        ] {
            let [one, other] = [stems(language, one), stems(language, other)];
            assert!(one.iter().all(|word| other.contains(word)), "{language}: {one:?} {other:?}");
        }
    }

    #[test]
    fn a_text_of_stop_words_only_keeps_them() {
        assert_eq!(Language::English.indexing().words("The Who"), ["the", "who"]);
        assert_eq!(Language::English.indexing().words("The Band"), ["band"]);
        assert_eq!(Language::English.searching().words("title:the*"), ["title:the*"]);
    }

    #[test]
    fn languages_have_names_and_codes() {
        for (name, code, language) in NAMES {
            assert_eq!(Language::named(name), Some(language));
            assert_eq!(Language::named(&code.to_uppercase()), Some(language));
        }
        assert_eq!(Language::named("klingon"), None);
        assert_eq!(Language::names().count(), NAMES.len());
    }
}
