//! A database file from a backup: complete, checked and durable before it gets its name.

use crate::sqlite::backup::snapshot;
use crate::sqlite::backup::unpacked_file::{UnpackedFile, unwritable};
use crate::sqlite::connection::database_file::beside;
use crate::sqlite::fault::{SqlFault, SqlResult};
use futures_util::{StreamExt, stream};
use runnel_store::{Body, ByteStream, Content, Error, Kind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The suffix of the file that a restore writes beside its target.
const PARTIAL: &str = "-restore";

/// How every database file begins.
const START: &[u8] = b"SQLite format 3\0";

/// The refusal of content that cannot be a database.
const NO_BACKUP: &str = "this is no backup of a database";

/// What must not be left beside a new database: SQLite would apply it.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Writes a backup, compressed with Zstandard or not, to the path of a database. An existing one is
/// replaced only where that is wanted, and where no program has it open. A restore that is killed leaves
/// what was there before, and a file `…-restore` that the next one overwrites.
///
/// # Errors
/// [`Kind::Conflict`]: there is a database already, or one in use. [`Kind::Invalid`]: this is no
/// backup. [`Kind::Failed`]: it is damaged. Those of the stream.
pub async fn restore_sqlite(path: &Path, content: Content, replace: bool) -> Result<()> {
    refuse_existing(path, replace)?;
    let target = PartialFile::create(path)?;
    let file = target.file.try_clone().map_err(|error| unwritable(&error))?;
    let (mut file, mut stream) = (UnpackedFile::new(file), byte_stream(content)?);
    while let Some(bytes) = stream.next().await {
        let bytes = bytes?;
        let written = tokio::task::spawn_blocking(move || file.write(&bytes).map(|()| file));
        file = written.await.map_err(stopped)??;
    }
    let finishing = tokio::task::spawn_blocking(move || file.finish());
    finishing.await.map_err(stopped)??;
    let finishing = tokio::task::spawn_blocking(move || target.finish(replace));
    Ok(finishing.await.map_err(stopped)??)
}

fn byte_stream(content: Content) -> Result<ByteStream> {
    match content.body {
        Body::Stream(stream, _) => Ok(stream),
        Body::Bytes(bytes) => Ok(Box::pin(stream::iter([Ok(bytes)]))),
        Body::Text(text) => Ok(Box::pin(stream::iter([Ok(text.into_bytes())]))),
        _ => Err(SqlFault::invalid(NO_BACKUP).into()),
    }
}

pub(super) fn refuse_existing(path: &Path, replace: bool) -> SqlResult<()> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => {
            Err(SqlFault::new(Kind::Conflict, "this is a directory; name a database file in it"))
        }
        Ok(_) if !replace => Err(SqlFault::new(
            Kind::Conflict,
            "there is a file already; choose another name, or replace it with --replace",
        )),
        _ => Ok(()),
    }
}

pub(super) fn stopped(_: tokio::task::JoinError) -> Error {
    Error::new(Kind::Failed, "the restore failed")
}

/// The file that becomes the database; it is removed unless it does.
pub(super) struct PartialFile {
    pub(super) file: File,
    path: PathBuf,
    target: PathBuf,
    is_done: bool,
}

impl PartialFile {
    /// Makes the file, or takes over that of a restore which was killed.
    pub(super) fn create(target: &Path) -> SqlResult<PartialFile> {
        // The file itself, not the link to it, so that the link stays.
        let target = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
        let path = beside(&target, PARTIAL);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| unwritable(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = "another restore of this database is under way";
                return Err(SqlFault::new(Kind::Conflict, message));
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(&error)),
        }
        file.set_len(0).map_err(|error| unwritable(&error))?;
        Ok(PartialFile { file, path, target, is_done: false })
    }

    /// Checks the file and gives it its name.
    pub(super) fn finish(mut self, replace: bool) -> SqlResult<()> {
        self.check()?;
        self.file.sync_all().map_err(|error| unwritable(&error))?;
        let _held = if replace { lock_out(&self.target)? } else { None };
        // Those of a database whose file is gone, or cannot be opened any more.
        for ending in JOURNALS {
            match std::fs::remove_file(beside(&self.target, ending)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(unwritable(&error));
                }
                _ => {}
            }
        }
        refuse_existing(&self.target, replace)?;
        std::fs::rename(&self.path, &self.target).map_err(|error| unwritable(&error))?;
        self.is_done = true;
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new(".")));
        folder.and_then(|folder| folder.sync_all()).map_err(|error| unwritable(&error))
    }

    fn check(&self) -> SqlResult<()> {
        let mut start = [0; START.len()];
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut start, 0);
        if read.is_err() || start != START {
            return Err(SqlFault::invalid(NO_BACKUP));
        }
        let connection = Connection::open(&self.path)?;
        let damaged = |fault: SqlFault| SqlFault {
            message: "the backup is damaged; use another one".into(),
            kind: Kind::Failed,
            ..fault
        };
        // A copy of a file with a write-ahead log becomes a single file, too.
        connection.execute_batch("PRAGMA journal_mode = delete").map_err(SqlFault::from)?;
        snapshot::check(&connection).map_err(damaged)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_done {
            // The next restore overwrites it, where this fails.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Carries the log of an existing database over into its file, and keeps all other programs out as
/// long as the connection is held. `None`: there is no database that could be in use.
fn lock_out(path: &Path) -> SqlResult<Option<Connection>> {
    let in_use = || {
        let message = "a program has the database open; stop the program, and restore again";
        SqlFault::new(Kind::Conflict, message)
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(connection) = Connection::open_with_flags(path, flags) else { return Ok(None) };
    connection.busy_timeout(Duration::from_millis(500))?;
    let alone = connection
        .pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0))
        .and_then(|mode| connection.execute_batch("BEGIN EXCLUSIVE").map(|()| mode));
    match alone {
        Ok(mode) if mode == "delete" => Ok(Some(connection)),
        Ok(_) => Err(in_use()),
        Err(rusqlite::Error::SqliteFailure(error, _))
            if matches!(error.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
        {
            Err(in_use())
        }
        // Damaged, or no database at all: what is replaced cannot be in use.
        Err(_) => Ok(None),
    }
}
