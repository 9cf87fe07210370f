//! The signer: signs requests of a client, and addresses.

use crate::signature::canonical::{CanonicalRequest, PathForm, string_to_sign};
use crate::signature::key::{SigningKey, scope};
use crate::signature::presigned;
use crate::signature::time::SigningTime;
use crate::signature::{ALGORITHM, UNSIGNED_PAYLOAD};
use http::header::{self, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use http::{Method, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Signs with the keys of a user for a region.
#[derive(Clone, Copy)]
pub(crate) struct Signer<'a> {
    pub(crate) access_key: &'a str,
    pub(crate) secret: &'a str,
    /// The session of temporary keys.
    pub(crate) token: Option<&'a str>,
    pub(crate) region: &'a str,
}

/// What is signed besides the headers.
#[derive(Clone, Copy)]
pub(crate) struct SignedTarget<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    /// The SHA-256 of the body as hexadecimal digits, or what stands for it.
    pub(crate) payload: &'a str,
}

impl Signer<'_> {
    /// Signs a request: adds its host, time, payload and signature to the headers. Signed are those
    /// of S3, the host and the media type; others may change on the way.
    pub(crate) fn sign(
        &self,
        target: SignedTarget,
        headers: &mut HeaderMap,
        time: &SigningTime,
    ) -> Result<(), InvalidHeaderValue> {
        headers.insert(header::HOST, HeaderValue::from_str(host(target.uri))?);
        let names = ["x-amz-date", "x-amz-content-sha256"].map(HeaderName::from_static);
        for (name, value) in names.into_iter().zip([time.text(), target.payload]) {
            headers.insert(name, HeaderValue::from_str(value)?);
        }
        if let Some(token) = self.token {
            let mut token = HeaderValue::from_str(token)?;
            token.set_sensitive(true);
            headers.insert("x-amz-security-token", token);
        }
        let names = headers.keys().map(HeaderName::as_str);
        let is_signed =
            |name: &&str| name.starts_with("x-amz-") || matches!(*name, "host" | "content-type");
        let mut names: Vec<&str> = names.filter(is_signed).collect();
        names.sort_unstable();
        let signed = names.join(";");
        let query = target.uri.query().unwrap_or_default();
        let signature = self.signature(target, query, headers, &signed, time);
        let scope = scope(time.date(), self.region);
        let authorization = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
            self.access_key
        );
        let mut authorization = HeaderValue::from_str(&authorization)?;
        authorization.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, authorization);
        Ok(())
    }

    /// The query of a presigned address, valid for a number of seconds for anyone. The query of the
    /// target stays a part of it.
    pub(crate) fn presign(
        &self,
        method: &Method,
        uri: &Uri,
        time: &SigningTime,
        validity: u32,
    ) -> Result<String, InvalidHeaderValue> {
        let mut query = uri.query().unwrap_or_default().to_string();
        let mut push = |name: &str, value: &str| {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(name);
            query.push('=');
            query.extend(utf8_percent_encode(value, STRICT));
        };
        let scope = scope(time.date(), self.region);
        push("X-Amz-Algorithm", ALGORITHM);
        push("X-Amz-Credential", &format!("{}/{scope}", self.access_key));
        push("X-Amz-Date", time.text());
        push("X-Amz-Expires", &validity.to_string());
        if let Some(token) = self.token {
            push("X-Amz-Security-Token", token);
        }
        push("X-Amz-SignedHeaders", "host");
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host(uri))?);
        let target = SignedTarget { method, uri, payload: UNSIGNED_PAYLOAD };
        let signature = self.signature(target, &query, &headers, "host", time);
        Ok(format!("{query}&{}={signature}", presigned::SIGNATURE))
    }

    fn signature(
        &self,
        target: SignedTarget,
        query: &str,
        headers: &HeaderMap,
        signed: &str,
        time: &SigningTime,
    ) -> String {
        let canonical = CanonicalRequest {
            method: target.method,
            path: target.uri.path(),
            query,
            headers,
            signed,
            payload: target.payload,
        };
        let scope = scope(time.date(), self.region);
        let to_sign = string_to_sign(time, &scope, &canonical.text(PathForm::Sent));
        SigningKey::derive(self.secret, time.date(), self.region).sign(to_sign.as_bytes())
    }
}

/// The host of an address with its port, as it is sent.
fn host(uri: &Uri) -> &str {
    uri.authority().map_or("", |authority| authority.as_str())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::signature::EMPTY_HASH;

    const SIGNER: Signer = Signer {
        access_key: "AKIAIOSFODNN7EXAMPLE",
        secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        token: None,
        region: "us-east-1",
    };

    fn time() -> SigningTime {
        SigningTime::parse("20130524T000000Z").unwrap()
    }

    /// The examples of "Signature Calculations for the Authorization Header".
    #[test]
    fn signatures_are_those_of_the_examples() {
        for (address, expected) in [
            (
                "https://examplebucket.s3.amazonaws.com/?lifecycle",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let uri: Uri = address.parse().unwrap();
            let target = SignedTarget { method: &Method::GET, uri: &uri, payload: EMPTY_HASH };
            let mut headers = HeaderMap::new();
            SIGNER.sign(target, &mut headers, &time()).unwrap();
            let authorization = headers["authorization"].to_str().unwrap();
            assert!(authorization.ends_with(expected), "{authorization}");
        }
    }

    /// The example of "Authenticating Requests: Using Query Parameters".
    #[test]
    fn addresses_are_presigned_as_in_the_example() {
        let uri: Uri = "https://examplebucket.s3.amazonaws.com/test.txt".parse().unwrap();
        let query = SIGNER.presign(&Method::GET, &uri, &time(), 86_400).unwrap();
        assert_eq!(
            query,
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524\
             %2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&\
             X-Amz-SignedHeaders=host&X-Amz-Signature=\
             aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        );
    }
}
