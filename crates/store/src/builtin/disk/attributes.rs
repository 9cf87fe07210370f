//! Attributes of files: the media type that was put, and what else a client stored with content.
//!
//! They are JSON text in the extended attribute `user.runnel` of the file, written to the temporary
//! file before it gets its name. Where a file system has no such attributes, or the text is too
//! long for them (4 KiB on ext4), the text is in a file beside, whose name is the inode of the file
//! it describes. In the second case the extended attribute is [`BESIDE`].
//!
//! The text begins with the length and the time of the content that it describes. Another program
//! that edits or replaces the file thereby takes the attributes away: an entity tag or a checksum
//! among them would be wrong.

use super::place::DiskFault;
use super::temporary::{Temporary, attributes_name, temporary_name};
use crate::{Attributes, DOWNLOAD, Kind, Metadata, Value, json, runs_in_browsers};
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;

const NAME: &str = "user.runnel";

/// The value of the extended attribute when the text is in a file beside.
const BESIDE: &[u8] = b"+";

/// The longest text in bytes, which is also the kernel's limit of an extended attribute.
const MAX_TEXT: usize = 64 << 10;

/// How much is read at first: the limit of ext4.
const USUAL_TEXT: usize = 4 << 10;

/// Attributes that cross threads, which [`Attributes`] cannot.
pub(super) struct FileAttributes {
    media_type: Option<Cow<'static, str>>,
    metadata: Option<Metadata>,
}

impl FileAttributes {
    /// The attributes that have to be stored for a file of this name; `None` where reading guesses
    /// them.
    pub(super) fn of(attributes: Attributes, path: &str) -> Option<Self> {
        let Attributes { media_type, metadata } = attributes;
        let guessed = media_type.as_deref().is_none_or(|own| Some(own) == guess(path));
        if guessed && metadata.is_none() {
            return None;
        }
        Some(FileAttributes { media_type, metadata: metadata.map(Rc::unwrap_or_clone) })
    }

    /// The media type alone.
    pub(super) fn without_metadata(self) -> Self {
        FileAttributes { metadata: None, ..self }
    }

    /// The stored media type and metadata.
    pub(super) fn into_attributes(self) -> Attributes {
        Attributes { media_type: self.media_type, metadata: self.metadata.map(Rc::new) }
    }

    /// The stored metadata alone.
    pub(super) fn into_metadata(self) -> Option<Metadata> {
        self.metadata
    }

    fn text(&self, facts: &fs::Metadata) -> Result<Vec<u8>, DiskFault> {
        let text = |text: &str| Value::Text(text.to_string());
        let (length, modified) = identity(facts);
        let mut fields = vec![("length", Value::Int(length)), ("modified", Value::Int(modified))];
        fields.extend(self.media_type.as_deref().map(|own| ("type", text(own))));
        if let Some(metadata) = &self.metadata {
            let pairs = metadata.iter().map(|(name, value)| (name.clone(), text(value)));
            fields.push(("metadata", Value::Record(pairs.collect())));
        }
        let text = json::text(&Value::record(fields));
        if text.len() > MAX_TEXT {
            let message = "the attributes of a file can have 64 KiB";
            return Err(DiskFault::Refused(Kind::TooLarge, message));
        }
        Ok(text)
    }

    /// `None` for the text of other content.
    fn parse(text: &[u8], facts: &fs::Metadata) -> Option<Self> {
        let fields = json::parse(text).ok()?;
        let number = |name| fields.get(name).and_then(Value::as_i64);
        let (length, modified) = identity(facts);
        if number("length") != Some(length) || number("modified") != Some(modified) {
            return None;
        }
        let media_type = fields.get("type").and_then(Value::as_str);
        let pair = |(name, value): &(String, Value)| {
            Some((name.clone(), value.as_str().unwrap_or_default().to_string()))
        };
        let metadata = fields.get("metadata").and_then(Value::as_record);
        Some(FileAttributes {
            media_type: media_type.map(|own| own.to_string().into()),
            metadata: metadata.map(|pairs| pairs.iter().filter_map(pair).collect()),
        })
    }
}

/// The media type for the name of a file.
pub(super) fn guess(path: &str) -> Option<&'static str> {
    mime_guess::from_path(path).first_raw()
}

/// As [`guess`], for the path of a file.
pub(super) fn guess_of_path(path: &Path) -> Option<&'static str> {
    mime_guess::from_path(path).first_raw()
}

/// What identifies content within one file: its length and its time in nanoseconds.
fn identity(facts: &fs::Metadata) -> (i64, i64) {
    let modified = facts.mtime().saturating_mul(1_000_000_000).saturating_add(facts.mtime_nsec());
    (i64::try_from(facts.len()).unwrap_or(i64::MAX), modified)
}

/// The attributes of an open file, which is at `path`.
pub(super) fn read(file: &File, path: &Path, facts: &fs::Metadata) -> Option<FileAttributes> {
    let mut text = [0; USUAL_TEXT];
    match rustix::fs::fgetxattr(file, NAME, &mut text[..]) {
        Ok(length) => inside_or_beside(text.get(..length)?, path, facts),
        Err(Errno::RANGE) => {
            let mut text = vec![0; MAX_TEXT];
            let length = rustix::fs::fgetxattr(file, NAME, &mut text[..]).ok()?;
            inside_or_beside(text.get(..length)?, path, facts)
        }
        Err(Errno::OPNOTSUPP) => read_beside(path, facts),
        Err(_) => None,
    }
}

/// Whether an open file with the name of a page or a script is a client's.
pub(super) fn is_download(file: &File, path: &Path) -> Result<bool, DiskFault> {
    if !guess_of_path(path).is_some_and(runs_in_browsers) {
        return Ok(false);
    }
    let stored = read(file, path, &file.metadata()?).and_then(|stored| stored.media_type);
    Ok(stored.as_deref() == Some(DOWNLOAD))
}

/// Marks an open file that has its name as a client's: bytes at its end would else take the mark away.
pub(super) fn mark_download(file: &File, path: &Path) -> Result<(), DiskFault> {
    let directory = path.parent().unwrap_or(path);
    let download = FileAttributes { media_type: Some(DOWNLOAD.into()), metadata: None };
    if let Some(mut beside) = store(&download, file, directory)? {
        beside.mark(file)?;
        beside.put_in(directory)?;
    }
    Ok(())
}

/// The attributes of the file at a path, as [`read`].
pub(super) fn read_at(path: &Path, facts: &fs::Metadata) -> Option<FileAttributes> {
    let mut text = [0; USUAL_TEXT];
    match rustix::fs::lgetxattr(path, NAME, &mut text[..]) {
        Ok(length) => inside_or_beside(text.get(..length)?, path, facts),
        Err(Errno::RANGE) => read(&File::open(path).ok()?, path, facts),
        Err(Errno::OPNOTSUPP) => read_beside(path, facts),
        Err(_) => None,
    }
}

fn inside_or_beside(text: &[u8], path: &Path, facts: &fs::Metadata) -> Option<FileAttributes> {
    if text == BESIDE { read_beside(path, facts) } else { FileAttributes::parse(text, facts) }
}

fn read_beside(path: &Path, facts: &fs::Metadata) -> Option<FileAttributes> {
    let beside = path.parent()?.join(attributes_name(facts.ino()));
    FileAttributes::parse(&fs::read(beside).ok()?, facts)
}

/// A file with attributes that are too long for the file itself, before it has its name.
pub(super) struct Beside {
    temporary: Temporary,
    inode: u64,
}

/// Stores attributes in an open file, where they fit. The answer is the file to put beside it where
/// they do not.
pub(super) fn store(
    attributes: &FileAttributes,
    file: &File,
    directory: &Path,
) -> Result<Option<Beside>, DiskFault> {
    let facts = file.metadata()?;
    let text = attributes.text(&facts)?;
    match set(file, &text, &facts) {
        Ok(()) => return Ok(None),
        Err(Errno::NOSPC | Errno::TOOBIG | Errno::RANGE | Errno::DQUOT | Errno::OPNOTSUPP) => {}
        Err(error) => return Err(DiskFault::Io(error.into())),
    }
    let path = directory.join(temporary_name());
    let mut beside = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let temporary = Temporary(path);
    beside.write_all(&text)?;
    beside.sync_all()?;
    Ok(Some(Beside { temporary, inode: facts.ino() }))
}

impl Beside {
    /// Gives the file its name in the directory of the file that it describes.
    pub(super) fn put_in(&mut self, directory: &Path) -> Result<(), DiskFault> {
        fs::rename(&self.temporary.0, directory.join(attributes_name(self.inode)))?;
        self.temporary.was_renamed();
        Ok(())
    }

    /// Notes in the described file that its attributes are beside. Without extended attributes,
    /// changes its `ctime` at least, by which caches notice.
    pub(super) fn mark(&self, file: &File) -> Result<(), DiskFault> {
        let facts = file.metadata()?;
        match set(file, BESIDE, &facts) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => Ok(file.set_permissions(facts.permissions())?),
            Err(error) => Err(DiskFault::Io(error.into())),
        }
    }
}

/// Sets the extended attribute, of a file without the right to write, too.
fn set(file: &File, text: &[u8], facts: &fs::Metadata) -> Result<(), Errno> {
    let set = || rustix::fs::fsetxattr(file, NAME, text, XattrFlags::empty());
    match set() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let writable = fs::Permissions::from_mode(facts.permissions().mode() | 0o200);
    file.set_permissions(writable).map_err(|_| Errno::ACCESS)?;
    let done = set();
    file.set_permissions(facts.permissions()).map_err(|_| Errno::ACCESS)?;
    done
}

/// Takes the extended attribute from an open file.
pub(super) fn clear(file: &File) -> Result<(), DiskFault> {
    let facts = file.metadata()?;
    match rustix::fs::fremovexattr(file, NAME) {
        Ok(()) | Err(Errno::NODATA) => {}
        Err(Errno::OPNOTSUPP) => file.set_permissions(facts.permissions())?,
        Err(error) => return Err(DiskFault::Io(error.into())),
    }
    Ok(())
}

/// Whether the attributes of the file at a path may be in a file beside it.
pub(super) fn may_be_beside(path: &Path) -> bool {
    let mut text = [0; BESIDE.len()];
    match rustix::fs::lgetxattr(path, NAME, &mut text[..]) {
        Ok(length) => text.get(..length) == Some(BESIDE),
        Err(Errno::NODATA | Errno::RANGE) => false,
        Err(_) => true,
    }
}

/// Removes the file beside that describes a file which is gone, or has its attributes itself. A
/// file that is left over describes nothing ([`FileAttributes::parse`]).
pub(super) fn remove_beside(path: &Path, facts: &fs::Metadata) {
    // Of several names of a file, another one may be in the same directory.
    if facts.nlink() <= 1
        && let Some(directory) = path.parent()
    {
        let _ = fs::remove_file(directory.join(attributes_name(facts.ino())));
    }
}

/// Gives the attributes beside a file another name in the directory of its new place, before the
/// file itself is moved. Answers the old name, for [`fs::remove_file`] after the move.
pub(super) fn move_beside(
    from: &Path,
    to: &Path,
    facts: &fs::Metadata,
) -> Result<Option<std::path::PathBuf>, DiskFault> {
    let name = attributes_name(facts.ino());
    let (Some(here), Some(there)) = (from.parent(), to.parent()) else { return Ok(None) };
    let (old, new) = (here.join(&name), there.join(&name));
    if here == there {
        return Ok(None);
    }
    // A copy, because both names have to lead to it for a moment.
    let mut temporary = Temporary(there.join(temporary_name()));
    match fs::copy(&old, &temporary.0) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    File::open(&temporary.0)?.sync_all()?;
    fs::rename(&temporary.0, new)?;
    temporary.was_renamed();
    Ok(Some(old))
}
