//! Presigned addresses: one request without credentials.

use crate::client::credentials::signer;
use crate::client::settings::S3Settings;
use crate::signature::presigned::LONGEST_VALIDITY;
use crate::signature::time::SigningTime;
use http::{Method, Uri};
use runnel_store::{Error, Kind, Result, Verb};
use std::time::{Duration, SystemTime};

/// An address with which anyone may get, put or delete an object of a bucket, until the validity
/// ends: from a second to a week. Requests without credentials get the plain address.
///
/// # Errors
/// [`Kind::Invalid`] for another verb or validity; [`Kind::Denied`] where credentials cannot be read.
pub(crate) async fn presign(
    settings: &S3Settings,
    verb: Verb,
    (bucket, key): (&str, &str),
    validity: Duration,
) -> Result<String> {
    let invalid = |message: &str| Error::new(Kind::Invalid, message);
    let method = match verb {
        Verb::Get => Method::GET,
        Verb::Put => Method::PUT,
        Verb::Delete => Method::DELETE,
        _ => return Err(invalid("a presigned address is for get, put or delete")),
    };
    let seconds = u32::try_from(validity.as_secs()).unwrap_or(u32::MAX);
    if !(1..=LONGEST_VALIDITY).contains(&i64::from(seconds)) {
        return Err(invalid("a presigned address is valid from a second to 7 days"));
    }
    let address = settings.address(Some(bucket), key, &[])?;
    let Some(credential) = settings.credentials.now().await? else {
        return Ok(address.into());
    };
    let uri: Uri = address
        .as_str()
        .parse()
        .map_err(|_| invalid("the endpoint or the key cannot be part of an address"))?;
    let time = SigningTime::of(SystemTime::now());
    let query = signer(&credential, &settings.region)
        .presign(&method, &uri, &time, seconds)
        .map_err(|_| invalid("the host of the endpoint cannot stand in a header"))?;
    Ok(format!("{address}?{query}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::options::S3Options;
    use crate::server::access::users::Users;
    use crate::server::options::S3User;
    use crate::signature::verify::{SignedHead, verify};
    use futures_util::FutureExt;
    use http::{HeaderMap, HeaderValue};

    fn settings() -> S3Settings {
        let options = S3Options {
            endpoint: Some("http://h:9000".into()),
            key: Some("key".into()),
            secret: Some("secret".into()),
            ..S3Options::default()
        };
        S3Settings::find(&options).unwrap()
    }

    #[test]
    fn a_server_accepts_a_presigned_address() {
        let minute = Duration::from_secs(60);
        let settings = settings();
        let asked = presign(&settings, Verb::Put, ("cats", "a b/ü+&?.jpg"), minute);
        let address = asked.now_or_never().unwrap().unwrap();
        assert!(address.starts_with("http://h:9000/cats/a%20b/%C3%BC%2B%26%3F.jpg?X-Amz-"));
        let uri: Uri = address.parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h:9000"));
        let head = SignedHead { method: &Method::PUT, uri: &uri, headers: &headers };
        let users = Users::new(&[S3User::new("key", "secret")], "us-east-1");
        let found = verify(&head, &users, SystemTime::now()).unwrap();
        assert_eq!(found.requester.key(), Some("key"));
    }

    #[test]
    fn other_verbs_and_times_are_refused() {
        let settings = settings();
        for (verb, seconds) in [(Verb::List, 60), (Verb::Get, 0), (Verb::Get, 604_801)] {
            let asked = presign(&settings, verb, ("cats", "a"), Duration::from_secs(seconds));
            assert_eq!(asked.now_or_never().unwrap().unwrap_err().kind, Kind::Invalid);
        }
    }
}
