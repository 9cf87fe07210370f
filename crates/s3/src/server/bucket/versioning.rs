//! Whether a bucket keeps former versions.

use crate::server::fault::{FaultCode, S3Result};
use crate::server::xml::{self, XmlWriter};

/// The state of versioning. A bucket never returns to `Off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Versioning {
    /// It was never enabled: each put replaces the object.
    #[default]
    Off,
    /// Each put makes a version.
    Enabled,
    /// Puts replace the version `null`; other versions stay.
    Suspended,
}

impl Versioning {
    /// Reads the body of PutBucketVersioning.
    pub(crate) fn parse(document: &[u8]) -> S3Result<Versioning> {
        let root = xml::read(document)?;
        if &*root.name != "VersioningConfiguration" {
            return Err(FaultCode::MalformedXML.into());
        }
        match root.text_of("MfaDelete") {
            None | Some("Disabled") => {}
            Some("Enabled") => return Err(FaultCode::NotImplemented.into()),
            Some(_) => return Err(FaultCode::MalformedXML.into()),
        }
        match root.text_of("Status") {
            Some("Enabled") => Ok(Versioning::Enabled),
            Some("Suspended") => Ok(Versioning::Suspended),
            None => Err(FaultCode::IllegalVersioningConfigurationException.into()),
            Some(_) => Err(FaultCode::MalformedXML.into()),
        }
    }

    /// The answer of GetBucketVersioning, empty where versioning was never enabled.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("VersioningConfiguration", |xml| xml.optional("Status", self.status()))
    }

    /// The word of documents.
    pub(crate) fn status(self) -> Option<&'static str> {
        match self {
            Versioning::Off => None,
            Versioning::Enabled => Some("Enabled"),
            Versioning::Suspended => Some("Suspended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_and_written() {
        for state in [Versioning::Enabled, Versioning::Suspended] {
            assert_eq!(Versioning::parse(state.to_xml().as_bytes()).unwrap(), state);
        }
        assert!(Versioning::Off.to_xml().ends_with("\"></VersioningConfiguration>"));
    }

    #[test]
    fn invalid_states_are_refused() {
        for (inner, code) in [
            ("<Status>on</Status>", FaultCode::MalformedXML),
            ("", FaultCode::IllegalVersioningConfigurationException),
            ("<Status>Enabled</Status><MfaDelete>Enabled</MfaDelete>", FaultCode::NotImplemented),
        ] {
            let text = format!("<VersioningConfiguration>{inner}</VersioningConfiguration>");
            assert_eq!(Versioning::parse(text.as_bytes()).unwrap_err().code, code);
        }
    }
}
