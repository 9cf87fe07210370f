//! Who owns the objects of a bucket, and thereby whether ACLs count.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::xml::{self, XmlWriter};

/// The rule of the ownership controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ObjectOwnership {
    /// The owner of the bucket owns every object, and ACLs are off: what a new bucket has.
    #[default]
    BucketOwnerEnforced,
    /// ACLs count.
    BucketOwnerPreferred,
    /// ACLs count.
    ObjectWriter,
}

impl ObjectOwnership {
    /// Reads the body of PutBucketOwnershipControls.
    pub(crate) fn parse(document: &[u8]) -> S3Result<ObjectOwnership> {
        let root = xml::read(document)?;
        let mut rules = root.all("Rule");
        match (rules.next(), rules.next()) {
            (Some(rule), None) if &*root.name == "OwnershipControls" => rule
                .text_of("ObjectOwnership")
                .and_then(ObjectOwnership::from_name)
                .ok_or_else(|| FaultCode::MalformedXML.into()),
            _ => Err(FaultCode::MalformedXML.into()),
        }
    }

    /// Reads the header `x-amz-object-ownership`.
    pub(crate) fn from_header(value: &str) -> S3Result<ObjectOwnership> {
        ObjectOwnership::from_name(value).ok_or_else(|| {
            S3Fault::new(FaultCode::InvalidArgument)
                .because(format!("Invalid x-amz-object-ownership header: {value}"))
                .with("ArgumentName", "x-amz-object-ownership")
        })
    }

    /// The answer of GetBucketOwnershipControls.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("OwnershipControls", |xml| {
            xml.element("Rule", |xml| xml.text("ObjectOwnership", self.name()));
        })
    }

    /// The word of documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ObjectOwnership::BucketOwnerEnforced => "BucketOwnerEnforced",
            ObjectOwnership::BucketOwnerPreferred => "BucketOwnerPreferred",
            ObjectOwnership::ObjectWriter => "ObjectWriter",
        }
    }

    /// The rule of a word.
    pub(crate) fn from_name(name: &str) -> Option<ObjectOwnership> {
        Some(match name {
            "BucketOwnerEnforced" => ObjectOwnership::BucketOwnerEnforced,
            "BucketOwnerPreferred" => ObjectOwnership::BucketOwnerPreferred,
            "ObjectWriter" => ObjectOwnership::ObjectWriter,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        for rule in [ObjectOwnership::BucketOwnerEnforced, ObjectOwnership::ObjectWriter] {
            assert_eq!(ObjectOwnership::parse(rule.to_xml().as_bytes()).unwrap(), rule);
            assert_eq!(ObjectOwnership::from_header(rule.name()).unwrap(), rule);
        }
    }

    #[test]
    fn one_known_rule_is_required() {
        let rule = "<Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>";
        for inner in ["", "<Rule/>", &rule.repeat(2), &rule.replace("Writer", "Reader")] {
            let text = format!("<OwnershipControls>{inner}</OwnershipControls>");
            let fault = ObjectOwnership::parse(text.as_bytes()).unwrap_err();
            assert_eq!(fault.code, FaultCode::MalformedXML);
        }
        assert_eq!(ObjectOwnership::from_header("x").unwrap_err().code, FaultCode::InvalidArgument);
    }
}
