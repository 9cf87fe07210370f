//! A file in memory: mapped, so that only what is read of it takes room.
#![allow(unsafe_code)]

use bytes::Bytes;
use memmap2::Mmap;
use std::fs::File;
use std::io;

/// The content of a file that nobody changes any more.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the file is a snapshot. It is written under another name, is never changed once it
    // has its own, and its folder is locked against other processes of this program. Removing its
    // name does not change it.
    let mapped = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(mapped))
}
