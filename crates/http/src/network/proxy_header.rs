//! The PROXY protocol, versions 1 and 2 (HAProxy, "The PROXY protocol", 2020): a load balancer for TCP
//! sends the address of its client before everything else, also before TLS.
//!
//! ```text
//! PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n              version 1: a line
//! signature (12) | version, command | family | length (2) | addresses | extensions
//! ```
//!
//! The header is peeked at before it is read, so that no byte after it is taken from TLS.

use crate::network::unix_socket::UNIX_PEER;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

/// The start of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The start of version 1.
const LINE_START: &[u8] = b"PROXY ";
/// The longest line of version 1, in bytes, with its end.
const LONGEST_LINE: usize = 107;
/// Bytes of version 2 before the addresses.
const FIXED: usize = 16;
/// The largest header of version 2, in bytes, with its extensions.
const LARGEST: usize = 4 << 10;

/// Whose connection a header announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxiedPeer {
    /// Of a client with this address.
    Client(SocketAddr),
    /// Of a client without an address that the protocol knows.
    Unknown,
    /// Of the load balancer itself, as for a health check.
    Itself,
}

/// Why the bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoProxyHeader(&'static str);

type Parsed = Result<Option<(usize, ProxiedPeer)>, NoProxyHeader>;

/// Parses the header at the start of the bytes: its length and the peer; `None` where it is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    if bytes.len() >= LINE_START.len() && bytes.starts_with(LINE_START) {
        parse_line(bytes)
    } else if bytes.len() >= SIGNATURE.len() && bytes.starts_with(SIGNATURE) {
        parse_binary(bytes)
    } else if LINE_START.starts_with(bytes) || SIGNATURE.starts_with(bytes) {
        Ok(None)
    } else {
        Err(NoProxyHeader("the connection begins without a header of the PROXY protocol"))
    }
}

/// Version 1: `PROXY TCP4 source destination port port`, or `PROXY UNKNOWN` with anything.
fn parse_line(bytes: &[u8]) -> Parsed {
    const WRONG: NoProxyHeader = NoProxyHeader("the line of the PROXY protocol is malformed");
    let start = &bytes[..bytes.len().min(LONGEST_LINE)];
    let Some(end) = memchr::memchr(b'\n', start) else {
        return if bytes.len() < LONGEST_LINE { Ok(None) } else { Err(WRONG) };
    };
    let line = start[..end].strip_suffix(b"\r").ok_or(WRONG)?;
    let line = std::str::from_utf8(line).map_err(|_| WRONG)?;
    let mut words = line.split(' ').skip(1);
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        return Ok(Some((end + 1, ProxiedPeer::Unknown)));
    }
    let (source, destination) = (words.next(), words.next());
    let (port, other_port) = (words.next().and_then(port), words.next().and_then(port));
    let (Some(source), Some(destination), Some(port), Some(_), None) =
        (source, destination, port, other_port, words.next())
    else {
        return Err(WRONG);
    };
    let source: IpAddr = match family {
        "TCP4" if destination.parse::<Ipv4Addr>().is_ok() => {
            source.parse::<Ipv4Addr>().map_err(|_| WRONG)?.into()
        }
        "TCP6" if destination.parse::<Ipv6Addr>().is_ok() => {
            source.parse::<Ipv6Addr>().map_err(|_| WRONG)?.into()
        }
        _ => return Err(WRONG),
    };
    Ok(Some((end + 1, client(source, port))))
}

/// A port in decimal digits.
fn port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Version 2. Extensions (TLVs) are skipped.
fn parse_binary(bytes: &[u8]) -> Parsed {
    let Some((fixed, rest)) = bytes.split_at_checked(FIXED) else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if fixed[12] >> 4 != 2 {
        return Err(NoProxyHeader("this version of the PROXY protocol is unknown"));
    }
    if FIXED + length > LARGEST {
        return Err(NoProxyHeader("the header of the PROXY protocol is too large"));
    }
    let Some(rest) = rest.get(..length) else { return Ok(None) };
    const SHORT: NoProxyHeader =
        NoProxyHeader("the addresses of the PROXY protocol are incomplete");
    let peer = match (fixed[12] & 0xF, fixed[13]) {
        // The rest of a local command is ignored.
        (0, _) => ProxiedPeer::Itself,
        (1, 0x00) => ProxiedPeer::Unknown,
        (1, 0x11) => {
            let addresses = rest.first_chunk::<12>().ok_or(SHORT)?;
            let [a, b, c, d, _, _, _, _, high, low, ..] = *addresses;
            client(Ipv4Addr::new(a, b, c, d).into(), u16::from_be_bytes([high, low]))
        }
        (1, 0x21) => {
            let addresses = rest.first_chunk::<36>().ok_or(SHORT)?;
            let (source, others) = addresses.split_first_chunk::<16>().ok_or(SHORT)?;
            client(Ipv6Addr::from(*source).into(), u16::from_be_bytes([others[16], others[17]]))
        }
        (1, 0x31) if rest.len() >= 216 => ProxiedPeer::Client(UNIX_PEER),
        (1, 0x31) => return Err(SHORT),
        (1, _) => return Err(NoProxyHeader("the PROXY protocol announces no stream")),
        _ => return Err(NoProxyHeader("this command of the PROXY protocol is unknown")),
    };
    Ok(Some((FIXED + length, peer)))
}

/// A client by its address. The address that marks Unix sockets is no address of a client.
fn client(address: IpAddr, port: u16) -> ProxiedPeer {
    let address = SocketAddr::new(address.to_canonical(), port);
    if address == UNIX_PEER { ProxiedPeer::Unknown } else { ProxiedPeer::Client(address) }
}

/// Reads the header of a connection.
pub(crate) struct ProxyHeaderReader {
    stream: TcpStream,
    /// The part of the header that was read, where it came in several packets.
    read: Vec<u8>,
}

impl ProxyHeaderReader {
    pub(crate) fn new(stream: TcpStream) -> ProxyHeaderReader {
        ProxyHeaderReader { stream, read: Vec::new() }
    }

    /// The connection after its header.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Reads the header and no byte more.
    ///
    /// # Errors
    /// The connection is broken, or begins with something else.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ProxiedPeer>> {
        loop {
            let known = self.read.len();
            let mut space = [0; LARGEST];
            let mut peeked = ReadBuf::new(&mut space[..LARGEST - known.min(LARGEST)]);
            if ready!(self.stream.poll_peek(context, &mut peeked))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.read.extend_from_slice(peeked.filled());
            let parsed = parse(&self.read).map_err(|NoProxyHeader(reason)| {
                io::Error::new(io::ErrorKind::InvalidData, reason)
            })?;
            // An incomplete header continues after the bytes that have arrived.
            let end = parsed.map_or(self.read.len(), |(length, _)| length);
            self.read.truncate(end);
            let count = end.saturating_sub(known);
            if self.stream.try_read(&mut space[..count])? != count {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            if let Some((_, peer)) = parsed {
                return Poll::Ready(Ok(peer));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header of version 2.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[0x20 | command, family], &length, rest].concat()
    }

    fn peer(text: &str) -> ProxiedPeer {
        ProxiedPeer::Client(text.parse().unwrap())
    }

    #[test]
    fn lines_name_a_client() {
        for (line, expected) in [
            ("PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n", peer("203.0.113.7:4711")),
            ("PROXY TCP6 2001:db8::7 ::1 4711 443\r\n", peer("[2001:db8::7]:4711")),
            ("PROXY TCP6 ::ffff:203.0.113.7 ::1 1 2\r\n", peer("203.0.113.7:1")),
            ("PROXY TCP4 0.0.0.0 10.0.0.1 0 443\r\n", ProxiedPeer::Unknown),
            ("PROXY UNKNOWN\r\n", ProxiedPeer::Unknown),
            ("PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", ProxiedPeer::Unknown),
        ] {
            assert_eq!(parse(line.as_bytes()), Ok(Some((line.len(), expected))), "{line}");
        }
    }

    #[test]
    fn malformed_lines_are_refused() {
        for line in [
            "PROXY TCP4 203.0.113.7 10.0.0.1 4711\r\n",
            "PROXY TCP4 203.0.113.7 10.0.0.1 4711 443 1\r\n",
            "PROXY TCP4 203.0.113.7 10.0.0.1 +4711 443\r\n",
            "PROXY TCP4 203.0.113.7 10.0.0.1 65536 443\r\n",
            "PROXY TCP4 203.0.113 10.0.0.1 4711 443\r\n",
            "PROXY TCP4 203.0.113.7 x 4711 443\r\n",
            "PROXY TCP4 ::1 ::2 4711 443\r\n",
            "PROXY TCP6 10.0.0.1 10.0.0.2 1 2\r\n",
            "PROXY UDP4 203.0.113.7 10.0.0.1 4711 443\r\n",
            "PROXY TCP4  203.0.113.7 10.0.0.1 4711 443\r\n",
            "PROXY UNKNOWN\n",
            "GET / HTTP/1.1\r\n",
            "proxy UNKNOWN\r\n",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        assert!(parse(&[b"PROXY UNKNOWN".as_slice(), &[b' '; 94]].concat()).is_err());
        assert_eq!(parse(b"PROXY UNKNOWN"), Ok(None));
    }

    #[test]
    fn version_2_names_a_client() {
        let v4 = [203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 187];
        let mut v6 = [0; 36];
        v6[15] = 1;
        v6[33] = 80;
        let extended = [&v4[..], &[0x03, 0, 4, 1, 2, 3, 4]].concat();
        for (bytes, expected) in [
            (binary(1, 0x11, &v4), peer("203.0.113.7:4711")),
            (binary(1, 0x11, &extended), peer("203.0.113.7:4711")),
            (binary(1, 0x21, &v6), peer("[::1]:80")),
            (binary(1, 0x31, &[0; 216]), ProxiedPeer::Client(UNIX_PEER)),
            (binary(1, 0x00, b"anything"), ProxiedPeer::Unknown),
            (binary(0, 0x00, b""), ProxiedPeer::Itself),
            (binary(0, 0x11, &v4), ProxiedPeer::Itself),
        ] {
            assert_eq!(parse(&bytes), Ok(Some((bytes.len(), expected))));
        }
        for bytes in [
            binary(1, 0x11, &v4[..11]),
            binary(1, 0x21, &v6[..35]),
            binary(1, 0x31, &[0; 215]),
            binary(1, 0x12, &v4),
            binary(2, 0x11, &v4),
            binary(1, 0x11, &[0; LARGEST - FIXED + 1]),
            [&SIGNATURE[..], &[0x11, 0x11, 0, 0]].concat(),
        ] {
            assert!(parse(&bytes).is_err(), "{bytes:?}");
        }
        assert!(parse(&binary(1, 0x11, &[0; LARGEST - FIXED])).is_ok());
    }

    proptest! {
        #[test]
        fn a_header_is_the_same_however_it_is_cut(
            start in prop::sample::select(vec![
                &b""[..],
                LINE_START,
                &SIGNATURE[..],
                b"PROXY TCP4 1.2.3.4 5.6.7.8 9 1",
            ]),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = [start, &rest].concat();
            let whole = parse(&bytes);
            for end in 0..bytes.len() {
                match parse(&bytes[..end]) {
                    Ok(None) => {}
                    sooner => prop_assert_eq!(sooner, whole),
                }
            }
            if let Ok(Some((length, _))) = whole {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
