//! Keys of several columns. A reference names the parts in order, `/a/7`; a statement gets them as one
//! parameter, the JSON array `["a",7]`.

use crate::database::schema::can_be_key;
use runnel_store::{FieldType, Value, decode_segment, encode_segment, json};

/// Whether columns of these types are a key of several parts that references can name.
pub(crate) fn are_parts(kinds: &[FieldType]) -> bool {
    kinds.len() > 1 && kinds.iter().all(|kind| can_be_key(*kind))
}

/// The parts that a path names; `None` where no row can have such a key.
pub(crate) fn of_path(path: &str, kinds: &[FieldType]) -> Option<Vec<Value>> {
    let segments: Vec<&str> = path.split('/').collect();
    if segments.len() != kinds.len() {
        return None;
    }
    let part = |(segment, kind): (&&str, &FieldType)| {
        let text = decode_segment(segment);
        match kind {
            FieldType::Int => integer(&text).map(Value::Int),
            _ => Some(Value::Text(text.into_owned())).filter(is_part),
        }
    };
    segments.iter().zip(kinds).map(part).collect()
}

/// An integer in its usual writing: `007` and `+7` do not name row 7.
pub(crate) fn integer(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

fn is_part(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Text(text) => !text.is_empty() && !text.contains('\0'),
        _ => false,
    }
}

/// The parts as the parameter of a statement.
pub(crate) fn document(parts: Vec<Value>) -> String {
    String::from_utf8(json::text(&Value::List(parts))).unwrap_or_default()
}

/// The path of the row whose parts a statement answers as a JSON array.
pub(crate) fn path(document: &str) -> Option<String> {
    let parsed = json::parse(document.as_bytes()).ok()?;
    let parts = parsed.as_list()?.iter().map(|part| match part {
        part if !is_part(part) => None,
        Value::Int(number) => Some(number.to_string()),
        part => part.as_str().map(|text| encode_segment(text).into_owned()),
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_documents_say_the_same() {
        let kinds = [FieldType::Text, FieldType::Int];
        for (parts, written) in [
            (vec![Value::from("a"), Value::Int(7)], "a/7"),
            (vec![Value::from("a/b"), Value::Int(-1)], "a%2Fb/-1"),
            (
                vec![Value::from("\"50%25\""), Value::Int(i64::MIN)],
                "\"50%2525\"/-9223372036854775808",
            ),
        ] {
            let document = document(parts.clone());
            assert_eq!(path(&document).unwrap(), written);
            assert_eq!(of_path(written, &kinds), Some(parts));
        }
        for wrong in ["", "a", "a/b", "a/07", "a/7/", "/7", "a/7/8", "a\0/7"] {
            assert_eq!(of_path(wrong, &kinds), None, "{wrong}");
        }
    }
}
