//! Checksums of objects: their algorithms, values and calculation.
//!
//! Source: Amazon S3 user guide, "Checking object integrity in Amazon S3".

use super::crc::{Crc, CrcHasher, join};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fast_md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh64::Xxh64;

/// The algorithms of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChecksumAlgorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Xxh128,
    Xxh3,
    Xxh64,
}

/// What the checksum of an object of many parts is calculated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumType {
    /// The checksums of the parts.
    Composite,
    /// The content.
    FullObject,
}

/// Each algorithm with its name, the end of its header, its length in bytes and whether checksums
/// of parts can be joined into one of the whole.
const ALGORITHMS: [(ChecksumAlgorithm, &str, &str, &str, usize); 10] = [
    (ChecksumAlgorithm::Crc32, "CRC32", "x-amz-checksum-crc32", "ChecksumCRC32", 4),
    (ChecksumAlgorithm::Crc32c, "CRC32C", "x-amz-checksum-crc32c", "ChecksumCRC32C", 4),
    (ChecksumAlgorithm::Crc64Nvme, "CRC64NVME", "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME", 8),
    (ChecksumAlgorithm::Md5, "MD5", "x-amz-checksum-md5", "ChecksumMD5", 16),
    (ChecksumAlgorithm::Sha1, "SHA1", "x-amz-checksum-sha1", "ChecksumSHA1", 20),
    (ChecksumAlgorithm::Sha256, "SHA256", "x-amz-checksum-sha256", "ChecksumSHA256", 32),
    (ChecksumAlgorithm::Sha512, "SHA512", "x-amz-checksum-sha512", "ChecksumSHA512", 64),
    (ChecksumAlgorithm::Xxh128, "XXHASH128", "x-amz-checksum-xxhash128", "ChecksumXXHASH128", 16),
    (ChecksumAlgorithm::Xxh3, "XXHASH3", "x-amz-checksum-xxhash3", "ChecksumXXHASH3", 8),
    (ChecksumAlgorithm::Xxh64, "XXHASH64", "x-amz-checksum-xxhash64", "ChecksumXXHASH64", 8),
];

impl ChecksumAlgorithm {
    fn row(self) -> (&'static str, &'static str, &'static str, usize) {
        let row = ALGORITHMS.iter().find(|(algorithm, ..)| *algorithm == self);
        row.map_or(("", "", "", 0), |(_, name, header, element, length)| {
            (*name, *header, *element, *length)
        })
    }

    /// Every algorithm.
    pub(crate) fn all() -> impl Iterator<Item = ChecksumAlgorithm> {
        ALGORITHMS.iter().map(|(algorithm, ..)| *algorithm)
    }

    /// The algorithm of a name in either case, such as `CRC32`.
    pub(crate) fn of_name(name: &str) -> Option<ChecksumAlgorithm> {
        ALGORITHMS.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    /// The algorithm of a header in either case, such as `x-amz-checksum-crc32`.
    pub(crate) fn of_header(name: &str) -> Option<ChecksumAlgorithm> {
        let row = ALGORITHMS.iter().find(|(_, _, known, ..)| known.eq_ignore_ascii_case(name));
        row.map(|row| row.0)
    }

    /// `CRC32`
    pub(crate) fn name(self) -> &'static str {
        self.row().0
    }

    /// `x-amz-checksum-crc32`
    pub(crate) fn header(self) -> &'static str {
        self.row().1
    }

    /// `ChecksumCRC32`, in XML.
    pub(crate) fn element(self) -> &'static str {
        self.row().2
    }

    /// The bytes of a value.
    pub(crate) fn length(self) -> usize {
        self.row().3
    }

    /// Whether values of parts can be joined into one of the whole.
    pub(crate) fn is_linear(self) -> bool {
        use ChecksumAlgorithm as A;
        matches!(self, A::Crc32 | A::Crc32c | A::Crc64Nvme)
    }

    /// Whether an object of many parts can have such a checksum.
    pub(crate) fn supports(self, kind: ChecksumType) -> bool {
        match kind {
            ChecksumType::Composite => self != ChecksumAlgorithm::Crc64Nvme,
            ChecksumType::FullObject => self.is_linear(),
        }
    }

    /// The type of an object of many parts where its upload names none.
    pub(crate) fn usual_type(self) -> ChecksumType {
        if self.supports(ChecksumType::Composite) {
            ChecksumType::Composite
        } else {
            ChecksumType::FullObject
        }
    }
}

impl ChecksumType {
    /// The type of a name in either case.
    pub(crate) fn of_name(name: &str) -> Option<ChecksumType> {
        let kinds = [ChecksumType::Composite, ChecksumType::FullObject];
        kinds.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// `COMPOSITE` or `FULL_OBJECT`
    pub(crate) fn name(self) -> &'static str {
        match self {
            ChecksumType::Composite => "COMPOSITE",
            ChecksumType::FullObject => "FULL_OBJECT",
        }
    }
}

/// The checksum of some content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) algorithm: ChecksumAlgorithm,
    pub(crate) value: Vec<u8>,
}

impl Checksum {
    /// Reads a value in base 64; `None` where it is none of the algorithm.
    pub(crate) fn parse(algorithm: ChecksumAlgorithm, text: &str) -> Option<Checksum> {
        let value = BASE64_STANDARD.decode(text).ok()?;
        (value.len() == algorithm.length()).then_some(Checksum { algorithm, value })
    }

    /// The value in base 64.
    pub(crate) fn text(&self) -> String {
        BASE64_STANDARD.encode(&self.value)
    }

    /// The checksum of content in memory.
    #[cfg(test)]
    pub(crate) fn of(algorithm: ChecksumAlgorithm, content: &[u8]) -> Checksum {
        let mut hasher = ChecksumHasher::new(algorithm);
        hasher.update(content);
        hasher.finish()
    }
}

/// A calculation of a checksum.
pub(crate) enum ChecksumHasher {
    Crc(ChecksumAlgorithm, CrcHasher),
    Md5(Box<Md5>),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Box<Sha512>),
    Xxh64(Xxh64),
    /// XXH3 with 64 or 128 bits: the state is the same.
    Xxh3(ChecksumAlgorithm, Box<Xxh3>),
}

impl ChecksumHasher {
    /// Begins a calculation.
    pub(crate) fn new(algorithm: ChecksumAlgorithm) -> ChecksumHasher {
        match algorithm {
            ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c | ChecksumAlgorithm::Crc64Nvme => {
                ChecksumHasher::Crc(algorithm, CrcHasher::new(crc(algorithm)))
            }
            ChecksumAlgorithm::Md5 => ChecksumHasher::Md5(Box::new(Md5::new())),
            ChecksumAlgorithm::Sha1 => ChecksumHasher::Sha1(Sha1::new()),
            ChecksumAlgorithm::Sha256 => ChecksumHasher::Sha256(Sha256::new()),
            ChecksumAlgorithm::Sha512 => ChecksumHasher::Sha512(Box::default()),
            ChecksumAlgorithm::Xxh64 => ChecksumHasher::Xxh64(Xxh64::new(0)),
            ChecksumAlgorithm::Xxh3 | ChecksumAlgorithm::Xxh128 => {
                ChecksumHasher::Xxh3(algorithm, Box::default())
            }
        }
    }

    /// Reads content.
    pub(crate) fn update(&mut self, content: &[u8]) {
        match self {
            ChecksumHasher::Crc(_, digest) => digest.update(content),
            ChecksumHasher::Md5(digest) => digest.update(content),
            ChecksumHasher::Sha1(digest) => digest.update(content),
            ChecksumHasher::Sha256(digest) => digest.update(content),
            ChecksumHasher::Sha512(digest) => digest.update(content),
            ChecksumHasher::Xxh64(digest) => digest.update(content),
            ChecksumHasher::Xxh3(_, digest) => digest.update(content),
        }
    }

    /// Ends the calculation.
    pub(crate) fn finish(self) -> Checksum {
        let (algorithm, value) = match self {
            ChecksumHasher::Crc(algorithm, digest) => {
                (algorithm, crc_bytes(algorithm, digest.finish()))
            }
            ChecksumHasher::Md5(digest) => (ChecksumAlgorithm::Md5, digest.finalize().to_vec()),
            ChecksumHasher::Sha1(digest) => (ChecksumAlgorithm::Sha1, digest.finalize().to_vec()),
            ChecksumHasher::Sha256(digest) => {
                (ChecksumAlgorithm::Sha256, digest.finalize().to_vec())
            }
            ChecksumHasher::Sha512(digest) => {
                (ChecksumAlgorithm::Sha512, digest.finalize().to_vec())
            }
            ChecksumHasher::Xxh64(digest) => {
                (ChecksumAlgorithm::Xxh64, digest.digest().to_be_bytes().to_vec())
            }
            ChecksumHasher::Xxh3(ChecksumAlgorithm::Xxh128, digest) => {
                (ChecksumAlgorithm::Xxh128, digest.digest128().to_be_bytes().to_vec())
            }
            ChecksumHasher::Xxh3(algorithm, digest) => {
                (algorithm, digest.digest().to_be_bytes().to_vec())
            }
        };
        Checksum { algorithm, value }
    }
}

fn crc(algorithm: ChecksumAlgorithm) -> Crc {
    match algorithm {
        ChecksumAlgorithm::Crc32c => Crc::Crc32c,
        ChecksumAlgorithm::Crc64Nvme => Crc::Crc64Nvme,
        _ => Crc::Crc32,
    }
}

fn crc_bytes(algorithm: ChecksumAlgorithm, value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    bytes[bytes.len().saturating_sub(algorithm.length())..].to_vec()
}

/// The checksum of an object from those of its parts, in order, each with its length in bytes.
/// `None` where the parts have other checksums, or where the algorithm does not support the type.
///
/// A composite one is the checksum of the values of the parts: its text ends with `-` and their
/// number, which [`composite_text`] writes. One of the whole is that of the joined content.
pub(crate) fn combine(
    algorithm: ChecksumAlgorithm,
    kind: ChecksumType,
    parts: &[(Checksum, u64)],
) -> Option<Checksum> {
    let is_fit = |(part, _): &(Checksum, u64)| {
        part.algorithm == algorithm && part.value.len() == algorithm.length()
    };
    if !algorithm.supports(kind) || !parts.iter().all(is_fit) {
        return None;
    }
    match kind {
        ChecksumType::Composite => {
            let mut hasher = ChecksumHasher::new(algorithm);
            parts.iter().for_each(|(part, _)| hasher.update(&part.value));
            Some(hasher.finish())
        }
        ChecksumType::FullObject => {
            let number = |value: &[u8]| {
                value.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
            };
            let whole = parts.iter().fold(0, |whole, (part, length)| {
                join(crc(algorithm), whole, number(&part.value), *length)
            });
            Some(Checksum { algorithm, value: crc_bytes(algorithm, whole) })
        }
    }
}

/// The text of a composite checksum: its value and the number of parts.
pub(crate) fn composite_text(checksum: &Checksum, parts: usize) -> String {
    format!("{}-{parts}", checksum.text())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of `abcdefg` and of nothing, from other implementations.
    const KNOWN: [(&str, &str, &str); 10] = [
        ("CRC32", "MSpqpg==", "AAAAAA=="),
        ("CRC32C", "5if0QQ==", "AAAAAA=="),
        ("CRC64NVME", "SmzZ/LTp1CA=", "AAAAAAAAAAA="),
        ("SHA1", "L7XhNBn8iSRoZeejJPR27GJOh0A=", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
        (
            "SHA256",
            "fRpUEnsiJQL1t5tfsIAwYRUqRPkrN+I8ZSe69mXU2po=",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        ),
        (
            "SHA512",
            "1xakGIVptoqxtt+sF45XARTN8Oo6HMDjFIbD5BJBvGp2Qk6MN6sm8Jb8he+YhsjLY0GH9P3f9kX7CZ8f9UxrjA==",
            "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        ),
        ("MD5", "esZsDxSN6VGbi9JkMSxNZA==", "1B2M2Y8AsgTpgAmY7PhCfg=="),
        ("XXHASH64", "GGCUDikCgi0=", "70bbN1HY6Zk="),
        ("XXHASH3", "WkDcP9RMBS8=", "LQaABTjTlMI="),
        ("XXHASH128", "Kq/YOGmlnDE/55jA7aptxg==", "maoG0wFHmNhgAcMkRo1Jfw=="),
    ];

    #[test]
    fn values_are_those_of_other_implementations() {
        for (name, of_letters, of_nothing) in KNOWN {
            let algorithm = ChecksumAlgorithm::of_name(&name.to_lowercase()).unwrap();
            assert_eq!(Checksum::of(algorithm, b"abcdefg").text(), of_letters, "{name}");
            assert_eq!(Checksum::of(algorithm, b"").text(), of_nothing, "{name}");
            assert_eq!(ChecksumAlgorithm::of_header(algorithm.header()), Some(algorithm));
            assert!(Checksum::parse(algorithm, of_letters).is_some());
            for wrong in ["", "invalid", "c2RhZnNhZGZzZGFm", "MSpqpg"] {
                assert_eq!(Checksum::parse(algorithm, wrong), None, "{name} {wrong}");
            }
        }
        assert_eq!(ChecksumAlgorithm::all().count(), KNOWN.len());
    }

    #[test]
    fn composite_checksums_are_those_of_the_values() {
        let part = |content| (Checksum::of(ChecksumAlgorithm::Sha256, content), 3);
        let parts = [part(b"abc"), part(b"def")];
        let whole = combine(ChecksumAlgorithm::Sha256, ChecksumType::Composite, &parts).unwrap();
        let values = [parts[0].0.value.clone(), parts[1].0.value.clone()].concat();
        assert_eq!(whole, Checksum::of(ChecksumAlgorithm::Sha256, &values));
        assert!(composite_text(&whole, 2).ends_with("=-2"));
        assert_eq!(combine(ChecksumAlgorithm::Sha256, ChecksumType::FullObject, &parts), None);
        assert_eq!(combine(ChecksumAlgorithm::Sha1, ChecksumType::Composite, &parts), None);
    }

    proptest! {
        #[test]
        fn checksums_of_parts_join_to_that_of_the_whole(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
        ) {
            let content = parts.concat();
            for algorithm in ChecksumAlgorithm::all().filter(|algorithm| algorithm.is_linear()) {
                let sums: Vec<_> = parts
                    .iter()
                    .map(|part| (Checksum::of(algorithm, part), part.len() as u64))
                    .collect();
                let whole = combine(algorithm, ChecksumType::FullObject, &sums);
                prop_assert_eq!(whole, Some(Checksum::of(algorithm, &content)));
            }
        }
    }
}
