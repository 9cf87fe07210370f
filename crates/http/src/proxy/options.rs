//! The options of a reverse proxy, each with its default.

use crate::network::client_tls::ClientTls;
use runnel_store::{
    Setting, SettingKind, SettingTable, SettingValue, Value, Wanted, setting_choices,
};
use std::fmt;
use std::time::Duration;

/// The most upstreams of a proxy.
pub(crate) const MOST_UPSTREAMS: usize = 64;
/// The shortest secret of sticky sessions, in bytes.
const SHORTEST_SECRET: usize = 16;

/// Options of a reverse proxy. The words are those of nginx and Caddy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// The addresses of the upstreams: `http://10.0.0.1:8080`, `https://…`, or `unix:` and a path.
    pub to: Vec<String>,
    /// Which upstream a request goes to.
    pub balance: Balance,
    /// What the upstream sees as `Host`.
    pub host: HostField,
    /// The path of active health checks. Default none.
    pub health_check: Option<String>,
    /// The interval of active health checks.
    pub interval: Duration,
    /// Failures within `fail_time` after which an upstream rests.
    pub max_fails: u32,
    /// How long an upstream rests, and the time in which failures count.
    pub fail_time: Duration,
    /// Whether the upstream takes `%2F`, `\` and `;` in a path as parts of names.
    pub encoded_slashes: bool,
    /// How often a request without an answer is sent again, to another upstream if there is one.
    pub retries: u32,
    /// Whether a client stays with its upstream, by a cookie.
    pub sticky: StickySessions,
    /// Whom it trusts at `https` upstreams, and its certificate; none: the authorities that Mozilla trusts.
    pub tls: Option<ClientTls>,
    /// Connect timeout.
    pub connect_time: Duration,
    /// From the complete request to the head of the response.
    pub answer_time: Duration,
    /// Between two pieces of a response, and without traffic on an upgraded connection.
    pub idle_time: Duration,
    /// The most connections of each upstream in use, for each worker.
    pub connections: usize,
    /// The longest wait for a connection.
    pub pool_time: Duration,
}

/// Which upstream a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// The one with the fewest requests in progress.
    LeastConnections,
    /// One after the other.
    RoundRobin,
    /// Of two random ones that with fewer requests in progress.
    Random,
}

setting_choices!(Balance {
    "leastConnections" => Balance::LeastConnections,
    "roundRobin" => Balance::RoundRobin,
    "random" => Balance::Random,
});

/// What the upstream sees as `Host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostField {
    /// What the client sent.
    Client,
    /// The host of the upstream's address.
    Upstream,
}

setting_choices!(HostField {
    "client" => HostField::Client,
    "upstream" => HostField::Upstream,
});

/// Whether a client stays with its upstream.
#[derive(Clone, PartialEq, Eq)]
pub enum StickySessions {
    /// Each request for itself.
    Off,
    /// By a cookie that is valid as long as the process lives.
    On,
    /// By a cookie that is valid wherever the secret is the same.
    Secret(String),
}

/// Without the secret.
impl fmt::Debug for StickySessions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StickySessions::Off => "off",
            StickySessions::On => "on",
            StickySessions::Secret(_) => "by a secret",
        })
    }
}

impl Default for ProxyOptions {
    fn default() -> Self {
        ProxyOptions {
            to: Vec::new(),
            balance: Balance::LeastConnections,
            host: HostField::Client,
            health_check: None,
            interval: Duration::from_secs(10),
            max_fails: 3,
            fail_time: Duration::from_secs(10),
            encoded_slashes: false,
            retries: 2,
            sticky: StickySessions::Off,
            tls: None,
            connect_time: Duration::from_secs(5),
            answer_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(60),
            connections: 1024,
            pool_time: Duration::from_secs(5),
        }
    }
}

/// The options as programs write them.
pub const PROXY_OPTIONS: SettingTable<ProxyOptions> = SettingTable(&[
    Setting::custom(
        "to",
        "the upstreams",
        SettingKind::Texts,
        |options: &mut ProxyOptions, value| {
            let mut to: Vec<String> = Vec::new();
            to.assign(value, None)?;
            match (1..=MOST_UPSTREAMS).contains(&to.len()) {
                true => options.to = to,
                false => return Err(format!("1 to {MOST_UPSTREAMS} addresses").into()),
            }
            Ok(())
        },
    ),
    Setting::new("balance", "which upstream a request goes to", |options: &mut ProxyOptions| {
        &mut options.balance
    }),
    Setting::new("host", "what the upstream sees as `Host`", |options: &mut ProxyOptions| {
        &mut options.host
    }),
    Setting::custom(
        "healthCheck",
        "the path of active health checks",
        SettingKind::Text,
        |options: &mut ProxyOptions, value| {
            let path = value.as_str().filter(|path| is_path(path));
            options.health_check = Some(path.ok_or("a path such as '/health'")?.to_string());
            Ok(())
        },
    ),
    Setting::new("interval", "the interval of health checks", |options: &mut ProxyOptions| {
        &mut options.interval
    })
    .range(0.1, 3600.0),
    Setting::new(
        "maxFails",
        "failures in `failTimeout` after which an upstream rests",
        |options: &mut ProxyOptions| &mut options.max_fails,
    )
    .range(1.0, 1000.0),
    Setting::new("failTimeout", "how long an upstream rests", |options: &mut ProxyOptions| {
        &mut options.fail_time
    })
    .range(0.1, 3600.0),
    Setting::new(
        "encodedSlashes",
        "passes on `%2F`, `\\` and `;` in a path",
        |options: &mut ProxyOptions| &mut options.encoded_slashes,
    ),
    Setting::new(
        "retries",
        "how often a request without an answer is sent again",
        |options: &mut ProxyOptions| &mut options.retries,
    )
    .range(0.0, 10.0),
    Setting::custom(
        "sticky",
        "keeps a client with its upstream, by a cookie",
        SettingKind::Any,
        |options: &mut ProxyOptions, value| {
            options.sticky = sticky(value)?;
            Ok(())
        },
    )
    .secret(),
    file("certificateAuthority", "a PEM file of the authorities to trust, or `'local'`"),
    file("certificate", "a PEM file with the certificate that upstreams see"),
    file("key", "a PEM file with its private key"),
    Setting::new("connectTimeout", "connect timeout", |options: &mut ProxyOptions| {
        &mut options.connect_time
    })
    .range(0.001, 600.0),
    Setting::new(
        "timeout",
        "from the request to the head of its response",
        |options: &mut ProxyOptions| &mut options.answer_time,
    )
    .range(0.001, 86_400.0),
    Setting::new(
        "idleTimeout",
        "between two pieces of a response",
        |options: &mut ProxyOptions| &mut options.idle_time,
    )
    .range(0.001, 86_400.0),
    Setting::new(
        "maxConnections",
        "connections of each upstream in use, for each worker",
        |options: &mut ProxyOptions| &mut options.connections,
    )
    .range(1.0, 65_536.0),
    Setting::new(
        "poolTimeout",
        "the longest wait for a connection",
        |options: &mut ProxyOptions| &mut options.pool_time,
    )
    .range(0.0, 600.0),
]);

/// A file of [`ProxyOptions::tls`], which who makes the proxy reads: all three belong together.
const fn file(name: &'static str, text: &'static str) -> Setting<ProxyOptions> {
    Setting::custom(name, text, SettingKind::Text, |_, value| match value.as_str() {
        Some(_) => Ok(()),
        None => Err("the name of a file".into()),
    })
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

fn sticky(value: &Value) -> Result<StickySessions, Wanted> {
    match (value.as_bool(), value.as_str()) {
        (Some(true), _) => Ok(StickySessions::On),
        (Some(false), _) => Ok(StickySessions::Off),
        (_, Some(secret)) if secret.len() >= SHORTEST_SECRET => {
            Ok(StickySessions::Secret(secret.to_string()))
        }
        _ => Err(format!("true, false, or a secret of at least {SHORTEST_SECRET} letters").into()),
    }
}
