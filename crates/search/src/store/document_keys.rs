//! Conversion between paths, records and identifiers.

use crate::collection::id::{Id, KeyFormat};
use crate::definition::SearchDefinition;
use runnel_store::{Error, Kind, Result, Value};

/// Longest identifier, in bytes.
const MAX_KEY_BYTES: usize = 1_024;

/// The keys of the documents of an index.
pub(crate) struct DocumentKeys {
    index: String,
    field: String,
    format: KeyFormat,
}

impl DocumentKeys {
    pub(crate) fn new(definition: &SearchDefinition) -> DocumentKeys {
        DocumentKeys {
            index: definition.name.clone(),
            field: definition.key.clone(),
            format: definition.key_format,
        }
    }

    /// The name of the index.
    pub(crate) fn index(&self) -> &str {
        &self.index
    }

    /// The field of records with the identifier.
    pub(crate) fn field(&self) -> &str {
        &self.field
    }

    /// The identifier of a path; `None` if it cannot be one.
    pub(crate) fn id_of_path(&self, path: &str) -> Option<Id> {
        let path = path.trim_end_matches('/');
        match self.format {
            KeyFormat::Integer => path.parse().ok().map(Id::Integer),
            KeyFormat::Text if path.is_empty() || path.len() > MAX_KEY_BYTES => None,
            KeyFormat::Text => Some(Id::from(path)),
        }
    }

    /// The error of a path that cannot be an identifier.
    pub(crate) fn invalid_path_error(&self, path: &str) -> Error {
        let shown: String = path.chars().take(80).collect();
        let message = match self.format {
            KeyFormat::Integer => format!(
                "`{shown}` is no identifier: documents of the index {} have whole numbers, \
                 unless its `keyFormat` is 'text'",
                self.index
            ),
            KeyFormat::Text => format!("an identifier has 1 to {MAX_KEY_BYTES} bytes"),
        };
        Error::new(Kind::Invalid, message)
    }

    /// The identifier of a key of a record. With integer identifiers, texts of digits are accepted,
    /// also with white space around them.
    pub(crate) fn id_of_value(&self, value: &Value) -> Result<Id> {
        let id = match (self.format, value) {
            (KeyFormat::Integer, Value::Int(number)) => Some(Id::Integer(*number)),
            (KeyFormat::Integer, Value::Float(number))
                if number.fract() == 0.0 && number.abs() < 9.0e15 =>
            {
                Some(Id::Integer(*number as i64))
            }
            (KeyFormat::Integer, Value::Text(text)) => self.id_of_path(text.trim()),
            (KeyFormat::Text, Value::Text(text)) => self.id_of_path(text),
            (KeyFormat::Text, Value::Int(number)) => Some(Id::from(number.to_string())),
            _ => None,
        };
        id.ok_or_else(|| match value {
            Value::Nil => self.missing_key_error(),
            Value::Text(text) => self.invalid_path_error(text),
            other => self.invalid_path_error(other.kind_name()),
        })
    }

    /// The error of a record without a key.
    pub(crate) fn missing_key_error(&self) -> Error {
        let (field, index) = (&self.field, &self.index);
        let message = format!(
            "the record has no `{field}`, which identifies documents of the index {index}; \
             add it, or name another field as its `key`"
        );
        Error::new(Kind::Invalid, message)
    }

    /// The identifier of a record.
    pub(crate) fn id_of_record(&self, record: &Value) -> Result<Id> {
        match record.get(&self.field) {
            Some(value) => self.id_of_value(value),
            None => Err(self.missing_key_error()),
        }
    }

    /// Checks that a record put under an identifier has no other key.
    pub(crate) fn check_key(&self, record: &Value, id: &Id) -> Result<()> {
        match record.get(&self.field) {
            None | Some(Value::Nil) => Ok(()),
            Some(value) if self.id_of_value(value).is_ok_and(|own| own == *id) => Ok(()),
            Some(_) => Err(Error::new(
                Kind::Invalid,
                format!("the record's `{}` is not {id}, which it is put under", self.field),
            )),
        }
    }
}
