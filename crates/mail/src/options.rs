//! Where the mail server is, and how it is reached.

use lettre::message::Mailbox;
use lettre::transport::smtp::PoolConfig;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use runnel_store::{Error, Kind, Result};
use std::time::Duration;
use url::{Host, Url};

/// How long the server may take for each of its answers.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Connections to a server, for each worker; messages beyond wait.
pub const MAX_CONNECTIONS: u32 = 4;

/// How long an unused connection stays open.
const IDLE: Duration = Duration::from_secs(30);

/// The server of mails, and whom they are from.
#[derive(Clone, Debug, Default)]
pub struct MailOptions {
    /// `smtps://user:password@host` for TLS from the beginning (RFC 8314), or `smtp://host:587` for STARTTLS
    /// (RFC 3207), which must succeed. Without TLS only this machine is reached.
    pub url: String,
    /// The sender: `Shop <shop@example.org>`.
    pub from: String,
}

impl MailOptions {
    /// The sender.
    ///
    /// # Errors
    /// It is no address.
    pub(crate) fn sender(&self) -> Result<Mailbox> {
        self.from.parse().map_err(|_| {
            invalid("`from` of a MailServer is an address such as 'Shop <shop@example.org>'")
        })
    }

    /// The way to the server. No message contains the address, which has a password.
    ///
    /// # Errors
    /// The address is none of a mail server.
    pub(crate) fn transport(&self) -> Result<AsyncSmtpTransport<Tokio1Executor>> {
        let wrong =
            || invalid("`url` of a MailServer is an address such as 'smtps://user:password@host'");
        let url = Url::parse(&self.url).map_err(|_| wrong())?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let parameters = || {
            let made = TlsParameters::new(host.trim_matches(['[', ']']).to_owned());
            made.map_err(|error| {
                invalid("the connection cannot be secured").with_detail(error.to_string())
            })
        };
        let (tls, port) = match url.scheme() {
            "smtps" => (Tls::Wrapper(parameters()?), 465),
            "smtp" if is_local(&url) => (Tls::None, 25),
            "smtp" => (Tls::Required(parameters()?), 587),
            _ => return Err(wrong()),
        };
        let pool = PoolConfig::new().max_size(MAX_CONNECTIONS).idle_timeout(IDLE);
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(url.port().unwrap_or(port))
            .tls(tls)
            .timeout(Some(TIMEOUT))
            .pool_config(pool);
        if !url.username().is_empty() {
            let decoded = |text: &str| runnel_store::decode_segment(text).into_owned();
            let password = decoded(url.password().unwrap_or_default());
            builder = builder.credentials(Credentials::new(decoded(url.username()), password));
        }
        Ok(builder.build())
    }
}

/// Whether the server is on this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        // Schemes that the URL Standard does not know have opaque hosts.
        Some(Host::Domain(name)) => {
            name == "localhost"
                || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

fn invalid(message: &str) -> Error {
    Error::new(Kind::Invalid, message)
}
