//! A set of keys: which of them a token may be of, verification, signing.

use super::error::{KeyError, wrong};
use super::primitives::PublicPart;
use super::signature_key::SignatureKey;
use crate::algorithm::SignatureAlgorithm;
use crate::token::{SignedToken, encode};
use serde_json::{Map, Value, json};

/// Keys of a set; more are an error.
pub const MOST_KEYS: usize = 100;
/// Keys that a token without `kid` is tried with.
const MOST_TRIES: usize = 8;

/// What the verification of a token gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Verification {
    /// The signature is right: the payload.
    Valid(Vec<u8>),
    /// Nothing more is said, so that nothing can be learnt from it.
    Invalid,
    /// The token names a key that the set lacks: a newer set may have it.
    UnknownKey,
}

/// Keys that may have signed a token. The first private key also signs.
#[derive(Debug)]
pub struct KeySet(Vec<SignatureKey>);

impl KeySet {
    /// A set of these keys.
    ///
    /// # Errors
    /// No keys, or more than [`MOST_KEYS`].
    pub fn new(keys: Vec<SignatureKey>) -> Result<KeySet, KeyError> {
        match keys.len() {
            0 => wrong("there is no key for these algorithms"),
            1..=MOST_KEYS => Ok(KeySet(keys)),
            count => wrong(format!("a set has at most {MOST_KEYS} keys (got {count})")),
        }
    }

    /// The usable keys of a JSON Web Key Set (RFC 7517 section 5); others are ignored, as are secrets:
    /// a published set has none.
    ///
    /// # Errors
    /// Text of another form, and a set without a usable key.
    pub fn jwks(text: &str, allowed: &[SignatureAlgorithm]) -> Result<KeySet, KeyError> {
        let set: Value = match serde_json::from_str(text) {
            Ok(set) => set,
            Err(_) => return wrong("a JSON Web Key Set is JSON"),
        };
        let Some(Value::Array(keys)) = set.get("keys") else {
            return wrong("a JSON Web Key Set has an array `keys`");
        };
        if keys.len() > MOST_KEYS {
            return wrong(format!("a set has at most {MOST_KEYS} keys (got {})", keys.len()));
        }
        let members = keys.iter().filter_map(Value::as_object);
        let keys =
            members.filter_map(|members| SignatureKey::of_members(members, Some(allowed)).ok());
        KeySet::new(keys.filter(|key| !matches!(key.public, PublicPart::Secret(_))).collect())
    }

    fn candidates<'a>(
        &'a self,
        token: &'a SignedToken<'_>,
    ) -> impl Iterator<Item = &'a SignatureKey> {
        self.0.iter().filter(|key| key.may_be_of(token)).take(MOST_TRIES)
    }

    /// Whether the verification takes longer than an event loop should be held up.
    pub fn is_costly(&self, token: &SignedToken<'_>) -> bool {
        self.candidates(token).any(SignatureKey::is_costly)
    }

    /// Verifies a token with the keys that it may be of. `media_type` is what its header must name as
    /// `typ`, where one is given.
    pub fn verify(
        &self,
        token: SignedToken<'_>,
        allowed: &[SignatureAlgorithm],
        media_type: Option<&str>,
    ) -> Verification {
        if !allowed.contains(&token.algorithm) || media_type.is_some_and(|one| !token.is_of(one)) {
            return Verification::Invalid;
        }
        let verifies = |key: &SignatureKey| {
            key.public.verifies(token.algorithm, token.signed, &token.signature)
        };
        if self.candidates(&token).any(verifies) {
            return Verification::Valid(token.payload);
        }
        let is_known = self.0.iter().any(|key| key.id.is_none() || key.id == token.key_id);
        match token.key_id.is_none() || is_known {
            true => Verification::Invalid,
            false => Verification::UnknownKey,
        }
    }

    /// The algorithms of all keys.
    pub fn algorithms(&self) -> Vec<SignatureAlgorithm> {
        self.0.iter().flat_map(|key| key.algorithms.iter().copied()).collect()
    }

    /// Signs a payload in compact serialization, with the first key that can.
    ///
    /// # Errors
    /// No private key or secret, or no random bytes from the system.
    pub fn sign(&self, payload: &[u8], media_type: Option<&str>) -> Result<String, KeyError> {
        let private = |key: &SignatureKey| key.private.is_some();
        let Some((key, part)) = self
            .0
            .iter()
            .find(|key| private(key))
            .and_then(|key| Some((key, key.private.as_ref()?)))
        else {
            return wrong("this key only verifies: signing needs the private key");
        };
        let [algorithm, ..] = key.algorithms[..] else { return wrong("the key has no algorithm") };
        let mut header = Map::new();
        header.insert("alg".into(), algorithm.name().into());
        if let Some(media_type) = media_type {
            header.insert("typ".into(), media_type.into());
        }
        if let Some(id) = &key.id {
            header.insert("kid".into(), id.as_str().into());
        }
        let header = encode(Value::Object(header).to_string().as_bytes());
        let signed = format!("{header}.{}", encode(payload));
        let signature = part.sign(algorithm, signed.as_bytes())?;
        Ok(format!("{signed}.{}", encode(&signature)))
    }

    /// The public keys as a JSON Web Key Set.
    pub fn public_jwks(&self) -> String {
        let keys: Vec<Value> = (self.0.iter())
            .filter_map(SignatureKey::public_jwk)
            .filter_map(|text| serde_json::from_str(&text).ok())
            .collect();
        json!({ "keys": keys }).to_string()
    }
}
