//! The web as a store, over a Unix socket.

use crate::helper::{run, start};
use runnel_http::{ClientOptions, HttpServer, ServerOptions, UnixAddress, client, serve};
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
        assert!(store.put(&at("a"), Content::text("hello"), &context).await.unwrap().is_created());
        let large = "x".repeat(3 << 20);
        store.put(&at("large"), Content::text(large.clone()), &context).await.unwrap();
        let found = store.get(&at("a"), &context).await.unwrap().unwrap();
        assert_eq!(found.read(1 << 20).await.unwrap(), "hello");
        let found = store.get(&at("large"), &context).await.unwrap().unwrap();
        assert_eq!(found.read(4 << 20).await.unwrap(), large);
        assert!(store.delete(&at("a"), &context).await.unwrap().is_something());
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

async fn serving(path: &Path, mode: u32) -> runnel_store::Result<HttpServer> {
    let root = crate::helper::site(&[("/hi", "Hello World!")]).await;
    let address = UnixAddress { path: path.into(), mode };
    serve(root, ServerOptions { socket: Some(address), ..ServerOptions::default() }).await
}

async fn hello(path: &Path) -> String {
    let found = store(path).get(&at("hi"), &Context::default()).await.unwrap().unwrap();
    String::from_utf8(found.read(100).await.unwrap().to_vec()).unwrap()
}

#[test]
fn a_server_listens_on_a_socket() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("server.sock");
        let server = serving(&socket, 0o640).await.unwrap();
        let facts = std::fs::metadata(&socket).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o777, 0o640);
        assert_eq!(hello(&socket).await, "Hello World!");
        // One connection that asks twice, and goes away in the middle of a third request.
        let mut stream = tokio::net::UnixStream::connect(&socket).await.unwrap();
        for _ in 0..2 {
            stream.write_all(b"GET /hi HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
            let mut answer = vec![0; 4096];
            let read = crate::helper::soon("an answer", stream.read(&mut answer)).await.unwrap();
            let answer = String::from_utf8_lossy(&answer[..read]);
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("World!"), "{answer}");
        }
        stream.write_all(b"GET /hi HT").await.unwrap();
        drop(stream);
        crate::helper::soon("it stops", server.stop(std::time::Duration::from_secs(5))).await;
        assert!(!socket.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    });
}

#[test]
fn what_a_dead_program_left_is_replaced_and_a_living_one_is_not() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("server.sock");
        drop(UnixListener::bind(&socket).unwrap());
        assert!(socket.exists());
        let server = serving(&socket, 0o600).await.unwrap();
        assert_eq!(hello(&socket).await, "Hello World!");
        let taken = serving(&socket, 0o600).await.err().unwrap();
        assert_eq!(taken.kind, Kind::Conflict, "{taken}");
        assert!(taken.message.contains("another program listens on"), "{taken}");
        assert_eq!(hello(&socket).await, "Hello World!");
        // A file that somebody else has put there stays at our end.
        std::fs::remove_file(&socket).unwrap();
        std::fs::write(&socket, "mine").unwrap();
        server.stop(std::time::Duration::from_secs(5)).await;
        assert_eq!(std::fs::read_to_string(&socket).unwrap(), "mine");
        let taken = serving(&socket, 0o600).await.err().unwrap();
        assert!(taken.kind == Kind::Conflict && taken.message.contains("no socket"), "{taken}");
        let none = serving(Path::new("/no/such/folder/x.sock"), 0o600).await.err().unwrap();
        assert_eq!(none.kind, Kind::NotFound, "{none}");
        let long = folder.path().join("x".repeat(200));
        assert_eq!(serving(&long, 0o600).await.err().unwrap().kind, Kind::Invalid);
    });
}
