//! A server of one live page that a test plays: it serves the page and the client's scripts, takes what
//! the client sends, and sends what the test says.

use super::eventually_or;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How the client's requests for a connection are answered.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Offer {
    /// By a WebSocket.
    Socket,
    /// By server-sent events only.
    Events,
    /// Not at all.
    Nothing,
    /// By 401.
    Unauthorized,
}

struct Shared {
    body: String,
    offer: Offer,
    /// Whether only files of the server may be loaded.
    has_policy: bool,
    /// The connection to which frames go, and whether it is a WebSocket.
    connection: Option<(TcpStream, bool)>,
    /// Messages of the client that were not taken yet, and all of them.
    received: Vec<Value>,
    all: Vec<Value>,
    /// Views, and the tokens that came with events by POST.
    tokens: Vec<String>,
}

/// The server of a live page.
#[derive(Clone)]
pub(crate) struct LiveServer {
    shared: Arc<Mutex<Shared>>,
    pub(crate) port: u16,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nCache-Control: no-store\r\n";

/// Nothing but the server's own files may be loaded.
const POLICY: &str = "Content-Security-Policy: default-src 'self'; script-src 'self'; \
    connect-src 'self'; base-uri 'none'\r\n";

impl LiveServer {
    /// Serves a page with this inside of its body.
    pub(crate) fn start(body: &str) -> LiveServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Mutex::new(Shared {
            body: body.to_string(),
            offer: Offer::Socket,
            has_policy: true,
            connection: None,
            received: Vec::new(),
            all: Vec::new(),
            tokens: Vec::new(),
        }));
        let server = LiveServer { shared, port };
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = own.clone();
                std::thread::spawn(move || server.answer(stream));
            }
        });
        server
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The inside of the body from now on.
    pub(crate) fn show(&self, body: &str) {
        self.shared.lock().unwrap().body = body.to_string();
    }

    pub(crate) fn offer(&self, offer: Offer) {
        self.shared.lock().unwrap().offer = offer;
    }

    /// Whether pages come with a policy for their content.
    pub(crate) fn policy(&self, has_policy: bool) {
        self.shared.lock().unwrap().has_policy = has_policy;
    }

    /// Sends a frame.
    pub(crate) fn send(&self, frame: &str) {
        let shared = self.shared.lock().unwrap();
        let Some((stream, is_socket)) = &shared.connection else { panic!("no connection") };
        let mut stream = stream;
        if !is_socket {
            stream.write_all(format!("data: {frame}\n\n").as_bytes()).unwrap();
            return;
        }
        let mut head = vec![0x81];
        match frame.len() {
            length @ ..126 => head.push(length as u8),
            length @ ..65536 => {
                head.push(126);
                head.extend((length as u16).to_be_bytes());
            }
            length => {
                head.push(127);
                head.extend((length as u64).to_be_bytes());
            }
        }
        head.extend(frame.as_bytes());
        stream.write_all(&head).unwrap();
    }

    /// Ends the connection.
    pub(crate) fn cut(&self) {
        if let Some((stream, _)) = self.shared.lock().unwrap().connection.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends the connection with a close code of WebSockets.
    pub(crate) fn close(&self, code: u16) {
        if let Some((mut stream, _)) = self.shared.lock().unwrap().connection.take() {
            stream.write_all(&[&[0x88, 2][..], &code.to_be_bytes()].concat()).unwrap();
        }
    }

    /// The next message of the client.
    pub(crate) fn next(&self) -> Value {
        eventually_or(
            || !self.shared.lock().unwrap().received.is_empty(),
            || "the client sends nothing".into(),
        );
        self.shared.lock().unwrap().received.remove(0)
    }

    /// All messages that the client has sent.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.shared.lock().unwrap().all.clone()
    }

    /// The tokens that came with events by POST.
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.shared.lock().unwrap().tokens.clone()
    }

    /// Waits for the first message of a connection, and begins a view.
    pub(crate) fn begin(&self, view: &str) -> Value {
        let hello = self.next();
        assert_eq!(hello[0], "hello", "{hello}");
        self.send(&format!(r#"[1,"",{{"view":"{view}"}}]"#));
        hello
    }

    fn message(&self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
        let mut shared = self.shared.lock().unwrap();
        shared.all.push(message.clone());
        shared.received.push(message);
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let target = head.split(' ').nth(1).unwrap();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let offer = self.shared.lock().unwrap().offer;
        if let Some(key) = header("sec-websocket-key") {
            if offer != Offer::Socket {
                let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
                return;
            }
            assert_eq!(header("sec-websocket-protocol"), Some("live.runnel"));
            return self.converse(stream, key);
        }
        if let Some(hello) = header("runnel-live") {
            match offer {
                Offer::Events => self.stream(stream, hello),
                Offer::Unauthorized => {
                    let _ =
                        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
                }
                Offer::Socket | Offer::Nothing => {}
            }
            return;
        }
        if head.starts_with("POST") {
            let length = header("content-length").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let token = header("runnel-view").unwrap().to_string();
            let body = String::from_utf8(body).unwrap();
            match header("content-type").unwrap().split_once(';') {
                Some((kind, _)) => {
                    self.message(&json!({ "view": token, "kind": kind, "body": body }).to_string());
                }
                None => {
                    let kind = Some("application/vnd.runnel.event+json");
                    assert_eq!(header("content-type"), kind);
                    self.shared.lock().unwrap().tokens.push(token);
                    self.message(&body);
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
            return;
        }
        let (kind, content) = match header("sec-fetch-dest") {
            // The page has one client.
            Some("iframe") => ("text/plain", "no page".to_string()),
            _ => self.file(target),
        };
        let rest = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n", content.len());
        let policy = if self.shared.lock().unwrap().has_policy { POLICY } else { "" };
        let _ = stream.write_all([HEAD, policy, &rest, &content].concat().as_bytes());
    }

    fn file(&self, target: &str) -> (&'static str, String) {
        if let Some(name) = target.strip_prefix("/.runnel/") {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../std/live");
            let file = folder.join(name.replace(".js", ".min.js"));
            return ("text/javascript", std::fs::read_to_string(file).unwrap_or_default());
        }
        let body = self.shared.lock().unwrap().body.clone();
        let page = format!(
            "<!doctype html><html lang=en><title>Live</title><body>{body}\
             <script src=\"/.runnel/live.js\" data-f=\"f1\" defer></script>\
             <form id=\"_live\" method=\"post\" hidden></form>"
        );
        ("text/html; charset=utf-8", page)
    }

    /// Frames as server-sent events.
    fn stream(&self, mut stream: TcpStream, hello: &str) {
        let head = format!("{HEAD}Content-Type: text/event-stream\r\n\r\n");
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        self.shared.lock().unwrap().connection = Some((stream, false));
        self.message(hello);
    }

    /// A WebSocket until it ends.
    fn converse(&self, mut stream: TcpStream, key: &str) {
        let accept = accept_key(key);
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Protocol: live.runnel\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        self.shared.lock().unwrap().connection = Some((stream.try_clone().unwrap(), true));
        while let Some(text) = next_text(&mut stream) {
            self.message(&text);
        }
    }
}

/// The next text of a WebSocket's client; none when it closes (RFC 6455 section 5.2).
fn next_text(stream: &mut TcpStream) -> Option<String> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => panic!("the message is too long"),
        length => usize::from(length),
    };
    let mut mask = [0; 4];
    stream.read_exact(&mut mask).ok()?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    if head[0] & 0x0f != 1 {
        return None;
    }
    let unmasked = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    String::from_utf8(unmasked.collect()).ok()
}

/// The value of `Sec-WebSocket-Accept` (RFC 6455 section 4.2.2): the base 64 of a SHA-1.
fn accept_key(key: &str) -> String {
    let digest = sha1(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes());
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in digest.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = letters[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

/// SHA-1 (FIPS 180-4 section 6.1) of a short message.
fn sha1(message: &[u8]) -> Vec<u8> {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    let mut state = [0x6745_2301_u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    for block in padded.chunks(64) {
        let mut words: Vec<u32> = block
            .chunks(4)
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        for at in 16..80 {
            let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
            words.push(mixed.rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in words.iter().enumerate() {
            let (mix, constant) = match at / 20 {
                0 => (b & c | !b & d, 0x5A82_7999),
                1 => (b ^ c ^ d, 0x6ED9_EBA1),
                2 => (b & c | b & d | c & d, 0x8F1B_BCDC),
                _ => (b ^ c ^ d, 0xCA62_C1D6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mix).wrapping_add(e);
            let next = next.wrapping_add(constant).wrapping_add(*word);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}
