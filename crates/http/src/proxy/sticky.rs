//! Sticky sessions: a cookie that says which upstream a client has, without its address.

use super::options::StickySessions;
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_store::{Result, fill_random};
use sha1::{Digest, Sha1};
use std::sync::OnceLock;

/// The name of the cookie.
const NAME: &str = "upstream";
/// The length of its value: 80 bits in hexadecimal digits.
const TAG: usize = 20;
/// The block of SHA-1, in bytes.
const BLOCK: usize = 64;

/// The tags of the upstreams, in their order.
pub(super) struct StickyCookie {
    tags: Vec<String>,
}

impl StickyCookie {
    /// `None` without sticky sessions.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn new(sessions: &StickySessions, upstreams: &[String]) -> Result<Option<Self>> {
        let key = match sessions {
            StickySessions::Off => return Ok(None),
            StickySessions::On => process_key()?.to_vec(),
            StickySessions::Secret(secret) => secret.as_bytes().to_vec(),
        };
        let tags = upstreams.iter().map(|upstream| tag(&key, upstream.as_bytes())).collect();
        Ok(Some(StickyCookie { tags }))
    }

    /// The upstream that a request names.
    pub(super) fn upstream(&self, headers: &HeaderMap) -> Option<usize> {
        let lines = headers.get_all(header::COOKIE).iter();
        let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
        let value = pairs
            .find_map(|pair| pair.trim_ascii().strip_prefix(NAME.as_bytes())?.strip_prefix(b"="))?;
        self.tags.iter().position(|tag| tag.as_bytes() == value)
    }

    /// Gives the client a cookie for this upstream.
    pub(super) fn set(&self, upstream: usize, is_secure: bool, headers: &mut HeaderMap) {
        let Some(tag) = self.tags.get(upstream) else { return };
        let secure = if is_secure { "; Secure" } else { "" };
        let text = format!("{NAME}={tag}; Path=/; HttpOnly; SameSite=Lax{secure}");
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.append(header::SET_COOKIE, value);
        }
    }
}

/// The key of this process, for proxies without a secret.
fn process_key() -> Result<&'static [u8; 32]> {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(key);
    }
    let mut key = [0; 32];
    fill_random(&mut key)?;
    Ok(KEY.get_or_init(|| key))
}

/// The tag of an upstream: the beginning of its HMAC (RFC 2104) with SHA-1, which is a pseudorandom
/// function whatever its collisions.
fn tag(key: &[u8], upstream: &[u8]) -> String {
    let mut block = [0; BLOCK];
    match key.len() {
        0..=BLOCK => block[..key.len()].copy_from_slice(key),
        _ => block[..20].copy_from_slice(&Sha1::digest(key)),
    }
    let inner = Sha1::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(upstream);
    let outer = Sha1::new().chain_update(block.map(|byte| byte ^ 0x5c));
    let code = outer.chain_update(inner.finalize()).finalize();
    code.iter().take(TAG / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_hmac() {
        // RFC 2202, test cases 2 and 6.
        assert_eq!(tag(b"Jefe", b"what do ya want for nothing?"), "effcdf6ae5eb2fa2d274");
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(tag(&[0xaa; 80], text), "aa4ae5e15272d00e9570");
    }

    #[test]
    fn a_cookie_names_its_upstream_and_nothing_else() {
        let to = ["http://10.0.0.1".to_string(), "http://10.0.0.2".to_string()];
        let sticky = StickyCookie::new(&StickySessions::On, &to).unwrap().unwrap();
        let mut headers = HeaderMap::new();
        sticky.set(1, true, &mut headers);
        let set = headers[header::SET_COOKIE].to_str().unwrap().to_string();
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure") && !set.contains("10.0"));
        let mut request = HeaderMap::new();
        let pair = format!("a=b; {}; upstreams=x", set.split(';').next().unwrap());
        request.insert(header::COOKIE, HeaderValue::try_from(pair).unwrap());
        assert_eq!(sticky.upstream(&request), Some(1));
        request.insert(header::COOKIE, HeaderValue::from_static("upstream=0000"));
        assert_eq!(sticky.upstream(&request), None);
    }
}
