//! The options of a tokenizer: `#Tokenizer{ … }`, or the same options of an index.

use super::options::{CLASS, DefinitionOptions, invalid};
use crate::text::language::Language;
use crate::text::name_hint::name_hint;
use crate::text::pattern::Pattern;
use crate::text::stemmer::STEMMERS;
use crate::text::substitution::Substitution;
use crate::text::tokenizer::{Rejection, Splitter, Tokenizer};
use runnel_store::{Error, Value};

/// The options of a tokenizer.
pub(super) const OPTIONS: [&str; 10] = [
    "language",
    "substitutes",
    "removes",
    "stopwords",
    "splits",
    "normalizes",
    "rejects",
    "maxWords",
    "caseSensitive",
    "stems",
];

/// Most pairs of `normalizes`.
const MAX_PAIRS: usize = 1_024;

/// The largest count of an option.
const MOST: i64 = 1_000_000;

/// The two names of splitting into words of letters and digits, with pairs of letters in scripts
/// without spaces.
const WORDS: [&str; 2] = ["words", "bigrams"];

/// The texts that a tokenizer splits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenizerUse {
    Documents,
    Queries,
}

/// Reads a `#Tokenizer{ … }`.
pub(super) fn read(value: &Value, what: &str, of_what: TokenizerUse) -> Result<Tokenizer, Error> {
    let known = [&[CLASS][..], &OPTIONS].concat();
    read_options(&DefinitionOptions::new(value, what, &known)?, of_what)
}

/// Reads a tokenizer; the options may include others.
pub(super) fn read_options(
    options: &DefinitionOptions<'_>,
    of_what: TokenizerUse,
) -> Result<Tokenizer, Error> {
    let mut tokenizer = changed(options, of_what)?;
    if let Some(pattern) = options.pattern("removes")? {
        tokenizer = tokenizer.removes(pattern);
    }
    if let Some(text) = options.text("splits")?.filter(|text| !WORDS.contains(text)) {
        tokenizer = tokenizer.splits(if text.starts_with('/') && text.len() > 1 {
            let refused = |error| options.engine_error("splits", &error);
            Splitter::Pattern(Pattern::parse(text).map_err(refused)?)
        } else if text.is_empty() {
            return Err(invalid(format!(
                "`splits` of {} is empty; write a text or a /pattern/",
                options.owner()
            )));
        } else {
            Splitter::Literal(text.to_owned())
        });
    }
    if let Some(length) = options.count("rejects", 0, MOST)? {
        tokenizer = tokenizer.rejects(Rejection::ShorterThan(length as usize));
    }
    if let Some(most) = options.count("maxWords", 1, MOST)? {
        tokenizer = tokenizer.max_words(most as usize);
    }
    if let Some(language) = options.choice("stems", &STEMMERS)? {
        tokenizer = tokenizer.stems(language);
    }
    Ok(tokenizer)
}

/// The default tokenizer of queries: that of the index without removing and splitting, since
/// queries have markers that documents do not have.
pub(super) fn for_queries(options: &DefinitionOptions<'_>) -> Result<Tokenizer, Error> {
    changed(options, TokenizerUse::Queries)
}

/// The tokenizer of a language, if one is named, with the options that change texts and words.
fn changed(options: &DefinitionOptions<'_>, of_what: TokenizerUse) -> Result<Tokenizer, Error> {
    let mut tokenizer = match options.text("language")? {
        None => Tokenizer::new(),
        Some(name) => {
            let Some(language) = Language::named(name) else {
                let hint = name_hint(name, Language::names(), "there are none");
                let what = options.owner();
                return Err(invalid(format!("`language` of {what} is not known: {name}; {hint}")));
            };
            match of_what {
                TokenizerUse::Documents => language.indexing(),
                TokenizerUse::Queries => language.searching(),
            }
        }
    };
    if options.text("splits")?.is_some_and(|text| WORDS.contains(&text)) {
        tokenizer = tokenizer.splits(match of_what {
            TokenizerUse::Documents => Splitter::Words,
            TokenizerUse::Queries => Splitter::QueryWords,
        });
    }
    let substitutions = [
        ("west european", Substitution::WestEuropean),
        ("polish", Substitution::Polish),
        ("accents", Substitution::Accents),
        ("german", Substitution::German),
        ("russian", Substitution::Russian),
        ("widths", Substitution::Widths),
    ];
    if let Some(substitution) = options.choice("substitutes", &substitutions)? {
        tokenizer = tokenizer.substitutes(substitution);
    }
    if let Some(pattern) = options.pattern("stopwords")? {
        tokenizer = tokenizer.stopwords(pattern);
    }
    if options.get("normalizes").is_some() {
        tokenizer = tokenizer.normalizes(normalizes(options)?);
    }
    Ok(tokenizer.case_sensitive(options.flag("caseSensitive")?.unwrap_or(false)))
}

/// Reads `#{ '/\$(\w+)/': '\1 dollars' }`, or a list of pairs.
fn normalizes(options: &DefinitionOptions<'_>) -> Result<Vec<(Pattern, String)>, Error> {
    let name = "normalizes";
    let wrong = || options.type_error(name, "a dictionary from patterns to texts");
    let pairs: Vec<(&str, &str)> = match options.get(name) {
        Some(Value::Record(fields)) => fields
            .iter()
            .map(|(pattern, text)| Some((pattern.as_str(), text.as_str()?)))
            .collect::<Option<_>>(),
        Some(Value::List(pairs)) => pairs
            .iter()
            .map(|pair| match pair.as_list()? {
                [pattern, text] => Some((pattern.as_str()?, text.as_str()?)),
                _ => None,
            })
            .collect(),
        _ => None,
    }
    .ok_or_else(wrong)?;
    if pairs.len() > MAX_PAIRS {
        let message = format!("`{name}` of {} has more than {MAX_PAIRS} pairs", options.owner());
        return Err(invalid(message));
    }
    let refused = |error| options.engine_error(name, &error);
    pairs
        .into_iter()
        .map(|(pattern, text)| Ok((Pattern::parse(pattern).map_err(refused)?, text.to_owned())))
        .collect()
}
