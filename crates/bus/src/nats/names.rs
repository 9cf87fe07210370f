//! Paths as keys of a bucket and back.
//!
//! A key may only have letters, digits and `-`, `_`, `=`, `.`, `/`; its parts between dots are what
//! the server can select by. So `tasks/7` is the key `tasks.7`, and every other byte of a name is
//! written as `=` and two hexadecimal digits: `a.txt` is `a=2Etxt`. This is exact: two paths never
//! have the same key, and a key that is written differently has no path.

use runnel_store::{Error, Kind, Result};

/// How long the key of a path may be, in bytes, with its escapes.
pub const NATS_KEY_LIMIT: usize = 1024;

/// How long the name of a bucket may be, in bytes.
pub const BUCKET_NAME_LIMIT: usize = 128;

/// The key of a path; empty for the root.
pub(super) fn key(path: &str) -> Result<String> {
    let mut key = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if !key.is_empty() {
            key.push('.');
        }
        escape(part, key.is_empty(), &mut key);
    }
    if key.len() > NATS_KEY_LIMIT {
        let message = format!("the key of this path has more than {NATS_KEY_LIMIT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(key)
}

fn escape(part: &str, first: bool, key: &mut String) {
    // What begins with `_kv` belongs to the server.
    let reserved = first && part.starts_with("_kv");
    for (at, byte) in part.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if plain && !(reserved && at == 0) {
            key.push(byte.into());
        } else {
            key.push_str(&format!("={byte:02X}"));
        }
    }
}

/// The path of a key; `None` for a key that no path encodes to.
pub(super) fn path(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'.' => bytes.push(b'/'),
            b'=' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    (key(&path).ok()? == name).then_some(path)
}

/// A name of a bucket.
pub(super) fn bucket(name: &str) -> Result<&str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.len() <= BUCKET_NAME_LIMIT && name.bytes().all(plain) {
        return Ok(name);
    }
    let message = "a bucket has a name of letters, digits, - and _, as in nats:kv/tasks/7";
    Err(Error::new(Kind::Invalid, message))
}

/// A name of a stream.
pub(super) fn stream(name: &str) -> Result<&str> {
    bucket(name).map_err(|_| {
        let message = "a stream has a name of letters, digits, - and _, as in nats:streams/orders";
        Error::new(Kind::Invalid, message)
    })
}

/// The kinds of bucket.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum BucketKind {
    Keys,
    Objects,
}

/// How the streams behind buckets are called.
pub(super) fn stream_prefix(kinds: BucketKind) -> &'static str {
    match kinds {
        BucketKind::Keys => "KV_",
        BucketKind::Objects => "OBJ_",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_paths_and_back() {
        for (name, of) in [
            ("tasks/7", "tasks.7"),
            ("a.txt", "a=2Etxt"),
            ("a b=c", "a=20b=3Dc"),
            ("日", "=E6=97=A5"),
            ("_kv/x", "=5Fkv.x"),
            ("x/_kv", "x._kv"),
            ("*/>", "=2A.=3E"),
        ] {
            assert_eq!(key(name).unwrap(), of);
            assert_eq!(path(of).as_deref(), Some(name));
        }
        assert_eq!(key("//a//b/").unwrap(), "a.b");
        for foreign in ["a/b", "a=2e", "a=", "a=zz", "a..b", ".a", "=41", "_kv.x", "=FF"] {
            assert_eq!(path(foreign), None, "{foreign}");
        }
        assert_eq!(key(&"é".repeat(400)).unwrap_err().kind, Kind::TooLarge);
    }

    #[test]
    fn buckets() {
        assert!(bucket("a-B_9").is_ok());
        for wrong in ["", "a.b", "a b", "é", &"b".repeat(200)] {
            assert_eq!(bucket(wrong).unwrap_err().kind, Kind::Invalid);
        }
    }
}
