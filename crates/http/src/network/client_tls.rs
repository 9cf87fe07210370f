//! TLS of clients: whom they trust, and the certificate that they show.

use crate::network::certificates::{local, pem};
use crate::network::server_tls::read_file;
use runnel_store::{Error, Kind, Result};
use rustls::client::WantsClientCert;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;

/// The authorities of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateAuthority {
    /// A PEM file with certificates of authorities, in place of those that Mozilla trusts.
    File(PathBuf),
    /// The certificate for development in this folder ([`crate::Certificate::Local`]), created when missing.
    Local {
        /// The folder.
        folder: PathBuf,
    },
}

/// The TLS settings of a client.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<ClientConfig>);

impl ClientTls {
    /// Reads the files: the authorities, or those that Mozilla trusts; the client's certificate with its
    /// private key, or none.
    ///
    /// # Errors
    /// [`Kind::Invalid`] where a file is none of certificates, or of a key, or both do not belong together;
    /// [`Kind::NotFound`] or [`Kind::Denied`] where it cannot be read.
    pub fn load(
        authority: Option<&CertificateAuthority>,
        identity: Option<(&Path, &Path)>,
    ) -> Result<ClientTls> {
        let roots = match authority {
            None if identity.is_none() => return ClientTls::usual(),
            None => usual_roots(),
            Some(CertificateAuthority::File(path)) => roots_of(path)?,
            Some(CertificateAuthority::Local { folder }) => roots_of(&local::in_folder(folder)?.0)?,
        };
        let builder = verifying(roots)?;
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let file = certificate.display().to_string();
                let chain = pem::chain(&read_file(certificate)?, &file)?;
                let private = PrivateKeyDer::from_pem_slice(&read_file(key)?).map_err(|_| {
                    pem::invalid(&key.display().to_string(), "has no private key in PEM")
                })?;
                builder.with_client_auth_cert(chain, private).map_err(|error| {
                    pem::invalid(&file, "and its key cannot be used together")
                        .with_detail(error.to_string())
                })?
            }
        };
        Ok(ClientTls(Arc::new(config)))
    }

    /// The settings that most clients have: the authorities that Mozilla trusts, and no certificate. All of them share
    /// the roots and the sessions to resume.
    ///
    /// # Errors
    /// [`Kind::Failed`]: TLS cannot be used at all.
    pub(crate) fn usual() -> Result<ClientTls> {
        static USUAL: OnceLock<Arc<ClientConfig>> = OnceLock::new();
        if let Some(config) = USUAL.get() {
            return Ok(ClientTls(config.clone()));
        }
        let config = Arc::new(verifying(usual_roots())?.with_no_client_auth());
        Ok(ClientTls(USUAL.get_or_init(|| config).clone()))
    }

    /// Trusts the authorities of a PEM text alone. `file` names it in errors.
    ///
    /// # Errors
    /// [`Kind::Invalid`] where it has no usable authority.
    pub(crate) fn trusting(text: &[u8], file: &str) -> Result<ClientTls> {
        let config = verifying(pem::authorities(text, file)?)?.with_no_client_auth();
        Ok(ClientTls(Arc::new(config)))
    }

    pub(crate) fn connector(&self) -> TlsConnector {
        TlsConnector::from(self.0.clone())
    }
}

/// The settings of a client that trusts these authorities.
fn verifying(roots: RootCertStore) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>> {
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            Error::new(Kind::Failed, "TLS cannot be used").with_detail(error.to_string())
        })?;
    Ok(versions.with_root_certificates(roots))
}

/// The authorities that Mozilla trusts.
fn usual_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn roots_of(path: &Path) -> Result<RootCertStore> {
    pem::authorities(&read_file(path)?, &path.display().to_string())
}
