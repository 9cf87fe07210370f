//! The message that a client is sending, from its first frame to its last.

use super::deflate::Inflate;
use super::fault::WebSocketFault;
use super::frame::Opcode;
use runnel_store::{Held, Kind, Message, Text};

/// Memory that the announced length of a frame is believed for at once.
const BELIEVED: usize = 64 * 1024;
/// The least memory for a decompressed message.
const DECOMPRESSED: usize = 4 * 1024;

/// A part of a message. Its memory counts in the budget of the process.
pub(crate) struct Assembly {
    is_text: bool,
    inflate: Option<Inflate>,
    bytes: Vec<u8>,
    /// This many bytes of text are UTF-8.
    valid: usize,
    held: Held,
    /// The most bytes of a message.
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

    /// Makes room for a frame.
    ///
    /// # Errors
    /// The message is too large, or there is no memory.
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

    /// Adds some payload, and answers how much of it: all, unless others should have their turn.
    ///
    /// # Errors
    /// The message is too large, or malformed, or there is no memory.
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

    /// Checks the text of a message of which more is to come.
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

    /// The whole message, with the memory that it counts for.
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

/// Makes room for output of a decompressor, and for one byte more than there may be: so it shows
/// whether there is more.
fn decompressed(bytes: &mut Vec<u8>, most: usize, held: &mut Held) -> Result<(), WebSocketFault> {
    if bytes.len() > most {
        return Err(WebSocketFault::TooLarge);
    }
    grow(bytes, DECOMPRESSED.min(most + 1 - bytes.len()), most + 1, held)
}

/// Makes room for more bytes, by doubling.
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
