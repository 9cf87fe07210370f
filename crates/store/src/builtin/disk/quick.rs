//! Nonblocking lookups and reads of files.
//!
//! A worker serves many clients, so it must not wait for a slow or hung disk. Linux 5.12 can answer
//! from memory alone (`RESOLVE_CACHED` and `RWF_NOWAIT`); all other reads use the blocking pool.
//! Other systems read local disks directly.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// How the worker's thread reads the files of a root.
pub(super) enum Quick {
    /// As on the blocking pool: the whole machine's files, and systems that cannot say what they
    /// have in memory.
    Plainly,
    /// Not at all: the disk is on the other side of a network or of a process.
    #[cfg(target_os = "linux")]
    Never,
    /// Opens files below this directory, if they are in memory.
    #[cfg(target_os = "linux")]
    Memory(std::os::fd::OwnedFd),
}

/// What a path leads to.
pub(super) enum Seen {
    File(File, Metadata),
    Directory,
    Special,
    Missing,
    /// This cannot be said without waiting, or not by these means: links are for the others.
    Unknown,
}

/// Identifies one state of a file. Every change of content, name or permissions updates `ctime`,
/// which no program can set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The type of file and its permissions.
    pub(super) mode: u32,
    pub(super) length: u64,
    /// `mtime` in seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    /// `ctime` in seconds and nanoseconds.
    pub(super) changed: (i64, i64),
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the file had been left alone so long at a moment. Times in the future never are.
    pub(super) fn is_settled(&self, at: SystemTime, time: Duration) -> bool {
        [self.modified, self.changed].into_iter().all(|(seconds, nanoseconds)| {
            let since = match (u64::try_from(seconds), u32::try_from(nanoseconds)) {
                (Ok(seconds), Ok(nanoseconds)) => Duration::new(seconds, nanoseconds),
                _ => return false,
            };
            let then = SystemTime::UNIX_EPOCH.checked_add(since);
            then.and_then(|then| at.duration_since(then).ok()).is_some_and(|age| age >= time)
        })
    }
}

#[cfg(target_os = "linux")]
mod system {
    use crate::builtin::disk::buffer;
    use crate::builtin::disk::quick::{Identity, Quick, Seen};
    use bytes::Bytes;
    use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags};
    use rustix::io::{Errno, ReadWriteFlags};
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::path::Path;

    /// The file systems whose files are read from a disk of this machine, or from its memory: those
    /// of `statfs(2)` that are in use for it.
    const LOCAL: [u32; 12] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0x2fc1_2fc1, // ZFS
        0xf2f5_2010, // F2FS
        0xca45_1a4e, // bcachefs
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x794c_7630, // overlayfs
        0x7371_7368, // SquashFS
        0xe0f5_e1e2, // EROFS
        0x4d44,      // FAT
    ];

    const OPEN: OFlags =
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

    /// Below the root, through no link, on the root's own file system, from memory.
    const WITHIN: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_XDEV)
        .union(ResolveFlags::CACHED);

    impl Quick {
        pub(crate) fn below(root: &Path) -> Quick {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(root) = rustix::fs::open(root, flags, Mode::empty()) else {
                return Quick::Plainly;
            };
            let kind = rustix::fs::fstatfs(&root).map(|about| about.f_type as u32);
            if !kind.is_ok_and(|kind| LOCAL.contains(&kind)) {
                return Quick::Never;
            }
            // Detect here whether the system lacks or forbids the call.
            match rustix::fs::openat2(&root, ".", OPEN, Mode::empty(), ResolveFlags::BENEATH) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Quick::Plainly,
                _ => Quick::Memory(root),
            }
        }

        /// Looks up a path without dots below the root.
        pub(crate) fn look(&self, path: &str) -> Seen {
            let Quick::Memory(root) = self else { return Seen::Unknown };
            let file = match rustix::fs::openat2(root, path, OPEN, Mode::empty(), WITHIN) {
                Ok(file) => File::from(file),
                Err(Errno::NOENT | Errno::NOTDIR) => return Seen::Missing,
                Err(_) => return Seen::Unknown,
            };
            match file.metadata() {
                Ok(metadata) if metadata.is_file() => Seen::File(file, metadata),
                Ok(metadata) if metadata.is_dir() => Seen::Directory,
                Ok(_) => Seen::Special,
                Err(_) => Seen::Unknown,
            }
        }

        /// The identity of the file at a path without dots below the root. `None` if it would have
        /// to wait, or the method does not apply.
        ///
        /// A name in the root itself was in memory a moment ago, and its path has no room for a
        /// link or a mount. One call is enough there: it does not follow the name itself, nor ask a
        /// file system mounted on it.
        pub(crate) fn identity(&self, path: &str) -> Option<Identity> {
            let Quick::Memory(root) = self else { return None };
            let asked = StatxFlags::BASIC_STATS;
            let how = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
            let about = if path.contains('/') {
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                let file = rustix::fs::openat2(root, path, flags, Mode::empty(), WITHIN).ok()?;
                rustix::fs::statx(file, c"", how | AtFlags::EMPTY_PATH, asked).ok()?
            } else {
                rustix::fs::statx(root, path, how, asked).ok()?
            };
            if about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
                return None;
            }
            let (modified, changed) = (about.stx_mtime, about.stx_ctime);
            Some(Identity {
                device: rustix::fs::makedev(about.stx_dev_major, about.stx_dev_minor),
                inode: about.stx_ino,
                mode: about.stx_mode.into(),
                length: about.stx_size,
                modified: (modified.tv_sec, modified.tv_nsec.into()),
                changed: (changed.tv_sec, changed.tv_nsec.into()),
            })
        }
    }

    /// Whether a path is on a disk of this machine, whose times are those of its clock.
    pub(crate) fn is_local(path: &Path) -> bool {
        let kind = rustix::fs::statfs(path).map(|about| about.f_type as u32);
        kind.is_ok_and(|kind| LOCAL.contains(&kind))
    }

    /// Reads `length` bytes at an offset, at most a piece, if all of them are in memory.
    pub(crate) fn in_memory(file: &File, at: u64, length: usize) -> Option<Bytes> {
        let fill = |bytes: &mut [u8]| {
            let into = &mut [IoSliceMut::new(bytes)];
            match rustix::io::preadv2(file, into, at, ReadWriteFlags::NOWAIT) {
                Ok(read) if read == length => Ok(()),
                _ => Err(()),
            }
        };
        buffer::filled(length, fill).ok()
    }

    /// The whole of a small file of known length on a local disk. `None` if it would have to wait,
    /// or the length is wrong.
    pub(crate) fn whole(file: &File, length: usize) -> Option<Bytes> {
        // One more than there should be, to see whether there is.
        let mut bytes = vec![0; length + 1];
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let read = match rustix::io::preadv2(file, into, 0, ReadWriteFlags::NOWAIT) {
            // This file system does not support nonblocking reads.
            Err(Errno::OPNOTSUPP) => rustix::io::pread(file, &mut bytes[..], 0),
            read => read,
        };
        if read != Ok(length) {
            return None;
        }
        bytes.truncate(length);
        Some(bytes.into())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::builtin::disk::quick::{Identity, Quick, Seen};
    use bytes::Bytes;
    use std::fs::File;
    use std::path::Path;

    impl Quick {
        pub(crate) fn below(_: &Path) -> Quick {
            Quick::Plainly
        }

        pub(crate) fn look(&self, _: &str) -> Seen {
            Seen::Unknown
        }

        pub(crate) fn identity(&self, _: &str) -> Option<Identity> {
            None
        }
    }

    pub(crate) fn is_local(_: &Path) -> bool {
        false
    }

    pub(crate) fn in_memory(_: &File, _: u64, _: usize) -> Option<Bytes> {
        None
    }

    pub(crate) fn whole(_: &File, _: usize) -> Option<Bytes> {
        None
    }
}

pub(super) use system::{in_memory, is_local, whole};

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_in_memory_is_seen_and_the_rest_is_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/a"), "content").unwrap();
        symlink("dir/a", root.join("link")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(root.join("fifo")).status();
        assert!(fifo.unwrap().success());
        let quick = Quick::below(&root);
        if !matches!(quick, Quick::Memory(_)) {
            // An old system, or a folder for temporary files on a disk that may hang.
            return;
        }
        let Seen::File(file, metadata) = quick.look("dir/a") else { panic!("a file") };
        assert_eq!(metadata.len(), 7);
        assert_eq!(whole(&file, 7).as_deref(), Some(&b"content"[..]));
        assert_eq!(whole(&file, 6), None, "a file that grew");
        assert_eq!(whole(&file, 8), None, "a file that became shorter");
        assert_eq!(in_memory(&file, 3, 4).as_deref(), Some(&b"tent"[..]));
        assert_eq!(in_memory(&file, 3, 5), None);
        assert!(matches!(quick.look("dir"), Seen::Directory));
        assert!(matches!(quick.look("fifo"), Seen::Special));
        for other in ["link", "out/passwd", "../x", "/etc/passwd"] {
            assert!(matches!(quick.look(other), Seen::Unknown), "{other}");
        }
        // The kernel knows that a name is missing only after a first lookup.
        assert!(matches!(quick.look("missing"), Seen::Missing | Seen::Unknown));
    }
}
