//! Where things are kept in the store below: references of keys, versions, uploads and records.
//!
//! ```text
//! photos/2024/cat.jpg                         a key, as it is
//! .runnel-s3/buckets/photos                   the record of a bucket
//! .runnel-s3/odd/photos/612f.                 a key that cannot be a plain path: `a/`
//! .runnel-s3/versions/photos/61./NAME         a version of `a` that is not the current one
//! .runnel-s3/uploads/photos/61./ID            the record of a multipart upload of `a`
//! .runnel-s3/parts/photos/ID/00001            the record of one of its parts
//! .runnel-s3/data/photos/ID/00001-…           the content of a part
//! .runnel-s3/attributes/photos/61.            attributes of `a`, where the store keeps none
//! .runnel-s3/staging/ID                       content that is being received
//! ```
//!
//! Names of buckets do not begin with a dot, so the two never meet. A key in hexadecimal digits is
//! cut into segments of [`SEGMENT`] digits, the last one ends in a dot. A dot and a slash sort before
//! all digits, so these paths sort as the keys do.

use runnel_store::{Reference, decode_segment, encode_segment, is_escape};

/// The collection of everything that is no key.
const ROOM: &str = ".runnel-s3";

/// Hexadecimal digits in one segment of a path.
const SEGMENT: usize = 200;

/// The longest segment of a plain path: a file name has at most 255 bytes.
const NAME: usize = 255;

/// The longest key that is a plain path: a file system takes paths of 4,096 bytes with its root.
const PLAIN: usize = 3_000;

/// The collection of the records of buckets.
pub(crate) fn buckets() -> Reference {
    inner("buckets")
}

/// The record of a bucket.
pub(crate) fn bucket(name: &str) -> Reference {
    inner(&format!("buckets/{name}"))
}

/// The collection of the plain keys of a bucket.
pub(crate) fn plain_keys(bucket: &str) -> Reference {
    Reference::from_path(bucket.to_string())
}

/// A key as a plain path.
pub(crate) fn plain(bucket: &str, key: &str) -> Reference {
    Reference::from_path(format!("{bucket}/{}", plain_name(key)))
}

/// The name of a key below [`plain_keys`]: an escape in it is itself escaped.
pub(crate) fn plain_name(key: &str) -> String {
    let segments: Vec<_> = key.split('/').map(encode_segment).collect();
    segments.join("/")
}

/// The key of a name below [`plain_keys`].
pub(crate) fn plain_key(name: &str) -> String {
    decode_segment(name).into_owned()
}

/// The collection of the odd keys of a bucket.
pub(crate) fn odd_keys(bucket: &str) -> Reference {
    inner(&format!("odd/{bucket}"))
}

/// A key that cannot be a plain path.
pub(crate) fn odd(bucket: &str, key: &str) -> Reference {
    inner(&format!("odd/{bucket}/{}", hex_path(key)))
}

/// The collection of the versions of all keys of a bucket that are not current.
pub(crate) fn all_versions(bucket: &str) -> Reference {
    inner(&format!("versions/{bucket}"))
}

/// The collection of the versions of a key that are not current.
pub(crate) fn versions(bucket: &str, key: &str) -> Reference {
    inner(&format!("versions/{bucket}/{}", hex_path(key)))
}

/// The collection of the uploads of a bucket.
pub(crate) fn uploads(bucket: &str) -> Reference {
    inner(&format!("uploads/{bucket}"))
}

/// The record of a multipart upload.
pub(crate) fn upload(bucket: &str, key: &str, id: &str) -> Reference {
    inner(&format!("uploads/{bucket}/{}/{id}", hex_path(key)))
}

/// The collection of the records of all parts, by bucket and upload.
pub(crate) fn all_parts() -> Reference {
    inner("parts")
}

/// The collection of the records of the parts of a bucket, by upload.
pub(crate) fn bucket_parts(bucket: &str) -> Reference {
    inner(&format!("parts/{bucket}"))
}

/// The collection of the contents of all parts, by bucket and upload.
pub(crate) fn all_part_data() -> Reference {
    inner("data")
}

/// The collection of the contents of the parts of a bucket, by upload.
pub(crate) fn bucket_part_data(bucket: &str) -> Reference {
    inner(&format!("data/{bucket}"))
}

/// The collection of the records of the parts of an upload.
pub(crate) fn parts(bucket: &str, id: &str) -> Reference {
    inner(&format!("parts/{bucket}/{id}"))
}

/// The collection of the contents of the parts of an upload.
pub(crate) fn part_data(bucket: &str, id: &str) -> Reference {
    inner(&format!("data/{bucket}/{id}"))
}

/// The collection of content that is being received.
pub(crate) fn staging_room() -> Reference {
    inner("staging")
}

/// Content that is being received.
pub(crate) fn staging(id: &str) -> Reference {
    inner(&format!("staging/{id}"))
}

/// The attributes of content in a store that keeps none.
pub(crate) fn attributes(of: &Reference) -> Reference {
    let path = of.relative_path();
    match path.strip_prefix(ROOM) {
        // A bucket has no name with a dot in front.
        Some(within) => inner(&format!("attributes/.inner{within}")),
        None => {
            let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
            inner(&format!("attributes/{bucket}/{}", hex_path(key)))
        }
    }
}

/// The collections that belong to a bucket beside its keys, in the order in which they are removed:
/// an upload goes before its parts, so that none is there without them.
pub(crate) fn belongings(bucket: &str) -> [Reference; 6] {
    let of = |room: &str| inner(&format!("{room}/{bucket}"));
    [of("odd"), of("versions"), of("uploads"), of("parts"), of("data"), of("attributes")]
}

fn inner(path: &str) -> Reference {
    Reference::from_path(format!("{ROOM}/{path}"))
}

/// Whether a key can be a plain path: other stores, file systems above all, read segments and some
/// characters in their own way.
pub(crate) fn is_plain(key: &str) -> bool {
    let escapes = |segment: &str| {
        let bytes = segment.as_bytes();
        (0..bytes.len()).any(|at| bytes[at] == b'%' && is_escape(&bytes[at..]))
    };
    let is_name = |segment: &str| {
        !segment.is_empty()
            && segment != "."
            && segment != ".."
            && segment.len() <= NAME
            && !segment.starts_with(".runnel-")
            && !segment.chars().any(char::is_control)
            && !escapes(segment)
    };
    key.len() <= PLAIN && key.split('/').all(is_name)
}

/// Whether a plain path can be read for the key: it may have been put by another program.
pub(crate) fn is_readable(key: &str) -> bool {
    let is_name = |segment: &str| {
        !segment.is_empty() && segment != "." && segment != ".." && !segment.starts_with(".runnel-")
    };
    key.len() <= PLAIN && !key.contains('\0') && key.split('/').all(is_name)
}

/// A key in hexadecimal digits, complete: it ends in a dot.
pub(crate) fn hex_path(key: &str) -> String {
    let mut path = hex_prefix(key);
    path.push('.');
    path
}

/// The beginning that the paths of all keys with a prefix have.
pub(crate) fn hex_prefix(prefix: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut path = String::with_capacity(prefix.len() * 2 + prefix.len() / 100 + 2);
    for (at, byte) in prefix.bytes().enumerate() {
        if at > 0 && at * 2 % SEGMENT == 0 {
            path.push('/');
        }
        path.push(char::from(DIGITS[usize::from(byte >> 4)]));
        path.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    path
}

/// The key of a path in hexadecimal digits, and what follows it; `None` for a path of another kind.
pub(crate) fn read_hex_path(path: &str) -> Option<(String, &str)> {
    let (digits, rest) = path.split_once('.')?;
    let digits: Vec<u8> = digits
        .chars()
        .filter(|&digit| digit != '/')
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let key = String::from_utf8(bytes).ok()?;
    Some((key, rest.strip_prefix('/').unwrap_or(rest)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_keys_sort_as_the_keys_do() {
        let long = |more: &str| "x".repeat(100) + more;
        let mut keys = vec![
            String::new(),
            "a".into(),
            "a/".into(),
            "ab".into(),
            "é".into(),
            long(""),
            long("\u{1}"),
            long("a"),
            long(&long("b")),
            "\u{10ffff}".into(),
        ];
        keys.sort();
        let paths: Vec<String> = keys.iter().map(|key| hex_path(key)).collect();
        let mut sorted = paths.clone();
        sorted.sort();
        assert_eq!(paths, sorted);
        for (key, path) in keys.iter().zip(&paths) {
            assert_eq!(read_hex_path(path), Some((key.clone(), "")));
            let child = format!("{path}/child.m");
            assert_eq!(read_hex_path(&child), Some((key.clone(), "child.m")));
        }
        assert!(hex_path(&long("a")).starts_with(&hex_prefix(&long(""))));
        assert_eq!(read_hex_path("6."), None);
        assert_eq!(read_hex_path("zz."), None);
    }

    #[test]
    fn plain_keys_are_those_that_every_store_keeps() {
        for key in ["a", "a/b.c/d", "ü ?*", "a%4", ".hidden"] {
            assert!(is_plain(key), "{key}");
            assert_eq!(plain_key(&plain_name(key)), key);
        }
        let long = "x".repeat(256);
        for key in ["", "/a", "a/", "a//b", ".", "a/../b", "a\nb", "a%20b", ".runnel-s3/x", &long] {
            assert!(!is_plain(key), "{key}");
        }
    }

    #[test]
    fn attributes_have_places_of_their_own() {
        let of = |path: &str| attributes(&Reference::from_path(path.to_string())).to_string();
        assert_eq!(of("b/a"), ".runnel-s3/attributes/b/61.");
        assert_eq!(of(".runnel-s3/odd/b/61."), ".runnel-s3/attributes/.inner/odd/b/61.");
    }
}
