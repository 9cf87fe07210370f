//! Merging into records that are kept as JSON text.

use runnel_store::{Body, Content, Form, Result, Value, json};

/// The content as fields to be set, if it is a record or JSON text of one, and otherwise as the
/// text that replaces the value.
pub(crate) enum MergePatch {
    Fields(Vec<(String, Value)>),
    Whole(bytes::Bytes),
}

impl MergePatch {
    /// Reads content of at most `limit` bytes.
    pub(crate) async fn read(content: Content, limit: usize) -> Result<MergePatch> {
        let value = match content.body {
            Body::Value(value) => value,
            Body::Lazy(lazy) => lazy.value().await?,
            _ => {
                let bytes = content.read(limit).await?;
                return Ok(match json::parse(&bytes) {
                    Ok(Value::Record(fields)) => MergePatch::Fields(fields),
                    _ => MergePatch::Whole(bytes),
                });
            }
        };
        Ok(match value {
            Value::Record(fields) => MergePatch::Fields(fields),
            other => MergePatch::Whole(other.encode(Form::Text).into()),
        })
    }

    /// The value after the merge into a text.
    pub(crate) fn applied_to(&self, before: &[u8]) -> bytes::Bytes {
        let fields = match self {
            MergePatch::Whole(text) => return text.clone(),
            MergePatch::Fields(fields) => fields,
        };
        let mut record = match json::parse(before) {
            Ok(record @ Value::Record(_)) => record,
            _ => Value::Record(Vec::new()),
        };
        for (name, value) in fields {
            record.set(name.as_str(), value.clone());
        }
        record.encode(Form::Text).into()
    }
}
