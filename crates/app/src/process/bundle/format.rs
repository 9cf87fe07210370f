//! The bytes of a program behind those of the executable.
//!
//! ```text
//! executable │ HEAD  length of the manifest  manifest (JSON)  contents │ length  SHA-256 of the part before  TAIL
//!            │ 16    4                                                 │ 8       32                          16
//! ```
//!
//! The same program and the same executable make the same bytes: names are in order, and nothing has a time.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

const HEAD: &[u8; 16] = b"\x7fRUNNEL program\n";
const TAIL: &[u8; 16] = b"\nprogram RUNNEL\x7f";
const TRAILER: usize = 8 + 32 + TAIL.len();
/// The most bytes of a program with its files.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// What a damaged executable says.
pub(crate) const DAMAGED: &str = "error: the program in this executable is damaged: nothing was run\n  \
    help: copy the executable again, or build it again with `runnel build`";

/// A program with its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle {
    /// The file with the program; a key of `files`.
    pub(crate) program: String,
    /// Contents by their paths from the folder of the program.
    pub(crate) files: BTreeMap<String, Bytes>,
    /// Folders of which all is inside.
    pub(crate) folders: Vec<String>,
    /// As on the command line: a number or `auto`.
    pub(crate) workers: String,
    pub(crate) port: Option<u16>,
    /// The first word of the command line; not part of the bytes.
    pub(crate) called: String,
}

impl Bundle {
    /// What is appended to an executable.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let sizes: Vec<Value> =
            self.files.iter().map(|(name, bytes)| json!([name, bytes.len()])).collect();
        let manifest = json!({
            "program": self.program, "files": sizes, "folders": self.folders,
            "workers": self.workers, "port": self.port,
        })
        .to_string();
        let mut bytes = HEAD.to_vec();
        bytes.extend((manifest.len() as u32).to_le_bytes());
        bytes.extend(manifest.as_bytes());
        self.files.values().for_each(|content| bytes.extend(&content[..]));
        let digest = Sha256::digest(&bytes);
        let length = bytes.len() as u64;
        bytes.extend(length.to_le_bytes());
        bytes.extend(&digest[..]);
        bytes.extend(TAIL);
        bytes
    }

    /// The program of the bytes between executable and trailer, whose checksum is right.
    fn of_bytes(bytes: Bytes) -> Option<Bundle> {
        let rest = bytes.strip_prefix(HEAD)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let manifest: Value = serde_json::from_slice(rest.get(..length)?).ok()?;
        let mut at = HEAD.len() + 4 + length;
        let mut files = BTreeMap::new();
        for file in manifest["files"].as_array()? {
            let end = at.checked_add(usize::try_from(file[1].as_u64()?).ok()?)?;
            let content = (end <= bytes.len()).then(|| bytes.slice(at..end))?;
            files.insert(file[0].as_str()?.to_string(), content);
            at = end;
        }
        let folders = manifest["folders"].as_array()?.iter();
        Some(Bundle {
            program: manifest["program"].as_str()?.into(),
            folders: folders.map(|name| name.as_str().map(String::from)).collect::<Option<_>>()?,
            workers: manifest["workers"].as_str()?.into(),
            port: manifest["port"].as_u64().and_then(|port| u16::try_from(port).ok()),
            files,
            called: String::new(),
        })
    }
}

/// The file of the process.
pub(crate) fn open_executable() -> Option<File> {
    let open = |path: &std::path::Path| File::open(path).ok();
    // The first one is right also after the file was moved or replaced; it needs `/proc`.
    open("/proc/self/exe".as_ref()).or_else(|| open(&std::env::current_exe().ok()?))
}

/// The program behind an executable; `None` where there is none.
///
/// # Errors
/// [`DAMAGED`], where there was one.
pub(crate) fn read(file: &File) -> Result<Option<Bundle>, String> {
    let damaged = || DAMAGED.to_string();
    let Ok(size) = file.metadata().map(|facts| facts.len()) else { return Ok(None) };
    let piece = |at: u64, length: u64| {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    };
    let trailer = size.checked_sub(TRAILER as u64).and_then(|at| piece(at, TRAILER as u64));
    let Some(trailer) = trailer.filter(|trailer| trailer.ends_with(TAIL)) else {
        let begins = executable_end(file).and_then(|end| piece(end, HEAD.len() as u64));
        return match begins.is_some_and(|head| head == HEAD) {
            true => Err(damaged()),
            false => Ok(None),
        };
    };
    let (length, digest) = (trailer.first_chunk::<8>(), trailer.get(8..40));
    let length = length.map(|length| u64::from_le_bytes(*length)).ok_or_else(damaged)?;
    let end = size - TRAILER as u64;
    let start = end.checked_sub(length).filter(|_| length <= 2 * MOST_BYTES).ok_or_else(damaged)?;
    let bytes = piece(start, length).ok_or_else(damaged)?;
    if digest != Some(&Sha256::digest(&bytes)[..]) {
        return Err(damaged());
    }
    Bundle::of_bytes(bytes.into()).map(Some).ok_or_else(damaged)
}

/// Where an executable ends by its own account: behind the table of sections, which linkers write last (ELF-64,
/// little endian).
fn executable_end(file: &File) -> Option<u64> {
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).ok()?;
    let is_known = head.starts_with(b"\x7fELF") && head[4] == 2 && head[5] == 1;
    let number = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let table = u64::from_le_bytes(*head[0x28..].first_chunk::<8>()?);
    is_known.then(|| table.checked_add(number(0x3a) * number(0x3c)))?
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    fn bundle() -> Bundle {
        let files = [("main.st", "3 + 4"), ("static/ü.css", ""), ("../lib/a.st", "'a'")];
        Bundle {
            program: "main.st".into(),
            files: files.map(|(name, text)| (name.into(), text.into())).into(),
            folders: vec!["static".into()],
            workers: "auto".into(),
            port: Some(8080),
            called: String::new(),
        }
    }

    /// This test as an executable, with bytes behind it.
    fn file_with(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let mut own = vec![0; 64];
        own[..6].copy_from_slice(b"\x7fELF\x02\x01");
        own[0x28..0x30].copy_from_slice(&64u64.to_le_bytes());
        file.write_all(&own).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn what_is_appended_is_read() {
        let bytes = bundle().to_bytes();
        assert_eq!(read(&file_with(&bytes)), Ok(Some(bundle())));
        assert_eq!(bundle().to_bytes(), bytes, "the same input makes the same bytes");
        assert_eq!(read(&file_with(b"")), Ok(None));
        assert_eq!(
            read(&file_with(b"something else that is longer than the trailer is, for sure")),
            Ok(None)
        );
        assert_eq!(read(&tempfile::tempfile().unwrap()), Ok(None));
    }

    #[test]
    fn no_damage_goes_unseen() {
        let bytes = bundle().to_bytes();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(read(&file_with(&damaged)), Err(DAMAGED.into()), "byte {at}");
        }
        for length in HEAD.len()..bytes.len() {
            let cut = &bytes[..length];
            assert_eq!(read(&file_with(cut)), Err(DAMAGED.into()), "cut to {length} bytes");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(read(&file_with(&longer)), Err(DAMAGED.into()));
    }
}
