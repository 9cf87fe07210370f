//! Certificates are verified: one that nobody vouches for is refused.

use crate::helper::{run, soon};
use runnel_http::{ClientOptions, client};
use runnel_store::{Context, Kind, Reference};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

/// A certificate for `localhost` that signs itself, valid until 2126, made for this test.
const CERTIFICATE: &[u8] = include_bytes!("certificate/self-signed.der");
const KEY: &[u8] = include_bytes!("certificate/self-signed.key.der");

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFICATE.into()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut secure = rustls::Stream::new(&mut connection, &mut stream);
        secure.read(&mut [0; 1024]).map_err(|error| error.to_string())
    });
    run(async {
        let place = Reference::parse(&format!("//localhost:{port}/")).with_scheme("https");
        let web = client(ClientOptions::default());
        let error = soon("the refusal", web.get(&place, &Context::default())).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Denied, false));
        assert!(
            error.message.starts_with(&format!(
                "localhost:{port} has no trustworthy secure connection: invalid peer certificate"
            )),
            "{}",
            error.message
        );
    });
    assert!(server.join().unwrap().is_err());
}
