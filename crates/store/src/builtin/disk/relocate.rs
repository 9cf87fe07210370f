//! Moving files: one rename, with the attributes.

use super::attributes::{may_be_beside, move_beside, remove_beside};
use super::changing::Changing;
use super::place::{DiskFault, PathTarget, ResolvedPath, Root};
use super::write::{above, blocked, dangling, flush_directory, in_directory, rename};
use crate::{Condition, Kind, Reference};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Renames a file or a link. Answers whether there was one.
///
/// Attributes beside the file are in both directories during the rename, so that a killed process
/// leaves them with the file, wherever it is.
pub(super) fn relocate(
    root: &Root,
    from: &Reference,
    to: &Reference,
    only_if: Option<&Condition>,
) -> Result<bool, DiskFault> {
    let (source, target) = (root.place(from, false)?, root.place(to, true)?);
    let facts = match &source.found {
        PathTarget::Missing(_) | PathTarget::Blocked => return Ok(false),
        PathTarget::File(_) | PathTarget::Link if source.slash => return Ok(false),
        PathTarget::Directory => return Err(DiskFault::directory()),
        PathTarget::Special => return Err(DiskFault::special()),
        PathTarget::File(facts) => Some(facts),
        PathTarget::Link => None,
    };
    check_target(&target)?;
    let changing = Changing::begin_two(&source.path, &target.path);
    changing.check(&target.path, only_if)?;
    if source.path == target.path {
        return Ok(true);
    }
    let replaced = target.path.symlink_metadata().ok();
    let replaced_exists = replaced.is_some();
    let described = replaced.filter(|_| may_be_beside(&target.path));
    let moved = in_directory(above(&target.path), replaced_exists, || {
        let beside = match facts {
            Some(facts) => move_beside(&source.path, &target.path, facts)?,
            None => None,
        };
        match rename_if(&source.path, &target.path, only_if)? {
            true => Ok(Some(beside)),
            false if source.path.symlink_metadata().is_err() => Ok(None),
            // It is the directory that is missing.
            false => Err(DiskFault::Io(ErrorKind::NotFound.into())),
        }
    })?;
    let Some(beside) = moved else { return Ok(false) };
    if let Some(old) = beside {
        let _ = fs::remove_file(old);
    }
    if let Some(described) = &described {
        remove_beside(&target.path, described);
    }
    drop(changing);
    // The old name is gone with it: file systems write both ends of a rename as one.
    flush_directory(above(&target.path))?;
    Ok(true)
}

fn check_target(target: &ResolvedPath) -> Result<(), DiskFault> {
    match &target.found {
        PathTarget::Directory => Err(DiskFault::directory()),
        PathTarget::Special => Err(DiskFault::special()),
        PathTarget::Blocked => Err(blocked()),
        PathTarget::Link => Err(dangling()),
        PathTarget::Missing(_) | PathTarget::File(_) if target.slash => {
            let message = "a path that ends in a slash is a directory; leave the slash out";
            Err(DiskFault::Refused(Kind::Conflict, message))
        }
        PathTarget::Missing(_) | PathTarget::File(_) => Ok(()),
    }
}

/// Answers whether there was something to rename.
fn rename_if(from: &Path, to: &Path, only_if: Option<&Condition>) -> Result<bool, DiskFault> {
    match rename(from, to, matches!(only_if, Some(Condition::Absent))) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(DiskFault::Condition(Condition::Absent))
        }
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            let message = "the two places are on different file systems; copy and delete";
            Err(DiskFault::Refused(Kind::NotAllowed, message))
        }
        Err(error) => Err(error.into()),
    }
}
