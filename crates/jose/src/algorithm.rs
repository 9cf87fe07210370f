//! Signature algorithms (RFC 7518 section 3, RFC 8037, RFC 9864).

/// What signs a token. `none` is no member, so that nothing unsigned can be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SignatureAlgorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

use SignatureAlgorithm::{
    EdDsa, Es256, Es384, Es512, Hs256, Hs384, Hs512, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512,
};

/// The names in headers and keys, case-sensitive.
const NAMES: [(&str, SignatureAlgorithm); 13] = [
    ("HS256", Hs256),
    ("HS384", Hs384),
    ("HS512", Hs512),
    ("RS256", Rs256),
    ("RS384", Rs384),
    ("RS512", Rs512),
    ("PS256", Ps256),
    ("PS384", Ps384),
    ("PS512", Ps512),
    ("ES256", Es256),
    ("ES384", Es384),
    ("ES512", Es512),
    ("EdDSA", EdDsa),
];

/// The kind of key that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFamily {
    Secret,
    Rsa,
    P256,
    P384,
    P521,
    Ed25519,
}

impl SignatureAlgorithm {
    /// The algorithm of a name in a header. `Ed25519` (RFC 9864) is `EdDSA` with the only curve that
    /// is known here.
    pub fn named(name: &str) -> Option<SignatureAlgorithm> {
        if name == "Ed25519" {
            return Some(EdDsa);
        }
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    /// The name in a header.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }

    /// Whether the key is a secret that both sides hold.
    pub fn is_symmetric(self) -> bool {
        self.family() == KeyFamily::Secret
    }

    pub(crate) fn family(self) -> KeyFamily {
        match self {
            Hs256 | Hs384 | Hs512 => KeyFamily::Secret,
            Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512 => KeyFamily::Rsa,
            Es256 => KeyFamily::P256,
            Es384 => KeyFamily::P384,
            Es512 => KeyFamily::P521,
            EdDsa => KeyFamily::Ed25519,
        }
    }

    /// All algorithms of a kind of key.
    pub(crate) fn of_family(family: KeyFamily) -> Vec<SignatureAlgorithm> {
        let all = NAMES.iter().map(|(_, algorithm)| *algorithm);
        all.filter(|algorithm| algorithm.family() == family).collect()
    }

    /// Bytes that a secret needs at least: as many as the hash has (RFC 7518 section 3.2).
    pub(crate) fn shortest_secret(self) -> usize {
        match self {
            Hs384 => 48,
            Hs512 => 64,
            _ => 32,
        }
    }
}
