//! The bounds that keep every index and every query finite, in one place.

/// Longest query, in characters; the rest is cut before parsing.
pub const MAX_QUERY_CHARS: usize = 1_024;

/// Most words of a query; later ones are dropped.
pub const MAX_QUERY_TOKENS: usize = 128;

/// Most alternatives of one `a|b|c` word; later ones are dropped.
pub const MAX_ALTERNATIVES: usize = 32;

/// Most interpretations of a query in one index. Beyond, those with the highest sums of weights
/// stay.
pub const MAX_INTERPRETATIONS: usize = 4_096;

/// Most bytes of combinations of one index in an answer. Queries with very many or very long words
/// keep fewer interpretations than [`MAX_INTERPRETATIONS`] because of it.
pub const MAX_COMBINATION_BYTES: usize = 1 << 20;

/// Most bytes of combinations of all indexes in one answer; [`MAX_COMBINATION_BYTES`] is the limit
/// of one index. After that, further indexes contribute only their best interpretation.
pub const MAX_COMBINATION_BYTES_OF_INDEXES: usize = 4 << 20;

/// Work budget of one query, in elementary steps of a few nanoseconds each (reading a list element,
/// comparing 256 bits of sets). Once it is spent, ranges and alternatives end early and
/// interpretations not yet counted are left out.
pub const MAX_WORK: u64 = 6_000_000;

/// Most strings that a range forms one by one. Ranges of plain numbers, or of words in one case of
/// the Latin alphabet, have no such limit: they select from the words of the index.
pub const MAX_RANGE_STEPS: u64 = 20_000;

/// Longest indexed word, in characters; the rest of a longer one is not indexed.
pub const MAX_WORD_CHARS: usize = 256;

/// Longest text of one field of a document, in bytes; the rest is not indexed.
pub const MAX_FIELD_BYTES: usize = 4 << 20;

/// Most parts of words that one field of a document adds to the index of partial words, enough for
/// several ten thousand different words. Later words are found only as a whole.
pub const MAX_FIELD_PARTS: usize = 250_000;

/// Largest document, in bytes of its JSON.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// Most categories of one index.
pub const MAX_CATEGORIES: usize = 64;

/// Most combinations of one word of a query with categories of one index; later ones are dropped.
/// Only similar words and repeated qualifiers make more combinations than there are categories.
pub const MAX_COMBINATIONS: usize = 64;

/// Most indexes of one search.
pub const MAX_INDEXES: usize = 255;

/// Most cells to either side that a grid category indexes a value into.
pub const MAX_GRID_PRECISION: u32 = 1_000;

/// Most documents of one index.
pub const MAX_DOCUMENTS: usize = 1 << 30;

/// Longest word, in characters, for phonetic codes and edit distances; they ignore the rest of a
/// longer one.
pub const MAX_PHONETIC_CHARS: usize = 64;

/// Most attributes of one index.
pub const MAX_ATTRIBUTES: usize = 64;

/// Longest text of an attribute, in characters; filters and orders ignore the rest of a longer one.
pub const MAX_ATTRIBUTE_CHARS: usize = 512;

/// Longest filter, in characters.
pub const MAX_FILTER_CHARS: usize = 2_048;

/// Deepest nesting of parentheses and `not` in a filter.
pub const MAX_FILTER_DEPTH: usize = 32;

/// Most conditions and values of one filter.
pub const MAX_FILTER_TESTS: usize = 64;

/// Most words and phrases of all synonyms of a search.
pub const MAX_SYNONYMS: usize = 20_000;

/// Most synonyms of one word that are looked up; later ones are dropped.
pub const MAX_SYNONYMS_OF_WORD: usize = 32;

/// Most text searched for matches in one answer, in bytes; the rest is shown without marks.
pub const MAX_HIGHLIGHTED_BYTES: usize = 128 << 10;

/// Most documents of one answer in which matches are marked; later ones are shown without.
pub const MAX_HIGHLIGHTED_DOCUMENTS: usize = 1_000;

/// Most words of a snippet.
pub const MAX_SNIPPET_WORDS: usize = 200;

/// Most attributes to sort by at once.
pub const MAX_ORDER_KEYS: usize = 4;
