//! Memory-mapped files, which take memory only for the pages in use.
#![allow(unsafe_code)]

use bytes::Bytes;
use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps the content of a file that no process changes any more.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the file is a snapshot. It is written under a temporary name and never changes after
    // its rename, and a lock on its folder excludes other processes of this program. Unlinking it
    // does not change its content.
    let mapped = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(mapped))
}
