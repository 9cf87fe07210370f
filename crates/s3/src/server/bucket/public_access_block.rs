//! Switches that keep a bucket from becoming public by accident.

use crate::server::fault::{FaultCode, S3Result};
use crate::server::xml::{self, XmlWriter};

/// The four switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublicAccessBlock {
    /// Refuses ACLs that grant something to everybody.
    pub(crate) block_public_acls: bool,
    /// Ignores grants to everybody in ACLs that exist.
    pub(crate) ignore_public_acls: bool,
    /// Refuses policies that allow something to everybody.
    pub(crate) block_public_policy: bool,
    /// Ignores what a public policy allows to others than the owner.
    pub(crate) restrict_public_buckets: bool,
}

impl PublicAccessBlock {
    /// Reads the body of PutPublicAccessBlock. An element that is missing is off.
    pub(crate) fn parse(document: &[u8]) -> S3Result<PublicAccessBlock> {
        let root = xml::read(document)?;
        if &*root.name != "PublicAccessBlockConfiguration" {
            return Err(FaultCode::MalformedXML.into());
        }
        let switch = |name| match root.text_of(name).map(str::trim) {
            None => Ok(false),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(FaultCode::MalformedXML),
        };
        Ok(PublicAccessBlock {
            block_public_acls: switch("BlockPublicAcls")?,
            ignore_public_acls: switch("IgnorePublicAcls")?,
            block_public_policy: switch("BlockPublicPolicy")?,
            restrict_public_buckets: switch("RestrictPublicBuckets")?,
        })
    }

    /// The answer of GetPublicAccessBlock.
    pub(crate) fn to_xml(self) -> String {
        XmlWriter::document("PublicAccessBlockConfiguration", |xml| {
            xml.value("BlockPublicAcls", self.block_public_acls);
            xml.value("IgnorePublicAcls", self.ignore_public_acls);
            xml.value("BlockPublicPolicy", self.block_public_policy);
            xml.value("RestrictPublicBuckets", self.restrict_public_buckets);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_and_written() {
        let block = PublicAccessBlock { block_public_acls: true, ..PublicAccessBlock::default() };
        assert_eq!(PublicAccessBlock::parse(block.to_xml().as_bytes()).unwrap(), block);
        let wrong = "<PublicAccessBlockConfiguration><BlockPublicAcls>1</BlockPublicAcls>\
                     </PublicAccessBlockConfiguration>";
        let fault = PublicAccessBlock::parse(wrong.as_bytes()).unwrap_err();
        assert_eq!(fault.code, FaultCode::MalformedXML);
    }
}
