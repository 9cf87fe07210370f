//! Text to words: tokenizers, stemming, stop words, character substitution, phonetic codes.
//!
//! Nothing here knows an index or a query.

pub(crate) mod char_set;
pub(crate) mod double_metaphone;
pub(crate) mod edit_distance;
pub(crate) mod language;
pub(crate) mod metaphone;
pub(crate) mod name_hint;
pub(crate) mod pattern;
pub(crate) mod scripts;
pub(crate) mod soundex;
pub(crate) mod stemmer;
pub(crate) mod stop_words;
pub(crate) mod substitution;
pub(crate) mod tokenizer;
pub(crate) mod word_list;
