//! Where a server is and who we are to it: `scheme://user:password@host:port/path`.

use percent_encoding::percent_decode_str;
use runnel_store::{Error, Kind, Reference, Result};
use std::fmt;

/// A server. Shown as `host:port`: never with a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// Whether the connection has to be encrypted.
    pub(crate) secure: bool,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Reads what stands between `//` and the path: `user:password@host:port`.
    pub(crate) fn parse(authority: &str, secure: bool, usual_port: u16) -> Result<Address> {
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let (host, port) = split_port(place)?;
        if host.is_empty() || host.chars().any(|char| char.is_control() || char == ' ') {
            return invalid("the address has no valid host; write one like 127.0.0.1:6379");
        }
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => (None, None),
            Some(None) => (login.map(str::to_string), None),
            Some(Some((user, password))) => (Some(user.to_string()), Some(password.to_string())),
        };
        let decoded = |text: Option<String>| -> Result<Option<String>> {
            let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
            match percent_decode_str(&text).decode_utf8() {
                Ok(text) => Ok(Some(text.into_owned())),
                Err(_) => invalid("the user or the password of the address is not text"),
            }
        };
        Ok(Address {
            secure,
            user: decoded(user)?,
            password: decoded(password)?,
            host: host.to_string(),
            port: port.unwrap_or(usual_port),
        })
    }

    /// Reads a URL whose scheme is one of those given, each with whether it means encryption.
    /// Answers the path behind the host and the query, too.
    pub(crate) fn of_url(
        url: &str,
        schemes: &[(&str, bool)],
        usual_port: u16,
    ) -> Result<(Address, String, Option<String>)> {
        let known = schemes.iter().find_map(|(scheme, secure)| {
            Some((url.strip_prefix(scheme)?.strip_prefix("://")?, *secure))
        });
        let Some((rest, secure)) = known else {
            let names: Vec<_> = schemes.iter().map(|(name, _)| format!("{name}://")).collect();
            return invalid(&format!("the address has to begin with {}", names.join(" or ")));
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_string())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok((Address::parse(authority, secure, usual_port)?, path.to_string(), query))
    }
}

fn split_port(place: &str) -> Result<(&str, Option<u16>)> {
    let (host, rest) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest),
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    if rest.is_empty() || rest == ":" {
        return Ok((host, None));
    }
    match rest.strip_prefix(':') {
        Some(port) => match port.parse() {
            Ok(port) => Ok((host, Some(port))),
            Err(_) => invalid("the port of the address is no number between 0 and 65535"),
        },
        None => invalid("the host of the address cannot be read"),
    }
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::new(Kind::Invalid, message))
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

/// The reference as it may stand in a message: without a password.
pub(crate) fn without_password(reference: &Reference) -> Reference {
    let Some(rest) = reference.path().strip_prefix("//") else { return reference.clone() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((login, _)) => {
            let user = login.split(':').next().unwrap_or_default();
            // A login without a colon may be a token, which is as secret as a password.
            let user = if login.contains(':') { user } else { "" };
            reference.with_path(format!("//{user}{}", &rest[login.len()..]))
        }
        None => reference.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn authorities() {
        let parse = |text: &str| Address::parse(text, false, 6379);
        let plain = parse("localhost").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.user), ("localhost", 6379, None));
        let full = parse("us%40er:p%3aw@10.0.0.1:1").unwrap();
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("us@er"), Some("p:w")));
        assert_eq!(full.to_string(), "10.0.0.1:1");
        let six = parse(":secret@[::1]:7").unwrap();
        assert_eq!((six.user.as_deref(), six.password.as_deref()), (None, Some("secret")));
        assert_eq!(six.to_string(), "[::1]:7");
        for wrong in ["", ":1", "a:b", "a:99999", "[::1", "[::1]x", "a b"] {
            assert_eq!(parse(wrong).map(|_| ()).unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
    }

    #[test]
    fn urls() {
        let schemes = [("redis", false), ("rediss", true)];
        let (address, path, query) =
            Address::of_url("rediss://:pw@h:1/2?a=b", &schemes, 6379).unwrap();
        assert!(address.secure);
        assert_eq!((path.as_str(), query.as_deref()), ("2", Some("a=b")));
        assert!(Address::of_url("http://h", &schemes, 6379).is_err());
    }

    #[test]
    fn no_password_in_messages() {
        let shown = |path| without_password(&Reference::from_path(path)).path().to_string();
        assert_eq!(shown("//me:secret@host/0/a@b"), "//me@host/0/a@b");
        assert_eq!(shown("//token@host/kv"), "//@host/kv");
        assert_eq!(shown("//host/0/a:b@c"), "//host/0/a:b@c");
        assert_eq!(shown("a:b@c"), "a:b@c");
    }
}
