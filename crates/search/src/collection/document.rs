//! A document: the unit of indexing.

use crate::collection::id::Id;

/// The content of one field of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentField {
    /// A text, for the tokenizer.
    Text(String),
    /// Several texts, for the tokenizer.
    Texts(Vec<String>),
    /// Words, indexed as they are.
    Words(Vec<String>),
}

impl From<&str> for DocumentField {
    fn from(text: &str) -> DocumentField {
        DocumentField::Text(text.to_owned())
    }
}

impl From<String> for DocumentField {
    fn from(text: String) -> DocumentField {
        DocumentField::Text(text)
    }
}

impl From<Vec<String>> for DocumentField {
    fn from(words: Vec<String>) -> DocumentField {
        DocumentField::Words(words)
    }
}

/// A document: an identifier and named fields. Categories select the fields that they index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    id: Id,
    fields: Vec<(String, DocumentField)>,
}

impl Document {
    /// A document without fields.
    pub fn new(id: impl Into<Id>) -> Document {
        Document { id: id.into(), fields: Vec::new() }
    }

    /// Adds a field. Of fields with the same name, the first counts.
    pub fn with(mut self, name: impl Into<String>, field: impl Into<DocumentField>) -> Document {
        self.fields.push((name.into(), field.into()));
        self
    }

    /// The identifier as delivered.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&DocumentField> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| field)
    }
}
