//! The options of a search, over one index or several.

use super::options::{CLASS, DefinitionOptions, engine_number, invalid, texts_of};
use crate::answer::highlight::Markers;
use crate::query::preferences::Boost;
use crate::query::synonyms::Synonyms;
use crate::search::SearchConfig;
use runnel_store::{Error, Value};

/// The options of a search.
pub(super) const OPTIONS: [&str; 11] = [
    "boosts",
    "maxAllocations",
    "terminateEarly",
    "ignore",
    "only",
    "ignoreUnassigned",
    "typos",
    "exclusion",
    "phrases",
    "synonyms",
    "marks",
];

/// Most boosts, and most lists of `ignore` and `only`.
const MAX_LISTS: usize = 1_024;

/// The largest count of an option.
const MOST: i64 = 1_000_000;

/// Most typos per word.
const MAX_TYPOS: i64 = 4;

/// The default markers of excluded words, with a language.
const EXCLUSIONS: &str = "-!";

/// Most markers of excluded words.
const MAX_EXCLUSIONS: usize = 4;

/// Reads a search, without its tokenizer; the options may include others.
pub(super) fn read_options(options: &DefinitionOptions<'_>) -> Result<SearchConfig, Error> {
    let mut search = SearchConfig::new();
    for (categories, by) in boosts(options)? {
        search = search.boost(Boost::new(categories, by));
    }
    if let Some(most) = options.count("maxAllocations", 1, MOST)? {
        search = search.max_allocations(most as usize);
    }
    match options.get("terminateEarly") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => search = search.terminate_early(0),
        Some(_) => {
            let extra = options.count("terminateEarly", 0, MOST)?.unwrap_or_default();
            search = search.terminate_early(extra as usize);
        }
    }
    for list in lists(options, "ignore")? {
        search = match list {
            CategoryList::One(category) => search.ignore(category),
            CategoryList::Several(categories) => search.ignore_list(categories),
        };
    }
    for list in lists(options, "only")? {
        search = match list {
            CategoryList::One(category) => search.only([category]),
            CategoryList::Several(categories) => search.only(categories),
        };
    }
    search = search.ignore_unassigned(options.flag("ignoreUnassigned")?.unwrap_or(false));
    search = search.typos(options.count("typos", 0, MAX_TYPOS)?.unwrap_or_default() as usize);
    let natural = options.get("language").map_or("", |_| EXCLUSIONS);
    let exclusions = options.text("exclusion")?.unwrap_or(natural);
    let usable = |letter: char| letter.is_ascii_punctuation() && !"\"*~:|,".contains(letter);
    if exclusions.len() > MAX_EXCLUSIONS || !exclusions.chars().all(usable) {
        return Err(options.type_error("exclusion", "one or a few punctuation marks such as '-!'"));
    }
    for marker in exclusions.chars() {
        search = search.exclusion(marker);
    }
    if let Some([before, after]) = options.texts("marks")?.as_deref() {
        let markers = Markers { before: before.clone(), after: after.clone(), html: true };
        search = search.mark_with(markers);
    } else if options.get("marks").is_some() {
        return Err(options.type_error("marks", "two texts such as [ '<b>', '</b>' ]"));
    }
    Ok(search.phrases(phrases(options)?).synonyms(synonyms(options)?))
}

/// Whether quotes make phrases; with a language they do by default.
pub(super) fn phrases(options: &DefinitionOptions<'_>) -> Result<bool, Error> {
    Ok(options.flag("phrases")?.unwrap_or(options.get("language").is_some()))
}

/// Reads `[ [ 'tv', 'television' ], #{ 'nyc': [ 'new york' ] } ]`: lists of texts that all find
/// each other, and dictionaries from a text to the texts that it finds. A dictionary can stand
/// alone.
fn synonyms(options: &DefinitionOptions<'_>) -> Result<Synonyms, Error> {
    let name = "synonyms";
    let wrong =
        || options.type_error(name, "a list of lists of texts, or a dictionary to such lists");
    let elements = match options.get(name) {
        None => return Ok(Synonyms::new()),
        Some(Value::List(elements)) => elements.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut synonyms = Synonyms::new();
    for element in elements {
        match element {
            Value::Record(fields) => {
                for (text, finds) in fields.iter().filter(|(text, _)| text != CLASS) {
                    synonyms = synonyms.one_way(text, texts_of(finds).ok_or_else(wrong)?);
                }
            }
            Value::List(_) => synonyms = synonyms.set(texts_of(element).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        }
    }
    Ok(synonyms)
}

/// Reads `#{ 'title author': 3 }`: category names separated by spaces, and their boosts.
fn boosts(options: &DefinitionOptions<'_>) -> Result<Vec<(Vec<String>, crate::Score)>, Error> {
    let name = "boosts";
    let Some(record) = options.record(name)? else { return Ok(Vec::new()) };
    let fields = record.as_record().unwrap_or_default();
    bounded(options, name, fields.len())?;
    fields
        .iter()
        .filter(|(categories, _)| categories != CLASS)
        .map(|(categories, by)| {
            let by = engine_number(by).ok_or_else(|| {
                let what = options.owner();
                invalid(format!("the boost of '{categories}' of {what} must be a number"))
            })?;
            Ok((words(categories), by))
        })
        .collect()
}

enum CategoryList {
    One(String),
    Several(Vec<String>),
}

/// Reads categories and lists of them: `'year'`, `[ 'year', 'title author', [ 'title', 'year' ] ]`.
fn lists(options: &DefinitionOptions<'_>, name: &str) -> Result<Vec<CategoryList>, Error> {
    let wrong = || options.type_error(name, "a list of categories, and of lists of them");
    let elements = match options.get(name) {
        None => return Ok(Vec::new()),
        Some(Value::List(elements)) => elements.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    bounded(options, name, elements.len())?;
    elements
        .iter()
        .map(|element| match element {
            Value::Text(text) => {
                let mut names = words(text);
                match names.len() {
                    0 => Err(wrong()),
                    1 => Ok(CategoryList::One(names.swap_remove(0))),
                    _ => Ok(CategoryList::Several(names)),
                }
            }
            Value::List(names) => names
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<Vec<String>>>()
                .map(CategoryList::Several)
                .ok_or_else(wrong),
            _ => Err(wrong()),
        })
        .collect()
}

fn bounded(options: &DefinitionOptions<'_>, name: &str, length: usize) -> Result<(), Error> {
    if length <= MAX_LISTS {
        return Ok(());
    }
    Err(invalid(format!("`{name}` of {} has more than {MAX_LISTS} lists", options.owner())))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
