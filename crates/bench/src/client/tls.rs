//! TLS of the generator. Each connection makes a full handshake, as new clients do.

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    StreamOwned,
};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// The accepted certificates of an `https` server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those of publicly trusted authorities.
    #[default]
    Usual,
    /// Those of these authorities: certificates in PEM.
    Authorities(Vec<u8>),
    /// Any, also expired ones and those of other hosts.
    Anything,
}

/// The TLS settings for one host.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    settings: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// # Errors
    /// A sentence: the host is no valid server name, or there is no certificate among the
    /// authorities.
    pub(crate) fn new(host: &str, trust: &Trust) -> Result<TlsClient, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("{host} cannot be the name of a secure server"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be used: {error}"))?;
        let mut settings = match trust {
            Trust::Usual => {
                let roots =
                    RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
                builder.with_root_certificates(roots).with_no_client_auth()
            }
            Trust::Authorities(text) => {
                builder.with_root_certificates(authorities(text)?).with_no_client_auth()
            }
            Trust::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
                .with_no_client_auth(),
        };
        settings.resumption = Resumption::disabled();
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsClient { settings: Arc::new(settings), name })
    }
}

fn authorities(text: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let added = certificate
            .map_err(|error| error.to_string())
            .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()));
        added.map_err(|why| format!("a certificate of an authority cannot be used: {why}"))?;
    }
    match roots.is_empty() {
        true => Err("there is no certificate of an authority; give a file in PEM".to_owned()),
        false => Ok(roots),
    }
}

/// Accepts every certificate; only verifies that the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection, plain or with TLS.
#[derive(Debug)]
pub(crate) enum Stream<S: Read + Write> {
    Plain(S),
    Secure(Box<StreamOwned<ClientConnection, S>>),
}

impl<S: Read + Write> Stream<S> {
    /// # Errors
    /// The settings allow no handshake.
    pub(crate) fn new(socket: S, tls: Option<&TlsClient>) -> io::Result<Self> {
        let Some(TlsClient { settings, name }) = tls else { return Ok(Stream::Plain(socket)) };
        let connection = ClientConnection::new(settings.clone(), name.clone());
        let connection = connection.map_err(io::Error::other)?;
        Ok(Stream::Secure(Box::new(StreamOwned::new(connection, socket))))
    }

    pub(crate) fn socket(&self) -> &S {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Secure(stream) => stream.get_ref(),
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Stream::Secure(_))
    }
}

impl<S: Read + Write> Read for Stream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Secure(stream) => match stream.read(buffer) {
                // The server closed without close_notify: the parser knows whether the response is
                // complete.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl<S: Read + Write> Write for Stream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Secure(stream) => stream.flush(),
        }
    }
}
