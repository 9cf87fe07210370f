//! TLS of the server: handshakes, with certificates that are reloaded when they change.

use crate::network::certificates::by_name::CertificatesByName;
use crate::network::certificates::client::ClientAuthority;
use crate::network::certificates::local;
use crate::network::certificates::pem::{self, MAX_PEM_SIZE};
use crate::network::certificates::stored::{CertificateStore, StoredCertificates};
use crate::network::wire::NetworkStream;
use runnel_store::{Error, Kind, Reference, Result, Verb};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Shortest interval between two checks for changed certificates; checked on a new connection.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// The same while there is no certificate, which another machine may order.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// Counts the changes that this process made itself, which are read at once.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Tells every server of this process that certificates in a store have changed: they are read on
/// the next connection.
pub fn certificates_changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Where the certificates of a server are.
#[derive(Clone, Debug)]
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
    /// Many certificates, selected by the name that a client asks for.
    Store(CertificateStore),
}

/// A TLS handshake with a client.
pub(crate) type TlsHandshake = Pin<Box<dyn Future<Output = io::Result<NetworkStream>>>>;

/// When files were last modified.
type Modified = Option<Vec<SystemTime>>;

/// The TLS acceptor of a server.
pub(crate) struct ServerTls(Rc<LoadedCertificates>);

struct LoadedCertificates {
    source: CertificateSource,
    names: Arc<CertificatesByName>,
    clients: Option<ClientAuthority>,
    http2: bool,
    settings: RefCell<Arc<ServerConfig>>,
    /// When the authorities of clients were last modified.
    authorities: RefCell<Modified>,
    looked: Cell<Instant>,
    changes: Cell<u64>,
    is_reading: Cell<bool>,
}

/// The certificates, and what was read of them.
enum CertificateSource {
    Files { certificate: PathBuf, key: PathBuf, modified: RefCell<Modified> },
    Store(CertificateStore, StoredCertificates),
}

impl ServerTls {
    /// # Errors
    /// [`Kind::Invalid`] where a file is none of certificates, or of a key, or both do not belong
    /// together; [`Kind::NotFound`] or [`Kind::Denied`] where it cannot be read; the errors of a
    /// store.
    pub(crate) async fn new(
        certificate: &Certificate,
        clients: Option<&ClientAuthority>,
        http2: bool,
        address: SocketAddr,
    ) -> Result<ServerTls> {
        let files = |certificate, key| CertificateSource::Files {
            certificate,
            key,
            modified: RefCell::default(),
        };
        let source = match certificate {
            Certificate::Files { certificate, key } => files(certificate.clone(), key.clone()),
            Certificate::Local { .. } if !address.ip().is_loopback() => {
                let message = "a certificate for development is only for addresses of this machine: \
                               listen on 127.0.0.1, or give the files of a real certificate";
                return Err(Error::new(Kind::Invalid, message));
            }
            Certificate::Local { folder } => {
                let (certificate, key) = local::in_folder(folder)?;
                files(certificate, key)
            }
            Certificate::Store(store) => {
                CertificateSource::Store(store.clone(), StoredCertificates::default())
            }
        };
        let names = Arc::new(CertificatesByName::default());
        let changes = Cell::new(CHANGES.load(Ordering::Relaxed));
        let count = source.read(&names).await?.unwrap_or_default();
        if let CertificateSource::Store(store, _) = &source
            && count == 0
            && !store.may_be_empty
        {
            let message = "there is no usable certificate among the certificates of the server: \
                           put NAME.pem there, with its key inside or beside it as NAME.key";
            return Err(Error::new(Kind::Invalid, message));
        }
        let clients = clients.cloned();
        let authorities =
            RefCell::new(clients.as_ref().and_then(|one| modified(&[one.file.as_path()])));
        let settings = RefCell::new(settings(&names, clients.as_ref(), http2)?);
        let (looked, is_reading) = (Cell::new(Instant::now()), Cell::new(false));
        Ok(ServerTls(Rc::new(LoadedCertificates {
            source,
            names,
            clients,
            http2,
            settings,
            authorities,
            looked,
            changes,
            is_reading,
        })))
    }

    /// The names for which there are certificates.
    pub(crate) fn names(&self) -> Arc<CertificatesByName> {
        self.0.names.clone()
    }

    /// Whether clients have certificates.
    pub(crate) fn asks_clients(&self) -> bool {
        self.0.clients.is_some()
    }

    /// Starts a handshake with a client.
    pub(crate) fn accept(&self, stream: TcpStream) -> TlsHandshake {
        let reading = self.reload_if_changed();
        // The first certificate is waited for; later the old ones serve meanwhile.
        let first = reading.filter(|_| self.0.names.is_empty());
        let acceptor = TlsAcceptor::from(self.0.settings.borrow().clone());
        Box::pin(async move {
            if let Some(first) = first {
                // An error would be a panic, which is logged.
                let _ = first.await;
            }
            Ok(NetworkStream::Right(Box::new(acceptor.accept(stream).await?.into())))
        })
    }

    /// Reads changed certificates in the background.
    fn reload_if_changed(&self) -> Option<JoinHandle<()>> {
        let loaded = &self.0;
        let (now, changes) = (Instant::now(), CHANGES.load(Ordering::Relaxed));
        let interval = if loaded.names.is_empty() { FIRST_INTERVAL } else { RELOAD_INTERVAL };
        let is_due = now.duration_since(loaded.looked.get()) >= interval;
        if loaded.is_reading.get() || !is_due && changes == loaded.changes.get() {
            return None;
        }
        loaded.looked.set(now);
        loaded.changes.set(changes);
        loaded.is_reading.set(true);
        let loaded = loaded.clone();
        Some(tokio::task::spawn_local(async move {
            match loaded.source.read(&loaded.names).await {
                Ok(Some(count)) => tracing::info!(count, "the certificates were reloaded"),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "the certificates cannot be read; the old ones stay");
                }
            }
            loaded.reload_authorities();
            loaded.is_reading.set(false);
        }))
    }
}

impl LoadedCertificates {
    /// Reads changed authorities of clients. Sessions under the old ones are not resumed.
    fn reload_authorities(&self) {
        let Some(clients) = &self.clients else { return };
        let now = modified(&[clients.file.as_path()]);
        if self.authorities.replace(now.clone()) == now {
            return;
        }
        match settings(&self.names, Some(clients), self.http2) {
            Ok(settings) => {
                tracing::info!("the authorities of clients were reloaded");
                self.settings.replace(settings);
            }
            Err(error) => {
                tracing::error!(%error, "the authorities of clients have changed and cannot be used");
            }
        }
    }
}

impl CertificateSource {
    /// Reads what has changed. Answers how many certificates there are then, or `None` without a
    /// change.
    async fn read(&self, names: &CertificatesByName) -> Result<Option<usize>> {
        let (certificate, key, before) = match self {
            CertificateSource::Store(store, known) => return known.read(&store.store, names).await,
            CertificateSource::Files { certificate, key, modified } => (certificate, key, modified),
        };
        let now = modified(&[certificate.as_path(), key.as_path()]);
        if before.borrow().is_some() && *before.borrow() == now {
            return Ok(None);
        }
        before.replace(now);
        let file = certificate.display().to_string();
        let (text, key_text) = (read_file(certificate)?, read_file(key)?);
        let parsed = pem::parse(&text, &file, &key_text, &key.display().to_string())?;
        names.replace(vec![Arc::new(parsed)], None);
        Ok(Some(1))
    }
}

/// The settings of handshakes.
fn settings(
    names: &Arc<CertificatesByName>,
    clients: Option<&ClientAuthority>,
    http2: bool,
) -> Result<Arc<ServerConfig>> {
    let unusable = |error: rustls::Error| {
        Error::new(Kind::Failed, "TLS cannot be set up").with_detail(error.to_string())
    };
    let verifier = match clients {
        Some(clients) => clients.verifier(&read_file(&clients.file)?)?,
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let provider = Arc::new(ring::default_provider());
    let mut settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(names.clone());
    // Session tickets: a returning client needs no full handshake (RFC 8446 section 2.2).
    settings.ticketer = ring::Ticketer::new().map_err(unusable)?;
    settings.alpn_protocols = match http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(Arc::new(settings))
}

/// When all of these files were last modified; `None` where one cannot be found.
fn modified(files: &[&Path]) -> Modified {
    let of = |path: &&Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    files.iter().map(of).collect()
}

/// Reads a file of certificates or of a key.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let on = Reference::from_path(path.to_string_lossy().into_owned());
    let unread = |error| Error::from_io(error, Verb::Get, &on);
    let length = std::fs::metadata(path).map_err(unread)?.len();
    if length > MAX_PEM_SIZE as u64 {
        let file = path.display().to_string();
        return Err(pem::invalid(&file, "is too large for certificates or a key"));
    }
    std::fs::read(path).map_err(unread)
}
