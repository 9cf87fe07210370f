//! Certificates of clients (mutual TLS): the authorities that sign them, and what a program sees.

use crate::network::certificates::pem;
use runnel_store::{Error, Kind, Result, Value};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// The certificates that a server asks its clients for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuthority {
    /// A PEM file with the authorities that sign the certificates.
    pub file: PathBuf,
    /// Whether a client without a certificate is refused.
    pub is_required: bool,
}

impl ClientAuthority {
    /// The verifier of the clients' certificates, from the text of the file.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: the text has no usable authority.
    pub(crate) fn verifier(&self, text: &[u8]) -> Result<Arc<dyn ClientCertVerifier>> {
        let file = self.file.display().to_string();
        let roots = Arc::new(pem::authorities(text, &file)?);
        let provider = Arc::new(ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider);
        let builder = match self.is_required {
            true => builder,
            false => builder.allow_unauthenticated(),
        };
        builder.build().map_err(|error| {
            let message = format!("the file {file} cannot be used as an authority of clients");
            Error::new(Kind::Invalid, message).with_detail(error.to_string())
        })
    }
}

/// A verified certificate as a program sees it: `subject`, `names` and `fingerprint` (SHA-256 of its
/// DER form, in hexadecimal).
pub(crate) fn describe(certificate: &CertificateDer<'_>) -> Option<Value> {
    let (_, leaf) = X509Certificate::from_der(certificate).ok()?;
    let names = pem::subject_names(&leaf).into_iter().map(Value::Text).collect();
    let mut fingerprint = String::with_capacity(64);
    for byte in Sha256::digest(certificate) {
        let _ = write!(fingerprint, "{byte:02x}");
    }
    Some(Value::Record(vec![
        ("subject".to_string(), Value::Text(leaf.subject().to_string())),
        ("names".to_string(), Value::List(names)),
        ("fingerprint".to_string(), Value::Text(fingerprint)),
    ]))
}
