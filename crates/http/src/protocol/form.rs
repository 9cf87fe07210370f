//! `application/x-www-form-urlencoded`: queries and forms (URL standard, section 5.1).

use crate::protocol::multipart::{self, FormPart};
use bytes::Bytes;
use runnel_store::{Error, Kind, Result, Value};
use runnel_text::form;

/// The largest URL-encoded form, in bytes. Longer ones reach a handler as `newValue` alone.
pub(crate) const LARGEST_FORM: u64 = 1024 * 1024;
/// The largest `multipart/form-data` body that is read into memory, in bytes.
pub(crate) const LARGEST_MULTIPART: u64 = 8 * 1024 * 1024;
/// The most fields of a URL-encoded form.
const MOST_FIELDS: usize = 4096;

/// The size limit of a form of this media type, in bytes; `None` for other types.
pub(crate) fn size_limit(media_type: &str) -> Option<u64> {
    if is_form(media_type) {
        return Some(LARGEST_FORM);
    }
    multipart::boundary(media_type).map(|_| LARGEST_MULTIPART)
}

/// All fields of a form.
pub(crate) fn fields(body: &Bytes, media_type: &str) -> Result<Vec<FormPart>> {
    if let Some(boundary) = multipart::boundary(media_type) {
        return multipart::parse(body, &boundary?);
    }
    let mut pairs = form::fields(body).map(|(name, value)| FormPart {
        name: name.into_owned(),
        value: Value::Text(value.into_owned()),
    });
    let fields = pairs.by_ref().take(MOST_FIELDS).collect();
    match pairs.next() {
        None => Ok(fields),
        Some(_) => {
            let message = format!("a form has at most {MOST_FIELDS} fields");
            Err(Error::new(Kind::TooLarge, message))
        }
    }
}

/// All fields as a record; a repeated name has a list.
pub(crate) fn record(fields: Vec<FormPart>) -> Value {
    let mut record: Vec<(String, Value)> = Vec::with_capacity(fields.len());
    let mut places = std::collections::HashMap::new();
    for FormPart { name, value } in fields {
        match places.get(&name) {
            None => {
                places.insert(name.clone(), record.len());
                record.push((name, value));
            }
            Some(&place) => {
                let Some((_, there)) = record.get_mut(place) else { continue };
                match there {
                    Value::List(values) => values.push(value),
                    only => *only = Value::List(vec![std::mem::replace(only, Value::Nil), value]),
                }
            }
        }
    }
    Value::Record(record)
}

/// Whether a media type is that of a form.
pub(crate) fn is_form(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}
