//! Encryption: rustls with the authorities that Mozilla trusts, and those of `SSL_CERT_FILE`.

use crate::BusOptions;
use runnel_store::{Error, Kind, Result};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What a secure connection is made with.
///
/// # Errors
/// [`Kind::Invalid`] when the file of `SSL_CERT_FILE` cannot be read.
pub(crate) fn client(options: &BusOptions) -> Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = options.variable("SSL_CERT_FILE") {
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("the certificates of SSL_CERT_FILE cannot be read from {path}");
            Error::new(Kind::Invalid, message).with_detail(error.to_string())
        };
        let file = CertificateDer::pem_file_iter(&path).map_err(|error| unreadable(&error))?;
        for certificate in file {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
    }
    Ok(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}
