//! Protection of one version: a retention until a date, and a legal hold.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, XmlWriter};
use http::HeaderMap;
use runnel_text::moment::{parse_iso8601, rfc3339};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How strict a retention is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetentionMode {
    /// Who has the permission `s3:BypassGovernanceRetention` can override it.
    Governance,
    /// No user can shorten it.
    Compliance,
}

/// A version with a retention is not deleted before a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// How strict it is.
    pub(crate) mode: RetentionMode,
    /// When it ends.
    pub(crate) until: SystemTime,
}

/// The protection of one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectProtection {
    /// Until when it is kept.
    pub(crate) retention: Option<Retention>,
    /// Whether it is kept until the hold is released; `None` where there never was one.
    pub(crate) legal_hold: Option<bool>,
}

impl RetentionMode {
    /// The word of documents and headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RetentionMode::Governance => "GOVERNANCE",
            RetentionMode::Compliance => "COMPLIANCE",
        }
    }

    /// The mode of a word.
    pub(crate) fn from_name(name: &str) -> Option<RetentionMode> {
        match name {
            "GOVERNANCE" => Some(RetentionMode::Governance),
            "COMPLIANCE" => Some(RetentionMode::Compliance),
            _ => None,
        }
    }
}

impl Retention {
    /// Reads the body of PutObjectRetention.
    pub(crate) fn parse(document: &[u8], now: SystemTime) -> S3Result<Retention> {
        let root = xml::read(document)?;
        let date = root.text_of("RetainUntilDate").unwrap_or_default().trim();
        let until = time_of(date).filter(|_| &*root.name == "Retention");
        let until = until.ok_or(FaultCode::MalformedXML)?;
        if until <= now {
            return Err(past(date));
        }
        let mode = root.text_of("Mode").and_then(RetentionMode::from_name);
        Ok(Retention { mode: mode.ok_or(FaultCode::MalformedXML)?, until })
    }

    /// The answer of GetObjectRetention.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("Retention", |xml| {
            xml.text("Mode", self.mode.name());
            xml.text("RetainUntilDate", &self.date());
        })
    }

    /// The date for documents and headers.
    pub(crate) fn date(self) -> String {
        let micros = self.until.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        rfc3339(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// A retention of its words in attributes.
    pub(crate) fn from_words(mode: &str, date: &str) -> Option<Retention> {
        Some(Retention { mode: RetentionMode::from_name(mode)?, until: time_of(date)? })
    }

    /// Whether one may replace this retention: an extension is always allowed, anything else only of
    /// GOVERNANCE, or when it ended.
    pub(crate) fn check_replacement(
        &self,
        new: &Retention,
        bypass: bool,
        now: SystemTime,
    ) -> S3Result<()> {
        let extends = new.mode == self.mode && new.until >= self.until;
        let bypassed = self.mode == RetentionMode::Governance && bypass;
        if extends || bypassed || self.until <= now { Ok(()) } else { Err(locked()) }
    }
}

impl ObjectProtection {
    /// Reads the headers of puts, copies and uploads in parts: `x-amz-object-lock-mode`,
    /// `…-retain-until-date` and `…-legal-hold`.
    pub(crate) fn from_headers(headers: &HeaderMap, now: SystemTime) -> S3Result<ObjectProtection> {
        let value = |name: &'static str| {
            let text = headers.get(name)?.to_str().ok()?;
            Some((name, text)).filter(|(_, text)| !text.is_empty())
        };
        let invalid = |(name, text): (&'static str, &str), words: &'static str| {
            S3Fault::new(FaultCode::InvalidArgument)
                .because(words)
                .with("ArgumentName", name)
                .with("ArgumentValue", text)
        };
        let both =
            "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied.";
        let hold = value("x-amz-object-lock-legal-hold");
        let mode = value("x-amz-object-lock-mode");
        let date = value("x-amz-object-lock-retain-until-date");
        let retention = match (mode, date) {
            (None, None) => None,
            (Some(_), None) => {
                return Err(invalid(("x-amz-object-lock-retain-until-date", ""), both));
            }
            (None, Some(_)) => return Err(invalid(("x-amz-object-lock-mode", ""), both)),
            (Some(mode), Some(date)) => {
                let words = "The retain until date must be provided in ISO 8601 format";
                let until = time_of(date.1).ok_or_else(|| invalid(date, words))?;
                if until <= now {
                    return Err(past(date.1));
                }
                let words = "Unknown wormMode directive.";
                let mode = RetentionMode::from_name(mode.1).ok_or_else(|| invalid(mode, words))?;
                Some(Retention { mode, until })
            }
        };
        let words = "Legal Hold must be either of 'ON' or 'OFF'";
        let legal_hold = match hold {
            None => None,
            Some((_, "ON")) => Some(true),
            Some((_, "OFF")) => Some(false),
            Some(other) => return Err(invalid(other, words)),
        };
        Ok(ObjectProtection { retention, legal_hold })
    }

    /// Whether nothing is protected, and nothing was.
    pub(crate) fn is_none(&self) -> bool {
        self.retention.is_none() && self.legal_hold.is_none()
    }

    /// Refuses to delete or replace a version that is protected. `bypass`: the client asks to override
    /// GOVERNANCE, and may.
    pub(crate) fn check_removal(&self, bypass: bool, now: SystemTime) -> S3Result<()> {
        let holds = match &self.retention {
            Some(retention) if retention.until > now => {
                retention.mode == RetentionMode::Compliance || !bypass
            }
            _ => false,
        };
        if holds || self.legal_hold == Some(true) { Err(locked()) } else { Ok(()) }
    }
}

/// Reads the body of PutObjectLegalHold.
pub(crate) fn parse_legal_hold(document: &[u8]) -> S3Result<bool> {
    let root = xml::read(document)?;
    match root.text_of("Status").filter(|_| &*root.name == "LegalHold") {
        Some("ON") => Ok(true),
        Some("OFF") => Ok(false),
        _ => Err(FaultCode::MalformedXML.into()),
    }
}

/// The answer of GetObjectLegalHold.
pub(crate) fn legal_hold_to_xml(is_held: bool) -> String {
    let status = if is_held { "ON" } else { "OFF" };
    XmlWriter::document("LegalHold", |xml| xml.text("Status", status))
}

/// The fault of an operation that a protection forbids.
fn locked() -> S3Fault {
    let words = "Access Denied because object protected by object lock.";
    S3Fault::new(FaultCode::AccessDenied).because(words)
}

fn past(date: &str) -> S3Fault {
    S3Fault::new(FaultCode::InvalidArgument)
        .because("The retain until date must be in the future!")
        .with("ArgumentName", "x-amz-object-lock-retain-until-date")
        .with("ArgumentValue", date)
}

fn time_of(date: &str) -> Option<SystemTime> {
    let micros = u64::try_from(parse_iso8601(date)?).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn retention(mode: RetentionMode, hours: u32) -> Retention {
        Retention { mode, until: UNIX_EPOCH + HOUR * 400_000 + HOUR * hours }
    }

    fn now() -> SystemTime {
        UNIX_EPOCH + HOUR * 400_000
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let name = |name: &str| format!("x-amz-object-lock-{name}").parse::<http::HeaderName>();
        pairs.iter().map(|(k, v)| (name(k).unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn documents_are_read_and_written() {
        let kept = retention(RetentionMode::Governance, 3);
        assert_eq!(Retention::parse(kept.to_xml().as_bytes(), now()).unwrap(), kept);
        assert_eq!(Retention::from_words(kept.mode.name(), &kept.date()), Some(kept));
        for hold in [true, false] {
            assert_eq!(parse_legal_hold(legal_hold_to_xml(hold).as_bytes()).unwrap(), hold);
        }
        let past = retention(RetentionMode::Governance, 0).to_xml();
        let fault = Retention::parse(past.as_bytes(), now()).unwrap_err();
        assert_eq!(fault.code, FaultCode::InvalidArgument);
        for text in ["<Retention/>", "<LegalHold><Status>on</Status></LegalHold>", "x"] {
            assert!(Retention::parse(text.as_bytes(), now()).is_err());
            assert!(parse_legal_hold(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn headers_are_read() {
        let date = retention(RetentionMode::Compliance, 1).date();
        let pairs =
            [("mode", "COMPLIANCE"), ("retain-until-date", date.as_str()), ("legal-hold", "ON")];
        let protection = ObjectProtection::from_headers(&headers(&pairs), now()).unwrap();
        assert_eq!(protection.retention, Some(retention(RetentionMode::Compliance, 1)));
        assert_eq!(protection.legal_hold, Some(true));
        assert!(ObjectProtection::from_headers(&HeaderMap::new(), now()).unwrap().is_none());
        for pairs in [
            vec![("mode", "COMPLIANCE")],
            vec![("retain-until-date", date.as_str())],
            vec![("mode", "x"), ("retain-until-date", date.as_str())],
            vec![("mode", "COMPLIANCE"), ("retain-until-date", "tomorrow")],
            vec![("mode", "COMPLIANCE"), ("retain-until-date", "2001-01-01T00:00:00Z")],
            vec![("legal-hold", "on")],
        ] {
            let fault = ObjectProtection::from_headers(&headers(&pairs), now()).unwrap_err();
            assert_eq!(fault.code, FaultCode::InvalidArgument, "{pairs:?}");
        }
    }

    #[test]
    fn protected_versions_are_kept() {
        let check = |retention, legal_hold, bypass| {
            ObjectProtection { retention, legal_hold }.check_removal(bypass, now()).is_ok()
        };
        let governance = Some(retention(RetentionMode::Governance, 1));
        let compliance = Some(retention(RetentionMode::Compliance, 1));
        assert!(check(None, None, false));
        assert!(check(Some(retention(RetentionMode::Compliance, 0)), Some(false), false));
        assert!(!check(governance, None, false));
        assert!(check(governance, None, true));
        assert!(!check(governance, Some(true), true));
        assert!(!check(compliance, None, true));
        assert!(!check(None, Some(true), true));
    }

    #[test]
    fn retentions_are_extended_or_bypassed() {
        let (weak, strong) = (RetentionMode::Governance, RetentionMode::Compliance);
        let check = |old: (RetentionMode, u32), new: (RetentionMode, u32), bypass| {
            let (old, new) = (retention(old.0, old.1), retention(new.0, new.1));
            old.check_replacement(&new, bypass, now()).is_ok()
        };
        assert!(check((weak, 1), (weak, 2), false));
        assert!(check((strong, 1), (strong, 1), false));
        assert!(!check((weak, 2), (weak, 1), false));
        assert!(check((weak, 2), (weak, 1), true));
        assert!(!check((weak, 1), (strong, 2), false));
        assert!(check((weak, 1), (strong, 1), true));
        assert!(!check((strong, 2), (strong, 1), true));
        assert!(!check((strong, 1), (weak, 2), true));
        assert!(check((strong, 0), (weak, 1), false));
    }
}
