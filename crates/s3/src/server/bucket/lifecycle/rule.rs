//! One rule of a lifecycle: a filter and what it does.

use super::version::{LifecycleVersion, VersionState};
use crate::server::bucket::tagging::{TagOwner, Tagging};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{Element, XmlWriter};
use runnel_text::moment::{parse_iso8601, rfc3339};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest name of a rule, in characters.
const ID_LENGTH: usize = 255;

/// The longest period, in days: what S3 can write in a date.
const DAYS: u32 = 2_147_483;

/// Versions that a rule can spare.
const NEWER_VERSIONS: u32 = 100;

const DAY: u64 = 24 * 60 * 60;

/// A rule, which acts where its filter fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LifecycleRule {
    pub(super) id: Option<String>,
    is_enabled: bool,
    filter: LifecycleFilter,
    /// Whether the filter is the element `Prefix` of the rule, as older clients send it.
    has_plain_prefix: bool,
    expiration: Option<Expiration>,
    noncurrent: Option<NoncurrentExpiration>,
    abort_uploads_after: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LifecycleFilter {
    prefix: Option<String>,
    tags: Tagging,
    larger_than: Option<u64>,
    smaller_than: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiration {
    Days(u32),
    /// Midnight of a day.
    Date(SystemTime),
    /// Of delete markers that are alone.
    Marker(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoncurrentExpiration {
    days: u32,
    newer: Option<u32>,
}

impl LifecycleRule {
    pub(super) fn of(element: &Element) -> S3Result<LifecycleRule> {
        if element.child("Transition").or(element.child("NoncurrentVersionTransition")).is_some() {
            let words = "Transitions to other storage classes are not implemented.";
            return Err(S3Fault::new(FaultCode::NotImplemented).because(words));
        }
        let id = element.text_of("ID").map(str::to_string).filter(|id| !id.is_empty());
        if id.as_ref().is_some_and(|id| id.chars().count() > ID_LENGTH) {
            return Err(invalid("ID length should not exceed allowed limit of 255"));
        }
        let is_enabled = match element.text_of("Status") {
            Some("Enabled") => true,
            Some("Disabled") => false,
            _ => return Err(FaultCode::MalformedXML.into()),
        };
        let (filter, has_plain_prefix) = match (element.child("Filter"), element.child("Prefix")) {
            (Some(_), Some(_)) => return Err(FaultCode::MalformedXML.into()),
            (Some(filter), None) => (LifecycleFilter::of(filter)?, false),
            (None, Some(prefix)) => (
                LifecycleFilter { prefix: Some(prefix.text.clone()), ..LifecycleFilter::default() },
                true,
            ),
            (None, None) => (LifecycleFilter::default(), false),
        };
        let upload = element.child("AbortIncompleteMultipartUpload");
        let rule = LifecycleRule {
            id,
            is_enabled,
            filter,
            has_plain_prefix,
            expiration: element.child("Expiration").map(Expiration::of).transpose()?,
            noncurrent: element
                .child("NoncurrentVersionExpiration")
                .map(NoncurrentExpiration::of)
                .transpose()?,
            abort_uploads_after: upload.map(|of| days(of, "DaysAfterInitiation")).transpose()?,
        };
        if rule.expiration.is_none()
            && rule.noncurrent.is_none()
            && rule.abort_uploads_after.is_none()
        {
            let words = "At least one action needs to be specified in a rule";
            return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
        }
        Ok(rule)
    }

    pub(super) fn write(&self, xml: &mut XmlWriter) {
        xml.optional("ID", self.id.as_deref());
        if self.has_plain_prefix {
            xml.optional("Prefix", self.filter.prefix.as_deref());
        } else {
            xml.element("Filter", |xml| self.filter.write(xml));
        }
        xml.text("Status", if self.is_enabled { "Enabled" } else { "Disabled" });
        if let Some(expiration) = self.expiration {
            xml.element("Expiration", |xml| match expiration {
                Expiration::Days(days) => xml.value("Days", days),
                Expiration::Date(date) => xml.text("Date", &text_of(date)),
                Expiration::Marker(expires) => xml.value("ExpiredObjectDeleteMarker", expires),
            });
        }
        if let Some(noncurrent) = self.noncurrent {
            xml.element("NoncurrentVersionExpiration", |xml| {
                xml.value("NoncurrentDays", noncurrent.days);
                if let Some(newer) = noncurrent.newer {
                    xml.value("NewerNoncurrentVersions", newer);
                }
            });
        }
        if let Some(days) = self.abort_uploads_after {
            xml.element("AbortIncompleteMultipartUpload", |xml| {
                xml.value("DaysAfterInitiation", days);
            });
        }
    }

    pub(super) fn expires(&self, version: &LifecycleVersion<'_>, now: SystemTime) -> bool {
        if !self.is_enabled || !self.filter.fits(version) {
            return false;
        }
        match version.state {
            VersionState::Current => self.expiry_of(version).is_some_and(|expiry| expiry <= now),
            VersionState::DeleteMarker { alone: false } => false,
            VersionState::DeleteMarker { alone: true } => match self.expiration {
                Some(Expiration::Days(days)) => midnight_after(version.modified, days) <= now,
                Some(Expiration::Marker(expires)) => expires,
                _ => false,
            },
            VersionState::Noncurrent { since, newer } => self.noncurrent.is_some_and(|rule| {
                let spared = rule.newer.map_or(0, |count| count as usize);
                newer >= spared && midnight_after(since, rule.days) <= now
            }),
        }
    }

    pub(super) fn expiry_of(&self, version: &LifecycleVersion<'_>) -> Option<SystemTime> {
        if !self.is_enabled || !self.filter.fits(version) {
            return None;
        }
        match self.expiration? {
            Expiration::Days(days) => Some(midnight_after(version.modified, days)),
            Expiration::Date(date) => Some(date),
            Expiration::Marker(_) => None,
        }
    }

    pub(super) fn prefix(&self) -> &str {
        self.filter.prefix.as_deref().unwrap_or_default()
    }

    pub(super) fn aborts(&self, key: &str, initiated: SystemTime, now: SystemTime) -> bool {
        // Uploads have no tags and no length yet: such filters fit none.
        let filter = &self.filter;
        let is_plain = filter.tags.tags.is_empty()
            && filter.larger_than.is_none()
            && filter.smaller_than.is_none();
        let fits = is_plain && key.starts_with(filter.prefix.as_deref().unwrap_or_default());
        let ends = self.abort_uploads_after.map(|days| midnight_after(initiated, days));
        // The last second of the period is still within it.
        self.is_enabled && fits && ends.is_some_and(|end| end < now)
    }
}

impl LifecycleFilter {
    /// The element `Filter`: one condition, or several in `And`.
    fn of(element: &Element) -> S3Result<LifecycleFilter> {
        let inner = element.child("And").unwrap_or(element);
        if element.children.len() > 1 {
            return Err(FaultCode::MalformedXML.into());
        }
        let size = |name| {
            let text = inner.text_of(name).map(|text| text.trim().parse::<u64>());
            text.transpose().map_err(|_| S3Fault::new(FaultCode::MalformedXML))
        };
        Ok(LifecycleFilter {
            prefix: inner.text_of("Prefix").map(str::to_string),
            tags: Tagging::from_set(inner, TagOwner::Object)?,
            larger_than: size("ObjectSizeGreaterThan")?,
            smaller_than: size("ObjectSizeLessThan")?,
        })
    }

    fn write(&self, xml: &mut XmlWriter) {
        let conditions = usize::from(self.prefix.is_some())
            + self.tags.tags.len()
            + usize::from(self.larger_than.is_some())
            + usize::from(self.smaller_than.is_some());
        let inner = |xml: &mut XmlWriter| {
            xml.optional("Prefix", self.prefix.as_deref());
            for (key, value) in &self.tags.tags {
                xml.element("Tag", |xml| {
                    xml.text("Key", key);
                    xml.text("Value", value);
                });
            }
            for (name, size) in [
                ("ObjectSizeGreaterThan", self.larger_than),
                ("ObjectSizeLessThan", self.smaller_than),
            ] {
                xml.optional(name, size.map(|size| size.to_string()).as_deref());
            }
        };
        match conditions {
            0 | 1 => inner(xml),
            _ => xml.element("And", inner),
        }
    }

    fn fits(&self, version: &LifecycleVersion<'_>) -> bool {
        let has = |(key, value): &(String, String)| version.tags.get(key) == Some(value);
        version.key.starts_with(self.prefix.as_deref().unwrap_or_default())
            && self.tags.tags.iter().all(has)
            && self.larger_than.is_none_or(|size| version.size > size)
            && self.smaller_than.is_none_or(|size| version.size < size)
    }
}

impl Expiration {
    fn of(element: &Element) -> S3Result<Expiration> {
        if element.children.len() != 1 {
            return Err(FaultCode::MalformedXML.into());
        }
        if element.child("Days").is_some() {
            return days(element, "Days").map(Expiration::Days);
        }
        if let Some(date) = element.text_of("Date") {
            let micros = parse_iso8601(date.trim()).and_then(|micros| u64::try_from(micros).ok());
            let micros = micros.ok_or(FaultCode::MalformedXML)?;
            if !micros.is_multiple_of(DAY * 1_000_000) {
                return Err(invalid("'Date' must be at midnight GMT"));
            }
            return Ok(Expiration::Date(UNIX_EPOCH + Duration::from_micros(micros)));
        }
        match element.text_of("ExpiredObjectDeleteMarker") {
            Some("true") => Ok(Expiration::Marker(true)),
            Some("false") => Ok(Expiration::Marker(false)),
            _ => Err(FaultCode::MalformedXML.into()),
        }
    }
}

impl NoncurrentExpiration {
    fn of(element: &Element) -> S3Result<NoncurrentExpiration> {
        let newer = element.text_of("NewerNoncurrentVersions").map(|text| text.trim().parse());
        let newer = newer.transpose().map_err(|_| FaultCode::MalformedXML)?;
        if newer.is_some_and(|newer| newer == 0 || newer > NEWER_VERSIONS) {
            return Err(invalid("'NewerNoncurrentVersions' must be between 1 and 100"));
        }
        Ok(NoncurrentExpiration { days: days(element, "NoncurrentDays")?, newer })
    }
}

fn days(element: &Element, name: &'static str) -> S3Result<u32> {
    let text = element.text_of(name).ok_or(FaultCode::MalformedXML)?;
    let days: i64 = text.trim().parse().map_err(|_| FaultCode::MalformedXML)?;
    match u32::try_from(days) {
        Ok(days @ 1..=DAYS) => Ok(days),
        _ => Err(invalid("'Days' must be a positive integer")),
    }
}

fn invalid(words: &'static str) -> S3Fault {
    S3Fault::new(FaultCode::InvalidArgument).because(words)
}

fn text_of(time: SystemTime) -> String {
    let micros = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    rfc3339(i64::try_from(micros).unwrap_or(i64::MAX))
}

/// The first midnight, in UTC, at least `days` days after a time.
fn midnight_after(time: SystemTime, days: u32) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let whole = since.as_secs() + u64::from(since.subsec_nanos() > 0);
    UNIX_EPOCH + Duration::from_secs((whole.div_ceil(DAY) + u64::from(days)) * DAY)
}
