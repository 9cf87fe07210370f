//! AWS Signature Version 4, for the client and for the server: the canonical form of a request, keys,
//! and the signature of headers, queries, chunks and policies.
//!
//! Source: Amazon S3 API reference, "Authenticating Requests (AWS Signature Version 4)".
//!
//! The canonical form, keys and the signer are pure. `verify` is the server's side and says what is
//! wrong in the words of S3.

pub(crate) mod authorization;
pub(crate) mod canonical;
pub(crate) mod credential;
pub(crate) mod digest;
pub(crate) mod key;
pub(crate) mod presigned;
pub(crate) mod sign;
pub(crate) mod time;
pub(crate) mod verify;

/// The one supported algorithm.
pub(crate) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The payload of a request that is not part of its signature.
pub(crate) const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// The SHA-256 hash of nothing.
pub(crate) const EMPTY_HASH: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
