//! JSON Web Keys (RFC 7517, RFC 7518 section 6, RFC 8037 section 2).

use super::der::without_zeros;
use super::error::{KeyError, wrong};
use super::pem;
use super::primitives::{PrivatePart, PublicPart};
use crate::algorithm::{KeyFamily, SignatureAlgorithm};
use crate::token::{decode, encode};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
};
use serde_json::{Map, Value};

type Members = Map<String, Value>;

/// What stands in a JSON Web Key.
pub(super) struct ReadKey {
    pub(super) id: Option<String>,
    pub(super) algorithms: Vec<SignatureAlgorithm>,
    pub(super) may_verify: bool,
    pub(super) public: PublicPart,
    pub(super) private: Option<PrivatePart>,
}

/// The key of an object.
pub(super) fn read(
    members: &Members,
    allowed: Option<&[SignatureAlgorithm]>,
) -> Result<ReadKey, KeyError> {
    if members.get("use").is_some_and(|used| used.as_str() != Some("sig")) {
        return wrong("the `use` of the key is not \"sig\"");
    }
    let (may_verify, may_sign) = operations(members)?;
    let (public, private) = parts(members)?;
    public.check_size()?;
    let mut algorithms = SignatureAlgorithm::of_family(public.family());
    if let Some(own) = members.get("alg") {
        let own = own.as_str().and_then(named);
        algorithms.retain(|algorithm| Some(*algorithm) == own);
    }
    if let Some(allowed) = allowed {
        algorithms.retain(|algorithm| allowed.contains(algorithm));
    }
    if let PublicPart::Secret(secret) = &public {
        algorithms.retain(|algorithm| secret.len() >= algorithm.shortest_secret());
    }
    if algorithms.is_empty() {
        return wrong("the key is for none of the algorithms, or too short for them");
    }
    let private = private.filter(|_| may_sign);
    if !may_verify && private.is_none() {
        return wrong("the `key_ops` of the key allow neither \"verify\" nor \"sign\"");
    }
    let id = match members.get("kid") {
        None => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return wrong("the `kid` of the key is no text"),
    };
    Ok(ReadKey { id, algorithms, may_verify, public, private })
}

/// An algorithm in a key. `ES521`, a frequent slip, can only mean the algorithm of that curve.
fn named(name: &str) -> Option<SignatureAlgorithm> {
    SignatureAlgorithm::named(if name == "ES521" { "ES512" } else { name })
}

/// Whether the key may verify and sign, as `key_ops` says.
fn operations(members: &Members) -> Result<(bool, bool), KeyError> {
    match members.get("key_ops") {
        None => Ok((true, true)),
        Some(Value::Array(operations)) => {
            let has = |name: &str| operations.iter().any(|one| one.as_str() == Some(name));
            Ok((has("verify"), has("sign")))
        }
        Some(_) => wrong("the `key_ops` of the key are no array"),
    }
}

/// The bytes of a member.
fn bytes(members: &Members, name: &str) -> Result<Vec<u8>, KeyError> {
    match members.get(name).and_then(Value::as_str).and_then(|text| decode(text.as_bytes())) {
        Some(bytes) => Ok(bytes),
        None => wrong(format!("the `{name}` of the key is missing or no base64url")),
    }
}

/// The bytes of a member that has a fixed size.
fn sized(members: &Members, name: &str, size: usize) -> Result<Vec<u8>, KeyError> {
    let bytes = bytes(members, name)?;
    match bytes.len() == size {
        true => Ok(bytes),
        false => wrong(format!("the `{name}` of the key has {size} bytes (got {})", bytes.len())),
    }
}

fn parts(members: &Members) -> Result<(PublicPart, Option<PrivatePart>), KeyError> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    match (text("kty"), text("crv")) {
        (Some("oct"), _) => {
            let secret = bytes(members, "k")?;
            Ok((PublicPart::Secret(secret.clone()), Some(PrivatePart::Secret(secret))))
        }
        (Some("RSA"), _) => rsa(members),
        (Some("EC"), Some("P-256")) => point(members, KeyFamily::P256, 32),
        (Some("EC"), Some("P-384")) => point(members, KeyFamily::P384, 48),
        (Some("EC"), Some("P-521")) => p521(members),
        (Some("OKP"), Some("Ed25519")) => ed25519(members),
        _ => wrong("the key is of an unknown type: `kty` and `crv` name no kind that is known"),
    }
}

fn rsa(members: &Members) -> Result<(PublicPart, Option<PrivatePart>), KeyError> {
    let number = |name: &str| bytes(members, name).map(|bytes| without_zeros(&bytes).to_vec());
    let (n, e) = (number("n")?, number("e")?);
    if !members.contains_key("d") {
        return Ok((PublicPart::Rsa { modulus: n, exponent: e }, None));
    }
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n, e },
        d: number("d")?,
        p: number("p")?,
        q: number("q")?,
        dP: number("dp")?,
        dQ: number("dq")?,
        qInv: number("qi")?,
    };
    match RsaKeyPair::from_components(&components) {
        Ok(pair) => Ok(pem::rsa(pair)),
        Err(_) => wrong("the private RSA key is wrong, or larger than 4096 bits"),
    }
}

fn point(
    members: &Members,
    family: KeyFamily,
    size: usize,
) -> Result<(PublicPart, Option<PrivatePart>), KeyError> {
    let (x, y) = (sized(members, "x", size)?, sized(members, "y", size)?);
    // SEC 1 section 2.3.3: 4 is an uncompressed point.
    let point = [&[4], &x[..], &y[..]].concat();
    let mut private = None;
    if members.contains_key("d") {
        let secret = sized(members, "d", size)?;
        let signing = match family {
            KeyFamily::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            _ => &ECDSA_P384_SHA384_FIXED_SIGNING,
        };
        let random = SystemRandom::new();
        match EcdsaKeyPair::from_private_key_and_public_key(signing, &secret, &point, &random) {
            Ok(pair) => private = Some(PrivatePart::Ecdsa(Box::new(pair))),
            Err(_) => return wrong("the private key does not belong to the public one"),
        }
    }
    Ok((PublicPart::Point(family, point), private))
}

fn p521(members: &Members) -> Result<(PublicPart, Option<PrivatePart>), KeyError> {
    let (x, y) = (sized(members, "x", 66)?, sized(members, "y", 66)?);
    let point = [&[4], &x[..], &y[..]].concat();
    let Ok(public) = p521::ecdsa::VerifyingKey::from_sec1_bytes(&point) else {
        return wrong("the key is no point of P-521");
    };
    let mut private = None;
    if members.contains_key("d") {
        match p521::ecdsa::SigningKey::from_slice(&sized(members, "d", 66)?) {
            Ok(key) if *key.verifying_key() == public => {
                private = Some(PrivatePart::P521(Box::new(key)));
            }
            _ => return wrong("the private key does not belong to the public one"),
        }
    }
    Ok((PublicPart::P521(Box::new(public)), private))
}

fn ed25519(members: &Members) -> Result<(PublicPart, Option<PrivatePart>), KeyError> {
    let x = sized(members, "x", 32)?;
    let mut private = None;
    if members.contains_key("d") {
        let seed = sized(members, "d", 32)?;
        match Ed25519KeyPair::from_seed_and_public_key(&seed, &x) {
            Ok(pair) => private = Some(PrivatePart::Ed25519(Box::new(pair))),
            Err(_) => return wrong("the private key does not belong to the public one"),
        }
    }
    Ok((PublicPart::Point(KeyFamily::Ed25519, x), private))
}

/// The members of a public key; `None` for a secret.
pub(super) fn write(public: &PublicPart) -> Option<Members> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    match public {
        PublicPart::Secret(_) => return None,
        PublicPart::Rsa { modulus, exponent } => {
            pairs.extend([("kty", "RSA".into()), ("n", encode(modulus)), ("e", encode(exponent))]);
        }
        PublicPart::Point(KeyFamily::Ed25519, point) => {
            pairs.extend([("kty", "OKP".into()), ("crv", "Ed25519".into()), ("x", encode(point))]);
        }
        PublicPart::Point(family, point) => {
            let curve = if *family == KeyFamily::P256 { "P-256" } else { "P-384" };
            pairs.extend(coordinates(curve, point)?);
        }
        PublicPart::P521(key) => {
            pairs.extend(coordinates("P-521", &key.to_sec1_bytes())?);
        }
    }
    Some(pairs.into_iter().map(|(name, text)| (name.to_string(), Value::String(text))).collect())
}

fn coordinates(curve: &str, point: &[u8]) -> Option<[(&'static str, String); 4]> {
    let point = point.strip_prefix(&[4])?;
    let (x, y) = point.split_at_checked(point.len() / 2)?;
    Some([("kty", "EC".into()), ("crv", curve.into()), ("x", encode(x)), ("y", encode(y))])
}
