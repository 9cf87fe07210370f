//! Conditions of requests on the state of objects: RFC 9110 section 13, with the priorities of S3.

use crate::server::call::{S3Call, not_implemented};
use crate::server::catalog::object_lookup::Found;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use runnel_text::moment::parse_rfc3339;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The conditions of a read, or of the source of a copy.
#[derive(Debug, Default)]
pub(crate) struct ReadConditions {
    matches: Option<String>,
    differs: Option<String>,
    modified: Option<SystemTime>,
    unmodified: Option<SystemTime>,
}

impl ReadConditions {
    /// Those of the header fields with a prefix: none, or `x-amz-copy-source-`.
    pub(crate) fn of(call: &S3Call, prefix: &str) -> Self {
        let text = |name: &str| call.header(&format!("{prefix}{name}"));
        let tag = |name: &str| text(name).map(|tag| unquoted(tag).to_string());
        let date = |name: &str| text(name).and_then(past_date);
        ReadConditions {
            matches: tag("if-match"),
            differs: tag("if-none-match"),
            modified: date("if-modified-since"),
            unmodified: date("if-unmodified-since"),
        }
    }

    /// Checks them against an object. Tags decide before dates.
    ///
    /// # Errors
    /// [`FaultCode::PreconditionFailed`] and [`FaultCode::NotModified`].
    pub(crate) fn check(&self, etag: &str, modified: SystemTime) -> S3Result<()> {
        let modified = whole_seconds(modified);
        let is_same = |tag: &String| tag == "*" || tag == etag;
        if let Some(tag) = &self.matches
            && !is_same(tag)
        {
            return Err(failed("If-Match"));
        }
        if self.matches.is_none() && self.unmodified.is_some_and(|since| modified > since) {
            return Err(failed("If-Unmodified-Since"));
        }
        match &self.differs {
            Some(tag) if is_same(tag) => Err(FaultCode::NotModified.into()),
            Some(_) => Ok(()),
            None if self.modified.is_some_and(|since| modified <= since) => {
                Err(FaultCode::NotModified.into())
            }
            None => Ok(()),
        }
    }
}

/// The conditions of a write: of a put, or of the completion of an upload.
pub(crate) struct WriteConditions {
    matches: Option<String>,
    is_absent: bool,
}

impl WriteConditions {
    /// Those of the header fields.
    ///
    /// # Errors
    /// [`FaultCode::NotImplemented`] for those that S3 does not know.
    pub(crate) fn of(call: &S3Call) -> S3Result<Option<Self>> {
        let matches = call.header("if-match").map(|tag| unquoted(tag).to_string());
        let differs = call.header("if-none-match").map(unquoted);
        match (&matches, differs) {
            (None, None) => return Ok(None),
            (_, Some(tag)) if tag != "*" => {
                let words = "We don\\'t accept the provided value of If-None-Match header for this \
                             API";
                return Err(not_implemented("If-None-Match", words));
            }
            (Some(_), Some(_)) => {
                let words = "Multiple conditional request headers present in the request";
                return Err(not_implemented("If-Match,If-None-Match", words));
            }
            _ => {}
        }
        Ok(Some(WriteConditions { matches, is_absent: differs.is_some() }))
    }

    /// Checks them against the current object.
    ///
    /// # Errors
    /// [`FaultCode::PreconditionFailed`]; [`FaultCode::NoSuchKey`] where there is nothing to match.
    pub(crate) fn check(&self, present: Option<&Found>) -> S3Result<()> {
        if self.is_absent && present.is_some() {
            return Err(failed("If-None-Match"));
        }
        let Some(tag) = &self.matches else { return Ok(()) };
        match present {
            None => Err(FaultCode::NoSuchKey.into()),
            Some(found) if *tag != found.info.etag => Err(failed("If-Match")),
            Some(_) => Ok(()),
        }
    }
}

/// The conditions of a deletion.
#[derive(Debug, Default)]
pub(crate) struct DeleteConditions {
    pub(crate) matches: Option<String>,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) size: Option<u64>,
}

impl DeleteConditions {
    /// Those of the header fields.
    pub(crate) fn of(call: &S3Call) -> Self {
        let date = |name: &str| call.header(name).and_then(read_date);
        DeleteConditions {
            matches: call.header("if-match").map(|tag| unquoted(tag).to_string()),
            modified: date("x-amz-if-match-last-modified-time"),
            size: call.header("x-amz-if-match-size").and_then(|size| size.parse().ok()),
        }
    }

    /// Checks them against an object; without one there is nothing to check.
    ///
    /// # Errors
    /// [`FaultCode::PreconditionFailed`].
    pub(crate) fn check(&self, present: Option<&Found>) -> S3Result<()> {
        let Some(found) = present else { return Ok(()) };
        let info = &found.info;
        if self.matches.as_ref().is_some_and(|tag| tag != "*" && *tag != info.etag) {
            return Err(failed("If-Match"));
        }
        let modified = whole_seconds(info.modified);
        if self.modified.is_some_and(|time| whole_seconds(time) != modified) {
            return Err(failed("If-Match-Last-Mod-Time"));
        }
        if self.size.is_some_and(|size| size != info.length) {
            return Err(failed("If-Match-Size"));
        }
        Ok(())
    }
}

/// The fault of a condition that does not hold.
pub(crate) fn failed(condition: &str) -> S3Fault {
    S3Fault::new(FaultCode::PreconditionFailed).with("Condition", condition)
}

/// A tag without its quotes.
pub(crate) fn unquoted(tag: &str) -> &str {
    tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag)
}

/// A date of HTTP or of RFC 3339.
pub(crate) fn read_date(text: &str) -> Option<SystemTime> {
    if let Ok(date) = httpdate::parse_http_date(text) {
        return Some(date);
    }
    let micros = u64::try_from(parse_rfc3339(text)?).ok()?;
    Some(UNIX_EPOCH + Duration::from_micros(micros))
}

/// A date that is not in the future: RFC 9110 section 13.1.3 ignores others.
pub(crate) fn past_date(text: &str) -> Option<SystemTime> {
    read_date(text).filter(|date| *date <= SystemTime::now())
}

/// A time as header fields carry it.
fn whole_seconds(time: SystemTime) -> SystemTime {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    UNIX_EPOCH + Duration::from_secs(seconds)
}
