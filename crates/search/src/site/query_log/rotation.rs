//! A file that lines are added to, and that makes room for a new one when it is full.

use runnel_store::{Error, Kind, Result};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Older files that stay: `queries.log.1` is the newest of them.
pub const QUERY_LOG_FILES: usize = 4;

/// The file and its older ones.
#[derive(Debug)]
pub(crate) struct RotatingLog {
    path: PathBuf,
    file: Option<File>,
    length: u64,
    /// Bytes after which a new file is begun.
    most: u64,
}

impl RotatingLog {
    /// Opens or makes the file; what is in it stays.
    pub(crate) fn open(path: &Path, most: u64) -> Result<RotatingLog> {
        let mut rotating = RotatingLog { path: path.to_owned(), file: None, length: 0, most };
        rotating.reopen().map_err(|error| {
            let message = format!("the query log {} could not be opened", path.display());
            let kind = match error.kind() {
                io::ErrorKind::PermissionDenied => Kind::Denied,
                _ => Kind::Failed,
            };
            Error::new(kind, message).with_detail(error.to_string())
        })?;
        Ok(rotating)
    }

    fn reopen(&mut self) -> io::Result<&mut File> {
        let file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        self.length = file.metadata()?.len();
        Ok(self.file.insert(file))
    }

    /// Adds whole lines. A file that went away is made again at the next full one.
    pub(crate) fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.length > 0 && self.length + lines.len() as u64 > self.most {
            self.file = None;
            self.rotate()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.reopen()?,
        };
        file.write_all(lines)?;
        self.length += lines.len() as u64;
        Ok(())
    }

    fn rotate(&self) -> io::Result<()> {
        for number in (1..QUERY_LOG_FILES).rev() {
            missing_is_fine(fs::rename(self.older(number), self.older(number + 1)))?;
        }
        missing_is_fine(fs::rename(&self.path, self.older(1)))
    }

    fn older(&self, number: usize) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

fn missing_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn full_files_make_room_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queries.log");
        fs::write(&path, "before\n").unwrap();
        let mut log = RotatingLog::open(&path, 10).unwrap();
        for number in 0..7 {
            log.add(format!("line {number}\n").as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("queries.log"), "line 6\n");
        assert_eq!(read("queries.log.1"), "line 5\n");
        assert_eq!(read(&format!("queries.log.{QUERY_LOG_FILES}")), "line 2\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), QUERY_LOG_FILES + 1);
    }

    #[test]
    fn what_cannot_be_opened_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = RotatingLog::open(&folder.path().join("no/such/folder.log"), 10).unwrap_err();
        assert!(error.message.contains("folder.log"), "{error}");
    }
}
