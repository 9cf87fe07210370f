//! What `#HTTPServer{ … }` can be told: each option by its name, read into the server's own terms.

use crate::observing;
use crate::option_value::{self, Wanted, bytes, count, flag, set, texts};
use runnel_http::{Certificate, ServerOptions, TrustedProxy, UnixAddress};
use runnel_observe::ObserveSettings;
use runnel_store::{Error, Kind, Value};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Reads one option into the place where it belongs.
type Read = fn(&mut ServerOptions, &Value) -> Result<(), Wanted>;

/// Every option: its name, and how it is read. Another one is a line here.
const OPTIONS: &[(&str, Read)] = &[
    ("port", |options, value| {
        let port = value.as_f64().filter(|port| port.fract() == 0.0);
        let port = port.filter(|port| (0.0..=65535.0).contains(port));
        options.address.set_port(port.ok_or("a port from 0 to 65535")? as u16);
        Ok(())
    }),
    ("address", |options, value| {
        let address: Option<IpAddr> = value.as_str().and_then(|text| text.parse().ok());
        options.address.set_ip(address.ok_or("an address such as 127.0.0.1")?);
        Ok(())
    }),
    ("socket", |options, value| {
        let path = value.as_str().filter(|path| !path.is_empty()).ok_or("the path of a file")?;
        socket(options).path = std::path::absolute(path).map_err(|_| "the path of a file")?;
        Ok(())
    }),
    ("socketMode", |options, value| {
        let mode = value.as_str().and_then(|text| u32::from_str_radix(text, 8).ok());
        let mode = mode.filter(|mode| *mode <= 0o777);
        socket(options).mode = mode.ok_or("who may connect, as in '660'")?;
        Ok(())
    }),
    ("trustedProxies", |options, value| {
        const WRONG: &str = "an array of addresses such as '10.0.0.0/8', or 'unix:'";
        let texts = texts(value).map_err(|_| WRONG)?;
        let proxies = texts.iter().map(|text| TrustedProxy::parse(text));
        options.limits.access.trusted_proxies = proxies.collect::<Option<_>>().ok_or(WRONG)?;
        Ok(())
    }),
    ("certificate", |options, value| {
        options.certificate = Some(certificate(options.certificate.take(), value)?);
        Ok(())
    }),
    ("key", |options, value| {
        let key = value.as_str().filter(|path| !path.is_empty()).ok_or("the path of a file")?;
        options.certificate = Some(with_key(options.certificate.take(), key.into())?);
        Ok(())
    }),
    ("http2", |options, value| set(&mut options.http2, flag(value))),
    ("timeout", |options, value| set(&mut options.limits.request_time, time(value))),
    ("spin", |options, value| {
        let seconds = value.as_f64().filter(|time| (0.0..=0.1).contains(time));
        let seconds = seconds.ok_or("a time of at most 100 milliseconds")?;
        options.spin = Duration::from_secs_f64(seconds);
        Ok(())
    }),
    ("headerTimeout", |options, value| set(&mut options.limits.header_time, time(value))),
    ("bodyTimeout", |options, value| set(&mut options.limits.body_idle, time(value))),
    ("idleTimeout", |options, value| set(&mut options.limits.keep_alive, time(value))),
    ("drainTime", |options, value| set(&mut options.limits.drain_time, drain_time(value))),
    ("stopTimeout", |options, value| set(&mut options.limits.stop_time, stop_time(value))),
    ("writeTimeout", |options, value| set(&mut options.limits.write_idle, time(value))),
    ("largestBody", |options, value| set(&mut options.limits.body, bytes(value))),
    ("slowestBody", |options, value| set(&mut options.limits.body_rate, count(value, 1 << 30))),
    ("longestTarget", |options, value| set(&mut options.limits.target, count(value, 65_000))),
    ("largestHeader", |options, value| {
        set(&mut options.limits.header_section, count(value, 1 << 24))
    }),
    ("mostHeaders", |options, value| set(&mut options.limits.header_fields, count(value, 10_000))),
    ("compressFrom", |options, value| set(&mut options.limits.min_compress_size, bytes(value))),
    ("compression", |options, value| {
        if !flag(value)? {
            options.limits.min_compress_size = u64::MAX;
        }
        Ok(())
    }),
    ("connections", |options, value| set(&mut options.limits.connections, count(value, 1 << 20))),
    ("maxConnectionsPerClient", |options, value| {
        options.limits.client_connections = Some(count(value, 1 << 20)?);
        Ok(())
    }),
    ("requestsPerConnection", |options, value| {
        set(&mut options.limits.requests, count(value, 1 << 30))
    }),
    ("text", |options, value| {
        options.limits.html_text = match value.as_str() {
            Some("text/plain") => false,
            Some("text/html") => true,
            _ => return Err("'text/plain', or 'text/html' where texts are pages".into()),
        };
        Ok(())
    }),
    ("hosts", |options, value| set(&mut options.limits.access.allowed_hosts, texts(value))),
    ("origins", |options, value| set(&mut options.limits.access.allowed_origins, origins(value))),
    ("credentials", |options, value| {
        set(&mut options.limits.access.allow_credentials, flag(value))
    }),
    ("requestsAtATime", |options, value| set(&mut options.limits.streams, count(value, 10_000))),
    ("websocketCompression", |options, value| {
        set(&mut options.limits.compress_messages, flag(value))
    }),
    ("largestMessage", |options, value| set(&mut options.limits.message, count(value, 1 << 30))),
];

/// The names of the options, for the class of the language.
pub(crate) const NAMES: &[&str] = &names();

const fn names() -> [&'static str; OPTIONS.len() + observing::OPTIONS.len()] {
    let mut names = [""; OPTIONS.len() + observing::OPTIONS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at.checked_sub(OPTIONS.len()) {
            None => OPTIONS[at].0,
            Some(beyond) => observing::OPTIONS[beyond].0,
        };
        at += 1;
    }
    names
}

/// Reads a record of options.
///
/// # Errors
/// [`Kind::Invalid`]: the option that is unknown, or what it should have been.
pub(crate) fn read(record: &Value) -> Result<(ServerOptions, ObserveSettings), Error> {
    let (mut options, mut settings) = (ServerOptions::default(), ObserveSettings::default());
    let Value::Record(fields) = record else { return Ok((options, settings)) };
    for (name, value) in fields {
        let own = OPTIONS.iter().find(|(known, _)| known == name);
        let watching = observing::OPTIONS.iter().find(|(known, _)| known == name);
        let result = match (own, watching) {
            (Some((_, read)), _) => read(&mut options, value),
            (None, Some((_, read))) => read(&mut settings, value),
            (None, None) => {
                let names = NAMES.join(", ");
                let message = format!("a server has no option {name}; it has {names}");
                return Err(Error::new(Kind::Invalid, message));
            }
        };
        result.map_err(|what| {
            let message = format!("the option {name} of a server must be {what}");
            Error::new(Kind::Invalid, message)
        })?;
    }
    if let Some(Certificate::Files { certificate, key }) = &options.certificate
        && (certificate.as_os_str().is_empty() || key.as_os_str().is_empty())
    {
        let message = "a certificate and its key belong together: name both files";
        return Err(Error::new(Kind::Invalid, message));
    }
    if options.socket.as_ref().is_some_and(|socket| socket.path.as_os_str().is_empty()) {
        let message = "the option socketMode of a server belongs to a socket: name its path";
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok((options, settings))
}

/// The Unix socket of the options, which its owner and its group may use unless told otherwise.
fn socket(options: &mut ServerOptions) -> &mut UnixAddress {
    options.socket.get_or_insert(UnixAddress { path: PathBuf::new(), mode: 0o660 })
}

/// `'local'`, or the path of a file; the key may have been named before.
fn certificate(named: Option<Certificate>, value: &Value) -> Result<Certificate, Wanted> {
    let path = value.as_str().filter(|path| !path.is_empty());
    let path = path.ok_or("the path of a file, or 'local'")?;
    if path == "local" {
        return Ok(Certificate::Local { folder: settings_folder().ok_or("in a folder of yours")? });
    }
    let key = match named {
        Some(Certificate::Files { key, .. }) => key,
        _ => PathBuf::new(),
    };
    Ok(Certificate::Files { certificate: path.into(), key })
}

fn with_key(named: Option<Certificate>, key: PathBuf) -> Result<Certificate, Wanted> {
    match named {
        Some(Certificate::Files { certificate, .. }) => Ok(Certificate::Files { certificate, key }),
        None => Ok(Certificate::Files { certificate: PathBuf::new(), key }),
        Some(Certificate::Local { .. }) => Err("left out where the certificate is 'local'".into()),
    }
}

/// Where this user's settings lie (the XDG base directory specification).
fn settings_folder() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(base.join("runnel"))
}

/// Origins as browsers write them, or `*`. Any page can make itself one without an origin (`null`),
/// so that cannot be named.
fn origins(value: &Value) -> Result<Vec<String>, Wanted> {
    const WRONG: &str = "origins such as 'https://a.example', or '*'";
    let origins = texts(value).map_err(|_| WRONG)?;
    let is_origin = |origin: &String| {
        let host = origin.split_once("://").map(|(_, host)| host);
        origin == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ']))
    };
    origins.iter().all(is_origin).then_some(origins).ok_or(WRONG.into())
}

/// A time without a request while a server stops: zero closes idle connections at once.
fn drain_time(value: &Value) -> Result<Duration, Wanted> {
    option_value::time(value, 0.0..=5.0)
}

/// A time for the requests under way when a server stops: less than a supervisor gives a program.
fn stop_time(value: &Value) -> Result<Duration, Wanted> {
    option_value::time(value, 0.001..=20.0)
}

/// A time, from a thousandth of a second to a day.
fn time(value: &Value) -> Result<Duration, Wanted> {
    option_value::time(value, 0.001..=86_400.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(name: &str, value: Value) -> Value {
        Value::Record(vec![(name.to_string(), value)])
    }

    #[test]
    fn options_are_read_by_name() {
        let (options, _) = read(&record("timeout", Value::Float(0.5))).unwrap();
        assert_eq!(options.limits.request_time, Duration::from_millis(500));
        let (options, _) = read(&record("port", Value::Int(8082))).unwrap();
        assert_eq!(options.address.port(), 8082);
    }

    #[test]
    fn origins_are_those_of_browsers() {
        let of = |text: &str| origins(&Value::Text(text.to_string())).is_ok();
        assert!(of("*") && of("https://a.example") && of("http://localhost:5173"));
        for wrong in ["a.example", "null", "https://a.example/", "https://", "", "https://a b"] {
            assert!(!of(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = read(&record("port", Value::Int(70_000))).unwrap_err();
        assert_eq!(error.message, "the option port of a server must be a port from 0 to 65535");
        let error = read(&record("prot", Value::Int(1))).unwrap_err();
        assert!(error.message.starts_with("a server has no option prot; it has port"));
    }
}
