//! What a request is addressed to: the service, a bucket or a key, and the parameters.

use super::fault::{FaultCode, S3Fault, S3Result};
use http::{HeaderMap, Uri, header};
use runnel_text::form;

/// The longest key, in bytes.
const KEY_LIMIT: usize = 1_024;

/// A decoded target.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct S3Target {
    /// Empty for the service.
    pub(crate) bucket: String,
    /// Empty for a bucket.
    pub(crate) key: String,
    /// The parameters in order.
    pub(crate) query: Vec<(String, String)>,
}

impl S3Target {
    /// Reads the target of a request. `host` is the name below which buckets are hosts.
    pub(crate) fn read(uri: &Uri, headers: &HeaderMap, host: Option<&str>) -> S3Result<Self> {
        let invalid = |_| S3Fault::new(FaultCode::InvalidURI);
        let path = form::percent_decode(uri.path()).map_err(invalid)?;
        let path = path.strip_prefix('/').unwrap_or(&path);
        let query = parameters(uri.query().unwrap_or_default())?;
        let named = host.and_then(|host| bucket_of_host(headers, host));
        let (bucket, key) = match named {
            Some(bucket) => (bucket, path.to_string()),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                (bucket.to_string(), key.to_string())
            }
        };
        Ok(S3Target { bucket, key, query })
    }

    /// Refuses names that no bucket or object can have.
    pub(crate) fn check(&self) -> S3Result<()> {
        if !self.bucket.is_empty() && !is_bucket_name(&self.bucket) {
            let bucket = self.bucket.as_str();
            return Err(S3Fault::new(FaultCode::InvalidBucketName).with("BucketName", bucket));
        }
        check_key(&self.key)
    }
}

/// Refuses a key that is too long, or that leads out of its bucket where it is read as a path.
pub(crate) fn check_key(key: &str) -> S3Result<()> {
    if key.len() > KEY_LIMIT {
        return Err(S3Fault::new(FaultCode::KeyTooLongError)
            .with("Size", key.len().to_string())
            .with("MaxSizeAllowed", KEY_LIMIT.to_string()));
    }
    match leads_out(key) {
        true => Err(S3Fault::new(FaultCode::PathOutside)),
        false => Ok(()),
    }
}

/// Whether the segments `..` of a key lead above its beginning, or nothing is left of it: S3 refuses
/// these, because clients on the way resolve them.
fn leads_out(key: &str) -> bool {
    let mut depth = 0_usize;
    for segment in key.split('/') {
        match segment {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    depth == 0 && !key.is_empty()
}

/// Whether a `%` is followed by anything but two hexadecimal digits.
pub(crate) fn has_broken_escape(text: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let is_broken = |at: usize| !(digit(bytes.get(at + 1)) && digit(bytes.get(at + 2)));
    (0..bytes.len()).any(|at| bytes[at] == b'%' && is_broken(at))
}

/// Whether a text can be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens,
/// with a letter or a digit at both ends, and no IPv4 address.
pub(crate) fn is_bucket_name(name: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.first().is_some_and(is_edge)
        && bytes.last().is_some_and(is_edge)
        && bytes.iter().all(|byte| is_edge(byte) || matches!(byte, b'.' | b'-'))
        && name.parse::<std::net::Ipv4Addr>().is_err()
}

fn parameters(query: &str) -> S3Result<Vec<(String, String)>> {
    let invalid = |_| S3Fault::new(FaultCode::InvalidURI);
    let mut parameters = Vec::new();
    for (name, value) in form::pairs(query) {
        let name = form::decode(name).map_err(invalid)?.into_owned();
        let value = form::decode(value).map_err(invalid)?.into_owned();
        parameters.push((name, value));
    }
    Ok(parameters)
}

/// The bucket that the host names: `photos` of `photos.s3.example.org:8080`.
fn bucket_of_host(headers: &HeaderMap, host: &str) -> Option<String> {
    let given = headers.get(header::HOST)?.to_str().ok()?;
    let without_port = match given.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => given,
    };
    let name = without_port.to_ascii_lowercase();
    let bucket = name.strip_suffix(&host.to_ascii_lowercase())?.strip_suffix('.')?;
    (!bucket.is_empty()).then(|| bucket.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(uri: &str, host: &str) -> S3Target {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        S3Target::read(&uri.parse().unwrap(), &headers, Some("s3.test")).unwrap()
    }

    #[test]
    fn targets_are_paths_or_hosts() {
        let check = |uri: &str, host: &str, bucket: &str, key: &str| {
            let target = read(uri, host);
            assert_eq!((target.bucket.as_str(), target.key.as_str()), (bucket, key), "{uri}");
        };
        check("/", "s3.test", "", "");
        check("/photos", "s3.test:80", "photos", "");
        check("/photos/", "127.0.0.1:80", "photos", "");
        check("/photos/a//b%2Fc+d/", "s3.test", "photos", "a//b/c+d/");
        check("/a/b", "photos.s3.test:80", "photos", "a/b");
        check("/", "Photos.S3.test", "photos", "");
        let query = read("/b?list-type=2&prefix=a+b%2F&delimiter", "s3.test").query;
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let expected = [pair("list-type", "2"), pair("prefix", "a b/"), pair("delimiter", "")];
        assert_eq!(query, expected);
    }

    #[test]
    fn names_are_checked() {
        for name in ["abc", "a.b-c", "0a0", &"a".repeat(63)] {
            assert!(is_bucket_name(name), "{name}");
        }
        for name in ["", "ab", "Abc", "a_b", "-ab", "ab.", "192.168.0.1", &"a".repeat(64)] {
            assert!(!is_bucket_name(name), "{name}");
        }
        for key in ["a/../b", "...", "a..", "a/./b"] {
            assert!(check_key(key).is_ok(), "{key}");
        }
        for key in ["..", ".", "../a", "a/../../b", "a/..", &"a".repeat(1_025)] {
            assert!(check_key(key).is_err(), "{key}");
        }
    }
}
