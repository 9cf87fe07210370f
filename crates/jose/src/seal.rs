//! Texts that only their maker can read (sealed), or only their maker can write (signed).
//!
//! A sealed text is AES-256-GCM (NIST SP 800-38D) under a key of its own: HKDF-SHA256 (RFC 5869)
//! derives it from the secret, the purpose and 16 random bytes. Random nonces thereby never collide,
//! however many texts a secret seals:
//!
//! ```text
//! base64url( 1 │ salt 16 │ nonce 12 │ AES-256-GCM( expiry 8 │ text ) │ tag 16 )
//! ```
//!
//! A signed text is readable by its holder: `base64url(JSON) . base64url(HMAC-SHA256)`.

use crate::keys::error::{KeyError, wrong};
use crate::token::{decode, encode};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a sealed or signed text.
pub const LONGEST_SEALED: usize = 64 * 1024;
/// Secrets that are tried in turn.
const MOST_SECRETS: usize = 8;
/// Bytes of a secret.
const SHORTEST_SECRET: usize = 32;
/// Bytes of a purpose.
const LONGEST_PURPOSE: usize = 64;

/// The first byte of a sealed text: the format.
const FORMAT: u8 = 1;
const SALT: usize = 16;
const EXPIRY: usize = 8;
/// Separates keys of this use from others that are derived from the same secret.
const CONTEXT: &[u8] = b"runnel seal 1";

/// What is done to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealMode {
    /// Encrypted and authenticated.
    Sealed,
    /// Readable and authenticated.
    Signed,
}

/// Secrets for one purpose. The first one seals and signs, all of them open and verify: a new secret
/// goes in front, and the old one stays until its texts have expired.
pub struct SealKeys {
    purpose: Vec<u8>,
    keys: Vec<DerivedKeys>,
}

struct DerivedKeys {
    sealing: Prk,
    signing: hmac::Key,
}

impl std::fmt::Debug for SealKeys {
    /// Shows no secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SealKeys").field("count", &self.keys.len()).finish_non_exhaustive()
    }
}

impl SealKeys {
    /// The keys of secrets for a purpose. Texts of another purpose do not open.
    ///
    /// # Errors
    /// No secret, too many or too short ones, or a purpose that is too long.
    pub fn new(secrets: &[&[u8]], purpose: &str) -> Result<SealKeys, KeyError> {
        if secrets.is_empty() || secrets.len() > MOST_SECRETS {
            return wrong(format!("from 1 to {MOST_SECRETS} keys (got {})", secrets.len()));
        }
        if purpose.len() > LONGEST_PURPOSE || purpose.contains('\0') {
            return wrong(format!(
                "a purpose has at most {LONGEST_PURPOSE} bytes, none of them zero"
            ));
        }
        let derive = |secret: &&[u8]| {
            if secret.len() < SHORTEST_SECRET {
                let length = secret.len();
                return wrong(format!("a key has at least {SHORTEST_SECRET} bytes (got {length})"));
            }
            let sealing = Salt::new(HKDF_SHA256, CONTEXT).extract(secret);
            let signing = derived(&sealing, &[b"sign\0", purpose.as_bytes()])?;
            Ok(DerivedKeys { sealing, signing: hmac::Key::new(hmac::HMAC_SHA256, &signing) })
        };
        let keys = secrets.iter().map(derive).collect::<Result<_, _>>()?;
        Ok(SealKeys { purpose: purpose.as_bytes().to_vec(), keys })
    }

    /// Seals or signs a JSON text until a time in seconds since 1970, as URL-safe text.
    ///
    /// # Errors
    /// A result longer than [`LONGEST_SEALED`], or no random bytes from the system.
    pub fn close(&self, mode: SealMode, json: &str, expiry: u64) -> Result<String, KeyError> {
        let Some(keys) = self.keys.first() else { return wrong("there is no key") };
        let text = match mode {
            SealMode::Sealed => self.seal(keys, json, expiry)?,
            SealMode::Signed => sign(keys, json, expiry),
        };
        match text.len() <= LONGEST_SEALED {
            true => Ok(text),
            false => wrong(format!(
                "the value is too large: {} bytes, and at most {LONGEST_SEALED}",
                text.len()
            )),
        }
    }

    /// The JSON text of what [`SealKeys::close`] made in the same mode, before its expiry; `None`
    /// for anything else.
    pub fn open(&self, mode: SealMode, text: &[u8], now: u64) -> Option<String> {
        if text.len() > LONGEST_SEALED {
            return None;
        }
        let (json, expiry) = match mode {
            SealMode::Sealed => self.unseal(text)?,
            SealMode::Signed => self.verify(text)?,
        };
        (now < expiry).then_some(json)
    }

    /// The key of one sealed text.
    fn text_key(&self, keys: &DerivedKeys, salt: &[u8]) -> Result<LessSafeKey, KeyError> {
        let key = derived(&keys.sealing, &[b"seal\0", &self.purpose, b"\0", salt])?;
        match UnboundKey::new(&AES_256_GCM, &key) {
            Ok(key) => Ok(LessSafeKey::new(key)),
            Err(_) => wrong("the key cannot be used"),
        }
    }

    fn seal(&self, keys: &DerivedKeys, json: &str, expiry: u64) -> Result<String, KeyError> {
        let mut random = [0; SALT + NONCE_LEN];
        let failed = |_| KeyError("the system gives no random bytes".into());
        SystemRandom::new().fill(&mut random).map_err(failed)?;
        let (salt, nonce) = random.split_at(SALT);
        let failed = |_| KeyError("the text cannot be sealed".into());
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(failed)?;
        let mut text = [&expiry.to_be_bytes()[..], json.as_bytes()].concat();
        self.text_key(keys, salt)?
            .seal_in_place_append_tag(nonce, Aad::from([FORMAT]), &mut text)
            .map_err(failed)?;
        Ok(encode(&[&[FORMAT][..], &random, &text].concat()))
    }

    fn unseal(&self, text: &[u8]) -> Option<(String, u64)> {
        let bytes = decode(text)?;
        let rest = bytes.strip_prefix(&[FORMAT])?;
        let (salt, rest) = rest.split_at_checked(SALT)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN)?;
        self.keys.iter().find_map(|keys| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut sealed = sealed.to_vec();
            let key = self.text_key(keys, salt).ok()?;
            let plain = key.open_in_place(nonce, Aad::from([FORMAT]), &mut sealed).ok()?;
            let (expiry, json) = plain.split_first_chunk::<EXPIRY>()?;
            Some((String::from_utf8(json.to_vec()).ok()?, u64::from_be_bytes(*expiry)))
        })
    }

    fn verify(&self, text: &[u8]) -> Option<(String, u64)> {
        let dot = text.iter().position(|byte| *byte == b'.')?;
        let (content, code) = text.split_at_checked(dot)?;
        let code = decode(code.strip_prefix(b".")?)?;
        let mut keys = self.keys.iter();
        keys.find(|keys| hmac::verify(&keys.signing, content, &code).is_ok())?;
        let content = String::from_utf8(decode(content)?).ok()?;
        let (expiry, value) = content.strip_prefix("{\"exp\":")?.split_once(",\"value\":")?;
        Some((value.strip_suffix('}')?.to_string(), expiry.parse().ok()?))
    }
}

fn derived(key: &Prk, info: &[&[u8]]) -> Result<[u8; 32], KeyError> {
    let mut bytes = [0; 32];
    match key.expand(info, HKDF_SHA256).and_then(|material| material.fill(&mut bytes)) {
        Ok(()) => Ok(bytes),
        Err(_) => wrong("the key cannot be derived"),
    }
}

fn sign(keys: &DerivedKeys, json: &str, expiry: u64) -> String {
    let content = encode(format!("{{\"exp\":{expiry},\"value\":{json}}}").as_bytes());
    let code = encode(hmac::sign(&keys.signing, content.as_bytes()).as_ref());
    format!("{content}.{code}")
}
