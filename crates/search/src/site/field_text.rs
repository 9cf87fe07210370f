//! The values of fields as text.

use runnel_store::{Value, json};

/// A value as people read it; nothing for what has nothing to read.
pub(crate) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::Nil => return None,
        Value::Text(text) => text.clone(),
        Value::List(elements) => {
            let parts: Vec<String> = elements.iter().filter_map(plain).collect();
            parts.join(", ")
        }
        Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
            String::from_utf8_lossy(&json::text(value)).into_owned()
        }
        Value::Bytes(_) | Value::Record(_) => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
