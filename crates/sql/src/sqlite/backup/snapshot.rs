//! A consistent copy of a database that is in use, as content.
//!
//! The copy is made by SQLite's online backup in one read transaction
//! (<https://sqlite.org/backup.html>), so writers go on meanwhile. It lies in a file without a name:
//! the system removes it when its last reader is gone, also after a kill.

use crate::sqlite::connection::database_file::{DatabaseFile, Role, beside, from_io};
use crate::sqlite::connection::stop_flag::{STEPS, is_over};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::write::shared::SharedDatabase;
use bytes::Bytes;
use futures_util::stream;
use runnel_store::{Answer, ByteStream, Content, Context, Error, FilePart, Kind, Seekable};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Pages that are copied between two checks for cancellation.
const STEP_PAGES: i32 = 1024;

/// The amount of a copy that is read at once, in bytes.
const PIECE: u64 = 256 << 10;

/// The media type of a database file.
const MEDIA_TYPE: &str = "application/vnd.sqlite3";

/// Where the header says which journal a database has, and the word for the usual one: a copy has
/// no write-ahead log (<https://sqlite.org/fileformat2.html>, section 1.3).
const JOURNAL: (u64, [u8; 2]) = (18, [1, 1]);

/// Tells the copying thread that its reader is gone.
#[derive(Default)]
struct CopyCancel(Arc<AtomicBool>);

impl Drop for CopyCancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The database as it is now: checked, and a file of its own.
pub(crate) fn snapshot(shared: &Arc<SharedDatabase>, context: &Context) -> Answer<Content> {
    let (shared, deadline) = (shared.clone(), context.deadline);
    Answer::later(async move {
        let cancel = CopyCancel::default();
        let cancelled = cancel.0.clone();
        let copying = tokio::task::spawn_blocking(move || {
            let over = move || cancelled.load(Ordering::Relaxed) || is_over(deadline);
            let copied = copy(&shared, over);
            copied.inspect_err(|fault| shared.writer.health.note(fault))
        });
        let failed = |_| SqlFault::new(Kind::Failed, "the copy of the database failed");
        Ok(content(copying.await.map_err(failed)??)?)
    })
}

/// Copies the database into a file without a name.
fn copy(
    shared: &SharedDatabase,
    over: impl Fn() -> bool + Clone + Send + 'static,
) -> SqlResult<File> {
    shared.writer.health.check()?;
    let mut source = shared.place.connect(Role::Backup, &shared.options)?;
    source.progress_handler(STEPS, Some(over.clone()))?;
    source.execute_batch("BEGIN")?;
    check(&source)?;
    let (file, mut target) = unnamed(&shared.place)?;
    target.execute_batch("PRAGMA journal_mode = off; PRAGMA synchronous = off")?;
    let backup = Backup::new(&source, &mut target)?;
    let busy_until = Instant::now() + shared.options.busy_timeout;
    loop {
        if over() {
            return Err(SqlFault::timeout());
        }
        match backup.step(STEP_PAGES)? {
            StepResult::Done => break,
            StepResult::Busy | StepResult::Locked if is_over(Some(busy_until)) => {
                return Err(SqlFault::new(Kind::Unavailable, "the database is locked"));
            }
            StepResult::Busy | StepResult::Locked => std::thread::sleep(Duration::from_millis(10)),
            _ => {}
        }
    }
    drop(backup);
    drop(target);
    let (at, word) = JOURNAL;
    file.write_all_at(&word, at).map_err(|error| from_io(&error, "the copy failed"))?;
    Ok(file)
}

/// Checks all pages, indexes and constraints: a damaged database must not replace a good backup.
pub(crate) fn check(connection: &Connection) -> SqlResult<()> {
    let found = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        .map_err(SqlFault::from)?;
    match found.as_str() {
        "ok" => Ok(()),
        wrong => Err(SqlFault { detail: Some(wrong.to_string()), ..SqlFault::damaged() }),
    }
}

/// A new file, and a connection to it; its name is gone already. It lies beside the database, where
/// there is most likely room for it, or in the folder of temporary files.
fn unnamed(place: &DatabaseFile) -> SqlResult<(File, Connection)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let ending = format!("-copy-{process}-{number}");
    let temporary = std::env::temp_dir().join(format!("runnel{ending}"));
    let wanted = place.path().map(|path| beside(path, &ending));
    let made = wanted.and_then(|path| Some((create(&path).ok()?, path)));
    let (file, path) = match made {
        Some(made) => made,
        None => {
            let file = create(&temporary);
            let told = "there is no room for a copy: neither beside the database nor in the \
                        folder of temporary files";
            (file.map_err(|error| from_io(&error, told))?, temporary)
        }
    };
    let target = Connection::open(&path);
    // A failure here leaves a file behind, and the copy is good all the same.
    let _ = std::fs::remove_file(&path);
    Ok((file, target?))
}

fn create(path: &PathBuf) -> std::io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

/// The bytes of a file, from its beginning.
fn content(file: File) -> SqlResult<Content> {
    let facts = file.metadata().map_err(|error| from_io(&error, "the copy cannot be read"))?;
    let file = Arc::new(file);
    let part = FilePart::new(file.clone(), 0, facts.len());
    let body = Seekable::of_file(part, move |from, length| pieces(file.clone(), from, length));
    Ok(Content { body, ..Content::default() }.with_media_type(MEDIA_TYPE))
}

fn pieces(file: Arc<File>, from: u64, length: u64) -> ByteStream {
    Box::pin(stream::try_unfold((file, from, from + length), |(file, from, end)| async move {
        if from >= end {
            return Ok(None);
        }
        let (read, size) = (file.clone(), PIECE.min(end - from));
        let reading = tokio::task::spawn_blocking(move || {
            let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
            read.read_exact_at(&mut bytes, from).map(|()| bytes)
        });
        let failed = |detail: String| {
            let error = Error::new(Kind::Failed, "the copy of the database cannot be read");
            Error { detail: Some(detail), ..error }
        };
        let bytes = reading.await.map_err(|error| failed(error.to_string()))?;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        Ok(Some((Bytes::from(bytes), (file, from + size, end))))
    }))
}
