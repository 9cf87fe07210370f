//! A range of an open file, which the system can send without a read by the program.

use std::fs::File;
use std::sync::Arc;

/// Step, in bytes, for checks whether a file is in memory. The system's read-ahead and eviction
/// work in steps of about this size.
const STEP: u64 = 64 << 10;

/// A byte range of an open file. The file's length may change before the range is read.
#[derive(Clone, Debug)]
pub struct FilePart {
    file: Arc<File>,
    from: u64,
    length: u64,
}

impl FilePart {
    /// A part of a file, from a position on, both in bytes.
    pub fn new(file: Arc<File>, from: u64, length: u64) -> Self {
        FilePart { file, from, length }
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Where the part begins in the file.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// A range of this range, cut to its length.
    pub fn part(&self, from: u64, length: u64) -> FilePart {
        let from = from.min(self.length);
        let length = length.min(self.length - from);
        FilePart { file: self.file.clone(), from: self.from + from, length }
    }

    /// Whether the whole range seems to be in the page cache, so that sending it does not wait for
    /// the disk. The check reads one byte of each 64 KiB and the last byte. The system may have
    /// evicted pages in between, which then costs a short wait. False where the system cannot tell,
    /// and where the file has become shorter.
    pub fn is_in_memory(&self) -> bool {
        let Some(last) = self.length.checked_sub(1) else { return true };
        let mut tried = (0..last).step_by(STEP as usize).chain([last]);
        tried.all(|at| has_byte(&self.file, self.from + at))
    }
}

#[cfg(target_os = "linux")]
fn has_byte(file: &File, at: u64) -> bool {
    let mut byte = [0];
    let into = &mut [std::io::IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, into, at, rustix::io::ReadWriteFlags::NOWAIT) == Ok(1)
}

#[cfg(not(target_os = "linux"))]
fn has_byte(_: &File, _: u64) -> bool {
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_within_and_what_is_gone_is_not_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, vec![7; 200_000]).unwrap();
        let file = Arc::new(File::options().read(true).write(true).open(&path).unwrap());
        let all = FilePart::new(file.clone(), 0, 200_000);
        let part = all.part(100_000, 50_000).part(10, 1_000_000);
        assert_eq!((part.from(), part.length()), (100_010, 49_990));
        assert_eq!(all.part(300_000, 1).length(), 0);
        assert!(all.part(300_000, 1).is_in_memory(), "nothing is always there");
        let was = all.is_in_memory();
        file.set_len(199_999).unwrap();
        assert!(!all.is_in_memory(), "the last byte is gone");
        assert_eq!(all.part(0, 199_999).is_in_memory(), was);
    }
}
