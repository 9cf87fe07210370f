//! Definitions: the literals of a program, `#SearchIndex{ … }`, read into configurations.
//!
//! A literal of a class is a record: its field [`CLASS`] names the class, the others are its
//! options in their order.

mod category;
mod options;
mod searching;
mod tokenizer;

use crate::collection::CollectionDefinition;
use crate::collection::id::KeyFormat;
use crate::index::attributes::{Attribute, AttributeType};
use crate::index::search_index::{Fidelity, IndexConfig};
use crate::limits::MAX_CATEGORIES;
pub use options::CLASS;

use options::{DefinitionOptions, invalid};
use runnel_store::{Error, Value};
use std::path::PathBuf;
use tokenizer::TokenizerUse;

/// The default field of the identifier of a record.
const KEY: &str = "id";

/// Longest name of an index, in bytes: the name is a part of paths.
const MAX_NAME_BYTES: usize = 128;

/// The definition of an index in a program: the collection, and the keys of its records.
#[derive(Clone, Debug)]
pub struct SearchDefinition {
    /// The name in programs and answers.
    pub name: String,
    /// The field with the identifier of a record.
    pub key: String,
    /// The format of identifiers.
    pub key_format: KeyFormat,
    /// The collection.
    pub collection: CollectionDefinition,
}

/// The options of an index besides those of its tokenizer and search.
const OWN: [&str; 13] = [
    CLASS,
    "name",
    "identifier",
    "path",
    "key",
    "keyFormat",
    "stored",
    "fixed",
    "original",
    "tokenizer",
    "searching",
    "categories",
    "attributes",
];

impl SearchDefinition {
    /// Reads a definition. Records that are not options are categories.
    ///
    /// # Errors
    /// [`runnel_store::Kind::Invalid`] for a missing, unknown or wrong option, with its name.
    pub fn read(value: &Value) -> Result<SearchDefinition, Error> {
        let what = "a SearchIndex";
        let known: Vec<&str> = [&OWN[..], &tokenizer::OPTIONS, &searching::OPTIONS].concat();
        let Value::Record(fields) = value else {
            return Err(invalid(format!("{what} needs a literal with its options")));
        };
        let (members, own): (Vec<_>, Vec<_>) = fields
            .iter()
            .cloned()
            .partition(|(name, value)| !known.contains(&name.as_str()) && category::is_one(value));
        let own = Value::Record(own);
        let options = DefinitionOptions::new(&own, what, &known)?;
        let name = read_name(&options)?;
        let what = format!("the index {name}");
        let options = options.with_owner(&what);
        let mut index = IndexConfig::new(&name);
        if let Some(identifier) = options.text("identifier")? {
            index = index.identifier(identifier);
        }
        let key_format = read_key_format(&options)?;
        index = index.key_format(key_format).tokenizer(match options.record("tokenizer")? {
            Some(value) => tokenizer::read(
                value,
                &format!("the tokenizer of {what}"),
                TokenizerUse::Documents,
            )?,
            None => tokenizer::read_options(&options, TokenizerUse::Documents)?,
        });
        let fidelity = match options.flag("original")? {
            Some(true) => Fidelity::Original,
            _ => Fidelity::Corrected,
        };
        index = index.phrases(searching::phrases(&options)?);
        index = index.fidelity(fidelity).fixed(options.flag("fixed")?.unwrap_or(false));
        let more = options.record("categories")?.and_then(Value::as_record).unwrap_or_default();
        let more = more.iter().filter(|(name, _)| name != CLASS);
        for (number, (name, value)) in members.iter().chain(more).enumerate() {
            if number >= MAX_CATEGORIES {
                return Err(invalid(format!("{what} has more than {MAX_CATEGORIES} categories")));
            }
            for category in category::read(name, value, &what)? {
                index = index.category(category);
            }
        }
        for attribute in read_attributes(&options, &what)? {
            index = index.attribute(attribute);
        }
        let search = searching::read_options(&options)?.fidelity(fidelity);
        let search = match options.record("searching")? {
            Some(value) => search.tokenizer(tokenizer::read(
                value,
                &format!("`searching` of {what}"),
                TokenizerUse::Queries,
            )?),
            None => search.tokenizer(tokenizer::for_queries(&options)?),
        };
        let folder = match options.get("path") {
            Some(Value::Bool(false)) => None,
            _ => options.text("path")?.map(PathBuf::from),
        };
        if folder.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err(invalid(format!("`path` of {what} is empty; name a folder")));
        }
        let stored = options.flag("stored")?.unwrap_or(true);
        let key = options.text("key")?.unwrap_or(KEY).to_owned();
        let collection =
            CollectionDefinition { search, stored, folder, ..CollectionDefinition::new(index) };
        Ok(SearchDefinition { name, key, key_format, collection })
    }
}

/// The definition of a search over several indexes.
#[derive(Clone, Debug)]
pub struct SearchesDefinition {
    /// The name in programs, if it has one.
    pub name: Option<String>,
    /// The configuration of the search.
    pub search: crate::SearchConfig,
}

impl SearchesDefinition {
    /// Reads the definition of a search over several indexes.
    ///
    /// # Errors
    /// [`runnel_store::Kind::Invalid`] for a missing, unknown or wrong option, with its name.
    pub fn read(value: &Value) -> Result<SearchesDefinition, Error> {
        let own = [CLASS, "name", "searching", "original"];
        let known: Vec<&str> = [&own[..], &searching::OPTIONS, &tokenizer::OPTIONS].concat();
        let options = DefinitionOptions::new(value, "a Search", &known)?;
        let name = match options.text("name")? {
            Some(_) => Some(read_name(&options)?),
            None => None,
        };
        let mut search = searching::read_options(&options)?;
        if options.flag("original")? == Some(true) {
            search = search.fidelity(Fidelity::Original);
        }
        search = search.tokenizer(match options.record("searching")? {
            Some(value) => {
                tokenizer::read(value, "`searching` of a Search", TokenizerUse::Queries)?
            }
            None => tokenizer::read_options(&options, TokenizerUse::Queries)?,
        });
        Ok(SearchesDefinition { name, search })
    }
}

/// Reads the name, which is a part of paths and of the scheme `search:`.
fn read_name(options: &DefinitionOptions<'_>) -> Result<String, Error> {
    let Some(name) = options.text("name")? else {
        return Err(invalid(format!("{} needs its `name`, such as 'books'", options.owner())));
    };
    let odd = |character: char| character == '/' || character == '?' || character.is_control();
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(odd) {
        return Err(invalid(format!(
            "`name` of {} must be a short text without slashes and question marks",
            options.owner()
        )));
    }
    Ok(name.to_owned())
}

fn read_key_format(options: &DefinitionOptions<'_>) -> Result<KeyFormat, Error> {
    options
        .choice("keyFormat", &[("integer", KeyFormat::Integer), ("text", KeyFormat::Text)])
        .map(Option::unwrap_or_default)
}

/// `attributes: #{ year: 'integer', price: #Attribute{ type: 'float', from: 'cost' } }`
fn read_attributes(options: &DefinitionOptions<'_>, what: &str) -> Result<Vec<Attribute>, Error> {
    let Some(record) = options.record("attributes")? else { return Ok(Vec::new()) };
    let fields = record.as_record().unwrap_or_default().iter();
    fields
        .filter(|(name, _)| name != CLASS)
        .map(|(name, value)| {
            let wrong = || {
                invalid(format!(
                    "the type of the attribute {name} of {what} must be 'integer', 'float', \
                     'text', 'boolean' or 'date'"
                ))
            };
            let kind = |text: Option<&str>| text.and_then(AttributeType::named).ok_or_else(wrong);
            if !matches!(value, Value::Record(_)) {
                return Ok(Attribute::new(name, kind(value.as_str())?));
            }
            let what = format!("the attribute {name}");
            let options = DefinitionOptions::new(value, &what, &[CLASS, "type", "from"])?;
            let attribute = Attribute::new(name, kind(options.text("type")?)?);
            Ok(match options.text("from")? {
                Some(field) => attribute.from(field),
                None => attribute,
            })
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(json: &str) -> Value {
        runnel_store::json::parse(json.as_bytes()).unwrap()
    }

    fn read(json: &str) -> Result<SearchDefinition, String> {
        SearchDefinition::read(&record(json)).map_err(|error| error.message)
    }

    #[test]
    fn what_a_literal_says_is_read() {
        let definition = read(
            r##"{"#":"SearchIndex","name":"books","path":"data/books","key":"isbn",
            "keyFormat":"text","removes":"/[^a-z ]/i","stopwords":"the","splits":"/ /",
            "title":{"#":"Category","qualifiers":["t"],"partial":{"#":"Substring","from":1},
                "similarity":{"#":"DoubleMetaphone"},"weight":2,"exactFirst":true},
            "where":{"#":"Place","km":2},"x":{"#":"Near","range":1.5},
            "categories":{"name":{"from":"title"}},
            "attributes":{"year":"integer","price":{"type":"float","from":"cost"}},
            "boosts":{"title author":3,"title":0.5},"maxAllocations":9,"terminateEarly":true,
            "ignore":["x",["title","x"]],"only":["title","title name"],"typos":2,
            "ignoreUnassigned":true,"searching":{"#":"Tokenizer","substitutes":"polish"}}"##,
        )
        .unwrap();
        assert_eq!((definition.name.as_str(), definition.key.as_str()), ("books", "isbn"));
        assert_eq!(definition.key_format, KeyFormat::Text);
        let text = format!("{:?}", definition.collection);
        for part in ["\"title\"", "\"lat\"", "\"lng\"", "Constant", "DoubleMetaphone(3)"] {
            assert_eq!(text.contains(part), part != "Constant", "{part} in {text}");
        }
    }

    #[test]
    fn what_is_wrong_has_its_name_and_a_way_on() {
        let message = |json| read(json).unwrap_err();
        assert!(message("{}").contains("needs its `name`"));
        assert!(message("3").contains("literal"));
        let typo = message(r#"{"name":"b","stopword":"x"}"#);
        assert!(typo.contains("no option `stopword`; did you mean stopwords?"), "{typo}");
        let wrong = message(r#"{"name":"b","maxWords":"x"}"#);
        assert_eq!(wrong, "`maxWords` of the index b must be a whole number, not text");
        let wrong = message(r##"{"name":"b","title":{"partial":{"#":"Substrin"}}}"##);
        assert!(wrong.contains("`partial` of the category title of the index b"), "{wrong}");
        let wrong = message(r#"{"name":"b","title":{"qualifer":["t"]}}"#);
        assert!(wrong.contains("did you mean qualifier"), "{wrong}");
        let wrong = message(r#"{"name":"b","title":{},"removes":"/(/"}"#);
        assert!(wrong.contains("`removes` of the index b"), "{wrong}");
        let wrong = message(r#"{"name":"b","attributes":{"year":"int"}}"#);
        assert!(wrong.contains("the attribute year"), "{wrong}");
        assert!(message(r#"{"name":"a/b","title":{}}"#).contains("without slashes"));
    }

    #[test]
    fn a_search_over_several_has_the_options_of_a_search() {
        let search = record(r#"{"name":"all","boosts":{"title":1}}"#);
        let search = SearchesDefinition::read(&search).unwrap();
        assert_eq!(search.name.as_deref(), Some("all"));
        let error = SearchesDefinition::read(&record(r#"{"boost":{}}"#)).unwrap_err();
        assert!(error.message.contains("did you mean boosts?"), "{}", error.message);
    }
}
