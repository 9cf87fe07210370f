//! The certificate of a handshake, selected by the server name of the client (SNI, RFC 6066).
//!
//! A lookup is two hash lookups whatever the number of certificates: the name itself, then the
//! wildcard of its domain. A client without a name, or with a name that no certificate covers, gets
//! the default certificate; without one the handshake ends with an alert.

use crate::network::certificates::pem::ServerCertificate;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The certificates of a server by the names that they cover.
#[derive(Debug, Default)]
pub struct CertificatesByName {
    current: RwLock<Arc<NameTable>>,
}

/// One state of the certificates.
#[derive(Debug, Default)]
struct NameTable {
    names: HashMap<String, Arc<ServerCertificate>>,
    default: Option<Arc<ServerCertificate>>,
}

impl CertificatesByName {
    /// Whether a certificate covers this host name or address, in any case of letters.
    pub fn covers(&self, host: &str) -> bool {
        self.current().find(&host.to_ascii_lowercase()).is_some()
    }

    /// Whether there is no certificate.
    pub(crate) fn is_empty(&self) -> bool {
        let table = self.current();
        table.names.is_empty() && table.default.is_none()
    }

    /// Replaces all certificates. Of two for a name, the one that ends later is used. A single
    /// certificate is the default.
    pub(crate) fn replace(
        &self,
        certificates: Vec<Arc<ServerCertificate>>,
        default: Option<Arc<ServerCertificate>>,
    ) {
        let default = default.or_else(|| match &certificates[..] {
            [only] => Some(only.clone()),
            _ => None,
        });
        let mut names: HashMap<String, Arc<ServerCertificate>> = HashMap::new();
        for certificate in certificates {
            for name in &certificate.about.names {
                let known = names.get(name);
                let ends = certificate.about.not_after;
                if known.is_none_or(|known| known.about.not_after < ends) {
                    names.insert(name.clone(), certificate.clone());
                }
            }
        }
        let table = Arc::new(NameTable { names, default });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    fn current(&self) -> Arc<NameTable> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl NameTable {
    /// The certificate of a name in lowercase. A wildcard stands for one label (RFC 9525 section
    /// 6.3).
    fn find(&self, name: &str) -> Option<&Arc<ServerCertificate>> {
        self.names.get(name).or_else(|| {
            let (label, domain) = name.split_once('.')?;
            self.names.get(&format!("*.{domain}")).filter(|_| !label.is_empty())
        })
    }
}

impl ResolvesServerCert for CertificatesByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let table = self.current();
        // rustls has put the name into lowercase.
        let found = hello.server_name().and_then(|name| table.find(name));
        found.or(table.default.as_ref()).map(|certificate| certificate.key.clone())
    }
}
