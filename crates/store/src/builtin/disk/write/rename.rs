//! Renaming a file, also onto nothing only.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Renames a file; `onto_nothing` fails with [`ErrorKind::AlreadyExists`] where there is another one,
/// whichever process may create it first.
pub(crate) fn rename(from: &Path, to: &Path, onto_nothing: bool) -> io::Result<()> {
    match onto_nothing {
        true => rename_onto_nothing(from, to),
        false => fs::rename(from, to),
    }
}

#[cfg(target_os = "linux")]
fn rename_onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_onto_nothing(from, to),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    link_onto_nothing(from, to)
}

/// A link is created only if the path is free.
fn link_onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        // A file system without such links: then the look before has to do.
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            fs::rename(from, to)
        }
        failed => failed,
    }
}
