//! Signatures of each kind of key.

use super::error::{KeyError, wrong};
use crate::algorithm::{KeyFamily, SignatureAlgorithm as Algorithm};
use p521::ecdsa::signature::{Signer, Verifier};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{
    self, EcdsaKeyPair, Ed25519KeyPair, RsaEncoding, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// Bytes of an RSA modulus: 2048 to 8192 bits (RFC 7518 section 3.3; the upper bound is ring's).
const SMALLEST_MODULUS: usize = 256;
const LARGEST_MODULUS: usize = 1024;

/// What verifies.
pub(super) enum PublicPart {
    Secret(Vec<u8>),
    /// Big-endian numbers without leading zeros.
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256 or P-384, or the 32 bytes of Ed25519.
    Point(KeyFamily, Vec<u8>),
    P521(Box<p521::ecdsa::VerifyingKey>),
}

/// What signs.
pub(super) enum PrivatePart {
    Secret(Vec<u8>),
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
    P521(Box<p521::ecdsa::SigningKey>),
}

impl PublicPart {
    pub(super) fn family(&self) -> KeyFamily {
        match self {
            PublicPart::Secret(_) => KeyFamily::Secret,
            PublicPart::Rsa { .. } => KeyFamily::Rsa,
            PublicPart::Point(family, _) => *family,
            PublicPart::P521(_) => KeyFamily::P521,
        }
    }

    /// Refuses RSA keys that are too small or too large.
    pub(super) fn check_size(&self) -> Result<(), KeyError> {
        let PublicPart::Rsa { modulus, .. } = self else { return Ok(()) };
        let top = modulus.first().map_or(0, |byte| 8 - byte.leading_zeros() as usize);
        let bits = modulus.len().saturating_sub(1) * 8 + top;
        if (SMALLEST_MODULUS * 8..=LARGEST_MODULUS * 8).contains(&bits) {
            return Ok(());
        }
        let (least, most) = (SMALLEST_MODULUS * 8, LARGEST_MODULUS * 8);
        wrong(format!("an RSA key has from {least} to {most} bits (got {bits})"))
    }

    /// Whether a signature of a message is right. An algorithm of another kind of key never is.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if algorithm.family() != self.family() {
            return false;
        }
        match self {
            PublicPart::Secret(secret) => {
                let key = hmac::Key::new(hash_of(algorithm), secret);
                hmac::verify(&key, message, signature).is_ok()
            }
            PublicPart::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(rsa_check(algorithm), message, signature).is_ok()
            }
            PublicPart::Point(family, point) => {
                let check: &'static dyn VerificationAlgorithm = match family {
                    KeyFamily::P256 => &signature::ECDSA_P256_SHA256_FIXED,
                    KeyFamily::P384 => &signature::ECDSA_P384_SHA384_FIXED,
                    KeyFamily::Ed25519 => &signature::ED25519,
                    _ => return false,
                };
                UnparsedPublicKey::new(check, point).verify(message, signature).is_ok()
            }
            PublicPart::P521(key) => p521::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
        }
    }
}

impl PrivatePart {
    pub(super) fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        let failed = |_| KeyError("the signature cannot be made".into());
        Ok(match self {
            PrivatePart::Secret(secret) => {
                let key = hmac::Key::new(hash_of(algorithm), secret);
                hmac::sign(&key, message).as_ref().to_vec()
            }
            PrivatePart::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(rsa_padding(algorithm), &random, message, &mut signature)
                    .map_err(failed)?;
                signature
            }
            PrivatePart::Ecdsa(pair) => {
                pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()
            }
            PrivatePart::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            PrivatePart::P521(key) => {
                let signature: p521::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
        })
    }
}

fn hash_of(algorithm: Algorithm) -> hmac::Algorithm {
    match algorithm {
        Algorithm::Hs384 => hmac::HMAC_SHA384,
        Algorithm::Hs512 => hmac::HMAC_SHA512,
        _ => hmac::HMAC_SHA256,
    }
}

fn rsa_check(algorithm: Algorithm) -> &'static RsaParameters {
    match algorithm {
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => &signature::RSA_PKCS1_2048_8192_SHA256,
    }
}

fn rsa_padding(algorithm: Algorithm) -> &'static dyn RsaEncoding {
    match algorithm {
        Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
        _ => &signature::RSA_PKCS1_SHA256,
    }
}
