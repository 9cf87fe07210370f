//! Signing keys: the secret of a user, bound to a day and a region.

use crate::signature::digest::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The end of each scope.
const TERMINATOR: &str = "aws4_request";
/// The service in each scope.
const SERVICE: &str = "s3";

/// A signing key. It signs everything of a user for a day in a region, so deriving it, which costs
/// four authentication codes, is done once.
#[derive(Clone)]
pub(crate) struct SigningKey(Hmac<Sha256>);

impl SigningKey {
    /// The key of a secret for a date such as `20130524` and a region.
    pub(crate) fn derive(secret: &str, date: &str, region: &str) -> SigningKey {
        let first = SigningKey::of_bytes(format!("AWS4{secret}").as_bytes());
        [date, region, SERVICE, TERMINATOR].iter().fold(first, |key, part| {
            let code = key.code(part.as_bytes());
            SigningKey::of_bytes(&code)
        })
    }

    fn of_bytes(key: &[u8]) -> SigningKey {
        // A key of any length is one (RFC 2104); the type of the error has no value for HMAC.
        SigningKey(Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default())))
    }

    fn code(&self, text: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(text);
        mac.finalize().into_bytes().into()
    }

    /// The signature of a text, as hexadecimal digits.
    pub(crate) fn sign(&self, text: &[u8]) -> String {
        hex(&self.code(text))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey")
    }
}

/// What a signature is valid for: `20130524/us-east-1/s3/aws4_request`.
pub(crate) fn scope(date: &str, region: &str) -> String {
    [date, region, SERVICE, TERMINATOR].join("/")
}

/// Whether this is the service of this server.
pub(crate) fn is_service(name: &str) -> bool {
    name == SERVICE
}

/// Whether this is the end of a scope.
pub(crate) fn is_terminator(name: &str) -> bool {
    name == TERMINATOR
}
