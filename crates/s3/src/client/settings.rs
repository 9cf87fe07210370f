//! What a program, the environment and the profile say together.

use crate::client::credentials::Credentials;
use crate::client::options::S3Options;
use crate::client::profile::Profile;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use runnel_store::{Error, Kind, Result};
use url::Url;

/// All but the unreserved characters, as signatures want it (AWS Signature Version 4).
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const STRICT_PATH: &AsciiSet = &STRICT.remove(b'/');

/// The endpoint of requests and their credentials.
pub(crate) struct S3Settings {
    pub(crate) region: String,
    pub(crate) credentials: Credentials,
    endpoint: Option<Url>,
    path_style: bool,
}

impl S3Settings {
    /// Asks the options first, then the environment, then the profile.
    pub(crate) fn find(options: &S3Options) -> Result<S3Settings> {
        let profile = Profile::read(options)?;
        let region = options
            .region
            .clone()
            .or_else(|| options.variable("AWS_REGION"))
            .or_else(|| options.variable("AWS_DEFAULT_REGION"))
            .or_else(|| profile.value("region"))
            .unwrap_or_else(|| "us-east-1".into());
        if region.is_empty()
            || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            let region = region.escape_debug();
            return Err(Error::new(Kind::Invalid, format!("`{region}` is no name of a region")));
        }
        let endpoint = options
            .endpoint
            .clone()
            .or_else(|| options.variable("AWS_ENDPOINT_URL_S3"))
            .or_else(|| options.variable("AWS_ENDPOINT_URL"))
            .or_else(|| profile.value("endpoint_url"));
        let endpoint = endpoint.map(|address| endpoint_of(&address)).transpose()?;
        let path_style = options
            .path_style
            .or_else(|| options.flag("AWS_S3_FORCE_PATH_STYLE"))
            .unwrap_or(endpoint.is_some());
        let credentials = Credentials::find(options, &profile, &region)?;
        Ok(S3Settings { region, credentials, endpoint, path_style })
    }

    /// The address of a bucket, of a key in it, or of the server, with a query. It is the same
    /// text for the signature and for the request.
    pub(crate) fn address(
        &self,
        bucket: Option<&str>,
        key: &str,
        query: &[(&str, &str)],
    ) -> Result<Url> {
        let base = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => {
                let ending = if self.region.starts_with("cn-") { ".cn" } else { "" };
                endpoint_of(&format!("https://s3.{}.amazonaws.com{ending}", self.region))?
            }
        };
        let mut address = base.clone();
        let mut path = base.path().trim_end_matches('/').to_string();
        if let Some(bucket) = bucket {
            // A certificate for `*.host` does not cover a name with dots.
            let in_path = self.path_style || (bucket.contains('.') && base.scheme() == "https");
            if in_path {
                path.push('/');
                path.push_str(bucket);
            } else {
                let host = format!("{bucket}.{}", base.host_str().unwrap_or_default());
                address.set_host(Some(&host)).map_err(|_| {
                    let message = format!("the bucket {bucket} cannot stand in the host's name");
                    Error::new(Kind::Invalid, message)
                })?;
            }
        }
        path.push('/');
        path.extend(utf8_percent_encode(key, STRICT_PATH));
        address.set_path(&path);
        if !query.is_empty() {
            let parts: Vec<String> = query
                .iter()
                .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, STRICT)))
                .collect();
            address.set_query(Some(&parts.join("&")));
        }
        Ok(address)
    }

    /// What the server is called in graphs and logs.
    pub(crate) fn host(&self) -> String {
        let host = self.endpoint.as_ref().and_then(Url::host_str);
        host.map_or_else(|| format!("amazonaws.com {}", self.region), String::from)
    }
}

/// An object as the source of a copy.
pub(crate) fn copy_source(bucket: &str, key: &str) -> String {
    format!("/{bucket}/{}", utf8_percent_encode(key, STRICT_PATH))
}

fn endpoint_of(address: &str) -> Result<Url> {
    let parsed = Url::parse(address.trim());
    let fits = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    // The address itself is not repeated: it could hold a password.
    parsed.ok().filter(fits).ok_or_else(|| {
        let message = "the endpoint of S3 is no address; write one like http://127.0.0.1:9000";
        Error::new(Kind::Invalid, message)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn settings(variables: &'static [(&'static str, &'static str)]) -> Result<S3Settings> {
        let variable = move |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        S3Settings::find(&S3Options {
            key: Some("key".into()),
            secret: Some("secret".into()),
            variable: Rc::new(variable),
            ..S3Options::default()
        })
    }

    fn address(variables: &'static [(&'static str, &'static str)], bucket: &str) -> String {
        let settings = settings(variables).unwrap();
        settings.address(Some(bucket), "a b/ü+%~", &[]).unwrap().to_string()
    }

    #[test]
    fn buckets_stand_in_the_host_or_in_the_path() {
        let path = "a%20b/%C3%BC%2B%25~";
        for (variables, bucket, expected) in [
            (&[][..], "cats", "https://cats.s3.us-east-1.amazonaws.com/"),
            (&[("AWS_REGION", "eu-west-1")], "cats", "https://cats.s3.eu-west-1.amazonaws.com/"),
            (
                &[("AWS_DEFAULT_REGION", "cn-north-1")],
                "cats",
                "https://cats.s3.cn-north-1.amazonaws.com.cn/",
            ),
            (&[], "a.cat", "https://s3.us-east-1.amazonaws.com/a.cat/"),
            (
                &[("AWS_S3_FORCE_PATH_STYLE", "true")],
                "cats",
                "https://s3.us-east-1.amazonaws.com/cats/",
            ),
            (
                &[("AWS_ENDPOINT_URL", "http://localhost:9000")],
                "cats",
                "http://localhost:9000/cats/",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL_S3", "https://s3.example/base/"),
                    ("AWS_ENDPOINT_URL", "http://x"),
                ],
                "cats",
                "https://s3.example/base/cats/",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "http://localhost:9000"),
                    ("AWS_S3_FORCE_PATH_STYLE", "false"),
                ],
                "cats",
                "http://cats.localhost:9000/",
            ),
        ] {
            assert_eq!(address(variables, bucket), format!("{expected}{path}"));
        }
    }

    #[test]
    fn queries_are_escaped_strictly() {
        let settings = settings(&[("AWS_ENDPOINT_URL", "http://h")]).unwrap();
        let query = [("list-type", "2"), ("prefix", "a b/ü+&=")];
        let address = settings.address(None, "", &query).unwrap();
        assert_eq!(address.as_str(), "http://h/?list-type=2&prefix=a%20b%2F%C3%BC%2B%26%3D");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in ["", "x", "ftp://h", "http://", "http://u:secret@h/", "http://h/?a", "//h"] {
            let error = endpoint_of(address).unwrap_err();
            assert_eq!(error.kind, Kind::Invalid);
            assert!(!error.to_string().contains("secret"));
        }
        let region = settings(&[("AWS_REGION", "evil.example/")]).err().unwrap();
        assert_eq!(region.kind, Kind::Invalid);
    }
}
