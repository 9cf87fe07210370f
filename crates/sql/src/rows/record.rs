//! Content that is to become rows, as plain data.

use runnel_store::{Answer, COLLECT_LIMIT, Content, Form, Value, json};

/// The plain data of content: JSON text is parsed where the content says that it is JSON.
pub(crate) fn to_value(content: Content) -> Answer<Value> {
    let media_type = content.media_type.as_deref();
    let is_json = media_type.is_some_and(|media_type| Form::Json.is_media_type(media_type));
    let value = content.into_value(COLLECT_LIMIT);
    value.and_then(move |value| match value {
        Value::Text(text) if is_json => json::parse(text.as_bytes()).into(),
        value => Answer::ok(value),
    })
}
