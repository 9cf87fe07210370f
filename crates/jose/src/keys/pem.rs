//! Keys in PEM files (RFC 7468).

use super::der::{BIT_STRING, OBJECT, SEQUENCE, expect, rsa_public_key};
use super::error::{KeyError, wrong};
use super::primitives::{PrivatePart, PublicPart};
use crate::algorithm::{KeyFamily, SignatureAlgorithm};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair,
};

/// Object identifiers of public keys, as DER content: the algorithm, and the curve where there is one.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

type Parts = (PublicPart, Option<PrivatePart>);

/// The key of a file for an algorithm.
pub(super) fn read(text: &str, algorithm: SignatureAlgorithm) -> Result<Parts, KeyError> {
    // Environment variables often hold the lines with `\n` between them.
    let text = text.replace("\\n", "\n");
    let Some((label, content)) = block(&text) else {
        return wrong("this is no PEM file with one key");
    };
    let parts = match label {
        "PRIVATE KEY" | "RSA PRIVATE KEY" => pair(label, &content, algorithm),
        "PUBLIC KEY" => public(&content).map(|public| (public, None)),
        "EC PRIVATE KEY" => {
            return wrong("convert this EC key first: openssl pkcs8 -topk8 -nodes -in KEY");
        }
        _ => return wrong("the PEM file has no PRIVATE KEY or PUBLIC KEY"),
    };
    match parts {
        Some(parts) if parts.0.family() == algorithm.family() => Ok(parts),
        _ => wrong(format!(
            "the key in the PEM file is none for {}, or has a size that is refused",
            algorithm.name()
        )),
    }
}

/// Label and content of the only block.
fn block(text: &str) -> Option<(&str, Vec<u8>)> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, rest) = rest.split_once("-----END ")?;
    let rest = rest.strip_prefix(label)?;
    if rest.contains("-----BEGIN ") {
        return None;
    }
    let body: String = body.split_ascii_whitespace().collect();
    Some((label, STANDARD.decode(body).ok()?))
}

fn pair(label: &str, content: &[u8], algorithm: SignatureAlgorithm) -> Option<Parts> {
    let random = SystemRandom::new();
    match (algorithm.family(), label) {
        (KeyFamily::Rsa, "PRIVATE KEY") => RsaKeyPair::from_pkcs8(content).ok().map(rsa),
        (KeyFamily::Rsa, _) => RsaKeyPair::from_der(content).ok().map(rsa),
        (family @ (KeyFamily::P256 | KeyFamily::P384), "PRIVATE KEY") => {
            let signing = match family {
                KeyFamily::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
                _ => &ECDSA_P384_SHA384_FIXED_SIGNING,
            };
            let pair = EcdsaKeyPair::from_pkcs8(signing, content, &random).ok()?;
            let point = pair.public_key().as_ref().to_vec();
            Some((PublicPart::Point(family, point), Some(PrivatePart::Ecdsa(Box::new(pair)))))
        }
        (KeyFamily::Ed25519, "PRIVATE KEY") => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(content).ok()?;
            let point = pair.public_key().as_ref().to_vec();
            let private = Some(PrivatePart::Ed25519(Box::new(pair)));
            Some((PublicPart::Point(KeyFamily::Ed25519, point), private))
        }
        _ => None,
    }
}

/// Both parts of an RSA key pair.
pub(super) fn rsa(pair: RsaKeyPair) -> Parts {
    let numbers = PublicKeyComponents::<Vec<u8>>::from(pair.public());
    let public = PublicPart::Rsa { modulus: numbers.n, exponent: numbers.e };
    (public, Some(PrivatePart::Rsa(Box::new(pair))))
}

/// A `SubjectPublicKeyInfo` (RFC 5280 section 4.1).
fn public(content: &[u8]) -> Option<PublicPart> {
    let (info, rest) = expect(SEQUENCE, content)?;
    let (identifier, info) = expect(SEQUENCE, info)?;
    let (bits, after) = expect(BIT_STRING, info)?;
    if !rest.is_empty() || !after.is_empty() {
        return None;
    }
    // The first byte counts unused bits.
    let key = bits.strip_prefix(&[0])?;
    let (algorithm, parameters) = expect(OBJECT, identifier)?;
    if algorithm == RSA {
        let (modulus, exponent) = rsa_public_key(key)?;
        return Some(PublicPart::Rsa { modulus, exponent });
    }
    if algorithm == ED25519 {
        return (key.len() == 32).then(|| PublicPart::Point(KeyFamily::Ed25519, key.to_vec()));
    }
    let (curve, _) = (algorithm == EC).then(|| expect(OBJECT, parameters))??;
    match curve {
        curve if curve == P256 => Some(PublicPart::Point(KeyFamily::P256, key.to_vec())),
        curve if curve == P384 => Some(PublicPart::Point(KeyFamily::P384, key.to_vec())),
        curve if curve == P521 => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
            Some(PublicPart::P521(Box::new(key)))
        }
        _ => None,
    }
}
