//! Conditions of writes as headers (Amazon S3 user guide, "Conditional writes").

use http::HeaderMap;
use http::header::{self, HeaderValue};
use runnel_store::{Condition, EntityTag, Error, Kind, Result};

/// The state of a key, as a HEAD request found it.
pub(crate) enum KeyState {
    Nothing,
    /// Something, with its tag as it stands in the header.
    Object(Option<HeaderValue>),
    /// The server does not tell us.
    Unknown,
}

/// Checks a condition against what was found, and makes the headers with which the server checks
/// it once more, as one step with the write.
pub(crate) fn headers(only_if: Option<&Condition>, there: &KeyState) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let Some(condition) = only_if else { return Ok(headers) };
    let own = match there {
        KeyState::Object(own) => own.as_ref(),
        KeyState::Nothing | KeyState::Unknown => None,
    };
    match there {
        KeyState::Nothing => condition.check(None)?,
        KeyState::Object(_) => condition.check(Some(own.and_then(tag).as_ref()))?,
        KeyState::Unknown => {}
    }
    match condition {
        Condition::Absent => {
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        // S3 compares tags only: what was found stands for anything that is there.
        Condition::Present => match own {
            Some(own) => drop(headers.insert(header::IF_MATCH, own.clone())),
            None => {
                let message = "only who may read the object can write under this condition";
                return Err(Error::new(Kind::Denied, message));
            }
        },
        Condition::Tag(wanted) => {
            let value = crate::client::body::range::unless_known(wanted)
                .ok_or_else(|| condition.failed())?;
            headers.insert(header::IF_MATCH, value);
        }
    }
    Ok(headers)
}

/// The tag of a header.
fn tag(value: &HeaderValue) -> Option<EntityTag> {
    let text = value.to_str().ok()?.trim();
    let (weak, text) = match text.strip_prefix("W/") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    Some(EntityTag { text: text.into(), weak })
}
