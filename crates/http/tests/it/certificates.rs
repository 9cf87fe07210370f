//! Certificates by name, from a store that changes; certificates of clients; the redirect.

use crate::helper::{Fake, run, site, soon};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa};
use rcgen::{DnType, KeyPair};
use runnel_http::{
    AccessPolicy, Certificate, CertificateInfo, CertificateStore, ClientAuthority, HttpServer,
    HttpsRedirect, Limits, Served, ServerOptions, certificates_changed, serve,
};
use runnel_store::{Answer, Content, Context, Kind, Memory, Reference, Store};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// An authority of the test's own.
fn authority() -> Authority {
    let mut about = CertificateParams::new(Vec::new()).unwrap();
    about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    about.distinguished_name.push(DnType::CommonName, "an authority");
    CertifiedIssuer::self_signed(about, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key for these names, valid for some days from now.
fn certificate(authority: &Authority, names: &[&str], days: u64) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let mut about = CertificateParams::new(names).unwrap();
    about.distinguished_name.push(DnType::CommonName, "Ann");
    about.not_before = (SystemTime::now() - Duration::from_secs(60)).into();
    about.not_after = (SystemTime::now() + Duration::from_secs(days * 86_400)).into();
    about.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let signed = about.signed_by(&key, authority).unwrap();
    (signed.pem(), key.serialize_pem())
}

async fn put(store: &Rc<dyn Store>, name: &str, text: &str) {
    let content = Content::text(text.to_string());
    store.put(&Reference::from_path(name.to_string()), content, &Context::default()).await.unwrap();
}

fn options(store: &Rc<dyn Store>, may_be_empty: bool) -> ServerOptions {
    let certificate = Certificate::Store(CertificateStore { store: store.clone(), may_be_empty });
    ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        certificate: Some(certificate),
        ..ServerOptions::default()
    }
}

/// A handshake that asks for a name, or for none where it is an address.
async fn connect(
    server: &HttpServer,
    authority: &Authority,
    name: &str,
    client: Option<&(String, String)>,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from(name.to_string()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The names of the certificate that a client gets for a name.
async fn names(server: &HttpServer, authority: &Authority, name: &str) -> io::Result<Vec<String>> {
    let stream = connect(server, authority, name, None).await?;
    let leaf = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        base64(leaf.as_ref())
    );
    Ok(CertificateInfo::from_pem(pem.as_bytes(), "leaf.pem").unwrap().names)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let number = piece.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
        let number = number << (8 * (3 - piece.len()));
        for digit in 0..4 {
            let value = (number >> (18 - 6 * digit)) & 63;
            let is_filled = digit <= piece.len();
            text.push(if is_filled { DIGITS[value as usize] as char } else { '=' });
        }
    }
    text
}

#[test]
fn each_name_gets_its_certificate() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let (pem, key) = certificate(&authority, &["a.example", "b.example"], 30);
        put(&store, "a.pem", &pem).await;
        put(&store, "a.key", &key).await;
        let (pem, key) = certificate(&authority, &["*.example.org"], 30);
        put(&store, "wild.pem", &pem).await;
        put(&store, "wild-key.pem", &key).await;
        let (pem, key) = certificate(&authority, &["www.example.org"], 30);
        put(&store, "www.pem", &format!("{key}{pem}")).await;
        put(&store, "notes.txt", "no certificate").await;
        let server = serve(site(&[]).await, options(&store, false)).await.unwrap();
        let got = async |name: &str| names(&server, &authority, name).await.map(|it| it.join(" "));
        assert_eq!(got("a.example").await.unwrap(), "a.example b.example");
        assert_eq!(got("B.EXAMPLE").await.unwrap(), "a.example b.example");
        assert_eq!(got("x.example.org").await.unwrap(), "*.example.org");
        assert_eq!(got("www.example.org").await.unwrap(), "www.example.org");
        // A wildcard is for one label, and there is no default.
        for unknown in ["x.y.example.org", "example.org", "c.example", "127.0.0.1"] {
            let error = got(unknown).await.unwrap_err().to_string();
            assert!(error.contains("AccessDenied"), "{unknown}: {error}");
        }
        let covers = server.certificates().unwrap();
        assert!(covers.covers("A.example") && covers.covers("x.example.org"));
        assert!(!covers.covers("example.org") && !covers.covers(""));
    });
}

#[test]
fn unknown_names_get_the_default() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        for (file, name) in [("default", "a.example"), ("b", "b.example")] {
            let (pem, key) = certificate(&authority, &[name, "127.0.0.1"], 30);
            put(&store, &format!("{file}.pem"), &format!("{pem}{key}")).await;
        }
        let server = serve(site(&[]).await, options(&store, false)).await.unwrap();
        // Without a name: a client of an address sends none.
        let got = names(&server, &authority, "127.0.0.1").await.unwrap();
        assert_eq!(got, ["a.example", "127.0.0.1"]);
        assert_eq!(names(&server, &authority, "b.example").await.unwrap()[0], "b.example");
    });
}

/// Waits until a name gets a certificate that satisfies.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    soon(what, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[test]
fn changed_certificates_are_used_and_unusable_ones_are_not() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let server = serve(site(&[]).await, options(&store, true)).await.unwrap();
        assert!(names(&server, &authority, "a.example").await.is_err(), "there is none yet");
        let (pem, key) = certificate(&authority, &["a.example"], 30);
        put(&store, "a.pem", &format!("{pem}{key}")).await;
        certificates_changed();
        until("the first one", async || names(&server, &authority, "a.example").await.is_ok())
            .await;
        // The old one stays in use while the new one is unusable, and others change meanwhile.
        put(&store, "a.pem", "nonsense").await;
        let (pem, key) = certificate(&authority, &["b.example"], 30);
        put(&store, "b.pem", &format!("{pem}{key}")).await;
        certificates_changed();
        until("another one", async || names(&server, &authority, "b.example").await.is_ok()).await;
        assert!(names(&server, &authority, "a.example").await.is_ok());
        // Of two for a name the one that ends later is used.
        let (pem, key) = certificate(&authority, &["b.example", "later.example"], 60);
        put(&store, "a.pem", &format!("{pem}{key}")).await;
        certificates_changed();
        until("the later one", async || {
            names(&server, &authority, "b.example").await.is_ok_and(|names| names.len() == 2)
        })
        .await;
        assert!(names(&server, &authority, "a.example").await.is_err());
        // What is removed is gone.
        store.delete(&Reference::from_path("a.pem"), &Context::default()).await.unwrap();
        certificates_changed();
        until("its end", async || {
            names(&server, &authority, "b.example").await.is_ok_and(|names| names.len() == 1)
        })
        .await;
    });
}

#[test]
fn a_store_without_a_usable_certificate_is_an_error() {
    run(async {
        let (one, other) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let (pem, _) = certificate(&one, &["a.example"], 30);
        put(&other, "a.pem", &pem).await;
        let error = serve(site(&[]).await, options(&other, false)).await.map(drop).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        assert!(error.message.contains("put NAME.pem there"), "{}", error.message);
    });
}

#[test]
fn a_thousand_certificates_are_found_by_name() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        for number in 0..1_000 {
            let name = format!("n{number}.example");
            let (pem, key) = certificate(&authority, &[&name], 30);
            put(&store, &format!("{name}.pem"), &format!("{pem}{key}")).await;
        }
        let server = serve(site(&[]).await, options(&store, false)).await.unwrap();
        for name in ["n0.example", "n777.example", "n999.example"] {
            assert_eq!(names(&server, &authority, name).await.unwrap(), [name]);
        }
    });
}

/// A store that answers the certificate of the client.
fn who_asks() -> Rc<Fake> {
    Rc::new(Fake::get(|_, context| {
        let exchange = context.exchange.clone().unwrap();
        Answer::ok(Some(match exchange.client_certificate() {
            Some(certificate) => Content::value(certificate),
            None => Content::text("nobody"),
        }))
    }))
}

async fn ask(stream: io::Result<TlsStream<TcpStream>>) -> io::Result<String> {
    let mut stream = stream?;
    stream.write_all(b"GET / HTTP/1.0\r\nHost: a.example\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[test]
fn clients_have_certificates() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let (staff, stranger) = (self::authority(), self::authority());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("staff.pem");
        std::fs::write(&file, staff.pem()).unwrap();
        let (pem, key) = certificate(&authority, &["a.example"], 30);
        put(&store, "a.pem", &format!("{pem}{key}")).await;
        let good = certificate(&staff, &["ann.example"], 30);
        let bad = certificate(&stranger, &["eve.example"], 30);
        for is_required in [true, false] {
            let clients = Some(ClientAuthority { file: file.clone(), is_required });
            let options = ServerOptions { client_authority: clients, ..options(&store, false) };
            let server = serve(who_asks(), options).await.unwrap();
            let answer = ask(connect(&server, &authority, "a.example", Some(&good)).await).await;
            let answer = answer.unwrap();
            assert!(answer.contains("\"subject\":\"CN=Ann\""), "{answer}");
            assert!(answer.contains("\"names\":[\"ann.example\"]"), "{answer}");
            let fingerprint = answer.split("\"fingerprint\":\"").nth(1).unwrap();
            assert_eq!(fingerprint.split('"').next().unwrap().len(), 64);
            let other = ask(connect(&server, &authority, "a.example", Some(&bad)).await).await;
            let other = other.unwrap_err().to_string();
            assert!(other.contains("UnknownCA") || other.contains("DecryptError"), "{other}");
            let none = ask(connect(&server, &authority, "a.example", None).await).await;
            match is_required {
                false => assert!(none.unwrap().ends_with("nobody")),
                true => {
                    let error = none.unwrap_err().to_string();
                    assert!(error.contains("CertificateRequired"), "{error}");
                }
            }
        }
    });
}

#[test]
fn a_changed_authority_of_clients_is_used() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let (before, after) = (self::authority(), self::authority());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("staff.pem");
        std::fs::write(&file, before.pem()).unwrap();
        let (pem, key) = certificate(&authority, &["a.example"], 30);
        put(&store, "a.pem", &format!("{pem}{key}")).await;
        let clients = Some(ClientAuthority { file: file.clone(), is_required: true });
        let options = ServerOptions { client_authority: clients, ..options(&store, false) };
        let server = serve(who_asks(), options).await.unwrap();
        let client = certificate(&after, &["ann.example"], 30);
        let is_let_in =
            async || ask(connect(&server, &authority, "a.example", Some(&client)).await).await;
        assert!(is_let_in().await.is_err());
        let new = folder.path().join("new.pem");
        std::fs::write(&new, after.pem()).unwrap();
        let later = SystemTime::now() + Duration::from_secs(2);
        std::fs::File::options().write(true).open(&new).unwrap().set_modified(later).unwrap();
        std::fs::rename(&new, &file).unwrap();
        certificates_changed();
        until("the new authority", async || is_let_in().await.is_ok()).await;
    });
}

#[test]
fn the_plain_port_redirects_hosts_with_a_certificate_alone() {
    run(async {
        let (authority, store) = (authority(), Rc::new(Memory::dictionary()) as Rc<dyn Store>);
        let (pem, key) = certificate(&authority, &["a.example", "*.b.example", "127.0.0.1"], 30);
        put(&store, "a.pem", &format!("{pem}{key}")).await;
        let server = serve(site(&[]).await, options(&store, false)).await.unwrap();
        let redirect = |port| HttpsRedirect {
            certificates: server.certificates().unwrap(),
            expected: vec!["soon.example".to_string()],
            port,
        };
        for (port, shown) in [(443, ""), (8443, ":8443")] {
            let address = ([127, 0, 0, 1], 0).into();
            // As the command serves it: the redirect compares the host with the certificates itself.
            let access = AccessPolicy { allowed_hosts: vec!["*".into()], ..Default::default() };
            let limits = Limits { access, ..Limits::default() };
            let options = ServerOptions { address, limits, ..Default::default() };
            let plain = serve(Served::Handler(Rc::new(redirect(port))), options).await.unwrap();
            let answer = async |host: &str| {
                let mut stream = TcpStream::connect(plain.address()).await.unwrap();
                let request =
                    format!("GET /x%20y?a=b HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                answer
            };
            for host in ["a.example", "x.b.example", "127.0.0.1"] {
                let said = answer(&format!("{host}:80")).await;
                assert!(said.starts_with("HTTP/1.1 308 "), "{said}");
                let location = format!("location: https://{host}{shown}/x%20y?a=b\r\n");
                assert!(said.to_ascii_lowercase().contains(&location), "{said}");
            }
            for host in ["evil.example", "a.example.evil", "y@x.b.example", "q/x.b.example"] {
                let said = answer(host).await;
                assert!(said.starts_with("HTTP/1.1 400 "), "{host}: {said}");
            }
            let said = answer("soon.example").await;
            assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
            assert!(said.to_ascii_lowercase().contains("retry-after: 10"), "{said}");
        }
    });
}
