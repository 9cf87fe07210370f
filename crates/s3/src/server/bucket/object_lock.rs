//! Object lock of a bucket: whether versions can be protected, and for how long new ones are.

use super::retention::{Retention, RetentionMode};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, XmlWriter};
use std::time::{Duration, SystemTime};

/// The longest default, in days and in years.
const DAYS: i64 = 36_500;
const YEARS: i64 = 100;

/// One day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The configuration of a bucket with object lock, which is never turned off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectLockConfiguration {
    /// The retention of objects that are put without one.
    pub(crate) default: Option<DefaultRetention>,
}

/// A mode and a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DefaultRetention {
    mode: RetentionMode,
    period: RetentionPeriod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetentionPeriod {
    Days(u32),
    Years(u32),
}

impl ObjectLockConfiguration {
    /// Reads the body of PutObjectLockConfiguration.
    pub(crate) fn parse(document: &[u8]) -> S3Result<ObjectLockConfiguration> {
        if document.is_empty() {
            return Err(FaultCode::MissingRequestBodyError.into());
        }
        let root = xml::read(document)?;
        let is_enabled = root.text_of("ObjectLockEnabled") == Some("Enabled");
        if &*root.name != "ObjectLockConfiguration" || !is_enabled {
            return Err(FaultCode::MalformedXML.into());
        }
        let default = root.child("Rule").and_then(|rule| rule.child("DefaultRetention"));
        let Some(default) = default else {
            return Ok(ObjectLockConfiguration::default());
        };
        let mode = default.text_of("Mode").and_then(RetentionMode::from_name);
        let number = |name| default.text_of(name).map(|text| text.trim().parse::<i64>());
        let period = match (number("Days"), number("Years")) {
            (Some(Ok(days)), None) => RetentionPeriod::Days(positive("Days", days, DAYS)?),
            (None, Some(Ok(years))) => RetentionPeriod::Years(positive("Years", years, YEARS)?),
            _ => return Err(FaultCode::MalformedXML.into()),
        };
        let mode = mode.ok_or(FaultCode::MalformedXML)?;
        Ok(ObjectLockConfiguration { default: Some(DefaultRetention { mode, period }) })
    }

    /// The answer of GetObjectLockConfiguration.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("ObjectLockConfiguration", |xml| {
            xml.text("ObjectLockEnabled", "Enabled");
            let Some(default) = self.default else { return };
            xml.element("Rule", |xml| {
                xml.element("DefaultRetention", |xml| {
                    xml.text("Mode", default.mode.name());
                    match default.period {
                        RetentionPeriod::Days(days) => xml.value("Days", days),
                        RetentionPeriod::Years(years) => xml.value("Years", years),
                    }
                });
            });
        })
    }

    /// The retention of an object that is put now and names none.
    pub(crate) fn retention_from(&self, now: SystemTime) -> Option<Retention> {
        let default = self.default?;
        let days = match default.period {
            RetentionPeriod::Days(days) => days,
            RetentionPeriod::Years(years) => years * 365,
        };
        Some(Retention { mode: default.mode, until: now.checked_add(DAY * days)? })
    }
}

fn positive(name: &'static str, number: i64, most: i64) -> S3Result<u32> {
    let invalid = |words: &'static str| {
        S3Fault::new(FaultCode::InvalidArgument)
            .because(words)
            .with("ArgumentName", name)
            .with("ArgumentValue", number.to_string())
    };
    match u32::try_from(number) {
        Ok(0) | Err(_) if number <= 0 => {
            Err(invalid("Default retention period must be a positive integer value."))
        }
        Ok(count) if number <= most => Ok(count),
        _ => Err(invalid("Default retention period too large.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(retention: &str) -> String {
        format!(
            "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>\
             <DefaultRetention>{retention}</DefaultRetention></Rule></ObjectLockConfiguration>"
        )
    }

    #[test]
    fn configurations_are_read_and_written() {
        let text = document("<Mode>COMPLIANCE</Mode><Days>20</Days>");
        let lock = ObjectLockConfiguration::parse(text.as_bytes()).unwrap();
        assert_eq!(ObjectLockConfiguration::parse(lock.to_xml().as_bytes()).unwrap(), lock);
        let start = SystemTime::UNIX_EPOCH;
        let retention = lock.retention_from(start).unwrap();
        assert_eq!(retention.until, start + DAY * 20);
        assert_eq!(retention.mode, RetentionMode::Compliance);
        let bare = ObjectLockConfiguration::default();
        assert_eq!(ObjectLockConfiguration::parse(bare.to_xml().as_bytes()).unwrap(), bare);
        assert!(bare.retention_from(start).is_none());
    }

    #[test]
    fn invalid_periods_are_refused() {
        let code = |inner: &str| {
            let parsed = ObjectLockConfiguration::parse(document(inner).as_bytes());
            parsed.unwrap_err().code
        };
        let mode = "<Mode>GOVERNANCE</Mode>";
        for (period, expected) in [
            ("<Days>-3</Days>", FaultCode::InvalidArgument),
            ("<Days>0</Days>", FaultCode::InvalidArgument),
            ("<Days>36501</Days>", FaultCode::InvalidArgument),
            ("<Years>101</Years>", FaultCode::InvalidArgument),
            ("<Years>1</Years><Days>1</Days>", FaultCode::MalformedXML),
            ("<Days>x</Days>", FaultCode::MalformedXML),
            ("", FaultCode::MalformedXML),
        ] {
            assert_eq!(code(&format!("{mode}{period}")), expected, "{period}");
        }
        assert_eq!(code("<Mode>x</Mode><Days>1</Days>"), FaultCode::MalformedXML);
        let empty = ObjectLockConfiguration::parse(b"").unwrap_err();
        assert_eq!(empty.code, FaultCode::MissingRequestBodyError);
    }
}
