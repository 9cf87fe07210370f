//! Where a reference leads: a bucket and a key in it.

use runnel_store::{Error, Kind, Reference, Result};

/// The longest key, in bytes of UTF-8 (the limit of S3).
const KEY_LENGTH: usize = 1024;

/// A place in a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectPath {
    /// The list of the buckets.
    Root,
    /// A whole bucket.
    Bucket(String),
    /// An object, or what begins like its key.
    Object(String, String),
}

impl ObjectPath {
    /// Where a reference leads, within a bucket or from its own first part on.
    pub(crate) fn parse(bucket: Option<&str>, reference: &Reference) -> Result<ObjectPath> {
        let mut parts = reference.segments();
        let bucket = match bucket {
            Some(bucket) => bucket,
            None => match parts.next() {
                Some(bucket) => {
                    check_bucket(bucket)?;
                    bucket
                }
                None => return Ok(ObjectPath::Root),
            },
        };
        let parts: Vec<&str> = parts.collect();
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return Err(Error::new(Kind::Invalid, "a key has no parts `.` and `..`"));
        }
        let key = parts.join("/");
        if key.len() > KEY_LENGTH {
            let message = format!("the key is longer than {KEY_LENGTH} bytes");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let bucket = bucket.to_string();
        Ok(if key.is_empty() {
            ObjectPath::Bucket(bucket)
        } else {
            ObjectPath::Object(bucket, key)
        })
    }
}

/// Refuses what cannot be the name of a bucket, which stands in a path or in a host.
pub(crate) fn check_bucket(name: &str) -> Result<()> {
    let fits = (3..=63).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        && name.bytes().all(|byte| !byte.is_ascii_uppercase())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !name.contains("..");
    if fits {
        return Ok(());
    }
    let name = name.escape_debug();
    let message =
        format!("`{name}` is no name of a bucket: 3 to 63 small letters, digits, dots and hyphens");
    Err(Error::new(Kind::Invalid, message))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn references_are_places() {
        let place = |path| ObjectPath::parse(None, &Reference::from_path(path));
        let object = |key: &str| ObjectPath::Object("photos".into(), key.into());
        assert_eq!(place("").unwrap(), ObjectPath::Root);
        assert_eq!(place("//photos/").unwrap(), ObjectPath::Bucket("photos".into()));
        assert_eq!(place("photos/a/b c").unwrap(), object("a/b c"));
        assert_eq!(place("//photos//a//b/").unwrap(), object("a/b"));
        let within = ObjectPath::parse(Some("photos"), &Reference::from_path("/a%20b")).unwrap();
        assert_eq!(within, object("a%20b"));
        for path in ["ab", "Photos", "a b c", "-abc", "a..b", "photos/../x", "photos/a/./b", "aé1"]
        {
            assert_eq!(place(path).unwrap_err().kind, Kind::Invalid, "{path}");
        }
        let long = "x".repeat(1025);
        let error = ObjectPath::parse(Some("photos"), &Reference::from_path(long)).unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
    }
}
