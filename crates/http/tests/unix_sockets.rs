//! The web as a store, over a Unix socket.
#![allow(clippy::unwrap_used)]

mod helper;

use helper::{run, start};
use runnel_http::{ClientOptions, client};
use runnel_store::{Content, Context, Kind, Memory, Reference, Store};
use std::path::Path;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener};

fn at(path: &str) -> Reference {
    Reference::parse(&format!("//localhost/{path}")).with_scheme("http")
}

fn store(socket: &Path) -> Rc<dyn Store> {
    client(ClientOptions { socket: Some(socket.into()), ..ClientOptions::default() })
}

/// Hands what comes to a socket on to a server.
fn hand_on(socket: &Path, address: std::net::SocketAddr) {
    let listener = UnixListener::bind(socket).unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (mut here, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(async move {
                let mut there = TcpStream::connect(address).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
            });
        }
    });
}

#[test]
fn a_server_behind_a_socket_is_a_store() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("http.sock");
        let memory = Rc::new(Memory::site());
        let server = start(memory.clone()).await;
        hand_on(&socket, server.address());
        let (store, context) = (store(&socket), Context::default());
        assert!(store.put(&at("a"), Content::text("hello"), &context).await.unwrap());
        let large = "x".repeat(3 << 20);
        store.put(&at("large"), Content::text(large.clone()), &context).await.unwrap();
        let found = store.get(&at("a"), &context).await.unwrap().unwrap();
        assert_eq!(found.read(1 << 20).await.unwrap(), "hello");
        let found = store.get(&at("large"), &context).await.unwrap().unwrap();
        assert_eq!(found.read(4 << 20).await.unwrap(), large);
        assert!(store.delete(&at("a"), &context).await.unwrap());
        let inside = Reference::from_path("a");
        assert!(memory.get(&inside, &context).await.unwrap().is_none());
    });
}

#[test]
fn a_socket_that_is_not_there_says_so() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("none.sock");
        let error = store(&socket).get(&at("a"), &Context::default()).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
        assert!(error.to_string().contains("no socket"), "{error}");
        // What was left behind by a server that ended.
        drop(UnixListener::bind(&socket).unwrap());
        let error = store(&socket).get(&at("a"), &Context::default()).await.err().unwrap();
        assert_eq!(error.kind, Kind::Unavailable, "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
    });
}

#[test]
fn a_redirect_does_not_leave_the_socket() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("http.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).await.unwrap();
            let host = String::from_utf8_lossy(&request[..read]).to_lowercase();
            assert!(host.contains("host: localhost"), "{host}");
            let answer = b"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\n\
                           Content-Length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        });
        let error = store(&socket).get(&at("a"), &Context::default()).await.err().unwrap();
        assert_eq!(error.kind, Kind::Failed, "{error}");
        assert!(error.to_string().contains("another host"), "{error}");
    });
}
