//! The measured URL: `http` or `https`, and its socket address.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The longest URL, in bytes.
const LONGEST: usize = 8 * 1024;

/// The measured resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadTarget {
    url: String,
    authority: String,
    host: String,
    port: u16,
    path: String,
    tls: bool,
}

impl LoadTarget {
    /// Parses a URL such as `http://127.0.0.1:8080/hello?name=you`. Without a scheme it is an
    /// `http` URL; a fragment is removed.
    ///
    /// # Errors
    /// A sentence that names the fault and the fix, for another scheme and for anything that is no
    /// URL.
    pub fn parse(text: &str) -> Result<LoadTarget, String> {
        let wrong = |why: &str| Err(format!("{text:.100} is not a URL to measure: {why}"));
        if text.len() > LONGEST {
            return wrong("it is longer than 8 KiB");
        }
        if text.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return wrong("write spaces and other than ASCII characters as %20 and the like");
        }
        let (tls, rest) = match text.split_once("://") {
            None => (false, text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => {
                return wrong("its scheme has to be http or https, as in http://127.0.0.1:8080/");
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        if authority.contains('@') {
            return wrong("leave out the name and password, and give them with --header");
        }
        let Some((host, port)) = host_and_port(authority, if tls { 443 } else { 80 }) else {
            return wrong("it needs a host and maybe a port, as in http://127.0.0.1:8080/");
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(LoadTarget {
            url: format!("{}://{authority}{path}", if tls { "https" } else { "http" }),
            authority: authority.to_owned(),
            host,
            port,
            path,
            tls,
        })
    }

    /// The URL without its fragment.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the scheme is `https`.
    pub(crate) fn is_secure(&self) -> bool {
        self.tls
    }

    /// The host alone.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The value of `Host`.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query for the request line.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Connects to the first address that accepts within `limit`.
    ///
    /// # Errors
    /// The name is unknown, or no address accepts.
    pub(crate) fn reach(&self, limit: Duration) -> Result<(SocketAddr, TcpStream), String> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| {
            format!("the host of {} is not known: {error}; check its spelling", self.url)
        })?;
        let mut why = "its name has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) => return Ok((address, stream)),
                Err(error) => why = format!("{address}: {error}"),
            }
        }
        Err(format!("nothing answers at {} ({why}); is the server started?", self.url))
    }
}

/// `host`, `host:port`, `[address]` or `[address]:port`; without a port, the usual one.
fn host_and_port(authority: &str, usual: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        None | Some("") => usual,
        Some(port) => port.parse().ok().filter(|number| *number > 0 && digits(port))?,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let target = LoadTarget::parse("http://127.0.0.1:8080/a/b?c=d#e").unwrap();
        assert_eq!(target.url(), "http://127.0.0.1:8080/a/b?c=d");
        assert_eq!((target.host.as_str(), target.port), ("127.0.0.1", 8080));
        assert_eq!(target.path(), "/a/b?c=d");
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let target = LoadTarget::parse("localhost").unwrap();
        assert_eq!((target.port, target.path(), target.authority()), (80, "/", "localhost"));
        let target = LoadTarget::parse("https://h").unwrap();
        assert_eq!((target.port, target.is_secure(), target.url()), (443, true, "https://h/"));
        assert_eq!(LoadTarget::parse("http://h:81?x").unwrap().path(), "/?x");
        assert_eq!(LoadTarget::parse("http://[::1]:81/").unwrap().host, "::1");
    }

    #[test]
    fn what_is_no_http_url_is_explained() {
        for (text, part) in [
            ("ftp://h/", "scheme has to be http or https"),
            ("http://", "needs a host"),
            ("http://h:port/", "needs a host"),
            ("http://h:+80/", "needs a host"),
            ("http://[::1/", "needs a host"),
            ("http://me:secret@h/", "--header"),
            ("http://h/ä", "ASCII"),
        ] {
            let why = LoadTarget::parse(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
