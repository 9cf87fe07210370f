//! One upstream: its address, its connections, and how it fares.

use super::health::UpstreamHealth;
use super::options::ProxyOptions;
use crate::client::connection::dial::Connector;
use crate::client::hosts::Host;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::{self, Authority, PathAndQuery, Scheme};
use runnel_store::{Error, Kind, Result, SlotLimits};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// The most requests of a worker that wait for a connection to an upstream; more are refused.
const MAX_WAITING: usize = 1024;
/// The most idle connections to an upstream that a worker keeps.
const MAX_IDLE: usize = 256;

/// One upstream of a proxy.
pub(super) struct ProxyUpstream {
    /// Its address, to connect to.
    pub(super) uri: Uri,
    /// What comes before the path of each request: empty, or a path without a slash at its end.
    pub(super) base: String,
    /// `Host`, where it is that of the upstream.
    pub(super) host_field: HeaderValue,
    pub(super) host: std::sync::Arc<Host>,
    pub(super) dial: Connector,
    pub(super) health: UpstreamHealth,
    /// Requests in progress.
    active: Cell<usize>,
}

impl ProxyUpstream {
    /// # Errors
    /// [`Kind::Invalid`]: the address is none.
    pub(super) fn new(address: &str, options: &ProxyOptions) -> Result<Rc<Self>> {
        let limits = SlotLimits {
            slots: options.connections,
            waiting: MAX_WAITING,
            wait: options.pool_time,
        };
        let health = UpstreamHealth::new(options.max_fails, options.fail_time);
        let made = |scheme, authority: Authority, base, place: &str, socket: Option<&Path>| {
            let host_field = HeaderValue::from_str(authority.as_str())
                .unwrap_or(HeaderValue::from_static("localhost"));
            let host = Host::new(limits, MAX_IDLE, place);
            let mut dial = Connector::new(socket, options.connect_time);
            if let Some(tls) = &options.tls {
                dial.tls = Ok(tls.connector());
            }
            let active = Cell::new(0);
            let mut parts = uri::Parts::default();
            (parts.scheme, parts.authority) = (Some(scheme), Some(authority));
            parts.path_and_query = Some(PathAndQuery::from_static("/"));
            let uri = Uri::from_parts(parts).map_err(|_| not_an_address(address))?;
            Ok(Rc::new(ProxyUpstream { uri, base, host_field, host, dial, health, active }))
        };
        if let Some(path) = address.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            let localhost = Authority::from_static("localhost");
            return made(Scheme::HTTP, localhost, String::new(), path, Some(Path::new(path)));
        }
        let parsed = address.parse::<Uri>().ok().filter(|uri| uri.query().is_none());
        let parts = parsed.map(Uri::into_parts);
        match parts.map(|parts| (parts.scheme, parts.authority, parts.path_and_query)) {
            Some((Some(scheme), Some(authority), path))
                if [Scheme::HTTP, Scheme::HTTPS].contains(&scheme)
                    && !authority.as_str().contains('@')
                    && !authority.host().is_empty() =>
            {
                let base =
                    path.map_or(String::new(), |path| path.path().trim_end_matches('/').into());
                let place = authority.to_string();
                made(scheme, authority, base, &place, None)
            }
            _ => Err(not_an_address(address)),
        }
    }

    /// Requests in progress.
    pub(super) fn active(&self) -> usize {
        self.active.get()
    }

    /// Counts a request as in progress until the guard is dropped.
    pub(super) fn start(self: &Rc<Self>) -> ActiveRequest {
        self.active.set(self.active.get() + 1);
        ActiveRequest(self.clone())
    }

    /// Its name for the log.
    pub(super) fn place(&self) -> &str {
        &self.host.counters.place
    }
}

fn not_an_address(address: &str) -> Error {
    // A password could stand in it.
    let shown = address.rsplit('@').next().unwrap_or_default();
    let message = format!(
        "`to` of a Proxy must be addresses such as 'http://10.0.0.1:8080' or 'unix:/run/app.sock', \
         not '{}'",
        shown.escape_debug()
    );
    Error::new(Kind::Invalid, message)
}

/// A request in progress at an upstream.
pub(super) struct ActiveRequest(Rc<ProxyUpstream>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.active.set(self.0.active.get().saturating_sub(1));
    }
}
