//! Lifecycle rules: what expires, and when.
//!
//! Source: Amazon S3 user guide, "Lifecycle configuration elements". Transitions to other storage
//! classes are refused, because there is one class.

mod rule;
pub(crate) mod version;

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, XmlWriter};
use rule::LifecycleRule;
use std::time::SystemTime;

use version::LifecycleVersion;

/// Rules of one bucket.
const RULES: usize = 1000;

/// The rules of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifecycle {
    rules: Vec<LifecycleRule>,
}

impl Lifecycle {
    /// Reads the body of PutBucketLifecycleConfiguration.
    pub(crate) fn parse(document: &[u8]) -> S3Result<Lifecycle> {
        let root = xml::read(document)?;
        let rules: S3Result<Vec<LifecycleRule>> = root.all("Rule").map(LifecycleRule::of).collect();
        let rules = rules?;
        if &*root.name != "LifecycleConfiguration" || rules.is_empty() || rules.len() > RULES {
            return Err(FaultCode::MalformedXML.into());
        }
        for (at, rule) in rules.iter().enumerate() {
            if rule.id.is_some() && rules[..at].iter().any(|other| other.id == rule.id) {
                let words = "Rule ID must be unique. Found same ID for more than one rule";
                return Err(S3Fault::new(FaultCode::InvalidArgument).because(words));
            }
        }
        Ok(Lifecycle { rules })
    }

    /// The answer of GetBucketLifecycleConfiguration.
    pub(crate) fn to_xml(&self) -> String {
        XmlWriter::document("LifecycleConfiguration", |xml| {
            for rule in &self.rules {
                xml.element("Rule", |xml| rule.write(xml));
            }
        })
    }

    /// Whether a version expires: a current one is deleted as a client would, any other is removed.
    pub(crate) fn expires(&self, version: &LifecycleVersion<'_>, now: SystemTime) -> bool {
        self.rules.iter().any(|rule| rule.expires(version, now))
    }

    /// Whether an upload in parts that began then is aborted.
    pub(crate) fn aborts(&self, key: &str, initiated: SystemTime, now: SystemTime) -> bool {
        self.rules.iter().any(|rule| rule.aborts(key, initiated, now))
    }

    /// What all keys of the rules begin with.
    pub(crate) fn common_prefix(&self) -> &str {
        let mut prefixes = self.rules.iter().map(LifecycleRule::prefix);
        let first = prefixes.next().unwrap_or_default();
        prefixes.fold(first, |common, prefix| {
            let same = common.char_indices().zip(prefix.chars());
            let differs = same.clone().find(|((_, left), right)| left != right);
            let length = differs.map_or(common.len().min(prefix.len()), |((at, _), _)| at);
            &common[..length]
        })
    }

    /// When a current version expires first, and its rule, for `x-amz-expiration`.
    pub(crate) fn expiry_of(&self, version: &LifecycleVersion<'_>) -> Option<(SystemTime, &str)> {
        let expiries = self.rules.iter().filter_map(|rule| {
            Some((rule.expiry_of(version)?, rule.id.as_deref().unwrap_or_default()))
        });
        expiries.min_by_key(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::version::VersionState;
    use super::*;
    use crate::server::bucket::tagging::Tagging;
    use std::time::{Duration, UNIX_EPOCH};

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn rules(inner: &str) -> S3Result<Lifecycle> {
        let text = format!("<LifecycleConfiguration>{inner}</LifecycleConfiguration>");
        Lifecycle::parse(text.as_bytes())
    }

    fn rule(inner: &str) -> String {
        format!("<Rule><Status>Enabled</Status>{inner}</Rule>")
    }

    fn day(days: u32) -> SystemTime {
        UNIX_EPOCH + DAY * days
    }

    fn expires(inner: &str, state: VersionState, age_in_days: u32) -> bool {
        let tags = Tagging { tags: vec![("a".into(), "b".into())] };
        let modified = day(1000) + Duration::from_secs(60);
        let version = LifecycleVersion { key: "logs/x", size: 100, tags: &tags, modified, state };
        rules(&rule(inner)).unwrap().expires(&version, day(1000) + DAY * age_in_days)
    }

    #[test]
    fn rules_are_read_and_written() {
        let lifecycle = rules(
            "<Rule><ID>a</ID><Status>Disabled</Status><Filter><And><Prefix>p</Prefix><Tag><Key>k</Key>\
             <Value>v</Value></Tag><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></And></Filter>\
             <Expiration><Days>3</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>1\
             </NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions>\
             </NoncurrentVersionExpiration></Rule><Rule><Prefix>old/</Prefix><Status>Enabled</Status>\
             <Expiration><Date>2027-01-01T00:00:00Z</Date></Expiration>\
             <AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>\
             </AbortIncompleteMultipartUpload></Rule>",
        );
        let lifecycle = lifecycle.unwrap();
        assert_eq!(Lifecycle::parse(lifecycle.to_xml().as_bytes()).unwrap(), lifecycle);
        assert_eq!(lifecycle.common_prefix(), "");
        let alike = ["logs/äb", "logs/äc", "logs/ä"].map(|prefix| {
            rule(&format!("<Prefix>{prefix}</Prefix><Expiration><Days>1</Days></Expiration>"))
        });
        assert_eq!(rules(&alike.concat()).unwrap().common_prefix(), "logs/ä");
        assert!(lifecycle.aborts("old/x", day(10), day(18)));
        assert!(!lifecycle.aborts("old/x", day(10), day(17)));
        assert!(!lifecycle.aborts("new/x", day(10), day(18)));
    }

    #[test]
    fn current_versions_expire() {
        let three_days = "<Filter/><Expiration><Days>3</Days></Expiration>";
        // Put a minute after midnight, it expires at the first midnight after three days.
        assert!(!expires(three_days, VersionState::Current, 3));
        assert!(expires(three_days, VersionState::Current, 4));
        for (filter, fits) in [
            ("<Prefix>logs/</Prefix>", true),
            ("<Prefix>x</Prefix>", false),
            ("<Tag><Key>a</Key><Value>b</Value></Tag>", true),
            ("<Tag><Key>a</Key><Value>c</Value></Tag>", false),
            ("<ObjectSizeGreaterThan>99</ObjectSizeGreaterThan>", true),
            ("<ObjectSizeLessThan>100</ObjectSizeLessThan>", false),
        ] {
            let inner = three_days.replace("<Filter/>", &format!("<Filter>{filter}</Filter>"));
            assert_eq!(expires(&inner, VersionState::Current, 4), fits, "{filter}");
        }
        let disabled = rules(&rule(three_days).replace("Enabled", "Disabled")).unwrap();
        let tags = Tagging::default();
        let version = LifecycleVersion {
            key: "x",
            size: 1,
            tags: &tags,
            modified: day(1),
            state: VersionState::Current,
        };
        assert!(!disabled.expires(&version, day(100)));
        let enabled = rules(&rule(three_days)).unwrap();
        assert_eq!(enabled.expiry_of(&version), Some((day(4), "")));
    }

    #[test]
    fn noncurrent_versions_and_markers_expire() {
        let noncurrent = |newer| VersionState::Noncurrent { since: day(1000), newer };
        let days = "<NoncurrentVersionExpiration><NoncurrentDays>2</NoncurrentDays>\
                    <NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>";
        assert!(!expires(days, noncurrent(1), 1));
        assert!(!expires(days, noncurrent(0), 5));
        assert!(expires(days, noncurrent(1), 2));
        assert!(!expires(days, VersionState::Current, 9));
        let marker =
            "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>";
        assert!(expires(marker, VersionState::DeleteMarker { alone: true }, 0));
        assert!(!expires(marker, VersionState::DeleteMarker { alone: false }, 0));
        let days = "<Expiration><Days>1</Days></Expiration>";
        assert!(expires(days, VersionState::DeleteMarker { alone: true }, 2));
        assert!(!expires(days, VersionState::DeleteMarker { alone: false }, 2));
    }

    #[test]
    fn invalid_rules_are_refused() {
        let days = |days: &str| format!("<Expiration><Days>{days}</Days></Expiration>");
        for (inner, code) in [
            (String::new(), FaultCode::MalformedXML),
            (
                "<Rule><Status>on</Status><Expiration><Days>1</Days></Expiration></Rule>".into(),
                FaultCode::MalformedXML,
            ),
            (rule("<Filter/>"), FaultCode::InvalidRequest),
            (rule(&days("0")), FaultCode::InvalidArgument),
            (rule(&days("x")), FaultCode::MalformedXML),
            (rule("<Expiration/>"), FaultCode::MalformedXML),
            (
                rule("<Expiration><Date>2027-01-01T01:00:00Z</Date></Expiration>"),
                FaultCode::InvalidArgument,
            ),
            (rule("<Transition><Days>1</Days></Transition>"), FaultCode::NotImplemented),
            (
                rule(&format!(
                    "<Filter><Prefix>a</Prefix></Filter><Prefix>a</Prefix>{}",
                    days("1")
                )),
                FaultCode::MalformedXML,
            ),
            (rule(&format!("<ID>a</ID>{}", days("1"))).repeat(2), FaultCode::InvalidArgument),
            (
                rule(&format!("<ID>{}</ID>{}", "a".repeat(256), days("1"))),
                FaultCode::InvalidArgument,
            ),
        ] {
            assert_eq!(rules(&inner).unwrap_err().code, code, "{inner}");
        }
    }
}
