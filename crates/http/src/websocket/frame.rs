//! Frame headers (RFC 6455 section 5.2).

use super::fault::WebSocketFault;

/// The longest header of a frame.
pub(crate) const LONGEST_HEADER: usize = 14;
/// The largest payload of a control frame, in bytes.
const LONGEST_CONTROL: u64 = 125;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn of(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    pub(crate) fn is_control(self) -> bool {
        self as u8 >= Opcode::Close as u8
    }
}

/// The header of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) opcode: Opcode,
    /// The last frame of its message.
    pub(crate) is_last: bool,
    /// The first frame of a compressed message.
    pub(crate) is_compressed: bool,
    /// Payload length in bytes.
    pub(crate) length: u64,
    /// Zeros in a frame of a server.
    pub(crate) mask: [u8; 4],
}

impl FrameHeader {
    /// Parses a header and returns its length; `None` while it is incomplete.
    ///
    /// # Errors
    /// A protocol violation, such as a length that is not encoded in the fewest bytes.
    pub(crate) fn parse(
        bytes: &[u8],
        compression: bool,
        of_client: bool,
    ) -> Result<Option<(FrameHeader, usize)>, WebSocketFault> {
        let &[first, second, ..] = bytes else { return Ok(None) };
        let opcode = Opcode::of(first & 0x0f).ok_or(WebSocketFault::Protocol)?;
        let (is_last, is_compressed) = (first & 0x80 != 0, first & 0x40 != 0);
        let may_compress = compression && matches!(opcode, Opcode::Text | Opcode::Binary);
        let is_masked = second & 0x80 != 0;
        if first & 0x30 != 0 || is_compressed && !may_compress || is_masked != of_client {
            return Err(WebSocketFault::Protocol);
        }
        let (length, at) = match second & 0x7f {
            126 => match bytes.get(2..4) {
                Some(&[high, low]) => (u64::from(u16::from_be_bytes([high, low])), 4),
                _ => return Ok(None),
            },
            127 => match bytes.get(2..10).and_then(|bytes| bytes.try_into().ok()) {
                Some(length) => (u64::from_be_bytes(length), 10),
                None => return Ok(None),
            },
            length => (u64::from(length), 2),
        };
        let is_shortest = match at {
            4 => length > 125,
            10 => (1 << 16..1 << 63).contains(&length),
            _ => true,
        };
        if !is_shortest || opcode.is_control() && !(is_last && length <= LONGEST_CONTROL) {
            return Err(WebSocketFault::Protocol);
        }
        if !of_client {
            let mask = [0; 4];
            return Ok((bytes.len() >= at)
                .then_some((FrameHeader { opcode, is_last, is_compressed, length, mask }, at)));
        }
        let Some(&[a, b, c, d]) = bytes.get(at..at + 4) else { return Ok(None) };
        let mask = [a, b, c, d];
        Ok(Some((FrameHeader { opcode, is_last, is_compressed, length, mask }, at + 4)))
    }
}

/// The header of a frame that is sent, and its length. Only a client's has a mask.
pub(crate) fn write_header(
    opcode: Opcode,
    is_last: bool,
    is_compressed: bool,
    length: usize,
    mask: Option<[u8; 4]>,
) -> ([u8; LONGEST_HEADER], usize) {
    let mut bytes = [0; LONGEST_HEADER];
    bytes[0] = u8::from(is_last) << 7 | u8::from(is_compressed) << 6 | opcode as u8;
    let count = match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length @ ..126), _) => {
            bytes[1] = length;
            2
        }
        (_, Ok(length)) => {
            bytes[1] = 126;
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
            4
        }
        _ => {
            bytes[1] = 127;
            bytes[2..10].copy_from_slice(&(length as u64).to_be_bytes());
            10
        }
    };
    let Some(mask) = mask else { return (bytes, count) };
    bytes[1] |= 0x80;
    bytes[count..count + 4].copy_from_slice(&mask);
    (bytes, count + 4)
}

/// Applies or removes a mask. `at` is the offset of the first byte in its frame.
pub(crate) fn mask(bytes: &mut [u8], mask: [u8; 4], at: u64) {
    let turned: [u8; 4] = std::array::from_fn(|index| mask[(at as usize + index) % 4]);
    if turned == [0; 4] {
        return;
    }
    let [a, b, c, d] = turned;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(turned.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Option<(FrameHeader, usize)>, WebSocketFault> {
        FrameHeader::parse(bytes, true, true)
    }

    #[test]
    fn lengths_are_encoded_in_the_fewest_bytes() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 10_000_000] {
            let (plain, count) = write_header(Opcode::Binary, true, false, length, None);
            let (header, size) = FrameHeader::parse(&plain[..count], true, false).unwrap().unwrap();
            assert_eq!((header.length, size, header.mask), (length as u64, count, [0; 4]));
            let (bytes, count) = write_header(Opcode::Binary, true, false, length, Some(*b"mask"));
            let masked = bytes[..count].to_vec();
            let (header, size) = parse(&masked).unwrap().unwrap();
            assert_eq!((header.length, size), (length as u64, masked.len()));
            assert_eq!((header.opcode, header.mask), (Opcode::Binary, *b"mask"));
            for end in 0..masked.len() {
                assert_eq!(parse(&masked[..end]), Ok(None), "{length} {end}");
            }
        }
        for long in [
            &b"\x82\xfe\0\x7dmask"[..],
            b"\x82\xff\0\0\0\0\0\0\xff\xffmask",
            b"\x82\xff\x80\0\0\0\0\0\0\0mask",
        ] {
            assert_eq!(parse(long), Err(WebSocketFault::Protocol), "{long:?}");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        for wrong in [
            &b"\x81\x02hi"[..],    // no mask
            b"\x83\x80mask",       // reserved opcodes
            b"\x8b\x80mask",       //
            b"\xa1\x80mask",       // reserved bits
            b"\x91\x80mask",       //
            b"\xc9\x80mask",       // a compressed control frame
            b"\xc0\x80mask",       // a compressed continuation
            b"\x09\x80mask",       // a control frame in pieces
            b"\x89\xfe\0\x7emask", // a long control frame
        ] {
            assert_eq!(parse(wrong), Err(WebSocketFault::Protocol), "{wrong:?}");
        }
        assert_eq!(FrameHeader::parse(b"\xc1\x80mask", false, true), Err(WebSocketFault::Protocol));
        assert_eq!(
            FrameHeader::parse(b"\x81\x82maskhi", false, false),
            Err(WebSocketFault::Protocol)
        );
        assert!(parse(b"\xc1\x80mask").unwrap().unwrap().0.is_compressed);
    }

    #[test]
    fn a_mask_goes_on_where_it_was() {
        let text: Vec<u8> = (0..100).collect();
        let mut whole = text.clone();
        mask(&mut whole, *b"abcd", 0);
        assert_eq!(whole[..5], [b'a', 1 ^ b'b', 2 ^ b'c', 3 ^ b'd', 4 ^ b'a']);
        for cut in [0, 1, 2, 3, 4, 5, 50, 99] {
            let mut pieces = text.clone();
            let (first, second) = pieces.split_at_mut(cut);
            mask(first, *b"abcd", 0);
            mask(second, *b"abcd", cut as u64);
            assert_eq!(pieces, whole, "{cut}");
        }
    }
}
