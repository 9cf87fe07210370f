//! A message in progress, from its first frame to its last.

use super::deflate::Inflate;
use super::fault::WebSocketFault;
use super::frame::Opcode;
use runnel_store::{Held, Kind, Message, Text};

/// The size that is reserved at once for an announced frame.
const BELIEVED: usize = 64 * 1024;
/// The smallest reservation for a decompressed message.
const DECOMPRESSED: usize = 4 * 1024;

/// A partial message. Its memory is charged to the budget of the process.
pub(crate) struct Assembly {
    is_text: bool,
    inflate: Option<Inflate>,
    bytes: Vec<u8>,
    /// The length of the validated UTF-8 prefix of a text.
    valid: usize,
    held: Held,
    /// The largest message, in bytes.
    most: usize,
}

impl Assembly {
    pub(crate) fn new(opcode: Opcode, is_compressed: bool, most: usize) -> Assembly {
        Assembly {
            is_text: opcode == Opcode::Text,
            inflate: is_compressed.then(Inflate::new),
            bytes: Vec::new(),
            valid: 0,
            held: Held::default(),
            most,
        }
    }

    /// Reserves memory for a frame.
    ///
    /// # Errors
    /// The message is too large, or memory is exhausted.
    pub(crate) fn expect(&mut self, length: u64) -> Result<(), WebSocketFault> {
        let before = if self.inflate.is_some() { 0 } else { self.bytes.len() as u64 };
        if before.saturating_add(length) > self.most as u64 {
            return Err(WebSocketFault::TooLarge);
        }
        if self.inflate.is_none() {
            let room = BELIEVED.min(length as usize);
            return grow(&mut self.bytes, room, self.most, &mut self.held);
        }
        Ok(())
    }

    /// Adds payload. Returns how much was consumed: all of it, or less in order to yield.
    ///
    /// # Errors
    /// The message is too large or malformed, or memory is exhausted.
    pub(crate) fn add(&mut self, payload: &[u8]) -> Result<usize, WebSocketFault> {
        let Assembly { inflate, bytes, held, most, .. } = self;
        let Some(inflate) = inflate else {
            grow(bytes, payload.len(), *most, held)?;
            bytes.extend_from_slice(payload);
            return Ok(payload.len());
        };
        let taken = inflate.add(payload, bytes, |bytes| decompressed(bytes, *most, held))?;
        if bytes.len() > *most { Err(WebSocketFault::TooLarge) } else { Ok(taken) }
    }

    /// Validates the text of an incomplete message.
    ///
    /// # Errors
    /// It is not UTF-8, whatever follows.
    pub(crate) fn check(&mut self) -> Result<(), WebSocketFault> {
        if !self.is_text {
            return Ok(());
        }
        match std::str::from_utf8(self.bytes.get(self.valid..).unwrap_or_default()) {
            Ok(text) => self.valid += text.len(),
            Err(error) if error.error_len().is_some() => return Err(WebSocketFault::NotUtf8),
            Err(error) => self.valid += error.valid_up_to(),
        }
        Ok(())
    }

    /// The complete message, with its charge.
    ///
    /// # Errors
    /// As [`Assembly::add`].
    pub(crate) fn finish(mut self) -> Result<(Message, Held), WebSocketFault> {
        let Assembly { inflate, bytes, held, most, .. } = &mut self;
        if let Some(inflate) = inflate {
            inflate.finish(bytes, |bytes| decompressed(bytes, *most, held))?;
            if bytes.len() > *most {
                return Err(WebSocketFault::TooLarge);
            }
            bytes.shrink_to_fit();
        }
        let message = match self.is_text {
            true => String::from_utf8(self.bytes)
                .map(|text| Message::Text(Text::from(text)))
                .map_err(|_| WebSocketFault::NotUtf8)?,
            false => Message::Bytes(self.bytes.into()),
        };
        Ok((message, self.held))
    }
}

/// Reserves output for a decompressor, with one byte beyond the limit, which reveals that there is
/// more.
fn decompressed(bytes: &mut Vec<u8>, most: usize, held: &mut Held) -> Result<(), WebSocketFault> {
    if bytes.len() > most {
        return Err(WebSocketFault::TooLarge);
    }
    grow(bytes, DECOMPRESSED.min(most + 1 - bytes.len()), most + 1, held)
}

/// Reserves memory by doubling.
fn grow(
    bytes: &mut Vec<u8>,
    more: usize,
    most: usize,
    held: &mut Held,
) -> Result<(), WebSocketFault> {
    let needed = bytes.len() + more;
    if needed <= bytes.capacity() {
        return Ok(());
    }
    let capacity = needed.max((bytes.capacity() * 2).min(most));
    let added = held.add_arriving(capacity - bytes.capacity());
    added.map_err(|error| match error.kind {
        Kind::TooLarge => WebSocketFault::TooLarge,
        _ => WebSocketFault::NoMemory,
    })?;
    bytes.reserve_exact(capacity - bytes.len());
    Ok(())
}
