//! A token in compact serialization (RFC 7515 section 7.1), split and decoded.

use crate::algorithm::SignatureAlgorithm;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Bytes of a token; a longer one is invalid.
pub const LONGEST_TOKEN: usize = 16 * 1024;

/// A token whose signature has not been verified.
pub struct SignedToken<'a> {
    pub(crate) algorithm: SignatureAlgorithm,
    pub(crate) key_id: Option<String>,
    pub(crate) media_type: Option<String>,
    /// The bytes that were signed: header and payload with the dot between them.
    pub(crate) signed: &'a [u8],
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl<'a> SignedToken<'a> {
    /// Splits a token. `None` where it is no token, its algorithm is unknown, or its header asks for
    /// an extension (`crit`, `b64`), because none is known here.
    ///
    /// Keys inside the header (`jwk`, `jku`, `x5c`, `x5u`) are not read: a token says nothing about
    /// its own key but the name `kid`.
    pub fn parse(token: &'a [u8]) -> Option<SignedToken<'a>> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let second = token.iter().rposition(|byte| *byte == b'.')?;
        let signed = token.get(..second)?;
        let first = signed.iter().position(|byte| *byte == b'.')?;
        let payload = signed.get(first + 1..)?;
        if payload.contains(&b'.') {
            return None;
        }
        let header: Value = serde_json::from_slice(&decode(signed.get(..first)?)?).ok()?;
        let header = header.as_object()?;
        if header.contains_key("crit") || header.contains_key("b64") {
            return None;
        }
        Some(SignedToken {
            algorithm: SignatureAlgorithm::named(header.get("alg")?.as_str()?)?,
            key_id: text(header.get("kid"))?,
            media_type: text(header.get("typ"))?,
            signed,
            payload: decode(payload)?,
            signature: decode(token.get(second + 1..)?)?,
        })
    }

    /// The algorithm that the header names.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// Whether the header has this type (RFC 7515 section 4.1.9): without regard to case, and with
    /// or without `application/` in front.
    pub(crate) fn is_of(&self, media_type: &str) -> bool {
        let plain = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.strip_prefix("application/").map_or(name.clone(), str::to_string)
        };
        self.media_type.as_deref().is_some_and(|own| plain(own) == plain(media_type))
    }
}

/// An optional member that is text where it is there; the outer `None` is any other value.
fn text(value: Option<&Value>) -> Option<Option<String>> {
    match value {
        None => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(_) => None,
    }
}

/// Strict base64url: no padding, no other characters, no unused bits (RFC 7515 section 2).
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
