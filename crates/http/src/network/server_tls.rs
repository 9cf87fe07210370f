//! TLS of the server: certificates from files, reloaded when they change, or one for development.

use crate::network::local_certificate;
use crate::network::wire::NetworkStream;
use runnel_store::{Error, Kind, Reference, Result, Verb};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Shortest interval between two checks of the files for changes; checked on a new connection.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// The largest certificate or key file, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// The certificate of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Two PEM files: the certificate chain and its private key. When they change, new connections
    /// use the new ones; unusable new files are logged and the old ones stay.
    Files {
        /// The certificate, then its intermediates.
        certificate: PathBuf,
        /// The private key: PKCS#8, PKCS#1 or SEC1.
        key: PathBuf,
    },
    /// A self-signed certificate for `localhost`, `127.0.0.1` and `::1`, kept in this folder and
    /// created when missing. Only for loopback addresses.
    Local {
        /// The folder; created when missing, readable by its owner alone.
        folder: PathBuf,
    },
}

/// A TLS handshake with a client.
pub(crate) type TlsHandshake = Pin<Box<dyn Future<Output = io::Result<NetworkStream>>>>;

/// The certificate files and the protocols they serve.
#[derive(Clone)]
struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    http2: bool,
}

/// When the two files were last modified.
type Written = Option<(SystemTime, SystemTime)>;

/// The TLS acceptor of a server.
pub(crate) struct ServerTls(Rc<LoadedCertificate>);

struct LoadedCertificate {
    files: CertificateFiles,
    settings: RefCell<Arc<ServerConfig>>,
    written: Cell<Written>,
    looked: Cell<Instant>,
}

impl ServerTls {
    /// # Errors
    /// [`Kind::Invalid`] where a file is none of certificates, or of a key, or both do not belong
    /// together; [`Kind::NotFound`] or [`Kind::Denied`] where it cannot be read.
    pub(crate) fn new(
        certificate: &Certificate,
        http2: bool,
        address: SocketAddr,
    ) -> Result<ServerTls> {
        let (certificate, key) = match certificate {
            Certificate::Files { certificate, key } => (certificate.clone(), key.clone()),
            Certificate::Local { .. } if !address.ip().is_loopback() => {
                let message = "a certificate for development is only for addresses of this machine: \
                               listen on 127.0.0.1, or give the files of a real certificate";
                return Err(Error::new(Kind::Invalid, message));
            }
            Certificate::Local { folder } => local_certificate::in_folder(folder)?,
        };
        let files = CertificateFiles { certificate, key, http2 };
        let written = files.modified();
        let settings = RefCell::new(files.read()?);
        let (written, looked) = (Cell::new(written), Cell::new(Instant::now()));
        Ok(ServerTls(Rc::new(LoadedCertificate { files, settings, written, looked })))
    }

    /// Starts a handshake with a client.
    pub(crate) fn accept(&self, stream: TcpStream) -> TlsHandshake {
        self.reload_if_changed();
        let acceptor = TlsAcceptor::from(self.0.settings.borrow().clone());
        Box::pin(async move {
            Ok(NetworkStream::Right(Box::new(acceptor.accept(stream).await?.into())))
        })
    }

    /// Reloads changed files in the background.
    fn reload_if_changed(&self) {
        let now = Instant::now();
        if now.duration_since(self.0.looked.get()) < RELOAD_INTERVAL {
            return;
        }
        self.0.looked.set(now);
        let (kept, files) = (self.0.clone(), self.0.files.clone());
        let before = kept.written.get();
        let read = tokio::task::spawn_blocking(move || {
            let written = files.modified();
            (written != before).then(|| (written, files.read().map_err(|error| error.to_string())))
        });
        tokio::task::spawn_local(async move {
            match read.await {
                Ok(Some((written, Ok(settings)))) => {
                    tracing::info!("the certificate was reloaded");
                    kept.settings.replace(settings);
                    kept.written.set(written);
                }
                Ok(Some((written, Err(error)))) => {
                    tracing::error!(%error, "the certificate has changed and cannot be used");
                    kept.written.set(written);
                }
                Ok(None) | Err(_) => {}
            }
        });
    }
}

impl CertificateFiles {
    fn modified(&self) -> Written {
        let of = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
        Some((of(&self.certificate)?, of(&self.key)?))
    }

    fn read(&self) -> Result<Arc<ServerConfig>> {
        let text = read_file(&self.certificate)?;
        let certificates: std::result::Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(&text).collect();
        let certificates = certificates.unwrap_or_default();
        if certificates.is_empty() {
            return Err(invalid_file(&self.certificate, "has no certificate in PEM"));
        }
        let key = PrivateKeyDer::from_pem_slice(&read_file(&self.key)?)
            .map_err(|_| invalid_file(&self.key, "has no private key in PEM"))?;
        let provider = ring::default_provider();
        let unusable = |error: rustls::Error| {
            let pair = "and its key cannot be used together";
            invalid_file(&self.certificate, pair).with_detail(error.to_string())
        };
        let mut settings = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(unusable)?;
        // Session tickets: a returning client needs no full handshake (RFC 8446 section 2.2).
        settings.ticketer = ring::Ticketer::new().map_err(unusable)?;
        settings.alpn_protocols = match self.http2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            false => vec![b"http/1.1".to_vec()],
        };
        Ok(Arc::new(settings))
    }
}

fn invalid_file(path: &Path, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("the file {} {what}", path.display()))
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    let on = Reference::from_path(path.to_string_lossy().into_owned());
    let unread = |error| Error::from_io(error, Verb::Get, &on);
    let length = std::fs::metadata(path).map_err(unread)?.len();
    if length > LARGEST_FILE {
        return Err(invalid_file(path, "is too large for certificates or a key"));
    }
    std::fs::read(path).map_err(unread)
}
