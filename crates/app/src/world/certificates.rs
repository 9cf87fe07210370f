//! The options of a server that concern its certificates, and what runs beside it for them: orders
//! from an authority, and the port that redirects to https.

use crate::process::workers::{ListenAddressGuard, WorkerIndex};
use runnel_acme::{AcmeSettings, CertificateTask, Challenges, LETS_ENCRYPT, keep_certificate};
use runnel_http::{
    AccessPolicy, Certificate, CertificateStore, ClientAuthority, Handler, HttpServer,
    HttpsRedirect, Limits, Served, ServerOptions, private_folder,
};
use runnel_store::{Disk, Error, Kind, Result, Setting, SettingKind, SettingTable, Store, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// The port of redirects where the certificate comes from an authority, which asks on this port.
const REDIRECT_PORT: u16 = 80;
/// How long a connection of the redirect may be idle.
const REDIRECT_IDLE: Duration = Duration::from_secs(10);
/// Most connections of the redirect.
const REDIRECT_CONNECTIONS: usize = 1_000;

/// The settings of a server's certificates.
#[derive(Debug, Default)]
pub(crate) struct CertificateSettings {
    certificate: Option<String>,
    key: Option<PathBuf>,
    hosts: Vec<String>,
    contact: Option<String>,
    directory: Option<String>,
    authority: Option<PathBuf>,
    /// `Some(None)` turns it off.
    redirect_port: Option<Option<u16>>,
    client_authority: Option<PathBuf>,
    is_client_required: Option<bool>,
}

/// The options of certificates.
pub(crate) const OPTIONS: SettingTable<CertificateSettings> = SettingTable(&[
    Setting::custom(
        "certificate",
        "the certificate chain, 'auto' for one of an authority, or 'local' for development",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.certificate =
                Some(path(value).ok_or("the path of a file, 'auto' or 'local'")?);
            Ok(())
        },
    ),
    Setting::custom(
        "key",
        "the key of the certificate",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.key = Some(path(value).ok_or("the path of a file")?.into());
            Ok(())
        },
    ),
    Setting::apart("certificates", "a store of certificates", SettingKind::Store),
    Setting::new("hosts", "the names of the certificate 'auto'", |settings| &mut settings.hosts),
    Setting::custom(
        "contact",
        "the mail address for the authority",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.contact = Some(path(value).ok_or("a mail address")?);
            Ok(())
        },
    ),
    Setting::custom(
        "acmeDirectory",
        "the authority",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.directory = Some(path(value).ok_or("the URL of a directory")?);
            Ok(())
        },
    ),
    Setting::custom(
        "acmeAuthority",
        "who signs the certificate of the authority's directory",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.authority = Some(path(value).ok_or("the path of a file")?.into());
            Ok(())
        },
    ),
    Setting::custom(
        "redirectPort",
        "the port that redirects to https; false for none",
        SettingKind::Any,
        |settings: &mut CertificateSettings, value| {
            let port = value.as_f64().filter(|port| port.fract() == 0.0);
            settings.redirect_port = Some(match (value, port) {
                (Value::Bool(false), _) => None,
                (_, Some(port)) if (1.0..=65535.0).contains(&port) => Some(port as u16),
                _ => return Err("a port from 1 to 65535, or false".into()),
            });
            Ok(())
        },
    ),
    Setting::custom(
        "clientAuthority",
        "who signs the certificates of clients",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.client_authority = Some(path(value).ok_or("the path of a file")?.into());
            Ok(())
        },
    ),
    Setting::custom(
        "clientCertificate",
        "whether clients need a certificate",
        SettingKind::Text,
        |settings: &mut CertificateSettings, value| {
            settings.is_client_required = Some(match value.as_str() {
                Some("required") => true,
                Some("optional") => false,
                _ => return Err("'required' or 'optional'".into()),
            });
            Ok(())
        },
    ),
]);

fn path(value: &Value) -> Option<String> {
    value.as_str().filter(|path| !path.is_empty()).map(str::to_string)
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::new(Kind::Invalid, message))
}

impl CertificateSettings {
    /// Whether the certificate comes from an authority.
    pub(crate) fn is_ordered(&self) -> bool {
        self.certificate.as_deref() == Some("auto")
    }

    /// Checks the options together.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: options that need others, or exclude each other.
    pub(crate) fn check(&self, options: &ServerOptions) -> Result<()> {
        let is_file =
            matches!(self.certificate.as_deref(), Some(file) if file != "auto" && file != "local");
        if is_file != self.key.is_some() {
            return match self.certificate.as_deref() {
                Some("auto" | "local") => {
                    invalid("the certificates 'auto' and 'local' bring their key: leave out key")
                }
                _ => invalid("a certificate and its key belong together: name both files"),
            };
        }
        if self.is_ordered() {
            self.acme()?;
            if options.socket.is_some() {
                return invalid("the certificate 'auto' needs a port: leave out the socket");
            }
            if self.redirect_port == Some(None) {
                return invalid(
                    "the certificate 'auto' needs redirectPort, on which the authority asks",
                );
            }
        } else if !self.hosts.is_empty()
            || self.contact.is_some()
            || self.directory.is_some()
            || self.authority.is_some()
        {
            return invalid(
                "the options hosts, contact, acmeDirectory and acmeAuthority of a server belong to \
                 certificate: 'auto' (allowedHosts names the hosts that are served)",
            );
        }
        if self.is_client_required.is_some() && self.client_authority.is_none() {
            return invalid("clientCertificate needs clientAuthority, the file of who signs them");
        }
        if matches!(self.redirect_port, Some(Some(_))) && options.socket.is_some() {
            return invalid("redirectPort needs a port to redirect to: leave out the socket");
        }
        Ok(())
    }

    /// Checks the options with the store of certificates.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: options that need others, or exclude each other.
    pub(crate) fn check_store(&self, has_store: bool) -> Result<()> {
        if has_store && self.certificate.is_some() && !self.is_ordered() {
            return invalid("certificate and certificates exclude each other: name one of them");
        }
        let is_secure = self.certificate.is_some() || has_store;
        let needs = self.client_authority.is_some() || matches!(self.redirect_port, Some(Some(_)));
        if needs && !is_secure {
            return invalid("clientAuthority and redirectPort need a certificate of the server");
        }
        Ok(())
    }

    fn acme(&self) -> Result<AcmeSettings> {
        AcmeSettings {
            hosts: self.hosts.clone(),
            contact: self.contact.clone().unwrap_or_default(),
            directory: self.directory.clone().unwrap_or_else(|| LETS_ENCRYPT.to_string()),
            authority: self.authority.clone(),
        }
        .checked()
    }

    /// Sets the options of the server, and answers what runs beside it.
    ///
    /// # Errors
    /// A file or a folder cannot be used.
    pub(crate) fn apply(
        self,
        store: Option<Rc<dyn Store>>,
        options: &mut ServerOptions,
    ) -> Result<CertificateSide> {
        options.client_authority = self.client_authority.clone().map(|file| ClientAuthority {
            file,
            is_required: self.is_client_required.unwrap_or(true),
        });
        let folder = || {
            let missing = "certificates need a folder of yours: set HOME";
            settings_folder().ok_or_else(|| Error::new(Kind::Invalid, missing))
        };
        let mut side = CertificateSide { redirect_port: self.redirect_port.flatten(), acme: None };
        options.certificate = match (&self.certificate, &self.key, store) {
            (Some(kind), _, store) if kind == "auto" => {
                let store = match store {
                    Some(store) => store,
                    None => private_store(folder()?.join("certificates"))?,
                };
                side.redirect_port.get_or_insert(REDIRECT_PORT);
                side.acme = Some((store.clone(), self.acme()?));
                Some(Certificate::Store(CertificateStore { store, may_be_empty: true }))
            }
            (Some(kind), ..) if kind == "local" => Some(Certificate::Local { folder: folder()? }),
            (Some(file), Some(key), _) => {
                Some(Certificate::Files { certificate: file.into(), key: key.clone() })
            }
            (_, _, Some(store)) => {
                Some(Certificate::Store(CertificateStore { store, may_be_empty: false }))
            }
            _ => None,
        };
        Ok(side)
    }
}

/// Where this user's settings lie (the XDG base directory specification).
pub(crate) fn settings_folder() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(base.join("runnel"))
}

/// A folder that only its owner can enter.
fn private_store(folder: PathBuf) -> Result<Rc<dyn Store>> {
    private_folder(&folder).map_err(|error| {
        let message = format!("the folder {} cannot be made", folder.display());
        Error::new(Kind::Failed, message).with_detail(error.to_string())
    })?;
    Ok(Rc::new(Disk::new(folder)?))
}

/// What runs beside a server for its certificates.
pub(crate) struct CertificateSide {
    redirect_port: Option<u16>,
    acme: Option<(Rc<dyn Store>, AcmeSettings)>,
}

/// The same while it runs.
pub(crate) struct RunningSide {
    redirect: Option<(HttpServer, ListenAddressGuard)>,
    orders: Option<CertificateTask>,
}

impl CertificateSide {
    /// Starts the redirect, then the orders, whose challenges it answers. Of all workers the first
    /// one orders.
    ///
    /// # Errors
    /// The port is taken, or needs more rights; a file of authorities is unusable.
    pub(crate) async fn start(
        self,
        server: &HttpServer,
        place: &WorkerIndex,
    ) -> Result<RunningSide> {
        let mut running = RunningSide { redirect: None, orders: None };
        if let (Some(port), Some(certificates)) = (self.redirect_port, server.certificates()) {
            let expected = self.acme.as_ref().map(|(_, acme)| acme.hosts.clone());
            let (expected, address) = (expected.unwrap_or_default(), server.address());
            let redirect = HttpsRedirect { certificates, expected, port: address.port() };
            let mut handler: Rc<dyn Handler> = Rc::new(redirect);
            if let Some((store, _)) = &self.acme {
                handler = Rc::new(Challenges::new(store.clone(), handler));
            }
            let limits = Limits {
                keep_alive: REDIRECT_IDLE,
                connections: REDIRECT_CONNECTIONS,
                // A redirect tells nothing, and leads to names of the certificate alone.
                access: AccessPolicy {
                    allowed_hosts: vec!["*".to_string()],
                    ..AccessPolicy::default()
                },
                ..Limits::default()
            };
            let address = SocketAddr::new(address.ip(), port);
            let options = ServerOptions { address, limits, ..ServerOptions::default() };
            let redirect = place.serve_beside(Served::Handler(handler), options).await;
            running.redirect = Some(redirect.map_err(|error| {
                let message = format!("the port of redirects: {}", error.message);
                Error { message, ..error }
            })?);
        }
        if let Some((store, acme)) = self.acme
            && place.is_first()
        {
            let authorities = match &acme.authority {
                Some(file) => Some(std::fs::read(file).map_err(|error| {
                    let message = format!("acmeAuthority: {} cannot be read", file.display());
                    Error::new(Kind::NotFound, message).with_detail(error.to_string())
                })?),
                None => None,
            };
            running.orders = Some(keep_certificate(store, acme, authorities.as_deref())?);
        }
        Ok(running)
    }
}

impl RunningSide {
    /// Ends the orders, and drains the redirect. With a grace, another process takes over.
    pub(crate) async fn stop(self, grace: Option<Duration>) {
        drop(self.orders);
        let Some((redirect, held)) = self.redirect else { return };
        let patience = redirect.stop_time();
        match grace {
            Some(grace) => redirect.leave(grace.min(patience), patience).await,
            None => redirect.stop(patience).await,
        };
        drop(held);
    }
}
