//! Certificates in PEM: the chain and its key, the names that it covers and its lifetime.

use runnel_store::{Error, Kind, Result};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// The largest file of certificates or of a key, in bytes.
pub(crate) const MAX_PEM_SIZE: usize = 1024 * 1024;

/// A certificate with its key, ready for handshakes.
#[derive(Debug)]
pub(crate) struct ServerCertificate {
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) about: CertificateInfo,
}

/// The names and the lifetime of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// The names that it covers, in lowercase, perhaps with a wildcard: `*.example.org`. IP
    /// addresses are written without brackets.
    pub names: Vec<String>,
    /// When its lifetime begins.
    pub not_before: SystemTime,
    /// When its lifetime ends.
    pub not_after: SystemTime,
}

impl CertificateInfo {
    /// Reads the first certificate of a PEM text. `file` names the text in errors.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: it has no certificate, or an unreadable one.
    pub fn from_pem(text: &[u8], file: &str) -> Result<CertificateInfo> {
        CertificateInfo::of(chain(text, file)?.first(), file)
    }

    fn of(leaf: Option<&CertificateDer<'_>>, file: &str) -> Result<CertificateInfo> {
        let parsed = leaf.and_then(|leaf| X509Certificate::from_der(leaf).ok());
        let Some((_, leaf)) = parsed else {
            return Err(invalid(file, "has a certificate that cannot be read"));
        };
        Ok(CertificateInfo {
            names: subject_names(&leaf),
            not_before: time(leaf.validity().not_before.timestamp()),
            not_after: time(leaf.validity().not_after.timestamp()),
        })
    }
}

/// Reads a chain and its key. `file` names the certificate in errors, `key_file` the key.
///
/// # Errors
/// [`Kind::Invalid`]: a text has no certificate or no key, or both do not belong together.
pub(crate) fn parse(
    certificate: &[u8],
    file: &str,
    key: &[u8],
    key_file: &str,
) -> Result<ServerCertificate> {
    let chain = chain(certificate, file)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| invalid(key_file, "has no private key in PEM"))?;
    let about = CertificateInfo::of(chain.first(), file)?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| {
        let pair = "and its key cannot be used together";
        invalid(file, pair).with_detail(error.to_string())
    })?;
    Ok(ServerCertificate { key: Arc::new(key), about })
}

/// Reads certificates of authorities.
///
/// # Errors
/// [`Kind::Invalid`]: there is none, or an unusable one.
pub(crate) fn authorities(text: &[u8], file: &str) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for authority in chain(text, file)? {
        roots.add(authority).map_err(|error| {
            let message = "has a certificate that is none of an authority";
            invalid(file, message).with_detail(error.to_string())
        })?;
    }
    Ok(roots)
}

/// The certificates of a PEM text, at least one. `file` names it in errors.
///
/// # Errors
/// [`Kind::Invalid`]: it has none.
pub(crate) fn chain(text: &[u8], file: &str) -> Result<Vec<CertificateDer<'static>>> {
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match chain.unwrap_or_default() {
        chain if chain.is_empty() => Err(invalid(file, "has no certificate in PEM")),
        chain => Ok(chain),
    }
}

pub(crate) fn invalid(file: &str, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("the file {file} {what}"))
}

/// The DNS names and IP addresses among the subject alternative names (RFC 5280 section 4.2.1.6).
pub(crate) fn subject_names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = leaf.subject_alternative_name() else { return Vec::new() };
    let names = names.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            GeneralName::IPAddress(bytes) => Some(ip_address(bytes)?.to_string()),
            _ => None,
        })
        .collect()
}

fn ip_address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

fn time(timestamp: i64) -> SystemTime {
    let since = Duration::from_secs(u64::try_from(timestamp).unwrap_or(0));
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}
