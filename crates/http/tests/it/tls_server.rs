//! A server with TLS: what is agreed on, certificates that change, and what is refused.

use crate::helper::{run, site, soon};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Version};
use hyper_util::rt::TokioIo;
use runnel_http::{Certificate, HttpServer, Limits, ServerOptions, serve};
use runnel_store::Kind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("runnel-tls-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(certificate: Certificate) -> ServerOptions {
    let address = ([127, 0, 0, 1], 0).into();
    ServerOptions { address, certificate: Some(certificate), ..ServerOptions::default() }
}

async fn local(folder: &Folder, change: impl FnOnce(&mut ServerOptions)) -> HttpServer {
    let mut options = options(Certificate::Local { folder: folder.0.clone() });
    change(&mut options);
    serve(site(&[("/hi", "Hello World!")]).await, options).await.unwrap()
}

async fn connect(
    server: &HttpServer,
    folder: &Folder,
    protocols: &[&[u8]],
) -> TlsStream<TcpStream> {
    try_connect(server, folder, protocols).await.unwrap()
}

async fn try_connect(
    server: &HttpServer,
    folder: &Folder,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let text = std::fs::read(folder.0.join("local-certificate.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&text).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

fn request(version: Version) -> Request<Full<Bytes>> {
    let uri = if version == Version::HTTP_2 { "https://localhost/hi" } else { "/hi" };
    let builder = Request::builder().uri(uri).version(version).header("host", "localhost");
    builder.body(Full::default()).unwrap()
}

#[test]
fn both_protocols_are_spoken() {
    run(async {
        let folder = Folder::new("both");
        let server = local(&folder, |_| {}).await;
        let stream = connect(&server, &folder, &[b"h2", b"http/1.1"]).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut client, connection) = http2::handshake(Local, TokioIo::new(stream)).await.unwrap();
        let connection = tokio::task::spawn_local(async move {
            let _ = connection.await;
        });
        let answer = soon("h2", client.send_request(request(Version::HTTP_2))).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "Hello World!");
        drop(client);
        soon("the end", connection).await.unwrap();

        for protocols in [&[&b"http/1.1"[..]][..], &[]] {
            let stream = connect(&server, &folder, protocols).await;
            let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
            tokio::task::spawn_local(connection);
            let answer = soon("h1", client.send_request(request(Version::HTTP_11))).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "Hello World!");
        }
    });
}

#[test]
fn http2_is_not_offered_where_it_is_off() {
    run(async {
        let folder = Folder::new("off");
        let server = local(&folder, |options| options.http2 = false).await;
        let stream = connect(&server, &folder, &[b"h2", b"http/1.1"]).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    });
}

#[test]
fn a_client_that_does_not_agree_is_closed_in_time() {
    run(async {
        let folder = Folder::new("slow");
        let limits = Limits { header_time: Duration::from_millis(100), ..Limits::default() };
        let server = local(&folder, |options| options.limits = limits).await;
        let silent = TcpStream::connect(server.address()).await.unwrap();
        let mut plain = TcpStream::connect(server.address()).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut plain, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        soon("both ends", async {
            while server.connections() != 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            while server.connections() != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        drop((silent, plain));
    });
}

#[test]
fn a_certificate_for_development_is_kept_and_private() {
    run(async {
        let folder = Folder::new("kept");
        drop(local(&folder, |_| {}).await);
        let read = |name: &str| std::fs::read(folder.0.join(name)).unwrap();
        let before = (read("local-certificate.pem"), read("local-key.pem"));
        drop(local(&folder, |_| {}).await);
        assert_eq!(before, (read("local-certificate.pem"), read("local-key.pem")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&folder.0), 0o700);
            assert_eq!(mode(&folder.0.join("local-key.pem")), 0o600);
        }
    });
}

#[test]
fn changed_files_are_used_for_new_connections() {
    run(async {
        let (folder, other) = (Folder::new("before"), Folder::new("after"));
        drop((local(&folder, |_| {}).await, local(&other, |_| {}).await));
        let (certificate, key) =
            (folder.0.join("local-certificate.pem"), folder.0.join("local-key.pem"));
        let served = options(Certificate::Files { certificate, key });
        let server = serve(site(&[("/hi", "Hello World!")]).await, served).await.unwrap();
        drop(connect(&server, &folder, &[]).await);
        for file in ["local-certificate.pem", "local-key.pem"] {
            std::fs::copy(other.0.join(file), folder.0.join(file)).unwrap();
        }
        // `connect` trusts the certificate that the folder has now and no other.
        let late = tokio::time::Instant::now() + Duration::from_secs(60);
        while try_connect(&server, &folder, &[]).await.is_err() {
            assert!(tokio::time::Instant::now() < late, "the old certificate is used for ever");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
}

#[test]
fn what_cannot_be_used_is_named() {
    run(async {
        let folder = Folder::new("wrong");
        drop(local(&folder, |_| {}).await);
        let other = Folder::new("other");
        drop(local(&other, |_| {}).await);
        let certificate = folder.0.join("local-certificate.pem");
        let key = other.0.join("local-key.pem");
        let start = |certificate: &Path, key: &Path| {
            let (certificate, key) = (certificate.to_path_buf(), key.to_path_buf());
            serve_nothing(options(Certificate::Files { certificate, key }))
        };
        let error = start(&certificate, &key).await;
        assert_eq!(error, (Kind::Invalid, true), "a key of another certificate");
        let missing = folder.0.join("missing.pem");
        assert_eq!(start(&missing, &key).await, (Kind::NotFound, true));
        assert_eq!(start(&key, &key).await, (Kind::Invalid, true), "no certificate");
        assert_eq!(start(&certificate, &certificate).await, (Kind::Invalid, true), "no key");
        let mut everywhere = options(Certificate::Local { folder: folder.0.clone() });
        everywhere.address = ([0, 0, 0, 0], 0).into();
        assert_eq!(serve_nothing(everywhere).await.0, Kind::Invalid, "for this machine only");
    });
}

/// The kind of the error, and whether a file is named in it.
async fn serve_nothing(options: ServerOptions) -> (Kind, bool) {
    let error = match serve(site(&[]).await, options).await {
        Ok(_) => panic!("it was served"),
        Err(error) => error,
    };
    (error.kind, error.to_string().contains(".pem"))
}

/// Without a word at the end, an answer that ends with its connection could have been cut.
#[test]
fn the_end_of_a_connection_is_said() {
    run(async {
        let folder = Folder::new("end");
        let server = local(&folder, |_| {}).await;
        let mut stream = connect(&server, &folder, &[b"http/1.1"]).await;
        stream.write_all(b"GET /hi HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        let read = soon("the answer", stream.read_to_string(&mut answer)).await;
        assert!(read.is_ok(), "{read:?}");
        assert!(answer.ends_with("\r\n\r\nHello World!"), "{answer}");
    });
}
