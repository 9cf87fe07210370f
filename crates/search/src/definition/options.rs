//! Typed access to the options of a literal, and their error messages.

use crate::error::ConfigError;
use crate::format::number::Score;
use crate::text::name_hint::name_hint;
use crate::text::pattern::Pattern;
use runnel_store::{Error, Kind, Value};

/// The field of a record with the name of its class. No option has this name.
pub const CLASS: &str = "#";

/// Most elements of a list of options.
const MAX_LIST: usize = 1_024;

/// An error of a definition.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, message)
}

/// The options of a literal, all of them known.
#[derive(Clone, Copy)]
pub(super) struct DefinitionOptions<'a> {
    fields: &'a [(String, Value)],
    what: &'a str,
}

impl<'a> DefinitionOptions<'a> {
    /// The options of a record; any other value has none.
    pub(super) fn new(
        value: &'a Value,
        what: &'a str,
        known: &[&str],
    ) -> Result<DefinitionOptions<'a>, Error> {
        let fields = value.as_record().unwrap_or_default();
        if let Some((name, _)) = fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            let options = known.iter().copied().filter(|name| *name != CLASS);
            let hint = name_hint(name, options, "it has none");
            return Err(invalid(format!("{what} has no option `{name}`; {hint}")));
        }
        Ok(DefinitionOptions { fields, what })
    }

    /// The same options with another owner in messages.
    pub(super) fn with_owner<'b>(self, what: &'b str) -> DefinitionOptions<'b>
    where
        'a: 'b,
    {
        DefinitionOptions { fields: self.fields, what }
    }

    /// The owner of the options, for messages.
    pub(super) fn owner(&self) -> &str {
        self.what
    }

    /// The value of an option; nil counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value).filter(|value| !value.is_nil())
    }

    /// The error of an option of the wrong type.
    pub(super) fn type_error(&self, name: &str, expected: &str) -> Error {
        let found = self.get(name).map_or("nothing", Value::kind_name);
        invalid(format!("`{name}` of {} must be {expected}, not {found}", self.what))
    }

    /// The error of an option that the engine rejects.
    pub(super) fn engine_error(&self, name: &str, error: &ConfigError) -> Error {
        invalid(format!("`{name}` of {}: {}", self.what, error.message()))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Error> {
        self.get(name)
            .map(|value| value.as_str().ok_or_else(|| self.type_error(name, "a text")))
            .transpose()
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        let read =
            |value: &Value| value.as_bool().ok_or_else(|| self.type_error(name, "true or false"));
        self.get(name).map(read).transpose()
    }

    /// A whole number from `least` to `most`.
    pub(super) fn count(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 9.0e15;
        let Some(number) = value.as_f64().filter(whole) else {
            return Err(self.type_error(name, "a whole number"));
        };
        let number = number as i64;
        if !(least..=most).contains(&number) {
            return Err(invalid(format!(
                "`{name}` of {} must be between {least} and {most} (got {number})",
                self.what
            )));
        }
        Ok(Some(number))
    }

    /// A finite number.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| self.type_error(name, "a number"))
    }

    /// A list of texts; a single text is a list of one.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let texts =
            texts_of(value).ok_or_else(|| self.type_error(name, "a text or a list of texts"))?;
        if texts.len() > MAX_LIST {
            return Err(invalid(format!(
                "`{name}` of {} has more than {MAX_LIST} texts",
                self.what
            )));
        }
        Ok(Some(texts))
    }

    /// A record: a dictionary or a literal of a class.
    pub(super) fn record(&self, name: &str) -> Result<Option<&'a Value>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value @ Value::Record(_)) => Ok(Some(value)),
            Some(_) => Err(self.type_error(name, "a literal or a dictionary")),
        }
    }

    /// One of a few texts.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let chosen = value.as_str().and_then(|text| {
            choices.iter().find(|(known, _)| same_name(known, text)).map(|(_, chosen)| *chosen)
        });
        chosen.map(Some).ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
            invalid(format!("`{name}` of {} must be {}", self.what, names.join(" or ")))
        })
    }

    /// A pattern, written with slashes or as its text.
    pub(super) fn pattern(&self, name: &str) -> Result<Option<Pattern>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        Pattern::parse(text).map(Some).map_err(|error| self.engine_error(name, &error))
    }
}

/// A number of the engine: integers stay integers.
pub(super) fn engine_number(value: &Value) -> Option<Score> {
    match value {
        Value::Int(number) => Some(Score::integer(*number)),
        Value::Float(number) if number.is_finite() => Some(Score::float(*number)),
        _ => None,
    }
}

/// One text, or several.
pub(super) fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(values) => values.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Compares names without case and separators: `west european` is `westEuropean`.
pub(super) fn same_name(one: &str, other: &str) -> bool {
    let letters = |text: &'_ str| -> String {
        text.chars()
            .filter(|letter| letter.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    letters(one) == letters(other)
}
