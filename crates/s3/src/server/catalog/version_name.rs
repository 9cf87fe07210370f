//! Names of versions that are not current: they sort newest first, and say what they are without
//! being read.

use super::attributes::{ObjectInfo, VERSION};
use super::version_id::VersionId;

/// `NAME` of [`super::layout`]: the identifier, then `.n` for the version `null` and `.d` for a
/// delete marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionName {
    /// The identifier, whose time orders the versions.
    pub(crate) id: VersionId,
    /// Whether clients see it as `null`: it was made while the bucket kept no versions.
    pub(crate) is_null: bool,
    /// Whether it is a delete marker.
    pub(crate) is_marker: bool,
}

impl VersionName {
    /// The name of an object that is current now.
    pub(crate) fn of_object(info: &ObjectInfo) -> Self {
        let own = info.attributes.get(VERSION).and_then(|text| VersionId::read(text));
        let id = own.unwrap_or_else(|| VersionId::at(info.modified));
        VersionName { id, is_null: own.is_none(), is_marker: false }
    }

    /// Reads what [`VersionName::text`] wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (name, kind) = text.split_once('.').unwrap_or((text, ""));
        let (is_null, is_marker) = match kind {
            "" => (false, false),
            "n" => (true, false),
            "d" => (false, true),
            "nd" => (true, true),
            _ => return None,
        };
        Some(VersionName { id: VersionId::of_name(name)?, is_null, is_marker })
    }

    /// The name.
    pub(crate) fn text(&self) -> String {
        let kind = match (self.is_null, self.is_marker) {
            (false, false) => "",
            (true, false) => ".n",
            (false, true) => ".d",
            (true, true) => ".nd",
        };
        format!("{}{kind}", self.id.newest_first())
    }

    /// The identifier as clients see it.
    pub(crate) fn version(&self) -> String {
        if self.is_null { "null".to_string() } else { self.id.text() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read() {
        for (is_null, is_marker) in [(false, false), (true, false), (false, true), (true, true)] {
            let name = VersionName { id: VersionId::new(), is_null, is_marker };
            assert_eq!(VersionName::read(&name.text()), Some(name));
        }
        assert_eq!(VersionName::read("x"), None);
    }
}
