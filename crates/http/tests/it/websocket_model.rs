//! Frames of a client, however they are cut, against a server that echoes: a second reader of RFC 6455, short
//! because it has all bytes at once, says which messages come back and with which code the server closes. The
//! fuzz target `websocket` has this file, too.
#![allow(clippy::unwrap_used, unreachable_pub)]

use runnel_http::{HttpServer, ServerOptions, serve};
use runnel_store::{Answer, Content, Context, Messages, Outcome, Port, PortContent, Reference};
use runnel_store::{Error, Store, Verb};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The largest message of the server under test, in bytes.
const MESSAGE: usize = 1000;
/// No step takes so long unless it hangs.
const HANG: Duration = Duration::from_secs(60);
const HANDSHAKE: &[u8] = b"GET /s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

struct EchoPort;

impl Port for EchoPort {
    fn open(&self, received: Messages) -> Messages {
        received
    }
}

struct Echo;

impl Store for Echo {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(Some(Content::lazy(Rc::new(PortContent(Rc::new(EchoPort))))))
    }

    fn put(&self, reference: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
        Error::not_allowed(Verb::Put, reference).into()
    }

    fn describe(&self) -> String {
        "an echo".to_string()
    }

    runnel_store::without!(links);
}

/// The server under test.
pub async fn echo_server() -> HttpServer {
    let mut options = ServerOptions::default();
    options.address.set_port(0);
    options.limits.message = MESSAGE;
    serve(Rc::new(Echo), options).await.unwrap()
}

/// A message: its opcode and payload.
type Echoed = (u8, Vec<u8>);

/// What a server says to the frames of a client.
#[derive(Debug, PartialEq)]
struct Conversation {
    messages: Vec<Echoed>,
    /// The code of its close; `None` while it waits for more, 1005 for a close without a code.
    close: Option<u16>,
    /// A text that is not UTF-8 in a frame that is not complete: it may be closed early.
    may_close: bool,
}

/// What becomes of a frame at the start of the bytes.
enum Read {
    Frame {
        first: u8,
        payload: Vec<u8>,
        length: usize,
    },
    /// A header whose length alone is too much for the message.
    TooLarge,
    /// A frame that is not complete: of which opcode, and what has come of its payload.
    Part(u8, Vec<u8>),
    Wrong,
}

/// Reads a masked frame. `had` bytes of its message have come before, if there is one.
fn read(bytes: &[u8], had: Option<usize>) -> Read {
    let &[first, second, ref rest @ ..] = bytes else { return Read::Part(15, Vec::new()) };
    let opcode = first & 15;
    if !matches!(opcode, 0..=2 | 8..=10) || first & 0x70 != 0 || second & 0x80 == 0 {
        return Read::Wrong;
    }
    let (size, least) = match second & 127 {
        126 => (2, 126),
        127 => (8, 65_536),
        _ => (0, 0),
    };
    let Some(extended) = rest.get(..size) else { return Read::Part(15, Vec::new()) };
    let length = match size {
        0 => u64::from(second & 127),
        _ => extended.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    if length < least || length >= 1 << 63 || opcode >= 8 && (length > 125 || first & 0x80 == 0) {
        return Read::Wrong;
    }
    let Some(mask) = rest.get(size..size + 4) else { return Read::Part(15, Vec::new()) };
    if opcode < 8 {
        if (opcode == 0) != had.is_some() {
            return Read::Wrong;
        }
        if had.unwrap_or(0) as u64 + length > MESSAGE as u64 {
            return Read::TooLarge;
        }
    }
    let length = length as usize;
    let payload = rest.iter().skip(size + 4).take(length).zip(mask.iter().cycle());
    let payload: Vec<u8> = payload.map(|(byte, mask)| byte ^ mask).collect();
    match payload.len() == length {
        true => Read::Frame { first, payload, length: 2 + size + 4 + length },
        false => Read::Part(opcode, payload),
    }
}

/// Whether bytes are UTF-8, or may become UTF-8 where more follow.
fn is_text(bytes: &[u8], is_whole: bool) -> bool {
    std::str::from_utf8(bytes)
        .map_or_else(|error| !is_whole && error.error_len().is_none(), |_| true)
}

fn close_code(payload: &[u8]) -> u16 {
    match payload {
        [] => 1005,
        [high, low, reason @ ..] => match u16::from_be_bytes([*high, *low]) {
            1000..=1003 | 1007..=1014 | 3000..=4999 if !is_text(reason, true) => 1007,
            code @ (1000..=1003 | 1007..=1014 | 3000..=4999) => code,
            _ => 1002,
        },
        _ => 1002,
    }
}

fn expected(mut bytes: &[u8]) -> Conversation {
    let (mut messages, mut message) = (Vec::new(), None::<Echoed>);
    let (close, may_close) = loop {
        let had = message.as_ref().map(|(_, had)| had.len());
        let (first, payload) = match read(bytes, had) {
            Read::Wrong => break (Some(1002), false),
            Read::TooLarge => break (Some(1009), false),
            Read::Part(opcode, part) => {
                let of_text =
                    opcode == 1 || opcode == 0 && message.as_ref().is_some_and(|one| one.0 == 1);
                let before = message.map_or(Vec::new(), |(_, had)| had);
                break (None, of_text && !is_text(&[before, part].concat(), false));
            }
            Read::Frame { first, payload, length } => {
                bytes = &bytes[length..];
                (first, payload)
            }
        };
        match first & 15 {
            8 => break (Some(close_code(&payload)), false),
            9 | 10 => continue,
            opcode => message.get_or_insert((opcode, Vec::new())).1.extend(payload),
        }
        let is_last = first & 0x80 != 0;
        let (kind, whole) = message.as_ref().unwrap();
        if *kind == 1 && !is_text(whole, is_last) {
            break (Some(1007), false);
        }
        if is_last {
            messages.extend(message.take());
        }
    };
    Conversation { messages, close, may_close }
}

/// A frame of the server: its opcode and payload; `None` at the end.
async fn receive(stream: &mut TcpStream) -> Option<Echoed> {
    let first = stream.read_u8().await.ok()?;
    let length = match stream.read_u8().await.ok()? {
        126 => usize::from(stream.read_u16().await.ok()?),
        127 => stream.read_u64().await.ok()? as usize,
        length => usize::from(length),
    };
    assert!(first & 0x80 != 0 && length <= MESSAGE, "a frame of the server: {first:x} {length}");
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.ok()?;
    Some((first & 15, payload))
}

async fn talk(
    server: &HttpServer,
    bytes: &[u8],
    cuts: u8,
    expected: &Conversation,
) -> Conversation {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream.write_all(HANDSHAKE).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    // The server may have closed before all is sent.
    for piece in bytes.chunks(if cuts == 0 { bytes.len().max(1) } else { usize::from(cuts) }) {
        if stream.write_all(piece).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    if expected.may_close {
        let _ = stream.shutdown().await;
    }
    let (mut messages, mut close) = (Vec::new(), None);
    while expected.close.is_some() || expected.may_close || messages.len() < expected.messages.len()
    {
        match receive(&mut stream).await {
            Some((8, payload)) => {
                close = Some(match payload[..] {
                    [high, low, ..] => u16::from_be_bytes([high, low]),
                    _ => 1005,
                });
                break;
            }
            Some((9 | 10, _)) => {}
            Some(message) => messages.push(message),
            None => break,
        }
    }
    Conversation { messages, close, may_close: expected.may_close }
}

/// Sends the frames behind the first byte, which says into how large pieces they are cut.
pub async fn check(server: &HttpServer, data: &[u8]) {
    let Some((cuts, bytes)) = data.split_first() else { return };
    let expected = expected(bytes);
    let talking = talk(server, bytes, *cuts, &expected);
    let found =
        tokio::time::timeout(HANG, talking).await.expect("the server keeps a client waiting");
    if expected.may_close {
        assert!(matches!(found.close, None | Some(1007)), "{found:?} {bytes:02x?}");
    } else {
        assert_eq!(found.close, expected.close, "{bytes:02x?}");
    }
    // What waits at a close is not sent any more.
    let is_prefix = expected.messages.starts_with(&found.messages);
    let is_whole = found.messages.len() == expected.messages.len();
    let may_lack = expected.close.is_some() || expected.may_close;
    assert!(is_prefix && (is_whole || may_lack), "{found:?} instead of {expected:?}: {bytes:02x?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::run;

    /// Numbers of a fixed sequence (xorshift).
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) as usize % limit
        }

        fn payload(&mut self, is_text: bool) -> Vec<u8> {
            const LENGTHS: [usize; 10] = [0, 1, 3, 20, 125, 126, 127, 500, 999, 1001];
            let length = LENGTHS[self.below(LENGTHS.len())];
            match is_text && self.below(20) > 0 {
                true => "größe €".bytes().cycle().take(length).collect(),
                false => (0..length).map(|_| self.below(256) as u8).collect(),
            }
        }

        fn frame(&mut self) -> Vec<u8> {
            const OPCODES: [u8; 12] = [0, 0, 0, 1, 1, 1, 2, 2, 8, 9, 10, 3];
            let opcode = OPCODES[self.below(OPCODES.len())];
            let mut payload = self.payload(opcode < 2);
            if opcode >= 8 {
                payload.truncate(125);
            }
            if opcode == 8 && payload.len() > 1 {
                payload[..2].copy_from_slice(&[3, [232, 233, 236, 239][self.below(4)]]);
            }
            let is_last = opcode >= 8 || self.below(3) > 0;
            let mut bytes = vec![u8::from(is_last) << 7 | opcode];
            match u8::try_from(payload.len()) {
                Ok(length @ ..126) => bytes.push(0x80 | length),
                _ => {
                    bytes.push(0xfe);
                    bytes.extend((payload.len() as u16).to_be_bytes());
                }
            }
            let mask: [u8; 4] = std::array::from_fn(|_| self.below(256) as u8);
            bytes.extend(mask);
            bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            bytes
        }

        /// Frames, sometimes with wrong bytes or cut off.
        fn input(&mut self) -> Vec<u8> {
            let mut bytes = vec![[0, 3, 60, 250][self.below(4)]];
            for _ in 0..=self.below(6) {
                bytes.extend(self.frame());
            }
            if self.below(4) == 0 {
                let at = 1 + self.below(bytes.len() - 1);
                bytes[at] = self.below(256) as u8;
            }
            if self.below(4) == 0 {
                bytes.truncate(1 + self.below(bytes.len()));
            }
            bytes
        }
    }

    /// `RUNNEL_FUZZ_CASES` says how many conversations there are.
    #[test]
    fn a_server_reads_frames_as_the_standard_says() {
        run(async {
            let server = echo_server().await;
            let cases = std::env::var("RUNNEL_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
            let mut codes = std::collections::BTreeMap::new();
            for _ in 0..cases.unwrap_or(3000) {
                let input = numbers.input();
                *codes.entry(expected(&input[1..]).close).or_insert(0) += 1;
                check(&server, &input).await;
            }
            // Each kind of end is met.
            let met: Vec<_> = codes.keys().copied().flatten().collect();
            for code in [1000, 1002, 1005, 1007, 1009] {
                assert!(met.contains(&code), "{codes:?}");
            }
            assert!(codes.contains_key(&None), "{codes:?}");
        });
    }
}
