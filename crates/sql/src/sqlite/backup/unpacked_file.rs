//! A database file from its bytes, or from those of a file that is compressed with Zstandard.

use crate::sqlite::connection::database_file::from_io;
use crate::sqlite::fault::{SqlFault, SqlResult};
use runnel_store::Kind;
use std::fs::File;
use std::io::Write;
use zstd::stream::write::Decoder;

/// How a frame of Zstandard begins (RFC 8878, section 3.1.1).
const FRAME: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Bytes of the longest head of a frame; the length of its content is in it.
const FRAME_HEAD: usize = 18;

/// The largest distance to repeated content that a frame may need, as a power of two: 128 MiB of memory.
const WINDOW: u32 = 27;

/// What is written so far.
pub(crate) struct UnpackedFile {
    /// The first bytes, until they say what follows.
    begin: Vec<u8>,
    /// Nothing before that.
    output: Option<Output>,
    file: Option<File>,
}

enum Output {
    Plain(File),
    Packed(Box<Decoder<'static, LimitedFile>>),
}

/// Takes no more bytes than a frame has declared.
struct LimitedFile {
    file: File,
    left: u64,
    is_exceeded: bool,
}

impl Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.is_exceeded |= bytes.len() as u64 > self.left;
        if self.is_exceeded {
            return Err(std::io::Error::other("more bytes than the backup declares"));
        }
        let count = self.file.write(bytes)?;
        self.left -= count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

pub(crate) fn unwritable(error: &std::io::Error) -> SqlFault {
    from_io(error, "the restored database cannot be written")
}

fn damaged(detail: &str) -> SqlFault {
    let fault = SqlFault::new(Kind::Failed, "the compressed backup is damaged; use another one");
    SqlFault { detail: Some(detail.to_string()), ..fault }
}

impl UnpackedFile {
    pub(crate) fn new(file: File) -> UnpackedFile {
        UnpackedFile { begin: Vec::new(), output: None, file: Some(file) }
    }

    /// Takes more bytes of the backup.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> SqlResult<()> {
        if let Some(output) = &mut self.output {
            return output.write(bytes);
        }
        self.begin.extend_from_slice(bytes);
        match self.begin.len() < FRAME_HEAD {
            true => Ok(()),
            false => self.decide(),
        }
    }

    /// Writes what is left. A frame without its end is an error.
    pub(crate) fn finish(mut self) -> SqlResult<()> {
        if self.output.is_none() {
            self.decide()?;
        }
        let Some(Output::Packed(mut decoder)) = self.output else { return Ok(()) };
        decoder.flush().map_err(|error| damaged(&error.to_string()))?;
        match decoder.get_ref().left {
            0 => Ok(()),
            left => Err(damaged(&format!("{left} bytes are missing at the end"))),
        }
    }

    /// Recognises the format by the first bytes.
    fn decide(&mut self) -> SqlResult<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let begin = std::mem::take(&mut self.begin);
        let mut output = match begin.starts_with(FRAME) {
            false => Output::Plain(file),
            true => {
                let declared = zstd::zstd_safe::get_frame_content_size(&begin).ok().flatten();
                let Some(left) = declared else {
                    let message = "this compressed backup does not declare its size; expand it with \
                                   `zstd -d`, and restore what that writes";
                    return Err(SqlFault::invalid(message));
                };
                let limited = LimitedFile { file, left, is_exceeded: false };
                let decoder = Decoder::new(limited).and_then(|mut decoder| {
                    decoder.window_log_max(WINDOW)?;
                    Ok(decoder)
                });
                Output::Packed(Box::new(decoder.map_err(|error| unwritable(&error))?))
            }
        };
        output.write(&begin)?;
        self.output = Some(output);
        Ok(())
    }
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> SqlResult<()> {
        match self {
            Output::Plain(file) => file.write_all(bytes).map_err(|error| unwritable(&error)),
            Output::Packed(decoder) => decoder.write_all(bytes).map_err(|error| {
                // The system gives its errors a number, the decoder does not.
                match error.raw_os_error() {
                    Some(_) => unwritable(&error),
                    None => damaged(&error.to_string()),
                }
            }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What is written of a backup that comes in pieces, or the message of the error.
    fn unpacked(bytes: &[u8], piece: usize) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut file = UnpackedFile::new(File::create(&path).unwrap());
        let written = bytes.chunks(piece).try_for_each(|piece| file.write(piece));
        let finished = written.and_then(|()| file.finish());
        finished.map_err(|fault| fault.message.to_string())?;
        Ok(std::fs::read(path).unwrap())
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 1).unwrap()
    }

    #[test]
    fn both_forms_are_recognised() {
        for text in [&b""[..], b"short", &[7; 300_000]] {
            for piece in [1, 7, 100_000] {
                assert_eq!(unpacked(text, piece).unwrap(), text);
                assert_eq!(unpacked(&packed(text), piece).unwrap(), text);
            }
        }
    }

    #[test]
    fn damage_and_bombs_are_errors() {
        let text: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        let whole = packed(&text);
        for cut in [5, 20, whole.len() / 2, whole.len() - 1] {
            let wrong = unpacked(&whole[..cut], 1000).unwrap_err();
            assert!(wrong.contains("damaged") || wrong.contains("declare"), "{cut}: {wrong}");
        }
        // More than the first frame declares.
        let two = [packed(b"small"), packed(&[0; 1 << 20])].concat();
        assert!(unpacked(&two, 1000).unwrap_err().contains("damaged"));
        let mut lying = packed(&[0; 1 << 20]);
        // The length of the content, four bytes behind the descriptor of the frame.
        let at = lying.windows(4).position(|word| word == (1_u32 << 20).to_le_bytes()).unwrap();
        lying[at..at + 4].copy_from_slice(&4096_u32.to_le_bytes());
        assert!(unpacked(&lying, 1000).unwrap_err().contains("damaged"));
        let streamed = zstd::stream::encode_all(&text[..], 1).unwrap();
        assert!(unpacked(&streamed, 1000).unwrap_err().contains("zstd -d"));
    }
}
