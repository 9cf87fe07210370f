//! Stores that a program makes with options of its own: `#HTTPStore{ … }`, `#S3Store{ … }`, `#MailServer{ … }`,
//! `#Proxy{ … }`.

use crate::world::certificates::settings_folder;
use runnel_http::{
    CertificateAuthority, ClientOptions, ClientTls, ForwardProxy, PROXY_OPTIONS, ProxyOptions,
};
use runnel_mail::{MailOptions, MailServer};
use runnel_s3::{S3, S3Options};
use runnel_store::{Error, Kind, Reference, Relative, Store, Value, json};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// The store of a kind. The kernel has checked which options there are and what they hold.
pub(crate) fn make(
    kind: &str,
    options: &Value,
    variable: runnel_s3::Variable,
) -> Result<Rc<dyn Store>, Error> {
    match kind {
        "http" => http(options),
        "s3" => s3(options, variable),
        "proxy" => proxy(options),
        "mail" => {
            let option = |name| text(options, name).unwrap_or_default();
            Ok(MailServer::new(&MailOptions { url: option("url"), from: option("from") })?)
        }
        _ => Err(Error::new(Kind::Invalid, format!("there is no store `{kind}`"))),
    }
}

fn text(options: &Value, name: &str) -> Option<String> {
    options.get(name)?.as_str().map(String::from)
}

fn time(options: &Value, name: &str) -> Option<Duration> {
    let seconds = options.get(name)?.as_f64()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn count(options: &Value, name: &str) -> Option<usize> {
    let count = options.get(name)?.as_f64()?;
    Some(count as usize)
}

/// A part of the web, with what each request to it says.
fn http(options: &Value) -> Result<Rc<dyn Store>, Error> {
    let Some(base) = text(options, "base") else {
        let message = "an HTTPStore needs its `base`, such as 'https://api.example.org/v1'";
        return Err(Error::new(Kind::Invalid, message));
    };
    let (scheme, path) = match base.split_once(':') {
        Some((scheme @ ("http" | "https"), path)) if path.starts_with("//") => (scheme, path),
        _ => {
            let message = format!("`{base}` is no web address; write one like https://host/path");
            return Err(Error::new(Kind::Invalid, message));
        }
    };
    let mut headers = Vec::new();
    if let Some(Value::Record(fields)) = options.get("headers") {
        for (name, value) in fields {
            headers.push((name.clone(), value.as_str().unwrap_or_default().to_string()));
        }
    }
    if let Some(token) = text(options, "token") {
        headers.push(("Authorization".into(), format!("Bearer {token}")));
    } else if let Some(user) = text(options, "user") {
        let password = text(options, "password").unwrap_or_default();
        headers.push(("Authorization".into(), basic(&user, &password)));
    }
    let usual = ClientOptions::default();
    let limit = time(options, "timeout");
    let private = options.get("private").and_then(Value::as_bool).unwrap_or(usual.private);
    if let (false, Some(name)) =
        (private, ["socket", "proxy"].into_iter().find(|name| options.get(name).is_some()))
    {
        let message = format!(
            "`private: false` checks the address of each connection, and `{name}` hides it: leave one of them out"
        );
        return Err(Error::new(Kind::Invalid, message));
    }
    let client = runnel_http::client(ClientOptions {
        headers,
        answer_time: limit.unwrap_or(usual.answer_time),
        body_idle: limit.unwrap_or(usual.body_idle),
        socket: text(options, "socket").map(Into::into),
        connections: count(options, "maxConnections").unwrap_or(usual.connections),
        wait: time(options, "poolTimeout").unwrap_or(usual.wait),
        redirects: count(options, "maxRedirects").unwrap_or(usual.redirects),
        tls: tls(options)?,
        http2: options.get("http2").and_then(Value::as_bool).unwrap_or(usual.http2),
        private,
        cookies: options.get("cookies").and_then(Value::as_bool).unwrap_or(usual.cookies),
        proxy: text(options, "proxy").map(|proxy| ForwardProxy::parse(&proxy)).transpose()?,
        ..usual
    });
    let base = Reference::from_path(path.to_string()).with_scheme(scheme.to_string());
    Ok(Rc::new(Relative::new(client, base)))
}

/// Whom a client trusts, and its certificate; none where the options name neither.
fn tls(options: &Value) -> Result<Option<ClientTls>, Error> {
    let invalid = |message: &str| Error::new(Kind::Invalid, message);
    let authority = match text(options, "certificateAuthority").as_deref() {
        None => None,
        Some("local") => {
            let folder = settings_folder()
                .ok_or_else(|| invalid("certificateAuthority: 'local' needs a folder of yours"))?;
            Some(CertificateAuthority::Local { folder })
        }
        Some(path) => Some(CertificateAuthority::File(path.into())),
    };
    let path = |name| text(options, name).map(PathBuf::from);
    let identity = match (path("certificate"), path("key")) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate, key)),
        _ => return Err(invalid("a client certificate has two files: `certificate` and `key`")),
    };
    if authority.is_none() && identity.is_none() {
        return Ok(None);
    }
    let files = identity.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
    ClientTls::load(authority.as_ref(), files).map(Some)
}

/// A reverse proxy.
fn proxy(options: &Value) -> Result<Rc<dyn Store>, Error> {
    let read = PROXY_OPTIONS.read("a Proxy", options)?;
    runnel_http::proxy(ProxyOptions { tls: tls(options)?, ..read })
}

/// Basic authentication, RFC 7617: base64 of both, with a colon between them.
fn basic(user: &str, password: &str) -> String {
    let mut encoded = Vec::new();
    json::write_bytes(format!("{user}:{password}").as_bytes(), &mut encoded);
    format!("Basic {}", String::from_utf8_lossy(&encoded).trim_matches('"'))
}

fn s3(options: &Value, variable: runnel_s3::Variable) -> Result<Rc<dyn Store>, Error> {
    let store = S3::new(S3Options {
        bucket: text(options, "bucket"),
        endpoint: text(options, "endpoint"),
        region: text(options, "region"),
        key: text(options, "key"),
        secret: text(options, "secret"),
        token: text(options, "token"),
        path_style: options.get("pathStyle").and_then(Value::as_bool),
        variable,
        ..S3Options::default()
    })?;
    Ok(Rc::new(store))
}
