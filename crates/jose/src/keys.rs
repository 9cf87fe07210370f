//! Keys that verify and sign: secrets, PEM files, JSON Web Keys and sets of them.

mod der;
pub(crate) mod error;
mod jwk;
mod key_set;
mod pem;
mod primitives;
mod signature_key;

pub use error::KeyError;
pub use key_set::{KeySet, MOST_KEYS, Verification};
pub use signature_key::SignatureKey;
