//! The options of `#HTTPServer{ … }`: each by name, with its bounds, default and help. Another one is a
//! row here.

use crate::world::certificates::{self, CertificateSettings};
use crate::world::observing;
use runnel_http::{ContentEncoding, ServerOptions, TrustedProxy, UnixAddress, check_announced};
use runnel_observe::ObserveSettings;
use runnel_store::{
    ByteCount, Error, Kind, Setting, SettingInfo, SettingKind, SettingList, SettingTable,
    SettingValue, Value, Wanted, unknown_setting,
};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

type Options = ServerOptions;

/// The subject of messages.
const SUBJECT: &str = "an HTTPServer";
/// The longest timeout: a day.
const DAY: f64 = 86_400.0;

/// A timeout from a millisecond to a day.
const fn timeout(
    name: &'static str,
    help: &'static str,
    field: fn(&mut Options) -> &mut dyn SettingValue,
) -> Setting<Options> {
    Setting::new(name, help, field).range(0.001, DAY)
}

/// A count from 1.
const fn count(
    name: &'static str,
    help: &'static str,
    most: u32,
    field: fn(&mut Options) -> &mut dyn SettingValue,
) -> Setting<Options> {
    Setting::new(name, help, field).range(1.0, most as f64)
}

/// A size from a byte.
const fn size(
    name: &'static str,
    help: &'static str,
    most: u32,
    field: fn(&mut Options) -> &mut dyn ByteCount,
) -> Setting<Options> {
    Setting::size(name, help, field).range(1.0, most as f64)
}

/// The options of connections and requests.
const OPTIONS: SettingTable<Options> = SettingTable(&[
    Setting::custom(
        "port",
        "the port; 0 takes a free one",
        SettingKind::Count,
        |options: &mut Options, value| {
            let port = value.as_f64().filter(|port| port.fract() == 0.0);
            let port = port.filter(|port| (0.0..=65535.0).contains(port));
            options.address.set_port(port.ok_or("a port from 0 to 65535")? as u16);
            Ok(())
        },
    ),
    Setting::custom(
        "address",
        "the address to listen on",
        SettingKind::Text,
        |options: &mut Options, value| {
            let address: Option<IpAddr> = value.as_str().and_then(|text| text.parse().ok());
            options.address.set_ip(address.ok_or("an address such as 127.0.0.1")?);
            Ok(())
        },
    ),
    Setting::custom(
        "socket",
        "the path of a Unix socket",
        SettingKind::Text,
        |options: &mut Options, value| {
            let path =
                value.as_str().filter(|path| !path.is_empty()).ok_or("the path of a file")?;
            socket(options).path = std::path::absolute(path).map_err(|_| "the path of a file")?;
            Ok(())
        },
    ),
    Setting::custom(
        "socketMode",
        "the mode of the socket",
        SettingKind::Text,
        |options: &mut Options, value| {
            let mode = value.as_str().and_then(|text| u32::from_str_radix(text, 8).ok());
            let mode = mode.filter(|mode| *mode <= 0o777);
            socket(options).mode = mode.ok_or("an octal mode of a file such as '660'")?;
            Ok(())
        },
    ),
    Setting::custom(
        "advertise",
        "the name on the local network",
        SettingKind::Text,
        |options: &mut Options, value| {
            let name = value.as_str().ok_or("a name such as 'defiant'")?;
            options.advertise = Some(name.to_string());
            Ok(())
        },
    ),
    Setting::custom(
        "trustedProxies",
        "the proxies whose X-Forwarded-For counts",
        SettingKind::Texts,
        |options: &mut Options, value| {
            const WRONG: &str = "an array of addresses such as '10.0.0.0/8', or 'unix:'";
            let proxies = texts(value).ok_or(WRONG)?;
            let proxies = proxies.iter().map(|text| TrustedProxy::parse(text));
            options.limits.access.trusted_proxies = proxies.collect::<Option<_>>().ok_or(WRONG)?;
            Ok(())
        },
    ),
    Setting::new(
        "listing",
        "whether clients may list the names in any store",
        |options: &mut Options| &mut options.limits.access.listing,
    ),
    Setting::new("http2", "whether clients may use HTTP/2", |o: &mut Options| &mut o.http2),
    timeout("requestTimeout", "from the request to its response", |o: &mut Options| {
        &mut o.limits.request_time
    })
    .was(&["timeout"]),
    Setting::new("busyPoll", "polling time before the event loop sleeps", |o: &mut Options| {
        &mut o.spin
    })
    .range(0.0, 0.1)
    .was(&["spin"]),
    timeout("headerTimeout", "for the header section", |o: &mut Options| &mut o.limits.header_time),
    timeout("bodyTimeout", "between two pieces of a body", |o: &mut Options| {
        &mut o.limits.body_idle
    }),
    timeout("idleTimeout", "without a request", |o: &mut Options| &mut o.limits.keep_alive),
    Setting::new("drainTime", "idle timeout while the server stops", |o: &mut Options| {
        &mut o.limits.drain_time
    })
    .range(0.0, 5.0),
    Setting::new("stopTimeout", "for active requests at a stop", |o: &mut Options| {
        &mut o.limits.stop_time
    })
    .range(0.001, 20.0),
    timeout("writeTimeout", "for a client that reads nothing", |o: &mut Options| {
        &mut o.limits.write_idle
    }),
    Setting::size("maxBodySize", "of a request body", |o: &mut Options| &mut o.limits.body)
        .was(&["largestBody"]),
    size("minBodyRate", "of a request body in a second", 1 << 30, |o: &mut Options| {
        &mut o.limits.body_rate
    })
    .was(&["slowestBody"]),
    size("maxTargetLength", "of a request target", 65_000, |o: &mut Options| &mut o.limits.target)
        .was(&["longestTarget"]),
    size("maxHeaderSize", "of the header section", 1 << 24, |o: &mut Options| {
        &mut o.limits.header_section
    })
    .was(&["largestHeader"]),
    count("maxHeaders", "fields of the header section", 10_000, |o: &mut Options| {
        &mut o.limits.header_fields
    })
    .was(&["mostHeaders"]),
    Setting::size("minCompressSize", "from which responses are compressed", |o: &mut Options| {
        &mut o.limits.min_compress_size
    })
    .was(&["compressFrom"]),
    Setting::custom(
        "compression",
        "the encodings of responses, the preferred one first; false for none",
        SettingKind::Texts,
        |options: &mut Options, value| {
            options.limits.encodings = encodings(value)
                .ok_or("true, false, or an array of encodings such as [ 'zstd', 'br', 'gzip' ]")?;
            Ok(())
        },
    ),
    count("maxConnections", "open connections", 1 << 20, |o: &mut Options| {
        &mut o.limits.connections
    })
    .was(&["connections"]),
    count(
        "maxConnectionsPerClient",
        "open connections of one address",
        1 << 20,
        |o: &mut Options| &mut o.limits.client_connections,
    ),
    count("maxRequestsPerConnection", "requests of one connection", 1 << 30, |o: &mut Options| {
        &mut o.limits.requests
    })
    .was(&["requestsPerConnection"]),
    Setting::custom(
        "textType",
        "the type of texts",
        SettingKind::Text,
        |options: &mut Options, value| {
            options.limits.html_text = match value.as_str() {
                Some("text/plain") => false,
                Some("text/html") => true,
                _ => return Err("'text/plain', or 'text/html' where texts are pages".into()),
            };
            Ok(())
        },
    )
    .was(&["text"]),
    Setting::new("allowedHosts", "the hosts that are served", |o: &mut Options| {
        &mut o.limits.access.allowed_hosts
    }),
    Setting::custom(
        "allowedOrigins",
        "the origins whose pages may read responses (CORS)",
        SettingKind::Texts,
        |options: &mut Options, value| {
            options.limits.access.allowed_origins = origins(value)?;
            Ok(())
        },
    )
    .was(&["origins"]),
    Setting::new("allowCredentials", "whether those pages may send cookies", |o: &mut Options| {
        &mut o.limits.access.allow_credentials
    })
    .was(&["credentials"]),
    count(
        "maxConcurrentStreams",
        "requests of one HTTP/2 connection",
        10_000,
        |o: &mut Options| &mut o.limits.streams,
    )
    .was(&["requestsAtATime"]),
    Setting::new("websocketCompression", "whether messages are compressed", |o: &mut Options| {
        &mut o.limits.compress_messages
    }),
    size("maxMessageSize", "of a WebSocket message", 1 << 30, |o: &mut Options| {
        &mut o.limits.message
    })
    .was(&["largestMessage"]),
    Setting::new("earlyHints", "whether browsers get early hints (103)", |o: &mut Options| {
        &mut o.limits.early_hints
    }),
    Setting::new(
        "proxyProtocol",
        "whether connections begin with a header of the PROXY protocol",
        |o: &mut Options| &mut o.limits.access.proxy_protocol,
    ),
]);

/// All options, for the class of the language.
pub(crate) fn infos() -> Vec<SettingInfo> {
    [OPTIONS.infos(), certificates::OPTIONS.infos(), observing::OPTIONS.infos()].concat()
}

/// The options of a server, of its certificates, and of its logs and metrics.
pub(crate) type ReadOptions = (ServerOptions, CertificateSettings, ObserveSettings);

/// Reads a record of options.
///
/// # Errors
/// [`Kind::Invalid`]: an unknown option, or what a value must be.
pub(crate) fn read(record: &Value) -> Result<ReadOptions, Error> {
    let (mut options, mut settings) = (ServerOptions::default(), ObserveSettings::default());
    let mut secure = CertificateSettings::default();
    let Value::Record(fields) = record else { return Ok((options, secure, settings)) };
    for (name, value) in fields {
        OPTIONS
            .set(&mut options, SUBJECT, name, value)
            .or_else(|| certificates::OPTIONS.set(&mut secure, SUBJECT, name, value))
            .or_else(|| observing::OPTIONS.set(&mut settings, SUBJECT, name, value))
            .unwrap_or_else(|| Err(unknown_setting(SUBJECT, name, &infos())))?;
    }
    let access = &options.limits.access;
    if access.proxy_protocol && access.trusted_proxies.is_empty() {
        let message = "the option proxyProtocol of a server needs trustedProxies: name the addresses of the \
             load balancer";
        return Err(Error::new(Kind::Invalid, message));
    }
    if options.socket.as_ref().is_some_and(|socket| socket.path.as_os_str().is_empty()) {
        let message = "the option socketMode of a server belongs to a socket: name its path";
        return Err(Error::new(Kind::Invalid, message));
    }
    if options.advertise.is_some() && options.socket.is_some() {
        let message = "the option advertise of a server needs a port: leave out the socket";
        return Err(Error::new(Kind::Invalid, message));
    }
    // A server that is announced is reachable from other machines.
    let is_public = options.advertise.is_some() || secure.is_ordered();
    if is_public && !fields.iter().any(|(name, _)| name == "address") {
        options.address.set_ip(Ipv4Addr::UNSPECIFIED.into());
    }
    if let Some(name) = &options.advertise {
        check_announced(name, options.address)?;
    }
    secure.check(&options)?;
    Ok((options, secure, settings))
}

/// The encodings of an option: a flag for all or none, or their names.
fn encodings(value: &Value) -> Option<Vec<ContentEncoding>> {
    match value.as_bool() {
        Some(true) => Some(ContentEncoding::ALL.into()),
        Some(false) => Some(Vec::new()),
        None => {
            let names = texts(value).filter(|names| !names.is_empty())?;
            names.iter().map(|name| ContentEncoding::of_name(name)).collect()
        }
    }
}

/// A text or an array of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    texts.assign(value, None).ok().map(|()| texts)
}

/// The Unix socket of the options, which its owner and its group may use unless told otherwise.
fn socket(options: &mut ServerOptions) -> &mut UnixAddress {
    options.socket.get_or_insert(UnixAddress { path: PathBuf::new(), mode: 0o660 })
}

/// Origins as browsers write them, or `*`. Any page can make itself one without an origin (`null`),
/// so that cannot be named.
fn origins(value: &Value) -> Result<Vec<String>, Wanted> {
    const WRONG: &str = "origins such as 'https://a.example', or '*'";
    let origins = texts(value).ok_or(WRONG)?;
    let is_origin = |origin: &String| {
        let host = origin.split_once("://").map(|(_, host)| host);
        origin == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ']))
    };
    origins.iter().all(is_origin).then_some(origins).ok_or(WRONG.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record(name: &str, value: Value) -> Value {
        Value::Record(vec![(name.to_string(), value)])
    }

    #[test]
    fn options_are_read_by_name() {
        let (options, ..) = read(&record("requestTimeout", "0.5 s".into())).unwrap();
        assert_eq!(options.limits.request_time, Duration::from_millis(500));
        let (options, ..) = read(&record("port", Value::Int(8082))).unwrap();
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
        assert_eq!(
            error.message,
            "`port` of an HTTPServer must be a port from 0 to 65535, not 70000"
        );
        let error = read(&record("prot", Value::Int(1))).unwrap_err();
        assert_eq!(error.message, "an HTTPServer has no option `prot`; did you mean `port`?");
        let error = read(&record("largestBody", Value::Int(1))).unwrap_err();
        assert_eq!(error.message, "`largestBody` of an HTTPServer is now `maxBodySize`");
    }
}
