//! A proxy between strangers: whatever an upstream answers, a client reads that answer or a 502, and behind it its own
//! next one; whatever fields a client of HTTP/2 sends, an upstream reads one request of HTTP/1.1 or none. Both ends
//! read as strictly as the standard allows. The fuzz targets `proxied_answers` and `downgrade` have this file, too.
#![allow(clippy::unwrap_used, unreachable_pub)]

use runnel_http::{HttpServer, ProxyOptions, ServerOptions, proxy, serve};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// No step takes so long unless it hangs.
const HANG: Duration = Duration::from_secs(60);
const SECOND: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond";

/// What the upstream answers first, and what it has read.
#[derive(Default)]
struct Script {
    answer: Vec<u8>,
    requests: Vec<Vec<u8>>,
}

/// A proxy before an upstream that answers with given bytes.
pub struct ProxyWorld {
    server: HttpServer,
    script: Rc<RefCell<Script>>,
}

/// A head that was read strictly.
struct StrictHead {
    start: String,
    fields: Vec<(String, String)>,
    /// The length of the head in bytes.
    length: usize,
}

impl StrictHead {
    /// The head at the start of the bytes; `None` where it has not come whole.
    fn read(bytes: &[u8]) -> Option<StrictHead> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let shown = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | 0x80..);
        let mut lines = bytes[..end].split(|byte| *byte == b'\n').map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            assert!(line.iter().all(is_plain), "a line with controls: {shown:?}");
            String::from_utf8_lossy(line).into_owned()
        });
        let start = lines.next().unwrap();
        let fields = lines.map(|line| {
            let (name, value) =
                line.split_once(':').unwrap_or_else(|| panic!("no field: {shown:?}"));
            let is_token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            assert!(!name.is_empty() && name.bytes().all(is_token), "a name: {shown:?}");
            (name.to_ascii_lowercase(), value.trim().to_string())
        });
        Some(StrictHead { fields: fields.collect(), start, length: end + 4 })
    }

    fn values(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The body behind the head and its end in the bytes; `None` where it has not come whole, and an end of `None`
    /// for one that ends with the connection.
    fn body(&self, bytes: &[u8], ends_with_connection: bool) -> Option<(Vec<u8>, Option<usize>)> {
        let (lengths, codings) = (self.values("content-length"), self.values("transfer-encoding"));
        assert!(lengths.len() + codings.len() <= 1, "two framings: {:?}", self.fields);
        let rest = &bytes[self.length..];
        if let [length] = lengths[..] {
            assert!(length.bytes().all(|byte| byte.is_ascii_digit()), "a length: {length:?}");
            let length = length.parse().unwrap_or(usize::MAX);
            return rest.get(..length).map(|body| (body.to_vec(), Some(self.length + length)));
        }
        if let [coding] = codings[..] {
            assert_eq!(coding, "chunked");
            let (body, length) = chunked(rest)?;
            return Some((body, Some(self.length + length)));
        }
        Some(match ends_with_connection {
            true => (rest.to_vec(), None),
            false => (Vec::new(), Some(self.length)),
        })
    }
}

/// Chunks and their length in the bytes; `None` where they have not come whole.
fn chunked(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = bytes[at..].windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).unwrap();
        let size = usize::from_str_radix(size.split(';').next().unwrap(), 16).unwrap();
        at += line + 2;
        if size == 0 {
            let trailer = bytes[at..].windows(2).position(|two| two == b"\r\n")?;
            assert_eq!(trailer, 0, "a proxy passes no trailers on");
            return Some((body, at + 2));
        }
        body.extend(bytes.get(at..at + size)?);
        assert_eq!(bytes.get(at + size..at + size + 2)?, b"\r\n", "the end of a chunk");
        at += size + 2;
    }
}

/// Reads requests strictly, and answers the first path with the script.
async fn converse(mut stream: TcpStream, script: Rc<RefCell<Script>>) {
    let mut input = Vec::new();
    loop {
        let (head, end) = loop {
            if let Some(head) = StrictHead::read(&input)
                && let Some((_, Some(end))) = head.body(&input, false)
            {
                break (head, end);
            }
            let mut some = [0; 4096];
            match stream.read(&mut some).await {
                Ok(count @ 1..) => input.extend_from_slice(&some[..count]),
                _ => return,
            }
        };
        script.borrow_mut().requests.push(input[..end].to_vec());
        input.drain(..end);
        let is_second = head.start.starts_with("GET /second ");
        let answer = if is_second { SECOND.to_vec() } else { script.borrow().answer.clone() };
        if stream.write_all(&answer).await.is_err() || !is_second {
            return;
        }
    }
}

impl ProxyWorld {
    pub async fn start() -> ProxyWorld {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = format!("http://{}", listener.local_addr().unwrap());
        let script = Rc::new(RefCell::new(Script::default()));
        let of_upstream = script.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(converse(stream, of_upstream.clone()));
            }
        });
        let mut options = ServerOptions::default();
        options.address.set_port(0);
        let store = proxy(ProxyOptions { to: vec![upstream], ..ProxyOptions::default() }).unwrap();
        ProxyWorld { server: serve(store, options).await.unwrap(), script }
    }

    fn begin(&self, answer: &[u8]) {
        *self.script.borrow_mut() = Script { answer: answer.to_vec(), requests: Vec::new() };
    }

    /// Sends bytes, and reads until the connection ends or `is_over`.
    async fn exchange(&self, bytes: &[u8], is_over: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        // The server may close before all is sent.
        let _ = stream.write_all(bytes).await;
        let (mut answer, mut some) = (Vec::new(), [0; 4096]);
        let reading = async {
            while !is_over(&answer) {
                match stream.read(&mut some).await {
                    Ok(count @ 1..) => answer.extend_from_slice(&some[..count]),
                    _ => break,
                }
            }
        };
        tokio::time::timeout(HANG, reading).await.expect("the proxy keeps a client waiting");
        answer
    }

    /// An upstream answers with the bytes and closes.
    pub async fn check_answer(&self, data: &[u8]) {
        self.begin(data);
        let requests = b"GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n\
            GET /second HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answer = self.exchange(requests, |_| false).await;
        let shown = || {
            format!("{:?} of {:?}", String::from_utf8_lossy(&answer), String::from_utf8_lossy(data))
        };
        let mut rest = &answer[..];
        let end = loop {
            let head = StrictHead::read(rest).unwrap_or_else(|| panic!("no answer: {}", shown()));
            let status = head.start.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
            let status: u16 =
                status.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{}", shown()));
            assert_ne!(status, 101, "nobody asked for an upgrade");
            if status < 200 {
                rest = &rest[head.length..];
                continue;
            }
            let has_body = !matches!(status, 204 | 304);
            break match has_body {
                true => head.body(rest, true).and_then(|(_, end)| end),
                false => Some(head.length),
            };
        };
        // One that is cut off, or ends with the connection, has nothing behind it.
        let Some(second) = end.map(|end| &rest[end..]).filter(|rest| !rest.is_empty()) else {
            return;
        };
        let head =
            StrictHead::read(second).unwrap_or_else(|| panic!("no second answer: {}", shown()));
        let body = head.body(second, true).map(|(body, _)| body);
        assert_eq!(body.as_deref(), Some(&b"second"[..]), "{}", shown());
    }

    /// A client of HTTP/2 sends lines `name:value` as fields, and what stands behind an empty line as the body.
    pub async fn check_downgrade(&self, data: &[u8]) {
        self.begin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        let split = data.windows(2).position(|two| two == b"\n\n");
        let (lines, body) = split.map_or((data, None), |at| (&data[..at], Some(&data[at + 2..])));
        let body = body.map(|body| &body[..body.len().min(1000)]);
        let mut fields = vec![0x82, 0x86];
        let has =
            |name: &[u8]| lines.split(|byte| *byte == b'\n').any(|line| line.starts_with(name));
        if !has(b":path:") {
            fields.push(0x84);
        }
        if !has(b":authority:") {
            literal(&mut fields, b":authority", b"localhost");
        }
        for line in lines.split(|byte| *byte == b'\n').take(20) {
            // The name of a pseudo-field begins with the colon.
            let colon = line.iter().skip(1).position(|byte| *byte == b':');
            let Some(colon) = colon.map(|at| at + 1) else { continue };
            literal(&mut fields, &line[..colon], &line[colon + 1..]);
        }
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        frame(&mut bytes, 4, 0, 0, &[]);
        frame(&mut bytes, 1, if body.is_some() { 4 } else { 5 }, 1, &fields);
        if let Some(body) = body {
            frame(&mut bytes, 0, 1, 1, body);
        }
        self.exchange(&bytes, is_answered).await;
        let script = self.script.borrow();
        assert!(script.requests.len() <= 1, "two requests of one: {:?}", script.requests);
        let Some(request) = script.requests.first() else { return };
        let head = StrictHead::read(request).unwrap();
        let shown = String::from_utf8_lossy(request);
        assert_eq!(head.values("host").len(), 1, "{shown:?}");
        let words: Vec<_> = head.start.split(' ').collect();
        assert!(
            matches!(words[..], ["GET", target, "HTTP/1.1"] if target.starts_with('/')),
            "{shown:?}"
        );
        // Fields of the hop, but for a client that takes trailers (RFC 9110 section 10.1.4).
        let of_hop = ["keep-alive", "proxy-connection", "upgrade"];
        assert!(of_hop.iter().all(|name| head.values(name).is_empty()), "{shown:?}");
        let takes = (head.values("connection"), head.values("te"));
        assert!(takes == (vec![], vec![]) || takes == (vec!["te"], vec!["trailers"]), "{shown:?}");
        let (sent, _) = head.body(request, false).unwrap();
        assert_eq!(sent, body.unwrap_or_default(), "{shown:?}");
    }
}

/// A field in HPACK, literal and without indexing.
fn literal(bytes: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    bytes.push(0);
    for text in [name, value] {
        let text = &text[..text.len().min(126)];
        bytes.push(text.len() as u8);
        bytes.extend(text);
    }
}

fn frame(bytes: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    bytes.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
}

/// Whether the frames of a server end stream 1 or the connection.
fn is_answered(mut frames: &[u8]) -> bool {
    while let &[a, b, c, kind, flags, _, _, _, stream, ref rest @ ..] = frames {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let Some(next) = rest.get(length..) else { return false };
        let is_end = matches!(kind, 0 | 1) && flags & 1 != 0 || kind == 3;
        if kind == 7 || stream == 1 && is_end {
            return true;
        }
        frames = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::run;

    /// Inputs made of pieces, with some bytes changed, of a fixed sequence (xorshift).
    struct Inputs(u64);

    impl Inputs {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) as usize % limit
        }

        fn next(&mut self, starts: &[&str], pieces: &[&str], ends: &[&str]) -> Vec<u8> {
            let mut text = starts[self.below(starts.len())].to_string();
            for _ in 0..self.below(4) {
                text += pieces[self.below(pieces.len())];
            }
            text += ends[self.below(ends.len())];
            let mut bytes = text.into_bytes();
            for _ in 0..self.below(5).saturating_sub(2) {
                let at = self.below(bytes.len().max(1));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = [0, b'\r', b'\n', b' ', b':', b'a', b'0', 0xff][self.below(8)];
                }
            }
            bytes
        }
    }

    /// `RUNNEL_FUZZ_CASES` says how many there are.
    fn cases() -> usize {
        std::env::var("RUNNEL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
    }

    #[test]
    fn a_client_reads_its_own_answers_behind_any_upstream() {
        const STARTS: [&str; 7] = [
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.0 200 OK\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 304 Not Modified\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n",
            "HTTP/1.1 204 No Content\r\n",
        ];
        const PIECES: [&str; 12] = [
            "Content-Length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: 6\r\n",
            "Content-Length : 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding:\x0bchunked\r\n",
            "Connection: keep-alive, content-length\r\n",
            "X: a\r\n folded\r\n",
            "X: a\rY: b\r\n",
            "Trailer: X\r\n",
            "Set-Cookie: a=b\r\n",
        ];
        const ENDS: [&str; 9] = [
            "\r\nfirst",
            "\r\nfirst",
            "\r\n5\r\nfirst\r\n0\r\n\r\n",
            "\r\n5\r\nfirst\r\n0\r\nX: y\r\n\r\n",
            "\r\n5;a=b\r\nfirst\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen",
            "\r\nfirstHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen",
            "\r\n",
            "\r\nfi",
            "",
        ];
        run(async {
            let world = ProxyWorld::start().await;
            let mut inputs = Inputs(0x9e37_79b9_7f4a_7c15);
            for _ in 0..cases() {
                world.check_answer(&inputs.next(&STARTS, &PIECES, &ENDS)).await;
            }
        });
    }

    #[test]
    fn a_request_of_http_2_is_one_request_behind_a_proxy() {
        const STARTS: [&str; 6] = [
            "",
            ":path:/a\n",
            ":path:/a HTTP/1.1\r\nX: y\n",
            ":authority:localhost\r\nX: y\n",
            "host:localhost\n",
            "cookie:a=b\ncookie:c=d\n",
        ];
        const PIECES: [&str; 14] = [
            "content-length:4\n",
            "content-length:9\n",
            "content-length:4, 4\n",
            "transfer-encoding:chunked\n",
            "transfer_encoding:chunked\n",
            "connection:keep-alive\n",
            "te:trailers\n",
            "te:gzip\n",
            "upgrade:h2c\n",
            "X-Upper:a\n",
            "x:a\r\nGET /second HTTP/1.1\n",
            "x y:a\n",
            "expect:100-continue\n",
            "x-forwarded-for:1.2.3.4\n",
        ];
        const ENDS: [&str; 5] =
            ["", "\nbody", "\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n", "\n0\r\n\r\n", "\n"];
        run(async {
            let world = ProxyWorld::start().await;
            let mut inputs = Inputs(0x0123_4567_89ab_cdef);
            let mut arrived = 0;
            for _ in 0..cases() {
                world.check_downgrade(&inputs.next(&STARTS, &PIECES, &ENDS)).await;
                arrived += world.script.borrow().requests.len();
            }
            assert!(arrived > cases() / 20, "nearly all were refused: {arrived}");
        });
    }
}
