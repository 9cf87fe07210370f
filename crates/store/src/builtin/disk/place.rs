//! From a reference to a place in the file system, within the root.

use super::quick::{Quick, Seen};
use crate::{Condition, Error, Kind, Reference, Verb, decode_segment};
use std::borrow::Cow;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A failure that can cross threads, which [`Error`] cannot.
pub(super) enum DiskFault {
    Io(io::Error),
    Refused(Kind, &'static str),
    /// What does not hold.
    Condition(Condition),
}

impl From<io::Error> for DiskFault {
    fn from(error: io::Error) -> Self {
        DiskFault::Io(error)
    }
}

impl DiskFault {
    pub(super) fn into_error(self, verb: Verb, reference: &Reference) -> Error {
        match self {
            DiskFault::Io(error) => Error::from_io(error, verb, reference),
            DiskFault::Refused(Kind::Invalid, message) => {
                Error::malformed_reference(message).on(verb, reference)
            }
            DiskFault::Refused(kind, message) => Error::new(kind, message).on(verb, reference),
            DiskFault::Condition(condition) => condition.failed().on(verb, reference),
        }
    }

    pub(super) fn special() -> Self {
        DiskFault::Refused(Kind::Unsupported, "this is neither a file nor a directory")
    }

    pub(super) fn directory() -> Self {
        DiskFault::Refused(Kind::Conflict, "this is a directory")
    }
}

/// Where references begin, and whether they have to stay there.
pub(super) struct Root {
    /// The real path of the directory that confines; none for the whole machine.
    confines: Option<PathBuf>,
    /// Whether symbolic links are followed at all.
    links: bool,
    /// How the worker's thread reads files.
    pub(super) quick: Quick,
}

/// A place in the file system.
pub(super) struct ResolvedPath {
    /// The path, with links resolved in its existing part.
    pub(super) path: PathBuf,
    /// The target at the path.
    pub(super) found: PathTarget,
    /// Whether the reference ends in a slash.
    pub(super) slash: bool,
    /// Whether it is the root itself.
    pub(super) root: bool,
}

pub(super) enum PathTarget {
    File(Metadata),
    Directory,
    /// A FIFO, a socket, a device.
    Special,
    /// A symbolic link, where links are not followed.
    Link,
    /// Nothing, with the nearest directory above that exists.
    Missing(PathBuf),
    /// Nothing, and nothing can be there: something above is no directory.
    Blocked,
}

impl ResolvedPath {
    pub(super) fn is_directory(&self) -> bool {
        matches!(self.found, PathTarget::Directory)
    }
}

/// Why a segment with an escaped slash names no file.
const SLASH: &str = "the name of a file cannot contain `/`: several segments are written `{*…}`";

impl Root {
    /// `real` is canonical.
    pub(super) fn confined(real: PathBuf) -> Self {
        let quick = Quick::below(&real);
        Root { confines: Some(real), links: true, quick }
    }

    pub(super) fn unconfined() -> Self {
        Root { confines: None, links: true, quick: Quick::Plainly }
    }

    /// The same, where links are followed or refused.
    pub(super) fn with_links(self, links: bool) -> Self {
        Root { links, ..self }
    }

    /// Whether links are followed.
    pub(super) fn has_links(&self) -> bool {
        self.links
    }

    pub(super) fn describe(&self) -> String {
        match &self.confines {
            Some(root) => format!("disk {}", root.display()),
            None => "disk".to_string(),
        }
    }

    /// Whether a real path may be touched.
    pub(super) fn holds(&self, real: &Path) -> bool {
        self.confines.as_ref().is_none_or(|root| real.starts_with(root))
    }

    /// What a reference leads to, seen without waiting, and the real path of it.
    pub(super) fn look_quickly(&self, reference: &Reference) -> (Seen, PathBuf) {
        let unknown = || (Seen::Unknown, PathBuf::new());
        let (Some(root), Ok(names)) = (&self.confines, self.names(reference)) else {
            return unknown();
        };
        if names.is_empty() {
            return (Seen::Directory, root.clone());
        }
        let path = names.join("/");
        (self.quick.look(&path), root.join(path))
    }

    /// The directories above a real path and within the root, the uppermost first.
    pub(super) fn above(&self, real: &Path) -> Vec<PathBuf> {
        let above = real.ancestors().skip(1).filter(|above| self.holds(above));
        let mut above: Vec<_> = above.map(Path::to_path_buf).collect();
        above.reverse();
        above
    }

    /// The place of a reference. With `follow` a link at its end is followed, too.
    pub(super) fn place(
        &self,
        reference: &Reference,
        follow: bool,
    ) -> Result<ResolvedPath, DiskFault> {
        let names = self.names(reference)?;
        let mut path = match &self.confines {
            Some(root) => root.clone(),
            None if reference.path().starts_with('/') => PathBuf::from("/"),
            None => PathBuf::from("."),
        };
        let slash = reference.path().ends_with('/');
        let root = names.is_empty();
        let mut found = PathTarget::Directory;
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            if !matches!(found, PathTarget::Directory) {
                path.extend(names[at..].iter().map(AsRef::<str>::as_ref));
                found = PathTarget::Blocked;
                break;
            }
            let above = path.clone();
            path.push(name.as_ref());
            found = match self.look(&mut path, follow || !last)? {
                Some(found) => found,
                None => {
                    path.extend(names[at + 1..].iter().map(AsRef::<str>::as_ref));
                    PathTarget::Missing(above)
                }
            };
            if matches!(found, PathTarget::Missing(_)) {
                break;
            }
        }
        Ok(ResolvedPath { path, found, slash, root })
    }

    /// The target at a path whose parents are real. Follows a link and replaces the path with its
    /// target. A dangling link counts as missing at the end of a path and as an obstacle above.
    fn look(&self, path: &mut PathBuf, follow: bool) -> Result<Option<PathTarget>, DiskFault> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() && !follow => return Ok(Some(PathTarget::Link)),
            Ok(metadata) if metadata.is_symlink() && !self.links => {
                let message = "links are not followed here";
                return Err(DiskFault::Refused(Kind::Denied, message));
            }
            Ok(metadata) if metadata.is_symlink() => {
                let real = match path.canonicalize() {
                    Ok(real) => real,
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        return Ok(Some(PathTarget::Link));
                    }
                    Err(_) => {
                        let message = "a link in the path cannot be followed";
                        return Err(DiskFault::Refused(Kind::Denied, message));
                    }
                };
                if !self.holds(&real) {
                    let message = "a link in the path leads outside";
                    return Err(DiskFault::Refused(Kind::Denied, message));
                }
                *path = real;
                path.symlink_metadata()?
            }
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let kind = metadata.file_type();
        Ok(Some(match () {
            () if kind.is_dir() => PathTarget::Directory,
            () if kind.is_file() => PathTarget::File(metadata),
            () => PathTarget::Special,
        }))
    }

    /// The names of a path with `.` and `..` resolved. An absolute path of the machine cannot go
    /// above its root, a relative one can go above the current directory.
    fn names<'a>(&self, reference: &'a Reference) -> Result<Vec<Cow<'a, str>>, DiskFault> {
        if reference.path().contains('\0') {
            return Err(DiskFault::Refused(Kind::Invalid, "a path cannot contain a zero byte"));
        }
        let mut names: Vec<Cow<'a, str>> = Vec::new();
        for name in reference.segments() {
            match name {
                "." => {}
                ".." => match names.last() {
                    Some(last) if last != ".." => drop(names.pop()),
                    _ if self.confines.is_some() => {
                        return Err(DiskFault::Refused(Kind::Denied, "the path leads outside"));
                    }
                    _ if reference.path().starts_with('/') => {}
                    _ => names.push("..".into()),
                },
                name => {
                    let name = decode_segment(name);
                    if name.contains('/') {
                        return Err(DiskFault::Refused(Kind::Invalid, SLASH));
                    }
                    names.push(name);
                }
            }
        }
        Ok(names)
    }
}
