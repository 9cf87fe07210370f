//! The names in a directory, sorted; those of large directories stay in memory.

use crate::builtin::disk::place::{DiskFault, Root};
use crate::builtin::disk::quick::{Identity, is_local};
use crate::builtin::disk::temporary::{described_inode, is_own, remove_forgotten};
use crate::{Kind, encode_segment};
use std::collections::VecDeque;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How many bytes the names in one directory can have.
const MAX_TEXT: usize = 512 << 20;

/// Directories of fewer names are read each time: that takes less than a page of files does.
const LARGE: usize = 2_000;

/// How many bytes of names are cached, in the whole process; the least recently used directory
/// leaves first.
const CACHED_BYTES: usize = 64 << 20;

/// How long a directory must have been left alone before it was read, so that a later change is
/// sure to have another time: file systems count in steps of up to 10 ms.
const SETTLED: Duration = Duration::from_millis(100);

/// The same for file systems that count in seconds, FAT in two of them.
const SETTLED_SECONDS: Duration = Duration::from_secs(3);

/// Names of one directory as segments of keys, in byte order. That of a subdirectory ends in a
/// slash.
pub(super) struct SortedFolder {
    text: String,
    names: Vec<NameSpan>,
}

/// Where a name is in the text.
#[derive(Clone, Copy)]
struct NameSpan {
    start: u32,
    length: u32,
}

impl NameSpan {
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }
}

/// The cached directories, the least recently used first.
static CACHED: Mutex<VecDeque<(Identity, Arc<SortedFolder>)>> = Mutex::new(VecDeque::new());

impl SortedFolder {
    /// The names in a directory as they are now; `None` when it is gone.
    pub(super) fn of(root: &Root, path: &Path) -> Result<Option<Arc<Self>>, DiskFault> {
        let before = match identity(path) {
            Ok(identity) => identity,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if let Some(folder) = cached(&before) {
            return Ok(Some(folder));
        }
        let began = SystemTime::now();
        let (folder, has_links) = match read(root, path) {
            Err(DiskFault::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let folder = Arc::new(folder);
        // What a link leads to changes without the directory.
        let is_cacheable = folder.names.len() >= LARGE && !has_links && is_local(path);
        if is_cacheable && is_settled(&before, began) && identity(path).ok() == Some(before) {
            cache(before, folder.clone());
        }
        Ok(Some(folder))
    }

    /// A name by its number.
    pub(super) fn name(&self, number: usize) -> Option<&str> {
        self.text.get(self.names.get(number)?.range())
    }

    /// The number of the first name that is not before this one.
    pub(super) fn first_from(&self, bound: &str) -> usize {
        self.names.partition_point(|name| &self.text[name.range()] < bound)
    }

    fn size(&self) -> usize {
        self.text.len() + self.names.len() * size_of::<NameSpan>()
    }

    /// Sorts by the eight bytes behind what all names begin with, which are together in memory, and
    /// by the names where those are the same.
    fn sort(&mut self) {
        let SortedFolder { text, names } = self;
        let bytes = text.as_bytes();
        let first = names.first().map_or(&[][..], |first| &bytes[first.range()]);
        let common = names.iter().fold(first.len(), |common, name| {
            let name = &bytes[name.range()];
            first[..common].iter().zip(name).take_while(|(one, other)| one == other).count()
        });
        let beginning = |name: &NameSpan| {
            let rest = &bytes[name.range()][common..];
            let mut beginning = [0; 8];
            let length = rest.len().min(beginning.len());
            beginning[..length].copy_from_slice(&rest[..length]);
            u64::from_be_bytes(beginning)
        };
        let mut sorted: Vec<(u64, NameSpan)> =
            names.iter().map(|name| (beginning(name), *name)).collect();
        sorted.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| bytes[one.1.range()].cmp(&bytes[other.1.range()]))
        });
        *names = sorted.into_iter().map(|(_, name)| name).collect();
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    path.metadata().map(|metadata| Identity::of(&metadata))
}

fn is_settled(identity: &Identity, at: SystemTime) -> bool {
    let counts_seconds = identity.modified.1 == 0 && identity.changed.1 == 0;
    identity.is_settled(at, if counts_seconds { SETTLED_SECONDS } else { SETTLED })
}

/// The names in a directory, and whether links are among them.
fn read(root: &Root, path: &Path) -> Result<(SortedFolder, bool), DiskFault> {
    let mut folder = SortedFolder { text: String::new(), names: Vec::new() };
    let mut has_links = false;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if is_own(name) {
            // Attributes are another matter: they may describe a file that is there.
            if described_inode(name).is_none() {
                remove_forgotten(&entry);
            }
            continue;
        }
        let Some(is_directory) = is_directory(root, &entry, &mut has_links)? else { continue };
        let start = folder.text.len();
        folder.text.push_str(&encode_segment(name));
        folder.text.push_str(if is_directory { "/" } else { "" });
        let length = folder.text.len() - start;
        if folder.text.len() > MAX_TEXT {
            let message = "the names in a directory have more than 512 MiB";
            return Err(DiskFault::Refused(Kind::TooLarge, message));
        }
        folder.names.push(NameSpan { start: start as u32, length: length as u32 });
    }
    folder.sort();
    Ok((folder, has_links))
}

/// Whether an entry is a directory or a file; `None` for everything else, and for links that are
/// not followed.
fn is_directory(
    root: &Root,
    entry: &DirEntry,
    has_links: &mut bool,
) -> Result<Option<bool>, DiskFault> {
    let kind = entry.file_type()?;
    if !kind.is_symlink() {
        return Ok((kind.is_dir() || kind.is_file()).then(|| kind.is_dir()));
    }
    *has_links = true;
    let real = entry.path().canonicalize().ok();
    let real = real.filter(|real| root.has_links() && root.holds(real));
    Ok(real.and_then(|real| match (real.is_dir(), real.is_file()) {
        (false, false) => None,
        (is_directory, _) => Some(is_directory),
    }))
}

fn cached(identity: &Identity) -> Option<Arc<SortedFolder>> {
    let mut cached = CACHED.lock().unwrap_or_else(PoisonError::into_inner);
    let at = cached.iter().position(|(own, _)| own == identity)?;
    let found = cached.remove(at)?;
    let folder = found.1.clone();
    cached.push_back(found);
    Some(folder)
}

fn cache(identity: Identity, folder: Arc<SortedFolder>) {
    let mut cached = CACHED.lock().unwrap_or_else(PoisonError::into_inner);
    // An earlier state of the same directory is of no use.
    let same = |own: &Identity| (own.device, own.inode) == (identity.device, identity.inode);
    cached.retain(|(own, _)| !same(own));
    cached.push_back((identity, folder));
    let mut size: usize = cached.iter().map(|(_, folder)| folder.size()).sum();
    while size > CACHED_BYTES {
        let Some((_, oldest)) = cached.pop_front() else { break };
        size -= oldest.size();
    }
}
