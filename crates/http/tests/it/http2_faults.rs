//! HTTP/2 against servers and clients that break its rules: frames of RFC 9113 that are wrong one by one, and
//! frames that are mutated at random. Nothing hangs or panics, and the next request is answered.
//!
//! `RUNNEL_FUZZ` says how many seconds each of the random tests takes: `.ci/soak fuzz`.

use crate::helper::{Peer, get, run, site, soon, start};
use runnel_http::{
    Certificate, CertificateAuthority, ClientOptions, ClientTls, ServerOptions, client, serve,
};
use runnel_store::{Context, FetchRequest, Reference, Store};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
/// `:status: 200` in HPACK (RFC 7541 appendix A).
const OK: &[u8] = &[0x88];
/// How a connection of a client begins (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The answer limit of the client under test.
const LIMIT: Duration = Duration::from_millis(300);

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A field in HPACK, literal and without indexing.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, u8::try_from(name.len()).unwrap()];
    bytes.extend(name.as_bytes());
    bytes.push(u8::try_from(value.len()).unwrap());
    bytes.extend(value.as_bytes());
    bytes
}

fn head(fields: &[&[u8]]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, &fields.concat())
}

fn body(text: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, 1, text)
}

/// A response that is right, to the request of a stream.
fn good(stream: u32) -> Vec<u8> {
    [frame(HEADERS, END_HEADERS, stream, OK), frame(DATA, END_STREAM, stream, b"good")].concat()
}

/// A server that answers the first request with given bytes, and all others well.
struct FaultyServer {
    folder: PathBuf,
    port: u16,
    answer: Rc<RefCell<Option<Vec<u8>>>>,
    connections: Rc<Cell<usize>>,
}

impl FaultyServer {
    async fn start(name: &str) -> FaultyServer {
        let folder = std::env::temp_dir().join(format!("runnel-{name}-{}", std::process::id()));
        let certificate = Some(Certificate::Local { folder: folder.clone() });
        let address = ([127, 0, 0, 1], 0).into();
        // It writes the certificate.
        let options = ServerOptions { address, certificate, ..ServerOptions::default() };
        serve(site(&[]).await, options).await.unwrap().stop(Duration::ZERO).await;
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(&read("local-certificate.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(&read("local-key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ServerConfig::builder_with_provider(provider);
        let config = versions.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = Rc::new(RefCell::new(None));
        let connections = Rc::new(Cell::new(0));
        let (shared, count) = (answer.clone(), connections.clone());
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shared) = (acceptor.clone(), shared.clone());
                count.set(count.get() + 1);
                tokio::task::spawn_local(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let _ = converse(stream, shared).await;
                });
            }
        });
        FaultyServer { folder, port, answer, connections }
    }

    fn client(&self) -> Rc<dyn Store> {
        let authority = CertificateAuthority::Local { folder: self.folder.clone() };
        let tls = ClientTls::load(Some(&authority), None).unwrap();
        client(ClientOptions {
            tls: Some(tls),
            answer_time: LIMIT,
            body_idle: LIMIT,
            ..ClientOptions::default()
        })
    }

    /// What a request gets: the text of its response, or the error.
    async fn ask(&self, web: &Rc<dyn Store>) -> Result<String, runnel_store::Error> {
        let place = Reference::parse(&format!("//localhost:{}/", self.port)).with_scheme("https");
        let request = FetchRequest::default();
        let answer = soon("a response", web.fetch(&place, request, &Context::default())).await?;
        let bytes = soon("a body", answer.content.read(1 << 20)).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a fresh client gets for a request that is answered by these bytes. Afterwards it gets a response.
    async fn try_answer(&self, name: &str, bytes: Vec<u8>) -> Result<String, runnel_store::Error> {
        let web = self.client();
        self.answer.replace(Some(bytes));
        let outcome = self.ask(&web).await;
        self.answer.replace(None);
        // What else lies on the connection can still end it, and with it the next request.
        for _ in 0..3 {
            if let Ok(text) = self.ask(&web).await {
                assert_eq!(text, "good", "after {name}");
                return outcome;
            }
        }
        panic!("no response after {name}");
    }
}

impl Drop for FaultyServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One connection of the server.
async fn converse(
    mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin,
    answer: Rc<RefCell<Option<Vec<u8>>>>,
) -> std::io::Result<()> {
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        stream.read_exact(&mut vec![0; length]).await?;
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match (head[3], head[4] & 1) {
            (SETTINGS, 0) => stream.write_all(&frame(SETTINGS, 1, 0, &[])).await?,
            (HEADERS, _) => {
                let taken = answer.borrow_mut().take();
                let closes = taken.as_ref().is_some_and(Vec::is_empty);
                stream.write_all(&taken.unwrap_or_else(|| good(number))).await?;
                if closes {
                    return Ok(());
                }
            }
            _ => {}
        }
        stream.flush().await?;
    }
}

/// Answers that break a rule, by name.
fn broken_answers() -> Vec<(&'static str, Vec<u8>)> {
    let ok = || head(&[OK]);
    let big = vec![b'x'; 20_000];
    let after = |first: Vec<u8>| [first, body(b"ok")].concat();
    let long = frame(CONTINUATION, 0, 1, &field("a", &"x".repeat(120)).repeat(100));
    vec![
        ("a closed connection", vec![]),
        ("half a frame", ok()[..5].to_vec()),
        (
            "an answer of HTTP/1.1",
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ),
        ("a stream that is reset", frame(RESET, 0, 1, &[0, 0, 0, 8])),
        ("a stream that is refused", frame(RESET, 0, 1, &[0, 0, 0, 7])),
        ("a stream that is reset in its body", [ok(), frame(RESET, 0, 1, &[0, 0, 0, 2])].concat()),
        ("GOAWAY that leaves the request out", frame(GOAWAY, 0, 0, &[0; 8])),
        ("GOAWAY with an error", frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11])),
        ("data before the head", body(b"ok")),
        ("data of the connection", [ok(), frame(DATA, 1, 0, b"ok")].concat()),
        ("a head of no request", frame(HEADERS, 5, 7, OK)),
        ("a head of a stream of the server", frame(HEADERS, 5, 2, OK)),
        ("a push that was not allowed", frame(PUSH, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
        ("a frame that is too large", [ok(), body(&big)].concat()),
        ("settings of a wrong length", frame(SETTINGS, 0, 0, &[0; 5])),
        ("an acknowledgement with settings", frame(SETTINGS, 1, 0, &[0; 6])),
        ("settings of a stream", frame(SETTINGS, 0, 1, &[])),
        ("a window of nothing", frame(WINDOW, 0, 0, &[0; 4])),
        ("a window beyond the limit", frame(WINDOW, 0, 0, &[0x7f, 255, 255, 255]).repeat(2)),
        ("a reset of the connection", frame(RESET, 0, 0, &[0; 4])),
        ("a ping of a wrong length", frame(PING, 0, 0, &[0; 7])),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, OK)),
        ("a head that is interrupted", [frame(HEADERS, 0, 1, OK), body(b"ok")].concat()),
        ("a field of no index", after(head(&[&[0x80]]))),
        ("a field that ends early", after(head(&[&[0x88, 0, 40, b'a']]))),
        ("an index without end", after(head(&[&[255; 12]]))),
        ("a capital letter in a name", after(head(&[OK, &field("Server", "x")]))),
        ("a field of the connection", after(head(&[OK, &field("connection", "close")]))),
        ("no status", after(head(&[&field("server", "x")]))),
        ("a status that is no number", after(head(&[&field(":status", "abc")]))),
        ("two states", after(head(&[OK, OK]))),
        ("a status behind fields", after(head(&[&field("server", "x"), OK]))),
        ("a line end in a value", after(head(&[OK, &field("x", "a\r\nb: c")]))),
        ("a body that is too short", after(head(&[OK, &field("content-length", "5")]))),
        ("a body that is too long", after(head(&[OK, &field("content-length", "1")]))),
        ("a padding beyond the frame", [ok(), frame(DATA, PADDED | 1, 1, &[9, b'x'])].concat()),
        ("a trailer that does not end", [ok(), head(&[&field("a", "b")])].concat()),
        (
            "a head that never ends",
            [vec![frame(HEADERS, 0, 1, OK)], vec![long; 100]].concat().concat(),
        ),
        ("a body that never ends", ok()),
        ("interim responses alone", head(&[&field(":status", "103")]).repeat(50)),
        ("an upgrade", after(head(&[&field(":status", "101")]))),
    ]
}

#[test]
fn a_client_survives_what_breaks_the_rules() {
    run(async {
        let server = FaultyServer::start("http2-faults").await;
        for (name, bytes) in broken_answers() {
            let outcome = server.try_answer(name, bytes).await;
            // A request that may be repeated is repeated on another connection.
            let is_repeated = outcome.as_ref().is_ok_and(|text| text == "good");
            assert!(outcome.is_err() || is_repeated, "{name} gives {outcome:?}");
        }
    });
}

#[test]
fn a_client_takes_what_the_rules_allow() {
    run(async {
        let server = FaultyServer::start("http2-allowed").await;
        let answer = [head(&[OK]), body(b"ok")].concat();
        let before = |frames: Vec<u8>| [frames, answer.clone()].concat();
        let padded = [head(&[OK]), frame(DATA, PADDED | 1, 1, &[2, b'o', b'k', 0, 0])].concat();
        let split = [
            frame(HEADERS, 0, 1, OK),
            frame(CONTINUATION, END_HEADERS, 1, &field("a", "b")),
            frame(DATA, 0, 1, b"o"),
            frame(DATA, 0, 1, b""),
            frame(DATA, 0, 1, b"k"),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &field("sum", "1")),
        ];
        let cases = [
            ("a plain answer", answer.clone()),
            ("padding", padded),
            ("pieces and a trailer", split.concat()),
            ("a frame that is not known", before(frame(77, 0, 0, b"?"))),
            ("a setting that is not known", before(frame(SETTINGS, 0, 0, &[0, 99, 0, 0, 0, 1]))),
            ("pings", before(frame(PING, 0, 0, &[7; 8]).repeat(20))),
            // Against RFC 9113 section 8.3, and without effect.
            ("a field of requests", [head(&[OK, &field(":path", "/")]), body(b"ok")].concat()),
            ("early hints", before(head(&[&field(":status", "103")]))),
        ];
        for (name, bytes) in cases {
            let connections = server.connections.get();
            assert_eq!(server.try_answer(name, bytes).await.unwrap(), "ok", "{name}");
            assert_eq!(server.connections.get(), connections + 1, "{name}");
        }
    });
}

/// Numbers that look random, the same in each run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    /// Some frames in another order, with some bytes changed.
    fn mutated(&mut self, frames: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..=self.below(6) {
            let frame = &frames[self.below(frames.len())];
            bytes.extend(
                &frame
                    [..if self.below(8) == 0 { self.below(frame.len() + 1) } else { frame.len() }],
            );
        }
        for _ in 0..self.below(4) {
            let at = self.below(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = self.below(256) as u8;
            }
        }
        bytes
    }
}

/// How long a random test takes.
fn fuzzing() -> Duration {
    let seconds = std::env::var("RUNNEL_FUZZ").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

#[test]
fn a_client_survives_frames_at_random() {
    run(async {
        let server = FaultyServer::start("http2-random").await;
        let mut frames: Vec<Vec<u8>> =
            broken_answers().into_iter().map(|(_, bytes)| bytes).collect();
        frames.retain(|bytes| !bytes.is_empty() && bytes.len() < 1000);
        frames.extend([head(&[OK]), body(b"ok"), frame(WINDOW, 0, 1, &[0, 0, 1, 0])]);
        let (mut numbers, end) = (Numbers(0x9e37_79b9_7f4a_7c15), Instant::now() + fuzzing());
        while Instant::now() < end {
            let bytes = numbers.mutated(&frames);
            let name = format!("{bytes:02x?}");
            let _ = server.try_answer(&name, bytes).await;
        }
    });
}

#[test]
fn a_server_survives_frames_at_random() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let fields = [&[0x82, 0x86, 0x84][..], &field(":authority", "localhost")].concat();
        let mut frames: Vec<Vec<u8>> =
            broken_answers().into_iter().map(|(_, bytes)| bytes).collect();
        frames.retain(|bytes| !bytes.is_empty() && bytes.len() < 1000);
        for stream in [1, 3, 5] {
            frames.push(frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields));
            frames.push(frame(HEADERS, END_HEADERS, stream, &fields));
            frames.push(frame(RESET, 0, stream, &[0, 0, 0, 8]));
            frames.push(frame(DATA, END_STREAM, stream, b"some"));
        }
        let (mut numbers, end) = (Numbers(0x0123_4567_89ab_cdef), Instant::now() + fuzzing());
        while Instant::now() < end {
            let bytes = numbers.mutated(&frames);
            let mut peer = Peer::connect(&server).await;
            peer.send([PREFACE, &frame(SETTINGS, 0, 0, &[]), &bytes].concat()).await;
            if numbers.below(4) == 0 {
                tokio::task::yield_now().await;
            }
            drop(peer);
            assert_eq!(get(&server, "/hi").await.text(), "Hello World!", "after {bytes:02x?}");
        }
        soon("all connections end", async {
            while server.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    });
}

/// Frames that cost the server more than the client, as many as a connection takes.
fn floods() -> Vec<(&'static str, Vec<u8>)> {
    let fields = [&[0x82, 0x86, 0x84][..], &field(":authority", "localhost")].concat();
    let reset = |stream: u32| {
        [
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields),
            frame(RESET, 0, stream, &[0, 0, 0, 8]),
        ]
        .concat()
    };
    let open = frame(HEADERS, END_HEADERS, 1, &fields);
    vec![
        ("resets", (0..10_000).flat_map(|number| reset(number * 2 + 1)).collect()),
        ("settings", frame(SETTINGS, 0, 0, &[]).repeat(50_000)),
        ("pings", frame(PING, 0, 0, &[0; 8]).repeat(50_000)),
        ("windows", frame(WINDOW, 0, 0, &[0, 0, 0, 1]).repeat(50_000)),
        ("data", [open, frame(DATA, 0, 1, &[]).repeat(50_000)].concat()),
        (
            "continuations",
            [
                frame(HEADERS, 0, 1, &fields),
                frame(CONTINUATION, 0, 1, &field("a", "b")).repeat(50_000),
            ]
            .concat(),
        ),
        (
            "streams",
            (0..1000).flat_map(|n| frame(HEADERS, END_HEADERS, n * 2 + 1, &fields)).collect(),
        ),
    ]
}

#[test]
fn floods_of_frames_hold_up_nobody_else() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        for (name, flood) in floods() {
            let stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
            let (mut reader, mut writer) = stream.into_split();
            // The server may close before all is sent, and its answers are read, so that it can go on.
            let flooding = tokio::task::spawn_local(async move {
                let start = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
                let _ = writer.write_all(&start).await;
                for piece in flood.chunks(16 * 1024) {
                    if writer.write_all(piece).await.is_err() {
                        break;
                    }
                }
                writer
            });
            let reading = tokio::task::spawn_local(async move {
                let mut space = [0; 4096];
                while reader.read(&mut space).await.is_ok_and(|count| count > 0) {}
            });
            for _ in 0..20 {
                assert_eq!(get(&server, "/hi").await.text(), "Hello World!", "{name}");
            }
            drop(soon(name, flooding).await.unwrap());
            soon(name, reading).await.unwrap();
        }
        soon("all connections end", async {
            while server.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    });
}
