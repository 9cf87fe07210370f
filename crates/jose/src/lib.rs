//! Tokens that clients hold and servers trust: JSON Web Signatures (RFC 7515), JSON Web Keys
//! (RFC 7517), sealed and signed texts, and one-time codes (RFC 4226 and 6238).
//!
//! - [`SignatureAlgorithm`] names what signs; [`SignatureKey`] and [`KeySet`] hold the keys.
//! - [`SignedToken`] is a token that was split and not yet verified; [`KeySet::verify`] verifies it.
//! - [`SealKeys`] encrypts or signs texts of one's own, with key rotation and an expiry.
//! - [`OneTimeCode`] has the codes of authenticator apps.
//!
//! All primitives are those of `ring`, and of `p521` for the one curve that ring lacks. The program
//! fixes the algorithms; a token only selects one of them. Apart from random bytes of the operating
//! system there is no input or output, and the time is an argument.

mod algorithm;
mod codes;
mod keys;
mod seal;
mod token;

pub use algorithm::SignatureAlgorithm;
pub use codes::{CodeHash, OneTimeCode, base32, base32_decoded};
pub use keys::{KeyError, KeySet, MOST_KEYS, SignatureKey, Verification};
pub use seal::{LONGEST_SEALED, SealKeys, SealMode};
pub use token::{LONGEST_TOKEN, SignedToken};
