//! One key, with what it may be used for.

use super::error::{KeyError, wrong};
use super::jwk::{self, ReadKey};
use super::pem;
use super::primitives::{PrivatePart, PublicPart};
use crate::algorithm::{KeyFamily, SignatureAlgorithm};
use crate::token::SignedToken;
use serde_json::{Map, Value};

/// Bytes of an RSA modulus up to which a signature is verified on the event loop: 4096 bits.
const CHEAP_MODULUS: usize = 512;

/// A key with the algorithms that it may be used for.
pub struct SignatureKey {
    pub(super) id: Option<String>,
    pub(super) algorithms: Vec<SignatureAlgorithm>,
    may_verify: bool,
    pub(super) public: PublicPart,
    pub(super) private: Option<PrivatePart>,
}

impl std::fmt::Debug for SignatureKey {
    /// Shows no part of the key.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SignatureKey")
            .field("id", &self.id)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

impl SignatureKey {
    /// A secret of an HMAC.
    ///
    /// # Errors
    /// A secret shorter than the hash, an algorithm of key pairs, or a PEM file: a public key as the
    /// secret would let everybody sign.
    pub fn secret(secret: &[u8], algorithm: SignatureAlgorithm) -> Result<SignatureKey, KeyError> {
        if !algorithm.is_symmetric() {
            return wrong(format!("{} needs a key pair as PEM or JWK", algorithm.name()));
        }
        if secret.trim_ascii_start().starts_with(b"-----BEGIN") {
            return wrong(format!("{} needs a secret, not a PEM file", algorithm.name()));
        }
        let least = algorithm.shortest_secret();
        if secret.len() < least {
            let name = algorithm.name();
            let length = secret.len();
            return wrong(format!("{name} needs at least {least} bytes (got {length})"));
        }
        let secret = secret.to_vec();
        Ok(SignatureKey {
            id: None,
            algorithms: vec![algorithm],
            may_verify: true,
            private: Some(PrivatePart::Secret(secret.clone())),
            public: PublicPart::Secret(secret),
        })
    }

    /// A key pair, or a public key, from a PEM file: `PRIVATE KEY` (PKCS #8), `RSA PRIVATE KEY`
    /// (PKCS #1) or `PUBLIC KEY` (RFC 5280).
    ///
    /// # Errors
    /// Another kind of file, or a key of another kind than the algorithm's.
    pub fn pem(text: &str, algorithm: SignatureAlgorithm) -> Result<SignatureKey, KeyError> {
        let (public, private) = pem::read(text, algorithm)?;
        public.check_size()?;
        let algorithms = vec![algorithm];
        Ok(SignatureKey { id: None, algorithms, may_verify: true, public, private })
    }

    /// A JSON Web Key (RFC 7517) as its JSON text, for its own algorithm where it names one and
    /// otherwise for those of its type; only allowed ones, where a list is given.
    ///
    /// # Errors
    /// A key for another use (`use`, `key_ops`), a small one, an unknown type, and a key
    /// without an algorithm left.
    pub fn jwk(
        text: &str,
        allowed: Option<&[SignatureAlgorithm]>,
    ) -> Result<SignatureKey, KeyError> {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => SignatureKey::of_members(&members, allowed),
            _ => wrong("a JSON Web Key is a JSON object"),
        }
    }

    pub(super) fn of_members(
        members: &Map<String, Value>,
        allowed: Option<&[SignatureAlgorithm]>,
    ) -> Result<SignatureKey, KeyError> {
        let ReadKey { id, algorithms, may_verify, public, private } = jwk::read(members, allowed)?;
        Ok(SignatureKey { id, algorithms, may_verify, public, private })
    }

    /// The public key as a JSON Web Key; `None` for a secret.
    pub fn public_jwk(&self) -> Option<String> {
        let mut members = jwk::write(&self.public)?;
        members.insert("use".into(), "sig".into());
        if let [algorithm] = self.algorithms[..] {
            members.insert("alg".into(), algorithm.name().into());
        }
        if let Some(id) = &self.id {
            members.insert("kid".into(), id.as_str().into());
        }
        Some(Value::Object(members).to_string())
    }

    pub(super) fn may_be_of(&self, token: &SignedToken<'_>) -> bool {
        let named = match (&self.id, &token.key_id) {
            (Some(own), Some(wanted)) => own == wanted,
            _ => true,
        };
        named && self.may_verify && self.algorithms.contains(&token.algorithm)
    }

    pub(super) fn is_costly(&self) -> bool {
        match &self.public {
            PublicPart::Rsa { modulus, .. } => modulus.len() > CHEAP_MODULUS,
            PublicPart::Point(KeyFamily::P384, _) | PublicPart::P521(_) => true,
            _ => false,
        }
    }
}
