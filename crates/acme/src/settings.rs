//! What a server wants from an authority.

use runnel_store::{Error, Kind, Result};
use std::path::PathBuf;

/// The directory of Let's Encrypt, the default authority.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Most names of one certificate: the limit of Let's Encrypt.
pub const MAX_HOSTS: usize = 100;
/// The longest name in DNS (RFC 1035 section 3.1).
const MAX_HOST_LENGTH: usize = 253;
/// The longest contact.
const MAX_CONTACT_LENGTH: usize = 254;

/// The order of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeSettings {
    /// The names, the first of which also names the file. Only these are ever asked for.
    pub hosts: Vec<String>,
    /// The mail address for the authority.
    pub contact: String,
    /// The URL of the authority's directory.
    pub directory: String,
    /// A PEM file with the authorities of the directory's own certificate; `None` for those that
    /// Mozilla trusts.
    pub authority: Option<PathBuf>,
}

impl AcmeSettings {
    /// Checks the settings, and puts the hosts into lowercase.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: what is missing or wrong.
    pub fn checked(mut self) -> Result<AcmeSettings> {
        let invalid = |message: String| Err(Error::new(Kind::Invalid, message));
        for host in &mut self.hosts {
            host.make_ascii_lowercase();
        }
        if self.hosts.is_empty() || self.hosts.len() > MAX_HOSTS {
            let count = self.hosts.len();
            return invalid(format!(
                "the certificate 'auto' of a server needs its names: hosts: [ 'example.org' ], from \
                 1 to {MAX_HOSTS} (got {count})"
            ));
        }
        if let Some(wrong) = self.hosts.iter().find(|host| !is_host(host)) {
            return invalid(format!(
                "`hosts` of an HTTPServer must be names in DNS such as 'example.org', without \
                 wildcards, not '{wrong}'"
            ));
        }
        let is_mail = self.contact.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !host.is_empty() && self.contact.len() <= MAX_CONTACT_LENGTH
        });
        if !is_mail || !self.contact.bytes().all(|byte| byte.is_ascii_graphic()) {
            return invalid(
                "the certificate 'auto' of a server needs contact: 'ann@example.org', which agrees \
                 to the terms of service of the authority"
                    .to_string(),
            );
        }
        if !self.directory.starts_with("https://") {
            return invalid(format!(
                "`acmeDirectory` of an HTTPServer must begin with https://, not {}",
                self.directory
            ));
        }
        Ok(self)
    }
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    host.len() <= MAX_HOST_LENGTH && !is_address && host.split('.').all(is_label)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn settings(hosts: &[&str], contact: &str) -> Result<AcmeSettings> {
        AcmeSettings {
            hosts: hosts.iter().map(|host| host.to_string()).collect(),
            contact: contact.to_string(),
            directory: LETS_ENCRYPT.to_string(),
            authority: None,
        }
        .checked()
    }

    #[test]
    fn only_names_in_dns_are_ordered() {
        let good = settings(&["Example.org", "www.example.org"], "ann@example.org").unwrap();
        assert_eq!(good.hosts, ["example.org", "www.example.org"]);
        for wrong in ["*.example.org", "10.0.0.1", "a b", "", "-a.org", "a..b", "a/b.org"] {
            assert!(settings(&[wrong], "ann@example.org").is_err(), "{wrong}");
        }
        assert!(settings(&[], "ann@example.org").is_err());
        assert!(settings(&["a.org"; 101], "ann@example.org").is_err());
    }

    #[test]
    fn a_contact_is_a_mail_address() {
        for wrong in ["", "ann", "@b", "a@", "a b@c"] {
            assert!(settings(&["a.org"], wrong).is_err(), "{wrong}");
        }
    }
}
