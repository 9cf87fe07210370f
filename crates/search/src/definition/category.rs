//! Categories: `#Category{ … }`, `#Near{ … }` and `#Place{ … }`.

use super::options::{CLASS, DefinitionOptions, engine_number, invalid, same_name};
use super::tokenizer;
use crate::index::category::Category;
use crate::index::grid::Grid;
use crate::index::partial::Partial;
use crate::index::similarity::Similarity;
use crate::index::weight::Weight;
use crate::limits::MAX_GRID_PRECISION;
use crate::text::tokenizer::{Splitter, Tokenizer};
use runnel_store::{Error, Value};

const CATEGORY: [&str; 10] = [
    CLASS,
    "from",
    "qualifier",
    "qualifiers",
    "partial",
    "similarity",
    "weight",
    "tokenizer",
    "tokenize",
    "exactFirst",
];

const NEAR: [&str; 8] =
    [CLASS, "from", "qualifier", "qualifiers", "weight", "range", "precision", "anchor"];

const PLACE: [&str; 5] = [CLASS, "latitude", "longitude", "km", "precision"];

/// The default number of similar words of each code.
const SIMILAR: usize = 3;

/// Most similar words of a code.
const MAX_SIMILAR: i64 = 1_000;

/// Longest part of a word.
const LENGTHS: i64 = 1_000;

/// The separator of a field that is not tokenized: a character that no text has.
const NO_SEPARATOR: &str = "\u{0}";

/// Whether a value can define a category: a dictionary, or a literal of one of the three classes.
pub(super) fn is_one(value: &Value) -> bool {
    matches!(value, Value::Record(_))
}

/// The category of a member of an index; a `#Place` has two.
pub(super) fn read(name: &str, value: &Value, index: &str) -> Result<Vec<Category>, Error> {
    let what = format!("the category {name} of {index}");
    let class = value.get(CLASS).and_then(Value::as_str).unwrap_or("Category");
    match class {
        "Category" | "SearchCategory" => plain(name, value, &what).map(|category| vec![category]),
        "Near" => near(name, value, &what).map(|category| vec![category]),
        "Place" => place(value, &what),
        other => {
            Err(invalid(format!("{what} must be a Category, a Near or a Place, not a {other}")))
        }
    }
}

fn plain(name: &str, value: &Value, what: &str) -> Result<Category, Error> {
    let options = DefinitionOptions::new(value, what, &CATEGORY)?;
    let mut category = named(Category::new(name), &options)?;
    if let Some(partial) = partial(&options)? {
        category = category.partial(partial);
    }
    if let Some(similarity) = similarity(&options)? {
        category = category.similarity(similarity);
    }
    if options.flag("tokenize")? == Some(false) {
        let whole = Splitter::Literal(NO_SEPARATOR.into());
        category = category.tokenizer(Tokenizer::new().splits(whole).case_sensitive(true));
    } else if let Some(value) = options.record("tokenizer")? {
        category = category.tokenizer(tokenizer::read(
            value,
            &format!("the tokenizer of {what}"),
            tokenizer::TokenizerUse::Documents,
        )?);
    }
    Ok(category.exact_first(options.flag("exactFirst")?.unwrap_or(false)))
}

/// Sets the options that all categories share.
fn named(mut category: Category, options: &DefinitionOptions<'_>) -> Result<Category, Error> {
    if let Some(field) = options.text("from")? {
        category = category.from(field);
    }
    let qualifiers = match options.texts("qualifiers")? {
        Some(qualifiers) => Some(qualifiers),
        None => options.texts("qualifier")?,
    };
    if let Some(qualifiers) = qualifiers {
        category = category.qualifiers(qualifiers);
    }
    if let Some(weight) = weight(options)? {
        category = category.weight(weight);
    }
    Ok(category)
}

fn near(name: &str, value: &Value, what: &str) -> Result<Category, Error> {
    let options = DefinitionOptions::new(value, what, &NEAR)?;
    let range = positive(&options, "range")?;
    let anchor = options.number("anchor")?.unwrap_or(0.0);
    named(Category::near(name, Grid::new(range, precision(&options)?, anchor)), &options)
}

fn place(value: &Value, what: &str) -> Result<Vec<Category>, Error> {
    let options = DefinitionOptions::new(value, what, &PLACE)?;
    let latitude = options.text("latitude")?.unwrap_or("lat");
    let longitude = options.text("longitude")?.unwrap_or("lng");
    let km = positive(&options, "km")?;
    Ok(Category::place(latitude, longitude, km, precision(&options)?).into())
}

fn positive(options: &DefinitionOptions<'_>, name: &str) -> Result<f64, Error> {
    match options.number(name)? {
        Some(number) if number > 0.0 => Ok(number),
        _ => Err(invalid(format!("`{name}` of {} must be a number above 0", options.owner()))),
    }
}

fn precision(options: &DefinitionOptions<'_>) -> Result<u32, Error> {
    let precision = options.count("precision", 1, i64::from(MAX_GRID_PRECISION))?;
    Ok(precision.map_or(1, |precision| precision as u32))
}

/// The class and the options of an option that is a literal of a class, or names one.
fn class_of<'a>(
    options: &DefinitionOptions<'a>,
    name: &str,
) -> Option<(String, Option<&'a Value>)> {
    match options.get(name)? {
        Value::Bool(false) => Some(("None".into(), None)),
        Value::Text(text) => Some((text.clone(), None)),
        value @ Value::Record(_) => {
            let class = value.get(CLASS).and_then(Value::as_str).unwrap_or_default();
            Some((class.to_owned(), Some(value)))
        }
        other => Some((other.kind_name().to_owned(), None)),
    }
}

fn partial(options: &DefinitionOptions<'_>) -> Result<Option<Partial>, Error> {
    let name = "partial";
    let Some((class, value)) = class_of(options, name) else { return Ok(None) };
    let what = format!("`{name}` of {}", options.owner());
    let nothing = Value::Nil;
    let value = value.unwrap_or(&nothing);
    let length = |options: &DefinitionOptions<'_>, name: &str, usual: i32| -> Result<i32, Error> {
        let length = options.count(name, -LENGTHS, LENGTHS)?;
        Ok(length.map_or(usual, |length| length as i32))
    };
    if same_name(&class, "Substring") {
        let own = DefinitionOptions::new(value, &what, &[CLASS, "from", "to"])?;
        return Ok(Some(Partial::substring(length(&own, "from", 1)?, length(&own, "to", -1)?)));
    }
    if same_name(&class, "Postfix") {
        let own = DefinitionOptions::new(value, &what, &[CLASS, "from"])?;
        return Ok(Some(Partial::postfix(length(&own, "from", -3)?)));
    }
    if same_name(&class, "Infix") {
        let own = DefinitionOptions::new(value, &what, &[CLASS, "min", "max"])?;
        let (min, max) = (length(&own, "min", 1)?, length(&own, "max", -1)?);
        return Ok(Some(Partial::Infix { min, max }));
    }
    if same_name(&class, "None") {
        return Ok(Some(Partial::None));
    }
    Err(invalid(format!("{what} must be a Substring, a Postfix, an Infix or false, not {class}")))
}

fn similarity(options: &DefinitionOptions<'_>) -> Result<Option<Similarity>, Error> {
    let name = "similarity";
    let Some((class, value)) = class_of(options, name) else { return Ok(None) };
    let what = format!("`{name}` of {}", options.owner());
    let nothing = Value::Nil;
    let own = DefinitionOptions::new(value.unwrap_or(&nothing), &what, &[CLASS, "amount"])?;
    let amount = own.count("amount", 1, MAX_SIMILAR)?.map_or(SIMILAR, |amount| amount as usize);
    let kinds = [
        ("DoubleMetaphone", Similarity::DoubleMetaphone(amount)),
        ("Metaphone", Similarity::Metaphone(amount)),
        ("Soundex", Similarity::Soundex(amount)),
        ("None", Similarity::None),
    ];
    let found = kinds.into_iter().find(|(known, _)| same_name(known, &class));
    found.map(|(_, similarity)| Some(similarity)).ok_or_else(|| {
        invalid(format!(
            "{what} must be a DoubleMetaphone, a Metaphone, a Soundex or false, not {class}"
        ))
    })
}

/// Reads a weight: a number is added to the logarithm, a literal names the kind.
fn weight(options: &DefinitionOptions<'_>) -> Result<Option<Weight>, Error> {
    let name = "weight";
    let Some(value) = options.get(name) else { return Ok(None) };
    if let Some(number) = engine_number(value) {
        return Ok(Some(Weight::Logarithmic(number)));
    }
    let (class, _) = class_of(options, name).unwrap_or_default();
    let what = format!("`{name}` of {}", options.owner());
    let own = DefinitionOptions::new(value, &what, &[CLASS, "constant"])?;
    let constant = match own.get("constant") {
        None => crate::Score::integer(0),
        Some(value) => {
            engine_number(value).ok_or_else(|| own.type_error("constant", "a number"))?
        }
    };
    if same_name(&class, "Logarithmic") {
        return Ok(Some(Weight::Logarithmic(constant)));
    }
    if same_name(&class, "Constant") {
        return Ok(Some(Weight::Constant(constant)));
    }
    Err(invalid(format!("{what} must be a number, a Logarithmic or a Constant, not {class}")))
}
